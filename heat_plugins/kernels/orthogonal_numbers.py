"""Orthogonal base kernels of all numbers of an additive kernel at once.

Notation
    ===========  =====================================================================
    c, n, m, r   numbers, observations, candidates, nodes of the quadrature
    w            (c,) weights
    k            (c, n, m) exp(-w (x - x')^2), one kernel for each number
    m            (c, n) mean of k over all values, by quadrature
    M            (c,) the mean of that
    k~           k / M - m m' / M^2; plain base kernels have m = 0 and M = 1
    ===========  =====================================================================

The same as ``NumberKernel`` and ``orthogonal.py`` one by one, in few passes over large arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heat_plugins.kernels.base import Pullback
from heat_plugins.kernels.features import NUMERIC_WEIGHT
from heat_plugins.kernels.orthogonal import Reference
from heat_plugins.space import Array, Indices

__all__ = ["OrthogonalNumbers", "PreparedNumbers"]


@dataclass(frozen=True, eq=False)
class PreparedNumbers:
    """Squared differences: (c, n, n) of observations, (c, n, r) to the nodes."""

    between: Array
    to_nodes: Array


class OrthogonalNumbers:
    """Some numeric columns, each a base kernel of an additive kernel.

    Args:
        columns: (c,) the columns.
        references: What "all values alike" means for each of them.
        orthogonal: Whether mean effects are removed.
    """

    def __init__(
        self, columns: Indices, references: Sequence[Reference], orthogonal: bool
    ) -> None:
        self.columns = columns
        self.orthogonal = orthogonal
        nodes = [
            reference.points[:, column]
            for column, reference in zip(columns, references, strict=True)
        ]
        # All of them use the same rule, so the nodes are one array (c, r).
        self.nodes = np.array(nodes) if nodes else np.empty((0, 0))
        self.shares = references[0].shares if len(columns) else np.empty(0)
        self._between_nodes = _squared(self.nodes, self.nodes)  # (c, r, r)

    def prepare(self, points: Array) -> PreparedNumbers:
        """Return squared differences of points (n, d)."""
        places = points[:, self.columns].T  # (c, n)
        return PreparedNumbers(_squared(places, places), _squared(places, self.nodes))

    def mean_of_means(self, weights: Array) -> Array:
        """Return M (c,)."""
        if not self.orthogonal:
            return np.ones(len(weights))
        between: Array = np.exp(-weights[:, None, None] * self._between_nodes)
        return between @ self.shares @ self.shares

    def mean_variances(self, log_weights: Array) -> tuple[Array, Array]:
        """Return (c,) the mean of k~(x, x) over all values, and its slopes in log weights."""
        if not self.orthogonal:
            return np.ones(len(log_weights)), np.zeros(len(log_weights))
        weights = weights_of(log_weights)[:, None, None]
        between = np.exp(-weights * self._between_nodes)  # (c, r, r)
        at_nodes = between @ self.shares  # (c, r)
        slopes = -weights[:, 0] * ((between * self._between_nodes) @ self.shares)  # (c, r)
        mean, mean_slope = at_nodes @ self.shares, slopes @ self.shares  # (c,)
        square = at_nodes**2 @ self.shares
        by_mean = -1.0 / mean**2 + 2.0 * square / mean**3
        square_slope = 2.0 * (at_nodes * slopes) @ self.shares
        variances: Array = 1.0 / mean - square / mean**2
        return variances, by_mean * mean_slope - square_slope / mean**2

    def matrices(self, log_weights: Array, prepared: PreparedNumbers) -> tuple[Array, Pullback]:
        """Return k~ (c, n, n) and its pullback, which takes symmetric (c, n, n)."""
        weights = weights_of(log_weights)[:, None, None]
        mean = self.mean_of_means(weights[:, 0, 0])  # (c,)
        # New large arrays cost more than the arithmetic: every step that can is in place.
        scaled = prepared.between * -weights
        scaled -= np.log(mean)[:, None, None]
        np.exp(scaled, out=scaled)  # k / M
        if not self.orthogonal:

            def plain_pullback(by_matrices: Array) -> Array:
                by_kernel = by_matrices * scaled
                return -weights[:, 0, 0] * _inner(by_kernel, prepared.between)

            return scaled, plain_pullback

        to_nodes = np.exp(-weights * prepared.to_nodes)
        relative = to_nodes @ self.shares / mean[:, None]  # m / M (c, n)
        matrices = relative[:, :, None] * relative[:, None, :]
        np.subtract(scaled, matrices, out=matrices)

        def pullback(by_matrices: Array) -> Array:
            # Slopes of m / M and log M in the log weights.
            m_slope = -weights[:, 0] * ((to_nodes * prepared.to_nodes) @ self.shares)
            between_nodes = np.exp(-weights * self._between_nodes) * self._between_nodes
            log_mean_slope = -weights[:, 0, 0] * (between_nodes @ self.shares @ self.shares) / mean
            relative_slope = m_slope / mean[:, None] - relative * log_mean_slope[:, None]
            by_relative = -2.0 * np.matmul(by_matrices, relative[:, :, None])[:, :, 0]  # (c, n)
            by_scaled = by_matrices * scaled
            gradient: Array = (
                -weights[:, 0, 0] * _inner(by_scaled, prepared.between)
                - by_scaled.sum(axis=(1, 2)) * log_mean_slope
                + (by_relative * relative_slope).sum(axis=1)
            )
            return gradient

        return matrices, pullback

    def cross_covariance(self, log_weights: Array, points: Array) -> NumbersCrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        return NumbersCrossCovariance(self, log_weights, points)


class NumbersCrossCovariance:
    """Covariances of numbers with observations, hyperparameters given."""

    def __init__(self, numbers: OrthogonalNumbers, log_weights: Array, points: Array) -> None:
        weights = weights_of(log_weights)
        self._numbers = numbers
        self._scales = np.sqrt(weights)[:, None]  # (c, 1)
        self._places = self._scales * points[:, numbers.columns].T  # (c, n)
        self._nodes = self._scales * numbers.nodes  # (c, r)
        self._mean = numbers.mean_of_means(weights)[:, None]  # (c, 1)
        self._log_mean = np.log(self._mean)
        self._observed = self._relative_means(self._places)  # (c, n), m' / M

    def _relative_means(self, places: Array) -> Array:
        """Return m / M (c, k) of scaled places (c, k)."""
        if not self._numbers.orthogonal:
            return np.zeros(places.shape)
        to_nodes = _gaussian(places, self._nodes, self._log_mean)
        return to_nodes @ self._numbers.shares

    def means_and_places(self, points: Array) -> tuple[Array, Array]:
        """Return m / M (c, k) and scaled places (c, k) of points (k, d)."""
        places = self._scales * points[:, self._numbers.columns].T
        return self._relative_means(places), places

    def covariances(self, means: Array, places: Array) -> Array:
        """Return k~ (c, k, n) of points with the observations."""
        covariances = _gaussian(places, self._places, self._log_mean)
        if self._numbers.orthogonal:
            covariances -= means[:, :, None] * self._observed[:, None, :]
        return covariances

    def own(self, means: Array) -> Array:
        """Return k~ (c, k) of points with themselves."""
        return 1.0 / self._mean - means**2

    def slopes_with_own(self, point: Array) -> tuple[Array, Array]:
        """Return k~ (c, n + 1) of a point (d,) with the observations, then with itself.

        And their slopes (c, n + 1), each in the number's own column.
        """
        places = self._scales * point[self._numbers.columns, None]  # (c, 1)
        n = self._places.shape[1]
        differences = np.zeros((len(places), n + 1))  # none to itself
        np.subtract(places, self._places, out=differences[:, :n])
        values = np.exp(-np.square(differences) - self._log_mean)
        slopes = (-2.0 * self._scales) * differences * values
        if not self._numbers.orthogonal:
            return values, slopes
        to_nodes = places - self._nodes  # (c, r)
        at_nodes = np.exp(-np.square(to_nodes) - self._log_mean)
        mean = at_nodes @ self._numbers.shares  # (c,)
        mean_slope = -2.0 * self._scales[:, 0] * ((to_nodes * at_nodes) @ self._numbers.shares)
        values[:, :n] -= mean[:, None] * self._observed
        values[:, n] -= mean**2
        slopes[:, :n] -= mean_slope[:, None] * self._observed
        slopes[:, n] = -2.0 * mean * mean_slope
        return values, slopes


def weights_of(log_weights: Array) -> Array:
    """Return w from its logarithm as ``NumberKernel`` has it."""
    return NUMERIC_WEIGHT * np.exp(log_weights)


def _squared(places: Array, others: Array) -> Array:
    """Return squared differences (c, k, l) of places (c, k) and (c, l)."""
    return np.square(places[:, :, None] - others[:, None, :])


def _gaussian(places: Array, others: Array, log_scale: Array) -> Array:
    """Return exp(-(x - x')^2 - log scale), (c, k, l) for places (c, k) and (c, l)."""
    exponent = _squared(places, others)
    exponent += log_scale[:, :, None]
    np.negative(exponent, out=exponent)
    return np.exp(exponent, out=exponent)


def _inner(one: Array, other: Array) -> Array:
    """Return (c,) the sums of products of (c, n, n)."""
    return np.array([np.vdot(a, b) for a, b in zip(one, other, strict=True)])
