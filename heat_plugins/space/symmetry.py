"""Symmetries of the objective: points that permutations make the same.

Notation
    ===========  =====================================================================
    block        columns that are permuted, or that describe a graph
    orbit        all points that the permutations, or relabellings, make of one point
    ===========  =====================================================================

Every orbit has one canonical point. A search that compares canonical points never spends
an evaluation on a permutation of what it has seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from heat_plugins.space import Array, Indices, Space
from heat_plugins.space.canonical_graph import canonical_order, fingerprints
from heat_plugins.space.graph_columns import GraphColumns, relabelled

__all__ = ["Block", "GraphBlock", "SymmetricColumns", "Symmetry"]


KEYS_AT_ONCE = 2_000_000  # numbers in memory while orbits are compared
MOST_COUNTED = 50_000  # descriptions of graphs of which isomorphic ones are counted once


class SymmetricColumns(Protocol):
    """Some columns, and which points in them are the same."""

    @property
    def columns(self) -> Indices:
        """The columns (b,)."""

    def canonical(self, codes: Array) -> Array:
        """Return the canonical coordinates (n, b) of coordinates (n, b)."""

    def identity(self, codes: Array) -> Array:
        """Return numbers (n, b) that coordinates (n, b) of one orbit, and no others, share."""

    def spread(self, codes: Array, space: Space, rng: np.random.Generator) -> Array:
        """Return coordinates (n, b) redrawn so that rare orbits are met as well."""

    def n_orbits(self, space: Space) -> float:
        """Return how many orbits there are."""


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

    def canonical(self, codes: Array) -> Array:
        """Return codes (n, b) in ascending order, or the first of those of the group."""
        if self.elements is None:
            return np.sort(codes, axis=1)
        return _first_of_orbit(codes, self.elements, self.n_choices)

    def identity(self, codes: Array) -> Array:
        """Return the canonical codes (n, b)."""
        return self.canonical(codes)

    def spread(self, codes: Array, space: Space, rng: np.random.Generator) -> Array:
        """Return codes (n, b) all of whose orbits are equally likely.

        Only listed choices with all permutations are redrawn.
        """
        b, g = len(self.columns), float(space.n_levels[self.columns[0]])
        if self.elements is not None or not np.all(space.is_discrete[self.columns]):
            return codes
        # Which b of g + b - 1 places hold stars, the others bars between choices.
        places = rng.random((len(codes), int(g) + b - 1)).argsort(axis=1)[:, :b]
        stars: Array = np.sort(places, axis=1) - np.arange(b, dtype=float)
        return stars

    def n_orbits(self, space: Space) -> float:
        """Return the number of orbits; infinite for numbers without a step."""
        levels = [space.parameters[column].n_levels for column in self.columns]
        if math.inf in levels:
            return math.inf
        if self.elements is None:
            # Ways to say how often each choice occurs.
            g, b = int(levels[0]), len(levels)
            return math.comb(g + b - 1, b)
        return _burnside(self.elements, [int(level) for level in levels])


class GraphBlock:
    """Columns that describe a labelled graph: isomorphic graphs are the same."""

    def __init__(self, graph: GraphColumns) -> None:
        self._graph = graph
        self.columns = graph.columns
        self._n_orbits: float | None = None

    def canonical(self, codes: Array) -> Array:
        """Return the coordinates (n, b) of the graphs in their canonical order.

        Of graphs that fit into the columns in no such order, the coordinates as they are.
        """
        return self._graph.canonical(codes, self._order(*self._graph.read(codes)))

    def identity(self, codes: Array) -> Array:
        """Return (n, b) a fingerprint of the canonical graphs, in numbers that a float can hold.

        Unlike canonical coordinates there is one for every graph.
        """
        labels, edges = self._graph.read(codes)
        prints = fingerprints(*relabelled(labels, edges, self._order(labels, edges)))
        numbers = np.zeros(codes.shape)
        numbers[:, 0] = prints >> np.uint64(12)
        numbers[:, -1] += prints & np.uint64(0xFFF)
        return numbers

    def _order(self, labels: Indices, edges: Indices) -> Indices:
        return canonical_order(labels, edges, self._graph.classes)

    def spread(self, codes: Array, space: Space, rng: np.random.Generator) -> Array:
        """Return coordinates (n, b) of graphs of all sizes, from none to all of their edges."""
        shares = rng.random((len(codes), 2))
        return self._graph.thinned(codes, shares[:, :1], shares[:, 1:], rng)

    def n_orbits(self, space: Space) -> float:
        """Return the number of graphs up to isomorphism if they can be counted.

        Where there are very many, the number of their descriptions, which is at least as large.
        """
        if self._n_orbits is None:
            levels = [space.parameters[column].levels() for column in self.columns]
            self._n_orbits = math.prod(map(len, levels))
            if self._n_orbits <= MOST_COUNTED:
                codes = np.stack([axis.ravel() for axis in np.meshgrid(*levels)], axis=1)
                self._n_orbits = len(np.unique(self.identity(codes), axis=0))
        return self._n_orbits


class Symmetry:
    """All blocks of a space, which have no column in common."""

    def __init__(self, blocks: Sequence[SymmetricColumns]) -> None:
        self._blocks = tuple(blocks)

    def canonical(self, points: Array) -> Array:
        """Return the canonical points (n, d) of the orbits of points (n, d)."""
        points = points.copy()
        for block in self._blocks:
            points[:, block.columns] = block.canonical(points[:, block.columns])
        return points

    def identity(self, points: Array) -> Array:
        """Return (n, d) what points of one orbit share and others do not; it may be no point."""
        points = points.copy()
        for block in self._blocks:
            points[:, block.columns] = block.identity(points[:, block.columns])
        return points

    def spread(self, points: Array, space: Space, rng: np.random.Generator) -> Array:
        """Return points (n, d) whose blocks are redrawn so that rare orbits are met as well.

        Of random points most have each choice about equally often; orbits of other points
        would hardly ever be met.
        """
        points = points.copy()
        for block in self._blocks:
            points[:, block.columns] = block.spread(points[:, block.columns], space, rng)
        return points

    def n_orbits(self, space: Space) -> float:
        """Return how many orbits the points of a space make up."""
        in_block = np.zeros(len(space), dtype=bool)
        total: float = 1
        for block in self._blocks:
            in_block[block.columns] = True
            total *= block.n_orbits(space)
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
