"""Posterior covariances with some points.

Notation
    ===========  =====================================================================
    A            (a, d) the points
    W            (n + p, n + p) whitener: K^-1 = W W^T
    C            (a, a) posterior covariance of the points, as a share of the signal variance
    L            lower Cholesky factor of C
    ===========  =====================================================================

    c(x, A) = sigma^2 (k(x, A) - k(x, X) W (k(A, X) W)^T)
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import linalg

from heat_plugins.kernels.base import CrossCovariance
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Indices

__all__ = ["PosteriorCovariance", "Whitened"]

JITTER = 1e-6  # of the signal variance; also of points that are known, whose variance is less


class Whitened(Protocol):
    """Covariances with the observations, times the whitener."""

    def __call__(self, points: Array) -> Array:
        """Return (m, n + p) of points (m, d)."""

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return (n + p,) of a point (d,), and slopes (n + p, c) in numeric columns."""


class PosteriorCovariance:
    """Covariances of any points with given ones.

    Args:
        prior: Covariances with them that the kernel has.
        whitened: What the observations explain of these.
        points: (a, d) the given ones.
        variance: sigma^2.
    """

    def __init__(
        self, prior: CrossCovariance, whitened: Whitened, points: Array, variance: float
    ) -> None:
        self._prior, self._whitened, self._variance = prior, whitened, variance
        self._of_points = whitened(points)
        self._points = points

    @cached_property
    def _factor(self) -> Array:
        """L (a, a), which samples alone need."""
        matrix = self._prior(self._points) - self._of_points @ self._of_points.T
        matrix.flat[:: len(matrix) + 1] += JITTER
        factor: Array = linalg.cholesky(matrix, lower=True)
        return factor

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, a) of points (m, d)."""
        explained = self._whitened(points) @ self._of_points.T
        covariances: Array = self._variance * (self._prior(points) - explained)
        return covariances

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (a,) of a point (d,) and their slopes (a, c) in numeric columns."""
        prior, by_prior = self._prior.slopes(point, columns)
        whitened, by_whitened = self._whitened.slopes(point, columns)
        covariances: Array = self._variance * (prior - self._of_points @ whitened)
        slopes: Array = self._variance * (by_prior - self._of_points @ by_whitened)
        return covariances, slopes

    def weights_of_sample(self, rng: np.random.Generator) -> Array:
        """Return w (a,) so that c(x, A) w is what a sample of the posterior adds to its mean.

        w = L^-T z / sigma, which on the points themselves adds sigma L z.
        """
        normal = rng.standard_normal(len(self._factor))
        weights: Array = linalg.solve_triangular(self._factor, normal, lower=True, trans="T")
        weights /= np.sqrt(self._variance)
        return weights
