"""Samples of the posterior, against the posterior itself."""

import math

import numpy as np
import pytest

from heat_plugins.acquisition.sample_path import SamplePath
from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Categorical, Float, Integer, Space, apply_changes
from heat_plugins.spec.model import Model

SPACE = Space((Float("x", -1, 1), Categorical("c", "abcd"), Integer("i", 0, 9), Float("y", 0, 1)))
POINTS = SPACE.sample(20, np.random.default_rng(0))
VALUES = np.sin(5.0 * POINTS[:, 0]) + 0.5 * POINTS[:, 1]
ANCHORS = SPACE.sample(12, np.random.default_rng(1))
NUMERIC = np.flatnonzero(~SPACE.is_discrete)


def surrogate_with(kernel: str = "heat", pending: Array | None = None) -> Surrogate:
    made = KernelBuilder(SPACE, Model(kernel=kernel)).kernel()
    hyperparameters = Hyperparameters(made.start(2.0), math.log(1e-2))
    return Surrogate(made, hyperparameters, POINTS, VALUES - VALUES.mean(), pending)


def covariance_of(surrogate: Surrogate, points: Array) -> Array:
    """Return the posterior covariance (n, n), written out."""
    made = KernelBuilder(SPACE, Model()).kernel()
    theta = made.start(2.0)
    matrix = made.cross_covariance(theta, POINTS)(POINTS) + 1e-2 * np.eye(len(POINTS))
    cross = made.cross_covariance(theta, POINTS)(points)
    prior = made.cross_covariance(theta, points)(points)
    return surrogate.variance * (prior - cross @ np.linalg.solve(matrix, cross.T))


def test_the_covariance_is_that_of_its_definition() -> None:
    surrogate = surrogate_with()
    found = surrogate.covariance_with(ANCHORS)(ANCHORS)
    np.testing.assert_allclose(found, covariance_of(surrogate, ANCHORS), atol=1e-9)
    _, variance = surrogate.posterior(ANCHORS)
    np.testing.assert_allclose(np.diagonal(found), variance, atol=1e-9)


@pytest.mark.parametrize("kernel", ["heat", "matern", "ssk", "hed"])
def test_samples_on_the_anchors_have_the_mean_and_variance_of_the_posterior(kernel: str) -> None:
    surrogate = surrogate_with(kernel)
    rng = np.random.default_rng(2)
    drawn = -np.array([SamplePath(surrogate, ANCHORS, rng)(ANCHORS) for _ in range(2000)])
    mean, variance = surrogate.posterior(ANCHORS)
    deviation = np.sqrt(variance)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5.0 * deviation / math.sqrt(2000) + 1e-3)
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.1, atol=2e-3)


def test_samples_on_the_anchors_vary_together_as_the_posterior_does() -> None:
    surrogate, rng = surrogate_with(), np.random.default_rng(3)
    drawn = -np.array([SamplePath(surrogate, ANCHORS, rng)(ANCHORS) for _ in range(4000)])
    expected = covariance_of(surrogate, ANCHORS)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.12 * expected.max())


def test_elsewhere_a_sample_is_what_its_anchors_lead_to_expect() -> None:
    """The mean of a process that has the observations, and the anchors without noise."""
    surrogate = surrogate_with()
    path = SamplePath(surrogate, ANCHORS, np.random.default_rng(4))
    made = KernelBuilder(SPACE, Model()).kernel()
    theta = made.start(2.0)
    everything = np.concatenate([POINTS, ANCHORS])
    values = np.concatenate([VALUES - VALUES.mean(), -path(ANCHORS)])
    matrix = made.cross_covariance(theta, everything)(everything)
    matrix.flat[:: len(matrix) + 1] += np.repeat([1e-2, 1e-6], [len(POINTS), len(ANCHORS)])
    new = SPACE.sample(9, np.random.default_rng(5))
    expected = made.cross_covariance(theta, everything)(new) @ np.linalg.solve(matrix, values)
    np.testing.assert_allclose(-path(new), expected, atol=1e-3)


def test_observed_and_repeated_anchors_do_no_harm() -> None:
    surrogate = surrogate_with()
    anchors = np.concatenate([POINTS[:5], ANCHORS, ANCHORS[:3]])
    path = SamplePath(surrogate, anchors, np.random.default_rng(6))
    assert np.isfinite(path(anchors)).all()
    np.testing.assert_allclose(path(ANCHORS[:3]), path(anchors)[-3:], atol=1e-2)


def test_points_under_evaluation_lower_the_variance_of_samples_around_them() -> None:
    rng = np.random.default_rng(7)
    spread = {}
    for name, pending in (("free", None), ("pending", ANCHORS[:1])):
        surrogate = surrogate_with(pending=pending)
        spread[name] = np.std(
            [SamplePath(surrogate, ANCHORS, rng)(ANCHORS[:1])[0] for _ in range(300)]
        )
    assert spread["pending"] < 0.2 * spread["free"]


def test_changes_and_gradients_are_those_of_the_values() -> None:
    path = SamplePath(surrogate_with(), ANCHORS, np.random.default_rng(8))
    point = SPACE.sample(1, np.random.default_rng(9))[0]
    columns, coordinates = np.array([1, 0, 2]), np.array([2.0, 0.1, 0.5])
    np.testing.assert_allclose(
        path.of_changes(point, columns, coordinates),
        path(apply_changes(point, columns, coordinates)),
    )
    value, gradient = path.value_and_gradient(point, NUMERIC)
    assert value == pytest.approx(path(point[None])[0])
    for slope, column in zip(gradient, NUMERIC, strict=True):
        near = apply_changes(
            point, np.array([column] * 2), point[column] + np.array([1e-5, -1e-5])
        )
        assert slope == pytest.approx(np.subtract(*path(near)) / 2e-5, rel=1e-4, abs=1e-6)
