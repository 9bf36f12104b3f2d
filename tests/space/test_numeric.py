"""Every number that Optuna admits: tiny, huge and hardly different bounds, and any step."""

import contextlib
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from heat_plugins.optuna.distributions import is_modelled, space_of
from heat_plugins.space import Float, Integer
from heat_plugins.space.numeric import MOST_LEVELS
from heat_plugins.space.stored_integer import StoredInteger, storable_integers

OFTEN = settings(deadline=None, max_examples=300)

floats = st.floats(allow_nan=False, allow_infinity=False)
whole = st.one_of(
    st.integers(-100, 100),
    st.integers(-(2**53) - 50, 2**53 + 50),
    st.integers(-(2**70), 2**70),
    st.integers(-(10**310), 10**310),
)
places = st.lists(st.floats(-0.5, 1.5), max_size=5).map(lambda drawn: [0.0, 0.5, 1.0, *drawn])


def quiet(distribution, *bounds, **kwargs):
    """Optuna warns where it moves the upper bound to the grid, and refuses some steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ValueError, OverflowError, ArithmeticError):
            return distribution(*bounds, **kwargs)
    assume(False)


@st.composite
def int_distributions(draw):
    low = draw(whole)
    width = abs(draw(st.one_of(st.integers(0, 300), whole)))
    if draw(st.booleans()):
        return quiet(IntDistribution, abs(low) + 1, abs(low) + 1 + width, log=True)
    step = draw(st.one_of(st.integers(1, 9), st.integers(1, 2**60), st.integers(1, 10**310)))
    return quiet(IntDistribution, low, low + width, step=step)


@st.composite
def float_distributions(draw):
    low, high = sorted([draw(floats), draw(floats)])
    if draw(st.booleans()):  # hardly different
        high = draw(st.sampled_from([low, math.nextafter(low, math.inf), low + abs(low) * 1e-9]))
    assume(math.isfinite(high))
    if draw(st.booleans()):
        low, high = sorted([abs(low) or 5e-324, abs(high) or 5e-324])
        return quiet(FloatDistribution, low, high, log=True)
    step = draw(st.one_of(st.none(), st.floats(5e-324, 1.7e308)))
    return quiet(FloatDistribution, low, high, step=step)


EXTREME_FLOATS = [
    FloatDistribution(-1.7e308, 1.7e308),
    FloatDistribution(-1.7e308, 1.7e308, step=1e300),
    FloatDistribution(0.0, 5e-324),
    FloatDistribution(1e-300, 1e300, log=True),
    FloatDistribution(5e-324, 1e-310, log=True),
    FloatDistribution(1.0, 1.0 + 1e-15, log=True),
    FloatDistribution(1e16, 1e16 + 64.0, step=0.25),
]


def with_examples(distributions):
    def decorate(test):
        for distribution in distributions:
            test = example(distribution, [0.0, 0.1, 0.5, 0.9, 1.0])(test)
        return test

    return decorate


@given(float_distributions(), places)
@with_examples(EXTREME_FLOATS)
@OFTEN
def test_floats_are_in_range_and_come_back(distribution, at):
    (line,) = space_of({"x": distribution}).parameters
    width, rounding = distribution.high - distribution.low, 0.0
    if distribution.step is not None and width > 0.0:
        # Doubles may lie further apart than places do.
        largest = max(abs(distribution.low), abs(distribution.high))
        rounding = min(1.0, 4.0 * math.ulp(largest) / width)
    for place in at:
        value = line.decode(place)
        assert type(value) is float and distribution.low <= value <= distribution.high
        again = line.encode(value)
        assert 0.0 <= again <= 1.0
        assert abs(again - line.snap(np.array([place]))[0]) <= max(line.resolution, 1e-9, rounding)
        # What comes back may have other last bits, but stays where it is then.
        moved = abs(line.encode(line.decode(again)) - again)
        assert moved <= max(1e-15, line.resolution / 2, rounding)


@given(int_distributions(), places)
@with_examples([IntDistribution(2**53 + 1, 2**60 + 1), IntDistribution(1, 2**62 - 1, log=True)])
@OFTEN
def test_whole_numbers_are_in_range_and_on_the_step(distribution, at):
    assume(is_modelled(distribution))
    (line,) = space_of({"x": distribution}).parameters
    for place in at:
        value = line.decode(place)
        assert type(value) is int and distribution._contains(value)
        assert 0.0 <= line.encode(value) <= 1.0


@given(int_distributions(), st.data())
@OFTEN
def test_each_whole_number_comes_back_where_they_have_places_of_their_own(distribution, data):
    low, high, step = distribution.low, distribution.high, distribution.step
    high = min(high, low + step * data.draw(st.sampled_from([1, 1000, MOST_LEVELS - 2])))
    assume(max(-low, high, high - low) < 1e300)
    line = Integer("i", low, high, step, distribution.log)
    index = data.draw(st.integers(0, int(line.n_levels) - 1))
    assert line.decode(line.encode(low + index * step)) == low + index * step


@given(st.one_of(int_distributions(), float_distributions()))
@OFTEN
def test_what_has_no_place_is_known_beforehand(distribution):
    try:
        space_of({"x": distribution})
    except ValueError as error:
        assert "'x'" in str(error)
        assert not is_modelled(distribution)


def test_bounds_and_numbers_of_steps_must_be_floats():
    with pytest.raises(ValueError, match="bounds of 'x' must be finite"):
        Integer("x", 0, 10**309)
    with pytest.raises(ValueError, match="step of 'x' must divide"):
        Float("x", 0.0, 2.0**1000, step=2.0**-1000)


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (2**53 + 1, 2**53 + 11, 1),
        (0, 2**60 - 1, 1),
        (-(2**60) - 1, 2**60 + 1, 3),
        (2**60, 2**63, 1001),
        (-(10**30), 10**30, 7),
    ],
)
def test_huge_whole_numbers_are_stored_as_they_are(low, high, step):
    line = StoredInteger("i", low, high, step)
    for place in np.linspace(0.0, 1.0, 50):
        value = line.decode(place)
        assert int(float(value)) == value
        assert low <= value <= high and (value - low) % step == 0
        exact = Integer("i", low, high, step).decode(place)
        assert abs(value - exact) <= math.lcm(step, 2 * int(math.ulp(float(high))))


def test_a_range_without_any_number_that_can_be_stored_is_as_it_is():
    line = StoredInteger("i", 2**53 + 1, 2**53 + 3, 2)
    assert {line.decode(0.0), line.decode(1.0)} <= {2**53 + 1, 2**53 + 3}
    line = StoredInteger("i", 0, 10**25, 10**24)  # all in range at least
    values = [line.decode(place) for place in line.levels()]
    assert values == [k * 10**24 for k in [*range(10), 9]]
    assert all(float(value) <= 10**25 for value in values)


def test_places_in_other_ranges_are_finite():
    for line in (Float("x", 0.0, 1e-300), Float("x", -1.7e308, 1.7e308), Integer("x", 0, 3)):
        for value in (-1.7e308, 1e-320, 1.7e308, 10**400, -(10**400), math.inf):
            assert abs(line.normalize(value)) <= 1e6


@pytest.mark.parametrize("log", [False, True])
def test_a_range_that_passes_2_to_the_53rd_has_only_numbers_that_floats_tell_apart(
    log: bool,
) -> None:
    line = storable_integers("n", 2**53 - 4, 2**53 + 4, log=log)
    values = [line.decode(float(level)) for level in line.levels()]
    assert all(int(float(value)) == value for value in values)
    if not log:  # small numbers count on a logarithmic scale, so that all of them are kept there
        assert values == [2**53 - 4, 2**53 - 2, 2**53, 2**53 + 2, 2**53 + 4]
