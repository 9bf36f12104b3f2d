"""Ascents from many starts (COMBO, Oh et al., 2019; BODi, Deshwal et al., 2023).

Of many random points and of the neighbours of the best trials the best few are starts. Each of
them moves to its best neighbour, the point after one single change, until none is better. COMBO
looks at 20,000 random vertices and 20 starts; here so many random points are looked at as the
genetic search has in all its generations.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.ascent import ascended, best_different
from heat_plugins.search.mutation import mutate
from heat_plugins.search.search_task import SearchTask
from heat_plugins.space import Array

__all__ = ["hill_climbing"]

N_STARTS = 20


def hill_climbing(task: SearchTask) -> Array:
    """Return the best points (k, d) of those that were drawn and of the tops of their hills."""
    domain, rng, budget = task.domain, task.rng, task.budget
    points = domain.sample(budget.population * budget.generations, rng)
    if len(task.starts):
        near = task.starts[rng.integers(len(task.starts), size=budget.population)]
        near = mutate(near, domain, 0.0, rng)
        points = domain.project(np.concatenate([task.starts, near, points]), rng)
    values = task.score(points)
    top = best_different(points, values, domain, N_STARTS)
    good = np.concatenate([task.starts, points[top]])
    tops, their_values = ascended(task, points[top], values[top], good)
    return task.ranked(np.concatenate([tops, points]), np.concatenate([their_values, values]))
