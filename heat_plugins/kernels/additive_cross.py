"""Covariances of candidates with the observations, for additive kernels (additive.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heat_plugins.kernels.base import CrossCovariance
from heat_plugins.kernels.orthogonal import OrthogonalBaseKernel
from heat_plugins.space import Array, Indices

if TYPE_CHECKING:
    from heat_plugins.kernels.additive import OrdersKernel

__all__ = ["OrdersCrossCovariance"]


class OrdersCrossCovariance(CrossCovariance):
    """Covariances from sums over the choices and values of the base kernels."""

    def __init__(self, kernel: OrdersKernel, theta: Array, points: Array) -> None:
        self._kernel = kernel
        self._log_weights, of_base_kernels, _ = kernel.split(theta)
        self._order_variances = kernel.order_variances(theta)
        self._choices = kernel.choice_sums.weighted(self._log_weights, kernel.choices(points))
        of_numbers, parts = kernel.split_base_kernels(of_base_kernels)
        self._numbers = kernel.numbers.cross_covariance(of_numbers, points)
        self._base_kernels = [
            (base.cross_covariance(part, points), orthogonal, orthogonal.means(points))
            for base, part, orthogonal in zip(
                kernel.base_kernels, parts, kernel.orthogonal_base_kernels(parts), strict=True
            )
        ]
        has_base_kernels = len(of_numbers) > 0 or len(parts) > 0
        self.has_unit_diagonal = not (kernel.orthogonal and has_base_kernels)
        self._norm = kernel.norm(theta)[0]

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self._covariances(points, self._means(points))

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return self._diagonal(points, self._means(points))

    def with_diagonal(self, points: Array) -> tuple[Array, Array]:
        """Return both, the means of the base kernels found once."""
        means = self._means(points)
        return self._covariances(points, means), self._diagonal(points, means)

    def _means(self, points: Array) -> _Means:
        return _Means(
            *self._numbers.means_and_places(points),
            [orthogonal.means(points) for _, orthogonal, _ in self._base_kernels],
        )

    def _choice_sums(self, points: Array) -> list[Array]:
        return self._kernel.choice_sums.sums(self._kernel.choices(points), self._choices)

    def _covariances(self, points: Array, means: _Means) -> Array:
        base_kernels = [
            orthogonal.cross(cross(points), mean, observed)
            for (cross, orthogonal, observed), mean in zip(
                self._base_kernels, means.base_kernels, strict=True
            )
        ]
        numbers = self._numbers.covariances(means.numbers, means.places)
        terms = self._kernel.order_terms(self._choice_sums(points), [*numbers, *base_kernels])
        return terms.value(self._order_variances) / self._norm

    def _diagonal(self, points: Array, means: _Means) -> Array:
        base_kernels = [
            orthogonal.own(cross.diagonal(points), mean)
            for (cross, orthogonal, _), mean in zip(
                self._base_kernels, means.base_kernels, strict=True
            )
        ]
        sums = self._kernel.choice_sums.own(self._log_weights, len(points))
        terms = self._kernel.order_terms(sums, [*self._numbers.own(means.numbers), *base_kernels])
        return terms.value(self._order_variances) / self._norm

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c) in numbers."""
        covariances, slopes, _, _ = self.slopes_with_own(point, columns)
        return covariances, slopes

    def own_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the covariance of a point (d,) with itself, and its slopes (c,)."""
        _, _, own, own_slopes = self.slopes_with_own(point, columns)
        return own, own_slopes

    def slopes_with_own(self, point: Array, columns: Indices) -> tuple[Array, Array, float, Array]:
        """Return both; the point itself is one more observation, the last."""
        number_values, number_slopes = self._numbers.slopes_with_own(point)  # (u, n + 1) both
        base_kernels = [_base_slopes(*base, point, columns) for base in self._base_kernels]
        own = self._kernel.choice_sums.own(self._log_weights, 1)
        sums = [
            np.append(total[0], own_sum)
            for total, own_sum in zip(self._choice_sums(point[None]), own, strict=True)
        ]
        terms = self._kernel.order_terms(
            sums, [*number_values, *[value for value, _ in base_kernels]]
        )
        total = terms.value(self._order_variances) / self._norm
        by_base_kernels = terms.by_kernels(self._order_variances)
        slope = np.zeros((len(total), len(columns)))
        n_numbers = len(number_values)
        if n_numbers:
            # A number has a slope in its own column alone.
            by_numbers = np.array(by_base_kernels[:n_numbers]) * number_slopes
            is_mine = self._kernel.numbers.columns[:, None] == columns  # (u, c)
            slope += by_numbers.T @ is_mine
        for by_base, (_, its_slope) in zip(by_base_kernels[n_numbers:], base_kernels, strict=True):
            slope += by_base[:, None] * its_slope
        slope /= self._norm
        return total[:-1], slope[:-1], float(total[-1]), slope[-1]


def _base_slopes(
    cross: CrossCovariance,
    orthogonal: OrthogonalBaseKernel,
    observed: Array,
    point: Array,
    columns: Indices,
) -> tuple[Array, Array]:
    """Return k~ (n + 1,) of a point with the observations and itself, slopes (n + 1, c)."""
    mean, mean_slope = orthogonal.mean_slopes(point, columns)
    covariances, by_place, own, own_slope = cross.slopes_with_own(point, columns)
    values = orthogonal.cross(covariances[None], np.array([mean]), observed)[0]
    slopes = by_place / orthogonal.mean - np.outer(observed, mean_slope) / orthogonal.mean**2
    own_value = orthogonal.own(np.array([own]), np.array([mean]))
    orthogonal_own_slope = (
        own_slope / orthogonal.mean - 2.0 * mean * mean_slope / orthogonal.mean**2
    )
    return np.append(values, own_value), np.concatenate([slopes, orthogonal_own_slope[None]])


class _Means(NamedTuple):
    """Means of points: of numbers (c, k) with their scaled places, of other base kernels (k,)."""

    numbers: Array
    places: Array
    base_kernels: list[Array]
