"""Hamming distances of parameters with too many choices for one-hot features.

Notation
    ===========  =====================================================================
    c            number of wide columns
    a, b         (c, m) and (c, n) codes of points, -1 where a column does not exist
    w            (c,) weights, each the rate of decay of one column
    D            (m, n) distances, sum_i w_i d(a_i, b_i)
    ===========  =====================================================================

d is 1 for two choices that differ, 0 for equal ones, and 1/2 where the column exists at one of
two points only: the distances of one-hot features (features.py). Features cost as much as there
are choices, in time and in memory; a comparison costs the same for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from heat_plugins.kernels.features import Columns
from heat_plugins.space import Array, Indices

__all__ = ["COST_OF_COMPARISON", "WIDE", "WideColumns"]

Codes = NDArray[np.int32]  # half the memory to compare

# With more choices than this, a comparison takes less time than a product of features.
WIDE = 32
# As many features take as long as one comparison.
COST_OF_COMPARISON = 16
_ROWS = 128  # of a matrix that are compared at a time


class WideColumns:
    """Columns of many unordered choices.

    Args:
        layout: The same columns as they would be with features, for their names and scales.
    """

    def __init__(self, layout: Columns) -> None:
        self.columns: Indices = layout.columns
        self.names = layout.names
        self.log_scales: Array = layout.log_scales

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def codes(self, points: Array) -> Codes:
        """Return codes (c, n) of points (n, d)."""
        codes = np.nan_to_num(points[:, self.columns].T, nan=-1.0)
        return np.ascontiguousarray(codes, dtype=np.int32)

    def add_distances(self, weights: Array, left: Codes, right: Codes, to: Array) -> None:
        """Add distances between codes (c, m) and (c, n) to those in ``to`` (m, n)."""
        compare = _comparison(left, right)
        if left.shape[1] < len(self):  # few points: one row after the other
            for row, codes in zip(to, left.T, strict=True):
                row += weights @ compare(codes[:, None], right)
            return
        for weight, a, b in zip(weights, left, right, strict=True):
            to += weight * compare(a[:, None], b)

    def add_own_distances(self, weights: Array, codes: Codes, to: Array) -> None:
        """Add distances between all codes (c, n) of one set to symmetric ones in ``to`` (n, n)."""
        compare = _comparison(codes, codes)
        for rows, before in _lower_half(codes.shape[1]):
            block = to[rows, before].copy()
            for weight, a in zip(weights, codes, strict=True):
                block += weight * compare(a[rows, None], a[before])
            to[rows, before] = block
            to[before, rows] = block.T

    def by_weights(self, by_distance: Array, codes: Codes) -> Array:
        """Return the derivative in the weights (c,) from that in the distances (n, n)."""
        compare = _comparison(codes, codes)
        both = by_distance + by_distance.T  # what lies above the diagonal counts below it
        slopes = np.zeros(len(self))
        for rows, before in _lower_half(codes.shape[1]):
            block = both[rows, before].copy()
            block[:, rows] = by_distance[rows, rows]
            slopes += [np.vdot(block, compare(a[rows, None], a[before])) for a in codes]
        return slopes


def _lower_half(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield the rows of blocks that cover the lower half of an (n, n) matrix, and their columns.

    Each is small enough to stay in the cache of a processor while all columns are compared.
    """
    for first in range(0, n, _ROWS):
        rows = slice(first, min(first + _ROWS, n))
        yield rows, slice(0, rows.stop)


def _comparison(left: Codes, right: Codes) -> Callable[[Codes, Codes], Array]:
    """Return the distance d of codes, arrays that are broadcast against each other."""

    def of_existing(a: Codes, b: Codes) -> Array:
        differs: Array = (a != b).astype(float)
        return differs

    def of_any(a: Codes, b: Codes) -> Array:
        distances: Array = of_existing(a, b) - 0.5 * ((a < 0) != (b < 0))
        return distances

    return of_any if (left < 0).any() or (right < 0).any() else of_existing
