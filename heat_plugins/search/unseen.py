"""A random point that has not been evaluated."""

from __future__ import annotations

import math

import numpy as np

from heat_plugins.search.domain import Domain
from heat_plugins.search.mutation import mutate
from heat_plugins.space import Array
from heat_plugins.space.point_set import PointSet

__all__ = ["unseen_point"]

MANY_POINTS = 20_000  # to look for a new one among, where most are permutations of old ones


def unseen_point(
    domain: Domain, avoid: PointSet, rng: np.random.Generator, near: Array | None = None
) -> Array | None:
    """Return any point of the domain that is not to be avoided; None if none is found.

    Random points first; then, because at most ``len(avoid)`` points can be in the way, the
    points in counting order from a random start, of which one more than that is enough.
    Where more points than were seen are in the way, because of a symmetry or of a rule of
    the user's, all or very many are looked at, and those around points ``near`` (n, d).
    """
    points = domain.sample(200, rng)
    fresh = points[~avoid.contains(points)]
    if len(fresh):
        found: Array = fresh[0]
        return found
    if avoid.symmetry is None and domain.conditions is None and not avoid.has_rule:
        if domain.size == math.inf:
            return None
        points = _count_from_random(domain, len(avoid) + 1, rng)
    elif domain.listed is not None or domain.size <= MANY_POINTS:
        points = rng.permutation(domain.enumerate())
    else:
        points = domain.sample(MANY_POINTS, rng)
        if avoid.symmetry is not None:
            points = avoid.symmetry.spread(points, domain.space, rng)
            points = domain.impute_conditionals(domain.apply_fixed(points), rng)
        if near is not None and len(near):
            around = near[rng.integers(len(near), size=MANY_POINTS // 10)]
            around = domain.project(mutate(around, domain, 1.0, rng), rng)
            points = np.concatenate([around, points])
    # In parts: to ask a rule about all of them takes its time.
    for part in np.array_split(points, max(1, len(points) // 500)):
        fresh = part[~avoid.contains(part)]
        if len(fresh):
            found = fresh[0]
            return found
    return None


def _count_from_random(domain: Domain, n: int, rng: np.random.Generator) -> Array:
    """Return ``n`` different points of a finite domain, or all if there are fewer."""
    size = int(domain.size)
    # Python's whole numbers: there can be far more points than 2^64.
    first = int(rng.integers(min(size, 2**62)))
    remainders = [(first + offset) % size for offset in range(min(size, n))]
    points = np.repeat(domain.sample(1, rng), len(remainders), axis=0)
    for column in domain.free:
        levels = domain.space.parameters[column].levels()
        points[:, column] = levels[[remainder % len(levels) for remainder in remainders]]
        remainders = [remainder // len(levels) for remainder in remainders]
    return points
