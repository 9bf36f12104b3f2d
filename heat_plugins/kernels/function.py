"""Custom kernel from a formula, differentiated numerically.

Notation
    ===========  =====================================================================
    c, p         columns that the kernel looks at, hyperparameters
    theta        (p,) hyperparameters
    ===========  =====================================================================

Derivatives are central differences, so a fit costs 2 p kernel matrices a step. A kernel that
proves useful should get them in closed form (``base.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heat_plugins.kernels.base import (
    CrossCovariance,
    CrossFunction,
    Kernel,
    Prior,
    Pullback,
    normal_prior,
)
from heat_plugins.space import Array, Indices

__all__ = ["FunctionKernel"]

Formula = Callable[[Array, Array, Array], Array]

STEP = 1e-5
SPREAD = 2.0  # of the normal prior around where a fit starts


class FunctionKernel(Kernel):
    """k(theta, x, x') on some columns, with k(x, x) = 1.

    Args:
        columns: (c,) the columns.
        function: Returns covariances (m, n) of points (m, c) and (n, c), given theta (p,).
        bounds: Lowest and highest value of each hyperparameter.
        start: (p,) where a fit starts; the middle of the bounds if None.
    """

    def __init__(
        self,
        columns: Indices,
        function: Formula,
        bounds: Sequence[tuple[float, float]],
        start: Sequence[float] | None = None,
    ) -> None:
        self.columns = columns
        self.function = function
        self.bounds = np.array(bounds, dtype=float).reshape(-1, 2)
        self._start = self.bounds.mean(axis=1) if start is None else np.array(start, dtype=float)

    def start(self, total: float) -> Array:
        """Return where a fit starts, whatever the total."""
        return self._start.copy()

    def prior(self, theta: Array) -> Prior:
        """Return minus a normal log density around the start."""
        return normal_prior(theta, self._start, SPREAD)

    def prepare(self, points: Array) -> Array:
        """Return the columns (n, c)."""
        return points[:, self.columns]

    def matrix(self, theta: Array, prepared: Array) -> Array:
        """Return the kernel matrix (n, n)."""
        return self.function(theta, prepared, prepared)

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""

        def pullback(by_kernel: Array) -> Array:
            slopes = [
                self.matrix(theta + step, prepared) - self.matrix(theta - step, prepared)
                for step in STEP * np.eye(len(theta))
            ]
            return np.array([np.vdot(by_kernel, slope) for slope in slopes]) / (2.0 * STEP)

        return self.matrix(theta, prepared), pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        observed = self.prepare(points)
        return CrossFunction(lambda others: self.function(theta, self.prepare(others), observed))
