"""Conditions of a space, inferred from all finished trials, failed ones included."""

from __future__ import annotations

import numpy as np

from heat_plugins.space import Allowed, Array, Bools, Indices, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.infer_conditions import learn_conditions

__all__ = ["avoid_known_failures", "conditions_from", "points_up_to"]


MOST_COMPARED = 100  # failed trials that are compared with complete ones
ENOUGH_TRIES = 3  # that failed in the same way and none that did not: no accident


def conditions_from(space: Space, points: Array, failed: Array) -> Conditions | None:
    """Learn when parameters exist, from failed trials too where others cannot tell.

    Where a branch has never been completed, failed trials are all that is known about it. They
    count as the oldest, for later rows overrule earlier ones. But a trial may also fail by
    accident before it has asked for everything; once that has been seen, what failed trials
    lack teaches nothing.

    Complete trials (n, d) and failed ones (q, d) are in order of time, the latest last, and NaN
    where a parameter is absent. None where no parameter ever is.
    """
    lacks_something = np.isnan(failed).any(axis=1)
    if len(failed) and not _some_failed_by_accident(space, points, failed[lacks_something]):
        points = np.concatenate([failed[_is_new_branch(space, points, failed)], points])
    return learn_conditions(space, points)


def _some_failed_by_accident(space: Space, points: Array, failed: Array) -> bool:
    """Whether some failed trial lacks what a complete one has that began in the same way.

    Continuous numbers are never the same, and seldom decide what exists.
    """
    return any(_was_completed(space, points, row) for row in failed[-MOST_COMPARED:])


def _was_completed(space: Space, points: Array, row: Array) -> bool:
    """Whether a complete trial began like one that failed (d,), and had more."""
    columns = np.isfinite(space.n_levels)
    is_there, asked = ~np.isnan(points), ~np.isnan(row)
    same = (points == row) | ~asked | ~columns
    has_more = is_there[:, asked].all(axis=1) & is_there[:, ~asked].any(axis=1)
    return bool(np.any(same.all(axis=1) & has_more))


def _is_new_branch(space: Space, points: Array, failed: Array) -> Bools:
    """(q,) whether a failed trial has a choice, or a parameter, that no complete one has."""
    is_new = np.zeros(len(failed), dtype=bool)
    for column in range(len(space)):
        coordinates, known = failed[:, column], points[:, column]
        is_there = ~np.isnan(coordinates)
        if space.is_discrete[column]:
            is_new |= is_there & ~np.isin(coordinates, known)
        elif np.isnan(known).all():
            is_new |= is_there
    return is_new


def avoid_known_failures(
    space: Space, points: Array, failed: Array, conditions: Conditions | None
) -> Allowed | None:
    """Return a rule that excludes points which agree with what failed trials had asked for.

    All that an objective knew when it failed is what it had asked for: a point that agrees with
    that is the same to it. Where trials fail by accident a choice must not be lost for ever: then
    the rule is only against numbers, which will not come again, and what always failed.

    Returns:
        The rule, which tells of points (m, d) whether they differ from the failed trials (q, d) in
        what those had asked for; None where no trial failed half way.
    """
    is_absent = np.isnan(failed)
    if not is_absent.any():
        return None
    active = True if conditions is None else conditions.active(failed)
    failed = failed[(is_absent & active).any(axis=1)]
    if len(failed) and _some_failed_by_accident(space, points, failed):
        failed, tries = _different(failed[-MOST_COMPARED:])
        is_final: Bools = np.any(~np.isnan(failed[:, np.isinf(space.n_levels)]), axis=1)
        for i in np.flatnonzero(~is_final & (tries >= ENOUGH_TRIES)):
            is_final[i] = not _was_completed(space, points, failed[i])
        failed = failed[is_final]
    failed, _ = _different(failed[-MOST_COMPARED:])
    if not len(failed):
        return None

    def rule(candidates: Array) -> Bools:
        begins_so = np.zeros(len(candidates), dtype=bool)
        for row in failed:
            asked = np.flatnonzero(~np.isnan(row))
            distances = np.abs(candidates[:, asked] - row[asked])
            begins_so |= np.all(distances <= space.resolution[asked], axis=1)
        return ~begins_so

    return rule


def _different(points: Array) -> tuple[Array, Indices]:
    """Return points (k, d) that differ, and (k,) how often each was there; NaN is equal to NaN."""
    rows, counts = np.unique(
        np.where(np.isnan(points), np.inf, points), axis=0, return_counts=True
    )
    return np.where(np.isinf(rows), np.nan, rows), counts


def points_up_to(space: Space, conditions: Conditions, limit: int) -> Array | None:
    """Return every point (N, d) of a conditional space; None where there are more than a limit.

    Columns are filled in one by one, parents first, so that parameters which do not exist
    multiply nothing.
    """
    points = np.full((1, len(space)), np.nan)
    for column in conditions.order.tolist():
        active = conditions.active(points)[:, column]
        if not active.any():  # a continuous one has no levels, but does no harm either
            continue
        n_active = int(active.sum())  # Python's: there may be more levels than NumPy can count
        if len(points) - n_active + n_active * space.parameters[column].n_levels > limit:
            return None
        levels = space.parameters[column].levels()
        varied = np.repeat(points[active], len(levels), axis=0)
        varied[:, column] = np.tile(levels, n_active)
        points = np.concatenate([points[~active], varied])
    return points
