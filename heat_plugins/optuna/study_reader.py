"""Reads a study into a history of arrays.

Finished trials never change, so each is translated once and kept; a study of thousands of
trials costs a suggestion no more than a look at the new ones.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.history import EarlierStudy, History
from heat_plugins.optuna.constraints import constraint_names, constraints_in, constraints_of
from heat_plugins.optuna.distributions import (
    fixed_params,
    has_same_choices,
    is_same_when_stored,
    params_of,
    positions_by_choice,
    space_of,
)
from heat_plugins.optuna.reservation_record import reserved_params, reserved_region
from heat_plugins.optuna.trial_log import TrialLog, is_overdue
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.search.domain import Domain
from heat_plugins.space import Array, Bools, Space
from heat_plugins.space.categorical import ListedValues
from heat_plugins.space.point_set import PointSet
from heat_plugins.space.symmetry import Symmetry
from heat_plugins.space.trial_conditions import conditions_from, points_up_to

__all__ = ["Asked", "ReadingRules", "StudyReader"]

# Values that this process gave to trials that are still running, by trial id. The storage
# has them only when the objective has come to ask for them.
Asked = Mapping[int, Mapping[str, Any]]

MOST_COUNTED = 2000  # points of a space that are counted under a rule of the user's


@dataclass(frozen=True)
class ReadingRules:
    """Rules for reading trials.

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


@dataclass(frozen=True, eq=False)
class _Row:
    """A finished trial, translated."""

    trial: FrozenTrial
    end: float  # in seconds; trials that were added may not tell
    point: Array
    values: list[float]  # minimised; of a pruned trial the last one reported, of a failed one none
    constraints: dict[str, float]


def _end_and_number(row: _Row) -> tuple[float, int]:
    return row.end, row.trial.number


class StudyReader:
    """Translates the trials of one study, for one search space."""

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution],
        symmetry: Symmetry | None = None,
        rules: ReadingRules | None = None,
        left_out: AbstractSet[str] = frozenset(),
    ) -> None:
        self.search_space = dict(search_space)
        self.space: Space = space_of(search_space)
        self._rules = rules or ReadingRules()
        self._symmetry = symmetry
        # Points that are the same to the objective count once.
        self._n_different = (
            self.space.size if self._symmetry is None else self._symmetry.n_orbits(self.space)
        )
        # (name, column, distribution, positions) of choices that can be looked up
        self._lookups = [
            (name, self.space.column[name], distribution, positions)
            for name, distribution in search_space.items()
            if (positions := positions_by_choice(distribution)) is not None
        ]
        self._left_out = left_out  # names of parameters that are not read
        self._earlier: Sequence[tuple[EarlierStudy, Sequence[str]]] | None = None
        self._allowed: Callable[[Array], Bools] | None = None
        self._log = TrialLog()
        self._points: dict[int, Array | None] = {}  # of finished trials, by id
        self._begin()

    def _begin(self) -> None:
        """Begin to read the trials of the log."""
        self._epoch = self._log.epoch
        self._n_read = 0
        self._rows: list[_Row] = []
        self._failed: list[_Row] = []
        self._history: History | None = None

    @property
    def has_earlier(self) -> bool:
        """Whether the reader has been told of earlier studies."""
        return self._earlier is not None

    def go_on_from(self, earlier: Sequence[tuple[EarlierStudy, Sequence[str]]]) -> None:
        """Let histories have earlier studies, each with the names of its constraints."""
        self._earlier, self._history, self._n_read = earlier, None, 0
        self._begin()

    @property
    def constraint_names(self) -> list[str]:
        """The names of the constraints that have a column of their own."""
        return constraint_names([row.constraints for row in self._rows])

    @usual_errors
    def obey(self, allowed: Callable[[Array], Bools]) -> None:
        """Count only points that a rule allows: then those are all there is to try."""
        self._allowed = allowed
        self._n_different = math.inf
        if self.space.size <= MOST_COUNTED:
            points = Domain(self.space).enumerate()
            self._n_different = len(PointSet(points[allowed(points)], self._symmetry))

    @usual_errors
    def read(
        self,
        trials: Sequence[FrozenTrial],
        directions: Sequence[StudyDirection],
        current: FrozenTrial | None,
        asked: Asked,
    ) -> History:
        """Return the history for a suggestion, or for no trial; always minimised."""
        self._log.follow(trials)
        history = self._read_finished(directions)
        patience = self._patience
        pending = [
            point
            for trial in self._log.unfinished
            if not _is_same(trial, current) and not is_overdue(trial, patience)
            if (point := self._point_of(trial, asked)) is not None
        ]
        return replace(history, pending=self.space.stack(pending))

    def _read_finished(self, directions: Sequence[StudyDirection]) -> History:
        """Return the history of the finished trials; translate those that are new."""
        if self._epoch != self._log.epoch:
            self._begin()
        if self._history is not None and self._n_read == len(self._log.finished):
            return self._history
        signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions]
        for trial in self._log.finished[self._n_read :]:
            point = self._point_of(trial, {})
            if point is None:
                continue
            # As a number: times with and without a zone cannot be compared.
            end = trial.datetime_complete.timestamp() if trial.datetime_complete else 0.0
            values = self._values(trial, signs)
            rows = self._failed if values is None else self._rows
            rows.append(_Row(trial, end, point, values or [], constraints_in(trial)))
        self._n_read = len(self._log.finished)
        # In an order that does not depend on when this process came to look.
        for rows in (self._rows, self._failed):
            rows.sort(key=_end_and_number)
        self._history = self._assemble(len(signs))
        return self._history

    def _assemble(self, n_objectives: int) -> History:
        """Return the history of the finished trials."""
        rows = self._rows
        values = np.array([row.values for row in rows], dtype=float)
        values = values.reshape(len(rows), n_objectives)
        states = [row.trial.state for row in rows]
        is_pruned = np.array([state == TrialState.PRUNED for state in states], dtype=bool)
        if is_pruned.any() and not is_pruned.all():
            # At best that of the middle one of the complete trials: others were better.
            values[is_pruned] = np.maximum(values[is_pruned], _middle(values[~is_pruned, 0]))
        return History(
            points=self.space.stack([row.point for row in rows]),
            values=values[:, 0] if n_objectives == 1 else values,
            region_ids=np.array([reserved_region(row.trial) for row in rows], dtype=np.int64),
            pending=self.space.stack([]),
            failed=self.space.stack([row.point for row in self._failed]),
            constraints=constraints_of([row.constraints for row in rows]),
            failed_after=np.array(
                [bisect(rows, _end_and_number(row), key=_end_and_number) for row in self._failed],
                dtype=np.int64,
            ),
            failed_region_ids=np.array(
                [reserved_region(row.trial) for row in self._failed], dtype=np.int64
            ),
            earlier=self._earlier_studies(),
        )

    def _earlier_studies(self) -> tuple[EarlierStudy, ...]:
        """Return the earlier studies, their constraints in the columns of the present ones."""
        if not self._earlier:
            return ()
        names = self.constraint_names
        if not self._rows:
            names = sorted({name for _, its_names in self._earlier for name in its_names})
        found = []
        for study, its_names in self._earlier:
            aligned = np.full((len(study.points), len(names)), np.nan)
            for i, name in enumerate(names):
                if study.constraints is not None and name in its_names:
                    aligned[:, i] = study.constraints[:, its_names.index(name)]
            found.append(replace(study, constraints=aligned if len(names) else None))
        return tuple(found)

    def _values(self, trial: FrozenTrial, signs: Sequence[float]) -> list[float] | None:
        """Return the values of a finished trial, minimised; None where it has none."""
        if trial.state == TrialState.COMPLETE:
            return [sign * float(v) for sign, v in zip(signs, trial.values, strict=True)]
        can_be = self._rules.consider_pruned and len(signs) == 1
        if trial.state != TrialState.PRUNED or not can_be:
            return None
        reported = _reported(trial)
        return None if reported is None else [signs[0] * reported]

    @property
    def observed_trials(self) -> list[FrozenTrial]:
        """The trials with values that were last read, in the order of the history."""
        return [row.trial for row in self._rows]

    @property
    def _patience(self) -> float:
        """The age in seconds up to which a running trial is believed to run."""
        given = self._rules.pending_timeout
        return self._log.patience if given is None else given

    def _point_of(self, trial: FrozenTrial, asked: Asked) -> Array | None:
        """Return where a trial lies, NaN in what it does not have; None if in everything."""
        if not trial.state.is_finished():
            given = fixed_params(trial) | reserved_params(trial, self.search_space)
            given |= dict(asked.get(trial._trial_id, {}))
            return self._encode(given | params_of(self.search_space, trial))
        if trial._trial_id not in self._points:
            self._points[trial._trial_id] = self._finished_point(trial)
        return self._points[trial._trial_id]

    def _finished_point(self, trial: FrozenTrial) -> Array | None:
        """Return where a finished trial lies; most choices are looked up without more ado."""
        point = np.full(len(self.space), np.nan)
        rest, own = dict(trial.params), trial.distributions
        for name in self._left_out:
            rest.pop(name, None)
        columns, codes = [], []
        for name, column, distribution, positions in () if fixed_params(trial) else self._lookups:
            if name in rest and has_same_choices(distribution, own[name]):
                columns.append(column)
                codes.append(positions[rest.pop(name)])
        point[columns] = codes
        return self._encode(params_of(self.search_space, trial, rest), point)

    def _encode(self, params: Mapping[str, Any], point: Array | None = None) -> Array | None:
        """Return the point of parameter values, with the coordinates (d,) known already."""
        point = np.full(len(self.space), np.nan) if point is None else point
        for column, parameter in enumerate(self.space.parameters):
            if parameter.name not in params:
                continue
            value = params[parameter.name]
            try:
                if isinstance(parameter, ListedValues):
                    point[column] = parameter.encode(value)
                else:  # perhaps from a time when the range was another one
                    point[column] = parameter.normalize(value)
            except ValueError:
                return None
        return None if np.isnan(point).all() else point

    def fixed_columns(self, trial: FrozenTrial) -> dict[int, float]:
        """Return the columns whose values a trial has already, with these.

        They were fixed by ``enqueue_trial``, or stored with the trial: one that is repeated by
        ``RetryFailedTrialCallback`` brings its parameters along.
        """
        return self.encode(fixed_params(trial) | params_of(self.search_space, trial))

    def encode(self, params: Mapping[str, Any]) -> dict[int, float]:
        """Return the columns of parameters with their coordinates, as far as they have any."""
        encoded = {}
        for name, value in params.items():
            if name in self.space.column:
                column = self.space.column[name]
                try:
                    encoded[column] = self.space.parameters[column].encode(value)
                except ValueError:
                    # Optuna itself warns of a value outside the distribution and uses it;
                    # the model has no place for it.
                    continue
        return encoded

    @usual_errors
    def reserved_since(
        self, trials: Sequence[FrozenTrial], current: FrozenTrial, asked: Asked
    ) -> list[tuple[FrozenTrial, Array]]:
        """Return trials that may have taken a point after the history was read, with these.

        Those that have finished since, and all that are running in time.
        """
        self._log.follow(trials)
        n_known = self._n_read if self._epoch == self._log.epoch else 0
        patience = self._patience
        running = [t for t in self._log.unfinished if t.state == TrialState.RUNNING]
        return [
            (trial, point)
            for trial in [*self._log.finished[n_known:], *running]
            if not _is_same(trial, current) and not is_overdue(trial, patience)
            if (point := self._point_of(trial, asked)) is not None
        ]

    @usual_errors
    def is_among(self, points: Array, others: Sequence[Array]) -> Bools:
        """(m,) which of points (m, d) are one of some others (d,), to the objective."""
        taken = self.space.stack(list(others))
        is_whole = ~np.isnan(taken).any(axis=1)
        # Symmetries are between parameters that always exist.
        resolution = self.space.resolution
        whole = PointSet(taken[is_whole], self._symmetry, resolution=resolution)
        rest = PointSet(taken[~is_whole], resolution=resolution)
        lacks = np.isnan(points).any(axis=1)
        return np.where(lacks, rest.contains(points), whole.contains(np.nan_to_num(points)))

    @usual_errors
    def is_exhausted(
        self, trials: Sequence[FrozenTrial], asked: Asked, ended: FrozenTrial | None = None
    ) -> bool:
        """Whether every point has been tried, or is being tried.

        Not where trials have parameters outside the space: those remain to be varied. A trial
        that has ``ended`` tried what it has come to ask for, even if the storage still takes
        it to be running.
        """
        if ended is not None and self._is_outdated_by(ended):
            return False
        self._log.follow(trials)
        if self._n_different > len(trials) and not self._may_be_conditional(len(trials)):
            return False
        begun = list(self._begun(asked, ended))
        if any(self._has_other_params(trial) for trial, _ in begun):
            return False
        points = self.space.stack([point for _, point in begun if point is not None])
        is_complete = np.array(
            [trial.state == TrialState.COMPLETE for trial, point in begun if point is not None],
            dtype=bool,
        )
        if np.isnan(points[is_complete]).any():
            return self._has_all_of_a_conditional_space(points, is_complete)
        if self._n_different > len(begun):
            return False
        # A value that was enqueued may lie between those that the space has.
        real = np.all(self.space.snap(points) == points, axis=1)
        if self._allowed is not None:
            real[real] = self._allowed(points[real])
        return len(PointSet(points[real], self._symmetry)) >= self._n_different

    def _begun(
        self, asked: Asked, ended: FrozenTrial | None
    ) -> Iterator[tuple[FrozenTrial, Array | None]]:
        """Return the trials that have tried a point or are about to, with that point."""
        patience = self._patience
        for trial in [*self._log.finished, *self._log.unfinished]:
            if trial.state == TrialState.WAITING or is_overdue(trial, patience):
                continue
            if _is_same(trial, ended):
                yield trial, self._encode(params_of(self.search_space, trial))
            else:
                yield trial, self._point_of(trial, asked)

    def _may_be_conditional(self, n_trials: int) -> bool:
        """Whether parameters were absent from trials, of which a few may be all points then."""
        if self._history is None or n_trials > MOST_COUNTED:
            return False
        return bool(np.isnan(self._history.points).any())

    def _has_all_of_a_conditional_space(self, points: Array, is_complete: Bools) -> bool:
        """Whether points (n, d) are all that their own conditions allow."""
        conditions = conditions_from(self.space, points[is_complete], points[~is_complete])
        assert conditions is not None, "some complete trial lacks a parameter"
        every = points_up_to(self.space, conditions, MOST_COUNTED)
        if every is None or len(every) > len(points):
            return False
        if self._allowed is not None:
            every = every[self._allowed(every)]
        return bool(PointSet(points).contains(every).all())

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


def _middle(values: Array) -> float:
    """Return the median of values (n,), which may be infinite: next to that, the worse of two."""
    ordered, n = np.sort(values), len(values)
    low, high = float(ordered[(n - 1) // 2]), float(ordered[n // 2])
    return 0.5 * low + 0.5 * high if math.isfinite(low) and math.isfinite(high) else high


def _is_same(trial: FrozenTrial, other: FrozenTrial | None) -> bool:
    return other is not None and trial._trial_id == other._trial_id


def _reported(trial: FrozenTrial) -> float | None:
    """Return the last value that a trial reported, if that is a number."""
    reported = trial.intermediate_values
    if not reported:
        return None
    value = float(reported[max(reported)])
    return None if math.isnan(value) else value
