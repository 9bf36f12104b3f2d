"""CASMOPOLITAN's interleaved local search (Wan et al., 2021).

Several points climb at the same time. In turn, each of them tries random single changes of its
choices, and takes one that is better; then its numbers follow the gradient, choices unchanged.
Unlike an ascent by the best single change (ascent.py), a step does not look at all neighbours, so
its cost does not grow with their number, and two climbs from one start need not end on one top.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.ascent import best_different, climb
from heat_plugins.search.mutation import mutate
from heat_plugins.search.search_task import SearchTask
from heat_plugins.space import Array

__all__ = ["interleaved"]

N_CLIMBERS = 10
N_ROUNDS = 5  # of changes, then of a gradient
N_STEPS = 20  # of changes in a round
N_NEIGHBOURS = 8  # that each point looks at in a step


def interleaved(task: SearchTask) -> Array:
    """Return the climbers (k, d) and what they started from, the best first."""
    domain, rng = task.domain, task.rng
    drawn = domain.sample(task.budget.population, rng)
    first = domain.project(np.concatenate([task.starts, drawn]), rng)
    first_values = task.score(first)
    rows = best_different(first, first_values, domain, N_CLIMBERS)
    points, values = first[rows], first_values[rows]
    for _ in range(N_ROUNDS):
        before = values
        for _ in range(N_STEPS):
            points, values = _step(task, points, values)
        points, values = climb(task, points, values)
        if np.array_equal(before, values):
            break
    return task.ranked(np.concatenate([points, first]), np.concatenate([values, first_values]))


def _step(task: SearchTask, points: Array, values: Array) -> tuple[Array, Array]:
    """Return points (k, d) and values (k,) after each took its best of some random neighbours."""
    domain, n = task.domain, len(points)
    columns = domain.free[~np.isin(domain.free, domain.free_continuous)]
    if not len(columns):
        return points, values
    neighbours = np.repeat(points, N_NEIGHBOURS, axis=0)
    neighbours = mutate(neighbours, domain, 0.0, task.rng, columns)
    neighbours = domain.project(neighbours, task.rng)
    their_values = task.score(neighbours).reshape(n, N_NEIGHBOURS)
    best = np.argmax(their_values, axis=1)
    rows = np.arange(n)
    better = their_values[rows, best] > values
    chosen = neighbours[rows * N_NEIGHBOURS + best]
    return np.where(better[:, None], chosen, points), np.where(
        better, their_values[rows, best], values
    )
