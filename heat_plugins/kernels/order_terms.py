"""The orders of an additive kernel at some pairs of points, from sums over its base kernels.

Notation as in ``additive.py``: U base kernels, power sums p_s, elementary symmetric polynomials
e_q, variances (Q + 2,) of the constant, the orders and the remainder.

The recursion of Newton and Girard takes power sums alone, but its signs alternate, which
multiplies rounding errors by up to h_q / e_q (h_q: the same recursion without signs); for equal
base kernels that is C(U + q - 1, q) / C(U, q). Where it is much, as in e_25 of 25 base kernels,
polynomials come from the recursion e_q <- e_q + k_u e_{q-1} over the base kernels, which loses
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array

__all__ = ["Terms", "elementary_symmetric", "loses_digits", "one_by_one", "weighted_sum"]

LARGEST_LOSS = 1e4  # by which power sums may multiply rounding errors
MOST_NUMBERS = 2**21  # that derivatives keep at a time: 16 MiB


def loses_digits(n_kernels: int, max_order: int) -> bool:
    """Whether power sums are too inaccurate for so many orders of so many base kernels."""
    q = min(max_order, n_kernels)
    return comb(n_kernels + q - 1, q) > LARGEST_LOSS * comb(n_kernels, q)


def one_by_one(kernels: Sequence[Array], max_order: int) -> list[Array]:
    """Return e_0 .. e_Q of at least one base kernel, by adding one after the other."""
    polynomials = [np.ones_like(kernels[0])]
    polynomials += [np.zeros_like(kernels[0]) for _ in range(max_order)]
    for kernel in kernels:
        for q in range(max_order, 0, -1):
            polynomials[q] += kernel * polynomials[q - 1]
    return polynomials


def _slopes_one_by_one(kernels: Sequence[Array], coefficients: Array) -> list[Array]:
    """Return the derivatives of sum_q c_q e_q in each kernel, backwards through the recursion."""
    flat = np.array([kernel.ravel() for kernel in kernels])  # (U, pairs)
    slopes = np.empty_like(flat)
    n_orders = len(coefficients)
    step = max(1, MOST_NUMBERS // (len(flat) * n_orders))
    for start in range(0, flat.shape[1], step):
        some = flat[:, start : start + step]
        before = np.empty((len(some), n_orders, some.shape[1]))
        polynomials = np.zeros((n_orders, some.shape[1]))
        polynomials[0] = 1.0
        for values, kept in zip(some, before, strict=True):
            kept[:] = polynomials
            polynomials[1:] += values * kept[:-1]
        by_polynomials = np.repeat(coefficients[:, None], some.shape[1], axis=1)
        for u in reversed(range(len(some))):
            slopes[u, start : start + step] = (by_polynomials[1:] * before[u, :-1]).sum(axis=0)
            by_polynomials[:-1] += some[u] * by_polynomials[1:]
    return [slope.reshape(kernel.shape) for slope, kernel in zip(slopes, kernels, strict=True)]


def elementary_symmetric(power_sums: Sequence[Array]) -> list[Array]:
    """Return e_0 .. e_Q from p_1 .. p_Q (Newton and Girard)."""
    polynomials: list[Array] = [np.ones_like(power_sums[0]), power_sums[0]]
    for q in range(2, len(power_sums) + 1):
        total = polynomials[q - 1] * power_sums[0]
        for s in range(2, q + 1):
            term = polynomials[q - s] * power_sums[s - 1] if s < q else power_sums[q - 1]
            total = np.subtract(total, term, out=total) if s % 2 == 0 else total + term
        total /= q
        polynomials.append(total)
    return polynomials


def weighted_sum(coefficients: Array, polynomials: Sequence[Array]) -> Array:
    """Return sum_q c_q e_q, of which e_0 is one; with few passes over the arrays."""
    if len(polynomials) == 1:
        return np.full_like(polynomials[0], coefficients[0])
    total: Array = coefficients[1] * polynomials[1]
    total += coefficients[0]
    for coefficient, polynomial in zip(coefficients[2:], polynomials[2:], strict=True):
        if coefficient != 0.0:
            total += coefficient * polynomial
    return total


class Terms:
    """The orders at some pairs of points, and their derivatives.

    Args:
        max_order: Q.
        has_remainder: Whether orders beyond Q have a variance.
        sums: Sums over the choices: p_1 .. p_Q, unless kernels are added one by one, and the log
            product if there is a remainder. They are added to.
        kernels: Values of every other base kernel.
        by_kernels_alone: Whether kernels are added one by one; then choices are among them.
    """

    def __init__(
        self,
        max_order: int,
        has_remainder: bool,
        sums: list[Array],
        kernels: list[Array],
        by_kernels_alone: bool = False,
    ) -> None:
        self._kernels = kernels
        self._q = max_order
        self._by_kernels_alone = by_kernels_alone
        self._of_choices = np.exp(sums[-1]) if has_remainder else None
        if by_kernels_alone:
            self.polynomials = one_by_one(kernels, max_order)
            return
        powers = sums[: self._q]
        for kernel in kernels:
            power = kernel
            for s, total in enumerate(powers):
                total += power
                if s + 1 < len(powers):
                    power = power * kernel
        self.polynomials = elementary_symmetric(powers)

    @cached_property
    def _factors(self) -> list[Array]:
        """1 + k~_u of every base kernel."""
        return [1.0 + kernel for kernel in self._kernels]

    @cached_property
    def _product(self) -> Array:
        """prod_u (1 + k~_u)."""
        assert self._of_choices is not None
        product = self._of_choices.copy()
        for factor in self._factors:
            product *= factor
        return product

    def parts(self, order_variances: Array) -> list[Array]:
        """Return what each order contributes, the remainder last."""
        parts = [s * e for s, e in zip(order_variances[:-1], self.polynomials, strict=True)]
        if self._of_choices is not None:
            rest = self._product - weighted_sum(np.ones(self._q + 1), self.polynomials)
            parts.append(order_variances[-1] * rest)
        return parts

    def value(self, order_variances: Array) -> Array:
        """Return the sum of all orders."""
        total = weighted_sum(order_variances[:-1] - order_variances[-1], self.polynomials)
        if self._of_choices is not None:
            total += order_variances[-1] * self._product
        return total

    def by_log_order_variances(self, order_variances: Array, by_value: Array) -> Array:
        """Return the derivatives in the log order variances of the orders and the remainder."""
        slopes = [
            order_variance * np.vdot(by_value, polynomial)
            for order_variance, polynomial in zip(
                order_variances[1:-1], self.polynomials[1:], strict=True
            )
        ]
        if self._of_choices is not None:
            of_orders = by_value.sum() + sum(np.vdot(by_value, e) for e in self.polynomials[1:])
            slopes.append(order_variances[-1] * (np.vdot(by_value, self._product) - of_orders))
        return np.array(slopes)

    def _by_powers(self, order_variances: Array) -> list[Array]:
        """Return the derivatives in p_1 .. p_Q: d e_q / d p_s = (-1)^(s-1) e_(q-s) / s."""
        beyond = order_variances[:-1] - order_variances[-1]
        return [
            ((-1.0) ** (s - 1) / s) * weighted_sum(beyond[s:], self.polynomials[: self._q + 1 - s])
            for s in range(1, self._q + 1)
        ]

    def by_sums(self, order_variances: Array) -> list[Array]:
        """Return the derivatives in the sums over the choices."""
        slopes = [] if self._by_kernels_alone else self._by_powers(order_variances)
        if self._of_choices is not None:
            slopes.append(order_variances[-1] * self._product)
        return slopes

    def by_kernels(self, order_variances: Array) -> list[Array]:
        """Return the derivatives in the values of each base kernel."""
        if self._by_kernels_alone:
            of_orders = _slopes_one_by_one(
                self._kernels, order_variances[:-1] - order_variances[-1]
            )
            beyond = self._products_of_others(order_variances[-1])
            return [a + b for a, b in zip(of_orders, beyond, strict=True)]
        first, *higher = self._by_powers(order_variances)
        coefficients = [(s + 2) * by_power for s, by_power in enumerate(higher)]
        slopes = self._products_of_others(order_variances[-1])
        for kernel, slope in zip(self._kernels, slopes, strict=True):
            slope += first
            if coefficients:
                # k (c_2 + k (c_3 + ...)), without a power of k
                polynomial = coefficients[-1] * kernel
                for coefficient in coefficients[-2::-1]:
                    polynomial += coefficient
                    polynomial *= kernel
                slope += polynomial
        return slopes

    def _products_of_others(self, order_variance: float) -> list[Array]:
        """Return the variance times prod_{v != u} (1 + k~_v), for each base kernel u; or zeros.

        By products from both ends: no factor is divided out, for it may be zero.
        """
        if self._of_choices is None:
            return [np.zeros_like(kernel) for kernel in self._kernels]
        products = [order_variance * self._of_choices] if self._kernels else []
        for factor in self._factors[:-1]:
            products.append(products[-1] * factor)
        after = np.ones_like(self._of_choices)
        for factor, product in zip(self._factors[::-1], products[::-1], strict=False):
            product *= after
            after *= factor
        return products
