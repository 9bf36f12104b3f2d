"""The heat kernel on a graph of choices, as a table of distances.

Notation
    ===========  =====================================================================
    L            (g, g) Laplacian D - A of the graph, unnormalised
    beta         diffusion time
    H            exp(-beta L), the heat kernel
    w            weight of the parameter, as for unordered choices
    ===========  =====================================================================

On a graph whose vertices are not all alike, such as a path, H has no constant diagonal: at
the ends, where heat can flow away to one side only, more of it stays. In a product over
many parameters these differences multiply and a corner of the space would have many times
the prior variance of its middle. So H is divided by the square root of its diagonal on
both sides, and the table is D = -log of that.

The diffusion time follows from the weight by beta = ln(1 + g / (e^w - 1)) / mu, mu the
smallest positive eigenvalue of L. On the complete graph mu = g, and w is the rate of the
closed form; on any graph it is the rate of a complete graph that forgets as slowly. Weights
are then scaled so that a small one is the mean distance between two choices, as it is on the
complete graph.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.graphs import laplacian
from heat_plugins.space import Array

__all__ = ["GraphDistance", "exchange", "exchange_slope"]

SMALL_WEIGHT = 1e-3  # at which distances grow in proportion to the weight
SMALLEST_CORRELATION = 1e-12  # below it the sum over eigenvectors is rounding error


def exchange(t: float, g: float) -> float:
    """Return ln(1 + g / (e^t - 1)), which turns times into rates and rates into times."""
    return float(np.logaddexp(0.0, np.log(g) - t - np.log(-np.expm1(-t))))


def exchange_slope(t: float, g: float) -> float:
    """Return the derivative of :func:`exchange` in t."""
    return float(-g / (-np.expm1(-t) * (np.expm1(min(t, 500.0)) + g)))


class GraphDistance:
    """Distances between the choices of one parameter, as its weight varies."""

    def __init__(self, adjacency_matrix: Array) -> None:
        """Find the eigenvalues and eigenvectors once."""
        eigenvalues, self._vectors = np.linalg.eigh(laplacian(adjacency_matrix))
        self._eigenvalues = np.maximum(eigenvalues, 0.0)
        positive = eigenvalues[eigenvalues > 1e-9 * max(1.0, eigenvalues[-1])]
        self._slowest = float(positive[0]) if len(positive) else 1.0
        self.n_choices = g = len(eigenvalues)
        slope = self._table(SMALL_WEIGHT)[1]
        self._scale = float(slope.sum()) / (g * (g - 1))

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""
        distance, slope = self._table(weight / self._scale)
        return distance, slope / self._scale

    def _table(self, weight: float) -> tuple[Array, Array]:
        g = self.n_choices
        beta = exchange(weight, g) / self._slowest
        decay = np.exp(-beta * self._eigenvalues)
        heat = (self._vectors * decay) @ self._vectors.T
        cooling = -(self._vectors * (self._eigenvalues * decay)) @ self._vectors.T
        scale = np.sqrt(np.diagonal(heat))
        correlation = heat / np.outer(scale, scale)
        inside = correlation > SMALLEST_CORRELATION
        distance = -np.log(np.where(inside, correlation, SMALLEST_CORRELATION))
        distance.flat[:: g + 1] = 0.0
        own = 0.5 * np.diagonal(cooling) / np.diagonal(heat)
        relative = np.divide(cooling, heat, out=np.zeros_like(heat), where=inside)
        by_beta = np.where(inside, own[:, None] + own[None, :] - relative, 0.0)
        by_beta.flat[:: g + 1] = 0.0
        by_weight = by_beta * (exchange_slope(weight, g) / self._slowest)
        return np.maximum(distance, 0.0), by_weight
