"""The exact Gaussian process: fit its hyperparameters, then predict many candidates.

Notation
    ===========  =====================================================================
    n, m, d      observations, candidates, parameters
    F            (n, s) features of the observations (features.py)
    w            (d,) weights of the parameters
    D            (n, m) weighted squared distances
    level        what the logarithms of the weights have in common
    ratio        how much faster the rough part of the kernel decays
    share        the part of the variance that is rough
    lam          noise variance as a share of the signal variance
    blur         how closely values must be fitted, relative to how bad they are
    k, K         (n, n) kernel, and k + diag(lam + blur^2 (y - min y)^2)
    y            (n,) standardised values
    sigma2       signal variance
    ===========  =====================================================================

The kernel is the heat kernel at two diffusion times,

    k = (1 - share) exp(-D) + share exp(-ratio D).

The slow part carries the trend, down to main effects alone when D is small; the fast part
carries what only near neighbours have in common. A smooth problem needs no fast part. In a
rugged one a single time has to be a compromise that predicts badly: it either forgets the
trend or mistakes the ruggedness for structure.

Prior: log w_i ~ N(level, spread^2) with the level itself free, so that the marginal
likelihood decides how far correlations reach and nobody has to choose; the spread says how
much more one parameter may matter than another.

The blur lets the model be vague about bad values. Real objectives are seldom stationary:
what a choice does far from the optimum says little about what it does near it, and a model
that must reproduce both gets the more important one wrong.

The signal variance has its best value in closed form given the rest. The value and the
gradient of the density cost one Cholesky factor, one inverse and two products.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special

from heat_plugins.core.features import FeatureMap, squared_distances
from heat_plugins.space import Array

__all__ = ["Hyperparameters", "Surrogate", "fit"]

# The mean squared difference of two uniform numbers is 1/6, that of two random
# categories close to 1: with this factor a number counts as much as a category.
NUMERIC_WEIGHT = 6.0
LOG_WEIGHT_SPREAD = 1.0
LOG_WEIGHT_BOUNDS = (-16.0, 5.0)
LEVEL_BOUNDS = (-12.0, 3.0)
LOG_RATIO_PRIOR = (np.log(20.0), 1.5)  # centre and deviation
LOG_RATIO_BOUNDS = (np.log(2.0), np.log(1e4))
LOGIT_SHARE_PRIOR = (-3.0, 2.0)
LOGIT_SHARE_BOUNDS = (-9.0, 3.0)
LOG_NOISE_PRIOR = (np.log(1e-2), 2.0)
LOG_NOISE_BOUNDS = (np.log(1e-5), np.log(1e2))
LOG_BLUR_PRIOR = (np.log(0.02), 1.5)
LOG_BLUR_BOUNDS = (np.log(1e-3), np.log(0.5))
DETERMINISTIC_NOISE = 1e-4
# An inverse-gamma prior worth this many observations keeps sigma2 near 1 when n is small.
VARIANCE_PRIOR_COUNT = 4.0

# Where a cold fit may start: totals of the weights, from "all points alike" to "every
# mismatch decides", each alone and with a rough part of one of the given totals.
STARTING_TOTALS = (0.1, 0.5, 2.0, 8.0)
STARTING_BLURS = (0.01, 0.1)
STARTING_ROUGH_PARTS = ((10.0, 0.3), (40.0, 0.1))  # total, share
COLD_ITERATIONS = 30
WARM_ITERATIONS = 4


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What is searched."""

    log_weights: Array  # (d,)
    level: float
    log_noise: float
    log_blur: float
    log_ratio: float
    logit_share: float

    def to_vector(self) -> Array:
        """Return everything as one vector (d + 5,)."""
        rest = [self.level, self.log_noise, self.log_blur, self.log_ratio, self.logit_share]
        return np.concatenate([self.log_weights, rest])

    @staticmethod
    def from_vector(vector: Array) -> Hyperparameters:
        """Undo :meth:`to_vector`."""
        return Hyperparameters(vector[:-5], *(float(number) for number in vector[-5:]))

    @property
    def share(self) -> float:
        """The rough part of the variance."""
        return float(special.expit(self.logit_share))

    def noise(self, values: Array) -> Array:
        """Return (n,) how far off each value may be, as variances in units of sigma2."""
        badness = values - values.min()
        noise: Array = np.exp(self.log_noise) + (np.exp(self.log_blur) * badness) ** 2
        return noise

    def correlations(self, distances: Array) -> Array:
        """Return the kernel at weighted squared distances."""
        smooth: Array = np.exp(-distances)
        # Far below what could change a suggestion: save the second exponential.
        if self.share < 2e-4:
            return smooth
        rough = np.exp(distances * -np.exp(self.log_ratio))
        rough *= self.share
        smooth *= 1.0 - self.share
        smooth += rough
        return smooth

    def correlation_slopes(self, distances: Array) -> Array:
        """Return the derivative of the kernel in the distance."""
        ratio, share = np.exp(self.log_ratio), self.share
        slopes: Array = (share - 1.0) * np.exp(-distances)
        slopes -= share * ratio * np.exp(-ratio * distances)
        return slopes


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
            None searches from the most likely of several starts.
    """
    density = _NegativeLogDensity(feature_map, feature_map(points), values)
    log_noise = np.log(DETERMINISTIC_NOISE) if deterministic else LOG_NOISE_PRIOR[0]
    noise_bounds = (log_noise, log_noise) if deterministic else LOG_NOISE_BOUNDS
    if start is None:
        first = min(_cold_starts(density.offsets, log_noise), key=density.value).to_vector()
        n_iterations = COLD_ITERATIONS
    else:
        first, n_iterations = start.to_vector(), WARM_ITERATIONS
    bounds = [LOG_WEIGHT_BOUNDS] * (len(first) - 5)
    bounds += [LEVEL_BOUNDS, noise_bounds, LOG_BLUR_BOUNDS, LOG_RATIO_BOUNDS, LOGIT_SHARE_BOUNDS]
    low, high = np.array(bounds).T
    result = optimize.minimize(
        density,
        np.clip(first, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": n_iterations},
    )
    return Hyperparameters.from_vector(result.x)


def _cold_starts(offsets: Array, log_noise: float) -> Iterator[Hyperparameters]:
    for total, blur in itertools.product(STARTING_TOTALS, STARTING_BLURS):
        level = float(np.log(total / len(offsets)))
        for rough_total, share in ((20.0 * total, 0.003), *STARTING_ROUGH_PARTS):
            if rough_total >= 4.0 * total:
                yield Hyperparameters(
                    offsets + level,
                    level,
                    log_noise,
                    float(np.log(blur)),
                    float(np.log(rough_total / total)),
                    float(special.logit(share)),
                )


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
        distances = self._distances(hyperparameters)
        kernel = hyperparameters.correlations(distances)
        factor = _cholesky(kernel, hyperparameters.noise(self.values))
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
        """Minus the log prior density; every part of it is normal."""
        deviations = hyperparameters.log_weights - self.offsets - hyperparameters.level
        deviations = deviations / LOG_WEIGHT_SPREAD
        tail = np.array(
            [
                (hyperparameters.log_noise, *LOG_NOISE_PRIOR),
                (hyperparameters.log_blur, *LOG_BLUR_PRIOR),
                (hyperparameters.log_ratio, *LOG_RATIO_PRIOR),
                (hyperparameters.logit_share, *LOGIT_SHARE_PRIOR),
            ]
        )
        others = (tail[:, 0] - tail[:, 1]) / tail[:, 2]
        value = 0.5 * float(deviations @ deviations + others @ others)
        return value, np.concatenate(
            [
                deviations / LOG_WEIGHT_SPREAD,
                [-deviations.sum() / LOG_WEIGHT_SPREAD],
                others / tail[:, 2],
            ]
        )

    def _distances(self, hyperparameters: Hyperparameters) -> Array:
        weights = np.exp(hyperparameters.log_weights)
        weighted = self.feature_map.weighted(self.features, weights)
        distances = squared_distances(weighted, weighted)
        distances.flat[:: len(distances) + 1] = 0.0
        return distances

    def _negative_log_likelihood(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        n = len(self.values)
        weights = np.exp(hyperparameters.log_weights)
        noise = hyperparameters.noise(self.values)
        constant_noise = np.exp(hyperparameters.log_noise)
        ratio, share = np.exp(hyperparameters.log_ratio), hyperparameters.share
        distances = self._distances(hyperparameters)
        smooth, rough = np.exp(-distances), np.exp(-ratio * distances)
        factor = _cholesky((1.0 - share) * smooth + share * rough, noise)
        inverse = _inverse_from_cholesky(factor)
        alpha = inverse @ self.values
        half_sum = 0.5 * float(self.values @ alpha + VARIANCE_PRIOR_COUNT)
        half_count = 0.5 * (n + VARIANCE_PRIOR_COUNT)
        value = half_count * np.log(half_sum) + np.log(np.diagonal(factor)).sum()
        # d value / d K; the variance is at its best, so its share of the gradient is zero.
        by_kernel = 0.5 * (inverse - np.outer(alpha, alpha) * (half_count / half_sum))
        gradient = np.zeros(len(weights) + 5)
        by_noise = np.diagonal(by_kernel)
        gradient[-4] = by_noise.sum() * constant_noise
        gradient[-3] = 2.0 * by_noise @ (noise - constant_noise)
        by_rough = by_kernel * rough
        by_smooth = by_kernel * smooth
        gradient[-2] = -share * ratio * np.vdot(by_rough, distances)
        gradient[-1] = share * (1.0 - share) * (by_rough.sum() - by_smooth.sum())
        by_distance = (1.0 - share) * by_smooth + (share * ratio) * by_rough  # minus d / d D
        # sum_ab B_ab (F_as - F_bs)^2 = 2 (sum_a F_as^2 B_a. - sum_ab F_as B_ab F_bs)
        per_feature = by_distance.sum(axis=1) @ self.squared_features
        per_feature -= np.einsum("as,as->s", self.features, by_distance @ self.features)
        gradient[:-5] = -2.0 * self.feature_map.sum_by_parameter(per_feature) * weights
        return float(value), gradient


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
        self._hyperparameters = hyperparameters
        self._weights = np.exp(hyperparameters.log_weights)
        everything = points if pending is None else np.concatenate([points, pending])
        self._columns = np.ascontiguousarray(everything.T)  # (d, n + p)
        self._features = feature_map.weighted(feature_map(everything), self._weights)
        distances = squared_distances(self._features, self._features)
        distances.flat[:: len(distances) + 1] = 0.0
        kernel = hyperparameters.correlations(distances)
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
        covariance = self._hyperparameters.correlations(distances)
        mean = covariance[:, : self._n] @ self._alpha
        whitened = covariance @ self._whitener
        explained = np.einsum("ij,ij->i", whitened, whitened)
        return mean, self.variance * np.maximum(1.0 - explained, 1e-12)

    def posterior_gradient(
        self, point: Array, columns: NDArray[np.int64]
    ) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their derivatives in numeric columns at one point (d,)."""
        weighted = self._feature_map.weighted(self._feature_map(point[None]), self._weights)
        distances = squared_distances(weighted, self._features)[0]  # (n + p,)
        covariance = self._hyperparameters.correlations(distances)
        features = self._feature_map.first_feature[columns]
        scale = np.sqrt(self._weights[columns])
        difference = weighted[0, features] - self._features[:, features]  # (n + p, c)
        slope = self._hyperparameters.correlation_slopes(distances)
        by_place = 2.0 * scale * difference * slope[:, None]
        whitened = covariance @ self._whitener
        mean = covariance[: self._n] @ self._alpha
        mean_gradient = self._alpha @ by_place[: self._n]
        reduction = 1.0 - whitened @ whitened
        variance_gradient = -2.0 * self.variance * (whitened @ (self._whitener.T @ by_place))
        if reduction < 1e-12:
            reduction, variance_gradient = 1e-12, np.zeros(len(columns))
        return float(mean), self.variance * reduction, mean_gradient, variance_gradient
