"""Deduplication of batches of points.

Notation
    ===========  =====================================================================
    b            batch elements
    m, l         points on either side of a covariance matrix
    u, v         distinct points among all batch elements
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heat_plugins.space import Array, Indices
from heat_plugins.space.point_set import PointSet

__all__ = ["Block", "blocks", "distinct"]


SMALL_TABLE = 2**14  # covariances that cost no more than the call that finds them


@dataclass(frozen=True, eq=False)
class Block:
    """Some batch elements, with every point that occurs in them once.

    Args:
        elements: Which elements of the batch.
        rows: (u, d) distinct points on the left.
        at: (b or 1, m) which of them stand where; 1 if all elements have the same.
        others: (v, d) distinct points on the right.
        at_others: (b or 1, l) which of them stand where.
    """

    elements: slice
    rows: Array
    at: Indices
    others: Array
    at_others: Indices

    def turned(self) -> Block:
        """Return the block with its sides exchanged."""
        return Block(self.elements, self.others, self.at_others, self.rows, self.at)


def distinct(points: Array) -> tuple[Array, Indices]:
    """Return distinct points (u, d) of points (n, d), and which of them stand where (n,)."""
    _, first, at = np.unique(
        PointSet(points[:0]).fingerprint(points), return_index=True, return_inverse=True
    )
    return points[first], at


def _distinct_in_batch(points: Array) -> tuple[Array, Indices]:
    """Return distinct points (u, d) of a batch (b, m, d), and where they stand (b, m)."""
    n_elements, m, d = points.shape
    if n_elements == 1:
        return points[0], np.arange(m)[None]
    found, at = distinct(points.reshape(-1, d))
    return found, at.reshape(n_elements, m)


def _block(first: Array, second: Array, elements: slice) -> Block:
    some = [points if len(points) == 1 else points[elements] for points in (first, second)]
    return Block(elements, *_distinct_in_batch(some[0]), *_distinct_in_batch(some[1]))


def blocks(first: Array, second: Array, size: int) -> Iterator[Block]:
    """Divide a batch so that matrices of distinct points are not much larger than it.

    Args:
        first: (b or 1, m, d) points on the left, 1 if all elements have the same.
        second: (b or 1, l, d) points on the right.
        size: The number b of elements.
    """
    if not size:
        return
    whole = _block(first, second, slice(0, size))
    n_wanted = first.shape[1] * second.shape[1]
    if size == 1 or len(whole.rows) * len(whole.others) <= max(2 * size * n_wanted, SMALL_TABLE):
        yield whole
        return
    step = max(1, int(np.sqrt(SMALL_TABLE / max(n_wanted, 1))))
    for start in range(0, size, step):
        yield _block(first, second, slice(start, min(start + step, size)))
