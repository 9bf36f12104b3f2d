"""Cells of neural networks: labelled graphs whose nodes can be called anything.

``cells201-*`` are the tables of NAS-Bench-201 as the paper has them: errors of cells, and no
cell twice. NAS-Bench-101 cannot be had as a package, so ``cells101`` has its parameters, seven
nodes of three operations and a triangle of 21 edges, and a score that depends on the graph
alone: what a network of that shape would be good at, by rules of thumb, in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import Choice, Params, Result, Task
from heat_plugins.spec.labelled_graph import LabelledGraph

__all__ = ["CELLS", "Cell", "cell_graph", "cell_of", "error_of"]

OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")
N_OPERATIONS = 5
# What it costs (in %, on average over the edges) that one operation comes right after another.
AFTER = {
    ("input", "conv3x3"): -1.0,
    ("input", "maxpool3x3"): 1.0,
    ("conv1x1", "conv3x3"): -1.5,
    ("conv3x3", "conv1x1"): -0.5,
    ("conv1x1", "conv1x1"): 1.0,
    ("conv3x3", "maxpool3x3"): -0.5,
    ("maxpool3x3", "maxpool3x3"): 1.5,
    ("maxpool3x3", "conv3x3"): 0.5,
    ("maxpool3x3", "output"): 0.5,
    ("conv1x1", "output"): -0.5,
    ("input", "output"): -0.5,
}
_GRAPH = LabelledGraph.nasbench101(N_OPERATIONS)


def cell_graph(task: Task, *, counts: bool = True) -> LabelledGraph | None:
    """Return the graph that the parameters of a task describe; None where they describe none."""
    for graph in (
        LabelledGraph.nasbench101(N_OPERATIONS, counts=counts),
        LabelledGraph.nasbench201(counts=counts),
    ):
        if {*graph.names} == {parameter.name for parameter in task.parameters}:
            return graph
    return None


@dataclass(frozen=True)
class Cell:
    """A cell without what is on no way from the input to the output.

    Args:
        operations: Of the nodes between input and output, from earlier to later ones.
        edges: (n + 2, n + 2) which of the input, the nodes and the output lead to which.
    """

    operations: tuple[str, ...]
    edges: np.ndarray


def cell_of(params: Params) -> Cell | None:
    """Return the cell that parameters describe; None where no way leads to the output."""
    n = N_OPERATIONS + 2
    edges = np.zeros((n, n), dtype=bool)
    places = {node: i for i, node in enumerate(_GRAPH.nodes)}
    for a, b, name in _GRAPH.edges:
        edges[places[a], places[b]] = bool(params[str(name)])
    after = np.zeros(n, dtype=bool)
    before = np.zeros(n, dtype=bool)
    after[0] = before[-1] = True
    for i in range(n):  # edges lead to later nodes
        after |= after[i] & edges[i]
        before |= before[n - 1 - i] & edges[:, n - 1 - i]
    kept = after & before
    if not kept[-1]:
        return None
    names = [name for name, stays in zip(_GRAPH.nodes, kept, strict=True) if stays][1:-1]
    return Cell(tuple(params[name] for name in names), edges[np.ix_(kept, kept)])


def error_of(cell: Cell | None) -> float:
    """Return an error in % that a network of such cells might have, by rules of thumb.

    More parameters, a wider field of view and more ways through the cell help, with less and
    less effect; depth helps up to a point, and further with a short cut past it. What comes after
    what matters most (``AFTER``), on average over the edges, and a cell that only pools learns
    little. No term knows the order of the nodes.
    """
    if cell is None:
        return 90.0
    edges, operations = cell.edges, np.array(["input", *cell.operations, "output"])
    longest, shortest, field, ways = _by_node(edges, operations == "conv1x1")
    weights = np.array([{"conv3x3": 9.0, "conv1x1": 1.0}.get(name, 0.0) for name in operations])
    size = float((weights * (0.5 + 0.5 * edges.sum(axis=0))).sum())
    starts, ends = np.nonzero(edges)
    pairs = zip(operations[starts], operations[ends], strict=True)
    order = float(np.mean([AFTER.get((str(a), str(b)), 0.0) for a, b in pairs]))
    depth = longest - 1.0  # operations on the longest way
    too_deep = max(0.0, depth - (4.0 if shortest <= 2 else 2.5))
    error = 5.5 + 6.0 * np.exp(-size / 12.0) + 3.0 * np.exp(-field / 4.0) + 3.0 * order
    error += 0.7 * too_deep**1.5 - 0.3 * np.log(ways) + 4.0 * float(not weights.any())
    return float(error)


def _by_node(edges: np.ndarray, is_narrow: np.ndarray) -> tuple[float, float, float, float]:
    """Return of all ways to the output: the longest, the shortest, the widest view, how many.

    Args:
        edges: (n, n) which nodes lead to which later ones.
        is_narrow: (n,) nodes that add nothing to the field of view.
    """
    n = len(edges)
    longest, field, ways = np.zeros(n), np.zeros(n), np.zeros(n)
    shortest = np.full(n, np.inf)
    shortest[0], ways[0] = 0.0, 1.0
    for j in range(1, n):
        earlier = np.flatnonzero(edges[:, j])
        longest[j] = 1.0 + longest[earlier].max()
        shortest[j] = 1.0 + shortest[earlier].min()
        field[j] = field[earlier].max() + (0.0 if is_narrow[j] or j == n - 1 else 2.0)
        ways[j] = ways[earlier].sum()
    return float(longest[-1]), float(shortest[-1]), float(field[-1]), float(ways[-1])


def _generated() -> Task:
    labels = tuple(Choice(name, OPERATIONS) for name in _GRAPH.labels)
    edges = tuple(Choice(name, (0, 1)) for name in _GRAPH.names[len(labels) :])
    return Task(
        "cells101",
        "Cells as in NAS-Bench-101: 5 operations of 3 and 21 edges, a made-up error in %",
        (*labels, *edges),
        lambda params: Result((error_of(cell_of(params)),)),
    )


def _table(name: str, source: str) -> Task:
    return replace(TABLES[source](), name=name)


_DATA = ("cifar10", "cifar100", "imagenet")
CELLS: Mapping[str, Callable[[], Task]] = {
    **{
        f"cells201-{data}": partial(_table, f"cells201-{data}", f"nasbench201-{data}")
        for data in _DATA
    },
    "cells101": _generated,
}
