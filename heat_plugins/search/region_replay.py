"""The present region of a history: its best trials, and those of the regions before.

What trust regions have in common, whatever says how large they are. A trial carries the number of
the region that it was asked for: one that was asked for the next region begins it, and one asked
for an earlier region comes too late to say anything about this one.
"""

from __future__ import annotations

import math
from typing import Any

from heat_plugins.history import NO_REGION
from heat_plugins.space import Array

__all__ = ["RegionReplay"]


class RegionReplay:
    """The region after some of the trials, which are taken in order of completion.

    Attributes:
        index: How many regions came before.
        best: The best trials of the region.
        ended: The best trials of the regions before.

    Args:
        points: (n, d) points of all trials.
        values: (n,) their values, minimised; (n, M) of several objectives.
    """

    def __init__(self, points: Array, values: Array) -> None:
        self._points = points
        self.best, self._values = _best_so_far(values)
        self.index = 0
        self.ended: list[int] = []

    @property
    def centre(self) -> Array | None:
        """The best point (d,) of the region; None while it has none."""
        return self._points[self.best.trials[0]] if self.best.trials else None

    def begin_anew(self) -> None:
        """Begin the next region, which has no trials yet."""
        self.ended += self.best.trials[:1]
        self.best, self.index = type(self.best)(), self.index + 1

    def is_asked_by_next(self, region_id: int) -> bool:
        """Whether a trial was asked for the next region, and begins it."""
        return region_id == self.index + 1

    def take(self, trial: int, region_id: int) -> bool | None:
        """Take a trial into account; return whether it is an improvement.

        None for one that is neither a success nor a failure: it came too late, or no region asked
        for it, or there was nothing to improve on.
        """
        is_mine = region_id == self.index
        # Of a region that is still to come: from another study, and added by hand.
        is_nobodys = region_id == NO_REGION or region_id > self.index
        if not is_mine and not is_nobodys:
            return None
        counts = is_mine and bool(self.best.trials)
        improves = self.best.add(trial, self._values[trial])
        return improves if counts else None


def _best_so_far(values: Array) -> tuple[_BestValue | _Front, list[Any]]:
    """Return what follows the best of values (n,) or (n, M), and what to tell it of each."""
    if values.ndim == 1 or values.shape[1] == 1:
        return _BestValue(), values.reshape(len(values)).tolist()
    return _Front(), values.tolist()


class _BestValue:
    """The best trial so far, by its only value."""

    def __init__(self) -> None:
        self.trials: list[int] = []
        self.value = math.inf

    def add(self, trial: int, value: float) -> bool:
        """Take a trial into account; return whether it is better than all before."""
        if self.trials and not value < self.value:
            return False
        self.trials, self.value = [trial], value
        return True


class _Front:
    """The trials so far that no other dominates."""

    value = math.nan

    def __init__(self) -> None:
        self.trials: list[int] = []
        self._values: list[list[float]] = []

    def add(self, trial: int, values: list[float]) -> bool:
        """Take a trial into account; return whether no earlier one is as good in everything."""
        if any(_is_as_good(known, values) for known in self._values):
            return False
        kept = [i for i, known in enumerate(self._values) if not _is_as_good(values, known)]
        self.trials = [*[self.trials[i] for i in kept], trial]
        self._values = [*[self._values[i] for i in kept], values]
        return True


def _is_as_good(values: list[float], others: list[float]) -> bool:
    return all(value <= other for value, other in zip(values, others, strict=True))
