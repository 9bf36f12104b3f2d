"""Kernel interface: matrix, pullback, cross-covariance, prior.

Notation
    ===========  =====================================================================
    theta        (p,) hyperparameters of the kernel
    K            (n, n) kernel matrix of the observations
    B            (n, n) derivative of some number in K
    pullback     turns B into the derivative of that number in theta
    ===========  =====================================================================

A kernel is a function of two points: what else is in a batch changes nothing. Its variance is
one, or one in the mean over all points of the space: the signal variance belongs to the surrogate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heat_plugins.space import Array, Indices, apply_changes

__all__ = [
    "STARTING_TOTALS",
    "CrossCovariance",
    "CrossFunction",
    "Kernel",
    "Prior",
    "Pullback",
    "Term",
    "central_differences",
    "normal_prior",
    "points_around",
]

Pullback = Callable[[Array], Array]
Prior = tuple[float, Array]

# Where a fit may start: totals of the weights, from "all points alike" to "every mismatch
# decides".
STARTING_TOTALS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0)

DIFFERENCE_STEP = 1e-5  # of central differences in a coordinate


class CrossCovariance(ABC):
    """Covariances between any points and the observations, hyperparameters given."""

    # Whether every point has the covariance one with itself.
    has_unit_diagonal = True
    # Whether the process has another mean than zero.
    has_mean = False

    @abstractmethod
    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return np.ones(len(points))

    def with_diagonal(self, points: Array) -> tuple[Array, Array]:
        """Return both: covariances (m, n) with the observations, (m,) with themselves."""
        return self(points), self.diagonal(points)

    def moments(self, points: Array) -> tuple[Array, Array, Array]:
        """Return what :meth:`with_diagonal` returns, and means (m,) of points (m, d)."""
        return *self.with_diagonal(points), np.zeros(len(points))

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return covariances (N, n) of a point (d,) after each of N single changes."""
        return self(apply_changes(point, columns, coordinates))

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c) in some columns."""
        covariances = self(points_around(point, columns))
        return covariances[0], central_differences(covariances)

    def own_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the covariance of a point (d,) with itself, and its slopes (c,)."""
        if self.has_unit_diagonal:
            return 1.0, np.zeros(len(columns))
        diagonal = self.diagonal(points_around(point, columns))
        return float(diagonal[0]), central_differences(diagonal[:, None])[0]

    def slopes_with_own(self, point: Array, columns: Indices) -> tuple[Array, Array, float, Array]:
        """Return both: :meth:`slopes`, then :meth:`own_slopes`."""
        return *self.slopes(point, columns), *self.own_slopes(point, columns)


class CrossFunction(CrossCovariance):
    """Covariances that are nothing but a function of points (m, d), which returns (m, n)."""

    def __init__(self, function: Callable[[Array], Array]) -> None:
        self._function = function

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self._function(points)


class Term(NamedTuple):
    """A term of a kernel that is a sum: a function of some columns (c,) only."""

    columns: Indices
    variance: float  # of any point
    covariances: CrossCovariance  # of points (m, d) with the observations, (m, n)


def points_around(point: Array, columns: Indices) -> Array:
    """Return the point (d,), then points a step above and a step below it in each column."""
    place = point[columns]
    steps = np.concatenate([place + DIFFERENCE_STEP, place - DIFFERENCE_STEP])
    return np.concatenate([point[None], apply_changes(point, np.tile(columns, 2), steps)])


def central_differences(around: Array) -> Array:
    """Return slopes (n, c) from values (1 + 2c, n) at the points of :func:`points_around`."""
    n_columns = len(around) // 2
    above, below = around[1 : n_columns + 1], around[n_columns + 1 :]
    return (above - below).T / (2.0 * DIFFERENCE_STEP)


class Kernel(ABC):
    """A family of kernels on the points of a space.

    Attributes:
        bounds: (p, 2) lowest and highest hyperparameters.
        log_rate_mean: Which hyperparameter is the prior mean of its log weights; None if there
            is no such thing. Kernels that are base kernels of a larger one are compared by it.
        warm_steps: How many steps a fit takes from hyperparameters of nearly the same data.
        has_mean: Whether the process has another mean than zero.
    """

    bounds: Array
    log_rate_mean: int | None = None
    warm_steps: int = 4
    has_mean = False

    @property
    def n_hyperparameters(self) -> int:
        """The number p of hyperparameters."""
        return len(self.bounds)

    @abstractmethod
    def start(self, total: float) -> Array:
        """Return hyperparameters (p,) whose weights add up to ``total``."""

    @abstractmethod
    def prior(self, theta: Array) -> Prior:
        """Return minus the log prior density and its gradient (p,)."""

    def starts(self, total: float) -> list[Array]:
        """Return hyperparameters (p,) that a fit may start from, whose weights add up so."""
        return [self.start(total)]

    @abstractmethod
    def prepare(self, points: Array) -> Any:
        """Return what of the observations (n, d) does not depend on the hyperparameters."""

    def matrix(self, theta: Array, prepared: Any) -> Array:
        """Return the kernel matrix (n, n) of prepared observations."""
        return self.matrix_and_pullback(theta, prepared)[0]

    @abstractmethod
    def matrix_and_pullback(self, theta: Array, prepared: Any) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n), and its pullback for symmetric arguments."""

    def mean_and_pullback(self, theta: Array, prepared: Any) -> tuple[Array, Pullback]:
        """Return the mean (n,) at prepared observations, and its pullback."""
        raise NotImplementedError("a kernel with a mean says what that is")

    @abstractmethod
    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""

    def terms(self, theta: Array, points: Array) -> list[Term]:
        """Return the terms of a sum over columns, given observations (n, d); none for no sum."""
        return []


def normal_prior(values: Array, centre: Array | float, spread: float) -> Prior:
    """Return minus a normal log density, without its constant, and its gradient."""
    deviations = (values - centre) / spread
    return 0.5 * float(deviations @ deviations), deviations / spread
