"""The orders of an additive kernel at some pairs of points, from sums over its units.

Notation as in ``orders.py``: power sums p_s, elementary symmetric polynomials e_q, strengths
(Q + 2,) of the constant, the orders and the remainder.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.lazy import cached_property
from heat_plugins.space import Array

__all__ = ["Terms", "elementary_symmetric", "weighted_sum"]


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
        has_remainder: Whether orders beyond Q have a strength.
        sums: Sums over the choices: p_1 .. p_Q, and the log product if there is a remainder.
            They are added to.
        units: Values of every other unit.
    """

    def __init__(
        self, max_order: int, has_remainder: bool, sums: list[Array], units: list[Array]
    ) -> None:
        self._units = units
        self._q = max_order
        powers = sums[: self._q]
        for unit in units:
            power = unit
            for s, total in enumerate(powers):
                total += power
                if s + 1 < len(powers):
                    power = power * unit
        self.polynomials = elementary_symmetric(powers)
        self._of_choices = np.exp(sums[self._q]) if has_remainder else None

    @cached_property
    def _factors(self) -> list[Array]:
        """1 + k~_u of every unit."""
        return [1.0 + unit for unit in self._units]

    @cached_property
    def _product(self) -> Array:
        """prod_u (1 + k~_u)."""
        assert self._of_choices is not None
        product = self._of_choices.copy()
        for factor in self._factors:
            product *= factor
        return product

    def parts(self, strengths: Array) -> list[Array]:
        """Return what each order contributes, the remainder last."""
        parts = [s * e for s, e in zip(strengths[:-1], self.polynomials, strict=True)]
        if self._of_choices is not None:
            rest = self._product - weighted_sum(np.ones(self._q + 1), self.polynomials)
            parts.append(strengths[-1] * rest)
        return parts

    def value(self, strengths: Array) -> Array:
        """Return the sum of all orders."""
        total = weighted_sum(strengths[:-1] - strengths[-1], self.polynomials)
        if self._of_choices is not None:
            total += strengths[-1] * self._product
        return total

    def by_log_strengths(self, strengths: Array, by_value: Array) -> Array:
        """Return the derivatives in the log strengths of the orders and the remainder."""
        slopes = [
            strength * np.vdot(by_value, polynomial)
            for strength, polynomial in zip(strengths[1:-1], self.polynomials[1:], strict=True)
        ]
        if self._of_choices is not None:
            of_orders = by_value.sum() + sum(np.vdot(by_value, e) for e in self.polynomials[1:])
            slopes.append(strengths[-1] * (np.vdot(by_value, self._product) - of_orders))
        return np.array(slopes)

    def _by_powers(self, strengths: Array) -> list[Array]:
        """Return the derivatives in p_1 .. p_Q: d e_q / d p_s = (-1)^(s-1) e_(q-s) / s."""
        beyond = strengths[:-1] - strengths[-1]
        return [
            ((-1.0) ** (s - 1) / s) * weighted_sum(beyond[s:], self.polynomials[: self._q + 1 - s])
            for s in range(1, self._q + 1)
        ]

    def by_sums(self, strengths: Array) -> list[Array]:
        """Return the derivatives in the sums over the choices."""
        slopes = self._by_powers(strengths)
        if self._of_choices is not None:
            slopes.append(strengths[-1] * self._product)
        return slopes

    def by_units(self, strengths: Array) -> list[Array]:
        """Return the derivatives in the values of each unit."""
        first, *higher = self._by_powers(strengths)
        coefficients = [(s + 2) * by_power for s, by_power in enumerate(higher)]
        slopes = self._products_of_others(strengths[-1])
        for unit, slope in zip(self._units, slopes, strict=True):
            slope += first
            if coefficients:
                # k (c_2 + k (c_3 + ...)), without a power of k
                polynomial = coefficients[-1] * unit
                for coefficient in coefficients[-2::-1]:
                    polynomial += coefficient
                    polynomial *= unit
                slope += polynomial
        return slopes

    def _products_of_others(self, strength: float) -> list[Array]:
        """Return the strength times prod_{v != u} (1 + k~_v), for each unit u; or zeros.

        By products from both ends: no factor is divided out, for it may be zero.
        """
        if self._of_choices is None:
            return [np.zeros_like(unit) for unit in self._units]
        products = [strength * self._of_choices] if self._units else []
        for factor in self._factors[:-1]:
            products.append(products[-1] * factor)
        after = np.ones_like(self._of_choices)
        for factor, product in zip(self._factors[::-1], products[::-1], strict=False):
            product *= after
            after *= factor
        return products
