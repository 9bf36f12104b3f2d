"""Conditional spaces as all finished trials show them, those that failed included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.conditions import Conditions
from heat_plugins.core.learn_conditions import learn_conditions
from heat_plugins.space import Array, Space

__all__ = ["conditions_from", "points_up_to"]


def conditions_from(space: Space, points: Array, failed: Array) -> Conditions | None:
    """Learn when parameters exist, from failed trials too where others cannot tell.

    A trial may fail before it has asked for everything, so what it lacks need not be absent.
    But where a branch has never been completed, failed trials are all that is known about it.
    They count as the oldest, for later rows overrule earlier ones.

    Args:
        space: All parameters that trials have asked for.
        points: (n, d) complete trials, the latest last; NaN where a parameter is absent.
        failed: (q, d) trials without a value.

    Returns:
        The conditions; None where no parameter is ever absent.
    """
    known = failed[_tells_of_a_new_branch(space, points, failed)]
    return learn_conditions(space, np.concatenate([known, points]) if len(known) else points)


def _tells_of_a_new_branch(space: Space, points: Array, failed: Array) -> NDArray[np.bool_]:
    """(q,) whether a failed trial has a choice, or a parameter, that no complete one has."""
    is_new = np.zeros(len(failed), dtype=bool)
    if not np.isnan(failed).any():
        return is_new
    for column in range(len(space)):
        coordinates, known = failed[:, column], points[:, column]
        is_there = ~np.isnan(coordinates)
        if space.is_discrete[column]:
            is_new |= is_there & ~np.isin(coordinates, known)
        elif np.isnan(known).all():
            is_new |= is_there
    return is_new


def points_up_to(space: Space, conditions: Conditions, limit: int) -> Array | None:
    """Return every point (N, d) of a conditional space; None where there are more than a limit.

    Columns are filled in one by one, parents first, so that parameters which do not exist
    multiply nothing.
    """
    points = np.full((1, len(space)), np.nan)
    for column in conditions.order.tolist():
        n_levels = space.parameters[column].n_levels
        active = conditions.active(points)[:, column]
        if (np.sum(~active) + np.sum(active) * n_levels) > limit:
            return None
        levels = space.parameters[column].levels()
        varied = np.repeat(points[active], len(levels), axis=0)
        varied[:, column] = np.tile(levels, int(active.sum()))
        points = np.concatenate([points[~active], varied])
    return points
