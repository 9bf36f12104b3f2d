r"""The Weisfeiler-Lehman kernel of NASBOWL (Ru et al., 2021; Shervashidze et al., 2011).

Notation
    ===========  =====================================================================
    h            number of rounds of colour refinement, the hyperparameter
    colours      (m, V) of the nodes of m graphs, one number for equal labels and
                 surroundings
    phi_l(x)     how often each colour occurs in a graph after l rounds
    ===========  =====================================================================

    k(x, x') = K(x, x') / sqrt(K(x, x) K(x', x')),   K(x, x') = sum_{l <= h} <phi_l(x), phi_l(x')>

on the graph that a point describes, absent nodes left out. As in NASBOWL an edge with an operation
is a node between two nodes, so that operations are compared whether they are on nodes or on edges;
where edges are only there or not, they are edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse

from heat_plugins.kernels.base import CrossCovariance, CrossFunction
from heat_plugins.kernels.baselines.listed_settings import ListedSettingsKernel
from heat_plugins.space import Array, Bools, Indices
from heat_plugins.space.canonical_graph import Colours, mixed, refined
from heat_plugins.space.graph_columns import GraphColumns

__all__ = ["WeisfeilerLehmanKernel"]

MOST_ROUNDS = 4
EMPTY = 2**20  # the label of the one node that an empty graph is given, to be like itself
OF_EDGE = 2**21  # codes of edges that are nodes begin here, far above those of labels


@dataclass(frozen=True, eq=False)
class _Counts:
    """The colours of some graphs, all rounds one after the other.

    Args:
        colours: (m, (1 + rounds) V) colours.
        exists: (m, (1 + rounds) V) whether the node does.
    """

    colours: Colours
    exists: Bools

    def of_rounds(self, rounds: int) -> _Counts:
        """Return the colours after no more than so many rounds."""
        n = self.colours.shape[1] // (1 + MOST_ROUNDS) * (1 + rounds)
        return _Counts(self.colours[:, :n], self.exists[:, :n])

    def vocabulary(self) -> Colours:
        """Return the different colours, ascending."""
        return cast(Colours, np.unique(self.colours[self.exists]))

    def matrix(self, vocabulary: Colours) -> sparse.csr_array:
        """Return (m, colours) how often each colour of a vocabulary occurs."""
        place = np.searchsorted(vocabulary, self.colours)
        place[place == len(vocabulary)] = 0
        is_known = self.exists & (vocabulary[place] == self.colours)
        rows, columns = np.nonzero(is_known)
        shape = len(self.colours), len(vocabulary)
        places = rows, place[rows, columns]
        return sparse.csr_array((np.ones(len(rows)), places), shape=shape)

    def norms(self) -> Array:
        """Return (m,) the square root of each K(x, x)."""
        # Equal colours stand next to each other: each group of c counts c^2.
        colours = np.sort(np.where(self.exists, self.colours, 0), axis=1)
        is_last = np.ones(colours.shape, dtype=bool)
        is_last[:, :-1] = colours[:, 1:] != colours[:, :-1]
        rows, ends = np.nonzero(is_last)
        is_first = np.diff(rows, prepend=-1) > 0
        counts = np.where(is_first, ends + 1, np.diff(ends, prepend=0))
        counts[colours[rows, ends] == 0] = 0  # nodes that do not exist
        return np.sqrt(np.bincount(rows, counts.astype(float) ** 2, len(colours)))


class WeisfeilerLehmanKernel(ListedSettingsKernel):
    """Common refined labels of the graphs that some columns describe."""

    def __init__(self, graph: GraphColumns) -> None:
        """Hold the graph; the hyperparameter is the number of rounds."""
        super().__init__(1 + MOST_ROUNDS)
        self._graph = graph

    def prepare(self, points: Array) -> _Counts:
        """Return the colours of the graphs of points (n, d)."""
        labels, edges = self._graph.read(points[:, self._graph.columns])
        if self._graph.n_edge_codes > 2:
            labels, edges = _edges_as_nodes(labels, edges, self._graph.directed)
        labels[~labels.any(axis=1), 0] = EMPTY
        colours = mixed(labels.astype(np.uint64))
        rounds = [colours]
        for number in range(1, 1 + MOST_ROUNDS):
            colours = refined(colours, edges, np.full(len(edges), self._graph.directed))
            # Of another round than the same colour without further refinement.
            rounds.append(mixed(colours + np.uint64(number)))
        exists = np.tile(labels > 0, (1, 1 + MOST_ROUNDS))
        return _Counts(np.concatenate(rounds, axis=1), exists)

    def matrix(self, theta: Array, prepared: _Counts) -> Array:
        """Return the kernel matrix (n, n)."""
        counts = prepared.of_rounds(self.setting(theta))
        features, norms = counts.matrix(counts.vocabulary()), counts.norms()
        raw: Array = (features @ features.T).toarray()
        return raw / np.outer(norms, norms)

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        rounds = self.setting(theta)
        observed = self.prepare(points).of_rounds(rounds)
        vocabulary = observed.vocabulary()
        features, norms = observed.matrix(vocabulary).T.toarray(), observed.norms()

        def covariances(others: Array) -> Array:
            counts = self.prepare(others).of_rounds(rounds)
            raw: Array = counts.matrix(vocabulary) @ features
            return raw / np.outer(counts.norms(), norms)

        return CrossFunction(covariances)


def _edges_as_nodes(labels: Indices, edges: Indices, directed: bool) -> tuple[Indices, Indices]:
    """Return labels (m, V) and plain edges (m, V, V) of graphs whose edges are nodes as well."""
    m, n = labels.shape
    may_be = (edges > 0).any(axis=0)
    pairs = np.stack(np.nonzero(may_be if directed else np.triu(may_be)), axis=1)  # (P, 2)
    of_pairs = edges[:, pairs[:, 0], pairs[:, 1]]
    more = np.where(of_pairs > 0, OF_EDGE + of_pairs, 0)
    whole = np.zeros((m, n + len(pairs), n + len(pairs)), dtype=np.int64)
    places = n + np.arange(len(pairs))
    whole[:, pairs[:, 0], places] = whole[:, places, pairs[:, 1]] = of_pairs > 0
    if not directed:
        whole |= whole.transpose(0, 2, 1)
    return np.concatenate([labels, more], axis=1), whole
