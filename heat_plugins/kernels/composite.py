"""Kernels made of kernels: product, sum, and CoCaBO's mixture of both.

Notation
    ===========  =====================================================================
    K_c          kernel matrix of child c
    theta        hyperparameters of all children one after the other, then the mixture's
    share        of the product in the mixture, in (0, 1)
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.space import Array

__all__ = ["Combined", "product_kernel", "product_of", "split"]

LOGIT_SHARE_BOUNDS = (-6.0, 6.0)
LOGIT_SHARE_SPREAD = 2.0


def split(theta: Array, children: Sequence[Kernel]) -> list[Array]:
    """Return the hyperparameters of each child."""
    ends = np.cumsum([child.n_hyperparameters for child in children])
    return np.split(theta[: ends[-1]], ends[:-1])


class Combined(Kernel):
    """Product, sum or CoCaBO mixture of kernels.

    ``product``: prod_c K_c. ``sum``: mean of the K_c. ``mixture`` (Ru et al., 2020):
    share * product + (1 - share) * sum, the share a hyperparameter.
    """

    def __init__(
        self, children: Sequence[Kernel], how: Literal["product", "sum", "mixture"]
    ) -> None:
        self.children = tuple(children)
        self.how = how
        bounds = [child.bounds for child in children]
        if how == "mixture":
            bounds.append(np.array([LOGIT_SHARE_BOUNDS]))
        self.bounds = np.concatenate(bounds)

    def _share(self, theta: Array) -> float:
        """Return how much the product counts."""
        if self.how == "mixture":
            return float(1.0 / (1.0 + np.exp(-theta[-1])))
        return 1.0 if self.how == "product" else 0.0

    def start(self, total: float) -> Array:
        """Return the starts of the children, the total divided among them."""
        starts = [child.start(total / len(self.children)) for child in self.children]
        return np.concatenate([*starts, np.zeros(int(self.how == "mixture"))])

    def prior(self, theta: Array) -> Prior:
        """Return the priors of the children together."""
        priors = [
            child.prior(part)
            for child, part in zip(self.children, split(theta, self.children), strict=True)
        ]
        if self.how == "mixture":
            priors.append(normal_prior(theta[-1:], 0.0, LOGIT_SHARE_SPREAD))
        return sum(value for value, _ in priors), np.concatenate([g for _, g in priors])

    def prepare(self, points: Array) -> list[Any]:
        """Return what the children prepare."""
        return [child.prepare(points) for child in self.children]

    def matrix(self, theta: Array, prepared: list[Any]) -> Array:
        """Return the kernel matrix (n, n)."""
        parts = split(theta, self.children)
        kernels = [
            child.matrix(part, its)
            for child, part, its in zip(self.children, parts, prepared, strict=True)
        ]
        return _combine(kernels, self._share(theta))

    def matrix_and_pullback(self, theta: Array, prepared: list[Any]) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        parts = split(theta, self.children)
        pairs = [
            child.matrix_and_pullback(part, its)
            for child, part, its in zip(self.children, parts, prepared, strict=True)
        ]
        kernels, pullbacks = zip(*pairs, strict=True)
        share = self._share(theta)

        def pullback(by_kernel: Array) -> Array:
            gradients = [
                child_pullback(by_kernel * _slope(kernels, i, share))
                for i, child_pullback in enumerate(pullbacks)
            ]
            if self.how == "mixture":
                difference = _combine(kernels, 1.0) - _combine(kernels, 0.0)
                by_share = float(np.vdot(by_kernel, difference))
                gradients.append(np.array([by_share * share * (1.0 - share)]))
            return np.concatenate(gradients)

        return _combine(kernels, share), pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        parts = split(theta, self.children)
        crosses = [
            child.cross_covariance(part, points)
            for child, part in zip(self.children, parts, strict=True)
        ]
        return _CombinedCrossCovariance(crosses, self._share(theta))


def product_of(kernels: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Return the product of kernels of a shape, ones if there are none."""
    product = np.ones(shape)
    for kernel in kernels:
        product *= kernel
    return product


def _combine(kernels: Sequence[Array], share: float) -> Array:
    """Return share * product + (1 - share) * mean."""
    if share == 1.0:
        return product_of(kernels, kernels[0].shape)
    mean: Array = sum(kernels[1:], start=kernels[0]) / len(kernels)
    if share == 0.0:
        return mean
    return share * product_of(kernels, kernels[0].shape) + (1.0 - share) * mean


def _slope(kernels: Sequence[Array], i: int, share: float) -> Array:
    """Return the derivative of :func:`_combine` in one of the kernels."""
    slope = np.full(kernels[i].shape, (1.0 - share) / len(kernels))
    if share > 0.0:
        others = [kernel for j, kernel in enumerate(kernels) if j != i]
        slope += share * product_of(others, slope.shape)
    return slope


class _CombinedCrossCovariance(CrossCovariance):
    """Covariances of all children, combined."""

    def __init__(self, crosses: Sequence[CrossCovariance], share: float) -> None:
        self._crosses = crosses
        self._share = share
        self.has_unit_diagonal = all(cross.has_unit_diagonal for cross in crosses)

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return _combine([cross(points) for cross in self._crosses], self._share)

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return _combine([cross.diagonal(points) for cross in self._crosses], self._share)

    def of_changes(self, point: Array, columns: Any, coordinates: Array) -> Array:
        """Return covariances (N, n) after single changes."""
        changed = [cross.of_changes(point, columns, coordinates) for cross in self._crosses]
        return _combine(changed, self._share)

    def slopes(self, point: Array, columns: Any) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c)."""
        covariances, slopes = zip(
            *[cross.slopes(point, columns) for cross in self._crosses], strict=True
        )
        by_point = np.zeros_like(slopes[0])
        for i, slope in enumerate(slopes):
            by_point += _slope(covariances, i, self._share)[:, None] * slope
        return _combine(covariances, self._share), by_point


def product_kernel(factors: Iterable[Kernel]) -> Kernel:
    """Return the product of some kernels, or the kernel itself where it is the only one."""
    factors = list(factors)
    return factors[0] if len(factors) == 1 else Combined(factors, "product")
