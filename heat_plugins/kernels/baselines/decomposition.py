"""Random decompositions: sums over components of products of base kernels.

Notation
    ===========  =====================================================================
    k_u          (n, m) base kernel u
    C            sets of base kernels, each a component
    T_c          (g, g) table of a component: the product of the tables of its base kernels, for
                 every combination of their choices
    Z            (n, sum of g) 1 where a point has a combination of choices
    ===========  =====================================================================

    k = mean over c in C of prod_{u in c} k_u        (RDUCB, Ziomek and Bou-Ammar, 2023)

Base kernels that share no component do not interact. The components are a random tree, and a new
one for every number of observations: what one tree cannot say the next one can.

A component of few choices is a small table, and all such components together are one
product Z diag(T_1, T_2, ...) Z^T. Other components are multiplied entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from heat_plugins.kernels.base import (
    CrossCovariance,
    CrossFunction,
    Kernel,
    Prior,
    Pullback,
    Term,
)
from heat_plugins.kernels.base_kernels import BaseKernels, ChoiceKernel, NumberKernel
from heat_plugins.kernels.composite import product_of
from heat_plugins.space import Array

__all__ = ["DecompositionKernel"]


LARGEST_TABLE = 64  # combinations of choices up to which a table is the faster way

_OF_ONE_COLUMN = (ChoiceKernel, NumberKernel)


class DecompositionKernel(Kernel):
    """Mean over components of products of base kernels.

    Args:
        base_kernels: The base kernels.
        components: Sets of base kernels, by their positions.
    """

    # With every observation the components change: many steps would follow one tree.
    warm_steps = 1

    def __init__(
        self, base_kernels: Sequence[Kernel], components: Sequence[tuple[int, ...]]
    ) -> None:
        self._base_kernels = BaseKernels(base_kernels)
        self.components = tuple(components)
        self.bounds = self._base_kernels.bounds
        self.log_rate_mean = 0
        self._tables = _TableComponents(base_kernels, components)
        self._large = [c for c in components if c not in self._tables.components]

    def start(self, total: float) -> Array:
        """Return equal weights that add up to ``total``."""
        return self._base_kernels.start(total / max(len(self._base_kernels), 1))

    def prior(self, theta: Array) -> Prior:
        """Return the prior of the base kernels around a free mean log rate."""
        return self._base_kernels.prior(theta)

    def prepare(self, points: Array) -> _Prepared:
        """Return components of choices as tables, the others as they are."""
        used = {base for component in self._large for base in component}
        of_base_kernels = {base: self._base_kernels.kernels[base].prepare(points) for base in used}
        return _Prepared(self._tables.indicators(points), of_base_kernels)

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        parts = self._base_kernels.split(theta)
        pairs = {
            base: self._base_kernels.kernels[base].matrix_and_pullback(parts[base], its)
            for base, its in prepared.of_base_kernels.items()
        }
        kernels = {base: kernel for base, (kernel, _) in pairs.items()}

        def pullback(by_kernel: Array) -> Array:
            by_kernel = by_kernel / len(self.components)
            gradients = [np.zeros(len(part)) for part in parts]
            self._tables.add_gradients(gradients, parts, by_kernel, prepared.indicators)
            for base, (_, base_pullback) in pairs.items():
                slope = _slope(base, kernels, self._large, by_kernel.shape)
                gradients[base] += base_pullback(slope * by_kernel)
            return np.concatenate([np.zeros(1), *gradients])  # the mean log rate has a prior only

        rows = self._tables.rows(parts, prepared.indicators)
        total = _add_products(prepared.indicators @ rows, kernels, self._large)
        return total / len(self.components), pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        prepared, parts = self.prepare(points), self._base_kernels.split(theta)
        rows = self._tables.rows(parts, prepared.indicators)
        crosses = {
            base: self._base_kernels.kernels[base].cross_covariance(parts[base], points)
            for base in prepared.of_base_kernels
        }

        def covariances(others: Array) -> Array:
            kernels = {base: cross(others) for base, cross in crosses.items()}
            total = self._tables.indicators(others) @ rows
            return _add_products(total, kernels, self._large) / len(self.components)

        return CrossFunction(covariances)

    def terms(self, theta: Array, points: Array) -> list[Term]:
        """Return the components k_c / |C|, if each base kernel is of one parameter."""
        parts, base_kernels = self._base_kernels.split(theta), self._base_kernels.kernels
        columns = {
            i: u.column for i, u in enumerate(base_kernels) if isinstance(u, _OF_ONE_COLUMN)
        }
        if len(columns) < len(base_kernels):
            return []
        crosses = [
            base.cross_covariance(part, points)
            for base, part in zip(base_kernels, parts, strict=True)
        ]
        share = 1.0 / len(self.components)

        def covariances(members: tuple[int, ...], others: Array) -> Array:
            factors = [crosses[base](others) for base in members]
            return share * product_of(factors, factors[0].shape)

        return [
            Term(
                np.array([columns[base] for base in members]),
                share,
                CrossFunction(partial(covariances, members)),
            )
            for members in self.components
        ]


@dataclass(frozen=True, eq=False)
class _Prepared:
    indicators: Array
    of_base_kernels: dict[int, Any]


class _TableComponents:
    """The components of few choices, all of them in one matrix product."""

    def __init__(
        self, base_kernels: Sequence[Kernel], components: Sequence[tuple[int, ...]]
    ) -> None:
        """Keep each with its base kernels, by their positions, and its columns of Z."""
        self._tables: list[tuple[dict[int, ChoiceKernel], slice]] = []
        self.components = []
        self._n_features = 0
        for component in components:
            members = {
                i: base for i in component if isinstance(base := base_kernels[i], ChoiceKernel)
            }
            n_combinations = math.prod(base.distance.n_choices for base in members.values())
            if len(members) == len(component) and n_combinations <= LARGEST_TABLE:
                end = self._n_features + n_combinations
                self._tables.append((members, slice(self._n_features, end)))
                self.components.append(component)
                self._n_features = end

    def indicators(self, points: Array) -> Array:
        """Return Z (n, sum of g)."""
        indicators = np.zeros((len(points), self._n_features))
        rows = np.arange(len(points))
        for members, mine in self._tables:
            combination = np.zeros(len(points), dtype=np.int64)
            for base in members.values():
                combination = combination * base.distance.n_choices + base.prepare(points)
            indicators[rows, mine.start + combination] = 1.0
        return indicators

    def rows(self, parts: Sequence[Array], indicators: Array) -> Array:
        """Return (sum of g, n): every component's table times its columns of Z^T."""
        rows = np.empty((self._n_features, len(indicators)))
        for members, mine in self._tables:
            table = _combined([base.table(parts[i])[0] for i, base in members.items()])
            rows[mine] = table @ indicators[:, mine].T
        return rows

    def add_gradients(
        self, gradients: list[Array], parts: Sequence[Array], by_kernel: Array, indicators: Array
    ) -> None:
        """Add the derivatives in the log weights of the base kernels."""
        product = by_kernel @ indicators  # (n, sum of g)
        for members, mine in self._tables:
            by_table = indicators[:, mine].T @ product[:, mine]  # (g, g)
            tables = {i: base.table(parts[i]) for i, base in members.items()}
            for i in members:
                slope = _combined([its[j == i] for j, its in tables.items()])
                gradients[i] += np.vdot(by_table, slope)


def _combined(tables: Sequence[Array]) -> Array:
    """Return the table of all combinations of choices from those of single parameters."""
    combined: Array = np.ones((1, 1))
    for table in tables:
        combined = np.kron(combined, table).astype(float)
    return combined


def _add_products(
    total: Array, kernels: dict[int, Array], components: Sequence[Sequence[int]]
) -> Array:
    """Add the product of the kernels of every component to the total, in its place."""
    for component in components:
        total += product_of([kernels[base] for base in component], total.shape)
    return total


def _slope(
    base: int,
    kernels: dict[int, Array],
    components: Sequence[Sequence[int]],
    shape: tuple[int, ...],
) -> Array:
    """Return the derivative of the sum of products in the kernel of one base kernel."""
    products = [
        product_of([kernels[other] for other in component if other != base], shape)
        for component in components
        if base in component
    ]
    return sum(products[1:], start=products[0])
