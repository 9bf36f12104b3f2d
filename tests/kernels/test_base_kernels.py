"""One parameter as a kernel of its own."""

import numpy as np
import pytest

from heat_plugins.kernels.base_kernels import (
    BaseKernels,
    ChoiceKernel,
    FixedDistance,
    WithRemainder,
)
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.space.graphs import adjacency

PLACES = np.array([0.0, 0.2, 0.9, 1.0])
DISTANCES = {
    "unordered": FixedDistance.unordered(4),
    "places": FixedDistance.of_places(PLACES),
    "path": GraphDistance(adjacency("path", 4)),
    "path and more": WithRemainder(GraphDistance(adjacency("path", 4))),
}
POINTS = np.array([[9.0, 0.0], [7.0, 3.0], [5.0, 1.0], [4.0, 3.0], [0.0, 2.0]])


def test_fixed_distances_are_what_they_say():
    table, slope = DISTANCES["unordered"].table(2.5)
    np.testing.assert_array_equal(table, 2.5 * (1.0 - np.eye(4)))
    np.testing.assert_array_equal(slope, 1.0 - np.eye(4))
    table, _ = DISTANCES["places"].table(2.0)
    np.testing.assert_allclose(table[0], 2.0 * PLACES**2)
    assert [d.n_choices for d in DISTANCES.values()] == [4] * 4


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
def test_choice_kernel_is_the_exponential_of_its_table(distance):
    base, theta = ChoiceKernel(1, distance), np.array([0.4])
    table = np.exp(-distance.table(np.exp(0.4))[0])
    codes = POINTS[:, 1].astype(int)
    matrix = base.matrix(theta, base.prepare(POINTS))
    np.testing.assert_allclose(matrix, table[np.ix_(codes, codes)], rtol=1e-15)
    np.testing.assert_allclose(
        base.cross_covariance(theta, POINTS)(POINTS[:2]),
        table[np.ix_(codes[:2], codes)],
        rtol=1e-15,
    )
    assert np.all(np.diagonal(matrix) == 1.0) and matrix[1, 3] == 1.0


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
def test_pullback(distance):
    base, theta = ChoiceKernel(1, distance), np.array([-0.3])
    by_kernel = np.random.default_rng(0).standard_normal((5, 5))
    by_kernel += by_kernel.T
    prepared, step = base.prepare(POINTS), 1e-5
    (found,) = base.matrix_and_pullback(theta, prepared)[1](by_kernel)
    ends = [np.vdot(by_kernel, base.matrix(theta + s, prepared)) for s in (step, -step)]
    assert found == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-7)


def test_what_a_graph_does_not_say_keeps_all_choices_a_little_apart():
    graph = GraphDistance(adjacency("path", 4))
    (plain, slope), (table, more) = graph.table(0.3), WithRemainder(graph).table(0.3)
    off = 1.0 - np.eye(4)
    share = (table - plain)[0, 1] / 0.3
    assert 0.0 < share < 1.0
    np.testing.assert_allclose(table, plain + 0.3 * share * off, rtol=1e-12)
    np.testing.assert_allclose(more, slope + share * off, rtol=1e-12)


def test_start_is_the_log_of_the_total_and_there_is_no_prior():
    base = ChoiceKernel(1, DISTANCES["unordered"])
    assert base.start(3.0) == pytest.approx([np.log(3.0)])
    assert base.log_rate_mean == 0
    value, gradient = base.prior(np.array([1.7]))
    assert value == 0.0 and gradient.tolist() == [0.0]


def test_base_kernels_share_a_mean_log_rate():
    base_kernels = BaseKernels([ChoiceKernel(i, DISTANCES["unordered"]) for i in range(3)])
    assert len(base_kernels) == 3 and base_kernels.bounds.shape == (4, 2)
    start = base_kernels.start(0.5)
    np.testing.assert_allclose(start, np.log(0.5))
    assert base_kernels.prior(start)[0] == 0.0
    assert [part.tolist() for part in base_kernels.split(np.arange(4.0))] == [[1.0], [2.0], [3.0]]
    value, gradient = base_kernels.prior(np.array([1.0, 1.5, 0.0, 3.0]))
    assert value == pytest.approx(0.5 * (0.25 + 1.0 + 4.0))
    np.testing.assert_allclose(gradient, [-0.5 + 1.0 - 2.0, 0.5, -1.0, 2.0])
