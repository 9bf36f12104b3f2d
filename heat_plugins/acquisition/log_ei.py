"""Log expected improvement (Ament et al., 2023).

It has the same maximiser as expected improvement, but with a value to climb where expected
improvement itself is zero in float64.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.space import Array, Indices

__all__ = ["LOG_SQRT_2PI", "LogExpectedImprovement", "log_expected_improvement", "log_h"]

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF = np.sqrt(0.5)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)


def log_h(z: Array) -> Array:
    """Return log(phi(z) + z Phi(z)) without loss for any z.

    For z < -1 it is written with the scaled complementary error function,
    log phi(z) + log(1 - |z| sqrt(pi/2) erfcx(|z|/sqrt 2)); where even that difference
    cancels, with its limit -2 log |z|.
    """
    z = np.asarray(z, dtype=float)
    result = np.empty_like(z)
    near = z > -1.0
    z_near = z[near]
    result[near] = np.log(np.exp(-0.5 * z_near**2 - LOG_SQRT_2PI) + z_near * special.ndtr(z_near))
    distance = -z[~near]
    log_density = -0.5 * distance**2 - LOG_SQRT_2PI
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = 1.0 - distance * _SQRT_HALF_PI * special.erfcx(distance * _SQRT_HALF)
        # 1 - x erfcx = 1/|z|^2 - 3/|z|^4 + ...: from 1e3 on the series is exact enough,
        # while the subtraction has lost half of its digits.
        inverse = 1.0 / distance**2
        series = inverse * (1.0 - 3.0 * inverse)
        result[~near] = log_density + np.log(np.where(distance < 1e3, tail, series))
    return result


def log_expected_improvement(mean: Array, variance: Array, best: float) -> Array:
    """Return the log of the expected improvement below ``best`` (values are minimised).

    Args:
        mean: (m,) posterior means.
        variance: (m,) posterior variances; floored far below any that matters.
        best: The value to improve on.
    """
    deviation = np.sqrt(np.maximum(variance, 1e-20))
    result: Array = np.log(deviation) + log_h((best - mean) / deviation)
    return result


class LogExpectedImprovement:
    """Log expected improvement of a surrogate over a standardised value, of points."""

    def __init__(self, surrogate: Surrogate, best: float) -> None:
        self._surrogate = surrogate
        self._best = best

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        mean, variance = self._surrogate.posterior(points)
        return log_expected_improvement(mean, variance, self._best)

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        mean, variance = self._surrogate.posterior_of_changes(point, columns, coordinates)
        return log_expected_improvement(mean, variance, self._best)

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns.

        With s the deviation, z = (best - mean) / s and h = phi + z Phi:
        d log EI = (phi ds - Phi dmean) / (s h).
        """
        mean, variance, mean_slope, variance_slope = self._surrogate.posterior_gradient(
            point, columns
        )
        deviation = float(np.sqrt(variance))
        z = np.array((self._best - mean) / deviation)
        log_improvement = log_h(z)
        density_ratio = np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_improvement)
        probability_ratio = np.exp(special.log_ndtr(z) - log_improvement)
        deviation_slope = variance_slope / (2.0 * deviation)
        slope = (density_ratio * deviation_slope - probability_ratio * mean_slope) / deviation
        return float(np.log(deviation) + log_improvement), slope
