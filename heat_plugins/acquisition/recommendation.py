"""What earlier studies recommend to one that has no value yet.

Notation
    ===========  =====================================================================
    m_s          posterior mean of an objective in an earlier study, in deviations
    z            how many deviations a constraint, or failure, is expected to stay below
                 its limit
    ===========  =====================================================================

    - mean_s m_s(x) + sum log Phi(z)

The variance is left out: what is worth most to a study that is just beginning is a value that is
good, and near it the evidence shows soonest whether the studies are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from heat_plugins.gp.transfer_kernel import EarlierModel
from heat_plugins.kernels.base import central_differences, points_around
from heat_plugins.space import Array, Indices, apply_changes

__all__ = ["Recommendation"]


class Recommendation:
    """Minus what earlier studies expect of the objectives, likely failures and the like avoided.

    Args:
        objectives: Models of objectives.
        limited: Models of what should stay below a limit.
    """

    def __init__(
        self, objectives: Sequence[EarlierModel], limited: Sequence[EarlierModel]
    ) -> None:
        self._objectives, self._limited = tuple(objectives), tuple(limited)

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        values = np.zeros(len(points))
        for model in self._objectives:
            values -= model.weight * model.mean(points)
        for model in self._limited:
            mean, variance = model.surrogate.posterior(model.place(points))
            values += special.log_ndtr((model.limit - mean) / np.sqrt(variance))
        return values

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        values = self(points_around(point, columns))
        return float(values[0]), central_differences(values[:, None])[0]
