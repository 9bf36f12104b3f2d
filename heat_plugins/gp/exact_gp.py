"""The exact Gaussian process: fit its hyperparameters, then predict many candidates.

Notation
    ===========  =====================================================================
    n, m, d      observations, candidates, parameters
    theta        (p,) hyperparameters of the kernel (kernels/base.py)
    lam          noise variance as a share of the signal variance
    tau          (n,) known noise: variances of the standardised values, 0 where not known
    K            (n, n) kernel matrix + diag(lam + tau)
    y            (n,) standardised values
    sigma2       signal variance
    ===========  =====================================================================

The signal variance has its best value in closed form given the rest. That is so because all
of the noise is a share of it, the known one too: while hyperparameters are learnt, tau is what
was measured where sigma2 is 1, as it nearly is for standardised values. The value and the
gradient of the density cost one Cholesky factor, one inverse and what the kernel takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from heat_plugins.gp.posterior_covariance import PosteriorCovariance
from heat_plugins.gp.standard_posterior import StandardPosterior
from heat_plugins.kernels.base import (
    STARTING_TOTALS,
    CrossCovariance,
    Kernel,
    Pullback,
    Term,
    central_differences,
    normal_prior,
    points_around,
)
from heat_plugins.space import Array, Indices, apply_changes

__all__ = [
    "Fit",
    "Hyperparameters",
    "NegativeLogDensity",
    "Surrogate",
    "TermPosterior",
    "fit",
    "log_prior_of_no_noise",
    "variance_and_rest",
]

LOG_NOISE_PRIOR = (np.log(1e-2), 2.0)  # centre and deviation
LOG_NOISE_BOUNDS = (np.log(1e-6), np.log(1e2))
# Where a fit may start. From little noise alone a noisy objective looks as if no two points had
# anything to do with each other, which is a maximum of the density too.
STARTING_NOISE = (1e-2, 0.3)
DETERMINISTIC_NOISE = 1e-6
# An inverse-gamma prior worth this many observations keeps sigma2 near 1 when n is small.
VARIANCE_PRIOR_COUNT = 4.0

COLD_ITERATIONS = 30

VARIANCE_ROUNDS = 10  # of the signal variance next to noise that is known, at the most
VARIANCE_TOLERANCE = 1e-9
# Of the signal variance. Values that fit no kernel make that variance so large that known noise
# would be next to nothing beside it, and the covariance matrix singular.
LEAST_NOISE_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters: (p,) those of the kernel, and the log noise share."""

    theta: Array
    log_noise: float

    def to_vector(self) -> Array:
        """Return everything as one vector (p + 1,)."""
        return np.concatenate([self.theta, [self.log_noise]])

    @staticmethod
    def from_vector(vector: Array) -> Hyperparameters:
        """Undo :meth:`to_vector`."""
        return Hyperparameters(vector[:-1], float(vector[-1]))

    @property
    def noise(self) -> float:
        """The noise variance lam, as a share of the signal variance."""
        return float(np.exp(self.log_noise))


@dataclass(frozen=True, eq=False)
class Fit:
    """The most likely hyperparameters, and minus the log of their posterior density."""

    hyperparameters: Hyperparameters
    negative_log_density: float


def fit(
    kernel: Kernel,
    points: Array,
    values: Array,
    *,
    deterministic: bool,
    start: Hyperparameters | None = None,
    known_noise: Array | None = None,
    learns_extra_noise: bool = False,
    has_prior: bool = True,
) -> Fit:
    """Return the hyperparameters of highest posterior density.

    Args:
        kernel: The kernel.
        points: (n, d) observed points.
        values: (n,) standardised values.
        deterministic: Whether equal points always have equal values; then the noise is a
            small constant instead of being learnt.
        start: Hyperparameters of nearly the same data; a few steps from there are enough.
            None searches from the most likely of several levels.
        known_noise: (n,) variances of the standardised values that were measured, added to
            what is learnt: the variance of value i is sigma2 (lam + tau_i). NaN where they
            are not known. Where all are, nothing is left to learn, and lam is the small
            constant of deterministic values. None for nothing known.
        learns_extra_noise: Whether lam is learnt on top of noise that is known.
        has_prior: Whether their priors count, rather than the likelihood alone.
    """
    density = NegativeLogDensity(kernel, points, values, known_noise, has_prior=has_prior)
    is_known = known_noise is not None and not np.isnan(known_noise).any()
    is_fixed = deterministic or (is_known and not learns_extra_noise)
    log_noise = np.log(DETERMINISTIC_NOISE) if is_fixed else LOG_NOISE_PRIOR[0]
    noise_bounds = (log_noise, log_noise) if is_fixed else LOG_NOISE_BOUNDS
    if start is None:
        log_noises = [log_noise] if is_fixed else [np.log(noise) for noise in STARTING_NOISE]
        starts = [
            Hyperparameters(theta, start)
            for total in STARTING_TOTALS
            for theta in kernel.starts(total)
            for start in log_noises
        ]
        first, n_iterations = min(starts, key=density.value), COLD_ITERATIONS
    else:
        first, n_iterations = start, kernel.warm_steps
    bounds = np.concatenate([kernel.bounds, [noise_bounds]])
    result = optimize.minimize(
        density,
        np.clip(first.to_vector(), bounds[:, 0], bounds[:, 1]),
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(bounds[:, 0], bounds[:, 1]),
        options={"maxiter": n_iterations},
    )
    return Fit(Hyperparameters.from_vector(result.x), float(result.fun))


def log_prior_of_no_noise() -> float:
    """Return minus the log prior density of the noise that deterministic values have.

    To be left out where a model without noise is compared with one that has it.
    """
    return normal_prior(np.array([np.log(DETERMINISTIC_NOISE)]), *LOG_NOISE_PRIOR)[0]


class NegativeLogDensity:
    """Minus the log posterior density of the hyperparameters, and its gradient."""

    def __init__(
        self,
        kernel: Kernel,
        points: Array,
        values: Array,
        known_noise: Array | None = None,
        *,
        has_prior: bool = True,
    ) -> None:
        self.has_prior = has_prior
        self.kernel = kernel
        self.prepared = kernel.prepare(points)
        self.values = values
        self.known_noise = _or_nothing(known_noise, len(values))

    def value(self, hyperparameters: Hyperparameters) -> float:
        """Return the value alone, which saves the inverse."""
        matrix = self.kernel.matrix(hyperparameters.theta, self.prepared)
        factor = _cholesky(matrix, self._noise(hyperparameters))
        whitened = linalg.solve_triangular(factor, self.values, lower=True, check_finite=False)
        if self.kernel.has_mean:
            mean, _ = self.kernel.mean_and_pullback(hyperparameters.theta, self.prepared)
            of_mean = linalg.solve_triangular(factor, mean, lower=True, check_finite=False)
            likelihood = best_scale(whitened, of_mean)[1] + np.log(np.diagonal(factor)).sum()
            return float(likelihood) + self._prior(hyperparameters)[0]
        half_sum = 0.5 * float(whitened @ whitened + VARIANCE_PRIOR_COUNT)
        half_count = 0.5 * (len(self.values) + VARIANCE_PRIOR_COUNT)
        likelihood = half_count * np.log(half_sum) + np.log(np.diagonal(factor)).sum()
        return float(likelihood) + self._prior(hyperparameters)[0]

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Return the value and its gradient (p + 1,)."""
        hyperparameters = Hyperparameters.from_vector(vector)
        value, gradient = self._negative_log_likelihood(hyperparameters)
        prior, prior_gradient = self._prior(hyperparameters)
        return value + prior, gradient + prior_gradient

    def _noise(self, hyperparameters: Hyperparameters) -> Array:
        return hyperparameters.noise + self.known_noise

    def _prior(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        """Minus the log prior density, and its gradient; nothing where there is no prior."""
        if not self.has_prior:
            return 0.0, np.zeros(len(hyperparameters.theta) + 1)
        value, gradient = self.kernel.prior(hyperparameters.theta)
        noise, by_noise = normal_prior(np.array([hyperparameters.log_noise]), *LOG_NOISE_PRIOR)
        return value + noise, np.concatenate([gradient, by_noise])

    def _negative_log_likelihood(self, hyperparameters: Hyperparameters) -> tuple[float, Array]:
        matrix, pullback = self.kernel.matrix_and_pullback(hyperparameters.theta, self.prepared)
        factor = _cholesky(matrix, self._noise(hyperparameters))
        if self.kernel.has_mean:
            return self._with_mean(hyperparameters, factor, pullback)
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
        return float(value), np.concatenate([pullback(by_kernel), [by_noise]])

    def _with_mean(
        self, hyperparameters: Hyperparameters, factor: Array, pullback: Pullback
    ) -> tuple[float, Array]:
        """Return minus the log likelihood and its gradient, next to a mean m of the process.

        With r = u y - m, where u = 1 / sigma is at its best, the value is that of
        :func:`best_scale` and half the log determinant of K, so that
        d value = 1/2 tr((K^-1 - K^-1 r r^T K^-1) dK) - r^T K^-1 dm.
        """
        mean, mean_pullback = self.kernel.mean_and_pullback(hyperparameters.theta, self.prepared)
        both = np.column_stack([self.values, mean])
        whitened = linalg.solve_triangular(factor, both, lower=True, check_finite=False)
        scale, value = best_scale(*whitened.T)
        inverse = _inverse_from_cholesky(factor)
        alpha = inverse @ (scale * self.values - mean)
        by_kernel = 0.5 * (inverse - np.outer(alpha, alpha))
        by_noise = np.trace(by_kernel) * np.exp(hyperparameters.log_noise)
        by_theta = pullback(by_kernel) + mean_pullback(-alpha)
        value += float(np.log(np.diagonal(factor)).sum())
        return value, np.concatenate([by_theta, [by_noise]])


def best_scale(values: Array, mean: Array) -> tuple[float, float]:
    """Return u = 1 / sigma at its best, and what the density has of it there.

    Values and the mean of the process, (n,) each, are whitened: y and m times L^-1. The mean is
    that of a process of variance one, so both it and the covariance scale with sigma. With c the
    count of the prior of sigma2 and N = n + c,

        minus log density = |u y - m|^2 / 2 + c u^2 / 2 - N log u,

    whose minimum is where a u^2 - b u = N, a = |y|^2 + c, b = y m. Without a mean that is the
    closed form of sigma2, and the value is made to agree with it.
    """
    n = len(values) + VARIANCE_PRIOR_COUNT
    a, b = float(values @ values) + VARIANCE_PRIOR_COUNT, float(values @ mean)
    root = np.sqrt(b * b + 4.0 * a * n)
    scale = (b + root) / (2.0 * a) if b > 0.0 else 2.0 * n / (root - b)  # nothing cancels
    value = 0.5 * (a * scale**2 - 2.0 * b * scale + float(mean @ mean)) - n * np.log(scale)
    return float(scale), float(value - 0.5 * n + 0.5 * n * np.log(0.5 * n))


def _or_nothing(known_noise: Array | None, n: int) -> Array:
    """Return tau (n,)."""
    return np.zeros(n) if known_noise is None else np.nan_to_num(known_noise, nan=0.0)


def _cholesky(matrix: Array, noise: Array) -> Array:
    """Return the lower factor of ``matrix + diag(noise)``, with more noise where it must be."""
    n = len(matrix)
    for _ in range(12):
        noisy = matrix.copy()
        noisy.flat[:: n + 1] += noise
        factor, failure = linalg.lapack.dpotrf(noisy, lower=1, clean=1, overwrite_a=1)
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


class TermPosterior(NamedTuple):
    """The posterior of one term of a sum, a function of some columns (c,)."""

    columns: Indices
    posterior: Callable[[Array], tuple[Array, Array]]  # means and variances (m,) at (m, d)


class Surrogate:
    """The Gaussian process given its hyperparameters and data.

    Args:
        kernel: The kernel.
        hyperparameters: Usually from :func:`fit`.
        points: (n, d) observed points.
        values: (n,) standardised values.
        pending: (p, d) points under evaluation. Their values are taken to be what the
            process expects, which leaves the mean as it is and lowers the variance.
        known_noise: (n,) variances of the standardised values that were measured, NaN where
            they are not known; see :func:`fit`.
    """

    def __init__(
        self,
        kernel: Kernel,
        hyperparameters: Hyperparameters,
        points: Array,
        values: Array,
        pending: Array | None = None,
        known_noise: Array | None = None,
    ) -> None:
        """Factorise the kernel matrix once; every prediction then is two products."""
        n = len(points)
        self.points = points
        everything = points if pending is None else np.concatenate([points, pending])
        theta = hyperparameters.theta
        self._cross = kernel.cross_covariance(theta, everything)
        matrix = kernel.matrix(theta, kernel.prepare(everything))
        # Where nothing is measured yet, at least as much as exact values have.
        noise = np.full(len(matrix), max(hyperparameters.noise, DETERMINISTIC_NOISE))
        noise[:n] = hyperparameters.noise + _or_nothing(known_noise, n)
        factor = _cholesky(matrix, noise)
        inverse_factor, _ = linalg.lapack.dtrtri(factor, lower=1)  # inverse of L, lower
        # The observations come first, so their own factor is the leading block.
        leading = inverse_factor[:n, :n]
        whitened = leading @ values
        self._mean_scale = 0.0  # sigma, where the process has a mean
        if kernel.has_mean:
            of_mean = leading @ kernel.mean_and_pullback(theta, kernel.prepare(points))[0]
            self._mean_scale = 1.0 / best_scale(whitened, of_mean)[0]
            self.variance = self._mean_scale**2
            whitened = whitened - self._mean_scale * of_mean
        else:
            self.variance = float(
                (whitened @ whitened + VARIANCE_PRIOR_COUNT) / (n + VARIANCE_PRIOR_COUNT)
            )
        self._alpha = leading.T @ whitened
        self._n = n
        self._whitener = np.ascontiguousarray(inverse_factor.T)
        self._terms = partial(kernel.terms, theta, everything)
        self._cross_covariance = partial(kernel.cross_covariance, theta)
        self._prior = partial(_prior_covariance, kernel, theta)

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return means (m,) and variances (m,) of the noise-free function at points (m, d)."""
        if self._cross.has_unit_diagonal:
            return self._from_covariances(self._cross(points), 1.0)
        if self._cross.has_mean:
            covariances, own, prior_mean = self._cross.moments(points)
            mean, variance = self._from_covariances(covariances, own)
            return mean + self._mean_scale * prior_mean, variance
        return self._from_covariances(*self._cross.with_diagonal(points))

    def mean(self, points: Array) -> Array:
        """Return means (m,) alone."""
        if self._cross.has_mean:
            return self.posterior(points)[0]
        mean: Array = self._cross(points)[:, : self._n] @ self._alpha
        return mean

    def of_sum(self, points: Array, weights: Array) -> tuple[float, float]:
        """Return mean and variance of the sum of weights (m,) times the function at points (m, d).

        Both are much cheaper than all covariances of the points.
        """
        covariances = weights @ self._cross(points)  # (n + p,)
        whitened = covariances @ self._whitener
        own = weights @ self._prior(points) @ weights
        mean = covariances[: self._n] @ self._alpha
        if self._cross.has_mean:
            mean += self._mean_scale * (weights @ self._cross.moments(points)[2])
        return float(mean), self.variance * max(float(own - whitened @ whitened), 0.0)

    def standard_posterior(self, others: Array) -> StandardPosterior:
        """Return the posterior in units of sigma, with covariances with other points (o, d)."""
        whitened = _Whitened(self._cross, self._whitener)
        prior, alpha = self._cross_covariance(others), self._alpha / np.sqrt(self.variance)
        return StandardPosterior(self._cross, prior, self._whitener, alpha, whitened(others))

    def leave_one_out_means(self, values: Array) -> Array:
        """Return leave-one-out means (n,) at the observed points, of values (n,).

        mu_i = y_i - [K^-1 y]_i / [K^-1]_ii (Rasmussen and Williams, 2006, equation 5.12).
        """
        inverse_factor = self._whitener[: self._n, : self._n]
        means: Array = values - self._alpha / np.einsum("ij,ij->i", inverse_factor, inverse_factor)
        return means

    def skill(self, values: Array) -> float:
        """Return the share of the variance of values (n,) that the others explain of each."""
        missed = values - self.leave_one_out_means(values)
        return 1.0 - float(missed @ missed) / max(float(values @ values), 1e-300)

    def posterior_of_changes(
        self, point: Array, columns: Indices, coordinates: Array
    ) -> tuple[Array, Array]:
        """Return means and variances (N,) at a point (d,) after each of N single changes."""
        if not self._cross.has_unit_diagonal:
            return self.posterior(apply_changes(point, columns, coordinates))
        covariances = self._cross.of_changes(point, columns, coordinates)
        return self._from_covariances(covariances, 1.0)

    def _from_covariances(self, covariances: Array, own: Array | float) -> tuple[Array, Array]:
        """Return means and variances (m,) from covariances (m, n + p) with the data."""
        mean = covariances[:, : self._n] @ self._alpha
        whitened = covariances @ self._whitener
        explained = np.einsum("ij,ij->i", whitened, whitened)
        return mean, self.variance * np.maximum(own - explained, 1e-12)

    def terms(self) -> list[TermPosterior]:
        """Return the posteriors of the terms of the kernel, if it is a sum; none otherwise.

        Their means add up to that of the process.
        """
        return [TermPosterior(term.columns, self._of_term(term)) for term in self._terms()]

    def covariance_with(self, points: Array) -> PosteriorCovariance:
        """Return the covariances of the posterior with some points (a, d)."""
        whitened = _Whitened(self._cross, self._whitener)
        return PosteriorCovariance(self._cross_covariance(points), whitened, points, self.variance)

    def _of_term(self, term: Term) -> Callable[[Array], tuple[Array, Array]]:
        return lambda points: self._from_covariances(term.covariances(points), term.variance)

    def posterior_gradient(
        self, point: Array, columns: Indices
    ) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their derivatives in numeric columns at one point (d,)."""
        prior_mean, prior_slope = 0.0, np.zeros(len(columns))
        # (n + p,), (n + p, c), one, (c,)
        if self._cross.has_mean:
            around = self._cross.moments(points_around(point, columns))
            covariance, by_place = around[0][0], central_differences(around[0])
            own, own_slope = around[1][0], central_differences(around[1][:, None])[0]
            prior_mean = self._mean_scale * float(around[2][0])
            prior_slope = self._mean_scale * central_differences(around[2][:, None])[0]
        else:
            covariance, by_place, own, own_slope = self._cross.slopes_with_own(point, columns)
        whitened = covariance @ self._whitener
        mean = covariance[: self._n] @ self._alpha + prior_mean
        mean_gradient = self._alpha @ by_place[: self._n] + prior_slope
        reduction = own - whitened @ whitened
        explained_slope = 2.0 * ((self._whitener @ whitened) @ by_place)
        variance_gradient = self.variance * (own_slope - explained_slope)
        if reduction < 1e-12:
            reduction, variance_gradient = 1e-12, np.zeros(len(columns))
        return float(mean), self.variance * reduction, mean_gradient, variance_gradient


def _prior_covariance(kernel: Kernel, theta: Array, points: Array) -> Array:
    """Return the kernel matrix (m, m) of points (m, d)."""
    return kernel.matrix(theta, kernel.prepare(points))


class _Whitened:
    """Covariances with the observations times the whitener (n + p, n + p)."""

    def __init__(self, cross: CrossCovariance, whitener: Array) -> None:
        self._cross, self._whitener = cross, whitener

    def __call__(self, points: Array) -> Array:
        whitened: Array = self._cross(points) @ self._whitener
        return whitened

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        covariances, slopes = self._cross.slopes(point, columns)
        return covariances @ self._whitener, self._whitener.T @ slopes


def signal_variance(
    matrix: Array, noise: Array, values: Array, mean: Array | None = None
) -> float:
    """Return sigma2 of values (n,) with a kernel matrix (n, n) and noise as shares of it (n,).

    The mean (n,) of the process is in units of sigma; None for zero.
    """
    factor = _cholesky(matrix, noise)
    whitened = linalg.solve_triangular(factor, values, lower=True)
    if mean is not None:
        of_mean = linalg.solve_triangular(factor, mean, lower=True)
        return best_scale(whitened, of_mean)[0] ** -2
    return float(
        (whitened @ whitened + VARIANCE_PRIOR_COUNT) / (len(values) + VARIANCE_PRIOR_COUNT)
    )


def variance_and_rest(
    kernel: Kernel,
    hyperparameters: Hyperparameters,
    points: Array,
    values: Array,
    noise: Array,
    *,
    learns_extra_noise: bool,
) -> tuple[float, float]:
    """Return the signal variance next to known noise, and the variance that is added to that.

    Args:
        kernel: The kernel.
        hyperparameters: Their noise is what is added, where it was learnt.
        points: (n, d) observed points.
        values: (n,) standardised values.
        noise: (n,) known variances of these.
        learns_extra_noise: Whether noise was learnt on top of that.
    """
    theta, prepared = hyperparameters.theta, kernel.prepare(points)
    matrix = kernel.matrix(theta, prepared)
    mean = kernel.mean_and_pullback(theta, prepared)[0] if kernel.has_mean else None
    # Noise is a share of the signal variance, which in turn depends on it: smaller shares make
    # it larger, up to that of the least share, so this converges.
    variance, rest = 1.0, 0.0
    for _ in range(VARIANCE_ROUNDS):
        before = variance
        if learns_extra_noise:
            rest = variance * hyperparameters.noise
        else:
            rest = max(0.0, variance * LEAST_NOISE_SHARE - float(noise.min()))
        variance = signal_variance(matrix, (noise + rest) / variance, values, mean)
        if abs(variance - before) < VARIANCE_TOLERANCE * variance:
            break
    return variance, float(rest)
