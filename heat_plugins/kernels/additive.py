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
from typing import Any

import numpy as np

from heat_plugins.kernels.additive_cross import OrdersCrossCovariance
from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.kernels.base_kernels import BaseKernels, NumberKernel
from heat_plugins.kernels.choice_sums import ChoiceSums
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
from heat_plugins.space import Array

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
        """Lay out the hyperparameters, as :meth:`split` has them."""
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
        n_powers = 0 if self._by_kernels_alone else self.max_order
        self.choice_sums = ChoiceSums(choices, n_choices, n_powers, orthogonal, self.has_remainder)
        # One order alone needs no variance; with a constant it has one to be compared with.
        own = self.max_order if self.max_order > 1 or orthogonal else 0
        self._centres = np.array([0.0] * own + [LOG_REMAINDER_CENTRE] * self.has_remainder)
        self._counts = np.array([_choose(self._n_kernels, q) for q in range(self.max_order + 1)])
        self.bounds = np.concatenate(
            [
                np.full((len(n_choices), 2), LOG_WEIGHT_BOUNDS),
                self._base_kernels.bounds,
                np.full((len(self._centres), 2), LOG_ORDER_VARIANCE_BOUNDS),
            ]
        )

    # ---------------------------------------------------------------- hyperparameters

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
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
        log_weights, of_base_kernels, log_order_variances = self.split(theta)
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
        log_order_variances = self.split(theta)[2]
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
        log_weights, of_base_kernels, _ = self.split(theta)
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
        return self.order_terms(self.choice_sums.own(log_weights, 1), own), slopes

    def norm(self, theta: Array) -> tuple[float, Array]:
        """Return the mean variance of a point over all values, and its gradient (p,)."""
        log_weights, _, log_order_variances = self.split(theta)
        terms, base_slopes = self._mean_terms(theta)
        order_variances = self.order_variances(theta)
        by_sums = [float(slope[0]) for slope in terms.by_sums(order_variances)]
        by_weights = np.zeros(len(log_weights))
        for by_sum, (agreeing, _) in zip(
            by_sums, self.choice_sums.summand_slopes(log_weights), strict=True
        ):
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

    def order_terms(self, sums: list[Array], base_kernels: list[Array]) -> Terms:
        """Return the orders, from sums over the choices and the values of base kernels."""
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
        log_weights, of_base_kernels, log_order_variances = self.split(theta)
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
        sums = self.choice_sums.sums(features, self.choice_sums.weighted(log_weights, features))
        terms = self.order_terms(sums, [*numbers, *[matrix for matrix, _ in base_kernels]])
        order_variances = self.order_variances(theta)
        kernel = terms.value(order_variances)
        norm, norm_slope = self.norm(theta)
        kernel /= norm

        def pullback(by_kernel: Array) -> Array:
            by_raw = by_kernel / norm
            by_norm = -float(np.vdot(by_raw, kernel))
            by_sums = [by_raw * slope for slope in terms.by_sums(order_variances)]
            by_weights = self.choice_sums.pullback(log_weights, features, by_sums)
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
        return OrdersCrossCovariance(self, theta, points)


@dataclass(frozen=True, eq=False)
class _Prepared:
    features: Array
    numbers: PreparedNumbers
    base_kernels: list[Any]
    n: int


def _choose(n: int, q: int) -> float:
    return float(np.prod([(n - i) / (i + 1) for i in range(q)]))
