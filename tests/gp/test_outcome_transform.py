"""Standardised values are finite and in order, whatever the objective returned."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from heat_plugins.gp.outcome_transform import scale_of, standardise

CHECKED = settings(deadline=None, max_examples=150)

anything = st.lists(st.floats(allow_nan=False), min_size=1, max_size=30).map(np.array)
ordinary = st.lists(
    st.integers(-(10**6), 10**6).map(lambda i: i / 1000), min_size=1, max_size=30
).map(np.array)


@given(anything)
@CHECKED
@example(np.array([np.inf]))
@example(np.array([-np.inf, np.inf, np.inf]))
@example(np.array([np.inf, 3.0]))
@example(np.array([-np.inf, 3.0, 3.0]))
@example(np.array([1e308, -1e308, 0.0]))
@example(np.array([1e308] * 9 + [-1e308]))
@example(np.array([5e-324, 0.0]))
@example(np.array([1.0, 1.0 + 2.0**-52]))
def test_output_is_finite_and_of_a_size_that_a_model_can_use(values):
    result = standardise(values)
    assert result.shape == values.shape
    assert np.all(np.isfinite(result))
    assert np.all(np.abs(result) <= np.sqrt(len(values)) * (1.0 + 1e-9))


@given(anything)
@CHECKED
def test_order_is_kept(values):
    result = standardise(values)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(result[order]) >= 0.0)
    same = values[order][1:] == values[order][:-1]
    assert np.all(np.diff(result[order])[same] == 0.0)


@given(anything)
@CHECKED
def test_mean_is_zero_and_deviation_one_or_all_values_are_alike(values):
    finite = np.abs(values[np.isfinite(values)])
    assume(len(finite))
    # What is subnormal next to the largest value has no digits left to be centred.
    assume(np.all(finite[finite > 0.0] / finite.max(initial=1e-300) > 1e-290))
    result = standardise(values)
    assert result.mean() == pytest.approx(0.0, abs=1e-6)
    assert result.std() == pytest.approx(1.0, abs=1e-6) or np.all(np.ptp(result) == 0.0)


@given(st.integers(1, 20), st.floats(allow_nan=False))
@CHECKED
def test_equal_values_carry_no_information(n, value):
    result = standardise(np.full(n, value))
    assert np.all(result == result[0])
    assert np.isfinite(result[0])


@given(ordinary, st.integers(-1000, 1000), st.integers(-8, 8))
@CHECKED
def test_shift_and_positive_scale_make_no_difference(values, shift, exponent):
    assume(np.ptp(values) > 0.0)
    moved = values * 10.0**exponent + shift
    # what is left of the values after a shift that is large for them
    assume(np.ptp(values) * 10.0**exponent > 1e-6 * max(1.0, np.abs(moved).max()))
    np.testing.assert_allclose(standardise(moved), standardise(values), atol=1e-6)


@given(ordinary)
@CHECKED
def test_the_best_value_stays_apart_from_the_others(values):
    result = standardise(values)
    np.testing.assert_array_equal(
        result == result.min(), (values == values.min()) | (np.ptp(values) == 0.0)
    )


@pytest.mark.parametrize("seed", range(5))
def test_well_behaved_values_are_only_shifted_and_scaled(seed):
    rng = np.random.default_rng(seed)
    values = 3.0 + 7.0 * rng.standard_normal(50)
    expected = (values - values.mean()) / values.std()
    np.testing.assert_allclose(standardise(values), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bad", [1e9, 1e300, np.inf])
def test_one_bad_value_does_not_hide_the_others(bad):
    values = np.append(np.linspace(0.0, 1.0, 20), bad)
    result = standardise(values)
    assert np.argmax(result) == 20
    assert np.ptp(result[:20]) > 0.3
    others = result[:20] - result[0]
    np.testing.assert_allclose(others / others[-1], values[:20], atol=1e-9)


@pytest.mark.parametrize("finite", [[1.0, 2.0, 3.0], [3.0], [3.0, 3.0], [0.0], [-1e-9]])
def test_infinities_lie_outside_the_finite_values(finite):
    result = standardise(np.array([-np.inf, *finite, np.inf]))
    assert result[0] < result[1:-1].min()
    assert result[-1] > result[1:-1].max()


def test_the_argument_is_not_changed():
    values = np.array([1.0, np.inf, -3.0, 1e9])
    before = values.copy()
    standardise(values)
    np.testing.assert_array_equal(values, before)


# --------------------------------------------------------------- back to the user's units
@given(ordinary, st.sampled_from([1e-3, 1.0, 250.0]))
@CHECKED
def test_one_is_worth_what_good_values_differ_by(values, scale):
    """A difference of standardised values, times this, is the difference of the values."""
    values = scale * values
    unit = scale_of(values)
    standardised = standardise(values)
    assert unit >= 0.0
    good = np.sort(values)[: len(values) // 2 + 1]
    if np.ptp(good) > 0.0:
        low, high = values.argmin(), np.flatnonzero(values == good[-1])[0]
        difference = standardised[high] - standardised[low]
        assert unit * difference == pytest.approx(values[high] - values[low], rel=1e-9)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [np.inf], [np.inf, -np.inf]], ids=str)
def test_values_without_differences_are_worth_nothing(values):
    assert scale_of(np.array(values, dtype=float)) == 0.0


def test_a_bad_outlier_does_not_change_what_one_is_worth():
    values = np.linspace(0.0, 10.0, 21)
    with_outlier = np.append(values, [1e9, np.inf])
    unit = scale_of(with_outlier)
    differences = np.diff(standardise(with_outlier)[:21])
    np.testing.assert_allclose(unit * differences[:15], 0.5, rtol=1e-9)
