"""The labelled graph that some columns of a point describe, and the way back.

Notation
    ===========  =====================================================================
    N            number of nodes, those that may be absent among them
    labels       (m, N) codes of the labels of m graphs, 0 where a node is absent
    edges        (m, N, N) codes of the edges, 0 where there is none
    order        (m, N) which node comes to each place when a graph is relabelled
    class        nodes of one class may change places; a fixed node has one of its own
    free         nodes that are not fixed
    ===========  =====================================================================

Every graph has all N nodes, so graphs of all sizes are padded with absent ones. Its edges are a
whole matrix even where the columns are a triangle of it: a relabelled graph need not fit into
the columns, but it can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.space.arrays import Array, Bools, Indices
from heat_plugins.space.categorical import ListedValues, equal_values
from heat_plugins.space.space import Space

__all__ = ["GraphColumns", "GraphLayout", "relabelled"]

MOST_VALUES = 100  # of a whole number that is a label or an edge
FIRST_ORDINARY = 1  # the lowest code of a label or an edge that is there


@dataclass(frozen=True, eq=False)
class GraphLayout:
    """The columns of a graph: nodes by their numbers, parameters by name.

    Args:
        nodes: The names of the nodes.
        classes: (N,) the class of each node.
        is_free: (N,) whether it is not fixed.
        labels: The parameter that is the label, by node.
        edges: The parameter that is the edge, by pair of nodes; True for one that is always
            there.
        directed: Whether edges lead from the first node of a pair to the second.
        absent: Labels of nodes that are not there.
        no_edge: Values of edges that are not there.
        between: Two nodes, if only what is on a way from the first to the second counts.
    """

    nodes: Sequence[str]
    classes: Indices
    is_free: Bools
    labels: Mapping[int, str]
    edges: Mapping[tuple[int, int], str | bool]
    directed: bool
    absent: Sequence[Any] = ()
    no_edge: Sequence[Any] = ()
    between: tuple[int, int] | None = None


class GraphColumns:
    """Reads and writes the graphs of points.

    Attributes:
        nodes: The names of the nodes.
        classes: (N,) the class of each node.
        is_free: (N,) whether it is not fixed.
        columns: (c,) the columns of points that describe the graph, labels first.
        n_labels: How many codes of labels there are, 0 for absent among them.
        n_edge_codes: How many codes of edges there are, 0 for none among them.
        may_have_edge: (N, N) between which nodes there may be an edge.
    """

    def __init__(self, space: Space, layout: GraphLayout) -> None:
        """Give every value that occurs a code; equal values of different parameters have one."""
        self.nodes, self.classes, self.is_free = layout.nodes, layout.classes, layout.is_free
        self.directed = layout.directed
        self._between = layout.between
        n = len(layout.classes)
        self._label_nodes = np.array([*layout.labels], dtype=np.int64)
        given = {pair: name for pair, name in layout.edges.items() if isinstance(name, str)}
        self._pairs = np.array([*given], dtype=np.int64).reshape(len(given), 2)
        names = [*layout.labels.values(), *given.values()]
        self.columns: Indices = np.array([space.column[name] for name in names], dtype=np.int64)
        self._is_label = np.arange(len(names)) < len(layout.labels)
        self._levels = [_levels(space, name) for name in names]
        values = [_values(space, name) for name in names]
        of_labels, of_edges = values[: len(layout.labels)], values[len(layout.labels) :]
        label_codes, self.n_labels = _codes(of_labels, layout.absent)
        _check_absent(layout, of_labels)
        always = [[True]] if len(given) < len(layout.edges) else []
        edge_codes, self.n_edge_codes = _codes([*of_edges, *always], layout.no_edge)
        self._table = _Table([*label_codes, *edge_codes[: len(given)]])
        self._no_labels = np.zeros(n, dtype=np.int64)
        # Nodes without a label: those that change places share a code, fixed ones have their own.
        bare = np.setdiff1d(np.arange(n), self._label_nodes)
        self._no_labels[bare] = self.n_labels + self.classes[bare]
        self._constant = np.zeros((n, n), dtype=np.int64)
        for (i, j), name in layout.edges.items():
            if not isinstance(name, str):
                self._constant[i, j] = edge_codes[-1][0]
        self.may_have_edge: Bools = self._constant > 0
        self.may_have_edge[self._pairs[:, 0], self._pairs[:, 1]] = True
        if not self.directed:
            self._constant = np.maximum(self._constant, self._constant.T)
            self.may_have_edge |= self.may_have_edge.T

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.classes)

    def is_labelled(self) -> Bools:
        """(N,) which nodes have a label that is a parameter."""
        result = np.zeros(len(self), dtype=bool)
        result[self._label_nodes] = True
        return result

    # -------------------------------------------------------------------------- reading

    def read(self, coordinates: Array) -> tuple[Indices, Indices]:
        """Return labels (m, N) and edges (m, N, N) of coordinates (m, c) of the columns."""
        m = len(coordinates)
        codes = self._table.codes(self._positions(coordinates))
        labels = np.repeat(self._no_labels[None], m, axis=0)
        labels[:, self._label_nodes] = codes[:, self._is_label]
        edges = np.repeat(self._constant[None], m, axis=0)
        edges[:, self._pairs[:, 0], self._pairs[:, 1]] = codes[:, ~self._is_label]
        if not self.directed:
            edges[:, self._pairs[:, 1], self._pairs[:, 0]] = codes[:, ~self._is_label]
        exists = labels > 0
        edges *= exists[:, :, None] & exists[:, None, :]
        if self._between is not None:
            counts = _on_a_way(edges > 0, *self._between)
            edges *= counts[:, :, None] & counts[:, None, :]
            # What is fixed stays, so that graphs without a way are one graph.
            labels[~counts & self.is_free] = 0
        return labels, edges

    def _positions(self, coordinates: Array) -> Indices:
        """Return the positions (m, c) of values among those that a parameter can have."""
        positions = coordinates.astype(np.int64)
        for part, levels in enumerate(self._levels):
            if levels is not None:  # a whole number, whose places are in [0, 1]
                middles = (levels[1:] + levels[:-1]) / 2.0
                positions[:, part] = np.searchsorted(middles, coordinates[:, part])
        return positions

    # -------------------------------------------------------------------------- writing

    def write(self, labels: Indices, edges: Indices) -> Array:
        """Return coordinates (m, c) that describe graphs, as far as the columns can."""
        wanted = np.concatenate(
            [labels[:, self._label_nodes], edges[:, self._pairs[:, 0], self._pairs[:, 1]]], axis=1
        )
        positions = self._table.positions(wanted)
        coordinates = positions.astype(float)
        for part, levels in enumerate(self._levels):
            if levels is not None:
                coordinates[:, part] = levels[positions[:, part]]
        return coordinates

    def thinned(
        self, coordinates: Array, without_edge: Array, absent: Array, rng: np.random.Generator
    ) -> Array:
        """Return coordinates (m, c) with edges and nodes taken away, as far as they may be.

        Args:
            coordinates: (m, c) what describes the graphs.
            without_edge: (m, 1) the share of edges that are taken away.
            absent: (m, 1) the share of nodes.
            rng: Source of randomness.
        """
        nothing = self.write(
            np.zeros((1, len(self)), np.int64), np.zeros((1, len(self), len(self)), np.int64)
        )
        is_nothing = self._table.codes(self._positions(nothing))[0] == 0
        chance = np.where(self._is_label, absent, without_edge)
        goes = (rng.random(coordinates.shape) < chance) & is_nothing
        return np.where(goes, nothing, coordinates)

    def canonical(self, coordinates: Array, order: Indices) -> Array:
        """Return the coordinates (m, c) of graphs relabelled to a canonical order (m, N).

        Edges of columns that lead to later nodes alone ask for an order of their own: of those
        that fit, the one whose nodes come first in the canonical order. What does not fit into
        the columns at all remains as it is.
        """
        labels, edges = self.read(coordinates)
        if self.directed and not np.tril(self.may_have_edge).any():
            order = self._topological(labels, edges, order)
        labels, edges = relabelled(labels, edges, order)
        written = self.write(labels, edges)
        found_labels, found_edges = self.read(written)
        fits = (found_labels == labels).all(axis=1) & (found_edges == edges).all(axis=(1, 2))
        return np.where(fits[:, None], written, coordinates)

    def _topological(self, labels: Indices, edges: Indices, order: Indices) -> Indices:
        """Return an order (m, N) in which edges lead to later nodes, as far as there is one.

        Of the nodes that may come next the first in a given order (m, N) does, absent ones last.
        """
        m, n = order.shape
        rows = np.arange(m)
        rank = np.empty_like(order)
        rank[rows[:, None], order] = np.arange(n)
        rank += n * (labels == 0)
        is_before = (edges > 0) & self.is_free[:, None]  # (m, N, N) free nodes before others
        is_placed = np.repeat(~self.is_free[None], m, axis=0)
        result = np.repeat(np.arange(n)[None], m, axis=0)
        for place in np.flatnonzero(self.is_free):
            waits = (is_before & ~is_placed[:, :, None]).any(axis=1)
            may = ~is_placed & (self.classes == self.classes[place])
            # Where all wait, there is no such order: any node will do.
            result[:, place] = np.argmin(np.where(may, rank + 4 * n * waits, 8 * n), axis=1)
            is_placed[rows, result[:, place]] = True
        return result


class _Table:
    """Codes of the values of several parameters, by their positions, and back."""

    def __init__(self, codes: Sequence[Sequence[int]]) -> None:
        self._codes = np.array([code for own in codes for code in own], dtype=np.int64)
        sizes = np.array([len(own) for own in codes], dtype=np.int64)
        self._first = np.cumsum(sizes) - sizes
        # (c, codes) the first position of each code; 0 where a parameter does not have it.
        self._position = np.zeros((len(codes), int(self._codes.max(initial=0)) + 1), np.int64)
        for row, own in zip(self._position, codes, strict=True):
            for position in reversed(range(len(own))):
                row[own[position]] = position

    def codes(self, positions: Indices) -> Indices:
        """Return the codes (m, c) of positions (m, c)."""
        codes: Indices = self._codes[self._first + positions]
        return codes

    def positions(self, codes: Indices) -> Indices:
        """Return positions (m, c) of codes (m, c)."""
        is_known = codes < self._position.shape[1]
        columns = np.arange(len(self._position))
        positions: Indices = self._position[columns, np.where(is_known, codes, 0)]
        return positions


def relabelled(labels: Indices, edges: Indices, order: Indices) -> tuple[Indices, Indices]:
    """Return labels (m, N) and edges (m, N, N) with node order[i] in place i."""
    rows = np.arange(len(order))[:, None]
    return labels[rows, order], edges[rows[:, :, None], order[:, :, None], order[:, None, :]]


def _levels(space: Space, name: str) -> Array | None:
    """Return the places of a whole number, ascending; None for listed choices."""
    parameter = space.parameters[space.column[name]]
    if isinstance(parameter, ListedValues):
        return None
    if parameter.n_levels > MOST_VALUES:
        raise ValueError(
            f"parameter {name!r} of a labelled graph must have listed choices, or whole numbers "
            f"up to {MOST_VALUES} of them, got {parameter!r}"
        )
    return parameter.levels()


def _values(space: Space, name: str) -> list[Any]:
    parameter = space.parameters[space.column[name]]
    return [parameter.decode(float(place)) for place in parameter.levels()]


def _check_absent(layout: GraphLayout, values: Sequence[Sequence[Any]]) -> None:
    """Refuse labels of absent nodes that no node can have, which hardly is what was meant."""
    for label in layout.absent:
        if not any(equal_values(value, label) for own in values for value in own):
            raise ValueError(
                f"absent must hold labels of {tuple(layout.labels.values())}, got {label!r}"
            )


def _codes(values: Sequence[Sequence[Any]], nothing: Sequence[Any]) -> tuple[list[list[int]], int]:
    """Return a code for each value, 0 for what is not there, and the number of codes."""
    known: list[Any] = []

    def code(value: Any) -> int:
        if any(equal_values(value, other) for other in nothing):
            return 0
        for position, other in enumerate(known):
            if equal_values(value, other):
                return FIRST_ORDINARY + position
        known.append(value)
        return FIRST_ORDINARY + len(known) - 1

    codes = [[code(value) for value in own] for own in values]
    return codes, FIRST_ORDINARY + len(known)


def _on_a_way(is_edge: Bools, first: int, last: int) -> Bools:
    """(m, N) which nodes are on a way from the first to the last, as edges (m, N, N) lead."""

    def reached(start: int, steps: Bools) -> Bools:
        found = np.zeros(steps.shape[:2], dtype=bool)
        found[:, start] = True
        for _ in range(steps.shape[1] - 1):
            further = found | (steps & found[:, :, None]).any(axis=1)
            if np.array_equal(further, found):
                break
            found = further
        return found

    return reached(first, is_edge) & reached(last, is_edge.transpose(0, 2, 1))
