"""Log expected improvement against arbitrary precision and finite differences."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from heat_plugins.acquisition.log_ei import (
    LogExpectedImprovement,
    log_expected_improvement,
    log_h,
)
from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes

CHECKED = settings(deadline=None, max_examples=100)


def exact_log_h(z):
    """log(phi(z) + z Phi(z)) in as many digits as the cancellation takes."""
    with mpmath.workdps(60):
        z = mpmath.mpf(float(z))
        density = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
        probability = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
        return float(mpmath.log(density + z * probability))


def test_log_h_is_exact_from_minus_1e8_to_40():
    z = np.concatenate(
        [
            -np.logspace(8, -8, 200),
            [0.0],
            np.logspace(-8, np.log10(40.0), 100),
            np.linspace(-1.5, -0.5, 41),
            -np.linspace(990.0, 1010.0, 21),
        ]
    )
    expected = np.array([exact_log_h(number) for number in z])
    np.testing.assert_allclose(log_h(z), expected, rtol=1e-12, atol=1e-14)


@given(st.floats(-1e8, 40.0))
@CHECKED
def test_log_h_is_exact_anywhere(z):
    assert log_h(np.array([z]))[0] == pytest.approx(exact_log_h(z), rel=1e-10, abs=1e-13)


def test_log_h_rises():
    z = np.sort(np.concatenate([-np.logspace(8, -3, 2000), np.linspace(0.0, 40.0, 500)]))
    assert np.all(np.diff(log_h(z)) > 0.0)


def test_log_h_keeps_the_shape():
    z = np.linspace(-5.0, 5.0, 12).reshape(3, 4)
    np.testing.assert_array_equal(log_h(z).ravel(), log_h(z.ravel()))
    assert log_h(np.array(-2.0)).shape == ()


@given(st.floats(-5.0, 5.0), st.floats(1e-3, 1e3), st.floats(-5.0, 5.0))
@CHECKED
def test_log_ei_is_the_log_of_the_closed_form(mean, deviation, best):
    z = (best - mean) / deviation
    improvement = (best - mean) * stats.norm.cdf(z) + deviation * stats.norm.pdf(z)
    ours = log_expected_improvement(np.array([mean]), np.array([deviation**2]), best)[0]
    if z > -4.0:  # below, the closed form itself loses its digits
        assert ours == pytest.approx(np.log(improvement), rel=1e-9, abs=1e-9)
    assert np.isfinite(ours)


def test_log_ei_is_the_mean_improvement_of_samples():
    samples = 0.3 + 0.7 * np.random.default_rng(0).standard_normal(400_000)
    expected = np.log(np.maximum(0.1 - samples, 0.0).mean())
    ours = log_expected_improvement(np.array([0.3]), np.array([0.49]), 0.1)[0]
    assert ours == pytest.approx(expected, abs=0.01)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-300, 1e-12]))
@CHECKED
def test_log_ei_is_finite_without_variance(mean, best, variance):
    value = log_expected_improvement(np.array([mean]), np.array([variance]), best)
    assert np.all(np.isfinite(value))


def test_more_uncertainty_and_a_lower_mean_are_better():
    means = np.linspace(-3.0, 3.0, 50)
    values = log_expected_improvement(means, np.full(50, 0.2), 0.0)
    assert np.all(np.diff(values) < 0.0)
    values = log_expected_improvement(np.full(50, 1.0), np.linspace(0.01, 4.0, 50), 0.0)
    assert np.all(np.diff(values) > 0.0)


# --------------------------------------------------------------- as a batch function
SPACE = Space(
    (
        Float("x", -1, 1),
        Categorical("c", "abcd"),
        Float("lr", 1e-3, 1.0, log=True),
        Ordinal("o", range(5)),
        Categorical("b", "ab"),
        Integer("i", 0, 9),
    )
)
NUMERIC = np.flatnonzero(~SPACE.is_discrete)


@pytest.fixture(scope="module")
def surrogate():
    rng = np.random.default_rng(0)
    points = SPACE.sample(25, rng)
    values = np.sin(5.0 * points[:, 0]) + 0.5 * points[:, 1] + points[:, 2] ** 2
    values = (values - values.mean()) / values.std()
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    hyperparameters = fit(kernel, points, values, deterministic=False).hyperparameters
    return Surrogate(kernel, hyperparameters, points, values, SPACE.sample(2, rng))


@pytest.mark.parametrize("best", [1.0, -1.5, -10.0, -60.0])
def test_gradient_is_that_of_the_values(surrogate, best):
    acquisition = LogExpectedImprovement(surrogate, best)
    for point in SPACE.sample(10, np.random.default_rng(1)):
        value, gradient = acquisition.value_and_gradient(point, NUMERIC)
        assert value == pytest.approx(acquisition(point[None])[0], rel=1e-9, abs=1e-9)
        step = 1e-5
        ends = np.repeat(point[None], 2 * len(NUMERIC), axis=0)
        for i, column in enumerate(NUMERIC):
            ends[2 * i, column] += step
            ends[2 * i + 1, column] -= step
        values = acquisition(ends)
        expected = (values[::2] - values[1::2]) / (2.0 * step)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4 * abs(value))


def test_gradient_of_some_columns_is_part_of_the_gradient_of_all(surrogate):
    acquisition = LogExpectedImprovement(surrogate, -1.0)
    point = SPACE.sample(1, np.random.default_rng(2))[0]
    _, everything = acquisition.value_and_gradient(point, NUMERIC)
    for i, column in enumerate(NUMERIC):
        _, one = acquisition.value_and_gradient(point, np.array([column]))
        np.testing.assert_allclose(one, everything[[i]], rtol=1e-12)


@pytest.mark.parametrize("best", [1.0, -1.5])
def test_values_of_changes_are_those_of_the_changed_points(surrogate, best):
    acquisition = LogExpectedImprovement(surrogate, best)
    rng = np.random.default_rng(3)
    for point in SPACE.sample(5, rng):
        columns = rng.integers(len(SPACE), size=30)
        coordinates = SPACE.sample(30, rng)[np.arange(30), columns]
        np.testing.assert_allclose(
            acquisition.of_changes(point, columns, coordinates),
            acquisition(apply_changes(point, columns, coordinates)),
            rtol=1e-8,
            atol=1e-8,
        )
