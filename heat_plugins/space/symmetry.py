"""Which points are the same to an objective that does not mind permutations.

Notation
    ===========  =====================================================================
    block        columns that are permuted
    orbit        all points that the permutations make of one point
    ===========  =====================================================================

Every orbit has one canonical point. A search that compares canonical points never spends
an evaluation on a permutation of what it has seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heat_plugins.space import Array, Indices, Space

__all__ = ["Block", "Symmetry"]


KEYS_AT_ONCE = 2_000_000  # numbers in memory while orbits are compared


@dataclass(frozen=True, eq=False)
class Block:
    """Columns and the permutations of them that change nothing.

    Args:
        columns: (b,) the columns.
        elements: (q, b) the permutations, a whole group; None for all permutations.
        n_choices: The largest number of choices of the columns, or more.
    """

    columns: Indices
    elements: Indices | None = None
    n_choices: int = 2**16


class Symmetry:
    """All blocks of a space, which have no column in common."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = tuple(blocks)

    def canonical(self, points: Array) -> Array:
        """Return the canonical points (n, d) of the orbits of points (n, d)."""
        points = points.copy()
        for block in self._blocks:
            codes = points[:, block.columns]
            if block.elements is None:
                points[:, block.columns] = np.sort(codes, axis=1)
            else:
                points[:, block.columns] = _first_of_orbit(codes, block.elements, block.n_choices)
        return points

    def spread(self, points: Array, space: Space, rng: np.random.Generator) -> Array:
        """Return points (n, d) whose blocks are redrawn so that orbits are equally likely.

        Of random points most have each choice about equally often; orbits of other points
        would hardly ever be met. Only blocks of listed choices with all permutations.
        """
        points = points.copy()
        for block in self._blocks:
            b, g = len(block.columns), float(space.n_levels[block.columns[0]])
            if block.elements is None and np.all(space.is_discrete[block.columns]):
                # Which b of g + b - 1 places hold stars, the others bars between choices.
                places = rng.random((len(points), int(g) + b - 1)).argsort(axis=1)[:, :b]
                points[:, block.columns] = np.sort(places, axis=1) - np.arange(b)
        return points

    def n_orbits(self, space: Space) -> float:
        """Return how many orbits the points of a space make up."""
        in_block = np.zeros(len(space), dtype=bool)
        total: float = 1
        for block in self._blocks:
            in_block[block.columns] = True
            levels = [space.parameters[column].n_levels for column in block.columns]
            if math.inf in levels:
                return math.inf
            if block.elements is None:
                # Ways to say how often each choice occurs.
                g, b = int(levels[0]), len(levels)
                total *= math.comb(g + b - 1, b)
            else:
                total *= _burnside(block.elements, [int(level) for level in levels])
        for parameter, inside in zip(space.parameters, in_block, strict=True):
            if not inside:
                total *= parameter.n_levels
        return total


def _first_of_orbit(codes: Array, elements: Indices, n_choices: int) -> Array:
    """Return for each row of codes (n, b) the permutation of it with the smallest key."""
    b = codes.shape[1]
    # Not from the codes at hand: a point's key must not depend on the others.
    if n_choices**b < 2**62:
        digits = np.array([n_choices**i for i in range(b)], dtype=np.int64)
    else:  # any key will do that no two rearrangements of a row share
        digits = np.asarray(np.random.default_rng(0).integers(2**62, size=b), dtype=np.int64)
    whole = codes.astype(np.int64)
    first = np.empty_like(codes)
    n_rows = max(1, KEYS_AT_ONCE // elements.size)
    for start in range(0, len(codes), n_rows):
        some = whole[start : start + n_rows]
        keys = some[:, elements] @ digits  # (rows, q), wrapping around where it must
        chosen = elements[np.argmin(keys, axis=1)]
        first[start : start + n_rows] = np.take_along_axis(some, chosen, axis=1)
    return first


def _burnside(elements: Indices, levels: list[int]) -> int:
    """Return the number of orbits: the mean number of points that a permutation fixes."""
    fixed = 0
    for element in elements:
        seen: set[int] = set()
        points = 1
        for start in range(len(levels)):
            if start not in seen:
                points *= levels[start]
                place = start
                while place not in seen:
                    seen.add(place)
                    place = int(element[place])
        fixed += points
    return fixed // len(elements)
