"""Regions by name: Bounce's against its definition, trial by trial, and CASMOPOLITAN's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.acquisition.confidence_bound import ConfidenceBound, exploration
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.fit import FitCache
from heat_plugins.history import NO_REGION, History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.budgeted_region import (
    TRIALS_PER_COLUMN,
    BudgetedRegionRules,
    Stage,
    replay_budget,
)
from heat_plugins.search.domain import Domain
from heat_plugins.search.regions import region_after, rules_of
from heat_plugins.search.trust_region import TrustRegionRules
from heat_plugins.space import Categorical, Space
from heat_plugins.space.point_set import PointSet
from heat_plugins.suggest import Problem, Settings, outcome_of, suggest

RULES = BudgetedRegionRules()
SPACE = Space(tuple(Categorical(f"c{i}", range(3)) for i in range(12)))


def after(values, tags=None, stages=(), failed_after=None):
    points = np.zeros((len(values), len(SPACE)))
    points[:, 0] = np.arange(len(values)) % 3
    tags = np.zeros(len(values), dtype=np.int64) if tags is None else np.array(tags)
    ranking = np.array(values, dtype=float).reshape(-1, 1)
    failed = None if failed_after is None else np.array(failed_after)
    return replay_budget(points, ranking, tags, SPACE, RULES, stages, failed)


def lengths(improves, n_columns, end, first=0):
    """Yield the length after each trial, as the definition says."""
    length = min(10.0, n_columns)
    for i, better in enumerate(improves):
        factor = (1.0 / length) ** (1.0 / max(end - (first + i), 1))
        length = min(length / factor, n_columns) if better else length * factor
        yield max(length, 1.0)


@given(improves=st.lists(st.booleans(), max_size=60))
@settings(deadline=None, max_examples=60)
def test_the_length_follows_the_budget(improves):
    end = TRIALS_PER_COLUMN * len(SPACE)
    values = [100.0]
    for better in improves:
        values.append(min(values) * (0.9 if better else 0.9995))
    found = after(values)
    expected = [10.0, *lengths(improves, 12, end, first=1)][-1]
    # Next to a whole number rounding decides which of two it is.
    lengths_near = {math.floor(expected - 1e-9), math.floor(expected + 1e-9)}
    assert round(12 * found.scale) in lengths_near
    assert found.index == 0 and found.best == min(values)


def test_without_a_success_a_stage_ends_with_length_one():
    stages = [Stage(5, 20), Stage(10, 50)]
    for n, radius in ((1, 5), (19, 1), (20, 10), (49, 1), (50, 10)):
        scale = after(np.arange(n, dtype=float), stages=stages).scale
        n_columns = 5 if n < 20 else 10 if n < 50 else 12
        assert round(scale * n_columns) == radius
        assert after(np.arange(n, dtype=float), stages=stages).index == 0


def test_the_centre_is_carried_over_to_the_next_stage():
    found = after([3.0, 1.0, 2.0, 2.0, 2.0], stages=[Stage(3, 4)])
    assert found.best == 1.0 and found.front == (1,) and found.index == 0


def test_a_region_whose_budget_is_spent_ends_and_another_begins():
    n = TRIALS_PER_COLUMN * len(SPACE)
    assert after(np.arange(n - 1, dtype=float)).index == 0
    ended = after(np.arange(n, dtype=float))
    assert ended.index == 1 and ended.centre is None and ended.ended == (0,)
    late = after([*range(n), 500.0, 400.0], [0] * (n + 2))
    assert late.index == 1 and late.centre is None
    begun = after([*range(n), 500.0, 400.0], [0] * n + [1, 1])
    assert begun.index == 1 and begun.best == 400.0


def test_a_trial_of_the_next_region_begins_it_and_late_ones_do_not_count():
    found = after([1.0, 2.0, 5.0, 0.5], [0, 0, 1, 0])
    assert found.index == 1 and found.best == 5.0 and found.ended == (0,)


def test_trials_that_nobody_asked_for_move_the_centre_only():
    found = after([3.0, 2.0, 1.0], [0, NO_REGION, NO_REGION])
    assert found.best == 1.0 and found.scale == pytest.approx(10 / 12)


def test_failed_trials_use_up_the_budget():
    stages = [Stage(3, 4)]
    assert after([1.0, 2.0], stages=stages).scale <= 1.0
    assert after([1.0, 2.0], stages=stages, failed_after=[1, 2]).scale == pytest.approx(10 / 12)


def test_several_objectives_have_a_front():
    points = np.zeros((3, len(SPACE)))
    ranking = np.array([[1.0, 5.0], [5.0, 1.0], [6.0, 6.0]])
    found = replay_budget(points, ranking, np.zeros(3, dtype=np.int64), SPACE, RULES)
    assert found.front == (0, 1)


def test_names_of_regions():
    assert rules_of(True) == TrustRegionRules()
    assert rules_of(False) is None
    assert rules_of("bounce") == RULES
    assert rules_of("casmopolitan").failures_to_shrink == 40
    history = History.of(SPACE, np.zeros((2, 12)), np.array([1.0, 2.0]))
    assert region_after(history, history.objectives, SPACE, None).centre is None
    assert region_after(history, history.objectives, SPACE, RULES).best == 1.0
    with pytest.raises(ValueError, match="trust_region must be True or False, or one of"):
        rules_of("turbo")
    with pytest.raises(TypeError, match="trust_region must be"):
        rules_of(0.5)


def test_a_region_begins_where_the_best_of_those_before_have_the_highest_bound():
    """Known: only how good the best trials of ended regions were, at and around them."""
    rng = np.random.default_rng(0)
    rules = TrustRegionRules(failures_to_shrink=1, restarts_by_bound=True)
    space = Space(tuple(Categorical(f"c{i}", range(3)) for i in range(5)))
    points = space.sample(25, rng)
    history = History.of(space, points, points.sum(axis=1), np.zeros(25, dtype=np.int64))
    region = region_after(history, history.objectives, space, rules)
    assert region.centre is None and region.ended
    settings = Settings(trust_region=rules, deterministic=True)
    suggestion = suggest(Problem(space), history, settings, rng)
    builder = KernelBuilder(space, settings.model)
    outcome = outcome_of(builder, history, settings, FitCache())
    rows = list(region.ended)
    known = Surrogate(
        outcome.kernel_fit.kernel,
        outcome.kernel_fit.hyperparameters,
        points[rows],
        outcome.values[rows],
    )
    everything = Domain(space).enumerate()
    new = everything[~PointSet(points).contains(everything)]
    bound = ConfidenceBound(known, exploration(25))
    assert suggestion.acquisition == pytest.approx(bound(new).max(), abs=1e-9)
    assert suggestion.region_id == region.index
