"""The course of a search: the best so far, and what ran beside what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heat_plugins.acquisition.pareto import hypervolume, non_dominated, reference_point
from heat_plugins.insight.study_data import ObjectiveFacts, TrialFacts
from heat_plugins.space import Array

__all__ = ["Lanes", "best_so_far", "hypervolume_so_far", "lanes_of"]


def best_so_far(trials: Sequence[TrialFacts], objective: ObjectiveFacts) -> Array:
    """Return the best value (n,) of feasible complete trials up to each; NaN before the first."""
    best, found = math.nan, []
    for trial in trials:
        if _counts(trial) and trial.values is not None:
            value = trial.values[0]
            is_better = value > best if objective.is_maximised else value < best
            if math.isnan(best) or is_better:
                best = value
        found.append(best)
    return np.array(found, dtype=float)


def hypervolume_so_far(
    trials: Sequence[TrialFacts], objectives: Sequence[ObjectiveFacts]
) -> Array:
    """Return the hypervolume (n,) of what feasible complete trials up to each dominate.

    Below a reference a little beyond the worst finite values of all of them.
    """
    signs = np.array([objective.sign for objective in objectives])
    values = np.full((len(trials), len(objectives)), np.inf)
    for row, trial in zip(values, trials, strict=True):
        if _counts(trial) and trial.values is not None:
            row[:] = signs * np.array(trial.values)
    # The volume below minus infinity would be infinite.
    values = np.where(np.isneginf(values), np.inf, values)
    reference = reference_point(values)
    found = np.zeros(len(trials))
    front, volume = np.empty((0, len(objectives))), 0.0
    for i, row in enumerate(values):
        if np.all(row < reference) and not np.any(np.all(front <= row, axis=1)):
            front = np.concatenate([front, row[None]])
            front = front[non_dominated(front)]
            volume = hypervolume(front, reference)
        found[i] = volume
    return found


def _counts(trial: TrialFacts) -> bool:
    return trial.state == "complete" and trial.is_feasible


class Lanes(NamedTuple):
    """Who ran which trial.

    Args:
        of_trial: (n) the lane of each trial, None where its times are not known.
        names: What the lanes are called.
        n_unnamed: How many of them, the last ones, have trials of which nobody wrote who ran them.
    """

    of_trial: list[int | None]
    names: list[str]
    n_unnamed: int


def lanes_of(trials: Sequence[TrialFacts]) -> Lanes:
    """Return the lanes of trials: workers, where trials say who ran them.

    The others get the first lane that is free, so that there are as many as ran at once.
    """
    found: list[int | None] = [None] * len(trials)
    names = sorted({trial.worker for trial in trials if trial.worker})
    free: list[float] = []  # when each lane without a name is free again
    for i in sorted(range(len(trials)), key=lambda i: (trials[i].start, trials[i].number)):
        trial = trials[i]
        if math.isnan(trial.start) or math.isnan(trial.end):
            continue
        if trial.worker:
            found[i] = names.index(trial.worker)
            continue
        lane = next((k for k, end in enumerate(free) if end <= trial.start), len(free))
        free[lane : lane + 1] = [trial.end]
        found[i] = len(names) + lane
    unnamed = [f"not recorded, {k + 1}" for k in range(len(free))]
    if len(unnamed) == 1:
        unnamed = ["not recorded"]
    return Lanes(found, [*names, *unnamed], len(unnamed))
