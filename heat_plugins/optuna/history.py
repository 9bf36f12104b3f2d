"""What a study has seen, as arrays of the core.

Finished trials never change, so each is translated once and kept; a study of thousands of
trials costs a suggestion no more than a look at the new ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.choices import ListedValues
from heat_plugins.core.build import Builder
from heat_plugins.core.domain import Domain
from heat_plugins.core.history import History
from heat_plugins.core.seen import PointSet
from heat_plugins.model import Model
from heat_plugins.optuna.claims import claimed_params, claimed_region
from heat_plugins.optuna.constraints import constraints_of
from heat_plugins.optuna.distributions import (
    fixed_params,
    is_same_when_stored,
    params_of,
    space_of,
)
from heat_plugins.space import Array, Space

__all__ = ["Asked", "ReadingRules", "StudyReader", "is_repeat"]

# Values that this process gave to trials that are still running, by trial id. The storage
# has them only when the objective has come to ask for them.
Asked = Mapping[int, Mapping[str, Any]]

# How long a running trial is believed to run, if nobody says: so many times as long as the
# longest of the finished ones, and never less than so many seconds.
PATIENCE = 10.0
LEAST_PATIENCE_SECONDS = 600.0
MOST_COUNTED = 2000  # points of a space that are counted under a rule of the user's


@dataclass(frozen=True)
class ReadingRules:
    """What trials count as.

    Args:
        consider_pruned: Whether pruned trials with a reported value are observations.
        pending_timeout: Age in seconds at which a running trial is given up; None to find it
            from the durations of the finished ones.
    """

    consider_pruned: bool = True
    pending_timeout: float | None = None

    @property
    def observed(self) -> tuple[TrialState, ...]:
        """The states of trials that can be observations."""
        pruned = (TrialState.PRUNED,) if self.consider_pruned else ()
        return (TrialState.COMPLETE, *pruned)


class StudyReader:
    """Translates the trials of one study, for one search space."""

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution],
        model: Model | None = None,
        rules: ReadingRules | None = None,
    ) -> None:
        self.search_space = dict(search_space)
        self.space: Space = space_of(search_space)
        self._rules = rules or ReadingRules()
        self._symmetry = Builder(self.space, model or Model()).symmetry()
        # Points that are the same to the objective count once.
        self._n_different = (
            self.space.size if self._symmetry is None else self._symmetry.n_orbits(self.space)
        )
        self._finished: dict[int, Array | None] = {}  # by trial id
        self._allowed: Callable[[Array], NDArray[np.bool_]] | None = None

    def obey(self, allowed: Callable[[Array], NDArray[np.bool_]]) -> None:
        """Count only points that a rule allows: then those are all there is to try."""
        self._allowed = allowed
        self._n_different = math.inf
        if self.space.size <= MOST_COUNTED:
            points = Domain(self.space).enumerate()
            self._n_different = len(PointSet(points[allowed(points)], self._symmetry))

    def read(
        self,
        trials: Sequence[FrozenTrial],
        directions: Sequence[StudyDirection],
        current: FrozenTrial | None,
        asked: Asked,
    ) -> History:
        """Return the history for a suggestion.

        Args:
            trials: All trials of the study.
            directions: The directions of the study; the core always minimises.
            current: The trial that is being asked for, if one is.
            asked: What other trials were given.
        """
        complete: list[tuple[float, int, Array, FrozenTrial]] = []
        pruned: list[tuple[float, int, Array, FrozenTrial]] = []
        pending: list[Array] = []
        others: list[Array] = []
        patience = self._patience(trials)
        for trial in trials:
            if current is not None and trial._trial_id == current._trial_id:
                continue
            point = self._point_of(trial, asked)
            if point is None:
                continue
            # As a number: times with and without a zone cannot be compared.
            end = trial.datetime_complete.timestamp() if trial.datetime_complete else 0.0
            if trial.state == TrialState.COMPLETE:
                complete.append((end, trial.number, point, trial))
            elif trial.state == TrialState.PRUNED and self._is_observed(trial, directions):
                pruned.append((end, trial.number, point, trial))
            elif not trial.state.is_finished():
                if not _is_overdue(trial, patience):
                    pending.append(point)
            else:
                others.append(point)
        signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions]
        known = [signs[0] * float(row[3].values[0]) for row in complete] if pruned else []
        rows = sorted([*complete, *pruned], key=lambda row: row[:2])
        values = [_values(trial, signs, known) for _, _, _, trial in rows]
        array = np.array(values, dtype=float).reshape(len(rows), len(signs))
        return History(
            points=self._rows([row[2] for row in rows]),
            values=array[:, 0] if len(signs) == 1 else array,
            asked_from=np.array([claimed_region(row[3]) for row in rows], dtype=np.int64),
            pending=self._rows(pending),
            others=self._rows(others),
            constraints=constraints_of([row[3] for row in rows]),
        )

    def _is_observed(self, trial: FrozenTrial, directions: Sequence[StudyDirection]) -> bool:
        can_be = self._rules.consider_pruned and len(directions) == 1
        return can_be and _reported(trial) is not None

    def _patience(self, trials: Iterable[FrozenTrial]) -> float:
        """Return the age in seconds up to which a running trial is believed to run."""
        if self._rules.pending_timeout is not None:
            return self._rules.pending_timeout
        longest = max(
            (_duration(trial) for trial in trials if trial.state.is_finished()),
            default=math.inf,
        )
        return max(PATIENCE * longest, LEAST_PATIENCE_SECONDS)

    def _point_of(self, trial: FrozenTrial, asked: Asked) -> Array | None:
        """Return where a trial lies, NaN in what it does not have; None if in everything."""
        if not trial.state.is_finished():
            given = fixed_params(trial) | claimed_params(trial, self.search_space)
            given |= dict(asked.get(trial._trial_id, {}))
            return self._encode(given | params_of(self.search_space, trial))
        if trial._trial_id not in self._finished:
            self._finished[trial._trial_id] = self._encode(params_of(self.search_space, trial))
        return self._finished[trial._trial_id]

    def _encode(self, params: Mapping[str, Any]) -> Array | None:
        point = np.full(len(self.space), np.nan)
        for column, parameter in enumerate(self.space.parameters):
            if parameter.name not in params:
                continue
            value = params[parameter.name]
            if not isinstance(parameter, ListedValues):
                # Perhaps from a time when the range was another one.
                point[column] = parameter.locate(value)
                continue
            try:
                point[column] = parameter.encode(value)
            except ValueError:
                return None
        return None if np.isnan(point).all() else point

    def _rows(self, points: list[Array]) -> Array:
        return np.array(points).reshape(len(points), len(self.space))

    def held(self, trial: FrozenTrial) -> dict[int, float]:
        """Return the columns that ``enqueue_trial`` fixed for a trial, with their values."""
        held = {}
        for name, value in fixed_params(trial).items():
            if name in self.space.column:
                column = self.space.column[name]
                try:
                    held[column] = self.space.parameters[column].encode(value)
                except ValueError:
                    # Optuna itself warns of a value outside the distribution and uses it;
                    # the model has no place for it.
                    continue
        return held

    def rivals(
        self, trials: Iterable[FrozenTrial], current: FrozenTrial, point: Array, asked: Asked
    ) -> list[FrozenTrial]:
        """Return those of some trials that have, or are being given, the same point (d,)."""
        missing = np.isnan(point)
        mine = PointSet(point[None], None if missing.any() else self._symmetry)
        trials = list(trials)
        patience = self._patience(trials)
        rivals = []
        for trial in trials:
            if trial._trial_id == current._trial_id or trial.state == TrialState.WAITING:
                continue
            if _is_overdue(trial, patience):
                continue
            theirs = self._point_of(trial, asked)
            if theirs is None or not np.array_equal(np.isnan(theirs), missing):
                continue
            if mine.contains(theirs[None])[0]:
                rivals.append(trial)
        return rivals

    def is_exhausted(
        self, trials: Sequence[FrozenTrial], asked: Asked, ended: FrozenTrial | None = None
    ) -> bool:
        """Whether every point has been tried, or is being tried.

        Not where trials have parameters outside the space, or lack some of it: those remain to
        be varied. A trial that has ``ended`` tried what it has come to ask for, even if the
        storage still takes it to be running.
        """
        if ended is not None and self._is_outdated_by(ended):
            return False
        patience = self._patience(trials)
        begun = [
            trial
            for trial in trials
            if trial.state != TrialState.WAITING and not _is_overdue(trial, patience)
        ]
        if self._n_different > len(begun) or any(self._has_other_params(t) for t in begun):
            return False
        found = [
            self._encode(params_of(self.search_space, trial))
            if ended is not None and trial._trial_id == ended._trial_id
            else self._point_of(trial, asked)
            for trial in begun
        ]
        points = self._rows([point for point in found if point is not None])
        is_complete = np.array(
            [
                trial.state == TrialState.COMPLETE
                for trial, point in zip(begun, found, strict=True)
                if point is not None
            ],
            dtype=bool,
        )
        if np.isnan(points[is_complete]).any():
            return False
        # A value that was enqueued may lie between those that the space has.
        real = np.all(self.space.snap(points) == points, axis=1)
        if self._allowed is not None:
            real[real] = self._allowed(points[real])
        return len(PointSet(points[real], self._symmetry)) >= self._n_different

    def _is_outdated_by(self, trial: FrozenTrial) -> bool:
        """Whether a trial asked for a parameter in another range than this space has."""
        return any(
            name in self.search_space
            and not is_same_when_stored(self.search_space[name], distribution)
            for name, distribution in dict(trial.distributions).items()
        )

    def _has_other_params(self, trial: FrozenTrial) -> bool:
        return any(
            name not in self.space.column and not distribution.single()
            for name, distribution in dict(trial.distributions).items()
        )


def _values(trial: FrozenTrial, signs: Sequence[float], known: Sequence[float]) -> list[float]:
    """Return the values of a trial, minimised.

    A pruned trial has the last value that it reported, but at best that of the middle one of
    the complete trials, ``known``: it was given up because others were better.
    """
    if trial.state == TrialState.COMPLETE:
        return [sign * float(v) for sign, v in zip(signs, trial.values, strict=True)]
    reported = _reported(trial)
    assert reported is not None
    value = signs[0] * reported
    return [max(value, float(np.median(known)))] if known else [value]


def _reported(trial: FrozenTrial) -> float | None:
    """Return the last value that a trial reported, if that is a number."""
    reported = trial.intermediate_values
    if not reported:
        return None
    value = float(reported[max(reported)])
    return None if math.isnan(value) else value


def _duration(trial: FrozenTrial) -> float:
    """Return how many seconds a finished trial took; added ones may not tell."""
    begin, end = trial.datetime_start, trial.datetime_complete
    # As numbers: times with and without a zone cannot be subtracted.
    return 0.0 if begin is None or end is None else end.timestamp() - begin.timestamp()


def _is_overdue(trial: FrozenTrial, patience: float) -> bool:
    """Whether a trial has been running for so many seconds that its worker must be dead."""
    begin = trial.datetime_start
    if trial.state != TrialState.RUNNING or begin is None:
        return False
    return (datetime.now(begin.tzinfo) - begin).total_seconds() > patience


def is_repeat(
    trials: Iterable[FrozenTrial],
    current: FrozenTrial,
    params: Mapping[str, Any],
    asked: Asked,
) -> bool:
    """Whether another trial has exactly these parameters."""
    return any(
        {**asked.get(trial._trial_id, {}), **trial.params} == params
        for trial in trials
        if trial._trial_id != current._trial_id
    )
