"""The trust region: a value that the history of a study determines.

The region is a Hamming ball on the discrete parameters times a box on the numeric ones,
around the best point found in it (CASMOPOLITAN, Wan et al., 2021; TuRBO, Eriksson et al.,
2019). It grows after successes in a row, shrinks after failures in a row, and when it has
become too small a new one is begun elsewhere. All of that is a fold over the finished
trials in order of completion: nothing is stored but, on each trial, the number of the
region that it was asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core.domain import Region
from heat_plugins.space import Array, Space

__all__ = ["NO_REGION", "TrustRegion", "TrustRegionRules", "replay"]

NO_REGION = -1  # the tag of a trial that no region asked for: start-up, enqueued, added


@dataclass(frozen=True)
class TrustRegionRules:
    """When a region grows, shrinks and ends.

    Args:
        first_scale: Size at the start, as a share of the whole space.
        factor: By how much it grows and shrinks.
        successes_to_grow: Improvements in a row before it grows.
        failures_to_shrink: Trials in a row without one before it shrinks.
        smallest_box: Half the side of the numeric box below which a region ends. (Without
            numbers, a Hamming radius below 1 ends it.)
    """

    first_scale: float = 0.8
    factor: float = 1.5
    successes_to_grow: int = 3
    failures_to_shrink: int = 20
    smallest_box: float = 0.01


@dataclass(frozen=True, eq=False)
class TrustRegion:
    """The region at one moment.

    Args:
        index: How many regions came before.
        centre: (d,) best point found in it; None while it has none.
        best: The value there.
        scale: Its size as a share of the space.
        n_successes: Improvements in a row.
        n_failures: Trials in a row without one.
    """

    index: int = 0
    centre: Array | None = None
    best: float = math.inf
    scale: float = 1.0
    n_successes: int = 0
    n_failures: int = 0

    def as_region(self, space: Space) -> Region | None:
        """Return the part of the space to search; None for all of it."""
        if self.centre is None or self.scale >= 1.0:
            return None
        n_discrete = _n_free_discrete(space)
        return Region(self.centre, max(1, math.ceil(self.scale * n_discrete)), self.scale)


def _n_free_discrete(space: Space) -> int:
    return int(np.sum(space.is_discrete & (space.n_levels > 1)))


def replay(
    points: Array,
    values: Array,
    asked_from: NDArray[np.int64],
    space: Space,
    rules: TrustRegionRules,
) -> TrustRegion:
    """Return the region after the given trials.

    Args:
        points: (n, d) points of the finished trials, in order of completion.
        values: (n,) their values, minimised.
        asked_from: (n,) index of the region each was asked for, or ``NO_REGION``.
        space: The space of the points.
        rules: When the region changes.

    A trial asked for by an earlier region comes too late to say anything about this one. One
    that no region asked for may move the centre but is neither a success nor a failure.
    """
    n_discrete = _n_free_discrete(space)
    smallest = 1.0 / n_discrete if n_discrete else rules.smallest_box
    if n_discrete < np.sum(space.n_levels > 1):
        smallest = min(smallest, rules.smallest_box)
    index, centre, best, scale = 0, -1, math.inf, rules.first_scale
    successes = failures = 0
    for i, (value, tag) in enumerate(zip(values.tolist(), asked_from.tolist(), strict=True)):
        if tag > index:
            tag = NO_REGION  # from another study: added by hand
        if tag not in (index, NO_REGION):
            continue
        improves = value < best or centre < 0
        counts = tag == index and centre >= 0
        if improves:
            centre, best = i, value
        if not counts:
            continue
        successes, failures = (successes + 1, 0) if improves else (0, failures + 1)
        if successes == rules.successes_to_grow:
            scale, successes = min(1.0, scale * rules.factor), 0
        elif failures == rules.failures_to_shrink:
            scale, failures = scale / rules.factor, 0
            if scale < smallest:
                index, centre, best, scale = index + 1, -1, math.inf, rules.first_scale
    return TrustRegion(
        index, points[centre] if centre >= 0 else None, best, scale, successes, failures
    )
