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

from heat_plugins.kernels.formulas import rate_from_time
from heat_plugins.space import Array
from heat_plugins.space.graphs import laplacian

__all__ = ["GraphDistance", "rate_from_time_slope"]

SMALL_WEIGHT = 1e-3  # at which distances grow in proportion to the weight
SMALLEST_CORRELATION = 1e-12  # below it the sum over eigenvectors is rounding error


def rate_from_time_slope(t: Array | float, g: float) -> Array:
    """Return the derivative of ``rate_from_time`` in t."""
    t = np.asarray(t)
    slopes: Array = -g / (-np.expm1(-t) * (np.expm1(np.minimum(t, 500.0)) + g))
    return slopes


class GraphDistance:
    """Distances between the choices of one parameter, as its weight varies."""

    def __init__(self, adjacency_matrix: Array) -> None:
        eigenvalues, self._vectors = np.linalg.eigh(laplacian(adjacency_matrix))
        self._eigenvalues = np.maximum(eigenvalues, 0.0)
        positive = eigenvalues[eigenvalues > 1e-9 * max(1.0, eigenvalues[-1])]
        self._slowest = float(positive[0]) if len(positive) else 1.0
        self.n_choices = g = len(eigenvalues)
        slope = self._tables(np.array([SMALL_WEIGHT]))[1]
        self._scale = float(slope.sum()) / (g * (g - 1))

    def table(self, weight: float) -> tuple[Array, Array]:
        """Return distances (g, g) and their derivative in the weight."""
        distances, slopes = self.tables(np.array([weight]))
        return distances[0], slopes[0]

    def tables(self, weights: Array) -> tuple[Array, Array]:
        """Return distances (k, g, g) for weights (k,), and their derivatives."""
        distances, slopes = self._tables(weights / self._scale)
        return distances, slopes / self._scale

    def _tables(self, weights: Array) -> tuple[Array, Array]:
        g = self.n_choices
        diagonal = np.arange(g)
        times = rate_from_time(weights, g) / self._slowest
        decay = np.exp(-times[:, None] * self._eigenvalues)[:, None, :]  # (k, 1, g)
        heat = (self._vectors * decay) @ self._vectors.T
        cooling = -(self._vectors * (self._eigenvalues * decay)) @ self._vectors.T
        own = heat[:, diagonal, diagonal]  # (k, g)
        scale = np.sqrt(own)
        correlation = heat / (scale[:, :, None] * scale[:, None, :])
        inside = correlation > SMALLEST_CORRELATION
        distances = -np.log(np.where(inside, correlation, SMALLEST_CORRELATION))
        distances[:, diagonal, diagonal] = 0.0
        own_slope = 0.5 * cooling[:, diagonal, diagonal] / own
        relative = np.divide(cooling, heat, out=np.zeros_like(heat), where=inside)
        by_time = np.where(inside, own_slope[:, :, None] + own_slope[:, None, :] - relative, 0.0)
        by_time[:, diagonal, diagonal] = 0.0
        by_weight = by_time * (rate_from_time_slope(weights, g) / self._slowest)[:, None, None]
        return np.maximum(distances, 0.0), by_weight
