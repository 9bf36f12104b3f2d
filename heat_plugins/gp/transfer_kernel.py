"""The kernel of a study that continues others: co-kriging with earlier studies as they were left.

Notation
    ===========  =====================================================================
    S            number of earlier studies
    f_s          the function of an earlier study, with variance one; its posterior has the
                 mean m_s and the covariance C_s
    g            what is new in the present study, with the kernel that it would have alone
    a_s          share of f_s in the variance of the present function f; a_0 that of g
    rho_s        sqrt(a_s), the correlation of f with f_s: how alike the studies are
    theta        hyperparameters of g, then log e_s
    ===========  =====================================================================

The study is one more categorical variable, and its heat kernel has a rate for each earlier study:
rho_s = exp(-t_s). A priori

    f = sum_s rho_s f_s + sqrt(a_0) g,   a_s = e_s / (1 + sum_s e_s),   a_0 = 1 / (1 + sum_s e_s),

so that Cov(f(x), f_s(x')) = rho_s k_s(x, x'). Earlier studies do not change any more, so they are
conditioned on once. What is left for the present one has

    mean         sum_s rho_s m_s(x)
    covariance   a_0 k_g(x, x') + sum_s a_s (C_s(x, x') + c^2)

with c^2 for the level of the present study, which its standardised values do not have in common
with f_s. (Kennedy and O'Hagan, 2000, for one earlier study; Swersky et al., 2013, for the joint
kernel.) Each f_s keeps its own rates and its own noise: one that is nothing but noise has m_s = 0,
and what is misleading loses its share as soon as the evidence is against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.gp.standard_posterior import StandardPosterior
from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Bools

__all__ = ["EarlierModel", "TransferKernel", "similarities", "transferred"]

# Expected share of the earlier studies together, as the ratio to that of what is new: of the
# variance two thirds, a correlation of 0.8.
EXPECTED_RATIO = 2.0
LOG_RATIO_SPREAD = 2.0
LOG_RATIO_BOUNDS = (np.log(1e-4), np.log(1e3))
STARTING_RATIOS = (1.0, 1e-2)  # times what is expected: alike, or not
LEVEL_VARIANCE = 1.0  # c^2


@dataclass(frozen=True, eq=False)
class EarlierModel:
    """What an earlier study knows of one outcome.

    Args:
        name: Of the study.
        surrogate: The posterior of its standardised values.
        lacking: (d,) parameters that it did not have; its values do not depend on them.
        limit: Where 0 lies among the standardised values of a constraint, or of failures.
        weight: From 0 to 1, how much it is expected to tell: less where its own trials do not
            foretell each other.
    """

    name: str
    surrogate: Surrogate
    lacking: Bools
    limit: float = 0.0
    weight: float = 1.0

    @cached_property
    def key(self) -> bytes:
        """What it knows, as a fingerprint."""
        points = self.surrogate.points
        return points.tobytes() + self.surrogate.mean(points).tobytes()

    def place(self, points: Array) -> Array:
        """Return points (m, d) as the study would have them."""
        placed: Array = np.where(self.lacking, 0.0, points)
        return placed

    def mean(self, points: Array) -> Array:
        """Return what is expected (m,) of points (m, d), in units of sigma."""
        means: Array = self.surrogate.mean(self.place(points))
        means /= np.sqrt(self.surrogate.variance)
        return means

    def posterior(self, others: Array) -> StandardPosterior:
        """Return its posterior, with covariances with other points (o, d) of the present study."""
        return self.surrogate.standard_posterior(self.place(others))


def transferred(kernel: Kernel, earlier: Sequence[EarlierModel]) -> Kernel:
    """Return what a kernel becomes next to earlier studies: itself where there are none."""
    return TransferKernel(kernel, earlier) if earlier else kernel


def similarities(kernel: Kernel, hyperparameters: Hyperparameters) -> dict[str, float]:
    """Return how alike each earlier study is, rho_s by name; empty without any."""
    if not isinstance(kernel, TransferKernel):
        return {}
    correlations = kernel.correlations(hyperparameters.theta).tolist()
    return {model.name: rho for model, rho in zip(kernel.earlier, correlations, strict=True)}


class _Prepared(NamedTuple):
    base: Any
    means: Array  # (S, n)
    covariances: Array  # (S, n, n), C_s + c^2


class TransferKernel(Kernel):
    """The covariance and the mean that earlier studies leave to the present one.

    Args:
        base: The kernel of the present study alone.
        earlier: The models of the earlier ones.
    """

    has_mean = True

    def __init__(self, base: Kernel, earlier: Sequence[EarlierModel]) -> None:
        self.base = base
        self.earlier = tuple(earlier)
        self.log_rate_mean = base.log_rate_mean
        self.warm_steps = base.warm_steps
        weights = np.array([model.weight for model in self.earlier])
        self._log_expected = np.log(EXPECTED_RATIO * weights / max(1.0, weights.sum()))
        self.bounds = np.concatenate([base.bounds, [LOG_RATIO_BOUNDS] * len(self.earlier)])

    def _split(self, theta: Array) -> tuple[Array, Array, float]:
        """Return theta of g, a_s (S,), and a_0."""
        n = self.base.n_hyperparameters
        ratios = np.exp(theta[n:])
        total = 1.0 + ratios.sum()
        return theta[:n], ratios / total, float(1.0 / total)

    def correlations(self, theta: Array) -> Array:
        """Return rho_s (S,)."""
        return np.sqrt(self._split(theta)[1])

    def start(self, total: float) -> Array:
        """Return the start of g, and the shares that are expected."""
        return self.starts(total)[0]

    def starts(self, total: float) -> list[Array]:
        """Return starts at which the earlier studies matter, or hardly do."""
        of_base = self.base.start(total)
        logs = [self._log_expected + np.log(ratio) for ratio in STARTING_RATIOS]
        if len(self.earlier) > 1:  # or one of them alone
            for i in range(len(self.earlier)):
                alone = logs[1].copy()
                alone[i] = np.log(EXPECTED_RATIO)
                logs.append(alone)
        return [np.append(of_base, log) for log in logs]

    def prior(self, theta: Array) -> Prior:
        """Return minus the log prior density: log ratios around what is expected."""
        n = self.base.n_hyperparameters
        value, gradient = self.base.prior(theta[:n])
        of_ratios, by_ratios = normal_prior(theta[n:], self._log_expected, LOG_RATIO_SPREAD)
        return value + of_ratios, np.concatenate([gradient, by_ratios])

    def prepare(self, points: Array) -> _Prepared:
        """Return what the earlier studies say of the observations (n, d)."""
        found = [model.posterior(points)(model.place(points)) for model in self.earlier]
        covariances = [0.5 * (c + c.T) + LEVEL_VARIANCE for _, _, c in found]
        means = np.array([mean for mean, _, _ in found])
        return _Prepared(self.base.prepare(points), means, np.array(covariances))

    def matrix(self, theta: Array, prepared: _Prepared) -> Array:
        """Return the kernel matrix (n, n)."""
        of_base, shares, new = self._split(theta)
        matrix = new * self.base.matrix(of_base, prepared.base)
        matrix += np.tensordot(shares, prepared.covariances, 1)
        return matrix

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        of_base, shares, new = self._split(theta)
        own, own_pullback = self.base.matrix_and_pullback(of_base, prepared.base)
        matrix = new * own + np.tensordot(shares, prepared.covariances, 1)

        def pullback(by_kernel: Array) -> Array:
            # d a_s / d log e_t = a_s ([s = t] - a_t), and the same for a_0
            by_shares = np.einsum("sij,ij->s", prepared.covariances, by_kernel)
            average = float(shares @ by_shares) + new * float(np.vdot(own, by_kernel))
            return np.concatenate([own_pullback(new * by_kernel), shares * (by_shares - average)])

        return matrix, pullback

    def mean_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the mean (n,) and its pullback."""
        _, shares, _ = self._split(theta)
        correlations = np.sqrt(shares)

        def pullback(by_mean: Array) -> Array:
            by_each = correlations * (prepared.means @ by_mean)  # times d / d rho_s, rho_s
            by_ratios = 0.5 * (by_each - shares * by_each.sum())
            return np.append(np.zeros(self.base.n_hyperparameters), by_ratios)

        return correlations @ prepared.means, pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        of_base, shares, new = self._split(theta)
        return _TransferCross(
            self.base.cross_covariance(of_base, points), new, self.earlier, shares, points
        )


class _TransferCross(CrossCovariance):
    """Covariances with the observations, and the mean, after the earlier studies."""

    has_unit_diagonal = False
    has_mean = True

    def __init__(
        self,
        base: CrossCovariance,
        new: float,
        earlier: Sequence[EarlierModel],
        shares: Array,
        points: Array,
    ) -> None:
        self._base, self._new, self._shares = base, new, shares
        self._earlier = [(model.place, model.posterior(points)) for model in earlier]

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self.moments(points)[0]

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return self.moments(points)[1]

    def with_diagonal(self, points: Array) -> tuple[Array, Array]:
        """Return both: covariances (m, n) with the observations, (m,) with themselves."""
        covariances, own, _ = self.moments(points)
        return covariances, own

    def moments(self, points: Array) -> tuple[Array, Array, Array]:
        """Return what :meth:`with_diagonal` returns, and means (m,) of points (m, d)."""
        covariances, own = self._base.with_diagonal(points)
        covariances, own = self._new * covariances, self._new * own
        mean = np.zeros(len(points))
        for share, (place, posterior) in zip(self._shares, self._earlier, strict=True):
            its_mean, its_variance, its_covariances = posterior(place(points))
            covariances += share * (its_covariances + LEVEL_VARIANCE)
            own += share * (its_variance + LEVEL_VARIANCE)
            mean += np.sqrt(share) * its_mean
        return covariances, own, mean
