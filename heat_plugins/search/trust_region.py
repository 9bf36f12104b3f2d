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
from typing import Any

import numpy as np

from heat_plugins.history import NO_REGION
from heat_plugins.search.domain import Region
from heat_plugins.space import Array, Indices, Space

__all__ = ["TrustRegion", "TrustRegionRules", "best_so_far", "replay"]

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
    n_discrete = int(np.sum(space.is_discrete & (space.n_levels > 1)))
    smallest = 1.0 / n_discrete if n_discrete else rules.smallest_box
    if n_discrete < np.sum(space.n_levels > 1):
        smallest = min(smallest, rules.smallest_box)
    best, rows = best_so_far(values)
    index, scale, ended = 0, rules.first_scale, list[int]()
    successes = failures = n_asked = n_lost = 0
    failed = _by_place(failed_after, failed_region_ids, len(points))

    def after_failed(n: int) -> tuple[float, int, int]:
        """Return scale, successes and failures after n more trials without a value."""
        if not n or n_lost <= n_asked or not best.trials:
            return scale, successes, failures
        patience = _patience(points[best.trials[0]], space, rules) if n_asked else FEWEST_FAILURES
        smaller, left = scale, failures + n
        while left >= patience and smaller / rules.factor >= smallest:
            smaller, left = smaller / rules.factor, left - patience
        return smaller, 0, min(left, patience - 1)

    for i, (value, tag) in enumerate(zip(rows, region_ids.tolist(), strict=True)):
        n_lost += (n := failed[i].count(index))
        scale, successes, failures = after_failed(n)
        if tag == index + 1:
            ended += best.trials[:1]
            index, scale, best = index + 1, rules.first_scale, type(best)()
            successes = failures = n_asked = n_lost = 0
        if tag > index:
            tag = NO_REGION  # from another study: added by hand
        if tag not in (index, NO_REGION):
            continue
        n_asked += tag == index
        counts = tag == index and bool(best.trials)
        improves = best.add(i, value)
        if not counts:
            continue
        successes, failures = (successes + 1, 0) if improves else (0, failures + 1)
        if successes == rules.successes_to_grow:
            scale, successes = min(1.0, scale * rules.factor), 0
        elif failures >= _patience(points[best.trials[0]], space, rules):
            scale, failures = scale / rules.factor, 0
            if scale < smallest:
                ended += best.trials[:1]
                index, scale, best = index + 1, rules.first_scale, type(best)()
                n_asked = n_lost = 0
    n_lost += (n := failed[len(points)].count(index))
    scale, successes, failures = after_failed(n)
    centre = points[best.trials[0]] if best.trials else None
    return TrustRegion(
        index=index,
        centre=centre,
        best=best.value,
        scale=scale,
        n_successes=successes,
        n_failures=failures,
        front=tuple(best.trials),
        ended=tuple(ended),
        is_searched=centre is not None and n_asked >= _patience(centre, space, rules),
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


def _patience(centre: Array, space: Space, rules: TrustRegionRules) -> int:
    """Return after how many failures a region around a centre (d,) shrinks."""
    if rules.failures_to_shrink is not None:
        return rules.failures_to_shrink
    n_parameters = int(np.sum(~np.isnan(centre) & (space.n_levels > 1)))
    return min(max(n_parameters, FEWEST_FAILURES), MOST_FAILURES)


def best_so_far(values: Array) -> tuple[_BestValue | _Front, list[Any]]:
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
