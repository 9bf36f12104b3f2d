"""Base kernels: one for each parameter, or group of interchangeable ones.

Notation
    ===========  =====================================================================
    g            number of choices
    T            (g, g) distances of the choices at a given weight
    table        (g, g) exp(-T)
    ===========  =====================================================================

Kernels that add parameters up look at each of them by itself, and often. So one number, or one
parameter with choices, has a kernel here without the general machinery of ``DistanceKernel``. For
choices everything is in a small table, and a covariance is a look at it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.kernels.composite import split
from heat_plugins.kernels.distance import (
    LOG_RATE_MEAN_BOUNDS,
    LOG_WEIGHT_BOUNDS,
    LOG_WEIGHT_SPREAD,
)
from heat_plugins.kernels.features import LOG_REMAINDER, NUMERIC_WEIGHT
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.space import Array, Indices

__all__ = [
    "BaseKernels",
    "ChoiceDistance",
    "ChoiceKernel",
    "FixedDistance",
    "NumberKernel",
    "OneWeight",
    "WithRemainder",
]


class BaseKernels:
    """Base kernels one after the other in a vector of hyperparameters, after the mean log rate."""

    def __init__(self, base_kernels: Sequence[Kernel]) -> None:
        self.kernels = tuple(base_kernels)
        self.bounds = np.concatenate(
            [[LOG_RATE_MEAN_BOUNDS], *[base.bounds for base in base_kernels]]
        )

    def __len__(self) -> int:
        """Return the number of base kernels."""
        return len(self.kernels)

    def split(self, theta: Array) -> list[Array]:
        """Return the hyperparameters of each base kernel."""
        return split(theta[1:], self.kernels) if self.kernels else []

    def start(self, share: float) -> Array:
        """Return hyperparameters for which each base kernel has the same share of all weights."""
        starts = [base.start(share) for base in self.kernels]
        return np.concatenate([[np.log(share)], *starts])

    def prior(self, theta: Array) -> Prior:
        """Return minus the log density: the own priors, and log rates around their mean."""
        value, gradient = 0.0, np.zeros(len(theta))
        first = 1
        for base in self.kernels:
            mine = slice(first, first + base.n_hyperparameters)
            own, gradient[mine] = base.prior(theta[mine])
            value += own
            if base.log_rate_mean is not None:
                at = first + base.log_rate_mean
                near, slope = normal_prior(theta[[at]], theta[0], LOG_WEIGHT_SPREAD)
                value += near
                gradient[at] += slope[0]
                gradient[0] -= slope[0]
            first += base.n_hyperparameters
        return value, gradient


class OneWeight(Kernel):
    """A base kernel whose only hyperparameter is the log of its weight.

    The weight has a flat prior here: whoever holds base kernels ties their weights together.
    """

    log_rate_mean = 0

    def start(self, total: float) -> Array:
        """Return the log of the total."""
        return np.array([np.log(total)])

    def prior(self, theta: Array) -> Prior:
        """Flat prior: nothing to add."""
        return 0.0, np.zeros(1)


class NumberKernel(OneWeight):
    """exp(-w (x - x')^2) on one column of numbers; theta is the log of w / ``NUMERIC_WEIGHT``."""

    def __init__(self, column: int) -> None:
        self.column = column
        self.bounds = np.array([LOG_RATE_MEAN_BOUNDS])

    def prepare(self, points: Array) -> Array:
        """Return squared differences (n, n)."""
        places = points[:, self.column]
        return np.square(places[:, None] - places[None, :])

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        exponent = -_weight(theta) * prepared
        kernel = np.exp(exponent)

        def pullback(by_kernel: Array) -> Array:
            return np.array([np.einsum("ij,ij,ij->", by_kernel, kernel, exponent)])

        return kernel, pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        return _NumberCrossCovariance(self.column, _weight(theta), points[:, self.column])


class _NumberCrossCovariance(CrossCovariance):
    """Covariances of numbers."""

    def __init__(self, column: int, weight: float, places: Array) -> None:
        self._column, self._scale = column, np.sqrt(weight)
        self._places = self._scale * places

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        difference = (self._scale * points[:, self._column])[:, None] - self._places
        np.square(difference, out=difference)
        np.negative(difference, out=difference)
        covariances: Array = np.exp(difference, out=difference)
        return covariances

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c)."""
        difference = self._scale * point[self._column] - self._places
        covariances = np.exp(-(difference**2))
        slopes = np.zeros((len(covariances), len(columns)))
        mine = columns == self._column
        slopes[:, mine] = (-2.0 * self._scale * difference * covariances)[:, None]
        return covariances, slopes


def _weight(theta: Array) -> float:
    return float(NUMERIC_WEIGHT * np.exp(theta[0]))


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

    def __init__(self, distance: GraphDistance) -> None:
        self._distance = distance
        self.n_choices = distance.n_choices
        self._remainder = np.exp(LOG_REMAINDER) * (1.0 - np.eye(distance.n_choices))

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""
        distances, slopes = self._distance.table(weight)
        return distances + weight * self._remainder, slopes + self._remainder


ChoiceDistance = FixedDistance | WithRemainder | GraphDistance


class ChoiceKernel(OneWeight):
    """exp(-T) on one column of choices."""

    def __init__(self, column: int, distance: ChoiceDistance) -> None:
        self.column = column
        self.distance = distance
        self.bounds = np.array([LOG_WEIGHT_BOUNDS])

    def prepare(self, points: Array) -> Indices:
        """Return the codes (n,)."""
        return points[:, self.column].astype(np.int64)

    def table(self, theta: Array) -> tuple[Array, Array]:
        """Return correlations (g, g) of the choices and their slope in the log weight."""
        weight = float(np.exp(theta[0]))
        distances, by_weight = self.distance.table(weight)
        table = np.exp(-distances)
        return table, -table * by_weight * weight

    def matrix_and_pullback(self, theta: Array, prepared: Indices) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        table, slope = self.table(theta)

        def pullback(by_kernel: Array) -> Array:
            indicator = np.zeros((len(prepared), self.distance.n_choices))
            indicator[np.arange(len(prepared)), prepared] = 1.0
            return np.array([np.vdot(indicator.T @ (by_kernel @ indicator), slope)])

        return table[prepared][:, prepared], pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        return _ChoiceCrossCovariance(self.column, self.table(theta)[0][:, self.prepare(points)])


class _ChoiceCrossCovariance(CrossCovariance):
    """Rows of a table."""

    def __init__(self, column: int, rows: Array) -> None:
        self._column = column
        self._rows = rows  # (g, n)

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self._rows[points[:, self._column].astype(np.int64)]

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,), and no slopes: codes do not move."""
        return self._rows[int(point[self._column])], np.zeros((self._rows.shape[1], len(columns)))
