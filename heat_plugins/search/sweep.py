"""Candidate moves of an ascent: all single changes, or of very many the promising ones.

Notation
    ===========  =====================================================================
    N            single changes that lead from a point to another one of the domain
    gain         by how much a change was better than none when it was last looked at
    used         a code that a good point has: one of the starts or of the population
    ===========  =====================================================================

A step of the ascent costs as much as it looks at changes, and three categories of 10,000
choices have 30,000. Where there are too many, a step looks at those with the largest gains so
far, at some that lead to used codes, and at random ones for the rest. All ascents of a search
together take a limited number of such steps, those from the best points first.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.domain import Domain
from heat_plugins.space import Array, Bools, Indices

__all__ = ["Sweep"]


# To list the changes of a number takes a while, and there are some twenty of them. The
# gradient moves all numbers without a grid, whether they are looked at here or not.
MOST_NUMBERS = 25


class Sweep:
    """Chooses the single changes that are looked at, and remembers what came of them.

    Args:
        domain: Where the points are.
        good: (p, d) points whose codes are worth trying elsewhere.
        rng: Source of randomness, which is asked only where there are too many changes.
        n_all: Up to so many changes are all looked at.
        n_some: How many are looked at where there are more.
        n_steps: How often that may be.
    """

    def __init__(
        self,
        domain: Domain,
        good: Array,
        rng: np.random.Generator,
        n_all: int,
        n_some: int,
        n_steps: int,
    ) -> None:
        """Lay out a table of all codes of the free columns; a last place is for numbers."""
        self.domain = domain
        self._rng = rng
        self._n_all, self._n_some = n_all, n_some
        self._n_steps = n_steps
        columns = domain.free_discrete
        sizes = domain.space.n_levels[columns].astype(np.int64)
        self._first = np.full(len(domain.space), -1)
        self._first[columns] = np.cumsum(sizes) - sizes
        self._gains = np.full(int(sizes.sum()) + 1, -np.inf)
        self._is_used = np.zeros(len(self._gains), dtype=bool)
        for column in columns:
            codes = good[~np.isnan(good[:, column]), column]
            self._is_used[self._first[column] + codes.astype(np.int64)] = True

    def changes(self, point: Array) -> tuple[Indices, Array]:
        """Return columns and coordinates (N,) of the changes of a point (d,) to look at.

        None where there are too many, and that has been so too often.
        """
        numbers = self.domain.free_numeric[~np.isnan(point[self.domain.free_numeric])]
        has_many = len(numbers) > MOST_NUMBERS
        if has_many:
            numbers = self._rng.choice(numbers, MOST_NUMBERS, replace=False)
        columns, coordinates = self.domain.changes(point, numbers)
        if len(columns) <= self._n_all and not has_many:
            return columns, coordinates
        self._n_steps -= 1
        if self._n_steps < 0:
            return columns[:0], coordinates[:0]
        if len(columns) > self._n_some:
            chosen = self._choose(self._places(columns, coordinates))
            columns, coordinates = columns[chosen], coordinates[chosen]
        return columns, coordinates

    def note(self, columns: Indices, coordinates: Array, values: Array, before: float) -> None:
        """Remember what changes gain by their values (N,), -inf for points to avoid."""
        gains = values - before if before > -np.inf else values
        self._gains[self._places(columns, coordinates)] = gains
        self._gains[-1] = -np.inf  # what a step of a number gains says nothing about others

    def _places(self, columns: Indices, coordinates: Array) -> Indices:
        """Return (N,) where the codes stand in the table; the last place for numbers."""
        first = self._first[columns]
        return np.where(first < 0, -1, first + np.where(first < 0, 0.0, coordinates).astype(int))

    def _choose(self, places: Indices) -> Bools:
        """Return (N,) which changes to look at: half by gain, a quarter used, the rest any."""
        chosen = np.zeros(len(places), dtype=bool)
        ranks = self._rng.random(len(places))
        self._take(chosen, self._gains[places], self._n_some // 2)
        self._take(chosen, np.where(self._is_used[places], ranks, -np.inf), self._n_some // 4)
        self._take(chosen, ranks, self._n_some - int(chosen.sum()))
        return chosen

    @staticmethod
    def _take(chosen: Bools, scores: Array, n: int) -> None:
        """Choose up to ``n`` more with the highest scores (N,), none of -inf."""
        scores = np.where(chosen, -np.inf, scores)
        best = np.argpartition(-scores, n)[:n]
        chosen[best[scores[best] > -np.inf]] = True
