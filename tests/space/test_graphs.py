"""Graphs of choices: names, matrices and networkx graphs become one adjacency matrix."""

import numpy as np
import pytest

from heat_plugins.space.graphs import GRAPH_NAMES, adjacency, is_complete, laplacian, plain_graph


def test_named_graphs():
    assert GRAPH_NAMES == ("complete", "path", "cycle")
    np.testing.assert_array_equal(adjacency("complete", 3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(
        adjacency("path", 4), [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    )
    np.testing.assert_array_equal(
        adjacency("cycle", 4), [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    )


@pytest.mark.parametrize("name", GRAPH_NAMES)
def test_small_named_graphs(name):
    np.testing.assert_array_equal(adjacency(name, 1), [[0]])
    np.testing.assert_array_equal(adjacency(name, 2), [[0, 1], [1, 0]])  # no double edge


def test_matrices_are_copied_as_floats():
    given = np.array([[0, 2], [2, 0]])
    matrix = adjacency(given, 2)
    assert matrix.dtype == float
    matrix[0, 1] = 7.0
    assert given[0, 1] == 2
    np.testing.assert_array_equal(adjacency([[0, 0.5], [0.5, 0]], 2), [[0, 0.5], [0.5, 0]])


def test_laplacian():
    matrix = laplacian(adjacency([[0, 2, 0], [2, 0, 1], [0, 1, 0]], 3))
    np.testing.assert_array_equal(matrix, [[2, -2, 0], [-2, 3, -1], [0, -1, 1]])
    for name in GRAPH_NAMES:
        matrix = laplacian(adjacency(name, 5))
        np.testing.assert_array_equal(matrix.sum(axis=0), 0.0)
        eigenvalues = np.linalg.eigvalsh(matrix)
        assert eigenvalues[0] == pytest.approx(0.0, abs=1e-12) and eigenvalues[1] > 0.1
    np.testing.assert_allclose(
        np.linalg.eigvalsh(laplacian(adjacency("complete", 5))), [0, 5, 5, 5, 5], atol=1e-12
    )


def test_complete_graphs_are_recognised():
    assert is_complete(adjacency("complete", 4)) and is_complete(adjacency("path", 2))
    assert is_complete(adjacency("cycle", 3)) and is_complete(adjacency("path", 1))
    assert not is_complete(adjacency("path", 3)) and not is_complete(adjacency("cycle", 4))
    assert not is_complete(2.0 * adjacency("complete", 4))  # other weights, another time


REFUSED = {
    "unknown name": ("ring", r"graph of 'c' must be one of .*'cycle'\), got 'ring'"),
    "no matrix": (object(), r"graph of 'c' must be .* an adjacency matrix or a networkx graph"),
    "ragged": ([[0, 1], [1]], r"graph of 'c' must be .* an adjacency matrix"),
    "wrong size": ([[0, 1], [1, 0]], r"graph of 'c' must have 3 vertices.* shape \(2, 2\)"),
    "not square": ([[0, 1, 0]], r"graph of 'c' must have 3 vertices.* shape \(1, 3\)"),
    "negative": (
        [[0, -1, 0], [-1, 0, 1], [0, 1, 0]],
        r"graph of 'c' must have finite weights of at least 0",
    ),
    "infinite": (
        [[0, np.inf, 0], [np.inf, 0, 1], [0, 1, 0]],
        r"graph of 'c' must have finite weights",
    ),
    "nan": ([[0, np.nan, 0], [np.nan, 0, 1], [0, 1, 0]], r"graph of 'c' must have finite weights"),
    "directed": ([[0, 1, 0], [0, 0, 1], [0, 1, 0]], r"graph of 'c' must be undirected"),
    "loop": ([[1, 1, 0], [1, 0, 1], [0, 1, 0]], r"graph of 'c' must be undirected and without l"),
}


@pytest.mark.parametrize(("graph", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_graph_is_refused_by_name(graph, message):
    with pytest.raises(ValueError, match=message):
        adjacency(graph, 3, "c")


# ----------------------------------------------------------------------------- networkx
@pytest.fixture
def networkx():
    return pytest.importorskip("networkx")


def test_choices_may_be_the_nodes(networkx):
    graph = networkx.Graph([("s", "m"), ("m", "l")])
    matrix = adjacency(graph, 3, "c", ("l", "s", "m"))  # in the order of the choices
    np.testing.assert_array_equal(matrix, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


def test_positions_may_be_the_nodes(networkx):
    matrix = adjacency(networkx.path_graph(3), 3, "c", ("l", "s", "m"))
    np.testing.assert_array_equal(matrix, adjacency("path", 3))
    shuffled = networkx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edges_from([(0, 1), (1, 2)])
    np.testing.assert_array_equal(adjacency(shuffled, 3), adjacency("path", 3))


def test_choices_that_are_numbers_come_before_positions(networkx):
    graph = networkx.Graph([(2, 0), (0, 1)])
    matrix = adjacency(graph, 3, "c", (1, 2, 0))
    np.testing.assert_array_equal(matrix, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


def test_weights_of_edges_are_kept(networkx):
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=2.5)
    graph.add_edge("b", "c")
    np.testing.assert_array_equal(
        adjacency(graph, 3, "c", ("a", "b", "c")), [[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]]
    )


def test_plain_form_of_a_graph(networkx):
    graph = networkx.Graph([("s", "m"), ("m", "l")])
    plain = plain_graph(graph)
    assert plain == {"nodes": ["s", "m", "l"], "adjacency": [[0, 1, 0], [1, 0, 1], [0, 1, 0]]}
    assert plain_graph(plain) is plain and plain_graph("path") == "path"
    np.testing.assert_array_equal(
        adjacency(plain, 3, "c", ("l", "s", "m")), adjacency(graph, 3, "c", ("l", "s", "m"))
    )


def test_other_nodes_are_refused(networkx):
    graph = networkx.Graph([("s", "m"), ("m", "xl")])
    with pytest.raises(ValueError, match=r"'c' must have the choices \('s', 'm', 'l'\) or their "):
        adjacency(graph, 3, "c", ("s", "m", "l"))
    with pytest.raises(ValueError, match=r"positions 0 to 3 as nodes, got \[0, 1, 2\]"):
        adjacency(networkx.path_graph(3), 4, "c", ("a", "b", "c", "d"))


def test_directed_networkx_graphs_are_refused(networkx):
    graph = networkx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="graph of 'c' must be undirected"):
        adjacency(graph, 3, "c")
