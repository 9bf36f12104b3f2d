"""Descriptions of graphs of every kind, with spaces for their parameters."""

import itertools

import numpy as np

from heat_plugins.space import Categorical, Integer, Ordinal, Space
from heat_plugins.space.graph_columns import GraphColumns
from heat_plugins.spec.graph_layout import layout_of
from heat_plugins.spec.labelled_graph import LabelledGraph

NODES = ["a", "b", "c", "d"]
PAIRS = list(itertools.combinations(NODES, 2))

MOLECULE = LabelledGraph(NODES, {pair: "".join(pair) for pair in PAIRS}, absent=["-"])
PLAIN = LabelledGraph(NODES, {pair: "".join(pair) for pair in PAIRS}, unlabelled=NODES)
DIGRAPH = LabelledGraph(
    NODES[:3],
    {(a, b): a + b for a, b in itertools.permutations(NODES[:3], 2)},
    directed=True,
    unlabelled=["c"],
)
CELL = LabelledGraph.nasbench101(3, absent=["no"])
OPERATIONS = LabelledGraph.nasbench201()
# A chain that is always there, with two edges over it; the label of one node is always absent
# unless it is "x".
CHAIN = LabelledGraph(
    ["in", "a", "b", "c"],
    [("in", "a", True), ("a", "b", True), ("b", "c", True), ("a", "c", "ac"), ("in", "c", "ic")],
    fixed=["in"],
    directed=True,
    absent=["y"],
)


def space_of(graph, others=()):
    """Parameters of different types for a graph, in an order of their own."""
    parameters = []
    for i, name in enumerate(graph.names):
        if name in graph.labels:
            parameters.append(Categorical(name, ("x", "y", *graph.absent[:1])))
        elif graph is OPERATIONS:
            parameters.append(Categorical(name, ("none", "skip", "conv")))
        else:
            kinds = (
                Integer(name, 0, 1),
                Categorical(name, (False, True)),
                Ordinal(name, (0, 1)),
                Categorical(name, (1, "none")),
            )
            parameters.append(kinds[i % 4])
    return Space((*others, *reversed(parameters)))


GRAPHS = {
    "molecule": MOLECULE,
    "plain": PLAIN,
    "digraph": DIGRAPH,
    "cell": CELL,
    "operations": OPERATIONS,
    "chain": CHAIN,
}


def columns_of(graph, space=None):
    """The columns of a graph in its space."""
    return GraphColumns(space_of(graph) if space is None else space, layout_of(graph))


def all_coordinates(graph, space):
    """(n, c) everything that the columns of a graph can say."""
    levels = [space.parameters[space.column[name]].levels() for name in graph.names]
    return np.array(list(itertools.product(*levels)))
