"""What a study has seen, as arrays of the core.

Finished trials never change, so each is translated once and kept; a study of thousands of
trials costs a suggestion no more than a look at the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.core.build import Builder
from heat_plugins.core.seen import PointSet
from heat_plugins.core.suggest import History
from heat_plugins.core.trust_region import NO_REGION
from heat_plugins.model import Model
from heat_plugins.optuna.distributions import encode_params, fixed_params, params_of, space_of
from heat_plugins.space import Array, Space

__all__ = ["REGION_KEY", "Asked", "StudyReader", "common_params", "is_repeat"]

REGION_KEY = "heat_plugins:region"

# Values that this process gave to trials that are still running, by trial id. The storage
# has them only when the objective has come to ask for them.
Asked = Mapping[int, Mapping[str, Any]]


class StudyReader:
    """Translates the trials of one study, for one search space."""

    def __init__(
        self, search_space: Mapping[str, BaseDistribution], model: Model | None = None
    ) -> None:
        self.search_space = dict(search_space)
        self.space: Space = space_of(search_space)
        self._symmetry = Builder(self.space, model or Model()).symmetry()
        # Points that are the same to the objective count once.
        self._n_different = (
            self.space.size if self._symmetry is None else self._symmetry.n_orbits(self.space)
        )
        self._finished: dict[int, Array | None] = {}  # by trial id

    def read(
        self,
        trials: Sequence[FrozenTrial],
        direction: StudyDirection,
        current: FrozenTrial | None,
        asked: Asked,
    ) -> History:
        """Return the history for a suggestion.

        Args:
            trials: All trials of the study.
            direction: The direction of the study; the core always minimises.
            current: The trial that is being asked for, if one is.
            asked: What other trials were given.
        """
        complete: list[tuple[float, int, Array, float, int]] = []
        pending: list[Array] = []
        others: list[Array] = []
        sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
        for trial in trials:
            if current is not None and trial._trial_id == current._trial_id:
                continue
            point = self._point_of(trial, asked)
            if point is None:
                continue
            if trial.state == TrialState.COMPLETE:
                tag = trial.system_attrs.get(REGION_KEY)
                region = tag if isinstance(tag, int) else NO_REGION
                value = sign * float(trial.values[0])
                # As a number: times with and without a zone cannot be compared.
                end = trial.datetime_complete.timestamp() if trial.datetime_complete else 0.0
                complete.append((end, trial.number, point, value, region))
            elif trial.state == TrialState.RUNNING:
                pending.append(point)
            else:
                others.append(point)
        complete.sort(key=lambda row: row[:2])
        return History(
            points=self._rows([row[2] for row in complete]),
            values=np.array([row[3] for row in complete], dtype=float),
            asked_from=np.array([row[4] for row in complete], dtype=np.int64),
            pending=self._rows(pending),
            others=self._rows(others),
        )

    def _point_of(self, trial: FrozenTrial, asked: Asked) -> Array | None:
        """Return where a trial lies; None where it is not in the space."""
        if not trial.state.is_finished():
            given = fixed_params(trial) | dict(asked.get(trial._trial_id, {}))
            return encode_params(self.space, given | params_of(self.search_space, trial))
        if trial._trial_id not in self._finished:
            point = encode_params(self.space, params_of(self.search_space, trial))
            self._finished[trial._trial_id] = point
        return self._finished[trial._trial_id]

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

    def is_exhausted(self, trials: Sequence[FrozenTrial], asked: Asked) -> bool:
        """Whether every point has been tried, or is being tried.

        Not where trials have parameters outside the space: those remain to be varied.
        """
        begun = [trial for trial in trials if trial.state != TrialState.WAITING]
        if self._n_different > len(begun) or any(self._has_other_params(t) for t in begun):
            return False
        found = [self._point_of(trial, asked) for trial in begun]
        points = self._rows([point for point in found if point is not None])
        # A value that was enqueued may lie between those that the space has.
        real = np.all(self.space.snap(points) == points, axis=1)
        return len(PointSet(points[real], self._symmetry)) >= self._n_different

    def _has_other_params(self, trial: FrozenTrial) -> bool:
        return any(
            name not in self.space.column and not distribution.single()
            for name, distribution in dict(trial.distributions).items()
        )


def common_params(
    trials: Iterable[FrozenTrial], current: FrozenTrial
) -> dict[str, BaseDistribution]:
    """Return the parameters that all trials have in common which have any yet."""
    found = [
        dict(trial.distributions)
        for trial in trials
        if trial.distributions and trial._trial_id != current._trial_id
    ]
    first, *rest = found or [{}]
    return {
        name: distribution
        for name, distribution in sorted(first.items())
        if all(other.get(name) == distribution for other in rest)
    }


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
