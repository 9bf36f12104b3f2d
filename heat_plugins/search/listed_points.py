"""A list of points, for spaces of choices of which only some combinations exist.

Whoever knows all points that keep the conditions of a problem, as tuners of compilers and GPU
kernels do, need not have a search find out about them by trial and error: however few of all
combinations they are, points are drawn from the list, and small parts of it are looked at
completely.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from heat_plugins.space import Array, Bools, Indices
from heat_plugins.space.point_set import PointSet

__all__ = ["ListedPoints"]

PART = 100_000  # rows that are compared at once


class ListedPoints:
    """The points of a space that exist.

    Args:
        codes: (N, d) the code of every parameter at each point, all rows different. Kept as they
            are, so that a million rows of small integers take little memory.
    """

    def __init__(self, codes: NDArray[np.integer]) -> None:
        if codes.ndim != 2 or not len(codes):
            raise ValueError(f"codes must have shape (N, d) with N > 0, got {codes.shape}")
        self._codes = codes
        self._points = PointSet(codes.astype(float))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._codes)

    def allows(self, points: Array) -> Bools:
        """(n,) whether each of points (n, d) is listed."""
        return self._points.contains(points)

    def points(self, rows: Indices) -> Array:
        """Return the points (n, d) of some rows (n,)."""
        return self._codes[rows].astype(float)

    def rows_within(self, centre: Array, radius: int) -> Indices:
        """Return the rows of points at a Hamming distance of at most ``radius`` from a centre."""
        parts = np.array_split(self._codes, 1 + len(self) // PART)
        inside = [np.count_nonzero(part != centre, axis=1) <= radius for part in parts]
        rows: Indices = np.flatnonzero(np.concatenate(inside))
        return rows

    def rows_with(self, fixed: Mapping[int, float]) -> Indices:
        """Return the rows of points that have given coordinates, by column."""
        matches = np.ones(len(self), dtype=bool)
        for column, code in fixed.items():
            matches &= self._codes[:, column] == code
        rows: Indices = np.flatnonzero(matches)
        return rows
