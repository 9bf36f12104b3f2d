"""The heat kernel on graphs of choices against the matrix exponential."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize

from heat_plugins.kernels.formulas import rate_from_time
from heat_plugins.kernels.graph_distance import (
    SMALLEST_CORRELATION,
    GraphDistance,
    rate_from_time_slope,
)
from heat_plugins.kernels.isotropic_rates import IsotropicRates, SharedDiffusionTime
from heat_plugins.space.graphs import adjacency, laplacian

CHECKED = settings(deadline=None, max_examples=60)
WEIGHTS = [1e-3, 0.02, 0.1, 0.4, 0.8]
# Distances up to here are far from rounding error, which correlations are at the end of.
SURE = 14.0


def random_graph(g, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((g, g)) * (rng.random((g, g)) < 0.6), k=1)
    upper += np.eye(g, k=1) * 0.3  # connected
    return upper + upper.T


GRAPHS = {
    "path": adjacency("path", 6),
    "cycle": adjacency("cycle", 7),
    "two": adjacency("path", 2),
    "star": adjacency([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], 4),
    "weighted": random_graph(8, 0),
    "scaled": 40.0 * random_graph(5, 1),
}
EVERY_GRAPH = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def by_definition(graph, beta):
    """Minus the log of exp(-beta L), divided by the square roots of its diagonal."""
    heat = linalg.expm(-beta * laplacian(graph))
    scale = np.sqrt(np.diagonal(heat))
    return -np.log(heat / np.outer(scale, scale))


@EVERY_GRAPH
@pytest.mark.parametrize("weight", WEIGHTS)
def test_table_is_that_of_the_matrix_exponential(graph, weight):
    """At some diffusion time: the one that gives the first two choices their distance."""
    table, _ = GraphDistance(graph).table(weight)
    log_beta = optimize.brentq(
        lambda t: by_definition(graph, np.exp(t))[0, 1] - table[0, 1], -12.0, 4.5, xtol=1e-14
    )
    sure = table < SURE
    assert sure.sum() >= 3 * len(graph) - 2  # at least the choices themselves and neighbours
    expected = by_definition(graph, np.exp(log_beta))
    np.testing.assert_allclose(table[sure], expected[sure], rtol=1e-7, atol=1e-9)
    assert np.all(expected[~sure] > SURE - 1e-3)
    assert np.all(np.diagonal(table) == 0.0)
    np.testing.assert_allclose(table[sure], table.T[sure], rtol=0.0, atol=1e-9)
    assert np.linalg.eigvalsh(np.exp(-table))[0] > -1e-12


@EVERY_GRAPH
def test_a_small_weight_is_the_mean_distance_of_two_choices(graph):
    g = len(graph)
    for weight in (1e-4, 1e-3):
        table, slope = GraphDistance(graph).table(weight)
        assert table.sum() / (g * (g - 1)) == pytest.approx(weight, rel=0.02)
        assert slope.sum() / (g * (g - 1)) == pytest.approx(1.0, rel=0.02)


@EVERY_GRAPH
@pytest.mark.parametrize("weight", WEIGHTS)
def test_derivative_is_that_of_the_table(graph, weight):
    distance, step = GraphDistance(graph), 1e-5 * weight
    _, slope = distance.table(weight)
    above, below = distance.table(weight + step)[0], distance.table(weight - step)[0]
    sure = above < SURE
    expected = (above - below) / (2.0 * step)
    np.testing.assert_allclose(slope[sure], expected[sure], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("g", [2, 3, 10])
@pytest.mark.parametrize("weight", [1e-6, 1e-3, 0.7, 5.0, 20.0])
def test_complete_graph_gives_the_weight_itself(g, weight):
    table, slope = GraphDistance(adjacency("complete", g)).table(weight)
    off = 1.0 - np.eye(g)
    # near 0 the distance is a difference of numbers near 1
    np.testing.assert_allclose(table, weight * off, rtol=1e-7, atol=1e-14)
    np.testing.assert_allclose(slope, off, rtol=1e-5, atol=1e-14)


def test_rescaled_weights_of_edges_are_the_same_graph():
    graph = random_graph(6, 2)
    table, _ = GraphDistance(graph).table(0.5)
    np.testing.assert_allclose(GraphDistance(1e3 * graph).table(0.5)[0], table, rtol=1e-10)


def test_neighbours_on_a_path_are_closer_than_its_ends():
    table, _ = GraphDistance(adjacency("path", 6)).table(0.5)
    for row in range(6):
        right = table[row, row:]
        assert np.all(np.diff(right) > 0.0)


@pytest.mark.parametrize("weight", [1e-7, 1e-3, 0.5, 3.0, 20.0, 148.0])
def test_disconnected_graph_stays_finite(weight):
    graph = linalg.block_diag(adjacency("path", 3), adjacency("cycle", 3), np.zeros((1, 1)))
    table, slope = GraphDistance(graph).table(weight)
    assert np.all(np.isfinite(table)) and np.all(np.isfinite(slope))
    apart = -np.log(SMALLEST_CORRELATION)
    np.testing.assert_allclose(table[:3, 3:], apart)
    np.testing.assert_allclose(table[6, :6], apart)
    np.testing.assert_array_equal(slope[:3, 3:], 0.0)
    if weight <= 1e-3:
        assert np.all(table[:3, :3] < 0.1) and np.all(table[3:6, 3:6] < 0.1)


@pytest.mark.parametrize("g", [2, 3, 7])
def test_graph_without_edges_is_refused(g):
    message = r"graph of 'size' must join at least two of its choices, got no edge"
    for graph in (np.zeros((g, g)), {"nodes": [*range(g)], "adjacency": np.zeros((g, g))}):
        with pytest.raises(ValueError, match=message):
            adjacency(graph, g, "size")
    one = np.zeros((g, g))
    one[0, -1] = one[-1, 0] = 0.1
    table, slope = GraphDistance(adjacency(one, g)).table(0.7)  # one edge is enough
    assert np.all(np.isfinite(table)) and np.all(np.isfinite(slope))
    # a single choice has no other to be joined to
    assert adjacency([[0]], 1).tolist() == adjacency("path", 1).tolist() == [[0.0]]


@EVERY_GRAPH
@pytest.mark.parametrize("log_weight", [-16.0, -8.0, 3.0, 5.0])
def test_extreme_weights_stay_finite(graph, log_weight):
    table, slope = GraphDistance(graph).table(float(np.exp(log_weight)))
    assert np.all(np.isfinite(table)) and np.all(np.isfinite(slope))
    assert np.all(table >= 0.0) and np.all(table <= -np.log(SMALLEST_CORRELATION) + 1e-9)


# --------------------------------------------------------------------- times and rates
@given(st.floats(1e-6, 30.0), st.floats(2.0, 50.0))
@CHECKED
def test_exchange_undoes_itself(t, g):
    """What turns times into rates turns rates into times."""
    assert rate_from_time(t, g) == pytest.approx(np.log1p(g / np.expm1(t)), rel=1e-10)
    assert rate_from_time(rate_from_time(t, g), g) == pytest.approx(t, rel=1e-6)


@given(st.floats(-14.0, 4.0), st.floats(2.0, 50.0))
@CHECKED
def test_slope_of_the_exchange_is_its_derivative(log_t, g):
    t = float(np.exp(log_t))
    step = 1e-5 * t
    expected = (rate_from_time(t + step, g) - rate_from_time(t - step, g)) / (2.0 * step)
    assert rate_from_time_slope(t, g) == pytest.approx(expected, rel=1e-5, abs=1e-12)


def test_exchange_is_finite_at_the_bounds_of_the_weights():
    for t in (np.exp(-16.0), np.exp(5.0), 700.0, 2000.0):
        assert np.isfinite(rate_from_time(t, 4.0)) and np.isfinite(rate_from_time_slope(t, 4.0))


@pytest.mark.parametrize("log_rate_mean", [-6.0, -1.0, 0.5, 2.0])
def test_one_time_for_all_gives_each_size_its_rate(log_rate_mean):
    sizes = np.array([2.0, 5.0, 0.0, 3.0, 1.0])
    log_scales = np.array([0.0, 0.0, 1.5, 0.0, 0.0])
    isotropic = SharedDiffusionTime(log_scales, sizes)
    log_weights, slopes = isotropic.log_weights(log_rate_mean)
    mean = np.mean([2.0, 5.0, 3.0])
    beta = np.log1p(mean / np.expm1(np.exp(log_rate_mean))) / mean
    for i in (0, 1, 3):
        rate = np.log1p(sizes[i] / np.expm1(beta * sizes[i]))
        assert log_weights[i] == pytest.approx(np.log(rate), abs=1e-9)
    assert log_weights[2] == 1.5 + log_rate_mean and slopes[2] == 1.0
    step = 1e-5
    expected = (
        isotropic.log_weights(log_rate_mean + step)[0]
        - isotropic.log_weights(log_rate_mean - step)[0]
    )
    np.testing.assert_allclose(slopes, expected / (2.0 * step), rtol=1e-6, atol=1e-8)


def test_equal_sizes_have_the_level_for_their_rate():
    log_weights, slopes = SharedDiffusionTime(np.zeros(3), np.full(3, 4.0)).log_weights(-0.3)
    np.testing.assert_allclose(log_weights, -0.3, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(slopes, 1.0, rtol=0.0, atol=1e-10)
    plain, ones = IsotropicRates(np.array([0.0, 2.0])).log_weights(-0.3)
    assert plain.tolist() == [-0.3, 1.7] and ones.tolist() == [1.0, 1.0]
