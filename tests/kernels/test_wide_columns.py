"""Comparisons of codes against the one-hot features that they replace."""

import numpy as np
import pytest

from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import Columns, FeatureMap, squared_distances
from heat_plugins.kernels.wide_columns import WIDE, WideColumns
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.spec.model import Model

SPACE = Space(
    (
        Categorical("many", range(WIDE + 8)),
        Categorical("few", range(3)),
        Categorical("more", range(3 * WIDE)),
    )
)
ONLY_WIDE = Space(tuple(Categorical(f"c{i}", range(50)) for i in range(4)))


def sample(space, n, seed=0, missing=None):
    points = space.sample(n, np.random.default_rng(seed))
    points[: n // 2] = points[n // 2 : n // 2 * 2]  # some coordinates agree
    points[: n // 2, ::2] = space.sample(n // 2, np.random.default_rng(seed + 1))[:, ::2]
    if missing is not None:
        points[::3, missing] = np.nan
    return points


def in_order_of(kernel, names, theta):
    """Return hyperparameters of a kernel from those in the order of the columns."""
    return np.concatenate([[theta[names.index(name)] for name in kernel.names], theta[-1:]])


def both(space):
    """Return the kernel as it is built, and the one with features throughout."""
    return KernelBuilder(space, Model()).kernel(), DistanceKernel(FeatureMap.of(space))


@pytest.mark.parametrize("missing", [None, 0])
@pytest.mark.parametrize("n", [2, 30])
def test_distances_are_those_of_one_hot_features(missing, n):
    columns = np.array([0, 2])
    layout = Columns(SPACE, columns)
    wide, features = WideColumns(layout), FeatureMap([layout])
    left, right = sample(SPACE, n, 1, missing), sample(SPACE, 20, 2, missing)
    weights = np.array([0.3, 1.7])
    expected = squared_distances(
        features.weighted(features(left), weights), features.weighted(features(right), weights)
    )
    found = np.zeros((n, 20))
    wide.add_distances(weights, wide.codes(left), wide.codes(right), to=found)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("missing", [None, 0])
@pytest.mark.parametrize("n", [2, 128, 300])
def test_distances_within_one_set_and_their_slopes_are_those_of_pairs(missing, n):
    """Only one half is compared, block by block; what is given need not be symmetric."""
    wide = WideColumns(Columns(SPACE, np.array([0, 2])))
    codes, weights = wide.codes(sample(SPACE, n, 1, missing)), np.array([0.3, 1.7])
    single = np.zeros((2, n, n))
    for weight, each in zip(np.eye(2), single, strict=True):
        wide.add_distances(weight, codes, codes.copy(), to=each)
    by_distance = np.random.default_rng(2).normal(size=(n, n))
    expected = np.einsum("cab,ab->c", single, by_distance)
    np.testing.assert_allclose(wide.by_weights(by_distance, codes), expected, atol=1e-10)
    found = np.ones((n, n))
    wide.add_own_distances(weights, codes, to=found)
    np.testing.assert_allclose(found, 1.0 + np.tensordot(weights, single, 1), atol=1e-12)


@pytest.mark.parametrize("space", [SPACE, ONLY_WIDE], ids=["both kinds", "wide alone"])
def test_the_kernel_is_the_same_without_features(space):
    built, plain = both(space)
    points, others = sample(space, 30), sample(space, 11, seed=5)
    rng = np.random.default_rng(3)
    theta = np.append(rng.normal(size=len(space)), -1.0)
    mine = in_order_of(built, list(space.names), theta)
    kernel, pullback = built.matrix_and_pullback(mine, built.prepare(points))
    expected, expected_pullback = plain.matrix_and_pullback(theta, plain.prepare(points))
    np.testing.assert_allclose(kernel, expected, atol=1e-12)
    np.testing.assert_allclose(built.matrix(mine, built.prepare(points)), expected, atol=1e-12)
    by_kernel = rng.normal(size=expected.shape)
    by_kernel += by_kernel.T
    slopes = in_order_of(built, list(space.names), expected_pullback(by_kernel))
    np.testing.assert_allclose(pullback(by_kernel), slopes, atol=1e-10)
    np.testing.assert_allclose(
        built.cross_covariance(mine, points)(others),
        plain.cross_covariance(theta, points)(others),
        atol=1e-12,
    )


@pytest.mark.parametrize("space", [SPACE, ONLY_WIDE], ids=["both kinds", "wide alone"])
def test_single_changes_are_those_of_whole_points(space):
    built, _ = both(space)
    points, point = sample(space, 30), sample(space, 2, seed=5)[0]
    cross = built.cross_covariance(built.start(2.0), points)
    columns = np.repeat(np.arange(len(space)), 3)
    others = space.sample(3, np.random.default_rng(8))
    coordinates = others.T.ravel()
    whole = np.repeat(point[None], len(columns), axis=0)
    whole[np.arange(len(columns)), columns] = coordinates
    np.testing.assert_allclose(
        cross.of_changes(point, columns, coordinates), cross(whole), atol=1e-12
    )


def test_nothing_grows_with_the_number_of_choices():
    for n_choices in (100, 20_000):
        space = Space((Categorical("c", range(n_choices)), Float("x", 0, 1)))
        kernel = KernelBuilder(space, Model()).kernel()
        prepared, _ = kernel.prepare(sample(space, 12))
        assert prepared.features.shape == (12, 0)
        assert prepared.codes.shape == (1, 12)
        assert prepared.indicators.shape == (12, 0)


def test_few_choices_keep_their_features():
    space = Space(tuple(Categorical(f"c{i}", range(WIDE)) for i in range(3)))
    kernel = KernelBuilder(space, Model()).kernel()
    assert kernel.wide is None
    assert kernel.prepare(sample(space, 4)).features.shape == (4, 3 * WIDE)


def test_optional_columns_of_many_choices_have_no_features_either():
    points = sample(SPACE, 30)
    points[points[:, 1] == 0, 0] = np.nan
    conditions = learn_conditions(SPACE, points)
    kernel = KernelBuilder(SPACE, Model(), conditions).kernel()
    assert kernel.wide is not None
    assert {*kernel.wide.names} == {"many", "more"}


@pytest.mark.parametrize("kernel", ["heat", "casmopolitan", "matern"])
def test_one_rate_for_all_includes_wide_columns(kernel):
    """Isotropic kernels scale with one log rate alone; the numbers of choices are known to it."""
    built = KernelBuilder(ONLY_WIDE, Model(kernel=kernel, ard=False)).kernel()
    points = sample(ONLY_WIDE, 20)
    matrix = built.matrix(built.start(2.0), built.prepare(points))
    n_differing = (points[:, None] != points[None]).sum(axis=2)
    for h in np.unique(n_differing):
        assert np.ptp(matrix[n_differing == h]) < 1e-12
    assert matrix[n_differing > 0].max() < 1.0


PUBLISHED = [[2] * 125, [5] * 25, [11] * 20, [20] * 25, [4] * 67, [2] * 60]


@pytest.mark.parametrize("sizes", PUBLISHED, ids=str)
def test_published_problems_are_fitted_to_as_many_points_as_ever(sizes):
    space = Space(tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes)))
    assert KernelBuilder(space, Model()).fit_points(300) == 300


@pytest.mark.parametrize("sizes", [[2] * 2000, [50] * 200, [30] * 400], ids=["2", "50", "30"])
def test_wide_spaces_are_fitted_to_fewer_points(sizes):
    space = Space(tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes)))
    builder = KernelBuilder(space, Model())
    n = builder.fit_points(300)
    assert 50 < n < 300
    prepared = builder.kernel().prepare(space.sample(n, np.random.default_rng(0)))
    assert n**2 * prepared.features.shape[1] <= 300**2 * 500
    assert builder.fit_points(20) == 20
