"""Outcome transform: raw values, standardised for the surrogate."""

from __future__ import annotations

import math

import numpy as np

from heat_plugins.space import Array

__all__ = [
    "scale_of",
    "standardise",
    "standardise_noise",
    "standardised_value",
    "with_unit_deviation",
]

# How far above the median an outlier may stand, in spreads of the better half. Random values
# of well-behaved problems stay below it.
BAD_SIDE_LIMIT = 10.0
# Beyond this many signal variances a measurement says nothing, and more is hard on the algebra.
LARGEST_NOISE = 1e8


def scale_of(values: Array, standardised: Array | None = None) -> float:
    """Return the scale of standardisation: what a standardised difference of 1 is in values (n,).

    Found between the best value and the middle one, where nothing is pulled in.
    """
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        return 0.0
    if standardised is None:
        standardised = standardise(values)
    order = finite[np.argsort(values[finite], kind="stable")]
    best = order[0]
    for other in (order[len(order) // 2], order[-1]):
        if standardised[other] > standardised[best]:
            difference = standardised[other] - standardised[best]
            return float((values[other] - values[best]) / difference)
    return 0.0


def standardise_noise(noise: Array, values: Array, standardised: Array) -> Array:
    """Return variances (n,) of values (n,) as variances of their standardised ones.

    With s the scale of standardisation, a variance v becomes v / s^2. Bad values that are
    pulled in keep more noise than that leaves them: they are not to be relied on anyway. Where
    all values are the same there is no scale, and the noise counts as none. NaN stays.
    """
    scale = scale_of(values, standardised)
    if scale == 0.0:
        return np.where(np.isnan(noise), np.nan, 0.0)
    with np.errstate(over="ignore"):
        scaled: Array = np.minimum((np.sqrt(noise) / scale) ** 2, LARGEST_NOISE)
    return scaled


def standardised_value(
    number: float, values: Array, standardised: Array, boundary: float = -np.inf
) -> float:
    """Return a number on the scale of standardised values (n,).

    That is a straight line through the values, wherever the number is; far on the bad side it
    is pulled in as a value would be.
    """
    finite = np.flatnonzero(np.isfinite(values))
    scale = scale_of(values, standardised)
    if scale == 0.0:  # one value only: all that can be told is on which side the number is
        return float(np.sign(number - values[finite[0]])) if len(finite) else 0.0
    known = values[finite]
    median = np.median(known)
    spread = median - np.quantile(known, 0.1)
    if spread > 0.0:
        number = min(number, max(float(median), boundary) + BAD_SIDE_LIMIT * float(spread))
    best = finite[np.argmin(known)]
    return float(standardised[best] + (number - values[best]) / scale)


def standardise(values: Array, boundary: float = -np.inf) -> Array:
    """Return values (n,) with mean 0 and deviation 1, robust to outliers and infinities.

    Values are minimised. A value far on the bad side (an objective that returns 1e9 or
    infinity for "did not work") says little more than "bad": it is pulled in, so that the
    good values keep their differences. Good values are left alone unless infinite. The boundary,
    where bad values begin, stays among them if it is known.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return np.where(np.isposinf(values), 1.0, np.where(np.isneginf(values), -1.0, 0.0))
    # Differences of values near the largest double would overflow. A power of two rounds nothing.
    scale = math.ldexp(1.0, math.frexp(float(np.max(np.abs(finite))))[1] - 1)
    finite, values, boundary = finite / scale, values / scale, boundary / scale
    median = float(np.median(finite))
    values, finite = values - median, finite - median
    spread = -float(np.quantile(finite, 0.1))
    if spread > 0:
        worst = max(0.0, boundary - median) + BAD_SIDE_LIMIT * spread
        values = np.where(np.isfinite(values), np.minimum(values, worst), values)
    known = values[np.isfinite(values)]
    # An infinite value is a little worse (or better) than everything finite.
    step = 0.1 * (known.max() - known.min()) or 1.0
    values = np.where(np.isposinf(values), known.max() + step, values)
    values = np.where(np.isneginf(values), known.min() - step, values)
    return with_unit_deviation(values, max(abs(median), float(np.max(np.abs(values)))))


def with_unit_deviation(values: Array, largest: float) -> Array:
    """Return finite values (n,) with mean 0 and deviation 1.

    Zeros if nothing but the rounding of numbers as large as ``largest`` tells them apart.
    """
    centred: Array = values - values.mean()
    furthest = np.max(np.abs(centred))
    if furthest <= 1e-15 * largest:
        return np.zeros_like(centred)
    centred /= furthest  # squares of tiny differences would underflow
    standardised: Array = centred / centred.std()
    return standardised
