"""The layout of a ``LabelledGraph``, by the numbers of its nodes."""

from __future__ import annotations

import numpy as np

from heat_plugins.space.graph_columns import GraphLayout
from heat_plugins.spec.labelled_graph import LabelledGraph

__all__ = ["layout_of"]


def layout_of(graph: LabelledGraph) -> GraphLayout:
    """Return where a graph stands in the parameters."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    labels = graph.labels
    # Labelled nodes are one class, those without a label another, each fixed node one by itself.
    classes = {name: 2 + i for i, name in enumerate(graph.fixed)}
    classes |= dict.fromkeys(labels, 0) | dict.fromkeys(graph.unlabelled, 1)
    between = None if graph.between is None else tuple(number[name] for name in graph.between)
    return GraphLayout(
        nodes=graph.nodes,
        classes=np.array([classes[node] for node in graph.nodes], dtype=np.int64),
        is_free=np.array([node not in graph.fixed for node in graph.nodes]),
        labels={number[name]: name for name in labels},
        edges={(number[a], number[b]): name for a, b, name in graph.edges},
        directed=graph.directed,
        absent=graph.absent,
        no_edge=graph.no_edge,
        between=None if between is None else (between[0], between[1]),
    )
