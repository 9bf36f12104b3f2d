"""The trust region: a value that the history of a study determines.

The region is a Hamming ball on the discrete parameters times a box on the numeric ones,
around the best point found in it (CASMOPOLITAN, Wan et al., 2021; TuRBO, Eriksson et al.,
2019). It grows after successes in a row, shrinks after failures in a row, and when it has
become too small a new one is begun elsewhere. With several objectives its centre is one of
the trials that no other of the region dominates, and a success is a trial that no earlier one
dominates. All of that is a fold over the finished
trials in order of completion: nothing is stored but, on each trial, the number of the
region that it was asked for. A trial that was asked for the next region begins it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heat_plugins.history import NO_REGION
from heat_plugins.search.domain import Region
from heat_plugins.search.region_replay import RegionReplay
from heat_plugins.space import Array, Indices, Space

__all__ = ["NO_REGION", "TrustRegion", "TrustRegionRules", "replay"]  # as in 0.1.0

FEWEST_FAILURES, MOST_FAILURES = 5, 20  # in a row before a region shrinks


@dataclass(frozen=True)
class TrustRegionRules:
    """When a region grows, shrinks and ends.

    Args:
        first_scale: Size at the start, as a share of the whole space.
        factor: By how much it grows and shrinks.
        successes_to_grow: Improvements in a row before it grows.
        failures_to_shrink: Trials in a row without one before it shrinks. None for as many as its
            best point has parameters (as in TuRBO), from 5 to 20: what is small has been
            looked at sooner.
        smallest_box: Half the side of the numeric box below which a region ends. (Without
            numbers, a Hamming radius below 1 ends it.)
        restarts_by_bound: Whether a new region begins where the best trials of the ones before,
            and nothing else, have the highest confidence bound (CASMOPOLITAN), rather than where
            the model, with all it has learnt, expects most.
    """

    first_scale: float = 0.8
    factor: float = 1.5
    successes_to_grow: int = 3
    failures_to_shrink: int | None = None
    smallest_box: float = 0.01
    restarts_by_bound: bool = False


@dataclass(frozen=True, eq=False)
class TrustRegion:
    """The region at one moment.

    Args:
        index: How many regions came before.
        centre: (d,) best point found in it; None while it has none.
        best: The value there.
        front: Trials of the region that no other of it dominates; the best one, if there is
            one objective.
        scale: Its size as a share of the space.
        n_successes: Improvements in a row.
        n_failures: Trials in a row without one.
        ended: The best trials of the regions before.
        is_searched: Whether as many trials were asked for as it may have failures before it
            shrinks.
    """

    index: int = 0
    centre: Array | None = None
    best: float = math.inf
    scale: float = 1.0
    n_successes: int = 0
    n_failures: int = 0
    front: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    is_searched: bool = False

    def next(self) -> TrustRegion:
        """Return the region after this one, which has no trials yet."""
        return TrustRegion(self.index + 1, ended=(*self.ended, *self.front[:1]))

    def as_region(self, space: Space) -> Region | None:
        """Return the part of the space to search; None for all of it."""
        if self.centre is None or self.scale >= 1.0:
            return None
        exists = ~np.isnan(self.centre)
        n_discrete = int(np.sum(space.is_discrete & (space.n_levels > 1) & exists))
        return Region(self.centre, max(1, math.ceil(self.scale * n_discrete)), self.scale)


def replay(
    points: Array,
    values: Array,
    region_ids: Indices,
    space: Space,
    rules: TrustRegionRules,
    failed_after: Indices | None = None,
    failed_region_ids: Indices | None = None,
) -> TrustRegion:
    """Return the region after the given trials.

    Args:
        points: (n, d) points of the finished trials, in order of completion.
        values: (n,) their values, minimised; (n, M) of several objectives.
        region_ids: (n,) index of the region each was suggested in, or ``NO_REGION``.
        space: The space of the points.
        rules: When the region changes.
        failed_after: (q,) after how many of the trials each of those failed that have no value;
            None for none.
        failed_region_ids: (q,) index of the region each of these was suggested in, or
            ``NO_REGION``; None for none of them.

    As long as most trials of a region fail, those are trials without an improvement: it shrinks
    towards where they succeed, and sooner while none of its own has. But they do not end it, and
    where fewer fail, perhaps by chance, the model of failures alone takes care of them.

    A trial asked for by an earlier region comes too late to say anything about this one, and one
    asked for by the next ends it. One that no region asked for may move the centre but is
    neither a success nor a failure.
    """
    state = _State(points, values, space, rules)
    failed = _by_place(failed_after, failed_region_ids, len(points))
    for i, region_id in enumerate(region_ids.tolist()):
        state.fail(failed[i])
        if state.is_asked_by_next(region_id):
            state.begin_anew()
        improves = state.take(i, region_id)
        if improves is not None:
            state.adapt(improves)
    state.fail(failed[len(points)])
    return state.region()


class _State(RegionReplay):
    """The size of the present region, and the successes and failures that change it."""

    def __init__(
        self, points: Array, values: Array, space: Space, rules: TrustRegionRules
    ) -> None:
        super().__init__(points, values)
        self._space, self._rules = space, rules
        n_discrete = int(np.sum(space.is_discrete & (space.n_levels > 1)))
        self._smallest = 1.0 / n_discrete if n_discrete else rules.smallest_box
        if n_discrete < np.sum(space.n_levels > 1):
            self._smallest = min(self._smallest, rules.smallest_box)
        self._begin()

    def _begin(self) -> None:
        self._scale = self._rules.first_scale
        self._successes = self._failures = 0
        self._n_asked = self._n_lost = 0  # trials of the region, with a value and without

    def begin_anew(self) -> None:
        """Begin the next region, at its first size."""
        super().begin_anew()
        self._begin()

    def take(self, trial: int, region_id: int) -> bool | None:
        """Take a trial into account; return whether it is an improvement, None for neither."""
        self._n_asked += region_id == self.index
        return super().take(trial, region_id)

    def fail(self, region_ids: list[int]) -> None:
        """Take trials without a value into account, by the regions that asked for them."""
        n = region_ids.count(self.index)
        self._n_lost += n
        centre = self.centre
        if not n or self._n_lost <= self._n_asked or centre is None:
            return
        patience = self._patience(centre) if self._n_asked else FEWEST_FAILURES
        factor, left = self._rules.factor, self._failures + n
        while left >= patience and self._scale / factor >= self._smallest:
            self._scale, left = self._scale / factor, left - patience
        self._successes, self._failures = 0, min(left, patience - 1)

    def adapt(self, is_success: bool) -> None:
        """Grow, shrink or begin anew after a trial of the region."""
        assert self.centre is not None
        if is_success:
            self._successes, self._failures = self._successes + 1, 0
        else:
            self._successes, self._failures = 0, self._failures + 1
        if self._successes == self._rules.successes_to_grow:
            self._scale, self._successes = min(1.0, self._scale * self._rules.factor), 0
        elif self._failures >= self._patience(self.centre):
            self._scale, self._failures = self._scale / self._rules.factor, 0
            if self._scale < self._smallest:
                self.begin_anew()

    def _patience(self, centre: Array) -> int:
        """Return after how many failures a region around a centre (d,) shrinks."""
        if self._rules.failures_to_shrink is not None:
            return self._rules.failures_to_shrink
        n_parameters = int(np.sum(~np.isnan(centre) & (self._space.n_levels > 1)))
        return min(max(n_parameters, FEWEST_FAILURES), MOST_FAILURES)

    def region(self) -> TrustRegion:
        """Return the region at this moment."""
        centre = self.centre
        return TrustRegion(
            index=self.index,
            centre=centre,
            best=self.best.value,
            scale=self._scale,
            n_successes=self._successes,
            n_failures=self._failures,
            front=tuple(self.best.trials),
            ended=tuple(self.ended),
            is_searched=centre is not None and self._n_asked >= self._patience(centre),
        )


def _by_place(
    failed_after: Indices | None, failed_region_ids: Indices | None, n: int
) -> list[list[int]]:
    """Return which regions asked for the trials that failed after each of 0 .. n others."""
    regions: list[list[int]] = [[] for _ in range(n + 1)]
    if failed_after is not None and failed_region_ids is not None:
        for place, region in zip(failed_after.tolist(), failed_region_ids.tolist(), strict=True):
            regions[place].append(region)
    return regions
