"""The probability that a point is feasible, from surrogates of its constraints.

Notation
    ===========  =====================================================================
    mu, s        posterior mean and deviation of a standardised constraint
    t            where 0 lies on its standardised scale: feasible is at most t
    z            (t - mu) / s
    ===========  =====================================================================

Constraints are taken to be independent, so the probability is the product of Phi(z) over
them (Gardner et al., 2014), and its logarithm is added to that of the improvement.

Success is treated like a noisy constraint: labels, -1 for a complete trial and 1 for a failed
one, are at most 0. Where failures do not depend on the parameters its probability is the same
everywhere, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from heat_plugins.acquisition.log_ei import LOG_SQRT_2PI
from heat_plugins.batch_function import BatchFunction
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.failure_model import FailureModel
from heat_plugins.space import Array, Indices

__all__ = ["LogFeasibility", "Sum", "log_success"]


class LogFeasibility:
    """The log probability that all constraints hold, by their posteriors and limits t."""

    def __init__(self, surrogates: Sequence[Surrogate], limits: Sequence[float]) -> None:
        self._constraints = list(zip(surrogates, limits, strict=True))

    def _sum(self, posterior: Callable[[Surrogate], tuple[Array, Array]]) -> Array:
        logs = []
        for surrogate, limit in self._constraints:
            mean, variance = posterior(surrogate)
            logs.append(special.log_ndtr((limit - mean) / np.sqrt(variance)))
        total: Array = np.sum(logs, axis=0)
        return total

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        return self._sum(lambda surrogate: surrogate.posterior(points))

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self._sum(lambda s: s.posterior_of_changes(point, columns, coordinates))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns.

        d log Phi(z) = phi(z) / Phi(z) dz,  dz = -(dmu + z ds) / s
        """
        value, gradient = 0.0, np.zeros(len(columns))
        for surrogate, limit in self._constraints:
            mean, variance, by_mean, by_variance = surrogate.posterior_gradient(point, columns)
            deviation = np.sqrt(variance)
            z = (limit - mean) / deviation
            log_probability = float(special.log_ndtr(z))
            ratio = np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_probability)
            value += log_probability
            gradient -= ratio * (by_mean + z * by_variance / (2.0 * deviation)) / deviation
        return value, gradient


def log_success(failures: FailureModel | None) -> LogFeasibility | None:
    """Return the log probability that a trial does not fail; None where none has failed."""
    if failures is None:
        return None
    return LogFeasibility([failures.surrogate], [failures.boundary])


class Sum:
    """The sum of functions that are searched, each times its weight."""

    def __init__(self, terms: Sequence[BatchFunction], weights: Sequence[float]) -> None:
        self._terms = tuple(terms)
        self._weights = np.array(weights)

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        total: Array = self._weights @ [term(points) for term in self._terms]
        return total

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        values = [term.of_changes(point, columns, coordinates) for term in self._terms]
        total: Array = self._weights @ values
        return total

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        found = [term.value_and_gradient(point, columns) for term in self._terms]
        values, slopes = zip(*found, strict=True)
        return float(self._weights @ values), self._weights @ slopes
