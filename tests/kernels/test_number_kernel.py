"""The base kernel of one number, and the slopes of kernels that are made of such ones."""

import numpy as np
import pytest

from heat_plugins.kernels.additive import OrdersKernel
from heat_plugins.kernels.base import STARTING_TOTALS, CrossCovariance
from heat_plugins.kernels.base_kernels import NumberKernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import NUMERIC_WEIGHT, FeatureMap
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive, InteractionOrders, PermutationInvariant

SPACE = Space((Categorical("c", range(3)), Float("f", 0, 2), Integer("i", 0, 20)))
ALONE = Space((Float("f", 0, 2),))
COLUMN = 1
THETAS = [-3.0, -0.4, 1.2]


def pair(theta):
    """The base kernel on a column of a space, and what it stands for on a space of that column."""
    return (
        (NumberKernel(COLUMN), np.array([theta])),
        (DistanceKernel(FeatureMap.of(ALONE)), np.array([theta + np.log(NUMERIC_WEIGHT), 0.0])),
    )


@pytest.mark.parametrize("theta", THETAS)
def test_number_kernel_is_the_distance_kernel_of_one_number(theta):
    rng = np.random.default_rng(0)
    points, others = SPACE.sample(14, rng), SPACE.sample(6, rng)
    (base, own), (kernel, same) = pair(theta)
    alone, other_alone = points[:, [COLUMN]], others[:, [COLUMN]]
    prepared, prepared_alone = base.prepare(points), kernel.prepare(alone)
    expected, expected_pullback = kernel.matrix_and_pullback(same, prepared_alone)
    weight = NUMERIC_WEIGHT * np.exp(theta)
    by_hand = np.exp(-weight * (alone - alone.T) ** 2)
    np.testing.assert_allclose(expected, by_hand, rtol=0.0, atol=1e-13)
    matrix, pullback = base.matrix_and_pullback(own, prepared)
    for found in (matrix, base.matrix(own, prepared), base.cross_covariance(own, points)(points)):
        np.testing.assert_allclose(found, by_hand, rtol=0.0, atol=1e-14)
        assert np.all(np.diagonal(found) == 1.0)
    by_kernel = rng.standard_normal((14, 14))
    by_kernel += by_kernel.T
    given = by_kernel.copy()
    np.testing.assert_allclose(pullback(given), expected_pullback(by_kernel)[:1], rtol=1e-9)
    np.testing.assert_array_equal(given, by_kernel)
    np.testing.assert_allclose(
        base.cross_covariance(own, points)(others),
        kernel.cross_covariance(same, alone)(other_alone),
        atol=1e-13,
    )


@pytest.mark.parametrize("theta", THETAS)
def test_slopes_are_those_of_the_distance_kernel(theta):
    rng = np.random.default_rng(1)
    points = SPACE.sample(12, rng)
    (base, own), (kernel, same) = pair(theta)
    cross, other = (
        base.cross_covariance(own, points),
        kernel.cross_covariance(same, points[:, [COLUMN]]),
    )
    for point in (SPACE.sample(1, rng)[0], points[3]):
        covariances, slopes = cross.slopes(point, np.array([2, COLUMN]))
        expected, by_place = other.slopes(point[[COLUMN]], np.array([0]))
        np.testing.assert_allclose(covariances, expected, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(slopes[:, [1]], by_place, rtol=0.0, atol=1e-11)
        np.testing.assert_array_equal(slopes[:, 0], 0.0)  # in a number it does not look at
        plain = CrossCovariance.slopes(cross, point, np.array([COLUMN]))[1]
        np.testing.assert_allclose(slopes[:, [1]], plain, rtol=0.0, atol=1e-8)
        value, own_slopes = cross.own_slopes(point, np.array([2, COLUMN]))
        assert value == 1.0 and own_slopes.tolist() == [0.0, 0.0]
    assert cross.has_unit_diagonal and type(cross).slopes is not CrossCovariance.slopes


def test_changes_of_other_columns_change_nothing():
    points = SPACE.sample(8, np.random.default_rng(2))
    cross = NumberKernel(COLUMN).cross_covariance(np.array([0.3]), points)
    columns, places = np.array([0, COLUMN, 2]), np.array([2.0, 0.5, 0.25])
    changed = cross.of_changes(points[0], columns, places)
    np.testing.assert_array_equal(changed[[0, 2]], cross(points[[0, 0]]))
    moved = points[:1].copy()
    moved[0, COLUMN] = 0.5
    np.testing.assert_array_equal(changed[1], cross(moved)[0])


def test_starts_are_those_of_the_distance_kernel_and_there_is_no_prior():
    base, kernel = NumberKernel(COLUMN), DistanceKernel(FeatureMap.of(ALONE))
    for total in STARTING_TOTALS:
        log_weight, log_rate_mean = kernel.start(total)
        assert base.start(total) == pytest.approx([log_rate_mean])
        assert log_weight == pytest.approx(log_rate_mean + np.log(NUMERIC_WEIGHT))
        assert np.all(base.start(total) >= base.bounds[:, 0])
        assert np.all(base.start(total) <= base.bounds[:, 1])
    assert base.log_rate_mean == 0 and base.n_hyperparameters == 1
    value, gradient = base.prior(np.array([1.7]))
    assert value == 0.0 and gradient.tolist() == [0.0]


def test_numbers_of_added_kernels_are_found_together():
    kernel = KernelBuilder(SPACE, Model(structure=Additive())).kernel(Additive())
    assert isinstance(kernel, OrdersKernel)
    assert kernel.numbers.columns.tolist() == [1, 2]
    assert kernel.base_kernels == ()


# --------------------------------------------------------- slopes of kernels of orders
MIXED = Space(
    (
        *(Categorical(f"x{i}", range(3)) for i in range(3)),
        Float("f", 0, 1),
        Ordinal("o", range(4)),
        Integer("i", 0, 30),
        Float("a", 0, 1),
        Float("b", 0, 1),
    )
)
NUMBERS = Space((Float("f", 0, 1), Float("h", 0, 1), Integer("i", 0, 30)))
STRUCTURES = {
    "additive": [Additive()],
    "orders": [InteractionOrders(2)],
    "orders without remainder": [InteractionOrders(2, remainder=False)],
    "all orders": [InteractionOrders(99)],
    "plain order": [InteractionOrders(1, orthogonal=False)],
    "plain orders": [InteractionOrders(3, orthogonal=False)],
    "choices in a group": [PermutationInvariant(["x0", "x1", "x2"]), InteractionOrders(2)],
    "numbers in a group": [PermutationInvariant(["a", "b"], "sort"), InteractionOrders(3)],
    "group sum": [PermutationInvariant(["x0", "x1", "x2"], "sum"), Additive()],
}


@pytest.mark.parametrize("space", [MIXED, NUMBERS], ids=["mixed", "numbers"])
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_slopes_of_orders_are_the_derivatives(structure, space):
    model = Model(structure=structure)
    kernel = KernelBuilder(space, model).kernel(model.combination)
    assert isinstance(kernel, OrdersKernel)
    rng = np.random.default_rng(3)
    theta = kernel.start(3.0) + 0.4 * rng.standard_normal(kernel.n_hyperparameters)
    points = space.sample(11, rng)
    cross, step = kernel.cross_covariance(theta, points), 1e-5
    columns = rng.permutation(np.flatnonzero(~space.is_discrete))
    for point in (*space.sample(3, rng), points[0]):
        before = point.copy()
        covariances, slopes = cross.slopes(point, columns)
        own, own_slopes = cross.own_slopes(point, columns)
        np.testing.assert_array_equal(point, before)
        assert slopes.shape == (11, len(columns)) and own_slopes.shape == (len(columns),)
        np.testing.assert_allclose(covariances, cross(point[None])[0], rtol=0.0, atol=1e-12)
        assert own == pytest.approx(cross.diagonal(point[None])[0], abs=1e-12)
        for i, column in enumerate(columns):
            ends = np.repeat(point[None], 2, axis=0)
            ends[:, column] += [step, -step]
            above, below = cross(ends)
            np.testing.assert_allclose(slopes[:, i], (above - below) / (2 * step), atol=1e-7)
            above, below = cross.diagonal(ends)
            assert own_slopes[i] == pytest.approx((above - below) / (2 * step), abs=1e-7)
    # some columns alone, or none
    point = points[1]
    every = cross.slopes(point, columns)[1]
    np.testing.assert_allclose(cross.slopes(point, columns[1:])[1], every[:, 1:], atol=1e-14)
    assert cross.slopes(point, columns[:0])[1].shape == (11, 0)
    assert np.abs(every).max() > 1e-2  # a comparison worth making
    if cross.has_unit_diagonal:
        assert not kernel.orthogonal and not own_slopes.any()
