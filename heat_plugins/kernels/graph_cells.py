"""Graphs as rows of cells, and their images under relabelling.

Notation
    ===========  =====================================================================
    cell         the label of a node, or the edge between two nodes
    C            number of cells: of all that some relabelling can fill
    kind         cells that relabellings can take to each other, (C,) one for each
    element      (C,) an order of the cells, induced by an order of the nodes
    image        a graph relabelled by an element
    ===========  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from heat_plugins.space import Array, Indices
from heat_plugins.space.canonical_graph import canonical_order
from heat_plugins.space.graph_columns import GraphColumns, relabelled

__all__ = ["GraphCells", "GraphCounts", "Images"]


@dataclass(frozen=True, eq=False)
class Images:
    """Different images of n graphs, those of one graph next to each other.

    Args:
        codes: (U, C) the images.
        log_shares: (U,) logarithms of the share of elements that make each of them.
        first: (n,) the first image of each graph.
    """

    codes: Indices
    log_shares: Array
    first: Indices


class GraphCells:
    """The cells of one graph, and the relabellings that a kernel averages over.

    All of them up to ``n_samples``; of larger groups s^-1 s' for all pairs of sqrt(n_samples)
    random ones, which is the average over both sides. That is invariant only to the pairs
    themselves, so graphs then are taken in their canonical order.

    Attributes:
        kinds: (C,) the kind of each cell; labels are the first.
        n_codes: (C,) how many codes there are.
        names: What each kind is, for people.
        elements: (q, C) induced orders of the cells.
        shares: (q,) how much each of them counts, one in all.
        counts: Features of the graphs that need no average; None where they are not wanted.
    """

    def __init__(self, graph: GraphColumns, n_samples: int, has_counts: bool = False) -> None:
        """List the cells, then the elements."""
        self._graph = graph
        self.counts = GraphCounts(graph) if has_counts else None
        n, classes = len(graph), graph.classes
        self._label_nodes = np.flatnonzero(graph.is_labelled())
        pairs, kinds = _pairs_by_kind(graph)
        self._pairs = pairs
        n_labels = len(self._label_nodes)
        has_labels = int(n_labels > 0)
        self.kinds: Indices = np.concatenate([np.zeros(n_labels, np.int64), kinds + has_labels])
        self.n_codes: Indices = np.where(
            np.arange(len(self.kinds)) < n_labels, graph.n_labels, graph.n_edge_codes
        )
        cell_of_node = np.full(n, -1)
        cell_of_node[self._label_nodes] = np.arange(n_labels)
        cell_of_pair = np.full((n, n), -1)
        cell_of_pair[pairs[:, 0], pairs[:, 1]] = n_labels + np.arange(len(pairs))
        if not graph.directed:
            cell_of_pair = np.maximum(cell_of_pair, cell_of_pair.T)
        self.is_sampled = prod(map(factorial, np.bincount(classes).tolist())) > n_samples
        orders = _pairs_of_samples(classes, n_samples) if self.is_sampled else _all_orders(classes)
        moved = orders[:, pairs]  # (q, pairs, 2)
        of_labels = cell_of_node[orders[:, self._label_nodes]]
        elements = np.concatenate([of_labels, cell_of_pair[moved[..., 0], moved[..., 1]]], axis=1)
        self.elements, counts = np.unique(elements, axis=0, return_counts=True)
        self.shares: Array = counts / counts.sum()
        # By the cell that a code comes from: the number of an image is a sum over cells.
        factors = np.random.default_rng(0).integers(2**63, size=len(self.kinds), dtype=np.uint64)
        self._factors = np.empty(self.elements.shape, dtype=np.uint64)  # (q, C)
        np.put_along_axis(self._factors, self.elements, factors << np.uint64(1) | np.uint64(1), 1)
        self.names = _names(graph, has_labels, kinds, pairs)

    @property
    def n_parameters(self) -> int:
        """The number of parameters that describe the graph."""
        return len(self._graph.columns)

    def codes(self, points: Array) -> Indices:
        """Return the cells (m, C) of the graphs of points (m, d)."""
        labels, edges = self._graph.read(points[:, self._graph.columns])
        if self.is_sampled:
            order = canonical_order(labels, edges, self._graph.classes)
            labels, edges = relabelled(labels, edges, order)
        of_pairs = edges[:, self._pairs[:, 0], self._pairs[:, 1]]
        return np.concatenate([labels[:, self._label_nodes], of_pairs], axis=1)

    def images(self, codes: Indices) -> Images:
        """Return the different images of graphs with cells (n, C)."""
        n, q = len(codes), len(self.elements)
        # One number for each image: equal for equal ones, and hardly ever for others.
        keys = codes.astype(np.uint64) @ self._factors.T  # (n, q)
        order = np.argsort(keys, axis=1, kind="stable")
        keys = np.take_along_axis(keys, order, axis=1)
        is_new = np.ones((n, q), dtype=bool)
        is_new[:, 1:] = keys[:, 1:] != keys[:, :-1]
        graphs, places = np.nonzero(is_new)
        shares = np.add.reduceat(self.shares[order].ravel(), np.flatnonzero(is_new))
        elements = self.elements[order[graphs, places]]
        n_images = is_new.sum(axis=1)
        return Images(
            codes[graphs[:, None], elements], np.log(shares), np.cumsum(n_images) - n_images
        )


class GraphCounts:
    """Counts of each label and each kind of edge in a graph, as features.

    Padded sorting (``Counts`` in ``features.py``) of the labels, and of the edges: a thermometer
    for each choice. Counts are what no relabelling changes, and most of what is known of cells
    after few of them; the average over relabellings alone has to learn that they matter.
    """

    def __init__(self, graph: GraphColumns) -> None:
        self._graph = graph
        n_labels, n_edges = int(graph.is_labelled().sum()), int(graph.may_have_edge.sum())
        n_edges = n_edges if graph.directed else n_edges // 2
        # Codes of labels, then of edges; 0 is what is not there.
        self._of_labels = np.arange(1, graph.n_labels if n_labels else 1)
        self._of_edges = np.arange(1, graph.n_edge_codes)
        widths = np.repeat([n_labels, n_edges], [len(self._of_labels), len(self._of_edges)])
        self.owner: Indices = np.repeat(np.arange(len(widths)), widths)
        first = np.cumsum(widths) - widths
        self._places = 1 + np.arange(len(self.owner)) - np.repeat(first, widths)
        self.log_scales: Array = np.zeros(len(widths))
        self.names = (
            *(f"number of labels {code}" for code in self._of_labels),
            *(f"number of edges {code}" for code in self._of_edges),
        )

    def __call__(self, points: Array) -> Array:
        """Return features (n, s) of points (n, d)."""
        labels, edges = self._graph.read(points[:, self._graph.columns])
        if not self._graph.directed:
            edges = np.triu(edges)
        edges = edges.reshape(len(edges), -1)
        counts = [
            *((labels == code).sum(axis=1) for code in self._of_labels),
            *((edges == code).sum(axis=1) for code in self._of_edges),
        ]
        filled = np.stack(counts, axis=1)[:, self.owner] >= self._places
        features: Array = filled.astype(float)
        return features


def _pairs_by_kind(graph: GraphColumns) -> tuple[Indices, Indices]:
    """Return pairs (P, 2) of nodes that some relabelling may join, and their kinds (P,)."""
    n, classes = len(graph), graph.classes
    both = np.stack(np.nonzero(~np.eye(n, dtype=bool)), axis=1)
    if not graph.directed:
        both = both[both[:, 0] < both[:, 1]]
    ends = classes[both]
    ends = ends if graph.directed else np.sort(ends, axis=1)
    kinds = ends[:, 0] * n + ends[:, 1]
    used = np.unique(kinds[graph.may_have_edge[both[:, 0], both[:, 1]]])
    some = np.isin(kinds, used)
    return both[some], np.searchsorted(used, kinds[some])


def _names(
    graph: GraphColumns, has_labels: int, kinds: Indices, pairs: Indices
) -> tuple[str, ...]:
    """Return what each kind of cells is, by a pair of nodes that stands for it."""
    arrow = "->" if graph.directed else "-"
    firsts = [pairs[kinds == kind][0] for kind in np.unique(kinds)]
    edges = [f"edges {graph.nodes[i]}{arrow}{graph.nodes[j]}" for i, j in firsts]
    return (*["labels"] * has_labels, *edges)


def _all_orders(classes: Indices) -> Indices:
    """Return all orders (q, N) of nodes within their classes."""
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    orders = []
    for arrangement in product(*(permutations(own.tolist()) for own in members)):
        order = np.empty(len(classes), dtype=np.int64)
        for own, arranged in zip(members, arrangement, strict=True):
            order[own] = arranged
        orders.append(order)
    return np.array(orders)


def _pairs_of_samples(classes: Indices, n_samples: int) -> Indices:
    """Return orders (r^2, N) s^-1 s' for r = sqrt(n_samples) random orders s and s'."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(max(2, round(np.sqrt(n_samples)))):
        order = np.arange(len(classes))
        for c in np.unique(classes):
            own = np.flatnonzero(classes == c)
            order[own] = rng.permutation(own)
        drawn.append(order)
    return np.array([second[np.argsort(first)] for first in drawn for second in drawn])
