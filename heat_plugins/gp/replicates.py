"""Noise estimates from repeated measurements.

Notation
    ===========  =====================================================================
    n, d         observations, parameters
    tau          (n,) reported variances of the standardised values
    z2           squared difference of two measurements, in variances of that difference
    ===========  =====================================================================

A rugged objective cannot be told from a noisy one by values at different points. So reported
variances are doubted only where measurements of one point disagree, or of points so close to
each other that hardly any objective differs between them.
"""

from __future__ import annotations

import numpy as np
from scipy import spatial, special

from heat_plugins.gp.outcome_transform import standardise, standardise_noise
from heat_plugins.space import Array, Space
from heat_plugins.space.point_set import PointSet

__all__ = ["has_conflicts", "noise_is_underreported"]

# How close numbers are to count as repeated, as a share of their ranges, and how steep an
# objective may be there, in standard deviations over the whole range.
CLOSE = 1e-3
STEEPNESS = 10.0
# Variance of standardised values below which nothing is resolved anyway.
NEGLIGIBLE = 1e-4
# With the variances reported, repeated measurements disagree this much with this probability.
UNLIKELY = 1e-4
# Jumps between close points happen, but not between most of them.
LEAST_CLOSE_PAIRS = 3
MOST_COMPARED = 300  # latest points: all of them may be close to each other
CLEARLY_APART = 9.0


def has_conflicts(points: Array, values: Array) -> bool:
    """Whether some point was observed with different values."""
    fingerprints = PointSet(points[:0]).fingerprint(points)
    order = np.lexsort((values, fingerprints))
    same = fingerprints[order][1:] == fingerprints[order][:-1]
    return bool(np.any(same & (values[order][1:] != values[order][:-1])))


def noise_is_underreported(space: Space, points: Array, values: Array, noise: Array) -> bool:
    """Whether repeated measurements disagree by more than their reported variances allow.

    Values (n,) are as they came. Noise (n,) is NaN where none was reported; pairs with such a
    one say nothing.
    """
    known = ~np.isnan(noise)
    if np.count_nonzero(known) < 2:
        return False
    standardised = standardise(values)
    tau = standardise_noise(noise, values, standardised)[known] + NEGLIGIBLE
    points, standardised = points[known], standardised[known]
    return _repeats_disagree(points, standardised, tau) or _neighbours_disagree(
        space, points, standardised, tau
    )


def _repeats_disagree(points: Array, values: Array, tau: Array) -> bool:
    """Whether values of equal points are further apart than by chance."""
    fingerprints = PointSet(points[:0]).fingerprint(points)
    _, group, sizes = np.unique(fingerprints, return_inverse=True, return_counts=True)
    degrees = int(np.sum(sizes - 1))
    if degrees == 0:
        return False
    weights = np.bincount(group, weights=1.0 / tau)
    means = np.bincount(group, weights=values / tau) / weights
    z2 = float(np.sum((values - means[group]) ** 2 / tau))
    return bool(special.chdtrc(degrees, z2) < UNLIKELY)


def _neighbours_disagree(space: Space, points: Array, values: Array, tau: Array) -> bool:
    """Whether values of most points that are close to each other are far apart."""
    if np.all(space.is_discrete):
        return False
    _, first = np.unique(PointSet(points).fingerprint(points), return_index=True)
    first = np.sort(first)[-MOST_COMPARED:]
    points, values, tau = points[first], values[first], tau[first]
    # In units of CLOSE. Choices are the same or far apart, as is what exists at one of two
    # points only.
    places = np.nan_to_num(np.where(space.is_discrete, 2.0, 1.0 / CLOSE) * points, nan=-1e6)
    pairs = spatial.KDTree(places).query_pairs(1.0, p=np.inf, output_type="ndarray")
    if len(pairs) < LEAST_CLOSE_PAIRS:
        return False
    one, other = pairs.T
    apart = CLOSE * np.abs(places[one] - places[other]).max(axis=1)
    allowed = tau[one] + tau[other] + (STEEPNESS * apart) ** 2
    z2 = (values[one] - values[other]) ** 2 / allowed
    return float(np.median(z2)) > CLEARLY_APART
