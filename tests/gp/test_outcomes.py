"""A model for each column: missing values, the place of zero, and what is to be improved on."""

import math
from dataclasses import replace

import numpy as np
import pytest

from heat_plugins.acquisition.builder import AcquisitionBuilder
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcome_transform import standardise
from heat_plugins.gp.outcomes import (
    ENOUGH_TRIALS,
    MOST_CONSTRAINTS,
    fit_outcome,
    modelled_constraints,
)
from heat_plugins.gp.replicates import has_conflicts
from heat_plugins.history import History
from heat_plugins.kernels.features import Columns
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.spec.model import Model
from heat_plugins.suggest import Settings, _outcomes

SPACE = Space((Categorical("c", range(4)), Float("x", 0, 1), Categorical("d", range(3))))


def value_of(points):
    return points[:, 0] + 3.0 * (points[:, 1] - 0.4) ** 2 - 0.5 * points[:, 2]


def some_history(n, seed=0, n_pending=0):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(n, rng)
    return History.of(SPACE, points, value_of(points), pending=SPACE.sample(n_pending, rng))


def outcome_of(history, values, **settings):
    cache, centre = settings.pop("cache", FitCache()), settings.pop("centre", None)
    budget = ModelBudget(
        settings.pop("max_fit_points", 100), settings.pop("max_model_points", 100)
    )
    data = OutcomeData(history.points, values, **{"deterministic": False, **settings})
    builder = cache.builder_for(SPACE, Model())
    return fit_outcome(
        builder, data, budget, cache, centre=centre, without_value=history.without_value
    )


# -------------------------------------------------------------------- missing values
def test_trials_without_a_value_are_left_out():
    history = some_history(20)
    values = history.values.copy()
    values[[0, 3, 19]] = np.nan
    outcome = outcome_of(history, values)
    known = np.flatnonzero(~np.isnan(values))
    np.testing.assert_array_equal(outcome.rows, known)
    np.testing.assert_array_equal(outcome.modelled, known)
    np.testing.assert_array_equal(outcome.points, history.points[known])
    np.testing.assert_allclose(outcome.values, standardise(values[known]))
    fewer = some_history(20)
    fewer = History.of(SPACE, fewer.points[known], fewer.values[known])
    same = outcome_of(fewer, fewer.values)
    anywhere = SPACE.sample(9, np.random.default_rng(1))
    np.testing.assert_array_equal(
        outcome.surrogate.posterior(anywhere), same.surrogate.posterior(anywhere)
    )


def test_one_known_value_is_enough():
    history = some_history(5)
    values = np.array([np.nan, np.nan, 2.0, np.nan, np.nan])
    outcome = outcome_of(history, values)
    mean, variance = outcome.surrogate.posterior(history.points)
    assert np.all(np.isfinite(mean)) and np.all(variance > 0.0)


def test_points_without_value_lower_the_variance_and_leave_the_mean():
    history = some_history(12, n_pending=3)
    alone = History.of(SPACE, history.points, history.values)
    with_pending, without = (outcome_of(h, h.values) for h in (history, alone))
    mean, variance = with_pending.surrogate.posterior(history.pending)
    expected, larger = without.surrogate.posterior(history.pending)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    assert np.all(variance < 0.5 * larger)


# ------------------------------------------------------------------- where zero lies
@pytest.mark.parametrize("shift", [-3.0, 0.0, 2.0])
def test_zero_divides_kept_constraints_from_broken_ones(shift):
    history = some_history(20)
    values = history.values - np.median(history.values) + shift
    outcome = outcome_of(history, values)
    np.testing.assert_array_equal(outcome.values > outcome.zero, values > 0.0)
    # On the same scale: equal distances stay equal.
    unit = np.ptp(outcome.values) / np.ptp(values)
    np.testing.assert_allclose(outcome.values - outcome.zero, unit * values, atol=1e-12)


@pytest.mark.parametrize("values", [[math.inf] * 4, [math.inf, -1.0, 2.0, -math.inf], [5.0] * 4])
def test_zero_has_a_place_among_any_constraints(values):
    values = np.array(values)
    outcome = outcome_of(some_history(4), values)
    assert math.isfinite(outcome.zero)
    np.testing.assert_array_equal(outcome.values > outcome.zero, values > 0.0)


# -------------------------------------------------------------- what is to be improved on
def test_the_best_of_a_deterministic_objective_is_its_value():
    history = some_history(15)
    outcome = outcome_of(history, history.values, deterministic=True)
    standardised = standardise(history.values)
    everyone = np.ones(15, dtype=bool)
    assert outcome.incumbent(everyone, None) == standardised.min()
    assert outcome.incumbent(everyone, 7) == standardised[7]  # the centre of a region
    among = everyone.copy()
    among[np.argmin(history.values)] = False
    assert outcome.incumbent(among, None) == np.sort(standardised)[1]
    assert outcome.incumbent(among, int(np.argmin(history.values))) is None
    assert outcome.incumbent(~everyone, None) is None


def test_the_best_of_a_noisy_objective_is_what_is_expected_of_it():
    history = some_history(15)
    outcome = replace(outcome_of(history, history.values), is_deterministic=False)
    means = outcome.surrogate.mean(history.points)
    everyone = np.ones(15, dtype=bool)
    assert outcome.incumbent(everyone, 3) == pytest.approx(means.min())
    assert outcome.incumbent(np.arange(15) % 2 == 0, None) == pytest.approx(means[::2].min())
    assert outcome.incumbent(~everyone, None) is None


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_best_is_looked_for_among_known_values(deterministic):
    history = some_history(10)
    values = history.values.copy()
    values[:5] = np.nan
    outcome = outcome_of(history, values, deterministic=deterministic)
    assert outcome.incumbent(np.arange(10) < 5, None) is None
    assert outcome.incumbent(np.arange(10) == 8, None) is not None


# ---------------------------------------------------------------- conflicts and limits
def test_conflicting_values_are_noise_whatever_the_user_says():
    points = np.repeat(SPACE.sample(3, np.random.default_rng(0)), 2, axis=0)
    same, other = np.repeat([1.0, 2.0, 3.0], 2), np.arange(6.0)
    for values, conflict in ((same, False), (other, True)):
        assert has_conflicts(points, values) == conflict
        history = History.of(SPACE, points, values)
        assert outcome_of(history, values, deterministic=True).is_deterministic != conflict
    # Equal values of equal points look exact, whether the user says so or not.
    assert outcome_of(History.of(SPACE, points, same), same).is_deterministic
    assert not outcome_of(History.of(SPACE, points, other), other).is_deterministic


def test_points_that_lack_the_same_parameter_can_be_in_conflict():
    points = np.array([[0.0, np.nan, 1.0], [0.0, 0.5, 1.0], [0.0, np.nan, 1.0]])
    assert has_conflicts(points, np.array([1.0, 1.0, 2.0]))
    assert not has_conflicts(points, np.array([1.0, 3.0, 1.0]))


def test_of_very_many_trials_near_good_and_late_ones_are_modelled():
    history = some_history(80)
    centre = history.points[5]
    outcome = outcome_of(history, history.values, centre=centre, max_model_points=20)
    assert len(outcome.modelled) <= 20
    assert len(outcome.values) == 80
    assert {*range(75, 80), 5, *np.argsort(history.values)[:5]} <= set(outcome.modelled)


def test_columns_that_do_not_exist_are_no_distance():
    history = some_history(40)
    points = history.points.copy()
    points[::2, 1] = np.nan
    history = History.of(SPACE, points, history.values)
    cache = FitCache()
    builder = cache.builder_for(SPACE, Model(), learn_conditions(SPACE, points))
    data = OutcomeData(points, history.values, deterministic=False)
    outcome = fit_outcome(builder, data, ModelBudget(100, 16), cache, centre=points[0])
    codes_differ = (points[:, [0, 2]] != points[0, [0, 2]]).sum(axis=1)
    same = np.flatnonzero((codes_differ == 0) & np.isnan(points[:, 1]))
    assert 0 in outcome.modelled and set(same[:8]) <= set(outcome.modelled)
    assert np.all(np.isfinite(outcome.surrogate.mean(points)))


# --------------------------------------------------------- which constraints are modelled
def test_constraints_that_trials_have_and_break_are_modelled():
    constraints = np.tile([1.0, -1.0, np.nan, 2.0], (12, 1))
    constraints[1:, 3] = np.nan  # known for one trial of few
    columns, leaves_out = modelled_constraints(constraints)
    assert columns.tolist() == [0, 3]
    assert not leaves_out
    assert modelled_constraints(np.empty((12, 0)))[0].tolist() == []


@pytest.mark.parametrize(
    ("n", "n_known", "is_modelled"),
    [(1, 1, True), (20, 1, True), (21, 1, False), (100, 4, False), (100, 5, True)]
    + [(10_000, ENOUGH_TRIALS - 1, False), (10_000, ENOUGH_TRIALS, True)],
)
def test_a_constraint_that_few_trials_have_is_left_out(n, n_known, is_modelled):
    constraints = np.full((n, 2), np.nan)
    constraints[:, 0] = 1.0
    constraints[:n_known, 1] = 1.0
    columns, leaves_out = modelled_constraints(constraints)
    assert columns.tolist() == ([0, 1] if is_modelled else [0])
    assert leaves_out is not is_modelled


def test_of_very_many_constraints_those_broken_most_often_are_modelled():
    n_broken = np.arange(300) % 40
    constraints = np.where(np.arange(50)[:, None] < n_broken, 1.0, -1.0)
    columns, leaves_out = modelled_constraints(constraints)
    assert len(columns) == MOST_CONSTRAINTS
    assert leaves_out
    assert np.all(np.diff(columns) > 0)
    assert n_broken[columns].min() >= np.delete(n_broken, columns).max()


@pytest.mark.parametrize(("n_objectives", "n_constraints"), [(1, 2), (2, 0), (2, 1)])
def test_models_of_several_columns_share_the_features_of_candidates(
    monkeypatch, n_objectives, n_constraints
):
    history = some_history(30)
    others = np.column_stack([history.points[:, 0] - 2.0, history.points[:, 2] - 1.0])
    values = np.column_stack([history.values, others[:, 0]])[:, :n_objectives]
    constraints = others[:, :n_constraints] if n_constraints else None
    history = History.of(SPACE, history.points, values, constraints=constraints)
    cache, settings = FitCache(), Settings(n_startup_trials=5)
    builder = cache.builder_for(SPACE, Model())
    outcomes = _outcomes(builder, history, settings, TrustRegion(), cache, {})
    assert len(outcomes.objectives + outcomes.constraints) == n_objectives + n_constraints
    acquisition = AcquisitionBuilder(history).acquisition(outcomes, TrustRegion())
    calls = []
    compute = Columns.__call__

    def counted(part, points):
        calls.append(len(points))
        return compute(part, points)

    monkeypatch.setattr(Columns, "__call__", counted)
    candidates = SPACE.sample(7, np.random.default_rng(3))
    acquisition(candidates)
    assert calls == [7, 7]  # choices and numbers
    acquisition.value_and_gradient(candidates[0], np.array([1]))
    assert calls == [7, 7, 1, 1]
