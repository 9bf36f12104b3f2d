"""What kernels made of units have in common: a level for all, and a prior around it.

A unit is a parameter, or a group of interchangeable ones, as a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.kernels.base import Kernel, Prior, normal_prior
from heat_plugins.kernels.composite import split
from heat_plugins.kernels.distance import LEVEL_BOUNDS, LOG_WEIGHT_SPREAD
from heat_plugins.space import Array

__all__ = ["Units"]


class Units:
    """Units one after the other in a vector of hyperparameters, after their common level."""

    def __init__(self, units: Sequence[Kernel]) -> None:
        """Lay out the level, then the hyperparameters of each unit."""
        self.units = tuple(units)
        self.bounds = np.concatenate([[LEVEL_BOUNDS], *[unit.bounds for unit in units]])

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.units)

    def split(self, theta: Array) -> list[Array]:
        """Return the hyperparameters of each unit."""
        return split(theta[1:], self.units) if self.units else []

    def start(self, share: float) -> Array:
        """Return hyperparameters for which each unit has the same share of all weights."""
        starts = [unit.start(share) for unit in self.units]
        return np.concatenate([[np.log(share)], *starts])

    def prior(self, theta: Array) -> Prior:
        """Return minus the log density: every unit's own prior, its level near the common one."""
        value, gradient = 0.0, np.zeros(len(theta))
        first = 1
        for unit in self.units:
            mine = slice(first, first + unit.n_hyperparameters)
            own, gradient[mine] = unit.prior(theta[mine])
            value += own
            if unit.level is not None:
                at = first + unit.level
                near, slope = normal_prior(theta[[at]], theta[0], LOG_WEIGHT_SPREAD)
                value += near
                gradient[at] += slope[0]
                gradient[0] -= slope[0]
            first += unit.n_hyperparameters
        return value, gradient
