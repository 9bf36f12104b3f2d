"""The task of a search, and what all searches have in common.

A search maximises a batch function over a domain, and returns the best points that it found and
that need not be avoided, the best first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from heat_plugins.batch_function import BatchFunction
from heat_plugins.search.domain import Domain
from heat_plugins.space import Array, Bools

__all__ = ["MOST_CANDIDATES", "Avoided", "Past", "SearchBudget", "SearchTask"]

MOST_CANDIDATES = 100  # that a search returns


@dataclass(frozen=True)
class SearchBudget:
    """Budget of one search.

    Args:
        population: Points in a generation.
        generations: Rounds of crossover and mutation.
        parents: The best points, which survive and have the children.
        ascents: The best few different points that the ascent starts from.
        ascent_steps: Longest way of the ascent, in single changes.
        all_changes: Up to so many single changes are all looked at in each step.
        some_changes: How many are looked at where there are more.
        some_steps: Steps of that kind in all ascents together.
        enumerate_up_to: Finite domains up to this size are searched completely instead.
        list_up_to: The same of points that are listed, where no other search is as sure of finding
            points at all. On the table of a GPU kernel with 4092 of them (pnpoly, 20 seeds) the
            best time after 50 is 8.07 +- 0.01 ms so, and 8.20 +- 0.10 with the limit of others.
        from_list: Of more points on a list, so many are looked at for the best to begin with.
    """

    population: int = 100
    generations: int = 10
    parents: int = 30
    ascents: int = 4
    ascent_steps: int = 30
    all_changes: int = 500
    some_changes: int = 200
    some_steps: int = 60
    enumerate_up_to: int = 2000
    list_up_to: int = 20_000
    from_list: int = 5000


class Avoided(Protocol):
    """Points that must not be returned."""

    def contains(self, points: Array) -> Bools:
        """(n,) whether each row of points (n, d) is one of them."""

    def fingerprint(self, points: Array) -> NDArray[np.uint64]:
        """(n,) one number for each row of points (n, d), the same for the same points."""


class Past(NamedTuple):
    """The trials that have a value, in order of completion."""

    points: Array  # (n, d)
    ranking: Array  # (n, M) minimised


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A function, and where its maximum may be.

    Args:
        function: What to maximise.
        domain: Where to look.
        avoid: Points that must not be returned.
        starts: (p, d) points worth varying, for instance the best ones observed.
        rng: Source of randomness.
        budget: How much work to do.
        past: What has been tried, for searches that learn from it; None for nothing.
    """

    function: BatchFunction
    domain: Domain
    avoid: Avoided
    starts: Array
    rng: np.random.Generator
    budget: SearchBudget
    past: Past | None = None

    def score(self, points: Array) -> Array:
        """Return values (n,) of points (n, d), -inf for points to avoid.

        Inside the search, not after it: a population must not gather on old points.
        """
        values = self.function(points)
        return np.where(self.avoid.contains(points), -np.inf, values)

    def ranked(self, points: Array, values: Array) -> Array:
        """Return the best of points (n, d) by their values (n,), each once and none to be avoided.

        The first is the result. The others are what to fall back on without another search where
        somebody else has taken it in the meantime.
        """
        order = np.argsort(-values, kind="stable")
        points = points[order[values[order] > -np.inf]]
        _, first = np.unique(self.avoid.fingerprint(points), return_index=True)
        best: Array = points[np.sort(first)[:MOST_CANDIDATES]]
        return best

    def enumerated(self) -> Array:
        """Return the best points (k, d) of a finite domain by looking at all of them."""
        points = self.domain.enumerate()
        inside = self.domain.contains(points)
        # A region without a new point is left rather than searched again.
        for candidates in (points[inside], points[~inside]):
            if len(candidates):
                best = self.ranked(candidates, self.score(candidates))
                if len(best):
                    return best
        return points[:0]
