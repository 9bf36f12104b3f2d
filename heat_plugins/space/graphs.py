"""Graphs of choices: adjacency of the choices of a parameter.

Notation
    ===========  =====================================================================
    g            number of choices, the vertices of the graph
    A            (g, g) symmetric adjacency matrix, non-negative, with a zero diagonal
    L            (g, g) Laplacian D - A, unnormalised, D the diagonal of row sums of A
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heat_plugins.space.arrays import Array

__all__ = ["GRAPH_NAMES", "Graph", "adjacency", "is_complete", "laplacian", "plain_graph"]


# A name, an adjacency matrix, or a networkx graph (known by its method, so that networkx
# is needed by those alone who use it).
Graph = Any
GRAPH_NAMES = ("complete", "path", "cycle")


def adjacency(
    graph: Graph, n_choices: int, name: str = "graph", choices: Sequence[Any] | None = None
) -> Array:
    """Return the adjacency matrix (g, g) of a graph on the choices of a parameter.

    Args:
        graph: ``"complete"``, ``"path"`` or ``"cycle"`` in the order of the choices, an
            adjacency matrix, or a networkx graph (or :func:`plain_graph` of one) whose nodes
            are the choices, or their positions 0 .. g-1.
        n_choices: The number of choices g.
        name: The parameter, for messages.
        choices: The choices, where they may be the nodes of the graph.
    """
    if isinstance(graph, str):
        return _named(graph, n_choices, name)
    graph = plain_graph(graph)
    if isinstance(graph, Mapping):
        graph = _in_order_of_choices(graph, n_choices, name, choices)
    try:
        matrix = np.array(graph, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"graph of {name!r} must be one of {GRAPH_NAMES}, an adjacency matrix or a "
            f"networkx graph, got {graph!r}"
        ) from None
    if matrix.shape != (n_choices, n_choices):
        raise ValueError(
            f"graph of {name!r} must have {n_choices} vertices, one for each choice, "
            f"got an adjacency matrix of shape {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)) or np.any(matrix < 0.0):
        raise ValueError(f"graph of {name!r} must have finite weights of at least 0")
    if not np.array_equal(matrix, matrix.T) or np.any(np.diagonal(matrix) != 0.0):
        raise ValueError(f"graph of {name!r} must be undirected and without loops")
    if n_choices > 1 and not matrix.any():
        raise ValueError(f"graph of {name!r} must join at least two of its choices, got no edge")
    return matrix


def _named(graph: str, n_choices: int, name: str) -> Array:
    if graph not in GRAPH_NAMES:
        raise ValueError(f"graph of {name!r} must be one of {GRAPH_NAMES}, got {graph!r}")
    if graph == "complete":
        return np.ones((n_choices, n_choices)) - np.eye(n_choices)
    matrix = np.eye(n_choices, k=1) + np.eye(n_choices, k=-1)
    if graph == "cycle" and n_choices > 2:
        matrix[0, -1] = matrix[-1, 0] = 1.0
    return matrix


def plain_graph(graph: Graph) -> Graph:
    """Return a networkx graph as its nodes and adjacency matrix, anything else as it is."""
    if not (hasattr(graph, "adjacency") and hasattr(graph, "nodes")):
        return graph
    nodes = list(graph.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    matrix = np.zeros((len(nodes), len(nodes)))
    for node, neighbours in graph.adjacency():
        for other, attributes in neighbours.items():
            matrix[position[node], position[other]] = float(attributes.get("weight", 1.0))
    return {"nodes": nodes, "adjacency": matrix.tolist()}


def _in_order_of_choices(
    graph: Mapping[str, Any], n_choices: int, name: str, choices: Sequence[Any] | None
) -> Array:
    """Return the adjacency matrix with its rows in the order of the choices."""
    if {*graph} != {"nodes", "adjacency"}:
        raise ValueError(
            f"graph of {name!r} must be one of {GRAPH_NAMES}, an adjacency matrix or a "
            f"networkx graph, got {graph!r}"
        )
    nodes, matrix = list(graph["nodes"]), np.array(graph["adjacency"], dtype=float)
    for wanted in (list(choices or []), list(range(n_choices))):
        if len(wanted) == len(nodes) and all(choice in nodes for choice in wanted):
            rows = [nodes.index(choice) for choice in wanted]
            return matrix[np.ix_(rows, rows)]
    raise ValueError(
        f"graph of {name!r} must have the choices {choices!r} or their positions 0 to "
        f"{n_choices - 1} as nodes, got {nodes!r}"
    )


def laplacian(adjacency_matrix: Array) -> Array:
    """Return the unnormalised Laplacian L = D - A (g, g)."""
    return np.diag(adjacency_matrix.sum(axis=1)) - adjacency_matrix


def is_complete(adjacency_matrix: Array) -> bool:
    """Whether all pairs of vertices are joined, with weight 1."""
    n = len(adjacency_matrix)
    return bool(np.array_equal(adjacency_matrix, np.ones((n, n)) - np.eye(n)))
