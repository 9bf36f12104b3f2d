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

from collections.abc import Callable, Sequence

import numpy as np
from optuna.trial import FrozenTrial

from heat_plugins.optuna.study_reader import StudyReader
from heat_plugins.space import Array

__all__ = ["reserve"]

# How many candidates a worker tries to reserve before it searches anew.
MOST_RESERVATIONS = 5


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
