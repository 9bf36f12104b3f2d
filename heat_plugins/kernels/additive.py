r"""Additive kernels: main effects, pairwise interactions, ... up to an order.

Notation
    ===========  =====================================================================
    U            number of base kernels: parameters, or groups of interchangeable ones
    k_u          (n, m) base kernel u, between 0 and 1
    e_q          (n, m) sum over all sets of q base kernels of the product of their kernels
    p_s          (n, m) power sum, sum_u k_u^s
    Q            the highest order with a variance of its own
    tau_q        variance of order q, 1 where it is as in the product kernel
    tau_r        variance of all orders beyond Q, the remainder
    ===========  =====================================================================

    k = (sum_{q <= Q} tau_q e_q + tau_r sum_{q > Q} e_q) / E[the same of x with itself]

(Duvenaud et al., 2011; the first order is CoCaBO's.) The e_q come from the power sums by
the recursion of Newton and Girard, q e_q = sum_s (-1)^(s-1) e_{q-s} p_s, and for unordered
choices each power sum is one matrix product: no set of base kernels is ever enumerated.

Plain base kernels have k_u = 1 where they agree. With more than one order the orders overlap: a
product of two such kernels also contains the single effects. Orthogonal base kernels (OAK, Lu et
al., 2022) leave out what lower orders explain,

    k~_u = k_u / M_u - m_u m_u' / M_u^2,   m_u = E[k_u(x, .)],  M_u = E[m_u],

E over all values alike. Base kernels are independent there, so that the mean of a sum of products
is that of their means; and k is divided by its own mean, so that what else is in a batch of
points changes nothing.

For unordered choices m_u = M_u, so the heat kernel is, up to a constant,
prod_u (1 + k~_u) = sum_q e_q(k~): the orthogonal kernel of all orders with order variances one.
What is left of that product beyond order Q is the remainder. Hardly any objective is additive
to the last digit, and a model that has no room for the rest becomes sure of things that are
not so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.kernels.base_kernels import BaseKernels, NumberKernel
from heat_plugins.kernels.distance import LOG_WEIGHT_BOUNDS, LOG_WEIGHT_SPREAD
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.kernels.order_terms import Terms, loses_digits
from heat_plugins.kernels.orthogonal import (
    OrthogonalBaseKernel,
    Reference,
    mean_variance,
    orthogonal_kernel_matrix,
)
from heat_plugins.kernels.orthogonal_numbers import OrthogonalNumbers, PreparedNumbers
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Indices

__all__ = ["OrdersKernel"]

LOG_ORDER_VARIANCE_BOUNDS = (-8.0, 8.0)
LOG_ORDER_VARIANCE_SPREAD = 2.0
LOG_REMAINDER_CENTRE = -2.0  # additive priors expect a small residual


class OrdersKernel(Kernel):
    """Additive kernel: sum over the orders of products of so many base kernels.

    Args:
        choices: Features of the unordered choices, one weight each.
        n_choices: (C,) their numbers of choices.
        base_kernels: Those of all other parameters and groups, numbers first.
        references: For orthogonal kernels, what "all values alike" means for each of them.
        max_order: Q, the highest order of interaction.
        orthogonal: Whether an order leaves out what lower orders explain.
        remainder: Whether higher orders have a common variance; only for orthogonal kernels.
    """

    def __init__(
        self,
        choices: FeatureMap,
        n_choices: Array,
        base_kernels: Sequence[Kernel],
        references: Sequence[Reference],
        max_order: int,
        orthogonal: bool,
        remainder: bool = False,
    ) -> None:
        """Lay out the hyperparameters, as :meth:`_split` has them."""
        if base_kernels:
            # An evaluation costs several times one of the product; the last step brings least.
            self.warm_steps = 3
        self.choices = choices
        self.n_choices = n_choices
        self._base_kernels = BaseKernels(base_kernels)
        self.orthogonal = orthogonal
        # Numbers are found all at once, every other base kernel by itself.
        columns = [base.column for base in base_kernels if isinstance(base, NumberKernel)]
        c = len(columns)
        self.numbers = OrthogonalNumbers(
            np.array(columns, dtype=np.int64), references[:c], self.orthogonal
        )
        self.base_kernels, self.references = self._base_kernels.kernels[c:], tuple(references[c:])
        assert not any(isinstance(base, NumberKernel) for base in self.base_kernels)
        self._n_kernels = len(n_choices) + len(base_kernels)
        self.max_order = min(max_order, self._n_kernels)
        # Power sums of very many orders are inaccurate; choices then have base kernels, too.
        self._by_kernels_alone = not len(n_choices) and loses_digits(
            len(base_kernels), self.max_order
        )
        self.has_remainder = remainder and orthogonal and self.max_order < self._n_kernels
        # One order alone needs no variance; with a constant it has one to be compared with.
        own = self.max_order if self.max_order > 1 or orthogonal else 0
        self._centres = np.array([0.0] * own + [LOG_REMAINDER_CENTRE] * self.has_remainder)
        self._squared_norms = np.where(n_choices > 2, 0.5, 0.25)  # of one-hot or +-1/2
        self._counts = np.array([_choose(self._n_kernels, q) for q in range(self.max_order + 1)])
        self.bounds = np.concatenate(
            [
                np.full((len(n_choices), 2), LOG_WEIGHT_BOUNDS),
                self._base_kernels.bounds,
                np.full((len(self._centres), 2), LOG_ORDER_VARIANCE_BOUNDS),
            ]
        )

    # ---------------------------------------------------------------- hyperparameters

    def _split(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return log weights of choices, mean and base kernels' own, log order variances."""
        c, end = len(self.n_choices), len(theta) - len(self._centres)
        return theta[:c], theta[c:end], theta[end:]

    def split_base_kernels(self, of_base_kernels: Array) -> tuple[Array, list[Array]]:
        """Return log weights (c,) of numbers, and hyperparameters of the other base kernels."""
        parts = self._base_kernels.split(of_base_kernels)
        c = len(self.numbers.columns)
        return of_base_kernels[1 : 1 + c], parts[c:]

    def start(self, total: float) -> Array:
        """Return equal weights that add up to ``total``, and the expected order variances."""
        share = total / max(self._n_kernels, 1)
        weights = self.choices.log_scales + np.log(share)
        return np.concatenate([weights, self._base_kernels.start(share), self._centres])

    def prior(self, theta: Array) -> Prior:
        """Return minus the log density: weights around a free mean, variances around theirs."""
        log_weights, of_base_kernels, log_order_variances = self._split(theta)
        value, by_weights = normal_prior(
            log_weights - self.choices.log_scales, of_base_kernels[0], LOG_WEIGHT_SPREAD
        )
        base_value, by_base_kernels = self._base_kernels.prior(of_base_kernels)
        by_base_kernels[0] -= by_weights.sum()
        own_value, by_order_variances = normal_prior(
            log_order_variances, self._centres, LOG_ORDER_VARIANCE_SPREAD
        )
        return (
            value + base_value + own_value,
            np.concatenate([by_weights, by_base_kernels, by_order_variances]),
        )

    def order_variances(self, theta: Array) -> Array:
        """Return the variances (Q + 2,) of the constant, the orders and the remainder."""
        order_variances = np.zeros(self.max_order + 2)
        order_variances[: self.max_order + 1] = 1.0
        log_order_variances = self._split(theta)[2]
        if len(log_order_variances):
            order_variances[1 : len(log_order_variances) + 1] = np.exp(log_order_variances)
        if not self.orthogonal:
            # Without the constant, and as means over the sets: all orders start alike.
            order_variances[0] = 0.0
            order_variances[1:-1] /= self._counts[1:]
        return order_variances

    def order_shares(self, theta: Array) -> Array:
        """Return (Q + 1,) the share of each order in the prior variance, averaged.

        With a remainder (Q + 2,), its share last.
        """
        parts = self._mean_terms(theta)[0].parts(self.order_variances(theta))
        variances = np.array([float(part[0]) for part in parts])
        shares: Array = variances / variances.sum()
        return shares

    def _mean_terms(self, theta: Array) -> tuple[Terms, list[Array]]:
        """Return the orders of a point with itself, in the mean (1,) over all values.

        And how the means of base kernels vary, numbers first, each in its own hyperparameters.
        """
        log_weights, of_base_kernels, _ = self._split(theta)
        of_numbers, parts = self.split_base_kernels(of_base_kernels)
        numbers, number_slopes = self.numbers.mean_variances(of_numbers)
        base_kernels = [
            mean_variance(base, part, prepared, reference.shares, orthogonal=self.orthogonal)
            for base, part, prepared, reference in zip(
                self.base_kernels, parts, self._prepared_references, self.references, strict=True
            )
        ]
        own = [
            np.array([variance]) for variance in (*numbers, *(value for value, _ in base_kernels))
        ]
        slopes = [*number_slopes[:, None], *(slope for _, slope in base_kernels)]
        return self._terms(self.own_sums(log_weights, 1), own), slopes

    def _norm(self, theta: Array) -> tuple[float, Array]:
        """Return the mean variance of a point over all values, and its gradient (p,)."""
        log_weights, _, log_order_variances = self._split(theta)
        terms, base_slopes = self._mean_terms(theta)
        order_variances = self.order_variances(theta)
        by_sums = [float(slope[0]) for slope in terms.by_sums(order_variances)]
        by_weights = np.zeros(len(log_weights))
        for by_sum, (agreeing, _) in zip(by_sums, self._summand_slopes(log_weights), strict=True):
            by_weights += by_sum * agreeing
        by_base_kernels = [
            by_base[0] * slope
            for by_base, slope in zip(terms.by_kernels(order_variances), base_slopes, strict=True)
        ]
        by_order_variances = terms.by_log_order_variances(order_variances, np.ones(1))[
            : len(log_order_variances)
        ]
        norm = float(terms.value(order_variances)[0])
        # The mean log rate has a prior only.
        return norm, np.concatenate(
            [by_weights, np.zeros(1), *by_base_kernels, by_order_variances]
        )

    @cached_property
    def _prepared_references(self) -> list[Any]:
        return [
            base.prepare(reference.points)
            for base, reference in zip(self.base_kernels, self.references, strict=True)
        ]

    def _terms(self, sums: list[Array], base_kernels: list[Array]) -> Terms:
        return Terms(
            self.max_order, self.has_remainder, sums, base_kernels, self._by_kernels_alone
        )

    def orthogonal_base_kernels(self, parts: Sequence[Array]) -> list[OrthogonalBaseKernel]:
        """Return the orthogonal base kernels of all that are no numbers."""
        return [
            OrthogonalBaseKernel(base, part, reference, self.orthogonal)
            for base, part, reference in zip(
                self.base_kernels, parts, self.references, strict=True
            )
        ]

    # ----------------------------------------------------------------- unordered choices

    def _two_values(self, log_weights: Array) -> tuple[Array, Array]:
        """Return (C,) the kernel of each parameter where two points agree and differ."""
        rho = np.exp(-np.exp(log_weights))
        if not self.orthogonal:
            return np.ones(len(rho)), rho
        g = self.n_choices
        relative = (1.0 - rho) / self._mean_correlation(log_weights)
        return relative * (1.0 - 1.0 / g), -relative / g

    def _summands(self, log_weights: Array) -> list[tuple[Array, Array]]:
        """Return what each parameter (C,) adds where points agree, and where they differ.

        First to p_1 .. p_Q; with a remainder, then to log prod_u (1 + k~_u), in which
        1 + k~ is 1 / M where they agree and rho / M where they differ.
        """
        same, different = self._two_values(log_weights)
        n_powers = 0 if self._by_kernels_alone else self.max_order
        summands = [(same**s, different**s) for s in range(1, n_powers + 1)]
        if self.has_remainder:
            log_mean = np.log(self._mean_correlation(log_weights))
            summands.append((-log_mean, -log_mean - np.exp(log_weights)))
        return summands

    def _summand_slopes(self, log_weights: Array) -> list[tuple[Array, Array]]:
        """Return the derivatives of :meth:`_summands` in the log weights."""
        weights = np.exp(log_weights)
        by_rho = -weights * np.exp(-weights)
        same, different = self._two_values(log_weights)
        if self.orthogonal:
            g, mean = self.n_choices, self._mean_correlation(log_weights)
            relative_slope = -by_rho / mean**2
            same_slope, different_slope = relative_slope * (1.0 - 1.0 / g), -relative_slope / g
        else:
            same_slope, different_slope = np.zeros(len(weights)), by_rho
        slopes = [
            (s * same ** (s - 1) * same_slope, s * different ** (s - 1) * different_slope)
            for s in range(1, (0 if self._by_kernels_alone else self.max_order) + 1)
        ]
        if self.has_remainder:
            log_mean_slope = by_rho * (1.0 - 1.0 / g) / mean
            slopes.append((-log_mean_slope, -log_mean_slope - weights))
        return slopes

    def _mean_correlation(self, log_weights: Array) -> Array:
        """Return M (C,), the mean of rho and 1 over all pairs of choices."""
        rho = np.exp(-np.exp(log_weights))
        mean: Array = rho + (1.0 - rho) / self.n_choices
        return mean

    def weighted_choices(self, log_weights: Array, features: Array) -> list[tuple[float, Array]]:
        """Return what :meth:`choice_sums` needs of points, from their features (n, s).

        In the columns of a parameter ||F - F'||^2 is 1 where two points differ, and all
        points have the same norm there; so a sum over the parameters that agree or differ
        is a constant plus one product of features.
        """
        weighted = []
        for agreeing, differing in self._summands(log_weights):
            drop = agreeing - differing
            constant = float(agreeing.sum() - 2.0 * (drop * self._squared_norms).sum())
            weighted.append((constant, features * (2.0 * drop)[self.choices.owner]))
        return weighted

    def choice_sums(self, features: Array, weighted: Sequence[tuple[float, Array]]) -> list[Array]:
        """Return the sums (m, n) over the choices of points with features (m, s)."""
        sums = []
        for constant, others in weighted:
            total = features @ others.T
            total += constant
            sums.append(total)
        return sums

    def own_sums(self, log_weights: Array, n: int) -> list[Array]:
        """Return the sums (n,) of points with themselves."""
        return [np.full(n, float(a.sum())) for a, _ in self._summands(log_weights)]

    def _choice_pullback(
        self, log_weights: Array, features: Array, by_sums: Sequence[Array]
    ) -> Array:
        """Return the derivative in the log weights (C,) from that in the sums."""
        total = np.zeros(len(log_weights))
        slopes = self._summand_slopes(log_weights)
        for by_sum, (agreeing, differing) in zip(by_sums, slopes, strict=True):
            # How much of the derivative falls on pairs that agree in each parameter.
            everything = float(by_sum.sum())
            products = np.einsum("as,as->s", features, by_sum @ features)
            on_differing = 2.0 * (
                self._squared_norms * everything - self.choices.sum_by_weight(products)
            )
            total += agreeing * (everything - on_differing) + differing * on_differing
        return total

    # -------------------------------------------------------------------- observations

    def prepare(self, points: Array) -> _Prepared:
        """Return features of the choices, and what the base kernels prepare."""
        return _Prepared(
            self.choices(points),
            self.numbers.prepare(points),
            [
                base.prepare(np.concatenate([points, reference.points]))
                for base, reference in zip(self.base_kernels, self.references, strict=True)
            ],
            len(points),
        )

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        log_weights, of_base_kernels, log_order_variances = self._split(theta)
        of_numbers, parts = self.split_base_kernels(of_base_kernels)
        features = prepared.features
        numbers, numbers_pullback = self.numbers.matrices(of_numbers, prepared.numbers)
        base_kernels = [
            orthogonal_kernel_matrix(
                base, part, its, prepared.n, reference.shares, orthogonal=self.orthogonal
            )
            for base, part, its, reference in zip(
                self.base_kernels, parts, prepared.base_kernels, self.references, strict=True
            )
        ]
        sums = self.choice_sums(features, self.weighted_choices(log_weights, features))
        terms = self._terms(sums, [*numbers, *[matrix for matrix, _ in base_kernels]])
        order_variances = self.order_variances(theta)
        kernel = terms.value(order_variances)
        norm, norm_slope = self._norm(theta)
        kernel /= norm

        def pullback(by_kernel: Array) -> Array:
            by_raw = by_kernel / norm
            by_norm = -float(np.vdot(by_raw, kernel))
            by_sums = [by_raw * slope for slope in terms.by_sums(order_variances)]
            by_weights = self._choice_pullback(log_weights, features, by_sums)
            by_values = [by_raw * slope for slope in terms.by_kernels(order_variances)]
            by_parts = [np.zeros(1)]  # the mean log rate has a prior only
            if len(numbers):
                by_parts.append(numbers_pullback(np.array(by_values[: len(numbers)])))
            for (_, base_pullback), by_value in zip(
                base_kernels, by_values[len(numbers) :], strict=True
            ):
                by_parts.append(base_pullback(by_value))
            by_order_variances = terms.by_log_order_variances(order_variances, by_raw)[
                : len(log_order_variances)
            ]
            of_raw = np.concatenate([by_weights, *by_parts, by_order_variances])
            gradient: Array = of_raw + by_norm * norm_slope
            return gradient

        return kernel, pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        return _OrdersCrossCovariance(self, theta, points)


@dataclass(frozen=True, eq=False)
class _Prepared:
    features: Array
    numbers: PreparedNumbers
    base_kernels: list[Any]
    n: int


class _OrdersCrossCovariance(CrossCovariance):
    """Covariances from sums over the choices and values of the base kernels."""

    def __init__(self, kernel: OrdersKernel, theta: Array, points: Array) -> None:
        self._kernel = kernel
        self._log_weights, of_base_kernels, _ = kernel._split(theta)
        self._order_variances = kernel.order_variances(theta)
        self._choices = kernel.weighted_choices(self._log_weights, kernel.choices(points))
        of_numbers, parts = kernel.split_base_kernels(of_base_kernels)
        self._numbers = kernel.numbers.cross_covariance(of_numbers, points)
        self._base_kernels = [
            (base.cross_covariance(part, points), orthogonal, orthogonal.means(points))
            for base, part, orthogonal in zip(
                kernel.base_kernels, parts, kernel.orthogonal_base_kernels(parts), strict=True
            )
        ]
        has_base_kernels = len(of_numbers) > 0 or len(parts) > 0
        self.has_unit_diagonal = not (kernel.orthogonal and has_base_kernels)
        self._norm = kernel._norm(theta)[0]

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self._covariances(points, self._means(points))

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return self._diagonal(points, self._means(points))

    def with_diagonal(self, points: Array) -> tuple[Array, Array]:
        """Return both, the means of the base kernels found once."""
        means = self._means(points)
        return self._covariances(points, means), self._diagonal(points, means)

    def _means(self, points: Array) -> _Means:
        return _Means(
            *self._numbers.means_and_places(points),
            [orthogonal.means(points) for _, orthogonal, _ in self._base_kernels],
        )

    def _choice_sums(self, points: Array) -> list[Array]:
        return self._kernel.choice_sums(self._kernel.choices(points), self._choices)

    def _covariances(self, points: Array, means: _Means) -> Array:
        base_kernels = [
            orthogonal.cross(cross(points), mean, observed)
            for (cross, orthogonal, observed), mean in zip(
                self._base_kernels, means.base_kernels, strict=True
            )
        ]
        numbers = self._numbers.covariances(means.numbers, means.places)
        terms = self._kernel._terms(self._choice_sums(points), [*numbers, *base_kernels])
        return terms.value(self._order_variances) / self._norm

    def _diagonal(self, points: Array, means: _Means) -> Array:
        base_kernels = [
            orthogonal.own(cross.diagonal(points), mean)
            for (cross, orthogonal, _), mean in zip(
                self._base_kernels, means.base_kernels, strict=True
            )
        ]
        sums = self._kernel.own_sums(self._log_weights, len(points))
        terms = self._kernel._terms(sums, [*self._numbers.own(means.numbers), *base_kernels])
        return terms.value(self._order_variances) / self._norm

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c) in numbers."""
        covariances, slopes, _, _ = self.slopes_with_own(point, columns)
        return covariances, slopes

    def own_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the covariance of a point (d,) with itself, and its slopes (c,)."""
        _, _, own, own_slopes = self.slopes_with_own(point, columns)
        return own, own_slopes

    def slopes_with_own(self, point: Array, columns: Indices) -> tuple[Array, Array, float, Array]:
        """Return both; the point itself is one more observation, the last."""
        number_values, number_slopes = self._numbers.slopes_with_own(point)  # (u, n + 1) both
        base_kernels = [_base_slopes(*base, point, columns) for base in self._base_kernels]
        own = self._kernel.own_sums(self._log_weights, 1)
        sums = [
            np.append(total[0], own_sum)
            for total, own_sum in zip(self._choice_sums(point[None]), own, strict=True)
        ]
        terms = self._kernel._terms(sums, [*number_values, *[value for value, _ in base_kernels]])
        total = terms.value(self._order_variances) / self._norm
        by_base_kernels = terms.by_kernels(self._order_variances)
        slope = np.zeros((len(total), len(columns)))
        n_numbers = len(number_values)
        if n_numbers:
            # A number has a slope in its own column alone.
            by_numbers = np.array(by_base_kernels[:n_numbers]) * number_slopes
            is_mine = self._kernel.numbers.columns[:, None] == columns  # (u, c)
            slope += by_numbers.T @ is_mine
        for by_base, (_, its_slope) in zip(by_base_kernels[n_numbers:], base_kernels, strict=True):
            slope += by_base[:, None] * its_slope
        slope /= self._norm
        return total[:-1], slope[:-1], float(total[-1]), slope[-1]


def _base_slopes(
    cross: CrossCovariance,
    orthogonal: OrthogonalBaseKernel,
    observed: Array,
    point: Array,
    columns: Indices,
) -> tuple[Array, Array]:
    """Return k~ (n + 1,) of a point with the observations and itself, slopes (n + 1, c)."""
    mean, mean_slope = orthogonal.mean_slopes(point, columns)
    covariances, by_place, own, own_slope = cross.slopes_with_own(point, columns)
    values = orthogonal.cross(covariances[None], np.array([mean]), observed)[0]
    slopes = by_place / orthogonal.mean - np.outer(observed, mean_slope) / orthogonal.mean**2
    own_value = orthogonal.own(np.array([own]), np.array([mean]))
    orthogonal_own_slope = (
        own_slope / orthogonal.mean - 2.0 * mean * mean_slope / orthogonal.mean**2
    )
    return np.append(values, own_value), np.concatenate([slopes, orthogonal_own_slope[None]])


class _Means(NamedTuple):
    """Means of points: of numbers (c, k) with their scaled places, of other base kernels (k,)."""

    numbers: Array
    places: Array
    base_kernels: list[Array]


def _choose(n: int, q: int) -> float:
    return float(np.prod([(n - i) / (i + 1) for i in range(q)]))
