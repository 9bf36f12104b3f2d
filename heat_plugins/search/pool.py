"""The best of a pool of random points and mutations (NASBOWL, Ru et al., 2021, appendix F.2).

Half of the pool is drawn at random, half are the best trials with one change each. Nothing is
searched beyond it: an acquisition that is expensive to evaluate, or not to be trusted far from
the trials, is asked about so many points and no more.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.mutation import mutate
from heat_plugins.search.search_task import SearchTask
from heat_plugins.space import Array

__all__ = ["pool"]

SIZE = 200
N_PARENTS = 10  # the best trials, which are mutated


def pool(task: SearchTask) -> Array:
    """Return the points (k, d) of the pool, the best first."""
    domain, rng = task.domain, task.rng
    points = domain.sample(SIZE // 2, rng)
    parents = task.starts[:N_PARENTS]
    if len(parents):
        children = parents[rng.integers(len(parents), size=SIZE - SIZE // 2)]
        children = domain.project(mutate(children, domain, 0.0, rng), rng)
        points = np.concatenate([points, children])
    return task.ranked(points, task.score(points))
