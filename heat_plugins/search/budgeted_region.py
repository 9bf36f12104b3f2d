"""Bounce's trust region: its size is what is left of a budget (Papenmeier et al., 2023).

Notation
    ===========  =====================================================================
    L            length: how many columns may differ from the centre
    m            trials that are left of the budget of a stage
    ===========  =====================================================================

After a trial that is no better than the best by a thousandth, L becomes L (1 / L)^(1 / m); after
one that is, L / (1 / L)^(1 / m), at most the number of columns. Without a success L is 1 at the
end of the budget. Then the next stage begins with its own first length, around the same centre
(nested_bins.py: the space of the stage is larger); after the last one a region begins anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heat_plugins.search.region_replay import RegionReplay
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.space import Array, Indices, Space

__all__ = ["BudgetedRegionRules", "Stage", "replay_budget"]

TRIALS_PER_COLUMN = 10  # that a region in the whole space may take


class Stage(NamedTuple):
    """A part of a study.

    Args:
        n_columns: That can differ in its space.
        end: How many trials have ended when it does, start-up included.
    """

    n_columns: int
    end: int


@dataclass(frozen=True)
class BudgetedRegionRules:
    """Rules of a budgeted region: initial length, success, end.

    Args:
        first_length: Columns that may differ from the centre.
        least_improvement: Share of the best value by which a success is better.
        end_length: Length at which a region has come to its end.
    """

    first_length: float = 10.0
    least_improvement: float = 1e-3
    end_length: float = 1.0 + 1e-4


def replay_budget(
    points: Array,
    ranking: Array,
    region_ids: Indices,
    space: Space,
    rules: BudgetedRegionRules,
    stages: Sequence[Stage] = (),
    failed_after: Indices | None = None,
) -> TrustRegion:
    """Return the region after the given trials.

    Args:
        points: (n, d) points of the finished trials, in order of completion.
        ranking: (n, M) their constrained ranking, minimised.
        region_ids: (n,) index of the region each was suggested in, or ``NO_REGION``.
        space: The space of the points.
        rules: When the region changes.
        stages: Those before the search is in the whole space; they are one region.
        failed_after: (q,) after how many of the trials each of those failed that have no value;
            None for none. They use up the budget.

    A trial that no region asked for may move the centre but is neither a success nor a failure.
    """
    n_columns = max(1, int(np.sum(space.n_levels > 1)))
    failed = np.bincount([] if failed_after is None else failed_after, minlength=len(points) + 1)
    n_before = np.arange(len(points)) + np.cumsum(failed)[: len(points)]  # trials that had ended
    state = _State(points, ranking, rules, stages, n_columns)
    for i, region_id in enumerate(region_ids.tolist()):
        state.go_to(int(n_before[i]))
        if state.is_asked_by_next(region_id):
            state.begin_anew()
        before = state.best.value
        improves = state.take(i, region_id)
        if improves is not None:
            state.adapt(improves and _is_clear(before, state.best.value, rules))
    state.go_to(len(points) + int(failed.sum()))
    return TrustRegion(
        state.index,
        state.centre,
        state.best.value,
        state.scale,
        front=tuple(state.best.trials),
        ended=tuple(state.ended),
    )


def _is_clear(before: float, after: float, rules: BudgetedRegionRules) -> bool:
    """Whether a value is better by more than a share of the one before; of fronts any is."""
    if not math.isfinite(before) or not math.isfinite(after):
        return True
    return after < before - rules.least_improvement * abs(before)


class _State(RegionReplay):
    """Length and budget of the present stage."""

    def __init__(
        self,
        points: Array,
        ranking: Array,
        rules: BudgetedRegionRules,
        stages: Sequence[Stage],
        n_columns: int,
    ) -> None:
        super().__init__(points, ranking)
        self._rules, self._stages, self._n_whole = rules, list(stages), n_columns
        self._first = 0  # trials before the region
        self._n_ended = 0  # trials before the next one
        self._begin_stage(0)

    def _begin_stage(self, number: int) -> None:
        """Take the first length of a stage; the whole space comes after the last one."""
        self._stage = number
        if number < len(self._stages):
            self._n_columns, self._end = self._stages[number]
        else:
            first = self._stages[-1].end if self._stages else 0
            self._n_columns = self._n_whole
            self._end = max(first, self._first) + TRIALS_PER_COLUMN * self._n_whole
        self._length = min(self._rules.first_length, float(self._n_columns))

    def begin_anew(self) -> None:
        """Begin the next region, in the whole space."""
        super().begin_anew()
        self._first = self._n_ended
        self._begin_stage(len(self._stages))

    def go_to(self, n_ended: int) -> None:
        """Begin the stage that comes after so many trials."""
        self._n_ended = n_ended
        while self._stage < len(self._stages) and n_ended >= self._end:
            self._begin_stage(self._stage + 1)

    def adapt(self, is_success: bool) -> None:
        """Shrink, grow or begin anew after the trial that came next."""
        left = max(self._end - self._n_ended, 1)
        factor = max((1.0 / self._length) ** (1.0 / left), 1e-10)
        length = self._length / factor if is_success else self._length * factor
        self._length = min(max(length, 1.0), float(self._n_columns))
        if self._is_spent:
            self._n_ended += 1
            self.begin_anew()

    @property
    def _is_spent(self) -> bool:
        """Whether a region in the whole space has come to its end."""
        is_whole = self._stage == len(self._stages)
        return is_whole and self._n_columns > 1 and self._length <= self._rules.end_length

    @property
    def scale(self) -> float:
        """The length as a share of the columns."""
        return math.floor(self._length) / self._n_columns
