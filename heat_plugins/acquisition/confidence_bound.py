"""GP-UCB: the confidence bound of values that are minimised (Srinivas et al., 2010)."""

from __future__ import annotations

import math

import numpy as np

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.space import Array, Indices

__all__ = ["ConfidenceBound", "confidence_bound", "exploration"]


def exploration(n: int) -> float:
    """Return how many deviations count after n trials: sqrt(log(2 n) / 2).

    That is the schedule of RDUCB (Ziomek and Bou Ammar, 2023), which is far below what the
    theory asks for.
    """
    return math.sqrt(0.5 * math.log(2.0 * max(n, 1)))


def confidence_bound(mean: Array, variance: Array, weight: float) -> Array:
    """Return the bound (n,) of values with a mean (n,) and a variance (n,): b s - mu."""
    bound: Array = weight * np.sqrt(variance) - mean
    return bound


class ConfidenceBound:
    """Lower confidence bound (minimisation), negated: b s(x) - mu(x).

    The posterior has the mean mu and the deviation s; b is the weight of the latter.
    """

    def __init__(self, surrogate: Surrogate, weight: float) -> None:
        self._surrogate = surrogate
        self._weight = weight

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        return confidence_bound(*self._surrogate.posterior(points), self._weight)

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        changed = self._surrogate.posterior_of_changes(point, columns, coordinates)
        return confidence_bound(*changed, self._weight)

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        mean, variance, by_mean, by_variance = self._surrogate.posterior_gradient(point, columns)
        deviation = math.sqrt(variance)
        slope = self._weight * by_variance / (2.0 * deviation) - by_mean
        return self._weight * deviation - mean, slope
