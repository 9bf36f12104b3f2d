"""Functions of the distance: their derivatives, their limits, their values at 0."""

import numpy as np
import pytest

from heat_plugins.kernels.profiles import Exponential, Matern52, OfDistance, RationalQuadratic

DISTANCES = np.array([[0.0, 1e-6, 0.01], [0.3, 1.0, 2.5], [7.0, 40.0, 300.0]])
PROFILES = {
    "exponential": (Exponential(), []),
    "matern": (Matern52(), []),
    "rational quadratic": (RationalQuadratic(), [0.4]),
    "function": (OfDistance(lambda r: 5.0 / (1.0 + r**2)), []),
    "laplace": (OfDistance(lambda r: np.exp(-r)), []),
}
EVERY = pytest.mark.parametrize(("profile", "shape"), PROFILES.values(), ids=PROFILES)


@EVERY
def test_values_are_correlations(profile, shape):
    values = profile.value(DISTANCES.copy(), np.array(shape))
    assert values.shape == DISTANCES.shape
    assert values[0, 0] == 1.0
    assert np.all(np.diff(values.ravel()) < 0.0) and np.all(values >= 0.0)
    with_slopes, _, by_shape = profile.value_and_slopes(DISTANCES.copy(), np.array(shape))
    np.testing.assert_allclose(with_slopes, values, rtol=1e-15)
    assert len(by_shape) == profile.n_shapes == len(shape)


@EVERY
def test_slopes_are_derivatives_in_the_distance(profile, shape):
    shape = np.array(shape)
    _, slopes, _ = profile.value_and_slopes(DISTANCES.copy(), shape)
    assert np.all(np.isfinite(slopes))
    step = 1e-4 * DISTANCES[DISTANCES > 0.0]
    above = profile.value(DISTANCES[DISTANCES > 0.0] + step, shape)
    below = profile.value(DISTANCES[DISTANCES > 0.0] - step, shape)
    expected = (above - below) / (2.0 * step)
    np.testing.assert_allclose(slopes[DISTANCES > 0.0], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("log_alpha", [-3.0, 0.0, 2.0, 6.0])
def test_slope_in_the_shape(log_alpha):
    profile, step = RationalQuadratic(), 1e-5
    _, _, (slope,) = profile.value_and_slopes(DISTANCES.copy(), np.array([log_alpha]))
    above = profile.value(DISTANCES.copy(), np.array([log_alpha + step]))
    below = profile.value(DISTANCES.copy(), np.array([log_alpha - step]))
    np.testing.assert_allclose(slope, (above - below) / (2.0 * step), rtol=1e-5, atol=1e-10)


def test_rational_quadratic_tends_to_the_exponential():
    near = RationalQuadratic().value(DISTANCES.copy(), np.array([20.0]))
    np.testing.assert_allclose(near, Exponential().value(DISTANCES.copy(), []), atol=1e-8)
    far = RationalQuadratic().value(np.array([1e6]), np.array([-3.0]))
    assert far[0] > 0.4  # heavy tails


def test_matern_is_smooth_at_zero_and_laplace_is_not():
    tiny = np.array([1e-8])
    assert 1.0 - Matern52().value(tiny, [])[0] == pytest.approx(5e-8 / 6.0, rel=1e-3)
    assert 1.0 - PROFILES["laplace"][0].value(tiny, [])[0] == pytest.approx(1e-4, rel=1e-3)


def test_function_sees_the_square_root_of_the_distance():
    seen = []

    def function(r):
        seen.append(np.array(r))
        return 3.0 * np.exp(-r)

    profile = OfDistance(function)
    values = profile.value(np.array([0.0, 4.0]), np.zeros(0))
    np.testing.assert_array_equal(seen[-1], [0.0, 2.0])
    np.testing.assert_allclose(values, [1.0, np.exp(-2.0)])


def test_function_may_return_whatever_numbers():
    profile = OfDistance(lambda r: np.asarray(1.0 / (1.0 + r), dtype=np.float32))
    assert profile.value(np.array([0.0, 1.0]), np.zeros(0)).dtype == np.float64
