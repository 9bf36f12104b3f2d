"""The average over relabellings: its definition, its invariance, and what it takes to fit it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.composite import Combined
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.graph_cells import GraphCells, GraphCounts
from heat_plugins.kernels.relabelling import RelabellingKernel
from heat_plugins.space import Float
from heat_plugins.space.graph_columns import relabelled
from heat_plugins.spec.labelled_graph import LabelledGraph
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive, InteractionOrders

from ..graph_examples import CELL, GRAPHS, columns_of, space_of
from ..oracles.labelled_graphs import graph_of, heat_sum, node_class

EVERY = pytest.mark.parametrize("name", GRAPHS)
CLOSE = {"rtol": 0.0, "atol": 1e-10}
LARGE = LabelledGraph.nasbench101(6)  # of 720 relabellings 200 are looked at


def kernel_of(graph, space, n_samples=200, is_tied=False):
    return RelabellingKernel(GraphCells(columns_of(graph, space), n_samples), is_tied)


def weights_by_name(graph, kernel, theta):
    """Weights by the classes of nodes that they are about."""
    weights = {}
    for name, weight in zip(kernel.cells.names, kernel.weights(theta), strict=True):
        if name == "labels":
            weights[name] = weight
            continue
        arrow = "->" if graph.directed else "-"
        ends = tuple(node_class(graph, e) for e in name.removeprefix("edges ").split(arrow))
        weights[ends if graph.directed else tuple(sorted(ends))] = weight
    return weights


def rearranged(columns, coordinates, rng):
    """Other coordinates of the same graphs, where the columns have room for them."""
    labels, edges = columns.read(coordinates)
    order = np.array([np.lexsort((rng.random(len(columns)), columns.classes)) for _ in labels])
    back = np.empty_like(order)
    back[:, np.argsort(columns.classes, kind="stable")] = order
    moved = relabelled(labels, edges, back)
    written = columns.write(*moved)
    found = columns.read(written)
    fits = (found[0] == moved[0]).all(axis=1) & (found[1] == moved[1]).all(axis=(1, 2))
    return np.where(fits[:, None], written, coordinates)


@EVERY
@pytest.mark.parametrize("is_tied", [False, True])
def test_kernel_is_the_mean_over_both_relabellings(name, is_tied):
    graph, rng = GRAPHS[name], np.random.default_rng(0)
    space = space_of(graph)
    kernel, points = kernel_of(graph, space, is_tied=is_tied), space.sample(7, rng)
    theta = kernel.start(2.0) + 0.5 * rng.standard_normal(kernel.n_hyperparameters)
    assert kernel.n_hyperparameters == (1 if is_tied else 1 + len(kernel.cells.names))
    graphs = [graph_of(graph, space.decode(point)) for point in points]
    expected = heat_sum(graph, graphs, weights_by_name(graph, kernel, theta))
    np.testing.assert_allclose(kernel.matrix(theta, kernel.prepare(points)), expected, **CLOSE)
    np.testing.assert_allclose(kernel.cross_covariance(theta, points)(points), expected, **CLOSE)


@pytest.mark.parametrize("name", [*GRAPHS, "large"])
@pytest.mark.parametrize("kernel_name", ["heat", "combo", "one-hot-rbf", "weisfeiler-lehman"])
@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=5)
def test_isomorphic_graphs_are_the_same_to_the_whole_kernel(name, kernel_name, seed):
    """Also to one of which not all relabellings are averaged."""
    graph, rng = GRAPHS.get(name, LARGE), np.random.default_rng(seed)
    space = space_of(graph, [Float("f", 0.0, 1.0)])
    columns = columns_of(graph, space)
    kernel = KernelBuilder(space, Model(kernel_name, structure=graph)).kernel()
    points = space.sample(8, rng)
    moved = points.copy()
    moved[:, columns.columns] = rearranged(columns, points[:, columns.columns], rng)
    theta = kernel.start(3.0)
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(kernel.matrix(theta, kernel.prepare(moved)), matrix, **CLOSE)
    np.testing.assert_allclose(kernel.cross_covariance(theta, points)(moved), matrix, **CLOSE)
    np.testing.assert_allclose(
        np.diagonal(kernel.cross_covariance(theta, points)(moved)), 1.0, **CLOSE
    )
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10


def test_rearranged_coordinates_are_others():
    """Or the test above would compare points with themselves."""
    for name in ("molecule", "digraph", "cell"):
        graph, rng = GRAPHS[name], np.random.default_rng(0)
        space = space_of(graph)
        columns = columns_of(graph, space)
        before = space.sample(40, rng)[:, columns.columns]
        assert (rearranged(columns, before, rng) != before).any(axis=1).mean() > 0.3


def test_sampled_relabellings_are_symmetric_and_cover_both_sides():
    cells = GraphCells(columns_of(LARGE, space_of(LARGE)), 200)
    assert cells.is_sampled and 100 < len(cells.elements) <= 14 * 13 + 1  # some are equal
    shares = {tuple(e): share for e, share in zip(cells.elements, cells.shares, strict=True)}
    assert shares[tuple(range(len(cells.kinds)))] >= 14 / 196
    for element, share in shares.items():
        assert shares[tuple(np.argsort(element))] == pytest.approx(share)
    assert sum(shares.values()) == pytest.approx(1.0)
    again = GraphCells(columns_of(LARGE, space_of(LARGE)), 200)
    np.testing.assert_array_equal(again.elements, cells.elements)
    exact = GraphCells(columns_of(LARGE, space_of(LARGE)), 720)
    assert not exact.is_sampled and len(exact.elements) == 720


def test_sampled_average_comes_near_the_exact_one():
    space, rng = space_of(LARGE), np.random.default_rng(3)
    points = space.sample(12, rng)
    exact, coarse, fine = (kernel_of(LARGE, space, n) for n in (720, 36, 719))
    theta = exact.start(4.0)
    expected = exact.matrix(theta, exact.prepare(points))
    errors = [np.abs(k.matrix(theta, k.prepare(points)) - expected).mean() for k in (coarse, fine)]
    assert errors[1] < 0.1 and errors[1] < errors[0]


def test_cells_that_nothing_can_fill_do_not_count():
    cells = GraphCells(columns_of(CELL, space_of(CELL)), 200)
    # 3 labels; 3 x 2 pairs of operations, 3 to the output, 3 from the input, and one past them.
    assert len(cells.kinds) == 3 + 6 + 3 + 3 + 1
    assert cells.names[0] == "labels" and "edges input->output" in cells.names


def test_counts_are_padded_sorting_of_labels_and_edges():
    graph = GRAPHS["molecule"]
    space = space_of(graph)
    points = space.sample(30, np.random.default_rng(4))
    counts = GraphCounts(columns_of(graph, space))
    features = counts(points)
    assert features.shape == (30, len(counts.owner))
    graphs = [graph_of(graph, space.decode(point)) for point in points]
    named = [[label for _, label in graph.nodes(data="label")] for graph in graphs]
    labels = np.array([[own.count(value) for value in "xy"] for own in named])
    edges = np.array([g.number_of_edges() for g in graphs])
    distances = (features[:, None] != features[None]).sum(axis=2)
    for column in range(2):
        mine = counts.owner == column
        own = (features[:, None, mine] != features[None][:, :, mine]).sum(axis=2)
        expected = np.abs(labels[:, None, column] - labels[None, :, column])
        np.testing.assert_array_equal(own, expected)
        distances -= own
    np.testing.assert_array_equal(distances, np.abs(edges[:, None] - edges[None]))


@pytest.mark.parametrize("counts", [True, False])
def test_counts_are_a_factor_of_their_own(counts):
    graph = LabelledGraph.nasbench201(counts=counts)
    space = space_of(GRAPHS["operations"])
    kernel = KernelBuilder(space, Model(structure=graph)).kernel()
    if counts:
        assert isinstance(kernel, Combined) and kernel.how == "product"
        assert [type(k) for k in kernel.children] == [DistanceKernel, RelabellingKernel]
    else:
        assert isinstance(kernel, RelabellingKernel)


@pytest.mark.parametrize("structure", [Additive(), InteractionOrders(2)])
def test_a_graph_is_one_base_kernel_of_a_sum(structure):
    graph = GRAPHS["operations"]
    space = space_of(graph, [Float("f", 0.0, 1.0)])
    builder = KernelBuilder(space, Model(structure=[graph, structure]))
    kernel = builder.kernel(structure)
    (base,) = kernel.base_kernels  # numbers are apart
    assert [type(k) for k in base.children] == [RelabellingKernel, DistanceKernel]
    points = space.sample(20, np.random.default_rng(5))
    matrix = kernel.matrix(kernel.start(2.0), kernel.prepare(points))
    assert np.linalg.eigvalsh(matrix)[0] > -1e-9


@pytest.mark.parametrize("mixing", ["product", "sum", "mixture"])
def test_whole_numbers_of_a_graph_are_part_of_it_however_numbers_come_in(mixing):
    graph = GRAPHS["cell"]
    space = space_of(graph, [Float("f", 0.0, 1.0)])
    assert not space.is_discrete.all()
    builder = KernelBuilder(space, Model(structure=graph, mixing=mixing))
    kernel, canonical = builder.kernel(), builder.symmetry().canonical
    points = space.sample(15, np.random.default_rng(6))
    same = kernel.cross_covariance(kernel.start(2.0), points)(canonical(points))
    np.testing.assert_allclose(np.diagonal(same), 1.0, **CLOSE)


def test_large_groups_are_fitted_to_fewer_points():
    few, many = (
        KernelBuilder(space_of(graph), Model(structure=graph)).fit_points(300)
        for graph in (LabelledGraph.nasbench101(5), LabelledGraph.nasbench101(3))
    )
    assert few < 150 and many == 300


def test_no_points_have_no_covariances():
    space = space_of(CELL)
    kernel = kernel_of(CELL, space)
    cross = kernel.cross_covariance(kernel.start(1.0), space.sample(4, np.random.default_rng(0)))
    assert cross(space.sample(0, np.random.default_rng(0))).shape == (0, 4)


def longest_way(graph):
    """Nodes on the longest way, and edges: what the graph alone decides."""
    return nx.dag_longest_path_length(graph) + 0.3 * graph.number_of_edges()


def test_predictions_are_better_than_without_the_graph():
    graph = LabelledGraph.nasbench101(4)
    space, rng = space_of(graph), np.random.default_rng(7)
    points = space.sample(200, rng)
    values = np.array([longest_way(graph_of(graph, space.decode(point))) for point in points])
    values = (values - values.mean()) / values.std()
    errors = {}
    for name, model in {
        "heat": Model(),
        "heat (sum)": Model(structure=LabelledGraph.nasbench101(4, counts=False)),
        "with counts": Model(structure=graph),
        "weisfeiler-lehman": Model("weisfeiler-lehman", structure=graph),
    }.items():
        kernel = KernelBuilder(space, model).kernel()
        found = fit(kernel, points[:60], values[:60], deterministic=False).hyperparameters
        mean = Surrogate(kernel, found, points[:60], values[:60]).mean(points[60:])
        errors[name] = float(np.mean((mean - values[60:]) ** 2))
    assert errors["heat (sum)"] < 0.6 * errors["heat"]
    assert errors["with counts"] < 0.6 * errors["heat"]
    assert errors["weisfeiler-lehman"] < errors["heat"]
