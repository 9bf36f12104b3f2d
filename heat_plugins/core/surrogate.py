"""The exact Gaussian process: fit its hyperparameters, then predict many candidates.

Notation
    ===========  =====================================================================
    n, m, d      observations, candidates, parameters
    F            (n, s) features of the observations (features.py)
    w            (d,) weights of the kernel k = exp(-D), one a parameter
    D            (n, m) weighted squared distances
    level        what the logarithms of the weights have in common
    lam          noise variance as a share of the signal variance
    K            (n, n) k + diag(lam + BLUR^2 (y - min y)^2)
    y            (n,) standardised values
    sigma2       signal variance
    ===========  =====================================================================

Prior: log w_i ~ N(level, spread^2) with the level itself free. A smooth problem has a low
level (two random points are still correlated), a rugged one a high level (only near
neighbours are); the marginal likelihood tells them apart, so nobody has to choose. The
spread says how much more one parameter may matter than another.

Bad values may be fitted loosely, the more so the worse they are (the blur). What a choice
does far from the optimum says little about what it does near it, and a model that has to
reproduce both is sure of things that are not so.

The signal variance has its best value in closed form given the rest. The value and the
gradient of the density cost one Cholesky factor, one inverse and two products.
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
LOG_WEIGHT_BOUNDS = (-16.0, 5.0)
LEVEL_BOUNDS = (-12.0, 3.0)
LOG_NOISE_PRIOR = (np.log(1e-2), 2.0)  # centre and deviation
LOG_NOISE_BOUNDS = (np.log(1e-5), np.log(1e2))
DETERMINISTIC_NOISE = 1e-4
BLUR = 0.1
# An inverse-gamma prior worth this many observations keeps sigma2 near 1 when n is small.
VARIANCE_PRIOR_COUNT = 4.0

# Where a cold fit may start: totals of the weights, from "all points alike" to "every
# mismatch decides".
STARTING_TOTALS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
COLD_ITERATIONS = 30
WARM_ITERATIONS = 4


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

    def noise(self, values: Array) -> Array:
        """Return (n,) how far off each value may be, as variances in units of sigma2."""
        badness = values - values.min()
        noise: Array = np.exp(self.log_noise) + (BLUR * badness) ** 2
        return noise


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
    noise_bounds = (log_noise, log_noise) if deterministic else LOG_NOISE_BOUNDS
    if start is None:
        levels = [float(np.log(total / len(density.offsets))) for total in STARTING_TOTALS]
        starts = [Hyperparameters(density.offsets + level, level, log_noise) for level in levels]
        first, n_iterations = min(starts, key=density.value), COLD_ITERATIONS
    else:
        first, n_iterations = start, WARM_ITERATIONS
    bounds = [*[LOG_WEIGHT_BOUNDS] * len(density.offsets), LEVEL_BOUNDS, noise_bounds]
    low, high = np.array(bounds).T
    result = optimize.minimize(
        density,
        np.clip(first.to_vector(), low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
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

    def value(self, hyperparameters: Hyperparameters) -> float:
        """Return the value alone, which saves the inverse."""
        factor = _cholesky(self._kernel(hyperparameters), hyperparameters.noise(self.values))
        whitened = linalg.solve_triangular(factor, self.values, lower=True, check_finite=False)
        half_sum = 0.5 * float(whitened @ whitened + VARIANCE_PRIOR_COUNT)
        half_count = 0.5 * (len(self.values) + VARIANCE_PRIOR_COUNT)
        likelihood = half_count * np.log(half_sum) + np.log(np.diagonal(factor)).sum()
        return float(likelihood) + self._prior(hyperparameters)[0]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        hyperparameters = Hyperparameters.from_vector(theta)
        value, gradient = self._negative_log_likelihood(hyperparameters)
        prior, prior_gradient = self._prior(hyperparameters)
        return value + prior, gradient + prior_gradient

    def _prior(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        """Minus the log prior density, every part of it normal, and its gradient."""
        deviations = hyperparameters.log_weights - self.offsets - hyperparameters.level
        deviations = deviations / LOG_WEIGHT_SPREAD
        centre, noise_spread = LOG_NOISE_PRIOR
        noise_deviation = (hyperparameters.log_noise - centre) / noise_spread
        value = 0.5 * float(deviations @ deviations) + 0.5 * noise_deviation**2
        by_weights = deviations / LOG_WEIGHT_SPREAD
        rest = [-by_weights.sum(), noise_deviation / noise_spread]
        return value, np.concatenate([by_weights, rest])

    def _kernel(self, hyperparameters: Hyperparameters) -> Array:
        weights = np.exp(hyperparameters.log_weights)
        weighted = self.feature_map.weighted(self.features, weights)
        return _correlations(squared_distances(weighted, weighted), symmetric=True)

    def _negative_log_likelihood(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        kernel = self._kernel(hyperparameters)
        factor = _cholesky(kernel, hyperparameters.noise(self.values))
        inverse = _inverse_from_cholesky(factor)
        alpha = inverse @ self.values
        half_sum = 0.5 * float(self.values @ alpha + VARIANCE_PRIOR_COUNT)
        half_count = 0.5 * (len(self.values) + VARIANCE_PRIOR_COUNT)
        value = half_count * np.log(half_sum) + np.log(np.diagonal(factor)).sum()
        # d value / d K; the variance is at its best, so its share of the gradient is zero.
        by_kernel = inverse
        by_kernel -= np.outer(alpha, alpha * (half_count / half_sum))
        by_kernel *= 0.5
        by_noise = np.trace(by_kernel) * np.exp(hyperparameters.log_noise)
        by_kernel *= kernel  # now minus d value / d D
        # sum_ab B_ab (F_as - F_bs)^2 = 2 (sum_a F_as^2 B_a. - sum_ab F_as B_ab F_bs)
        per_feature = by_kernel.sum(axis=1) @ self.squared_features
        per_feature -= np.einsum("as,as->s", self.features, by_kernel @ self.features)
        by_weights = -2.0 * self.feature_map.sum_by_parameter(per_feature)
        by_weights *= np.exp(hyperparameters.log_weights)
        return float(value), np.concatenate([by_weights, [0.0, by_noise]])


def _correlations(distances: Array, symmetric: bool = False) -> Array:
    """Return the kernel exp(-D) in the place of the distances."""
    np.negative(distances, out=distances)
    correlations: Array = np.exp(distances, out=distances)
    if symmetric:
        correlations.flat[:: len(correlations) + 1] = 1.0
    return correlations


def _cholesky(kernel: Array, noise: Array) -> Array:
    """Return the lower factor of ``kernel + diag(noise)``, with more noise where it must be."""
    n = len(kernel)
    for _ in range(12):
        matrix = kernel.copy()
        matrix.flat[:: n + 1] += noise
        factor, failure = linalg.lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
        if failure == 0:
            return np.asarray(factor)
        noise = np.maximum(10.0 * noise, 1e-8)
    raise AssertionError("a kernel matrix with this much noise is positive definite")


def _inverse_from_cholesky(factor: Array) -> Array:
    inverse, _ = linalg.lapack.dpotri(factor, lower=1)
    # Above the diagonal stand the zeros of the factor.
    full: Array = inverse + inverse.T
    full.flat[:: len(full) + 1] *= 0.5
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
        self._columns = np.ascontiguousarray(everything.T)  # (d, n + p)
        self._features = feature_map.weighted(feature_map(everything), self._weights)
        distances = squared_distances(self._features, self._features)
        kernel = _correlations(distances, symmetric=True)
        noise = np.full(len(kernel), np.exp(hyperparameters.log_noise))
        noise[:n] = hyperparameters.noise(values)
        factor = _cholesky(kernel, noise)
        inverse_factor, _ = linalg.lapack.dtrtri(factor, lower=1)  # inverse of L, lower
        # The observations come first, so their own factor is the leading block.
        leading = inverse_factor[:n, :n]
        whitened = leading @ values
        self._alpha = leading.T @ whitened
        self.variance = float(
            (whitened @ whitened + VARIANCE_PRIOR_COUNT) / (n + VARIANCE_PRIOR_COUNT)
        )
        self._n = n
        self._whitener = np.ascontiguousarray(inverse_factor.T)

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return means (m,) and variances (m,) of the noise-free function at points (m, d)."""
        weighted = self._feature_map.weighted(self._feature_map(points), self._weights)
        return self._from_distances(squared_distances(weighted, self._features))

    def posterior_of_changes(
        self, point: Array, columns: NDArray[np.int64], coordinates: Array
    ) -> tuple[Array, Array]:
        """Return means and variances (N,) at a point (d,) after each of N single changes.

        The exponent of the kernel is a sum over the parameters, so one term of it is
        exchanged: far cheaper than N new rows of features.
        """
        weighted = self._feature_map.weighted(self._feature_map(point[None]), self._weights)
        exponent = squared_distances(weighted, self._features)  # (1, n + p)
        observed = self._columns[columns]  # (N, n + p)
        distance = self._feature_map.column_distances
        change = distance(observed, coordinates, columns)
        change -= distance(observed, point[columns], columns)
        change *= self._weights[columns, None]
        change += exponent
        return self._from_distances(np.maximum(change, 0.0, out=change))

    def _from_distances(self, distances: Array) -> tuple[Array, Array]:
        """Return means and variances (m,) from distances (m, n + p) to the data."""
        covariance = _correlations(distances)
        mean = covariance[:, : self._n] @ self._alpha
        whitened = covariance @ self._whitener
        explained = np.einsum("ij,ij->i", whitened, whitened)
        return mean, self.variance * np.maximum(1.0 - explained, 1e-12)

    def posterior_gradient(
        self, point: Array, columns: NDArray[np.int64]
    ) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their derivatives in numeric columns at one point (d,)."""
        weighted = self._feature_map.weighted(self._feature_map(point[None]), self._weights)
        covariance = _correlations(squared_distances(weighted, self._features))[0]  # (n + p,)
        features = self._feature_map.first_feature[columns]
        scale = np.sqrt(self._weights[columns])
        difference = weighted[0, features] - self._features[:, features]  # (n + p, c)
        by_place = -2.0 * scale * difference * covariance[:, None]
        whitened = covariance @ self._whitener
        mean = covariance[: self._n] @ self._alpha
        mean_gradient = self._alpha @ by_place[: self._n]
        reduction = 1.0 - whitened @ whitened
        variance_gradient = -2.0 * self.variance * (whitened @ (self._whitener.T @ by_place))
        if reduction < 1e-12:
            reduction, variance_gradient = 1e-12, np.zeros(len(columns))
        return float(mean), self.variance * reduction, mean_gradient, variance_gradient
