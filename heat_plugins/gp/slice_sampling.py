"""Slice sampling of hyperparameters from their posterior density.

Slice sampling (Neal, 2003), one hyperparameter after the other, with stepping out and shrinkage:
from x draw a level u below the density at x, find an interval around x whose ends lie below the
level, then draw from it, shrinking it towards x, until a place above the level is found. It needs
no step size that fits, and the chain has the posterior density as its stationary distribution.
COMBO (Oh et al., 2019) learns its kernel in this way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heat_plugins.space import Array

__all__ = ["slice_samples"]

FIRST_WIDTH = 1.0  # of the interval, in units of the hyperparameters, which are logarithms
MOST_STEPS = 8  # outwards on both sides together


def slice_samples(
    log_density: Callable[[Array], float],
    start: Array,
    bounds: Array,
    n_samples: int,
    n_burn: int,
    rng: np.random.Generator,
) -> Array:
    """Return samples (n_samples, p) of a chain.

    Args:
        log_density: Of a vector (p,), up to a constant.
        start: (p,) where the chain begins; where the density is high nothing is lost at first.
        bounds: (p, 2) outside of which the density is 0. What has equal bounds stays as it is.
        n_samples: How many to return, one after each sweep over all hyperparameters.
        n_burn: Sweeps before the first of them.
        rng: Source of randomness.
    """
    point = np.clip(start, bounds[:, 0], bounds[:, 1])
    value = log_density(point)
    free = np.flatnonzero(bounds[:, 1] > bounds[:, 0])
    samples = []
    for sweep in range(n_burn + n_samples):
        for column in rng.permutation(free):
            point, value = _move(log_density, point, value, int(column), bounds[column], rng)
        if sweep >= n_burn:
            samples.append(point)
    return np.array(samples).reshape(n_samples, len(start))


def _move(
    log_density: Callable[[Array], float],
    point: Array,
    value: float,
    column: int,
    bounds: Array,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Return the point (p,) after one draw along one column, and its log density."""

    def at(place: float) -> tuple[Array, float]:
        moved = point.copy()
        moved[column] = place
        return moved, log_density(moved)

    level = value + np.log(rng.random())
    here = float(point[column])
    low = here - FIRST_WIDTH * rng.random()
    high = low + FIRST_WIDTH
    steps_down = int(rng.integers(MOST_STEPS))  # the rest are steps up, which keeps it reversible
    for _ in range(steps_down):
        if low <= bounds[0] or at(low)[1] <= level:
            break
        low -= FIRST_WIDTH
    for _ in range(MOST_STEPS - 1 - steps_down):
        if high >= bounds[1] or at(high)[1] <= level:
            break
        high += FIRST_WIDTH
    low, high = max(low, float(bounds[0])), min(high, float(bounds[1]))
    while True:
        place = rng.uniform(low, high)
        moved, moved_value = at(place)
        if moved_value > level:
            return moved, moved_value
        if high - low < 1e-9:  # as good as no move at all
            return point, value
        if place < here:
            low = place
        else:
            high = place
