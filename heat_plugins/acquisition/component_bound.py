"""Additive confidence bound, one for each term (RDUCB, Ziomek and Bou Ammar, 2023).

Notation
    ===========  =====================================================================
    mu_c, s_c    posterior mean and deviation of the term c
    b            how many deviations count
    ===========  =====================================================================

    sum over c of b s_c(x_c) - mu_c(x_c)

The means add up to the mean of the sum; the deviations are more than that of the sum. In return
the bound is itself a sum over the terms, whose maximum can be found exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.acquisition.confidence_bound import confidence_bound
from heat_plugins.gp.exact_gp import TermPosterior
from heat_plugins.kernels.base import central_differences, points_around
from heat_plugins.space import Array, Indices, apply_changes

__all__ = ["ComponentBound"]


class ComponentBound:
    """The sum of the bounds of terms, as a function of points.

    Args:
        terms: Their posteriors.
        weight: b.
    """

    def __init__(self, terms: Sequence[TermPosterior], weight: float) -> None:
        self._terms, self._weight = list(terms), weight
        self.components: Sequence[Indices] = [term.columns for term in terms]

    def of_component(self, index: int, points: Array) -> Array:
        """Return the values (n,) of one term at points (n, d)."""
        return confidence_bound(*self._terms[index].posterior(points), self._weight)

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        values = np.zeros(len(points))
        for index in range(len(self._terms)):
            values += self.of_component(index, points)
        return values

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        values = self(points_around(point, columns))
        return float(values[0]), central_differences(values[:, None])[0]
