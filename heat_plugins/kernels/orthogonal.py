"""Orthogonal (ANOVA) base kernels: mean effects removed (OAK, Lu et al., 2022).

Notation
    ===========  =====================================================================
    k            (n, m) base kernel
    m            (n,) mean covariance of points with the reference points
    M            the mean of that over the reference points
    k~           k / M - m m' / M^2, the orthogonal base kernel
    ===========  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.kernels.base import Kernel, Pullback
from heat_plugins.space import Array, Indices

__all__ = [
    "OrthogonalBaseKernel",
    "Reference",
    "mean_variance",
    "orthogonal_kernel_matrix",
    "quadrature",
]

N_NODES = 16  # of the quadrature over a number


def quadrature() -> tuple[Array, Array]:
    """Return nodes (r,) and weights (r,) of Gauss and Legendre's quadrature over [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


@dataclass(frozen=True, eq=False)
class Reference:
    """Points that stand for "all values alike" of one base kernel: (r, d) and shares (r,)."""

    points: Array
    shares: Array


def mean_variance(
    base: Kernel, part: Array, prepared: Any, shares: Array, *, orthogonal: bool
) -> tuple[float, Array]:
    """Return the mean of k~(x, x) over prepared reference points, and its gradient.

    The gradient is that in the hyperparameters of the base kernel, its part of all; each reference
    point counts for its share (r,).
    """
    kernel, pullback = base.matrix_and_pullback(part, prepared)  # (r, r)
    own = float(shares @ np.diagonal(kernel))
    if not orthogonal:
        return own, pullback(np.diag(shares))
    m = kernel @ shares
    mean = float(shares @ m)
    square = float(shares @ m**2)
    by_mean = -own / mean**2 + 2.0 * square / mean**3
    by_kernel = np.diag(shares) / mean + by_mean * np.outer(shares, shares)
    # Half above and half below the diagonal: pullbacks take symmetric arguments.
    by_m = np.outer(shares * m, shares) / mean**2
    return own / mean - square / mean**2, pullback(by_kernel - by_m - by_m.T)


def orthogonal_kernel_matrix(
    base: Kernel, part: Array, prepared: Any, n: int, shares: Array, *, orthogonal: bool
) -> tuple[Array, Pullback]:
    """Return the kernel matrix (n, n), without its mean if orthogonal, and its pullback.

    The base kernel's own matrix covers the observations and, after them, the reference points.
    """
    full, full_pullback = base.matrix_and_pullback(part, prepared)
    own = full[:n, :n]
    if not orthogonal:

        def plain_pullback(by_matrix: Array) -> Array:
            by_full = np.zeros(full.shape)
            by_full[:n, :n] = by_matrix
            return full_pullback(by_full)

        return own, plain_pullback

    m = full[:n, n:] @ shares  # (n,)
    mean = float(shares @ full[n:, n:] @ shares)
    relative = m / mean
    matrix = own / mean
    matrix -= np.outer(relative, relative)

    def pullback(by_matrix: Array) -> Array:
        by_full = np.zeros(full.shape)
        np.divide(by_matrix, mean, out=by_full[:n, :n])
        by_m = by_matrix @ m
        by_mean = (
            -float(np.einsum("ij,ij->", by_matrix, own)) / mean**2
            + 2.0 * float(m @ by_m) / mean**3
        )
        by_m *= -2.0 / mean**2
        # Half above and half below the diagonal: pullbacks take symmetric arguments.
        by_full[:n, n:] = 0.5 * np.outer(by_m, shares)
        by_full[n:, :n] = by_full[:n, n:].T
        by_full[n:, n:] = by_mean * np.outer(shares, shares)
        return full_pullback(by_full)

    return matrix, pullback


class OrthogonalBaseKernel:
    """An orthogonal base kernel with its hyperparameters: no mean effect is left in it.

    With m the mean covariance of a point with the reference points and M the mean of that,
    k~ = k / M - m m' / M^2. A plain base kernel has m = 0 and M = 1.
    """

    def __init__(self, base: Kernel, part: Array, reference: Reference, orthogonal: bool) -> None:
        self._orthogonal = orthogonal
        self._shares = reference.shares
        self._at_reference = base.cross_covariance(part, reference.points)
        self.mean = 1.0
        if orthogonal:
            self.mean = float(reference.shares @ self.means(reference.points))

    def means(self, points: Array) -> Array:
        """Return m (k,) of points (k, d)."""
        if not self._orthogonal:
            return np.zeros(len(points))
        return self._at_reference(points) @ self._shares

    def mean_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return m of a point (d,) and its slopes (c,) in some columns."""
        if not self._orthogonal:
            return 0.0, np.zeros(len(columns))
        covariances, slopes = self._at_reference.slopes(point, columns)
        return float(covariances @ self._shares), slopes.T @ self._shares

    def own(self, own: Array, means: Array) -> Array:
        """Return k~(x, x) from k(x, x) and m, arrays (k,) both."""
        return own / self.mean - means**2 / self.mean**2

    def cross(self, covariances: Array, means: Array, observed_means: Array) -> Array:
        """Return k~ (k, n) from k (k, n), m (k,) and m' (n,)."""
        if not self._orthogonal:
            return covariances
        return covariances / self.mean - np.outer(means, observed_means) / self.mean**2
