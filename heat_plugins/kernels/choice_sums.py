"""Sums over the unordered choices of additive kernels, as one matrix product each.

Notation
    ===========  =====================================================================
    C            number of parameters with unordered choices
    g            (C,) numbers of choices
    rho          (C,) exp(-w), the correlation of two choices at a weight w
    M            (C,) mean of rho and 1 over all pairs of choices
    p_s          (n, m) power sum, sum_u k_u^s
    ===========  =====================================================================

The kernel of a parameter has two values: one where two points agree and one where they differ,

    plain:       1 and rho
    orthogonal:  (1 - rho) / M (1 - 1 / g) and -(1 - rho) / (M g)

so that a sum over the parameters is a constant plus one product of one-hot features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Array

__all__ = ["ChoiceSums"]


class ChoiceSums:
    """Power sums over unordered choices, and the log of their whole product.

    Args:
        features: Features of the unordered choices, one weight each.
        n_choices: (C,) their numbers of choices.
        n_powers: How many power sums are wanted.
        orthogonal: Whether the kernels leave out their means.
        has_remainder: Whether the log of the product of all is wanted too.
    """

    def __init__(
        self,
        features: FeatureMap,
        n_choices: Array,
        n_powers: int,
        orthogonal: bool,
        has_remainder: bool,
    ) -> None:
        self._features = features
        self._n_choices = n_choices
        self._n_powers = n_powers
        self._orthogonal = orthogonal
        self._has_remainder = has_remainder
        self._squared_norms = np.where(n_choices > 2, 0.5, 0.25)  # of one-hot or +-1/2

    def _two_values(self, log_weights: Array) -> tuple[Array, Array]:
        """Return (C,) the kernel of each parameter where two points agree and differ."""
        rho = np.exp(-np.exp(log_weights))
        if not self._orthogonal:
            return np.ones(len(rho)), rho
        g = self._n_choices
        relative = (1.0 - rho) / self._mean_correlation(log_weights)
        return relative * (1.0 - 1.0 / g), -relative / g

    def _summands(self, log_weights: Array) -> list[tuple[Array, Array]]:
        """Return what each parameter (C,) adds where points agree, and where they differ.

        First to p_1 .. p_Q; with a remainder, then to log prod_u (1 + k~_u), in which
        1 + k~ is 1 / M where they agree and rho / M where they differ.
        """
        same, different = self._two_values(log_weights)
        summands = [(same**s, different**s) for s in range(1, self._n_powers + 1)]
        if self._has_remainder:
            log_mean = np.log(self._mean_correlation(log_weights))
            summands.append((-log_mean, -log_mean - np.exp(log_weights)))
        return summands

    def summand_slopes(self, log_weights: Array) -> list[tuple[Array, Array]]:
        """Return the derivatives of :meth:`_summands` in the log weights."""
        weights = np.exp(log_weights)
        by_rho = -weights * np.exp(-weights)
        same, different = self._two_values(log_weights)
        if self._orthogonal:
            g, mean = self._n_choices, self._mean_correlation(log_weights)
            relative_slope = -by_rho / mean**2
            same_slope, different_slope = relative_slope * (1.0 - 1.0 / g), -relative_slope / g
        else:
            same_slope, different_slope = np.zeros(len(weights)), by_rho
        slopes = [
            (s * same ** (s - 1) * same_slope, s * different ** (s - 1) * different_slope)
            for s in range(1, self._n_powers + 1)
        ]
        if self._has_remainder:
            log_mean_slope = by_rho * (1.0 - 1.0 / g) / mean
            slopes.append((-log_mean_slope, -log_mean_slope - weights))
        return slopes

    def _mean_correlation(self, log_weights: Array) -> Array:
        """Return M (C,), the mean of rho and 1 over all pairs of choices."""
        rho = np.exp(-np.exp(log_weights))
        mean: Array = rho + (1.0 - rho) / self._n_choices
        return mean

    def weighted(self, log_weights: Array, features: Array) -> list[tuple[float, Array]]:
        """Return what :meth:`sums` needs of points, from their features (n, s).

        In the columns of a parameter ||F - F'||^2 is 1 where two points differ, and all
        points have the same norm there; so a sum over the parameters that agree or differ
        is a constant plus one product of features.
        """
        weighted = []
        for agreeing, differing in self._summands(log_weights):
            drop = agreeing - differing
            constant = float(agreeing.sum() - 2.0 * (drop * self._squared_norms).sum())
            weighted.append((constant, features * (2.0 * drop)[self._features.owner]))
        return weighted

    def sums(self, features: Array, weighted: Sequence[tuple[float, Array]]) -> list[Array]:
        """Return the sums (m, n) over the choices of points with features (m, s)."""
        sums = []
        for constant, others in weighted:
            total = features @ others.T
            total += constant
            sums.append(total)
        return sums

    def own(self, log_weights: Array, n: int) -> list[Array]:
        """Return the sums (n,) of points with themselves."""
        return [np.full(n, float(a.sum())) for a, _ in self._summands(log_weights)]

    def pullback(self, log_weights: Array, features: Array, by_sums: Sequence[Array]) -> Array:
        """Return the derivative in the log weights (C,) from that in the sums."""
        total = np.zeros(len(log_weights))
        slopes = self.summand_slopes(log_weights)
        for by_sum, (agreeing, differing) in zip(by_sums, slopes, strict=True):
            # How much of the derivative falls on pairs that agree in each parameter.
            everything = float(by_sum.sum())
            products = np.einsum("as,as->s", features, by_sum @ features)
            on_differing = 2.0 * (
                self._squared_norms * everything - self._features.sum_by_weight(products)
            )
            total += agreeing * (everything - on_differing) + differing * on_differing
        return total
