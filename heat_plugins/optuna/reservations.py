"""Reservation of points by parallel workers that share nothing but a storage.

A storage can neither lock nor compare and swap: whoever writes last wins, and all can read.
So a worker first writes down the point that it wants to try (its claim), and then reads those
of the others. Of two that want the same point at least one wrote before the other read, and
so at least one sees the other. Whoever sees another leaves the point. No two keep the same
one, nobody waits for anybody, and a worker that dies leaves nothing locked.

It can happen that all leave a point. So that they do not meet again at the next best one, each
takes the free candidate whose rank is its own rank among those that are still choosing, as in
the renaming of Attiya et al. (1990), "Renaming in an asynchronous environment".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from heat_plugins.history import NO_REGION, History
from heat_plugins.optuna.study_reader import StudyReader
from heat_plugins.optuna.trial_attributes import write_reservation
from heat_plugins.space import Array
from heat_plugins.suggest import Settings, Suggestion

__all__ = ["Reservations", "reserve", "reserved_suggestion"]

# How many candidates a worker tries to reserve before it searches anew.
MOST_RESERVATIONS = 5
# Searches for a point that no other worker takes at the same time: by the model, then at random.
MODEL_SEARCHES = 3
RANDOM_SEARCHES = 20


def reserve(
    candidates: Array,
    trial: FrozenTrial,
    reader: StudyReader,
    others: Callable[[], Sequence[tuple[FrozenTrial, Array]]],
    claim: Callable[[Array], None],
) -> Array | None:
    """Return the first of the candidates that nobody else takes; None if none was to be had.

    Args:
        candidates: (k, d) different points, the best first.
        trial: The trial that one of them is for.
        reader: Knows which points are the same.
        others: Reads the other trials that have a point, or claim one, with that point.
        claim: Writes down for all to see that the trial claims a point (d,).
    """
    rank = 0
    taken = others()
    for _ in range(MOST_RESERVATIONS):
        is_taken = reader.is_among(candidates, [point for _, point in taken])
        free = np.flatnonzero(~is_taken)
        if not len(free):
            return None
        chosen: Array = candidates[free[rank % len(free)]]
        claim(chosen)
        taken = others()
        if not reader.is_among(chosen[None], [point for _, point in taken])[0]:
            return chosen
        # Whose parameters are stored has made its choice.
        rank = sum(other.number < trial.number for other, _ in taken if not other.params)
    return None


@dataclass(frozen=True)
class Reservations:
    """What a trial reserves, and what others have reserved.

    Args:
        study: The study of all of them.
        trial: The trial that needs a point.
        reader: Reads the study.
        asked: Values that this process gave to running trials, by trial id; those of the trial
            are added.
    """

    study: Study
    trial: FrozenTrial
    reader: StudyReader
    asked: dict[int, dict[str, Any]]

    def history(self) -> History:
        """Return what is known by now."""
        trials = self.study.get_trials(deepcopy=False)
        return self.reader.read(trials, self.study.directions, self.trial, self.asked)

    def of_others(self) -> list[tuple[FrozenTrial, Array]]:
        """Return other trials that have a point, or claim one, with that point."""
        trials = self.study.get_trials(deepcopy=False)
        return self.reader.reserved_since(trials, self.trial, self.asked)

    def write(self, region: int, point: Array) -> None:
        """Reserve a point (d,) that a trust region asked for."""
        params = self.reader.space.decode(point)
        self.asked[self.trial._trial_id] = params
        write_reservation(self.study, self.trial, region, self.reader.search_space, params)


def reserved_suggestion(
    reservations: Reservations,
    history: History,
    settings: Settings,
    fixed: Mapping[int, float],
    suggest: Callable[[History, Settings, str, Mapping[int, float]], Suggestion],
) -> Suggestion:
    """Return a suggestion whose point no other worker takes at the same time.

    Unless it is a repetition anyway. Where others are always faster, a random point will
    do: in a space of any size nobody else has it.

    Args:
        reservations: Those of the trial that needs a point, and of the others.
        history: What is known.
        settings: Those of the pipeline.
        fixed: Columns whose values the trial has already, or will have, with these.
        suggest: Called with a history, settings, the purpose of the randomness, and ``fixed``.
    """
    trial, reader = reservations.trial, reservations.reader
    at_random = replace(settings, n_startup_trials=sys.maxsize)
    # A point that was partly given says nothing about the region it did not choose.
    has_region = settings.trust_region is not None and not reader.fixed_columns(trial)
    for attempt in range(MODEL_SEARCHES + RANDOM_SEARCHES):
        if attempt:
            history = reservations.history()
        tried = settings if attempt < MODEL_SEARCHES else at_random
        suggestion = suggest(history, tried, f"attempt {attempt}" if attempt else "", fixed)
        write = partial(reservations.write, suggestion.region_id if has_region else NO_REGION)
        if not suggestion.is_new:
            break
        others = reservations.of_others
        point = reserve(suggestion.candidates, trial, reader, others, write)
        if point is not None:
            return replace(suggestion, point=point)
    write(suggestion.point)
    return suggestion
