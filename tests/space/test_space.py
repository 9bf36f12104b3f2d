"""Encoding and decoding: what goes in comes out, and equal values have equal coordinates."""

import math
import pickle
import warnings

import numpy as np
import optuna
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space

# No deadline: other work on the machine is no failure.
SOMETIMES = settings(deadline=None, max_examples=50)
OFTEN = settings(deadline=None, max_examples=300)


class RaisingEq:
    """Equality is forbidden, and every object has the same hash."""

    def __init__(self, hashable=True):
        self.hashable = hashable

    def __eq__(self, other):
        raise RuntimeError("do not compare")

    def __hash__(self):
        if not self.hashable:
            raise RuntimeError("do not hash")
        return 1


def quiet(distribution, *args, **kwargs):
    """Optuna warns where it moves ``high`` to the grid; that is what is wanted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distribution(*args, **kwargs)


# ------------------------------------------------------------------------- choices
AWKWARD = (
    None,
    math.nan,
    True,
    1,
    1.0,
    False,
    0,
    0.0,
    "1",
    "1.0",
    "True",
    "None",
    "nan",
    "",
    b"1",
    1j,
    math.inf,
    (1, 2),
    (True, 2),
    (1.0, 2),
    ("1", 2),
    (1, (2, None)),
    [1, 2],
    [True, 2],
    [[1], 2],
    {"a": 1},
    {"a": 1.0},
    {"a": [1, {"b": None}]},
    frozenset({1, 2}),
    {1, 2},
    int,
    len,
    RaisingEq(),
    RaisingEq(),
    RaisingEq(hashable=False),
    np.arange(3),
    np.arange(3),
)


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
def test_every_choice_comes_back_as_itself(kind):
    parameter = kind("c", AWKWARD)
    assert parameter.n_levels == len(AWKWARD)
    for code, choice in enumerate(AWKWARD):
        assert parameter.encode(choice) == code
        assert parameter.decode(float(code)) is choice


def test_choices_are_found_after_a_copy():
    """What a storage returns is equal, not identical."""
    plain = [choice for choice in AWKWARD if not isinstance(choice, RaisingEq | np.ndarray)]
    parameter = pickle.loads(pickle.dumps(Categorical("c", plain)))
    for code, choice in enumerate(pickle.loads(pickle.dumps(plain))):
        assert parameter.encode(choice) == code
    assert parameter.encode(float("nan")) == 1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (np.True_, 0),
        (np.float64(1.0), 1),
        (np.int64(1), 2),
        (np.int8(1), 2),
        (np.float32(0.0), 3),
        (np.uint16(0), 4),
        (np.str_("1"), 5),
        (np.float64("nan"), 6),
        (np.float32("nan"), 6),
        ((np.int64(1), 2), 7),
        ([np.float64(1.0), [2, np.float32("nan")]], 8),
    ],
)
def test_a_numpy_value_is_the_choice_of_its_python_type(value, code):
    choices = (True, 1.0, 1, 0.0, 0, "1", math.nan, (1, 2), [1.0, [2, math.nan]])
    assert Categorical("c", choices).encode(value) == code


def test_numpy_choices_are_found_by_python_values():
    parameter = Categorical("c", np.array([3, 1, 2]))
    assert [parameter.encode(value) for value in (3, 1, 2)] == [0, 1, 2]
    assert [parameter.encode(np.int32(value)) for value in (3, 1, 2)] == [0, 1, 2]


def test_an_equal_value_of_another_type_is_accepted_where_nothing_fits_better():
    parameter = Categorical("c", (0, 1, "a"))
    assert parameter.encode(1.0) == 1
    assert parameter.encode(True) == 1
    assert Categorical("c", (0, 1.0, True)).encode(1) == 1


@pytest.mark.parametrize(
    "value", ["d", None, math.nan, [0], RaisingEq(), RaisingEq(hashable=False), np.arange(2), 2]
)
def test_an_unknown_choice_is_named_with_what_was_expected(value):
    with pytest.raises(ValueError, match=r"value of 'op' must be one of \('a', 0, True\), got"):
        Categorical("op", ("a", 0, True)).encode(value)


def test_a_choice_that_is_listed_twice_has_its_first_code():
    choices = ("a", "b", "a", math.nan, float("nan"), 1, True, 1, [1], [1], {1}, {1})
    codes = [Categorical("c", choices).encode(choice) for choice in choices]
    assert codes == [0, 1, 0, 3, 3, 5, 6, 5, 8, 8, 10, 10]


def test_choices_must_not_be_empty():
    with pytest.raises(ValueError, match="choices of 'op' must have at least 1 value, got 0"):
        Categorical("op", ())


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=True, width=16),
    st.sampled_from(["0", "1", "nan", "a"]),
)
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    ),
    max_leaves=5,
)


def shown(choice):
    """Return a text that tells 1, 1.0 and True apart at any depth, but not the two zeros."""
    if isinstance(choice, dict):
        return str(sorted((key, shown(value)) for key, value in choice.items()))
    if isinstance(choice, (list, tuple)):
        return f"{type(choice).__name__} {[shown(value) for value in choice]}"
    return repr(choice).replace("-0.0", "0.0")


@example([{"a": [False], "b": [False]}, {"b": [False], "a": [False]}])
@given(st.lists(nested, min_size=1, max_size=12))
@SOMETIMES
def test_codes_and_choices_are_one_to_one(choices):
    parameter = Categorical("c", choices)
    codes = [parameter.encode(choice) for choice in choices]
    assert all(parameter.encode(parameter.decode(code)) == code for code in codes)
    for choice in choices:
        found = parameter.decode(parameter.encode(choice))
        assert shown(found) == shown(choice)


@given(st.integers(1, 9), st.integers(0, 2**32))
@SOMETIMES
def test_codes_cover_the_choices(k, seed):
    parameter = Categorical("c", range(k))
    uniform = np.append(np.random.default_rng(seed).random(50), np.nextafter(1.0, 0.0))
    codes = parameter.from_uniform(uniform)
    assert np.all((codes == np.rint(codes)) & (codes >= 0) & (codes < k))
    assert codes[-1] == k - 1
    np.testing.assert_array_equal(parameter.from_uniform(np.arange(k) / k + 0.5 / k), np.arange(k))
    np.testing.assert_array_equal(parameter.snap(parameter.levels()), np.arange(k))
    np.testing.assert_array_equal(parameter.snap(np.array([-2.0, k + 5.0])), [0, k - 1])
    for code in range(k):
        assert sorted([*parameter.nearby(code), code]) == list(range(k))


# ------------------------------------------------------------------------ integers
@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1, 10**6) if log else st.integers(-(10**15), 10**15))
    width = draw(st.one_of(st.integers(0, 60), st.integers(0, 10**12 if log else 2**52)))
    step = draw(st.one_of(st.just(1), st.integers(1, 100)))
    return Integer("i", low, low + width, step, log)


@given(integers(), st.data())
@OFTEN
def test_integers_come_back_exactly(parameter, data):
    index = data.draw(st.integers(0, int(parameter.n_levels) - 1))
    value = parameter.low + index * parameter.step
    assert parameter.low <= value <= parameter.high
    place = parameter.encode(value)
    assert 0.0 <= place <= 1.0
    decoded = parameter.decode(place)
    assert decoded == value and type(decoded) is int
    for other in (np.int64(value), float(value), np.array(value)):
        assert parameter.encode(other) == place
    snapped = parameter.snap(np.array([place]))
    assert snapped[0] == place


@given(integers(), st.floats(-0.5, 1.5))
@OFTEN
def test_any_place_decodes_to_an_integer_that_optuna_would_accept(parameter, place):
    value = parameter.decode(place)
    if not parameter.log or parameter.step == 1:
        distribution = quiet(
            IntDistribution,
            parameter.low,
            parameter.high,
            step=parameter.step,
            log=parameter.log,
        )
        assert distribution._contains(value)
    assert parameter.encode(value) == parameter.snap(np.array([place]))[0]
    assert parameter.decode(parameter.encode(value)) == value


def test_integers_beyond_float_precision_stay_inside():
    low, high = 2**62 - 7, 2**62 + 2**60 + 3
    parameter = Integer("i", low, high)
    assert parameter.n_levels == high - low + 1
    assert (parameter.decode(0.0), parameter.decode(1.0)) == (low, high)
    assert (parameter.encode(low), parameter.encode(high)) == (0.0, 1.0)
    for place in np.linspace(0.0, 1.0, 101):
        value = parameter.decode(place)
        assert low <= value <= high
        assert abs(parameter.encode(value) - place) < 1e-15


def test_a_narrow_range_of_huge_integers_is_exact():
    low = 10**17 + 1  # no float is equal to it
    parameter = Integer("i", low, low + 10)
    assert [parameter.decode(parameter.encode(low + i)) - low for i in range(11)] == list(
        range(11)
    )


def test_step_that_does_not_divide_the_range():
    parameter = Integer("i", 0, 49, step=10)
    assert parameter.n_levels == 5
    assert [parameter.decode(place) for place in parameter.levels()] == [0, 10, 20, 30, 40]
    middles = (np.arange(5) + 0.5) / 5
    np.testing.assert_array_equal(parameter.from_uniform(middles), parameter.levels())


def test_integer_bounds_are_exact():
    parameter = Integer("big", 0, 10**12)
    with pytest.raises(ValueError, match=r"value of 'big' must be a number in \[0, 1000000000000"):
        parameter.encode(10**12 + 1)
    assert parameter.decode(parameter.encode(10**12)) == 10**12


def test_integer_fields_are_whole_numbers():
    parameter = Integer("i", np.int64(1), 5.0, np.int32(2))
    assert parameter == Integer("i", 1, 5, 2)
    assert all(type(x) is int for x in (parameter.low, parameter.high, parameter.step))
    assert Integer("i", 0, 3, None).step == 1


# -------------------------------------------------------------------------- floats
@st.composite
def float_grids(draw):
    """Bounds and steps with a few decimals, as people write them."""
    digits = draw(st.integers(0, 6))
    unit = 10**digits
    low = draw(st.integers(-1000, 1000))
    step = draw(st.integers(1, 500))
    n_steps = draw(st.integers(0, 2000))
    extra = draw(st.integers(0, step - 1))
    high = low + n_steps * step + extra
    return Float("x", low / unit, high / unit, step / unit), n_steps + 1


@given(float_grids(), st.data())
@OFTEN
@example((Float("x", 0.0, 0.3, 0.1), 4), None)
@example((Float("x", -0.3, 0.3, 0.1), 7), None)
@example((Float("x", 1.1, 2.2, 0.1), 12), None)
def test_step_grids_are_optunas(grid, data):
    parameter, n_levels = grid
    assert parameter.n_levels == n_levels
    distribution = quiet(FloatDistribution, parameter.low, parameter.high, step=parameter.step)
    index = n_levels - 1 if data is None else data.draw(st.integers(0, n_levels - 1))
    place = parameter.levels()[index]
    value = parameter.decode(place)
    assert type(value) is float
    assert distribution._contains(value)
    # the formula by which Optuna itself puts a number on the grid
    expected = np.clip(
        np.round(index) * parameter.step + parameter.low, parameter.low, distribution.high
    )
    assert value == expected
    assert parameter.encode(value) == place
    # the same value as a person would write it
    assert parameter.encode(float(f"{value:.10g}")) == place


@pytest.mark.parametrize(("low", "high", "step"), [(0.0, 1.0, 0.1), (-2.0, 0.7, 0.3), (5, 7, 0.5)])
def test_step_grid_accepts_what_optuna_suggests(low, high, step):
    parameter = Float("x", low, high, step)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(40):
        value = study.ask().suggest_float("x", low, high, step=step)
        assert parameter.decode(parameter.encode(value)) == value


def test_many_steps_are_counted_in_decimals():
    assert Float("x", 0.0, 1e6, 0.001).n_levels == 10**9 + 1
    assert Float("x", 1e6, 1e6 + 0.3, 0.1).n_levels == 4
    assert Float("x", 0.1, 1e300, 1e-5).n_levels > 1e304
    assert Float("x", np.float64(0.0), np.float64(0.3), np.float64(0.1)).n_levels == 4


finite = st.floats(-1e100, 1e100)


@given(finite, finite, st.data())
@OFTEN
def test_linear_floats_come_back_to_within_rounding(one, other, data):
    low, high = sorted([one, other])
    value = data.draw(st.floats(low, high))
    parameter = Float("x", low, high)
    decoded = parameter.decode(parameter.encode(value))
    assert low <= decoded <= high
    assert abs(decoded - value) <= 1e-12 * max(abs(low), abs(high))


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300), st.data())
@OFTEN
def test_log_floats_come_back_to_within_rounding(one, other, data):
    low, high = sorted([one, other])
    value = data.draw(st.floats(low, high))
    parameter = Float("x", low, high, log=True)
    decoded = parameter.decode(parameter.encode(value))
    assert low <= decoded <= high
    assert decoded == pytest.approx(value, rel=1e-12, abs=0.0)


@given(
    st.floats(1e-10, 1e10), st.floats(1e-10, 1e10), st.booleans(), st.floats(0.0, 1.0), st.data()
)
@SOMETIMES
def test_ends_are_exact_and_places_are_stable(one, other, log, place, data):
    low, high = sorted([one, other])
    assume(high > low * (1.0 + 1e-6))
    parameter = Float("x", low, high, log=log)
    assert (parameter.encode(low), parameter.encode(high)) == (0.0, 1.0)
    assert (parameter.decode(0.0), parameter.decode(1.0)) == (low, high)
    once = parameter.encode(parameter.decode(place))
    assert once == pytest.approx(place, abs=1e-9)
    twice = parameter.encode(parameter.decode(once))
    resolution = 1e-15 * max(1.0, high / (high - low))
    assert abs(twice - once) <= 4 * resolution * max(1.0, abs(math.log(low)), abs(math.log(high)))


def test_log_scale_is_logarithmic():
    parameter = Float("lr", 1e-5, 1e-1, log=True)
    np.testing.assert_allclose(
        [parameter.encode(10.0**-e) for e in (5, 4, 3, 2, 1)], np.linspace(0, 1, 5), atol=1e-15
    )
    assert Integer("n", 1, 1024, log=True).encode(32) == pytest.approx(0.5, abs=1e-15)
    assert Float("x", -2.0, 6.0).encode(0.0) == 0.25


def test_rounding_outside_the_bounds_is_forgiven():
    parameter = Float("x", 0.1, 0.3, log=True)
    assert parameter.encode(0.1 - 1e-12) == 0.0
    assert parameter.encode(0.3 + 1e-12) == 1.0


def test_a_value_off_the_grid_keeps_its_own_place():
    """A study may hold trials from before the step was changed."""
    parameter = Float("x", 0.0, 1.0, 0.25)
    assert parameter.encode(0.3) == 0.3
    assert parameter.decode(0.3) == 0.25


# ------------------------------------------------------------------- single values
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Categorical("p", ("only",)), "only"),
        (Ordinal("p", (None,)), None),
        (Integer("p", 7, 7), 7),
        (Integer("p", 7, 9, step=5), 7),
        (Integer("p", 7, 7, log=True), 7),
        (Float("p", 0.5, 0.5), 0.5),
        (Float("p", 0.5, 0.5, log=True), 0.5),
        (Float("p", 0.5, 0.6, step=0.2), 0.5),
        (Float("p", 0.0, 0.0), 0.0),
    ],
)
def test_a_single_value_has_a_single_place(parameter, value):
    assert parameter.n_levels == 1
    assert parameter.encode(value) == 0.0
    assert parameter.decode(0.0) == value
    uniform = np.random.default_rng(0).random(20)
    np.testing.assert_array_equal(parameter.from_uniform(uniform), 0.0)
    np.testing.assert_array_equal(parameter.snap(uniform), 0.0)
    np.testing.assert_array_equal(parameter.levels(), [0.0])
    assert len(parameter.nearby(0.0)) == 0


# -------------------------------------------------------------------- numeric grids
small_grids = st.one_of(
    st.builds(
        lambda low, width, step, log: Integer("g", low, low + width, step, log),
        st.integers(1, 20),
        st.integers(0, 40),
        st.integers(1, 7),
        st.booleans(),
    ),
    st.builds(
        lambda low, n, step: Float("g", low / 10, (low + n * step) / 10, step / 10),
        st.integers(-20, 20),
        st.integers(0, 40),
        st.integers(1, 7),
    ),
)


@given(small_grids, st.floats(0.0, 1.0), st.floats(0.0, 1.2))
@SOMETIMES
def test_levels_snap_nearby_and_around_agree(parameter, place, half_width):
    levels = parameter.levels()
    assert len(levels) == parameter.n_levels
    assert np.all(np.diff(levels) > 0) and levels[0] == 0.0 and levels[-1] <= 1.0
    np.testing.assert_array_equal(parameter.snap(levels), levels)
    values = [parameter.decode(level) for level in levels]
    assert len(set(values)) == len(levels)
    np.testing.assert_array_equal([parameter.encode(value) for value in values], levels)

    snapped = parameter.snap(np.array([place]))[0]
    assert snapped in levels
    if not parameter.log:  # nearest in value, which on a log scale is not nearest in place
        assert abs(snapped - place) <= np.abs(levels - place).min() + 1e-12
    assert parameter.decode(snapped) == parameter.decode(place)

    nearby = parameter.nearby(snapped)
    assert set(nearby) <= set(levels) - {snapped}
    index = list(levels).index(snapped)
    assert set(levels[max(index - 1, 0) : index + 2]) - {snapped} <= set(nearby)

    low, high = parameter.around(snapped, half_width)
    inside = levels[np.abs(levels - snapped) <= half_width + 1e-9]
    assert low == min(inside[0], levels[max(index - 1, 0)])
    assert high == max(inside[-1], levels[min(index + 1, len(levels) - 1)])


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.2))
@SOMETIMES
def test_around_a_continuous_place_is_a_clipped_interval(place, half_width):
    parameter = Float("x", -3.0, 5.0)
    low, high = parameter.around(place, half_width)
    assert (low, high) == (max(place - half_width, 0.0), min(place + half_width, 1.0))
    nearby = parameter.nearby(place)
    assert np.all((nearby >= 0.0) & (nearby <= 1.0) & (nearby != place))
    assert np.abs(nearby - place).min() < 0.01 and np.abs(nearby - place).max() > 0.499


def test_continuous_values_cannot_be_listed():
    with pytest.raises(ValueError, match="'x' is continuous"):
        Float("x", 0.0, 1.0).levels()


# -------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float("x", 2.0, 1.0), r"bounds of 'x' must have low <= high, got \[2.0, 1.0\]"),
        (lambda: Float("x", 0.0, math.inf), r"bounds of 'x' must be finite, got \[0.0, inf\]"),
        (lambda: Float("x", math.nan, 1.0), r"bounds of 'x' must be finite, got \[nan, 1.0\]"),
        (lambda: Float("x", 0.0, 1.0, log=True), "lower bound of 'x' must be > 0 .* got 0.0"),
        (lambda: Float("x", 0.0, 1.0, -0.1), "step of 'x' must be > 0 and finite, got -0.1"),
        (lambda: Float("x", 0.0, 1.0, math.nan), "step of 'x' must be > 0 and finite, got nan"),
        (lambda: Float("x", 0.0, 1.0, math.inf), "step of 'x' must be > 0 and finite, got inf"),
        (lambda: Integer("i", 0, 3, 0), "step of 'i' must be > 0 and finite, got 0"),
        (lambda: Integer("i", 0.5, 3), "low of 'i' must be a whole number, got 0.5"),
        (lambda: Integer("i", 0, 3, 1.5), "step of 'i' must be a whole number, got 1.5"),
        (lambda: Space((Float("x", 0, 1), Integer("x", 0, 1))), "parameter 'x' occurs twice"),
    ],
)
def test_a_bad_parameter_is_refused_with_its_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "value", [1.5, -0.5, math.nan, math.inf, "a", None, [1], 10**400, 1j, np.arange(3)]
)
@pytest.mark.parametrize("parameter", [Float("lr", 0.0, 1.0), Integer("lr", 0, 1)])
def test_a_bad_number_is_refused_with_its_name(parameter, value):
    with pytest.raises(ValueError, match=r"value of 'lr' must be a number in \[0(.0)?, 1(.0)?\]"):
        parameter.encode(value)


def test_a_missing_value_is_named():
    space = Space((Float("x", 0, 1), Float("y", 0, 1)))
    with pytest.raises(ValueError, match="no value for parameter 'y'"):
        space.encode({"x": 0.5})


# --------------------------------------------------------------------------- space
MIXED = Space(
    (
        Categorical("op", ("add", None, 3)),
        Ordinal("size", ("s", "m", "l", "xl")),
        Integer("n", 1, 9, 2),
        Integer("width", 16, 256, log=True),
        Float("x", -1.0, 1.0),
        Float("lr", 1e-4, 1e-1, log=True),
        Float("drop", 0.0, 0.5, 0.1),
        Categorical("fixed", ("only",)),
    )
)


def test_space_says_what_its_columns_are():
    assert MIXED.names == ("op", "size", "n", "width", "x", "lr", "drop", "fixed")
    assert MIXED.column == {name: i for i, name in enumerate(MIXED.names)}
    assert MIXED.is_discrete.tolist() == [True, True, False, False, False, False, False, True]
    assert MIXED.is_categorical.tolist() == [True, *[False] * 6, True]
    assert MIXED.n_levels.tolist() == [3, 4, 5, 241, math.inf, math.inf, 6, 1]
    assert len(MIXED) == 8
    assert MIXED.size == math.inf


def test_size_is_an_exact_whole_number():
    huge = Space(tuple(Categorical(f"c{i}", range(3)) for i in range(1000)))
    assert huge.size == 3**1000
    assert Space((*huge.parameters, Float("x", 0, 1))).size == math.inf
    assert Space((Integer("i", 0, 2**60),)).size == 2**60 + 1
    assert Space(()).size == 1


@given(st.integers(0, 2**32))
@SOMETIMES
def test_points_of_a_mixed_space_come_back(seed):
    points = MIXED.sample(20, np.random.default_rng(seed))
    assert points.shape == (20, len(MIXED)) and points.dtype == np.float64
    rows = [MIXED.decode(point) for point in points]
    again = MIXED.stack([MIXED.encode(row) for row in rows])
    exact = np.isfinite(MIXED.n_levels)
    np.testing.assert_array_equal(again[:, exact], points[:, exact])
    np.testing.assert_allclose(again[:, ~exact], points[:, ~exact], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(MIXED.snap(points), points)
    for row, row_again in zip(rows, map(MIXED.decode, again), strict=True):
        for name in ("x", "lr"):
            assert row_again.pop(name) == pytest.approx(row.pop(name), rel=1e-12)
        assert row_again == row


def test_no_rows_make_an_empty_array():
    assert MIXED.stack([]).shape == (0, len(MIXED))


@pytest.mark.parametrize(
    "parameter",
    [
        Categorical("p", "abcdefg"),
        Ordinal("p", "abc"),
        Integer("p", -3, 8),
        Integer("p", 0, 49, 10),
        Float("p", 0.0, 1.0, 0.1),
    ],
)
def test_samples_cover_all_levels_about_equally(parameter):
    points = Space((parameter,)).sample(7000, np.random.default_rng(5))[:, 0]
    levels, counts = np.unique(points, return_counts=True)
    np.testing.assert_array_equal(levels, parameter.levels())
    expected = 7000 / parameter.n_levels
    assert np.all(np.abs(counts - expected) < 5 * math.sqrt(expected))


def test_samples_of_a_log_grid_follow_the_log_scale():
    """Each integer gets the share of the numbers that round to it, as in Optuna."""
    parameter = Integer("n", 1, 8, log=True)
    points = Space((parameter,)).sample(20000, np.random.default_rng(6))[:, 0]
    levels, counts = np.unique(points, return_counts=True)
    np.testing.assert_array_equal(levels, parameter.levels())
    edges = np.log(np.arange(9) + 0.5)
    shares = np.diff(edges) / (edges[-1] - edges[0])
    assert np.all(np.abs(counts - 20000 * shares) < 5 * np.sqrt(20000 * shares))


def test_samples_of_continuous_parameters_are_uniform_on_their_scale():
    space = Space((Float("x", -5.0, 3.0), Float("lr", 1e-6, 1.0, log=True)))
    points = space.sample(4000, np.random.default_rng(7))
    for column in points.T:
        gap = np.abs(np.sort(column) - (np.arange(4000) + 0.5) / 4000).max()
        assert gap < 1.95 / math.sqrt(4000)  # Kolmogorov-Smirnov at 0.1 %


# ------------------------------------------------------------------- ranges that change
@given(st.floats(-50.0, 50.0), st.floats(0.5, 40.0), st.floats(-1e3, 1e3))
@OFTEN
def test_a_value_has_a_place_on_the_line_of_any_range(low, width, value):
    """Places grow with values, from 0 at the lower bound to 1 at the upper one, and beyond."""
    line = Float("x", low, low + width)
    assume(min(abs(value - line.low), abs(value - line.high)) > 1e-6)  # where rounding decides
    assert line.normalize(value) == pytest.approx((value - low) / (line.high - low), abs=1e-9)
    assert (line.normalize(value) < 0.0) == (value < low)
    assert (line.normalize(value) > 1.0) == (value > line.high)


LINES = pytest.mark.parametrize(
    "line",
    [
        Float("x", -2.0, 3.0),
        Float("x", 0.1, 0.9, 0.1),
        Float("x", 1e-4, 1e2, log=True),
        Integer("x", -5, 20, 5),
        Integer("x", 1, 1000, log=True),
        Integer("x", 3, 3),
    ],
    ids=repr,
)


@LINES
def test_inside_the_range_a_place_is_the_encoded_value(line):
    values = [line.low, line.high, *(line.decode(float(u)) for u in np.linspace(0, 1, 30))]
    for value in values:
        assert line.normalize(value) == line.encode(value)


@LINES
def test_outside_the_range_places_go_on_growing(line):
    steps = [1, 2, 5, 100, 10_000]
    above = [line.normalize(line.high + step) for step in steps]
    assert all(1.0 < a < b for a, b in zip(above, above[1:], strict=False)) or line.n_levels == 1
    if not line.log:
        below = [line.normalize(line.low - step) for step in steps]
        assert all(b < a < 0.0 for a, b in zip(below, below[1:], strict=False))


def test_places_are_logarithmic_on_a_log_scale():
    line = Float("x", 1e-2, 1e2, log=True)
    assert line.normalize(1e-4) == pytest.approx(-0.5)
    assert line.normalize(1e6) == pytest.approx(2.0)
    assert line.normalize(10**400) == pytest.approx(100.5)


@pytest.mark.parametrize("value", [0, 0.0, -1, -math.inf])
def test_numbers_that_are_not_positive_have_no_place_on_a_log_scale(value):
    assert math.isnan(Float("x", 1e-2, 1e2, log=True).normalize(value))
    assert math.isnan(Integer("x", 1, 9, log=True).normalize(value))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("value", [None, "a", math.nan, (1, 2)])
def test_what_is_no_number_has_no_place(value, log):
    assert math.isnan(Float("x", 1.0, 2.0, log=log).normalize(value))


@pytest.mark.parametrize(
    ("line", "value"),
    [(Float("x", 0.0, 0.3, 0.1), 0.1 + 0.2), (Float("x", 1.0, 1.1), 1.1 + 1e-15)],
)
def test_a_value_outside_by_rounding_is_the_bound(line, value):
    assert value > line.high
    assert line.normalize(value) == line.encode(value) == 1.0
