"""The points that must not be proposed, with a vectorised membership test."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core.domain import apply_changes
from heat_plugins.core.symmetry import Symmetry
from heat_plugins.space import Array

__all__ = ["Allowed", "PointSet", "both"]

Allowed = Callable[[Array], NDArray[np.bool_]]


def both(one: Allowed, other: Allowed | None) -> Allowed:
    """Return the rule that allows what two rules do; the second is asked about less."""
    if other is None:
        return one

    def allowed(points: Array) -> NDArray[np.bool_]:
        result = one(points)
        result[result] = other(points[result])
        return result

    return allowed


class PointSet:
    """Points that need not be proposed again.

    Rows are compared by 64-bit fingerprints: two different points share one with a
    probability of about 1e-19, and then the search merely passes over a good candidate.
    """

    def __init__(
        self,
        points: Array,
        symmetry: Symmetry | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        """Remember points (n, d), and with them all that a symmetry takes for the same.

        Points (n, d) for which ``allowed`` returns False count as remembered.
        """
        self.symmetry = symmetry
        self._allowed = allowed
        # Any fixed odd multipliers do; they only have to differ between the columns.
        multipliers = np.random.default_rng(0).integers(
            0, 2**63, size=points.shape[1], dtype=np.uint64
        )
        self._multipliers: NDArray[np.uint64] = np.bitwise_or(multipliers << np.uint64(1), 1)
        self._fingerprints: NDArray[np.uint64] = np.unique(self.fingerprint(points))

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
        """Return the number of different points."""
        return len(self._fingerprints)

    def _mix(self, coordinates: Array, multipliers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Scramble the bits of coordinates, differently in each column."""
        # Adding zero turns -0.0 into 0.0, which is the same coordinate in other bits.
        bits = np.ascontiguousarray(coordinates + 0.0).view(np.uint64)
        mixed: NDArray[np.uint64] = (bits ^ (bits >> np.uint64(32))) * multipliers
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        return mixed

    def fingerprint(self, points: Array) -> NDArray[np.uint64]:
        """(n,) one number for each row of points (n, d)."""
        if self.symmetry is not None:
            points = self.symmetry.canonical(points)
        total: NDArray[np.uint64] = self._mix(points, self._multipliers).sum(
            axis=1, dtype=np.uint64
        )
        return total

    def _contains(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if not len(self._fingerprints):
            return np.zeros(len(fingerprints), dtype=bool)
        place = np.searchsorted(self._fingerprints, fingerprints)
        place[place == len(self._fingerprints)] = 0
        found: NDArray[np.bool_] = self._fingerprints[place] == fingerprints
        return found

    def contains(self, points: Array) -> NDArray[np.bool_]:
        """(n,) whether each row of points (n, d) is in the set."""
        found = self._contains(self.fingerprint(points))
        if self._allowed is not None:
            rest = np.flatnonzero(~found)
            found[rest] = ~self._allowed(points[rest])
        return found

    def contains_changed(
        self, point: Array, columns: NDArray[np.int64], coordinates: Array
    ) -> NDArray[np.bool_]:
        """(N,) whether a point (d,) is in the set after each of N single changes.

        A fingerprint is a sum over the columns, so one term of it is exchanged.
        """
        if self.symmetry is not None or self._allowed is not None:
            return self.contains(apply_changes(point, columns, coordinates))
        multipliers = self._multipliers[columns]
        taken = self._mix(point[columns], multipliers)
        put = self._mix(coordinates, multipliers)
        return self._contains(self.fingerprint(point[None]) - taken + put)
