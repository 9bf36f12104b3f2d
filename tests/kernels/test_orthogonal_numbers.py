"""All numbers at once are what they are one by one."""

import numpy as np
import pytest

from heat_plugins.kernels.base_kernels import NumberKernel
from heat_plugins.kernels.orthogonal import (
    OrthogonalBaseKernel,
    Reference,
    mean_variance,
    orthogonal_kernel_matrix,
)
from heat_plugins.kernels.orthogonal_numbers import OrthogonalNumbers
from heat_plugins.space import Categorical, Float, Integer, Space

SPACE = Space(
    (Float("a", 0, 1), Categorical("c", "xyz"), Integer("b", 0, 9), Float("d", 1, 9, log=True))
)
COLUMNS = np.array([0, 2, 3])
ORTHOGONAL = pytest.mark.parametrize("orthogonal", [True, False], ids=["orthogonal", "plain"])
# From "all alike" over the usual to "only neighbours are alike".
LOG_WEIGHTS = pytest.mark.parametrize(
    "log_weights",
    [np.array([-4.0, -3.0, -5.0]), np.array([-0.5, 0.3, 1.0]), np.array([3.0, 2.0, 4.0])],
    ids=["smooth", "usual", "rough"],
)
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def reference_of(column):
    nodes, weights = np.polynomial.legendre.leggauss(16)
    points = np.zeros((16, len(SPACE)))
    points[:, column] = 0.5 * (nodes + 1.0)
    return Reference(points, 0.5 * weights)


REFERENCES = [reference_of(column) for column in COLUMNS]
BASE_KERNELS = [NumberKernel(int(column)) for column in COLUMNS]


def some_points(n, seed):
    return SPACE.sample(n, np.random.default_rng(seed))


def one_by_one(log_weights, orthogonal):
    """Return for each number its base kernel, its hyperparameter and its orthogonal version."""
    return [
        (base, theta, OrthogonalBaseKernel(base, theta, reference, orthogonal))
        for base, theta, reference in zip(
            BASE_KERNELS, log_weights[:, None], REFERENCES, strict=True
        )
    ]


@ORTHOGONAL
@LOG_WEIGHTS
def test_matrices_and_pullbacks(log_weights, orthogonal):
    points = some_points(15, 0)
    numbers = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal)
    matrices, pullback = numbers.matrices(log_weights, numbers.prepare(points))
    expected = [
        orthogonal_kernel_matrix(
            base,
            log_weights[[i]],
            base.prepare(np.concatenate([points, REFERENCES[i].points])),
            len(points),
            REFERENCES[i].shares,
            orthogonal=orthogonal,
        )
        for i, base in enumerate(BASE_KERNELS)
    ]
    np.testing.assert_allclose(matrices, [matrix for matrix, _ in expected], **EXACT)
    by_matrices = np.random.default_rng(1).standard_normal((3, 15, 15))
    by_matrices += by_matrices.transpose(0, 2, 1)
    given = by_matrices.copy()
    slopes = [pull(by)[0] for (_, pull), by in zip(expected, given, strict=True)]
    np.testing.assert_allclose(pullback(by_matrices), slopes, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(by_matrices, given)


@ORTHOGONAL
@LOG_WEIGHTS
def test_pullback_is_the_slope_of_the_matrices(log_weights, orthogonal):
    numbers = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal)
    prepared = numbers.prepare(some_points(8, 2))
    by_matrices = np.random.default_rng(3).standard_normal((3, 8, 8))
    by_matrices += by_matrices.transpose(0, 2, 1)

    def inner(shift):
        matrices, _ = numbers.matrices(log_weights + shift, prepared)
        return np.sum(by_matrices * matrices, axis=(1, 2))

    step = 1e-5
    _, pullback = numbers.matrices(log_weights, prepared)
    expected = (inner(step) - inner(-step)) / (2.0 * step)
    np.testing.assert_allclose(pullback(by_matrices), expected, rtol=1e-6, atol=1e-7)


@ORTHOGONAL
@LOG_WEIGHTS
def test_mean_variances(log_weights, orthogonal):
    numbers = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal)
    found, slopes = numbers.mean_variances(log_weights)
    for i, (base, theta, single) in enumerate(one_by_one(log_weights, orthogonal)):
        points, shares = REFERENCES[i].points, REFERENCES[i].shares
        own = single.own(np.ones(len(points)), single.means(points))
        np.testing.assert_allclose(found[i], shares @ own, **EXACT)
        by_itself = mean_variance(base, theta, base.prepare(points), shares, orthogonal=orthogonal)
        np.testing.assert_allclose([found[i], slopes[i]], np.hstack(by_itself), **EXACT)
    step = 1e-5
    above, below = (numbers.mean_variances(log_weights + s)[0] for s in (step, -step))
    np.testing.assert_allclose(slopes, (above - below) / (2.0 * step), rtol=1e-6, atol=1e-8)


@ORTHOGONAL
@LOG_WEIGHTS
def test_covariances_with_observations_and_themselves(log_weights, orthogonal):
    observed, candidates = some_points(12, 4), some_points(7, 5)
    cross = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal).cross_covariance(
        log_weights, observed
    )
    means, places = cross.means_and_places(candidates)
    found, own = cross.covariances(means, places), cross.own(means)
    for i, (base, theta, single) in enumerate(one_by_one(log_weights, orthogonal)):
        theirs = single.means(candidates)
        expected = single.cross(
            base.cross_covariance(theta, observed)(candidates), theirs, single.means(observed)
        )
        np.testing.assert_allclose(found[i], expected, **EXACT)
        np.testing.assert_allclose(means[i], theirs / single.mean, **EXACT)
        np.testing.assert_allclose(own[i], single.own(np.ones(7), theirs), **EXACT)


@ORTHOGONAL
@LOG_WEIGHTS
def test_covariances_are_those_of_the_matrices(log_weights, orthogonal):
    points = some_points(9, 6)
    numbers = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal)
    matrices, _ = numbers.matrices(log_weights, numbers.prepare(points))
    cross = numbers.cross_covariance(log_weights, points)
    means, places = cross.means_and_places(points)
    np.testing.assert_allclose(cross.covariances(means, places), matrices, **EXACT)
    np.testing.assert_allclose(cross.own(means), np.diagonal(matrices, axis1=1, axis2=2), **EXACT)


@ORTHOGONAL
@LOG_WEIGHTS
def test_slopes(log_weights, orthogonal):
    observed, point = some_points(10, 7), some_points(1, 8)[0]
    cross = OrthogonalNumbers(COLUMNS, REFERENCES, orthogonal).cross_covariance(
        log_weights, observed
    )
    values, slopes = cross.slopes_with_own(point)
    for i, (base, theta, single) in enumerate(one_by_one(log_weights, orthogonal)):
        covariances, by_place = base.cross_covariance(theta, observed).slopes(point, COLUMNS[[i]])
        mean, by_mean = single.mean_slopes(point, COLUMNS[[i]])
        observed_means = single.means(observed)
        m = single.mean
        expected = covariances / m - mean * observed_means / m**2
        expected_slopes = by_place[:, 0] / m - by_mean[0] * observed_means / m**2
        np.testing.assert_allclose(values[i, :-1], expected, **EXACT)
        np.testing.assert_allclose(slopes[i, :-1], expected_slopes, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(values[i, -1], 1.0 / m - mean**2 / m**2, **EXACT)
        np.testing.assert_allclose(slopes[i, -1], -2.0 * mean * by_mean[0] / m**2, **EXACT)


def test_means_are_zero_once_they_are_taken_out():
    """What is orthogonal to constants has no mean over all values, whoever it is compared to."""
    numbers = OrthogonalNumbers(COLUMNS, REFERENCES, True)
    everywhere = np.zeros((16, len(SPACE)))
    everywhere[:, COLUMNS] = numbers.nodes.T
    cross = numbers.cross_covariance(np.array([-0.5, 0.3, 1.0]), some_points(6, 9))
    covariances = cross.covariances(*cross.means_and_places(everywhere))
    np.testing.assert_allclose(
        np.einsum("r,crn->cn", numbers.shares, covariances), np.zeros((3, 6)), atol=1e-13
    )


def test_there_may_be_no_numbers():
    nothing = OrthogonalNumbers(np.empty(0, dtype=np.int64), [], True)
    points, none = some_points(4, 10), np.empty(0)
    matrices, pullback = nothing.matrices(none, nothing.prepare(points))
    assert matrices.shape == (0, 4, 4)
    assert pullback(matrices).shape == nothing.mean_variances(none)[0].shape == (0,)
