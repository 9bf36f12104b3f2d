"""The exact Gaussian process: fit its hyperparameters, then predict many candidates.

Notation
    ===========  =====================================================================
    n, m, d      observations, candidates, parameters
    F            (n, s) features of the observations (features.py)
    w            (d,) weights of the kernel k = exp(-D), one a parameter
    level        what the logarithms of the weights have in common
    lam          noise variance as a share of the signal variance
    K            (n, n) k + lam I
    y            (n,) standardised values
    mu, sigma2   constant mean and signal variance
    ===========  =====================================================================

Prior: log w_i ~ N(level, spread^2) with the level itself free. A smooth problem has a low
level (two random points are still correlated), a rugged one a high level (only near
neighbours are); the marginal likelihood tells them apart, so nobody has to choose. The
spread says how much more one parameter may matter than another.

Mean and signal variance have their best values in closed form given w and lam, so only
these are searched. The value and the gradient of the density cost one Cholesky factor,
one inverse and two products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from heat_plugins.core.features import FeatureMap, squared_distances
from heat_plugins.space import Array

__all__ = ["Hyperparameters", "Surrogate", "fit"]

# The mean squared difference of two uniform numbers is 1/6, that of two random
# categories close to 1: with this factor a number counts as much as a category.
NUMERIC_WEIGHT = 6.0
LOG_WEIGHT_SPREAD = 1.0
# Summed over all parameters: from "everything correlated" to "every mismatch decides".
STARTING_TOTALS = (0.5, 1.0, 2.0, 4.0, 8.0)
STARTING_WEIGHTS = (0.3, 1.0)
LOG_WEIGHT_BOUNDS = (-16.0, 5.0)
LEVEL_BOUNDS = (-12.0, 3.0)
# An inverse-gamma prior worth this many observations keeps sigma2 near 1 when n is small.
VARIANCE_PRIOR_COUNT = 4.0
DETERMINISTIC_NOISE = 1e-4
LOG_NOISE_PRIOR = (np.log(1e-2), 2.0)  # centre and deviation
LOG_NOISE_BOUNDS = (np.log(1e-5), np.log(1e2))
COLD_ITERATIONS = 30
WARM_ITERATIONS = 4
GLS = True


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What is searched: (d,) log weights, their level and the log noise share."""

    log_weights: Array
    level: float
    log_noise: float

    def to_vector(self) -> Array:
        """Return everything as one vector (d + 2,)."""
        return np.concatenate([self.log_weights, [self.level, self.log_noise]])

    @staticmethod
    def from_vector(vector: Array) -> Hyperparameters:
        """Undo :meth:`to_vector`."""
        return Hyperparameters(vector[:-2], float(vector[-2]), float(vector[-1]))


def fit(
    feature_map: FeatureMap,
    points: Array,
    values: Array,
    *,
    deterministic: bool,
    start: Hyperparameters | None = None,
) -> Hyperparameters:
    """Return the hyperparameters of highest posterior density.

    Args:
        feature_map: The features of the space.
        points: (n, d) observed points.
        values: (n,) standardised values.
        deterministic: Whether equal points always have equal values; then the noise is a
            small constant instead of being learnt.
        start: Hyperparameters of nearly the same data; a few steps from there are enough.
            None searches from the most likely of several levels.
    """
    density = _NegativeLogDensity(feature_map, feature_map(points), values)
    log_noise = np.log(DETERMINISTIC_NOISE) if deterministic else LOG_NOISE_PRIOR[0]
    if start is None:
        d = len(density.offsets)
        levels = np.log([total / d for total in STARTING_TOTALS] + [*STARTING_WEIGHTS])
        starts = [np.append(density.offsets + level, [level, log_noise]) for level in levels]
        first = min(starts, key=lambda theta: density(theta)[0])
        n_iterations = COLD_ITERATIONS
    else:
        first, n_iterations = start.to_vector(), WARM_ITERATIONS
    noise_bounds = (log_noise, log_noise) if deterministic else LOG_NOISE_BOUNDS
    first[-1] = np.clip(first[-1], *noise_bounds)
    result = optimize.minimize(
        density,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[LOG_WEIGHT_BOUNDS] * (len(first) - 2) + [LEVEL_BOUNDS, noise_bounds],
        options={"maxiter": n_iterations},
    )
    return Hyperparameters.from_vector(result.x)


class _NegativeLogDensity:
    """Minus the log posterior density of the hyperparameters, and its gradient."""

    def __init__(self, feature_map: FeatureMap, features: Array, values: Array) -> None:
        self.feature_map = feature_map
        self.features = features
        self.squared_features = features**2
        self.values = values
        self.offsets = np.where(feature_map.is_numeric, np.log(NUMERIC_WEIGHT), 0.0)  # (d,)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        hyperparameters = Hyperparameters.from_vector(theta)
        value, gradient = self._negative_log_likelihood(hyperparameters)
        deviations = hyperparameters.log_weights - self.offsets - hyperparameters.level
        deviations = deviations / LOG_WEIGHT_SPREAD
        centre, spread = LOG_NOISE_PRIOR
        noise_deviation = (hyperparameters.log_noise - centre) / spread
        value += 0.5 * float(deviations @ deviations) + 0.5 * noise_deviation**2
        gradient[:-2] += deviations / LOG_WEIGHT_SPREAD
        gradient[-2] -= deviations.sum() / LOG_WEIGHT_SPREAD
        gradient[-1] += noise_deviation / spread
        return value, gradient

    def _negative_log_likelihood(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        n = len(self.values)
        weights = np.exp(hyperparameters.log_weights)
        noise = np.exp(hyperparameters.log_noise)
        weighted = self.feature_map.weighted(self.features, weights)
        kernel = np.exp(-squared_distances(weighted, weighted))
        kernel.flat[:: n + 1] = 1.0
        factor = _cholesky(kernel, noise)
        inverse = _inverse_from_cholesky(factor)
        mean = _mean(inverse.sum(axis=1), self.values)
        residuals = self.values - mean
        alpha = inverse @ residuals
        half_sum = 0.5 * float(residuals @ alpha + VARIANCE_PRIOR_COUNT)
        half_count = 0.5 * (n + VARIANCE_PRIOR_COUNT)
        value = half_count * np.log(half_sum) + np.log(np.diagonal(factor)).sum()
        # d value / d K; the mean and the variance are at their best, so their share is zero.
        by_kernel = 0.5 * (inverse - np.outer(alpha, alpha) * (half_count / half_sum))
        gradient = np.zeros(len(weights) + 2)
        gradient[-1] = np.trace(by_kernel) * noise
        by_kernel *= kernel
        # sum_ab B_ab (F_as - F_bs)^2 = 2 (sum_a F_as^2 B_a. - sum_ab F_as B_ab F_bs)
        per_feature = by_kernel.sum(axis=1) @ self.squared_features
        per_feature -= np.einsum("as,as->s", self.features, by_kernel @ self.features)
        gradient[:-2] = -2.0 * self.feature_map.sum_by_parameter(per_feature) * weights
        return float(value), gradient


def _mean(row_sums: Array, values: Array) -> float:
    """Generalised least squares estimate of a constant mean."""
    if not GLS:
        return 0.0
    return float(row_sums @ values / row_sums.sum())


def _cholesky(kernel: Array, noise: float) -> Array:
    """Return the lower factor of ``kernel + noise I``, with more noise where it must be."""
    n = len(kernel)
    for _ in range(12):
        matrix = kernel.copy()
        matrix.flat[:: n + 1] += noise
        factor, failure = linalg.lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
        if failure == 0:
            return np.asarray(factor)
        noise = max(10.0 * noise, 1e-8)
    raise AssertionError("a kernel matrix with this much noise is positive definite")


def _inverse_from_cholesky(factor: Array) -> Array:
    inverse, _ = linalg.lapack.dpotri(factor, lower=1)
    lower = np.tril(inverse, -1)
    full: Array = lower + lower.T
    full.flat[:: len(full) + 1] = np.diagonal(inverse)
    return full


class Surrogate:
    """The Gaussian process given its hyperparameters and data.

    Args:
        feature_map: The features of the space.
        hyperparameters: Usually from :func:`fit`.
        points: (n, d) observed points.
        values: (n,) standardised values.
        pending: (p, d) points under evaluation. Their values are taken to be what the
            process expects, which leaves the mean as it is and lowers the variance.
    """

    def __init__(
        self,
        feature_map: FeatureMap,
        hyperparameters: Hyperparameters,
        points: Array,
        values: Array,
        pending: Array | None = None,
    ) -> None:
        """Factorise the kernel matrix once; every prediction then is two products."""
        n = len(points)
        self._feature_map = feature_map
        self._weights = np.exp(hyperparameters.log_weights)
        everything = points if pending is None else np.concatenate([points, pending])
        self._features = feature_map.weighted(feature_map(everything), self._weights)
        kernel = np.exp(-squared_distances(self._features, self._features))
        kernel.flat[:: len(kernel) + 1] = 1.0
        factor = _cholesky(kernel, float(np.exp(hyperparameters.log_noise)))
        inverse_factor, _ = linalg.lapack.dtrtri(factor, lower=1)  # inverse of L, lower
        # The observations come first, so their own factor is the leading block.
        leading = inverse_factor[:n, :n]
        ones, whitened = leading.sum(axis=1), leading @ values
        self.mean = float(ones @ whitened / (ones @ ones)) if GLS else 0.0
        residuals = whitened - self.mean * ones
        self._alpha = leading.T @ residuals
        self.variance = float(
            (residuals @ residuals + VARIANCE_PRIOR_COUNT) / (n + VARIANCE_PRIOR_COUNT)
        )
        self._n = n
        self._whitener = np.ascontiguousarray(inverse_factor.T)

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return means (m,) and variances (m,) of the noise-free function at points (m, d)."""
        weighted = self._feature_map.weighted(self._feature_map(points), self._weights)
        covariance = squared_distances(weighted, self._features)
        np.negative(covariance, out=covariance)
        np.exp(covariance, out=covariance)  # (m, n + p)
        mean = self.mean + covariance[:, : self._n] @ self._alpha
        whitened = covariance @ self._whitener
        explained = np.einsum("ij,ij->i", whitened, whitened)
        return mean, self.variance * np.maximum(1.0 - explained, 1e-12)

    def posterior_gradient(
        self, point: Array, columns: NDArray[np.int64]
    ) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their derivatives in numeric columns at one point (d,)."""
        weighted = self._feature_map.weighted(self._feature_map(point[None]), self._weights)
        covariance = np.exp(-squared_distances(weighted, self._features))[0]  # (n + p,)
        features = self._feature_map.first_feature[columns]
        scale = np.sqrt(self._weights[columns])
        difference = weighted[0, features] - self._features[:, features]  # (n + p, c)
        by_place = -2.0 * scale * difference * covariance[:, None]
        whitened = covariance @ self._whitener
        mean = self.mean + covariance[: self._n] @ self._alpha
        mean_gradient = self._alpha @ by_place[: self._n]
        reduction = 1.0 - whitened @ whitened
        variance_gradient = -2.0 * self.variance * (whitened @ (self._whitener.T @ by_place))
        if reduction < 1e-12:
            reduction, variance_gradient = 1e-12, np.zeros(len(columns))
        return float(mean), self.variance * reduction, mean_gradient, variance_gradient
