"""The first points: values that were seldom tried, parameter by parameter.

A Latin hypercube that grows: nobody has to say beforehand how many points there will be, trials
that others made count, and parameters need not exist everywhere. A choice is one of those tried
least; a number the one farthest from those before, on a circle, so that the ends of its range are
no better than its middle.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.domain import Domain
from heat_plugins.space import Array

__all__ = ["spread_points"]

N_DRAWN = 20  # values of a parameter, of which the one is taken that was tried least
MOST_KNOWN = 100  # points that the values are compared with


def spread_points(domain: Domain, known: Array, n: int, rng: np.random.Generator) -> Array:
    """Return points (n, d), each by itself where few of the known ones (m, d) are.

    Args:
        domain: Where the points may lie; its limits need not hold.
        known: Points that have been tried or are being tried, NaN where a parameter is absent.
        n: How many to return.
        rng: Source of randomness.
    """
    space = domain.space
    points = space.sample(n, rng)
    for column in domain.free:
        values = known[-MOST_KNOWN:, column]
        values = values[~np.isnan(values)]
        if not len(values):
            continue
        drawn = space.parameters[column].spread(rng.random((n, N_DRAWN)))
        apart = np.abs(drawn[:, :, None] - values)  # (n, N_DRAWN, m)
        if space.is_discrete[column] or space.n_levels[column] <= N_DRAWN:
            crowding = np.sum(apart <= space.resolution[column], axis=2, dtype=float)
        else:
            crowding = -np.minimum(apart, 1.0 - apart).min(axis=2)
        points[:, column] = drawn[np.arange(n), crowding.argmin(axis=1)]
    return domain.settle(domain.hold(points), rng)
