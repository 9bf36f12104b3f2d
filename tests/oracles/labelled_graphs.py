"""Labelled graphs by networkx, and kernels on them by their definitions."""

import itertools
from collections import Counter

import networkx as nx
import numpy as np

NOTHING = (None, False, "none")


def graph_of(description, values):
    """The networkx graph that the values of parameters describe."""
    graph = nx.DiGraph() if description.directed else nx.Graph()
    for node in description.nodes:
        if node in description.fixed:
            graph.add_node(node, label=("fixed", node))
        elif node in description.unlabelled:
            graph.add_node(node, label="unlabelled")
        elif values[node] not in description.absent:
            graph.add_node(node, label=values[node])
    for a, b, name in description.edges:
        kind = True if name is True else values[name]
        if a in graph and b in graph and kind not in description.no_edge:
            graph.add_edge(a, b, kind=kind)
    if description.between is not None:
        _prune(graph, *description.between, description.fixed)
    return graph


def _prune(graph, first, last, fixed):
    """Take away what is on no way from the first node to the last."""
    after, before = nx.descendants(graph, first) | {first}, nx.ancestors(graph, last) | {last}
    useless = [node for node in graph if node not in after & before]
    graph.remove_edges_from([edge for edge in graph.edges if {*edge} & {*useless}])
    graph.remove_nodes_from([node for node in useless if node not in fixed])


def are_isomorphic(one, other):
    """Whether two graphs differ by the names of their nodes alone."""
    return nx.is_isomorphic(
        one,
        other,
        node_match=lambda a, b: a["label"] == b["label"],
        edge_match=lambda a, b: a["kind"] == b["kind"],
    )


def classes_of(graphs):
    """The number of the isomorphism class of each graph, by comparing all pairs."""
    firsts, numbers = [], []
    for graph in graphs:
        mine = next((i for i, first in enumerate(firsts) if are_isomorphic(graph, first)), None)
        numbers.append(len(firsts) if mine is None else mine)
        if mine is None:
            firsts.append(graph)
    return np.array(numbers)


def node_class(description, node):
    """What nodes must share to change places."""
    if node in description.fixed:
        return node
    return "unlabelled" if node in description.unlabelled else "labelled"


def _cells(description, graph, places):
    """What is where: labels by place, and edges by pairs of places."""
    labels = {places[node]: graph.nodes[node]["label"] for node in graph}
    edges = {(places[a], places[b]): data["kind"] for a, b, data in graph.edges(data=True)}
    if not description.directed:
        edges |= {(b, a): kind for (a, b), kind in edges.items()}
    return labels, edges


def relabellings(description):
    """All ways to give the nodes of each class each other's places."""
    classes = {}
    for node in description.nodes:
        classes.setdefault(node_class(description, node), []).append(node)
    members = [*classes.values()]
    for arranged in itertools.product(*(itertools.permutations(own) for own in members)):
        pairs = zip(itertools.chain(*members), itertools.chain(*arranged), strict=True)
        yield dict(pairs)


def heat_sum(description, graphs, weights):
    """The mean over all relabellings of both graphs of the heat kernel, unit diagonal.

    Weights are by "labels", and by the classes of the ends of an edge.
    """
    images = [
        [_cells(description, graph, places) for places in relabellings(description)]
        for graph in graphs
    ]
    raw = np.array([[_mean_heat(description, a, b, weights) for b in images] for a in images])
    scale = np.sqrt(np.diagonal(raw))
    return raw / np.outer(scale, scale)


def _mean_heat(description, left, right, weights):
    values = []
    for (labels, edges), (others, other_edges) in itertools.product(left, right):
        distance = 0.0
        for node in description.nodes:
            if node_class(description, node) == "labelled":
                distance += weights["labels"] * (labels.get(node) != others.get(node))
        pairs = itertools.permutations if description.directed else itertools.combinations
        for a, b in pairs(description.nodes, 2):
            if edges.get((a, b)) != other_edges.get((a, b)):
                ends = (node_class(description, a), node_class(description, b))
                distance += weights[ends if description.directed else tuple(sorted(ends))]
        values.append(np.exp(-distance))
    return np.mean(values)


def weisfeiler_lehman(graphs, rounds, with_operations):
    """The normalised number of common refined labels of graphs, by their definition."""
    counts = [_label_counts(graph, rounds, with_operations) for graph in graphs]
    raw = np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], float)
    scale = np.sqrt(np.diagonal(raw))
    return raw / np.outer(scale, scale)


def _label_counts(graph, rounds, with_operations):
    if not len(graph):  # like other empty graphs, and no others
        return Counter((number, "empty") for number in range(rounds + 1))
    if with_operations:  # an edge becomes a node between two
        whole = type(graph)()
        whole.add_nodes_from(graph.nodes(data=True))
        for a, b, data in graph.edges(data=True):
            whole.add_node((a, b), label=("edge", data["kind"]))
            whole.add_edges_from([(a, (a, b)), ((a, b), b)])
        graph = whole
    labels = {node: repr(data["label"]) for node, data in graph.nodes(data=True)}
    counts = Counter((0, label) for label in labels.values())
    for number in range(1, rounds + 1):
        labels = {node: repr((labels[node], *_around(graph, node, labels))) for node in graph}
        counts.update((number, label) for label in labels.values())
    return counts


def _around(graph, node, labels):
    after = sorted(labels[other] for other in graph.adj[node])
    before = sorted(labels[other] for other in graph.pred[node]) if graph.is_directed() else []
    return after, before
