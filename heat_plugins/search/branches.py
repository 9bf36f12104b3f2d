"""When and where the search leaves a branch of a conditional space.

A choice that decides which other parameters exist splits the space into branches, and a search
settles in one of them. What the others could give is hard to see from there: their own parameters
are untried, and at random values of these they are worse than a branch that has been optimised.
So when next to nothing is expected any more, a new trust region begins in another branch, with a
best value of its own to improve on, and stays away from the regions before it.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.space import Array, Bools, Indices, Space

__all__ = ["NEGLIGIBLE_LOG_EI", "outside_ended_regions"]

# Negligible log expected improvement, in standard deviations of the values.
NEGLIGIBLE_LOG_EI = float(np.log(1e-3))
# Of the parameters at the centre of a region: what is nearer than that belongs to it for ever.
NEARBY = 0.5


def outside_ended_regions(
    points: Array, centre: Array | None, ended: Array, space: Space
) -> Bools:
    """Return which points (n,) lie outside of the regions that have ended.

    The distance of two points is the number of choices that differ and of parameters that exist
    at one of them only. A point must be at least half the number of its parameters away from each
    centre of the ended regions (k, d), and at least as near to the region's own centre (d,), None
    while it has no trial.
    """
    distances = np.stack([_distances(points, other, space) for other in ended])  # (k, n)
    n_parameters = np.sum(~np.isnan(ended) & (space.n_levels > 1), axis=1)
    elsewhere: Bools = np.all(distances >= np.maximum(1.0, NEARBY * n_parameters)[:, None], axis=0)
    if centre is not None:
        elsewhere &= _distances(points, centre, space) <= distances.min(axis=0)
    return elsewhere


def _distances(points: Array, centre: Array, space: Space) -> Indices:
    """Return (n,) distances of points (n, d) from a centre (d,)."""
    exists, exists_there = ~np.isnan(points), ~np.isnan(centre)
    differs = exists & exists_there & (points != centre) & space.is_discrete
    distances: Indices = np.sum(differs | (exists != exists_there), axis=1)
    return distances
