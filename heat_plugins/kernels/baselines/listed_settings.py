"""Kernels whose one hyperparameter is the number of a setting in a list."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from heat_plugins.kernels.base import STARTING_TOTALS, Kernel, Prior, Pullback
from heat_plugins.space import Array

__all__ = ["ListedSettingsKernel"]


class ListedSettingsKernel(Kernel):
    """Kernel with settings that are chosen by the likelihood, not climbed.

    Args:
        n_settings: How many there are, in the order in which points become less alike.
    """

    def __init__(self, n_settings: int) -> None:
        self._last = n_settings - 1.0
        self.bounds = np.array([(0.0, self._last)])

    @staticmethod
    def setting(theta: Array) -> int:
        """Return the number of the setting."""
        return round(float(theta[0]))

    def start(self, total: float) -> Array:
        """Return the number of a setting; those for small totals find points more alike."""
        numbers = np.linspace(0.0, self._last, len(STARTING_TOTALS))
        return np.round([np.interp(np.log(total), np.log(STARTING_TOTALS), numbers)])

    def prior(self, theta: Array) -> Prior:
        """Flat prior: all settings are equally likely."""
        return 0.0, np.zeros(1)

    @abstractmethod
    def matrix(self, theta: Array, prepared: Any) -> Array:
        """Return the kernel matrix (n, n)."""

    def matrix_and_pullback(self, theta: Array, prepared: Any) -> tuple[Array, Pullback]:
        """Return the kernel matrix; it has no slope in the number of a setting."""
        return self.matrix(theta, prepared), lambda by_kernel: np.zeros(1)
