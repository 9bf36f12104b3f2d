"""Pareto fronts: non-dominated points, and boxes of what they do not dominate.

Notation
    ===========  =====================================================================
    n, M         points, objectives; every objective is minimised
    f            points on the front: no other point is as good in every objective
    r            (M,) reference: what is worse than it in some objective is worth nothing
    y            (M,) any outcome below the reference
    B            boxes
    u            (M,) a local upper bound: a corner of the region that no point dominates
    z^0 .. z^M-1 (M,) the points that define u: z^j touches it in objective j, so that
                 u_j = z^j_j, and lies below it in the others
    ===========  =====================================================================

An outcome is free if no point of the front dominates it, which is to say that it lies below
one of the local upper bounds. Each bound is given a box of its own (Lacour, Klamroth and
Fonseca, 2017, equation 2),

    y_0 < u_0  and  max_{k<j} z^k_j <= y_j < u_j  for j = 1 .. M-1,

and the boxes are disjoint and together all that is free. From u_0 up to r_0 instead of below
u_0 they are all that is dominated: the hypervolume is a sum of products of their sides, which
loses no digits. There are f + 1 bounds for two objectives and 2f + 1 for three; for four, 5f to
8f on evenly spread fronts of up to 300 points, and in the order of f^2 at the worst.

The bounds are found on ranks instead of values. Points with equal values in an objective get
different ranks, which the theory asks for; boxes between equal values are empty and go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heat_plugins.space import Array, Bools, Indices

__all__ = [
    "crowding_distances",
    "Boxes",
    "free_boxes",
    "hypervolume",
    "non_dominated",
    "reference_point",
]

# How far beyond the worst of the front the reference lies, as a share of the front's range.
REFERENCE_MARGIN = 0.1


class Boxes(NamedTuple):
    """Boxes ``lower <= y < upper``: both (B, M), the lower sides often minus infinity."""

    lower: Array
    upper: Array


def non_dominated(values: Array) -> Bools:
    """Return (n,) which of the values (n, M) no other one dominates.

    Of equal rows only the first is kept. Infinities are allowed, NaN is not. All pairs are
    compared at once, in n^2 bytes.
    """
    order = np.lexsort(values.T[::-1])  # stable; whatever dominates a row stands before it
    as_good = np.ones((len(values), len(values)), dtype=bool)  # [i, j]: i everywhere <= j
    for objective in values[order].T:
        as_good &= objective[:, None] <= objective
    result = np.empty(len(values), dtype=bool)
    result[order] = ~np.triu(as_good, 1).any(axis=0)
    return result


def reference_point(values: Array) -> Array:
    """Return a reference (M,) a little beyond the worst of values (n, M) in each objective.

    A little is a share of their range; where they have none, of a range of 1. Infinite values
    have no say.
    """
    reference = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        finite = column[np.isfinite(column)] if np.isfinite(column).any() else np.zeros(1)
        margin = REFERENCE_MARGIN * (np.ptp(finite) or 1.0)
        # Next to the number itself, where the margin is lost in rounding.
        reference[j] = max(finite.max() + margin, np.nextafter(finite.max(), np.inf))
    return reference


def free_boxes(front: Array, reference: Array, max_points: int | None = None) -> Boxes:
    """Return disjoint boxes that together are all below the reference that is not dominated.

    Args:
        front: (f, M) values; dominated ones and ones beyond the reference change nothing.
        reference: (M,) reference, finite.
        max_points: How many points of the front to use at the most: the best in each
            objective, then again and again the one that adds most hypervolume to those
            chosen. What only the rest dominates then counts as free. None uses all.
    """
    front = _relevant(front, reference)
    if max_points is not None and len(front) > max_points:
        front = front[_most_telling(front, reference, max_points)]
    lower, upper = _free_region_of_all(front, reference).boxes()
    some = np.all(lower < upper, axis=1)
    return Boxes(lower[some], upper[some])


def hypervolume(values: Array, reference: Array) -> float:
    """Return the volume of what the values (n, M) dominate below a reference (M,).

    Values beyond the reference contribute nothing; the volume below minus infinity is
    infinite.
    """
    front = _relevant(values, reference)
    lower, upper = _free_region_of_all(front, reference).boxes()
    # A side of no length must not be multiplied by an infinite one.
    some = (upper[:, 0] < reference[0]) & np.all(lower[:, 1:] < upper[:, 1:], axis=1)
    lower, upper = lower[some], upper[some]
    depths = reference[0] - upper[:, 0]
    return float(np.sum(depths * np.prod(upper[:, 1:] - lower[:, 1:], axis=1)))


def crowding_distances(front: Array) -> Array:
    """Return (f,) how far the neighbours of each point of a front (f, M) are apart.

    As a share of the front's range and added up over the objectives (Deb et al., 2002); the
    ends of the front count as much as the widest gap. Far cheaper than contributions, and as
    good for finding gaps.
    """
    total = np.zeros(len(front))
    for values in front.T:
        order = np.argsort(values, kind="stable")
        placed = values[order]
        span = placed[-1] - placed[0]
        if len(front) < 3 or not 0.0 < span < np.inf:
            continue
        gaps = np.empty(len(front))
        gaps[1:-1] = (placed[2:] - placed[:-2]) / span
        gaps[[0, -1]] = gaps[1:-1].max()
        total[order] += gaps
    return total


def _relevant(values: Array, reference: Array) -> Array:
    """Return the rows (f, M) that shape the front below the reference."""
    below = values[np.all(values < reference, axis=1)]
    relevant: Array = below[non_dominated(below)]
    return relevant


def _volumes_above(points: Array, boxes: Boxes) -> Array:
    """Return (n,) the volume of the part of all boxes that each point (n, M) dominates."""
    widths = boxes.upper - np.maximum(boxes.lower, points[:, None])  # (n, B, M)
    # All or none: a side of no length must not be multiplied by an infinite one.
    widths[~np.all(widths > 0.0, axis=2)] = 0.0
    volumes: Array = np.prod(widths, axis=2).sum(axis=1)
    return volumes


def _most_telling(front: Array, reference: Array, n: int) -> Indices:
    """Choose n points: the best in each objective, then greedily for the hypervolume.

    The single contributions would not do: of two points side by side neither adds much to
    the other, and with both gone what they dominate would be lost.
    """
    # An infinitely good value is as good as the best finite one: volumes must be finite.
    finite_best = np.where(np.isneginf(front), reference, front).min(axis=0)
    front = np.maximum(front, finite_best)
    gains = np.prod(reference - front, axis=1)  # of adding a point to the chosen ones
    extremes = list(dict.fromkeys(np.argmin(front, axis=0).tolist()))
    region = _FreeRegion(front, reference)
    chosen: list[int] = []
    while len(chosen) < n:
        i = extremes.pop(0) if extremes else int(np.argmax(gains))
        # What another point has in common with this one is the orthant above both.
        gains -= _volumes_above(np.maximum(front, front[i]), region.boxes_above(i))
        gains[i] = -np.inf
        region.insert(i)
        chosen.append(i)
    return np.sort(chosen)


def _free_region_of_all(front: Array, reference: Array) -> _FreeRegion:
    region = _FreeRegion(front, reference)
    for i in range(len(front)):
        region.insert(i)
    return region


class _FreeRegion:
    """The region that no inserted point dominates, by the defining points of its corners.

    Those of a front (f, M) are below the reference (M,) and do not dominate each other.
    """

    def __init__(self, front: Array, reference: Array) -> None:
        f, m = front.shape
        order = np.argsort(front, axis=0, kind="stable")
        self._ranks = np.argsort(order, axis=0, kind="stable") + 1  # (f, M) 1 .. f
        # (f + 2, M) the value of each rank; 0 is minus infinity, f + 1 the reference.
        ordered = np.take_along_axis(front, order, axis=0)
        self._levels = np.vstack([np.full(m, -np.inf), ordered, reference])
        # (B, M, M) the points that define each bound, in ranks. At first there is one bound,
        # the reference, and z^j touches it in objective j from minus infinity in the others.
        self._definers = np.diag(np.full(m, f + 1))[None]

    def insert(self, i: int) -> None:
        """Take away what the point i dominates (Lacour et al., 2017, algorithm 1)."""
        point = self._ranks[i]
        hit = self._hit_by(point)
        corners = self._definers[hit]
        parts = [self._definers[~hit]]
        for j in range(len(point)):
            # A bound moved down to the point in objective j is a new one if the point lies
            # above the other definers there; otherwise another bound is as high.
            others = np.delete(corners[:, :, j], j, axis=1)
            moved = corners[np.all(point[j] > others, axis=1)]
            moved[:, j] = point
            parts.append(moved)
        self._definers = np.concatenate(parts)

    def boxes(self) -> Boxes:
        """Return the boxes of all bounds, empty ones too."""
        return self._boxes_of(self._definers)

    def boxes_above(self, i: int) -> Boxes:
        """Return the boxes that reach into the orthant above the point i."""
        return self._boxes_of(self._definers[self._hit_by(self._ranks[i])])

    def _hit_by(self, point: Indices) -> Bools:
        """Whether a point, in ranks, lies below each of the bounds (B,)."""
        bounds = np.diagonal(self._definers, axis1=1, axis2=2)
        hit: Bools = np.all(point < bounds, axis=1)
        return hit

    def _boxes_of(self, definers: Indices) -> Boxes:
        m = definers.shape[1]
        upper = np.diagonal(definers, axis1=1, axis2=2)
        lower = np.zeros_like(upper)
        for j in range(1, m):
            lower[:, j] = definers[:, :j, j].max(axis=1)
        objectives = np.arange(m)
        return Boxes(self._levels[lower, objectives], self._levels[upper, objectives])
