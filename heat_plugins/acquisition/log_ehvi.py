"""Log expected hypervolume improvement on the posteriors of several objectives.

Notation
    ===========  =====================================================================
    k, M, B      candidates, objectives (all minimised), boxes
    y            (M,) unknown outcome of a candidate: independent normals
    mu, s        (M,) its means and deviations
    l, u         (M,) lower and upper sides of a box that the front leaves free
    psi_j(t)     E[(t - y_j)_+] = s_j h((t - mu_j) / s_j): how far y_j is below t
    D_bj         psi_j(u_j) - psi_j(l_j): how much of side j of box b is worse than y_j
    ===========  =====================================================================

What an outcome adds to the hypervolume is the volume of the free region that it dominates.
The region is a sum of boxes (pareto.py) and the objectives are independent, so that

    EHVI = sum_b prod_j D_bj

(Emmerich et al., 2011; Yang et al., 2019). As in log_ei.py everything is a logarithm, for
a value to climb where the improvement itself is zero in float64. Boxes share their sides with
others, and psi is found once for each distinct one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from heat_plugins.acquisition.log_ei import LOG_SQRT_2PI, log_h
from heat_plugins.acquisition.pareto import Boxes, free_boxes
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.space import Array, Indices

__all__ = ["BoxSides", "LogHypervolumeImprovement"]

# So many points of a front leave some 700 boxes with four objectives, and fewer with less.
MAX_FRONT_POINTS = 100
SMALLEST_VARIANCE = 1e-20  # far below any that matters


class LogHypervolumeImprovement:
    """Log expected hypervolume improvement of M surrogates, as a function of points.

    Args:
        surrogates: The posterior of each objective.
        front: (f, M) standardised values to improve on, all finite.
        reference: (M,) standardised values beyond which nothing is worth anything.
    """

    def __init__(self, surrogates: Sequence[Surrogate], front: Array, reference: Array) -> None:
        self._surrogates = tuple(surrogates)
        self._sides = BoxSides(free_boxes(front, reference, MAX_FRONT_POINTS))

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""
        return self._of_posteriors([each.posterior(points) for each in self._surrogates])

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""
        return self._of_posteriors(
            [each.posterior_of_changes(point, columns, coordinates) for each in self._surrogates]
        )

    def _of_posteriors(self, posteriors: Sequence[tuple[Array, Array]]) -> Array:
        means, variances = zip(*posteriors, strict=True)
        return self._sides.log_improvement(np.column_stack(means), np.column_stack(variances))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
        posteriors = [each.posterior_gradient(point, columns) for each in self._surrogates]
        # (M,) both, then (M, c) both
        mean, variance, mean_slopes, variance_slopes = map(np.array, zip(*posteriors, strict=True))
        value, by_mean, by_variance = self._sides.derivatives(mean, variance)
        return value, by_mean @ mean_slopes + by_variance @ variance_slopes


class BoxSides:
    """The sides of disjoint boxes (B, M), each number once, and the sum over all boxes."""

    def __init__(self, boxes: Boxes) -> None:
        assert len(boxes.lower), "a finite front leaves what is better than all of it"
        # For each objective its distinct numbers (t,) and which of them are sides l, u (B,).
        self._numbers: list[Array] = []
        self._lower: list[Indices] = []
        self._upper: list[Indices] = []
        for lower, upper in zip(boxes.lower.T, boxes.upper.T, strict=True):
            numbers, places = np.unique(np.concatenate([lower, upper]), return_inverse=True)
            self._numbers.append(numbers)
            self._lower.append(places[: len(lower)])
            self._upper.append(places[len(lower) :])

    def log_improvement(self, mean: Array, variance: Array) -> Array:
        """Return log EHVI (k,) from means and variances (k, M)."""
        deviation = np.sqrt(np.maximum(variance, SMALLEST_VARIANCE))
        log_volumes = np.zeros((len(self._lower[0]), len(mean)))
        for log_side in self._log_sides(mean, deviation):
            log_volumes += log_side
        return _log_sum(log_volumes)

    def derivatives(self, mean: Array, variance: Array) -> tuple[float, Array, Array]:
        """Return log EHVI at one candidate, and its derivatives in means and variances (M,).

        With z = (t - mu) / s is d psi(t) = phi(z) ds - Phi(z) dmu, and with the other sides
        of a box P_bj = prod_{i!=j} D_bi is d EHVI = sum_b P_bj dD_bj.
        """
        deviation = np.sqrt(np.maximum(variance, SMALLEST_VARIANCE))
        log_sides = np.concatenate(self._log_sides(mean[None], deviation[None]), axis=1)  # (B, M)
        value = float(_log_sum(log_sides.sum(axis=1)))
        by_mean, by_deviation = np.empty_like(mean), np.empty_like(mean)
        for j, (numbers, lower, upper) in enumerate(self._by_objective()):
            z = (numbers - mean[j]) / deviation[j]
            log_density = -0.5 * z**2 - LOG_SQRT_2PI
            log_probability = special.log_ndtr(z)
            # Both ratios may be beyond float64 where their product is not.
            log_others = np.delete(log_sides, j, axis=1).sum(axis=1) - value
            log_between = _log_difference(log_probability[upper], log_probability[lower])
            by_mean[j] = -np.exp(log_others + log_between).sum()
            by_deviation[j] = np.sum(
                np.exp(log_others + log_density[upper]) - np.exp(log_others + log_density[lower])
            )
        return value, by_mean, by_deviation / (2.0 * deviation)

    def _log_sides(self, mean: Array, deviation: Array) -> list[Array]:
        """Return log D (B, k) of each objective."""
        sides = []
        for j, (numbers, lower, upper) in enumerate(self._by_objective()):
            z = (numbers[:, None] - mean[:, j]) / deviation[:, j]
            log_psi = np.log(deviation[:, j]) + log_h(z)  # (t, k)
            sides.append(_log_difference(log_psi[upper], log_psi[lower]))
        return sides

    def _by_objective(self) -> zip[tuple[Array, Indices, Indices]]:
        return zip(self._numbers, self._lower, self._upper, strict=True)


def _log_difference(larger: Array, smaller: Array) -> Array:
    """Return log(exp(larger) - exp(smaller)), elementwise."""
    ratio = np.minimum(smaller - larger, 0.0)  # rounding may have made the smaller one larger
    with np.errstate(divide="ignore"):
        result: Array = larger + np.log(-np.expm1(ratio))
    return result


def _log_sum(logs: Array) -> Array:
    """Return log(sum(exp(logs))) over the first axis; no sum is zero."""
    largest = logs.max(axis=0)
    result: Array = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return result
