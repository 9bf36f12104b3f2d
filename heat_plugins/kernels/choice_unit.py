"""One discrete parameter as a kernel of its own: a table of correlations of its choices.

Notation
    ===========  =====================================================================
    g            number of choices
    T            (g, g) distances of the choices at a given weight
    table        (g, g) exp(-T)
    ===========  =====================================================================

The kernels that add parameters up need each of them by itself. For choices everything is
in a small table, and a covariance is a look at it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback
from heat_plugins.kernels.features import LOG_REMAINDER
from heat_plugins.space import Array

__all__ = ["ChoiceDistance", "ChoiceUnit", "FixedDistance", "WithRemainder"]

Indices = NDArray[np.int64]
LOG_WEIGHT_BOUNDS = (-16.0, 5.0)


class ChoiceDistance(Protocol):
    """Distances between choices, as a weight varies."""

    n_choices: int

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""


class FixedDistance:
    """The weight times given distances: unordered choices, or choices that are numbers."""

    def __init__(self, distances: Array) -> None:
        self._distances = distances
        self.n_choices = len(distances)

    @staticmethod
    def unordered(n_choices: int) -> FixedDistance:
        """Return distance 1 between any two choices."""
        return FixedDistance(1.0 - np.eye(n_choices))

    @staticmethod
    def of_places(places: Array) -> FixedDistance:
        """Return squared distances between choices at places (g,)."""
        return FixedDistance((places[:, None] - places[None, :]) ** 2)

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""
        return weight * self._distances, self._distances


class WithRemainder:
    """Distances on a graph, and a share of the weight for what the graph does not say."""

    def __init__(self, distance: ChoiceDistance) -> None:
        self._distance = distance
        self.n_choices = distance.n_choices
        self._remainder = np.exp(LOG_REMAINDER) * (1.0 - np.eye(distance.n_choices))

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""
        distances, slopes = self._distance.table(weight)
        return distances + weight * self._remainder, slopes + self._remainder


class ChoiceUnit(Kernel):
    """exp(-T) on one column; the only hyperparameter is the log weight.

    Its weight has no prior here: whoever holds the unit ties the weights of units together.
    """

    def __init__(self, column: int, distance: ChoiceDistance, name: str) -> None:
        self.column = column
        self.distance = distance
        self.name = name
        self.bounds = np.array([LOG_WEIGHT_BOUNDS])
        self.level = 0

    def start(self, total: float) -> Array:
        """Return the log of the total."""
        return np.array([np.log(total)])

    def prior(self, theta: Array) -> Prior:
        """Return nothing."""
        return 0.0, np.zeros(1)

    def prepare(self, points: Array) -> Indices:
        """Return the codes (n,)."""
        return points[:, self.column].astype(np.int64)

    def table(self, theta: Array) -> tuple[Array, Array]:
        """Return correlations (g, g) of the choices and their slope in the log weight."""
        weight = float(np.exp(theta[0]))
        distances, by_weight = self.distance.table(weight)
        table = np.exp(-distances)
        return table, -table * by_weight * weight

    def matrix(self, theta: Array, prepared: Indices) -> Array:
        """Return the kernel matrix (n, n)."""
        matrix: Array = self.table(theta)[0][prepared][:, prepared]
        return matrix

    def matrix_and_pullback(self, theta: Array, prepared: Indices) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        table, slope = self.table(theta)
        indicator = np.zeros((len(prepared), self.distance.n_choices))
        indicator[np.arange(len(prepared)), prepared] = 1.0

        def pullback(by_kernel: Array) -> Array:
            return np.array([np.vdot(indicator.T @ (by_kernel @ indicator), slope)])

        return table[prepared][:, prepared], pullback

    def given(self, theta: Array, points: Array) -> CrossCovariance:
        """Return covariances with observations (n, d)."""
        return _ChoiceCrossCovariance(self.column, self.table(theta)[0][:, self.prepare(points)])


class _ChoiceCrossCovariance(CrossCovariance):
    """Rows of a table."""

    def __init__(self, column: int, rows: Array) -> None:
        self._column = column
        self._rows = rows  # (g, n)

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        covariances: Array = self._rows[points[:, self._column].astype(np.int64)]
        return covariances

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,), and no slopes: codes do not move."""
        return self._rows[int(point[self._column])], np.zeros((self._rows.shape[1], len(columns)))
