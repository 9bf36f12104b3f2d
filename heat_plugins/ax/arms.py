"""Arms of an experiment to exclude from suggestions."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from ax.adapter.base import Adapter
from ax.core.arm import Arm
from ax.core.base_trial import BaseTrial
from ax.core.experiment import Experiment
from ax.core.observation import ObservationFeatures
from ax.core.types import TParameterization
from ax.exceptions.core import AxError

__all__ = ["FailedArm", "arms_without_data", "distinct", "metadata_of", "number_of_arms"]


class FailedArm(NamedTuple):
    """An arm of a trial that failed: when, in seconds, and what it was, transformed.

    With its metadata, which say who asked for it.
    """

    time: float
    parameters: TParameterization
    metadata: Mapping[str, Any]


Pending = Mapping[str, list[ObservationFeatures]]


def number_of_arms(experiment: Experiment, pending: Pending) -> int:
    """Return how many arms there are, all of a batch and those asked for but not yet attached.

    Everything random in the next arm derives from it, so no two arms may have the same.
    """
    attached = sum(len(trial.arms) for trial in experiment.trials.values())
    asked = [sum(f.trial_index is None for f in of_metric) for of_metric in pending.values()]
    return attached + max(asked, default=0)


def distinct(pending: Pending) -> list[ObservationFeatures]:
    """Return what is pending for any metric, each arm of each trial once."""
    found: dict[Any, ObservationFeatures] = {}
    for features in (f for of_metric in pending.values() for f in of_metric):
        key = (features.trial_index, tuple(sorted(features.parameters.items())))
        found.setdefault(key, features)
    return list(found.values())


def arms_without_data(
    adapter: Adapter, known: Container[tuple[int, str]]
) -> tuple[list[FailedArm], list[TParameterization]]:
    """Return the arms of failed trials in order of ending, and those of all others, transformed.

    Not those that are known: indices of trials and names of the arms that have data.
    """
    failed: list[FailedArm] = []
    others: list[TParameterization] = []
    for trial in adapter._experiment.trials.values():
        for arm in trial.arms:
            if (trial.index, arm.name) in known:
                continue
            features = [ObservationFeatures(parameters=dict(arm.parameters))]
            try:
                for transform in adapter.transforms.values():
                    features = transform.transform_observation_features(features)
            except AxError:  # of another search space
                continue
            found = [transformed.parameters for transformed in features]
            if trial.status.is_failed:
                ended = trial.time_completed
                time = math.inf if ended is None else ended.timestamp()
                metadata = metadata_of(trial, arm)
                failed.extend(FailedArm(time, parameters, metadata) for parameters in found)
            else:
                others.extend(found)
    return sorted(failed, key=lambda arm: arm.time), others


def metadata_of(trial: BaseTrial, arm: Arm) -> Mapping[str, Any]:
    """Return what the generator of an arm noted about it."""
    for run in trial.generator_runs:
        metadata = (run.candidate_metadata_by_arm_signature or {}).get(arm.signature)
        if metadata is not None:
            return metadata
    return {}
