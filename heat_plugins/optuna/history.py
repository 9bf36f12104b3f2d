"""What a study has seen, as arrays of the core.

Finished trials never change, so each is translated once and kept; a study of thousands of
trials costs a suggestion no more than a look at the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.core.suggest import History
from heat_plugins.core.trust_region import NO_REGION
from heat_plugins.optuna.distributions import encode_params, encode_trial, space_of
from heat_plugins.space import Array, Space

__all__ = ["REGION_KEY", "StudyReader", "fixed_params"]

REGION_KEY = "heat_plugins:region"
_FIXED_PARAMS_KEY = "fixed_params"  # where Study.enqueue_trial keeps what it was given


def fixed_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the values that ``enqueue_trial`` fixed for a trial."""
    fixed = trial.system_attrs.get(_FIXED_PARAMS_KEY)
    return dict(fixed) if isinstance(fixed, Mapping) else {}


class StudyReader:
    """Translates the trials of one study, for one search space."""

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        self.search_space = dict(search_space)
        self.space: Space = space_of(search_space)
        self._finished: dict[int, Array | None] = {}  # by trial id

    def read(
        self,
        trials: Sequence[FrozenTrial],
        direction: StudyDirection,
        current: FrozenTrial,
        asked: Mapping[int, Mapping[str, Any]],
    ) -> History:
        """Return the history for a suggestion.

        Args:
            trials: All trials of the study.
            direction: The direction of the study; the core always minimises.
            current: The trial that is being asked for.
            asked: Values suggested by this process to trials that are still running. Their
                objective may not have come to ask for all of them yet.
        """
        complete: list[tuple[Any, int, Array, float, int]] = []
        pending: list[Array] = []
        others: list[Array] = []
        sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
        for trial in trials:
            if trial._trial_id == current._trial_id:
                continue
            if trial.state.is_finished():
                point = self._point_of_finished(trial)
                if point is None:
                    continue
                if trial.state == TrialState.COMPLETE:
                    tag = trial.system_attrs.get(REGION_KEY)
                    region = tag if isinstance(tag, int) else NO_REGION
                    value = sign * float(trial.values[0])
                    complete.append((trial.datetime_complete, trial.number, point, value, region))
                else:
                    others.append(point)
                continue
            given = fixed_params(trial) | dict(asked.get(trial._trial_id, {})) | trial.params
            point = encode_params(self.space, given)
            if point is not None:
                (pending if trial.state == TrialState.RUNNING else others).append(point)
        complete.sort(key=lambda row: row[:2])
        return History(
            points=self._rows([row[2] for row in complete]),
            values=np.array([row[3] for row in complete], dtype=float),
            asked_from=np.array([row[4] for row in complete], dtype=np.int64),
            pending=self._rows(pending),
            others=self._rows(others),
        )

    def _point_of_finished(self, trial: FrozenTrial) -> Array | None:
        if trial._trial_id not in self._finished:
            point = encode_trial(self.space, self.search_space, trial)
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
