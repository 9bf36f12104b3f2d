"""One numeric parameter as a kernel of its own: exp(-w (x - x')^2).

It is what ``DistanceKernel`` is for a single number, without the general machinery: kernels
that add parameters up look at each of them by itself, and often.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback
from heat_plugins.kernels.distance import LEVEL_BOUNDS
from heat_plugins.kernels.features import NUMERIC_WEIGHT
from heat_plugins.space import Array

__all__ = ["NumberUnit"]

Indices = NDArray[np.int64]


class NumberUnit(Kernel):
    """The RBF kernel on one column; theta is the log of w / ``NUMERIC_WEIGHT``.

    Its weight has no prior here: whoever holds the unit ties the weights of units together.
    """

    def __init__(self, column: int) -> None:
        self.column = column
        self.bounds = np.array([LEVEL_BOUNDS])
        self.level = 0

    def start(self, total: float) -> Array:
        """Return the log of the total."""
        return np.array([np.log(total)])

    def prior(self, theta: Array) -> Prior:
        """Return nothing."""
        return 0.0, np.zeros(1)

    def prepare(self, points: Array) -> Array:
        """Return squared differences (n, n)."""
        places = points[:, self.column]
        return np.square(places[:, None] - places[None, :])

    def matrix(self, theta: Array, prepared: Array) -> Array:
        """Return the kernel matrix (n, n)."""
        kernel: Array = np.exp(-_weight(theta) * prepared)
        return kernel

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        exponent = -_weight(theta) * prepared
        kernel = np.exp(exponent)

        def pullback(by_kernel: Array) -> Array:
            return np.array([np.einsum("ij,ij,ij->", by_kernel, kernel, exponent)])

        return kernel, pullback

    def given(self, theta: Array, points: Array) -> CrossCovariance:
        """Return covariances with observations (n, d)."""
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
