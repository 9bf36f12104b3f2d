"""Feasible trials come first, then those that break less, then the better ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heat_plugins.acquisition.constrained_ranking import constrained_ranking, violations
from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.history import NO_REGION
from heat_plugins.search.trust_region import TrustRegionRules, replay
from heat_plugins.space import Categorical, Space

CHECKED = settings(deadline=None, max_examples=100)
NUMBERS = st.sampled_from([-math.inf, -2.0, -0.0, 0.0, 1e-9, 1.0, 1.5, 7.0, math.inf])


def table(elements, max_columns):
    shapes = st.tuples(st.integers(0, 12), st.integers(1, max_columns))
    return shapes.flatmap(lambda s: arrays(float, s, elements=elements, fill=st.nothing()))


# ---------------------------------------------------------------------- violations
@given(table(st.one_of(NUMBERS, st.just(math.nan)), 4))
@CHECKED
def test_a_trial_is_feasible_where_no_known_constraint_is_positive(constraints):
    given_before = constraints.copy()
    expected = [not any(number > 0.0 for number in row) for row in constraints]
    found = violations(constraints)
    assert (found == 0.0).tolist() == expected
    assert np.all(found >= 0.0) and np.all(np.isfinite(found))
    np.testing.assert_array_equal(constraints, given_before)


def test_no_constraints_are_broken_by_nobody():
    np.testing.assert_array_equal(violations(np.empty((3, 0))), np.zeros(3))
    np.testing.assert_array_equal(violations(np.empty((0, 2))), np.zeros(0))


def test_violations_are_shares_of_the_largest_and_add_up():
    constraints = np.array([[1.0, 200.0], [4.0, -5.0], [math.nan, 100.0], [-1.0, 0.0]])
    np.testing.assert_allclose(violations(constraints), [0.25 + 1.0, 1.0, 0.5, 0.0])


@given(table(NUMBERS, 3), st.floats(0.01, 100.0))
@CHECKED
def test_the_unit_of_a_constraint_does_not_matter(constraints, scale):
    scaled = constraints.copy()
    scaled[:, 0] *= scale
    np.testing.assert_allclose(violations(scaled), violations(constraints), rtol=1e-12)


def test_an_infinite_violation_is_worse_than_any_finite_one():
    found = violations(np.array([[math.inf], [1e300], [1.0], [-math.inf]]))
    assert found[0] > found[1] > found[2] > found[3] == 0.0
    assert violations(np.array([[math.inf, -1.0], [math.inf, 3.0]])).tolist() == [2.0, 3.0]


# ------------------------------------------------------------- constrained ranking
@st.composite
def trials(draw, n_objectives):
    n = draw(st.integers(1, 12))
    values = draw(arrays(float, (n, n_objectives), elements=NUMBERS, fill=st.nothing()))
    amounts = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 2.0])
    return values, draw(arrays(float, n, elements=amounts, fill=st.nothing()))


@given(trials(1))
@CHECKED
def test_order_of_one_objective_is_feasible_first_then_violation_then_value(drawn):
    values, violation = drawn
    found = constrained_ranking(values, violation)[:, 0]
    assert not np.any(np.isnan(found))

    def key(i):
        return (1, violation[i]) if violation[i] > 0.0 else (0, values[i, 0])

    for i in range(len(values)):
        for j in range(len(values)):
            assert (found[i] < found[j]) == (key(i) < key(j))
            assert (found[i] == found[j]) == (key(i) == key(j))


@given(trials(3))
@CHECKED
def test_feasible_trials_dominate_infeasible_ones_and_keep_their_own_order(drawn):
    values, violation = drawn
    found = constrained_ranking(values, violation)
    good, bad = np.flatnonzero(violation == 0.0), np.flatnonzero(violation > 0.0)
    for i in good:
        assert all(np.all(found[i] < found[j]) for j in bad)
        for j in good:
            np.testing.assert_array_equal(found[i] <= found[j], values[i] <= values[j])
    for i in bad:
        for j in bad:
            assert np.all((found[i] <= found[j]) == (violation[i] <= violation[j]))
    if len(good):  # so the front is that of the feasible trials
        front = np.flatnonzero(non_dominated(found))
        assert front.tolist() == good[non_dominated(values[good])].tolist()


def test_without_violations_values_stay_as_they_are():
    values = np.array([[3.0, math.inf], [-math.inf, 2.0]])
    assert constrained_ranking(values, np.zeros(2)) is values


@pytest.mark.parametrize("bad", [1e300, math.inf])
def test_an_infinitely_bad_feasible_trial_is_better_than_a_good_infeasible_one(bad):
    found = constrained_ranking(np.array([[bad], [-math.inf], [0.0]]), np.array([0.0, 1e-12, 0.0]))
    assert found[2] < found[0] < found[1]


def test_the_trust_region_stays_with_feasible_trials():
    space = Space((Categorical("c", range(5)),))
    points = np.arange(5.0)[:, None]
    tags = np.array([NO_REGION, 0, 0, 0, 0])
    values = np.array([[5.0], [-9.0], [4.0], [-8.0], [4.0]])
    violation = np.array([2.0, 1.0, 0.0, 0.5, 0.0])
    region = replay(
        points, constrained_ranking(values, violation), tags, space, TrustRegionRules()
    )
    assert region.front == (2,)
    assert region.centre == points[2]
    # Breaking less, then nothing at all, were successes; the rest is none.
    assert (region.n_successes, region.n_failures) == (0, 2)
