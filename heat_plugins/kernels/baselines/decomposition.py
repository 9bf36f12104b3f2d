"""Sums of products over some sets of units: random decompositions.

Notation
    ===========  =====================================================================
    k_u          (n, m) kernel of unit u
    C            sets of units, each a component
    T_c          (g, g) table of a component: the product of the tables of its units, for
                 every combination of their choices
    Z            (n, sum of g) 1 where a point has a combination of choices
    ===========  =====================================================================

    k = mean over c in C of prod_{u in c} k_u        (RDUCB, Ziomek and Bou-Ammar, 2023)

Units that share no component do not interact. The components are a random tree, and a new
one for every number of observations: what one tree cannot say the next one can.

A component of few choices is a small table, and all such components together are one
product Z diag(T_1, T_2, ...) Z^T. Other components are multiplied entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback
from heat_plugins.kernels.choice_unit import ChoiceUnit
from heat_plugins.kernels.units import Units
from heat_plugins.space import Array

__all__ = ["DecompositionKernel"]

Indices = NDArray[np.int64]

LARGEST_TABLE = 64  # combinations of choices up to which a table is the faster way


class DecompositionKernel(Kernel):
    """Mean over components of products of units.

    Args:
        units: The units, each a kernel of its own.
        components: Sets of units, by their positions.
    """

    # With every observation the components change: many steps would follow one tree.
    warm_steps = 1

    def __init__(self, units: Sequence[Kernel], components: Sequence[tuple[int, ...]]) -> None:
        """Lay out the hyperparameters: the level, then those of the units."""
        self._units = Units(units)
        self.components = tuple(components)
        self.bounds = self._units.bounds
        self.level = 0
        small = [c for c in components if self._n_combinations(c) <= LARGEST_TABLE]
        self._large = [c for c in components if c not in small]
        self._tables = _TableComponents([[self._choice(u) for u in c] for c in small], small)

    def start(self, total: float) -> Array:
        """Return equal weights that add up to ``total``."""
        return self._units.start(total / max(len(self._units), 1))

    def prior(self, theta: Array) -> Prior:
        """Return the prior of the units around a free level."""
        return self._units.prior(theta)

    def prepare(self, points: Array) -> _Prepared:
        """Return components of choices as tables, the others as they are."""
        used = {unit for component in self._large for unit in component}
        of_units = {unit: self._units.units[unit].prepare(points) for unit in used}
        return _Prepared(self._tables.indicators(points), of_units)

    def _n_combinations(self, component: Sequence[int]) -> float:
        units = [self._units.units[unit] for unit in component]
        if not all(isinstance(unit, ChoiceUnit) for unit in units):
            return float("inf")
        return float(np.prod([self._choice(unit).distance.n_choices for unit in component]))

    def _choice(self, unit: int) -> ChoiceUnit:
        found = self._units.units[unit]
        assert isinstance(found, ChoiceUnit)
        return found

    def matrix(self, theta: Array, prepared: _Prepared) -> Array:
        """Return the kernel matrix (n, n)."""
        parts = self._units.split(theta)
        kernels = {
            unit: self._units.units[unit].matrix(parts[unit], its)
            for unit, its in prepared.of_units.items()
        }
        return self._mean(parts, prepared, kernels)

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        parts = self._units.split(theta)
        pairs = {
            unit: self._units.units[unit].matrix_and_pullback(parts[unit], its)
            for unit, its in prepared.of_units.items()
        }
        kernels = {unit: kernel for unit, (kernel, _) in pairs.items()}

        def pullback(by_kernel: Array) -> Array:
            by_kernel = by_kernel / len(self.components)
            gradients = [np.zeros(len(part)) for part in parts]
            self._tables.add_gradients(gradients, parts, by_kernel, prepared.indicators)
            for unit, (_, unit_pullback) in pairs.items():
                slope = _slope(unit, kernels, self._large, by_kernel.shape)
                gradients[unit] += unit_pullback(slope * by_kernel)
            return np.concatenate([np.zeros(1), *gradients])  # the level has a prior only

        return self._mean(parts, prepared, kernels), pullback

    def _mean(
        self, parts: Sequence[Array], prepared: _Prepared, kernels: dict[int, Array]
    ) -> Array:
        """Return the mean over the components, (n, n)."""
        rows = self._tables.rows(parts, prepared.indicators)
        total = _add_products(prepared.indicators @ rows, kernels, self._large)
        return total / len(self.components)

    def given(self, theta: Array, points: Array) -> CrossCovariance:
        """Return covariances with observations (n, d)."""
        return _DecompositionCrossCovariance(self, theta, points)


@dataclass(frozen=True, eq=False)
class _Prepared:
    indicators: Array
    of_units: dict[int, Any]


class _TableComponents:
    """Components of few choices, all of them in one matrix product."""

    def __init__(
        self, units: Sequence[Sequence[ChoiceUnit]], components: Sequence[Sequence[int]]
    ) -> None:
        self._units = units
        self._components = components
        sizes = [int(np.prod([u.distance.n_choices for u in members])) for members in units]
        ends = np.cumsum(sizes).astype(np.int64)
        self._slices = [slice(int(e) - s, int(e)) for s, e in zip(sizes, ends, strict=True)]
        self._n_features = int(ends[-1]) if sizes else 0

    def indicators(self, points: Array) -> Array:
        """Return Z (n, sum of g)."""
        indicators = np.zeros((len(points), self._n_features))
        rows = np.arange(len(points))
        for members, mine in zip(self._units, self._slices, strict=True):
            combination = np.zeros(len(points), dtype=np.int64)
            for unit in members:
                codes = points[:, unit.column].astype(np.int64)
                combination = combination * unit.distance.n_choices + codes
            indicators[rows, mine.start + combination] = 1.0
        return indicators

    def rows(self, parts: Sequence[Array], indicators: Array) -> Array:
        """Return (sum of g, n): every component's table times its columns of Z^T."""
        rows = np.empty((self._n_features, len(indicators)))
        for members, component, mine in zip(
            self._units, self._components, self._slices, strict=True
        ):
            table: Array = np.ones((1, 1))
            for unit, index in zip(members, component, strict=True):
                table = np.kron(table, unit.table(parts[index])[0]).astype(float)
            rows[mine] = table @ indicators[:, mine].T
        return rows

    def add_gradients(
        self, gradients: list[Array], parts: Sequence[Array], by_kernel: Array, indicators: Array
    ) -> None:
        """Add the derivatives in the log weights of the units."""
        product = by_kernel @ indicators  # (n, sum of g)
        for members, component, mine in zip(
            self._units, self._components, self._slices, strict=True
        ):
            by_table = indicators[:, mine].T @ product[:, mine]  # (g, g)
            tables = [unit.table(parts[i]) for unit, i in zip(members, component, strict=True)]
            for place, index in enumerate(component):
                slope: Array = np.ones((1, 1))
                for other, (table, its_slope) in enumerate(tables):
                    factor = its_slope if other == place else table
                    slope = np.kron(slope, factor).astype(float)
                gradients[index] += np.vdot(by_table, slope)


class _DecompositionCrossCovariance(CrossCovariance):
    """Means of products of covariances."""

    def __init__(self, kernel: DecompositionKernel, theta: Array, points: Array) -> None:
        prepared = kernel.prepare(points)
        parts = kernel._units.split(theta)
        self._tables = kernel._tables
        self._rows = kernel._tables.rows(parts, prepared.indicators)
        self._large = kernel._large
        self._n_components = len(kernel.components)
        self._crosses = {
            unit: kernel._units.units[unit].given(parts[unit], points)
            for unit in prepared.of_units
        }

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        kernels = {unit: cross(points) for unit, cross in self._crosses.items()}
        total = self._tables.indicators(points) @ self._rows
        return _add_products(total, kernels, self._large) / self._n_components


def _add_products(
    total: Array, kernels: dict[int, Array], components: Sequence[Sequence[int]]
) -> Array:
    """Add the product of the kernels of every component to the total, in its place."""
    for component in components:
        total += _product([kernels[unit] for unit in component], total.shape)
    return total


def _product(kernels: Sequence[Array], shape: tuple[int, ...]) -> Array:
    if not kernels:
        return np.ones(shape)
    product = kernels[0]
    for kernel in kernels[1:]:
        product = product * kernel
    return product


def _slope(
    unit: int,
    kernels: dict[int, Array],
    components: Sequence[Sequence[int]],
    shape: tuple[int, ...],
) -> Array:
    """Return the derivative of the sum of products in the kernel of one unit."""
    products = [
        _product([kernels[other] for other in component if other != unit], shape)
        for component in components
        if unit in component
    ]
    total = products[0].copy()
    for product in products[1:]:
        total += product
    return total
