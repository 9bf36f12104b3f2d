"""The Weisfeiler-Lehman kernel against counts of refined labels by their definition."""

import numpy as np
import pytest

from heat_plugins.kernels.base import STARTING_TOTALS
from heat_plugins.kernels.baselines.weisfeiler_lehman import MOST_ROUNDS, WeisfeilerLehmanKernel

from ...graph_examples import GRAPHS, columns_of, space_of
from ...oracles.labelled_graphs import graph_of, weisfeiler_lehman


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("rounds", range(MOST_ROUNDS + 1))
def test_kernel_counts_common_refined_labels(name, rounds):
    graph = GRAPHS[name]
    space = space_of(graph)
    columns = columns_of(graph, space)
    points = space.sample(25, np.random.default_rng(rounds))
    kernel, theta = WeisfeilerLehmanKernel(columns), np.array([float(rounds)])
    graphs = [graph_of(graph, space.decode(point)) for point in points]
    expected = weisfeiler_lehman(graphs, rounds, with_operations=columns.n_edge_codes > 2)
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-12)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10
    # Colours that the observations do not have count in the norm alone.
    crossed = kernel.cross_covariance(theta, points[:5])(points)
    np.testing.assert_allclose(crossed, expected[:, :5], rtol=0.0, atol=1e-12)


def test_starts_go_through_all_numbers_of_rounds():
    kernel = WeisfeilerLehmanKernel(columns_of(GRAPHS["cell"]))
    rounds = [float(kernel.start(total)[0]) for total in STARTING_TOTALS]
    assert rounds == sorted(rounds) and set(rounds) == set(range(MOST_ROUNDS + 1))


def test_no_points_have_no_covariances():
    space = space_of(GRAPHS["cell"])
    kernel = WeisfeilerLehmanKernel(columns_of(GRAPHS["cell"], space))
    points = space.sample(4, np.random.default_rng(0))
    assert kernel.cross_covariance(np.array([1.0]), points)(points[:0]).shape == (0, 4)
