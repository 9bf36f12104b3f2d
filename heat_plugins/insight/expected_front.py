"""The front that a model of several objectives expects, beyond the one that was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.insight.success import SuccessProbability
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.search.domain import Domain
from heat_plugins.search.mutation import mutate
from heat_plugins.space import Array, Indices
from heat_plugins.space.point_set import PointSet

__all__ = ["ExpectedFront", "expected_front"]

N_ROUNDS, N_CHILDREN = 20, 200
MOST_POINTS = 40  # of a front that is bred from, and shown
LEAST_SUCCESS = 0.5  # probability of success of a point that counts
STEP = 0.02  # the least difference that counts, as a share of that of the best and the middle


@dataclass(frozen=True, eq=False)
class ExpectedFront:
    """Points that are expected to be better than the front, in the units of users.

    Args:
        points: (k, d) the points, all new.
        means: (k, M) what is expected of them.
        deviations: (k, M) of the posterior.
    """

    points: Array
    means: Array
    deviations: Array


@usual_errors
def expected_front(model: StudyModel) -> ExpectedFront:
    """Return new points whose expected values no trial dominates, nor another such point.

    They are bred from the front: mutated, and of each generation those kept that nothing dominates
    and that rather succeed than not.
    """
    data, space, rng = model.data, model.space, np.random.default_rng(0)
    models = [model.objective(i) for i in range(model.n_objectives)]
    signs = np.array([objective.sign for objective in data.objectives])
    domain = Domain(space, conditions=model.conditions)
    symmetry = model.builder.symmetry()
    avoid = PointSet(model.history.points, symmetry, data.allowed, space.resolution)
    success = SuccessProbability(model)
    rows = model.front if len(model.front) else np.arange(len(data.numbers))
    reached, origin = data.history.objectives[rows], model.history.points[rows]
    if len(origin) > MOST_POINTS:
        origin = origin[np.linspace(0, len(origin) - 1, MOST_POINTS).astype(int)]
    step = _steps(data.history.objectives)
    # New points and what is expected of them, minimised.
    found, values = np.empty((0, len(space))), np.empty((0, model.n_objectives))
    for _ in range(N_ROUNDS):
        parents = np.concatenate([origin, found])
        chosen = parents[rng.integers(len(parents), size=N_CHILDREN)]
        children = domain.project(mutate(chosen, domain, 1.0, rng), rng)
        children = children[~avoid.contains(children)]
        children = children[success.of_modelled(children) >= LEAST_SUCCESS]
        expected = np.column_stack([each.mean(children) for each in models]) * signs
        found, values = np.concatenate([found, children]), np.concatenate([values, expected])
        kept = _beyond(values, reached, step)
        found, values = found[kept], values[kept]
    if not len(found):
        return ExpectedFront(found, values, values)
    means, deviations = zip(*(each.posterior(found) for each in models), strict=True)
    return ExpectedFront(found, np.column_stack(means), np.column_stack(deviations))


def _beyond(values: Array, front: Array, step: Array) -> Indices:
    """Return which of values (n, M) are better than a front (f, M) by a step (M,) or more.

    Of those, one in each box of that size which no other box dominates (the epsilon-dominance of
    Laumanns et al., 2002): what is better by next to nothing in one objective is worth nothing.
    """
    order = np.argsort(np.sum(values / step, axis=1), kind="stable")
    ordered = values[order]
    is_reached = np.all(front[None] <= ordered[:, None] + step, axis=2).any(axis=1)
    kept = non_dominated(np.floor(ordered / step)) & ~is_reached
    chosen: Indices = order[kept][:MOST_POINTS]
    return chosen


def _steps(objectives: Array) -> Array:
    """Return the least difference (M,) that counts, of objectives (n, M) as they were seen."""
    steps = np.ones(objectives.shape[1])
    for j, column in enumerate(objectives.T):
        finite = column[np.isfinite(column)]
        if len(finite):
            low, high = np.quantile(finite, [0.0, 0.5])
            steps[j] = STEP * (high - low) or max(abs(low), 1.0) * STEP
    return steps
