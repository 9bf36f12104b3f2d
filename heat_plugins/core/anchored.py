"""Kernels whose scale is fixed, so that any two sets of points have one covariance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core.combined import Combined, split
from heat_plugins.core.covariance import Covariance, Cross, Prior, Pullback
from heat_plugins.space import Array

__all__ = ["Anchored", "anchored", "leaves_of"]

Indices = NDArray[np.int64]


class Anchored(Covariance):
    """A kernel whose scale does not depend on the points that it is asked about.

    Some kernels of the core have no constant diagonal and are divided by the mean of that of
    the points given. Two sets of points then have two scales, and their matrices are no blocks
    of one covariance. With r(x) the variance of x in units of the mean of fixed reference
    points, which is the same whatever the points, given(X) times mean r(X) / scale is one
    function; the scale is mean r over the observations, as in the core.

    Args:
        inner: The kernel, made of no others.
        theta: (p,) its hyperparameters.
        reference: (r, d) the reference points.
        scale: Mean of r over the observations.
    """

    def __init__(self, inner: Covariance, theta: Array, reference: Array, scale: float) -> None:
        self.inner, self.scale = inner, scale
        self.bounds = inner.bounds
        self._reference = reference
        self._unit = inner.given(theta, reference)

    def mean_variance(self, points: Array) -> float:
        """Return the mean of r over points (n, d)."""
        return 1.0 if self._unit.has_unit_diagonal else float(self._unit.diagonal(points).mean())

    def given(self, theta: Array, points: Array) -> Cross:
        """Return covariances with points (n, d)."""
        cross = self.inner.given(theta, points)
        if cross.has_unit_diagonal:
            return cross
        return _ScaledCross(cross, self.mean_variance(points) / self.scale)

    def start(self, total: float) -> Array:
        """Return what the kernel itself does."""
        return self.inner.start(total)

    def prior(self, theta: Array) -> Prior:
        """Return what the kernel itself does."""
        return self.inner.prior(theta)

    def prepare(self, points: Array) -> Any:
        """Return what the kernel itself does, of the points and the reference points."""
        if self._unit.has_unit_diagonal:
            return self.inner.prepare(points)
        return self.inner.prepare(np.concatenate([points, self._reference])), len(points)

    def matrix(self, theta: Array, prepared: Any) -> Array:
        """Return the kernel matrix (n, n)."""
        return self.matrix_and_pullback(theta, prepared)[0]

    def matrix_and_pullback(self, theta: Array, prepared: Any) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        if self._unit.has_unit_diagonal:
            return self.inner.matrix_and_pullback(theta, prepared)
        of_both, n = prepared
        joint, inner_pullback = self.inner.matrix_and_pullback(theta, of_both)
        # Whatever it was divided by, a matrix has the reference points' own variance as unit.
        unit = self.scale * float(np.diagonal(joint)[n:].mean())
        matrix = joint[:n, :n] / unit

        def pullback(by_matrix: Array) -> Array:
            by_joint = np.zeros(joint.shape)
            by_joint[:n, :n] = by_matrix / unit
            by_unit = -float(np.vdot(by_matrix, matrix)) / unit
            diagonal = np.arange(n, len(joint))
            by_joint[diagonal, diagonal] = by_unit * self.scale / len(diagonal)
            return inner_pullback(by_joint)

        return matrix, pullback


class _ScaledCross(Cross):
    """Covariances times a number."""

    has_unit_diagonal = False

    def __init__(self, inner: Cross, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, l) of points (m, d)."""
        return self._factor * self._inner(points)

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return self._factor * self._inner.diagonal(points)

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (l,) of a point (d,) and their slopes (l, c) in some columns."""
        covariances, slopes = self._inner.slopes(point, columns)
        return self._factor * covariances, self._factor * slopes

    def own_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the covariance of a point (d,) with itself, and its slopes (c,)."""
        own, slopes = self._inner.own_slopes(point, columns)
        return self._factor * own, self._factor * slopes


def leaves_of(covariance: Covariance, theta: Array) -> Iterator[tuple[Covariance, Array]]:
    """Yield the kernels that a kernel is made of, with their hyperparameters."""
    if not isinstance(covariance, Combined):
        yield covariance, theta
        return
    for child, part in zip(covariance.children, split(theta, covariance.children), strict=True):
        yield from leaves_of(child, part)


def anchored(
    covariance: Covariance, theta: Array, reference: Array, scales: Sequence[float] | None = None
) -> Covariance:
    """Return the same kernel with fixed scales of all that it is made of; ones if None."""
    pairs = list(leaves_of(covariance, theta))
    scales = [1.0] * len(pairs) if scales is None else scales
    leaves = (
        Anchored(leaf, part, reference, float(scale))
        for (leaf, part), scale in zip(pairs, scales, strict=True)
    )
    return _with_leaves(covariance, leaves)


def _with_leaves(covariance: Covariance, leaves: Iterator[Anchored]) -> Covariance:
    """Return the same kernel made of other leaves."""
    if not isinstance(covariance, Combined):
        return next(leaves)
    children = [_with_leaves(child, leaves) for child in covariance.children]
    return Combined(children, covariance.how)
