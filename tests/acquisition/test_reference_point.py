"""The worst values of interest of several objectives: where the search goes because of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.acquisition.builder import AcquisitionBuilder, distance_to_reference
from heat_plugins.gp.outcome_transform import standardise, standardised_value
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.search.trust_region import TrustRegion, TrustRegionRules
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.suggest import History, Problem, Settings, suggest

SPACE = Space((Float("x", 0, 1), Float("y", 0, 1), Categorical("c", "ab")))
SMALL_SEARCH = SearchBudget(population=40, generations=4, parents=10, ascents=2, ascent_steps=8)
RULES = pytest.mark.parametrize("rules", [None, TrustRegionRules()], ids=["everywhere", "region"])


def two_values(points):
    """A front along x at y = 0.3: f1 = x^2, f2 = (1 - x)^2, both worse elsewhere."""
    x, y, c = points.T
    worse = 2.0 * (y - 0.3) ** 2 + 0.5 * c
    return np.column_stack([x**2 + worse, (1.0 - x) ** 2 + worse])


def run(reference, n=18, n_startup=8, seed=0, rules=None):
    """Return the values (n, 2) that a short study finds."""
    rng = np.random.default_rng(seed)
    points = SPACE.sample(n_startup, rng)
    asked = np.full(n_startup, -1)
    options = Settings(
        n_startup_trials=1, deterministic=True, trust_region=rules, search=SMALL_SEARCH
    )
    while len(points) < n:
        history = History.of(SPACE, points, two_values(points), asked)
        found = suggest(Problem(SPACE, reference=reference), history, options, rng)
        assert np.isfinite(found.acquisition)
        points = np.vstack([points, found.point])
        asked = np.append(asked, found.region_id)
    return two_values(points)[n_startup:]


# ------------------------------------------------------------------ places on the scale
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=20, unique=True),
    st.floats(-1e6, 1e6),
)
@settings(deadline=None)
def test_a_number_lies_between_the_values_that_it_lies_between(values, number):
    values = np.array(values)
    standardised = standardise(values)
    place = standardised_value(number, values, standardised)
    assert np.isfinite(place)
    slack = 1e-6
    assert np.all(standardised[values < number] <= place + slack)
    assert np.all(standardised[values > number] >= place - slack)


def test_a_value_has_its_own_place():
    values = np.random.default_rng(0).standard_normal(30)
    standardised = standardise(values)
    places = [standardised_value(value, values, standardised) for value in values]
    np.testing.assert_allclose(places, standardised, atol=1e-12)


@pytest.mark.parametrize("values", [[2.0, 2.0], [np.inf, np.inf], [2.0, np.inf], [-np.inf, 2.0]])
def test_every_number_has_a_place(values):
    values = np.array(values)
    places = [
        standardised_value(number, values, standardise(values)) for number in (-1.0, 2.0, 9.0)
    ]
    assert np.all(np.isfinite(places)) and np.all(np.diff(places) >= 0.0)


def test_distance_to_a_reference_is_where_it_is_missed_most():
    reference = np.array([1.0, np.nan, 2.0])
    values = np.array([[0.0, 9.0, 1.0], [3.0, 0.0, 2.5], [0.0, 0.0, 6.0], [1.0, 0.0, 2.0]])
    np.testing.assert_array_equal(distance_to_reference(values, reference), [0.0, 2.0, 4.0, 0.0])
    # From the best that was seen, where that is worse than the reference.
    np.testing.assert_array_equal(
        distance_to_reference(values, reference - 9.0), [0.0, 3.0, 5.0, 1.0]
    )


# ------------------------------------------------------------------------ suggestions
@RULES
def test_no_reference_of_any_objective_changes_nothing(rules):
    nothing = np.full(2, np.nan)
    np.testing.assert_array_equal(run(None, rules=rules), run(nothing, rules=rules))


@RULES
def test_only_what_is_of_interest_is_searched(rules):
    """Both at most 0.4 leaves the middle of the front; without it, the ends are searched too."""
    limit = np.array([0.4, 0.4])
    inside = np.all(run(limit, n=26, rules=rules)[-12:] < limit + 0.05, axis=1)
    without = np.all(run(None, n=26, rules=rules)[-12:] < limit + 0.05, axis=1)
    assert inside.mean() > 0.7
    assert inside.sum() > without.sum()


def test_one_objective_may_have_a_reference_and_the_other_none():
    found = run(np.array([0.1, np.nan]), n=24)[-10:]
    assert np.mean(found[:, 0] < 0.15) > 0.7
    assert found[:, 1].min() < 0.75


@RULES
def test_a_reference_that_nothing_has_reached_is_headed_for(rules):
    """At most 0.27 in both is a small part of the space around x = 0.5, y = 0.3."""
    limit = np.array([0.27, 0.27])
    start = two_values(SPACE.sample(8, np.random.default_rng(0)))
    assert not np.any(np.all(start < limit, axis=1))
    assert np.any(np.all(run(limit, n=22, rules=rules) < limit, axis=1))


@RULES
@pytest.mark.parametrize("far", [-1.0, -1e3, -1e9])
def test_a_reference_that_cannot_be_reached_is_approached(far, rules):
    """The nearest that there is to (far, far) is x = 0.5, y = 0.3: (0.25, 0.25)."""
    found = run(np.array([far, far]), n=22, rules=rules)
    assert found.max(axis=1).min() < 0.3


def test_a_reference_beyond_everything_is_a_usual_one():
    found = run(np.array([1e9, 1e9]), n=22)
    assert np.ptp(found[:, 0]) > 0.5  # the whole front


def test_a_region_is_drawn_around_what_is_of_interest():
    values = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.45, 0.6]])
    history = History.of(SPACE, SPACE.sample(4, np.random.default_rng(0)), values)
    region = TrustRegion(front=(0, 1, 2, 3))
    for reference, expected in (([0.6, 0.55], {1}), ([0.1, 2.0], {0}), ([0.4, 0.4], {1})):
        builder = AcquisitionBuilder(history, np.array(reference))
        centres = [
            builder.choose_centre(region, np.random.default_rng(seed)).centre for seed in range(9)
        ]
        assert {int(np.flatnonzero((history.points == c).all(axis=1))[0]) for c in centres} == (
            expected
        )


def test_feasible_trials_come_first_whatever_the_reference_says():
    rng = np.random.default_rng(0)
    points = SPACE.sample(16, rng)
    values = two_values(points)
    for constraint in (points[:, :1] - 0.5, np.ones((16, 1))):
        history = History.of(SPACE, points, values, constraints=constraint)
        found = suggest(Problem(SPACE, reference=np.array([0.4, 0.4])), history, Settings(), rng)
        assert np.isfinite(found.acquisition)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_and_a_reference_give_a_point(bad):
    points = SPACE.sample(16, np.random.default_rng(0))
    values = two_values(points)
    values[3, 0] = bad
    values[:, 1] = [np.inf] * 16 if np.isposinf(bad) else values[:, 1]
    for reference in ([0.1, 0.1], [5.0, np.nan], [-9.0, 0.5]):
        history, rng = History.of(SPACE, points, values), np.random.default_rng(0)
        found = suggest(Problem(SPACE, reference=np.array(reference)), history, Settings(), rng)
        assert np.isfinite(found.acquisition)


def test_a_reference_has_a_value_for_each_objective():
    points = SPACE.sample(16, np.random.default_rng(0))
    history = History.of(SPACE, points, two_values(points))
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        suggest(
            Problem(SPACE, reference=np.zeros(3)), history, Settings(), np.random.default_rng(0)
        )
