"""What the columns of a point say of its graph, and what they can be made to say."""

import numpy as np
import pytest

from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.graph_columns import GraphColumns, relabelled
from heat_plugins.spec.graph_layout import layout_of
from heat_plugins.spec.labelled_graph import LabelledGraph

from ..graph_examples import CELL, GRAPHS, columns_of, space_of
from ..oracles.labelled_graphs import graph_of

EVERY = pytest.mark.parametrize("name", GRAPHS)


@EVERY
def test_graph_is_that_of_its_definition(name):
    """Nodes that exist, edges between them, and which labels and edges are the same."""
    graph = GRAPHS[name]
    space = space_of(graph, [Float("f", 0, 1)])
    columns = columns_of(graph, space)
    points = space.sample(60, np.random.default_rng(0))
    labels, edges = columns.read(points[:, columns.columns])
    known: dict[tuple[str, object], int] = {}
    for point, own_labels, own_edges in zip(points, labels, edges, strict=True):
        expected = graph_of(graph, space.decode(point))
        for i, node in enumerate(graph.nodes):
            label = expected.nodes[node]["label"] if node in expected else None
            is_absent = label is None
            assert (own_labels[i] == 0) == is_absent
            if not is_absent:
                code = known.setdefault(("label", label), int(own_labels[i]))
                assert own_labels[i] == code
            for j, other in enumerate(graph.nodes):
                has_edge = expected.has_edge(node, other)
                assert (own_edges[i, j] > 0) == has_edge
                if has_edge:
                    kind = expected.edges[node, other]["kind"]
                    assert own_edges[i, j] == known.setdefault(("edge", kind), own_edges[i, j])
    codes = [(kind, code) for (kind, _), code in known.items()]
    assert len(set(codes)) == len(codes)  # different labels have different codes


@EVERY
def test_what_is_written_is_read_again(name):
    graph = GRAPHS[name]
    space = space_of(graph)
    columns = columns_of(graph, space)
    coordinates = space.sample(60, np.random.default_rng(1))[:, columns.columns]
    labels, edges = columns.read(coordinates)
    written = columns.write(labels, edges)
    found_labels, found_edges = columns.read(written)
    np.testing.assert_array_equal(found_labels, labels)
    np.testing.assert_array_equal(found_edges, edges)


def test_parameters_of_absent_nodes_do_not_count():
    space = space_of(CELL)
    columns = columns_of(CELL, space)
    rng = np.random.default_rng(2)
    points = space.sample(200, rng)
    points[:, space.column["op2"]] = 2.0  # "no"
    moved = points.copy()
    for name in CELL.names:
        if name.startswith("edge") and "2" in name:  # from or to op2, which is node 2
            column = space.column[name]
            moved[:, column] = space.parameters[column].from_uniform(rng.random(200))
    assert (moved != points).any(axis=1).mean() > 0.5
    before, after = (columns.read(p[:, columns.columns]) for p in (points, moved))
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


def test_thinned_graphs_have_all_numbers_of_edges():
    graph = GRAPHS["molecule"]
    space = space_of(graph)
    columns = columns_of(graph, space)
    rng = np.random.default_rng(3)
    coordinates = space.sample(2000, rng)[:, columns.columns]
    thinned = columns.thinned(coordinates, rng.random((2000, 1)), rng.random((2000, 1)), rng)
    counts = [(columns.read(c)[1] > 0).sum(axis=(1, 2)) for c in (coordinates, thinned)]
    assert (counts[1] == 0).mean() > 2.0 * (counts[0] == 0).mean() > 0.0
    assert counts[1].max() >= 8
    for place, name in zip(thinned.T, graph.names, strict=True):
        assert set(place) <= set(space.parameters[space.column[name]].levels())


def test_relabelled_graph_has_its_nodes_in_their_order():
    labels = np.array([[1, 2, 3]])
    edges = np.array([[[0, 5, 0], [0, 0, 6], [0, 0, 0]]])
    new_labels, new_edges = relabelled(labels, edges, np.array([[2, 0, 1]]))
    np.testing.assert_array_equal(new_labels, [[3, 1, 2]])
    np.testing.assert_array_equal(new_edges, [[[0, 0, 0], [0, 0, 5], [6, 0, 0]]])


@pytest.mark.parametrize("parameter", [Float("a", 0, 1), Integer("a", 0, 1000)])
def test_parameters_without_few_values_are_refused(parameter):
    graph = LabelledGraph(["a", "b"], {("a", "b"): "ab"})
    space = Space((parameter, Categorical("b", "xy"), Categorical("ab", (0, 1))))
    with pytest.raises(ValueError, match=r"parameter 'a' of a labelled graph must have listed"):
        GraphColumns(space, layout_of(graph))
