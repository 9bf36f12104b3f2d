"""Canonical forms: the same for isomorphic graphs, different for others, by brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heat_plugins.space.canonical_graph import canonical_order, fingerprints
from heat_plugins.space.graph_columns import relabelled
from heat_plugins.space.symmetry import GraphBlock

from ..graph_examples import GRAPHS, all_coordinates, columns_of, space_of
from ..oracles.labelled_graphs import classes_of, graph_of

EVERY = pytest.mark.parametrize("name", GRAPHS)
MOST_COMPARED = 250


def forms(labels, edges, classes):
    """Canonical forms (m, N + N^2) in full."""
    order = canonical_order(labels, edges, classes)
    labels, edges = relabelled(labels, edges, order)
    return np.concatenate([labels, edges.reshape(len(edges), labels.shape[1] ** 2)], axis=1)


def some_coordinates(name):
    """All that the columns of a graph can say, or a sample of it, with the columns."""
    graph = GRAPHS[name]
    space = space_of(graph)
    everything = all_coordinates(graph, space)
    rng = np.random.default_rng(0)
    some = everything[rng.permutation(len(everything))[:MOST_COMPARED]]
    return graph, space, some, columns_of(graph, space)


def values_of(graph, space, coordinates):
    """The values of the parameters of a graph by name."""
    return {
        name: space.parameters[space.column[name]].decode(float(place))
        for name, place in zip(graph.names, coordinates, strict=True)
    }


@EVERY
def test_forms_and_identities_are_equal_exactly_for_isomorphic_graphs(name):
    graph, space, coordinates, columns = some_coordinates(name)
    classes = classes_of([graph_of(graph, values_of(graph, space, c)) for c in coordinates])
    found = forms(*columns.read(coordinates), columns.classes)
    identities = GraphBlock(columns).identity(coordinates)
    assert 2 < len(set(classes)) < len(classes)
    for rows in (found, identities):
        pairs = {(number, tuple(row)) for number, row in zip(classes, rows, strict=True)}
        assert len(pairs) == len(set(classes)) == len({tuple(row) for row in rows})


@EVERY
def test_canonical_coordinates_describe_an_isomorphic_graph_once_and_for_all(name):
    graph, space, coordinates, columns = some_coordinates(name)
    block = GraphBlock(columns)
    canonical = block.canonical(coordinates)
    np.testing.assert_array_equal(block.identity(canonical), block.identity(coordinates))
    np.testing.assert_array_equal(block.canonical(canonical), canonical)
    for row in canonical:  # of values that the parameters have
        values_of(graph, space, row)
    if name != "chain":  # whose columns have no room for every order
        classes = classes_of([graph_of(graph, values_of(graph, space, c)) for c in coordinates])
        assert len({tuple(row) for row in canonical}) == len(set(classes))


@EVERY
def test_number_of_orbits_is_that_of_all_pairs(name):
    graph = GRAPHS[name]
    space = space_of(graph)
    everything = all_coordinates(graph, space)
    block = GraphBlock(columns_of(graph, space))
    identities = np.unique(block.identity(everything), axis=0, return_index=True)
    assert block.n_orbits(space) == len(identities[0])
    # One of each: no two are isomorphic.
    firsts = [graph_of(graph, values_of(graph, space, c)) for c in everything[identities[1]]]
    if len(firsts) <= MOST_COMPARED:
        assert len(set(classes_of(firsts))) == len(firsts)


def test_known_numbers_of_graphs():
    """Unlabelled graphs, and those of one node fewer where one may be missing."""
    assert GraphBlock(columns_of(GRAPHS["plain"])).n_orbits(space_of(GRAPHS["plain"])) == 11


def matrix_of(graph, n):
    return nx.to_numpy_array(graph, nodelist=range(n), dtype=np.int64)[None]


HARD = {
    "empty": nx.empty_graph(12),
    "complete": nx.complete_graph(12),
    "cycle": nx.cycle_graph(12),
    "two cycles": nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(7)),
    "matching": nx.disjoint_union_all([nx.complete_graph(2)] * 10),
    "triangles": nx.disjoint_union_all([nx.cycle_graph(3)] * 6),
    "Petersen": nx.petersen_graph(),
    "dodecahedron": nx.dodecahedral_graph(),
    "cube": nx.convert_node_labels_to_integers(nx.hypercube_graph(4)),
    "tree": nx.balanced_tree(2, 4),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5)),
    "Paley": nx.to_undirected(nx.paley_graph(13)),
    "rook": nx.convert_node_labels_to_integers(
        nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4))
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_graphs_with_many_symmetries_have_one_form(name):
    """Too many relabellings to list, and colours that tell nothing."""
    graph = HARD[name]
    n, rng = len(graph), np.random.default_rng(1)
    labels, classes = np.ones((12, n), dtype=np.int64), np.zeros(n, dtype=np.int64)
    edges = matrix_of(graph, n).repeat(12, axis=0)
    shuffled = relabelled(labels, edges, np.array([rng.permutation(n) for _ in range(12)]))
    assert len(np.unique(forms(*shuffled, classes), axis=0)) == 1


def test_graphs_that_refinement_cannot_tell_apart_have_different_forms():
    shrikhande = nx.Graph()
    moves = [(0, 1), (1, 0), (1, 1)]
    for i, j in itertools.product(range(4), repeat=2):
        for a, b in moves:
            shrikhande.add_edge(4 * i + j, 4 * ((i + a) % 4) + (j + b) % 4)
    pairs = [
        (HARD["rook"], shrikhande, 16),
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), 6),
        (nx.cycle_graph(12), HARD["two cycles"], 12),
    ]
    for one, other, n in pairs:
        edges = np.concatenate([matrix_of(one, n), matrix_of(other, n)])
        labels, classes = np.ones((2, n), dtype=np.int64), np.zeros(n, dtype=np.int64)
        found = forms(labels, edges, classes)
        assert not np.array_equal(*found)
        assert len(np.unique(fingerprints(labels, edges))) == 2


@example(seed=189869724, n=3, directed=True)  # one of these graphs could be undirected
@given(seed=st.integers(0, 2**32), n=st.integers(1, 9), directed=st.booleans())
@settings(deadline=None, max_examples=60)
def test_forms_are_invariant_and_do_not_depend_on_companions(seed, n, directed):
    rng = np.random.default_rng(seed)
    m = 8
    classes = np.sort(rng.integers(3, size=n))
    labels = rng.integers(rng.integers(1, 4), size=(m, n))
    edges = rng.integers(1, 4, size=(m, n, n)) * (rng.random((m, n, n)) < rng.random())
    edges *= ~np.eye(n, dtype=bool)
    if not directed:
        edges = np.triu(edges) + np.triu(edges).transpose(0, 2, 1)
    found = forms(labels, edges, classes)
    order = np.array([np.lexsort((rng.random(n), classes)) for _ in range(m)])
    np.testing.assert_array_equal(forms(*relabelled(labels, edges, order), classes), found)
    alone = [forms(labels[[i]], edges[[i]], classes)[0] for i in range(m)]
    np.testing.assert_array_equal(found, alone)
    # A form is a relabelled graph, no other one.
    order = canonical_order(labels, edges, classes)
    assert (np.sort(order, axis=1) == np.arange(n)).all()
    assert (classes[order] == classes).all()


@given(seed=st.integers(0, 2**32), n=st.integers(2, 7))
@settings(deadline=None, max_examples=60)
def test_forms_are_equal_where_networkx_finds_an_isomorphism(seed, n):
    rng = np.random.default_rng(seed)
    share = rng.random()
    graphs = [nx.gnp_random_graph(n, share, seed=int(s)) for s in rng.integers(2**31, size=6)]
    edges = np.concatenate([matrix_of(graph, n) for graph in graphs])
    labels, classes = np.ones((6, n), dtype=np.int64), np.zeros(n, dtype=np.int64)
    found = forms(labels, edges, classes)
    for i, j in itertools.combinations(range(6), 2):
        assert np.array_equal(found[i], found[j]) == nx.is_isomorphic(graphs[i], graphs[j])


def test_no_graphs_have_no_forms():
    assert forms(np.ones((0, 3), int), np.zeros((0, 3, 3), int), np.zeros(3, int)).shape == (0, 12)
