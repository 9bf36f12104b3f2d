"""A set of points with a vectorised membership test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.space import Array

__all__ = ["PointSet"]


class PointSet:
    """Points that need not be proposed again.

    Rows are compared by 64-bit fingerprints: two different points share one with a
    probability of about 1e-19, and then the search merely passes over a good candidate.
    """

    def __init__(self, points: Array) -> None:
        """Remember points (n, d)."""
        # Any fixed odd multipliers do; they only have to differ between the columns.
        multipliers = np.random.default_rng(0).integers(
            0, 2**63, size=points.shape[1], dtype=np.uint64
        )
        self._multipliers = multipliers * np.uint64(2) + np.uint64(1)
        self._fingerprints = np.unique(self.fingerprint(points))

    def __len__(self) -> int:
        """Return the number of different points."""
        return len(self._fingerprints)

    def fingerprint(self, points: Array) -> NDArray[np.uint64]:
        """(n,) one number for each row of points (n, d)."""
        # Adding zero turns -0.0 into 0.0, which is the same coordinate in other bits.
        bits = np.ascontiguousarray(points + 0.0).view(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(32))) * self._multipliers
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        return mixed.sum(axis=1, dtype=np.uint64)

    def contains(self, points: Array) -> NDArray[np.bool_]:
        """(n,) whether each row of points (n, d) is in the set."""
        if not len(self._fingerprints):
            return np.zeros(len(points), dtype=bool)
        wanted = self.fingerprint(points)
        place = np.searchsorted(self._fingerprints, wanted)
        place[place == len(self._fingerprints)] = 0
        return self._fingerprints[place] == wanted
