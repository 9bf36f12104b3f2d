"""The front that a model of several objectives expects, beyond the one that was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heat_plugins.acquisition.pareto import crowding_distances, non_dominated
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.insight.success import SuccessProbability
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.search.domain import Domain
from heat_plugins.search.mutation import mutate
from heat_plugins.space import Array, Bools
from heat_plugins.space.point_set import PointSet

__all__ = ["ExpectedFront", "expected_front"]

N_ROUNDS, N_CHILDREN = 20, 200
MOST_POINTS = 40  # of a front that is bred from, and shown
LEAST_SUCCESS = 0.5  # probability of success of a point that counts


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
        kept = np.flatnonzero(non_dominated(values) & ~_dominated(values, reached))
        kept = kept[np.argsort(-crowding_distances(values[kept]), kind="stable")[:MOST_POINTS]]
        found, values = found[kept], values[kept]
    if not len(found):
        return ExpectedFront(found, values, values)
    means, deviations = zip(*(each.posterior(found) for each in models), strict=True)
    return ExpectedFront(found, np.column_stack(means), np.column_stack(deviations))


def _dominated(values: Array, front: Array) -> Bools:
    """(n,) whether some point of a front (f, M) is as good as values (n, M) in everything."""
    dominated: Bools = np.all(front[None] <= values[:, None], axis=2).any(axis=1)
    return dominated
