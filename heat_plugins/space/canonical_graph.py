r"""Canonical forms of labelled graphs: equal for isomorphic graphs, and for no others.

Notation
    ===========  =====================================================================
    m, N         graphs, and nodes of each
    colour       (m, N) 64-bit numbers that isomorphisms leave as they are
    cell         the nodes of one class and one colour
    leaf         a colouring in which every cell has one node: an order of the nodes
    ===========  =====================================================================

Colour refinement (the Weisfeiler-Lehman test) gives a node a new colour for its own, and the
colours at the ends of its edges, until no more cells split. Most graphs then are leaves. In the
others one node of a cell is individualised, each of the cell in turn, and colours are refined
again; the smallest leaf is the canonical form (McKay and Piperno, "Practical graph isomorphism,
II", 2014). Two short cuts keep the search small, and neither changes its result:

*   Twins, nodes that can be exchanged while all others stay, are told apart by their order.
    Absent nodes are twins.
*   Of individualised nodes with the same leaf below them, however found, an automorphism takes
    one to the other, and one is enough.

Graphs are looked at all at once. A colour is a hash of what it stands for: different graphs have
the same form with a probability of about 1e-19 (as in ``point_set.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.space.arrays import Bools, Indices
from heat_plugins.space.graph_columns import relabelled

__all__ = ["canonical_order", "fingerprints", "mixed", "refined"]

Colours = NDArray[np.uint64]

AT_ONCE = 200_000  # pairs of nodes in memory at once
FORWARD, BACKWARD, MARK = (np.uint64(0x9E3779B97F4A7C15 * k % 2**64) for k in (1, 3, 5))


def mixed(numbers: Colours) -> Colours:
    """Scramble the bits of 64-bit numbers, one to one (the end of MurmurHash3)."""
    result = numbers ^ (numbers >> np.uint64(33))
    result *= np.uint64(0xFF51AFD7ED558CCD)
    result ^= result >> np.uint64(33)
    result *= np.uint64(0xC4CEB9FE1A85EC53)
    result ^= result >> np.uint64(33)
    return result


def refined(colours: Colours, edges: Indices, directed: Bools) -> Colours:
    """Return colours (m, N) after one round: each for its own and those next to it.

    Args:
        colours: (m, N).
        edges: (m, N, N) codes, 0 where there is no edge.
        directed: (m,) whether edges are looked at from both ends.
    """
    codes = edges.astype(np.uint64)
    is_edge = edges > 0
    sums = _at_the_ends(colours, codes, is_edge, FORWARD)
    rows = np.flatnonzero(directed)
    if len(rows):
        codes, is_edge = codes[rows].transpose(0, 2, 1), is_edge[rows].transpose(0, 2, 1)
        sums[rows] += _at_the_ends(colours[rows], codes, is_edge, BACKWARD)
    return mixed(mixed(colours) + sums)


def _at_the_ends(colours: Colours, codes: Colours, is_edge: Bools, way: np.uint64) -> Colours:
    """Return (m, N) a number for the colours that edges of each code lead to."""
    ends = mixed(colours[:, None, :] + codes * way)
    sums: Colours = np.sum(ends, axis=2, where=is_edge, dtype=np.uint64)
    return sums


def canonical_order(labels: Indices, edges: Indices, classes: Indices) -> Indices:
    """Return orders (m, N) of the nodes, by which isomorphic graphs become equal ones.

    Args:
        labels: (m, N) codes of labels.
        edges: (m, N, N) codes of edges, 0 where there is none.
        classes: (N,) which nodes may change places: those of the same class.
    """
    m, n = labels.shape
    order = np.empty((m, n), dtype=np.int64)
    n_rows = max(1, AT_ONCE // n**2)
    for start in range(0, m, n_rows):
        rows = slice(start, start + n_rows)
        order[rows] = _Search(labels[rows], edges[rows], classes).order()
    return order


def fingerprints(labels: Indices, edges: Indices) -> Colours:
    """Return (m,) a number for each of some graphs as they are."""
    m, n = labels.shape
    factors = np.random.default_rng(0).integers(2**63, size=n + n * n, dtype=np.uint64)
    # Any odd factors do, for codes are far below 2^63.
    factors = factors << np.uint64(1) | np.uint64(1)
    codes = np.concatenate([labels, edges.reshape(m, n * n)], axis=1).astype(np.uint64)
    sums: Colours = (mixed(codes) * factors).sum(axis=1, dtype=np.uint64)
    return mixed(sums)


class _Search:
    """Individualisation and refinement for some graphs (m), all of one size.

    What becomes of a graph must not depend on the others: rounds are counted for each.
    """

    def __init__(self, labels: Indices, edges: Indices, classes: Indices) -> None:
        self._labels, self._edges, self._classes = labels, edges, classes
        self._slots = np.argsort(classes, kind="stable")
        self._directed = np.any(edges != edges.transpose(0, 2, 1), axis=(1, 2))  # (m,)

    def order(self) -> Indices:
        """Return the canonical orders (m, N)."""
        graphs = np.arange(len(self._labels))
        colours = mixed(self._labels.astype(np.uint64) + self._classes.astype(np.uint64) * MARK)
        colours = self._stable(mixed(colours + self._rank_among_twins(colours)), graphs)
        order = self._order_of(colours)
        open_ = graphs[~_is_leaf(colours)]
        if len(open_):
            order[open_] = self._smallest_leaves(colours[open_], open_)
        return order

    def _rank_among_twins(self, colours: Colours) -> Colours:
        """Return (m, N) with how many earlier nodes each node could be exchanged."""
        codes = mixed(self._edges.astype(np.uint64))  # 0 where there is no edge
        weights = np.random.default_rng(1).integers(2**63, size=codes.shape[1], dtype=np.uint64)
        back = codes.transpose(0, 2, 1)
        is_twin = (colours[:, :, None] == colours[:, None, :]) & (codes == back)
        for matrix in (codes, back) if self._directed.any() else (codes,):
            weighted = matrix * weights
            # (m, N, N) what the first of two nodes has, but for the edge to the second
            rest = weighted.sum(axis=2, dtype=np.uint64)[:, :, None] - weighted
            is_twin &= rest == rest.transpose(0, 2, 1)
        ranks: Colours = np.tril(is_twin, -1).sum(axis=2).astype(np.uint64)
        return ranks

    def _stable(self, colours: Colours, graphs: Indices) -> Colours:
        """Return colours (k, N) of given graphs (k,) refined until no more cells split."""
        colours, n = colours.copy(), _n_cells(colours)
        rows = np.flatnonzero(n < colours.shape[1])
        while len(rows):
            kept = graphs[rows]
            finer = refined(colours[rows], self._edges[kept], self._directed[kept])
            found = _n_cells(finer)
            grows = found > n[rows]
            rows, finer, found = rows[grows], finer[grows], found[grows]
            colours[rows], n[rows] = finer, found
            rows = rows[found < colours.shape[1]]
        return colours

    def _order_of(self, colours: Colours) -> Indices:
        """Return (k, N) the nodes of each class by their colours, in the places of the class."""
        order = np.empty(colours.shape, dtype=np.int64)
        order[:, self._slots] = np.lexsort(
            (colours, np.broadcast_to(self._classes, colours.shape)), axis=1
        )
        return order

    def _smallest_leaves(self, colours: Colours, graphs: Indices) -> Indices:
        """Return the orders (k, N) of the smallest leaves below colours (k, N) of graphs (k,)."""
        owner = np.arange(len(graphs))
        order = np.empty(colours.shape, dtype=np.int64)
        while len(owner):
            rows, nodes = np.nonzero(_in_target_cell(colours))
            owner = owner[rows]
            colours = self._stable(_individualised(colours[rows], nodes), graphs[owner])
            traits = mixed(colours).sum(axis=1, dtype=np.uint64)
            is_least = traits == _least(traits, owner, len(graphs))[owner]
            owner, colours = owner[is_least], colours[is_least]
            leaves = self._leaf_keys(colours, graphs[owner])
            first = _first_of_each(owner, leaves)
            owner, colours, leaves = owner[first], colours[first], leaves[first]
            # Branches of a graph with the same colours become leaves together.
            is_done = _is_leaf(colours)
            is_smallest = is_done & (leaves == _least(leaves, owner, len(graphs))[owner])
            order[owner[is_smallest]] = self._order_of(colours[is_smallest])
            owner, colours = owner[~is_done], colours[~is_done]
        return order

    def _leaf_keys(self, colours: Colours, graphs: Indices) -> Colours:
        """Return (k,) what the graph looks like in any one leaf below each of colours (k, N)."""
        colours = colours.copy()
        rows = np.flatnonzero(~_is_leaf(colours))
        while len(rows):
            nodes = np.argmax(_in_target_cell(colours[rows]), axis=1)
            colours[rows] = self._stable(_individualised(colours[rows], nodes), graphs[rows])
            rows = rows[~_is_leaf(colours[rows])]
        order = self._order_of(colours)
        forms = relabelled(self._labels[graphs], self._edges[graphs], order)
        traits = mixed(colours).sum(axis=1, dtype=np.uint64)
        return mixed(fingerprints(*forms) + mixed(traits))


def _n_cells(colours: Colours) -> Indices:
    ordered = np.sort(colours, axis=1)
    counts: Indices = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return counts


def _is_leaf(colours: Colours) -> Bools:
    is_leaf: Bools = _n_cells(colours) == colours.shape[1]
    return is_leaf


def _in_target_cell(colours: Colours) -> Bools:
    """Return (k, N) which nodes have the smallest colour that several nodes have."""
    ordered = np.sort(colours, axis=1)
    is_shared = ordered[:, 1:] == ordered[:, :-1]
    first = np.argmax(is_shared, axis=1)  # rows are ascending, so the first is the smallest
    in_cell: Bools = colours == ordered[np.arange(len(colours)), first][:, None]
    return in_cell


def _individualised(colours: Colours, nodes: Indices) -> Colours:
    """Return colours (k, N) in which one node (k,) of each row has a new one."""
    colours, rows = colours.copy(), np.arange(len(nodes))
    colours[rows, nodes] = mixed(colours[rows, nodes] + MARK)
    return colours


def _least(values: Colours, owner: Indices, n_owners: int) -> Colours:
    """Return (n_owners,) the least of the values (k,) of each owner."""
    least = np.full(n_owners, np.iinfo(np.uint64).max)
    np.minimum.at(least, owner, values)
    return least


def _first_of_each(owner: Indices, keys: Colours) -> Indices:
    """Return the first rows of each pair of an owner (k,) and a key (k,), ascending."""
    order = np.lexsort((keys, owner))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (owner[order][1:] != owner[order][:-1]) | (keys[order][1:] != keys[order][:-1])
    return np.sort(order[is_new])
