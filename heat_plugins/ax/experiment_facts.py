"""Reads an experiment of Ax for models and pictures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ax.api.client import Client
from ax.core.arm import Arm
from ax.core.base_trial import BaseTrial
from ax.core.experiment import Experiment
from ax.core.optimization_config import OptimizationConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.utils.common.constants import Keys

from heat_plugins.ax.adapter import StudyParts
from heat_plugins.ax.arms import metadata_of
from heat_plugins.ax.experiment_data import Aim, region_in, values_of
from heat_plugins.ax.strategy import HeatGenerators
from heat_plugins.insight.study_data import ObjectiveFacts, StudyData, TrialFacts, TrialState

__all__ = ["experiment_data"]


def experiment_data(source: Client | Experiment) -> StudyData:
    """Return what is known of an experiment.

    Args:
        source: A client, whose generation strategy has the settings if it is of heat_plugins, or
            an experiment. Its arms may come from any generator.
    """
    experiment, strategy = _parts_of(source)
    adapter: Any = HeatGenerators.START(experiment=experiment, **_settings_in(strategy))
    parts: StudyParts = adapter.study_parts()
    objectives = _objectives(experiment.optimization_config, parts.aim)
    known, rows = _rows_of(parts)
    places = {key: row for row, key in enumerate(known)}
    arms = [(trial, arm) for trial in experiment.trials.values() for arm in trial.arms]
    numbers = {(trial.index, arm.name): i for i, (trial, arm) in enumerate(arms)}
    is_feasible = ~np.any(parts.history.constraint_values > 0.0, axis=1)
    facts = []
    for trial, arm in arms:
        row = places.get((trial.index, arm.name))
        values = None
        if row is not None:
            signed = zip(objectives, rows[row], strict=True)
            values = tuple(objective.sign * float(value) for objective, value in signed)
        kept = row is None or bool(is_feasible[row])
        number = numbers[trial.index, arm.name]
        facts.append(_facts_of(trial, arm, number, values, kept))
    return StudyData(
        space=parts.codes.space,
        history=parts.history,
        numbers=tuple(numbers[key] for key in known),
        objectives=objectives,
        constraints=_constraints(experiment.optimization_config),
        trials=tuple(facts),
        settings=parts.settings,
        failure_space=parts.codes.space,
        failure_history=parts.history,
        conditions=parts.codes.conditions,
        allowed=parts.limits.allowed,
    )


def _parts_of(source: Client | Experiment) -> tuple[Experiment, GenerationStrategy | None]:
    if isinstance(source, Experiment):
        return source, None
    return source._experiment, source._maybe_generation_strategy


def _settings_in(strategy: GenerationStrategy | None) -> dict[str, Any]:
    """Return the settings of a strategy of heat_plugins; none of any other."""
    for node in [] if strategy is None else strategy._nodes:
        for spec in node.generator_specs:
            if isinstance(spec.generator_enum, HeatGenerators):
                return dict(spec.generator_kwargs)
    return {}


def _rows_of(parts: StudyParts) -> tuple[list[tuple[int, str]], Any]:
    """Return trial and name of the arms of the history, and their values (n, M), minimised."""
    if parts.aim is None:
        return [], np.empty((0, 1))
    values = values_of(parts.observed, parts.aim)
    is_known = ~np.any(np.isnan(values), axis=1)
    index = [parts.observed.arm_data.index[row] for row in np.flatnonzero(is_known)]
    return [(int(trial), str(name)) for trial, name in index], values[is_known]


def _objectives(config: OptimizationConfig | None, aim: Aim | None) -> tuple[ObjectiveFacts, ...]:
    """Return the objectives by the names of their metrics."""
    if aim is None:
        return (ObjectiveFacts("Objective value"),)
    found = []
    for index, weights in enumerate(aim.objectives):
        metric = aim.metric_of(index)
        if metric is None:  # a weighted sum
            found.append(ObjectiveFacts("Objective value", is_maximised=True))
            continue
        weight = float(weights[aim.metrics.index(metric)])
        name = metric if abs(weight) == 1.0 else f"{abs(weight):g} * {metric}"
        found.append(ObjectiveFacts(name, is_maximised=weight < 0.0))
    return tuple(found)


def _constraints(config: OptimizationConfig | None) -> tuple[str, ...]:
    if config is None:
        return ()
    return tuple(", ".join(c.metric_names) for c in config.outcome_constraints)


def _facts_of(
    trial: BaseTrial, arm: Arm, number: int, values: tuple[float, ...] | None, is_feasible: bool
) -> TrialFacts:
    begin = trial.time_run_started or trial.time_created
    end = trial.time_completed
    return TrialFacts(
        number=number,
        state=_state_of(trial),
        values=values,
        start=math.nan if begin is None else begin.timestamp(),
        end=math.nan if end is None else end.timestamp(),
        is_feasible=is_feasible,
        region=region_in(metadata_of(trial, arm)),
        acquisition=_acquisition_of(trial, arm),
    )


def _state_of(trial: BaseTrial) -> TrialState:
    if trial.status.is_completed:
        return "complete"
    if trial.status.is_early_stopped:
        return "pruned"
    return "failed" if trial.status.is_failed or trial.status.is_abandoned else "running"


def _acquisition_of(trial: BaseTrial, arm: Arm) -> float | None:
    """Return the acquisition value that the generator noted, if it is one of heat_plugins."""
    for run in trial.generator_runs:
        found = (run.gen_metadata or {}).get(Keys.EXPECTED_ACQF_VAL)
        if not isinstance(found, list) or len(found) != len(run.arms):
            continue
        for other, value in zip(run.arms, found, strict=True):
            is_number = isinstance(value, float) and math.isfinite(value)
            if other.name == arm.name and is_number:
                return float(value)
    return None
