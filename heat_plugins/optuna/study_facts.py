"""Reads a study of any sampler for models and pictures."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.history import History
from heat_plugins.insight.study_data import ObjectiveFacts, StudyData, TrialFacts
from heat_plugins.insight.study_data import TrialState as State
from heat_plugins.optuna.constraints import constraint_names, constraints_in
from heat_plugins.optuna.feasible import FeasiblePoints, IsFeasible
from heat_plugins.optuna.reservation_record import reserved_region
from heat_plugins.optuna.study_reader import ReadingRules, StudyReader
from heat_plugins.optuna.trial_attributes import record_of
from heat_plugins.optuna.union_search_space import FINISHED, UnionSearchSpace
from heat_plugins.space import Allowed, Space
from heat_plugins.suggest import Settings

__all__ = ["study_data"]

_STATES: Mapping[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
}


def study_data(
    study: Study,
    settings: Settings | None = None,
    rules: ReadingRules | None = None,
    is_feasible: IsFeasible | None = None,
) -> StudyData:
    """Return what is known of a study.

    Args:
        study: A study of any sampler.
        settings: Of the models; None for the usual ones.
        rules: By which trials are read; None for the usual ones.
        is_feasible: The rule for what may be tried at all.
    """
    settings, rules = settings or Settings(), rules or ReadingRules()
    modelled, all_ended = UnionSearchSpace(rules.observed), UnionSearchSpace(FINISHED)
    search_space = _varying(modelled.calculate(study))
    # Of what both have the same ranges.
    failure_space = _varying(all_ended.calculate(study)) | search_space
    trials = study.get_trials(deepcopy=False)
    reader, history = _read(study, trials, search_space, rules)
    failure_reader, failure_history = _read(study, trials, failure_space, rules)
    observed = reader.observed_trials
    return StudyData(
        space=reader.space,
        history=history,
        numbers=tuple(trial.number for trial in observed),
        objectives=_objectives(study),
        constraints=tuple(constraint_names([constraints_in(trial) for trial in observed])),
        trials=tuple(facts_of(trial) for trial in trials if trial.state in _STATES),
        settings=settings,
        failure_space=failure_reader.space,
        failure_history=failure_history,
        allowed=_allowed(is_feasible, reader.space, modelled.fixed_values()),
    )


def _varying(search_space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    return {name: dist for name, dist in search_space.items() if not dist.single()}


def _read(
    study: Study,
    trials: Sequence[FrozenTrial],
    search_space: Mapping[str, BaseDistribution],
    rules: ReadingRules,
) -> tuple[StudyReader, History]:
    reader = StudyReader(search_space, rules=rules)
    return reader, reader.read(trials, study.directions, None, {})


def _objectives(study: Study) -> tuple[ObjectiveFacts, ...]:
    """Return the objectives, by the names that a study has for them or those that Optuna has."""
    n = len(study.directions)
    names = study.metric_names
    if names is None or len(names) != n:
        names = ["Objective value"] if n == 1 else [f"Objective {i}" for i in range(n)]
    return tuple(
        ObjectiveFacts(str(name), direction == StudyDirection.MAXIMIZE)
        for name, direction in zip(names, study.directions, strict=True)
    )


def facts_of(trial: FrozenTrial) -> TrialFacts:
    """Return what is known of a trial. Whatever others wrote to it is checked, or passed over."""
    record = record_of(trial)
    values = None
    if trial.state == TrialState.COMPLETE:
        values = tuple(float(value) for value in trial.values)
    elif trial.state == TrialState.PRUNED and trial.intermediate_values:
        values = (float(trial.intermediate_values[max(trial.intermediate_values)]),)
    begin, end = trial.datetime_start, trial.datetime_complete
    worker = record.get("worker")
    return TrialFacts(
        number=trial.number,
        state=_STATES[trial.state],
        values=values,
        start=math.nan if begin is None else begin.timestamp(),
        end=math.nan if end is None else end.timestamp(),
        is_feasible=all(number <= 0.0 for number in constraints_in(trial).values()),
        region=reserved_region(trial),
        scale=_number(record.get("scale")),
        acquisition=_number(record.get("acquisition")),
        worker=worker if isinstance(worker, str) else "",
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def _allowed(
    is_feasible: IsFeasible | None, space: Space, fixed: Mapping[str, Any]
) -> Allowed | None:
    """Return the user's rule as one for points, if there is any."""
    if is_feasible is None or not len(space):
        return None
    return FeasiblePoints(is_feasible, space, fixed, lambda name: None, lambda error: None)
