"""Sets of points, with a vectorised membership test: mostly those to exclude."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from heat_plugins.space import Allowed, Array, Bools, Indices
from heat_plugins.space.symmetry import Symmetry

__all__ = ["PointSet", "both"]

Integers = NDArray[np.uint64]

CACHED = 50_000  # coordinates that are scrambled at once
KEY_ERROR = 1e-9  # by which rounding may part the keys of equal points; keys are below 2^20


def both(one: Allowed, other: Allowed | None) -> Allowed:
    """Return the rule that allows what two rules do; the second is asked about less."""
    if other is None:
        return one

    def allowed(points: Array) -> Bools:
        result = one(points)
        result[result] = other(points[result])
        return result

    return allowed


class PointSet:
    """Points that need not be proposed again.

    Two points are the same if everything exact agrees (codes, values on grids, what exists at
    all) and no other number differs by more than its resolution: a number that was decoded,
    stored and encoded again has other last bits. Numbers are compared in pairs. Rounding them
    to bins would part neighbours on the two sides of an edge.

    What is exact is compared by 64-bit fingerprints: two different points share one with a
    probability of about 1e-19, and then the search merely passes over a good candidate. Only
    pairs with close keys are looked at. A key is a place for the fingerprint on a long line
    plus a weighted mean of the numbers, which differs by no more than the numbers do.
    """

    def __init__(
        self,
        points: Array,
        symmetry: Symmetry | None = None,
        allowed: Allowed | None = None,
        resolution: Array | None = None,
    ) -> None:
        """Remember points (n, d), and with them all that a symmetry takes for the same.

        Points (n, d) for which ``allowed`` returns False count as remembered. Columns whose
        ``resolution`` (d,) is above 0 are compared with that tolerance; by default all are
        exact.
        """
        d = points.shape[1]
        self.symmetry = symmetry
        self._allowed = allowed
        resolution = np.zeros(d) if resolution is None else resolution
        self._inexact: Indices = np.flatnonzero(resolution > 0.0)
        self._resolution = resolution[self._inexact]
        random = np.random.default_rng(0)
        # Any fixed odd multipliers do; they only have to differ between the columns.
        multipliers = random.integers(0, 2**63, size=d, dtype=np.uint64)
        self._multipliers: Integers = np.bitwise_or(multipliers << np.uint64(1), 1)
        weights = np.where(resolution > 0.0, random.uniform(1.0, 2.0, size=d), 0.0)
        self._weights = weights / max(weights.sum(), 1.0)
        self._remember(self._canonical(points))

    def _remember(self, points: Array) -> None:
        """Keep each of some canonical points (n, d) once, sorted so that they are found."""
        self._fingerprints, first = np.unique(self._fingerprint(points), return_index=True)
        if len(self._inexact):
            points = points[first]
            fingerprints = self._fingerprint(self._exact_part(points))
            keys = _keys(fingerprints, self._means(points))
            order = np.argsort(keys)
            self._keys, self._fingerprints = keys[order], fingerprints[order]
            self._numbers: Array = points[order][:, self._inexact]

    @property
    def has_rule(self) -> bool:
        """Whether more points than the remembered ones may be in the set."""
        return self._allowed is not None

    def restricted_to(self, rule: Allowed) -> PointSet:
        """Return the set with all points (n, d) added for which the rule returns False."""
        larger = copy.copy(self)
        larger._allowed = both(rule, self._allowed)
        return larger

    def __len__(self) -> int:
        """Return the number of different points; close numbers count as different here."""
        return len(self._fingerprints)

    def _canonical(self, points: Array) -> Array:
        return points if self.symmetry is None else self.symmetry.identity(points)

    def _exact_part(self, points: Array) -> Array:
        """Return points (n, d) whose inexact coordinates only say whether they exist."""
        if not len(self._inexact):
            return points
        points = points.copy()
        points[:, self._inexact] = _existence(points[:, self._inexact])
        return points

    def _means(self, points: Array) -> Array:
        """(n,) weighted means of the inexact numbers of points (n, d)."""
        means: Array = _bounded(points[:, self._inexact]) @ self._weights[self._inexact]
        return means

    def _fingerprint(self, points: Array) -> Integers:
        """(n,) one number for each row of points (n, d) as it is."""
        # In parts that stay in the cache: a study of 1,000 trials can have 2,000 columns.
        parts = np.array_split(points, 1 + points.size // CACHED)
        mixed = [_mix(part, self._multipliers).sum(axis=1, dtype=np.uint64) for part in parts]
        return np.concatenate(mixed)

    def fingerprint(self, points: Array) -> Integers:
        """(n,) one number for each row of points (n, d), the same for the same to a symmetry."""
        return self._fingerprint(self._canonical(points))

    def _is_remembered(self, points: Array) -> Bools:
        """(m,) whether canonical points (m, d) are remembered."""
        fingerprints = self._fingerprint(self._exact_part(points))
        if len(self._inexact):
            return self._is_close(points, fingerprints)
        if not len(self._fingerprints):
            return np.zeros(len(points), dtype=bool)
        place = np.searchsorted(self._fingerprints, fingerprints)
        place[place == len(self._fingerprints)] = 0
        found: Bools = self._fingerprints[place] == fingerprints
        return found

    def _is_close(self, points: Array, fingerprints: Integers) -> Bools:
        """(m,) whether points (m, d) are remembered up to the resolution of their numbers."""
        keys = _keys(fingerprints, self._means(points))
        window = self._resolution.max() + KEY_ERROR
        first = np.searchsorted(self._keys, keys - window, side="left")
        count = np.searchsorted(self._keys, keys + window, side="right") - first
        found = np.zeros(len(keys), dtype=bool)
        if not count.any():  # nearly always
            return found
        # All pairs of an asked and a remembered point whose keys are close.
        asked = np.repeat(np.arange(len(keys)), count)
        known = np.arange(len(asked)) + np.repeat(first - (np.cumsum(count) - count), count)
        distances = np.abs(points[asked][:, self._inexact] - self._numbers[known])
        # NaN where a number does not exist, which is for the fingerprints to compare.
        is_same = ~np.any(distances > self._resolution, axis=1)
        is_same &= fingerprints[asked] == self._fingerprints[known]
        found[asked[is_same]] = True
        return found

    def contains(self, points: Array) -> Bools:
        """(n,) whether each row of points (n, d) is in the set."""
        found = self._is_remembered(self._canonical(points))
        if self._allowed is not None:
            rest = np.flatnonzero(~found)
            found[rest] = ~self._allowed(points[rest])
        return found


def _mix(coordinates: Array, multipliers: Integers) -> Integers:
    """Scramble the bits of coordinates, differently in each column."""
    # Adding zero turns -0.0 into 0.0, which is the same coordinate in other bits.
    bits = np.ascontiguousarray(coordinates + 0.0).view(np.uint64)
    mixed: Integers = (bits ^ (bits >> np.uint64(32))) * multipliers
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _existence(coordinates: Array) -> Array:
    """Return NaN where there is no number, and 0 where there is."""
    return np.where(np.isnan(coordinates), np.nan, 0.0)


def _bounded(coordinates: Array) -> Array:
    """Return finite numbers of ordinary size, no further apart than the coordinates are."""
    return np.clip(np.nan_to_num(coordinates), -1.0, 2.0)


def _keys(fingerprints: Integers, means: Array) -> Array:
    """(n,) places in [0, 2^20), moved by means of numbers."""
    return (fingerprints >> np.uint64(12)) * 2.0**-32 + means
