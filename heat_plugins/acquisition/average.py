"""Acquisition marginalised over samples of the hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from heat_plugins.batch_function import BatchFunction
from heat_plugins.space import Array, Indices

__all__ = ["LogMean"]


class LogMean:
    """log mean_i exp f_i of functions f_i: where these are logarithms, the log of the mean."""

    def __init__(self, functions: Sequence[BatchFunction]) -> None:
        self._functions = list(functions)

    def _mean(self, values: Sequence[Array]) -> Array:
        mean: Array = special.logsumexp(values, axis=0) - np.log(len(self._functions))
        return mean

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        return self._mean([function(points) for function in self._functions])

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self._mean([f.of_changes(point, columns, coordinates) for f in self._functions])

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns.

        d log mean_i exp f_i = sum_i w_i df_i, with w the softmax of f.
        """
        each = [function.value_and_gradient(point, columns) for function in self._functions]
        values, gradients = np.array([v for v, _ in each]), np.array([g for _, g in each])
        return float(self._mean(list(values))), special.softmax(values) @ gradients
