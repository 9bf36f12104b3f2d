"""A Thompson sample: one function drawn from the posterior (Thompson, 1933).

Notation
    ===========  =====================================================================
    A            (a, d) anchors, points at which the sample is drawn
    mu, c        posterior mean and covariance
    C            c(A, A) = sigma^2 L L^T
    z            (a,) independent standard normal numbers
    ===========  =====================================================================

The sample is exact on the anchors, and everywhere else what the process expects given its values
there:

    f(x) = mu(x) + c(x, A) C^-1 (f_A - mu(A)),   f_A = mu(A) + sigma L z.

A path on a set of candidates can be drawn for any kernel; random features, which would make it
exact everywhere, exist only for those that are products or functions of a spectrum. Unlike the
candidates of TuRBO, f is a function of all points, so that any search can go on from the anchors.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.space import Array, Indices, apply_changes

__all__ = ["SamplePath"]


class SamplePath:
    """Minus a function drawn from a posterior, as a function of points.

    Args:
        surrogate: The posterior, of values that are minimised.
        anchors: (a, d) where the sample is drawn.
        rng: Source of randomness.
    """

    def __init__(self, surrogate: Surrogate, anchors: Array, rng: np.random.Generator) -> None:
        self._surrogate = surrogate
        self._covariance = surrogate.covariance_with(anchors)
        self._weights = self._covariance.weights_of_sample(rng)

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        values: Array = -self._surrogate.mean(points) - self._covariance(points) @ self._weights
        return values

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        mean, _, by_mean, _ = self._surrogate.posterior_gradient(point, columns)
        covariances, slopes = self._covariance.slopes(point, columns)
        return -mean - float(covariances @ self._weights), -by_mean - self._weights @ slopes
