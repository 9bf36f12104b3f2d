"""Cells of networks: what they describe, and scores that know nothing but the graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.benchmarks.problems.catalogue import TASKS
from heat_plugins.benchmarks.problems.cells import (
    CELLS,
    OPERATIONS,
    cell_graph,
    cell_of,
    error_of,
)
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import first_points
from heat_plugins.space import Categorical, Space
from heat_plugins.space.graph_columns import GraphColumns
from heat_plugins.spec.graph_layout import layout_of
from heat_plugins.spec.labelled_graph import LabelledGraph

from ...oracles.labelled_graphs import graph_of

GENERATED = CELLS["cells101"]()
GRAPH = LabelledGraph.nasbench101(5)
SPACE = Space(tuple(Categorical(p.name, p.choices) for p in GENERATED.parameters))


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_errors_of_isomorphic_cells_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = GraphColumns(SPACE, layout_of(GRAPH))
    points = SPACE.sample(20, rng)
    points[:, 5:] *= rng.random(points[:, 5:].shape) < 0.6  # few edges leave room for orders
    order = np.array([[0, *(1 + rng.permutation(5)), 6] for _ in points])
    moved = points.copy()
    moved[:, columns.columns] = columns.canonical(points[:, columns.columns], order)
    assert (moved != points).any(axis=1).sum() > 5
    for one, other in zip(points, moved, strict=True):
        error, same = (GENERATED.evaluate(SPACE.decode(p)).values[0] for p in (one, other))
        assert same == pytest.approx(error, abs=1e-12)


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_a_cell_is_what_lies_between_input_and_output(seed: int) -> None:
    params = SPACE.decode(SPACE.sample(1, np.random.default_rng(seed))[0])
    graph, cell = graph_of(GRAPH, params), cell_of(params)
    has_way = nx.has_path(graph, "input", "output")
    assert (cell is not None) == has_way
    if cell is not None:
        labels = sorted(v for _, v in graph.nodes(data="label") if isinstance(v, str))
        assert sorted(cell.operations) == labels
        assert cell.edges.sum() == graph.number_of_edges()
        assert not np.tril(cell.edges).any()


def params_of(operations: list[str], edges: set[tuple[int, int]]) -> dict[str, object]:
    labels = dict(zip(GRAPH.labels, operations, strict=True))
    names = {name for a, b, name in GRAPH.edges if (place(a), place(b)) in edges}
    return labels | {name: int(name in names) for name in GRAPH.names if name not in labels}


def place(node: str) -> int:
    return GRAPH.nodes.index(node)


def test_scores_say_what_the_rules_of_thumb_do() -> None:
    conv, narrow, pool = OPERATIONS
    chain = {(0, 1), (1, 2), (2, 6)}
    deep = {(i, i + 1) for i in range(6)}

    def error(operations: list[str], edges: set[tuple[int, int]]) -> float:
        return error_of(cell_of(params_of(operations, edges)))

    assert error([conv] * 5, set()) == 90.0
    rest = [pool] * 3
    # The same two operations, in another order.
    assert error([conv, *[pool] * 4], chain) < error([pool, conv, *rest], chain)
    assert error([narrow, conv, *rest], chain) < error([narrow, narrow, *rest], chain)
    assert error([conv] * 5, chain) < error([pool] * 5, chain)
    assert error([conv] * 5, deep | {(0, 6)}) < error([conv] * 5, deep)
    # What leads nowhere does not count.
    assert error([conv] * 5, chain) == error([conv, conv, pool, pool, pool], chain | {(0, 3)})


def test_errors_have_a_spread_that_can_be_learnt() -> None:
    errors = [GENERATED.evaluate(p).values[0] for p in first_points(GENERATED, 300, 0)]
    errors = [e for e in errors if e < 90.0]
    assert len(errors) > 250 and 3.0 < min(errors) < max(errors) < 40.0
    assert len(set(np.round(errors, 9))) > 150


@pytest.mark.parametrize("name", CELLS)
def test_graphs_are_those_of_the_parameters(name: str) -> None:
    task = CELLS[name]()
    graph, plain = cell_graph(task), cell_graph(task, counts=False)
    assert graph is not None and plain is not None
    assert graph.counts and not plain.counts
    assert {*graph.names} == {parameter.name for parameter in task.parameters}
    assert cell_graph(TASKS["ackley"]()) is None
    if name.startswith("cells201"):
        table = TABLES[name.replace("cells201", "nasbench201")]()
        params = first_points(table, 1, 0)[0]
        assert task.evaluate(params) == table.evaluate(params)
