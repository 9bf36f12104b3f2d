"""From the values of a study to the numbers the surrogate is fitted to."""

from __future__ import annotations

import numpy as np

from heat_plugins.space import Array

__all__ = ["standardise"]

# How far above the median a bad value may stand, in spreads of the better half. Random
# values of well-behaved problems stay below it, so nothing is changed for them.
BAD_SIDE_LIMIT = 10.0


def standardise(values: Array) -> Array:
    """Return values (n,) with mean 0 and deviation 1, robust to outliers and infinities.

    Values are minimised. A value far on the bad side (an objective that returns 1e9 or
    infinity for "did not work") says little more than "bad": it is pulled in, so that the
    good values keep their differences. Good values are left alone unless infinite.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return np.where(np.isposinf(values), 1.0, np.where(np.isneginf(values), -1.0, 0.0))
    median = np.median(finite)
    spread = median - np.quantile(finite, 0.1)
    ceiling = finite.max()
    if spread > 0:
        ceiling = min(ceiling, median + BAD_SIDE_LIMIT * spread)
    # An infinite value is a little worse (or better) than everything finite.
    step = 0.1 * max(ceiling - finite.min(), np.finfo(float).tiny)
    clipped = np.where(np.isposinf(values), ceiling + step, np.minimum(values, ceiling))
    clipped = np.where(np.isneginf(values), finite.min() - step, clipped)
    # Divide by the largest first: squares of huge values would overflow.
    centred = clipped - np.mean(clipped / 2.0) * 2.0
    largest = np.max(np.abs(centred))
    if not largest > 1e-300:
        return np.zeros_like(values)
    centred = centred / largest
    deviation = np.std(centred)
    return centred / deviation if deviation > 0 else np.zeros_like(values)
