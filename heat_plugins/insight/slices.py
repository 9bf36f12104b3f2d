"""Slices of a function through a point: one parameter varies, the others stay."""

from __future__ import annotations

import numpy as np

from heat_plugins.space import Array, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["slice_points"]


def slice_points(
    space: Space,
    centre: Array,
    column: int,
    places: Array,
    conditions: Conditions | None = None,
) -> Array:
    """Return points (r, d): a centre (d,) with one column set to each of some places (r,).

    Parameters that come to exist by that get values from the middle of their ranges, those that
    no longer exist lose theirs.
    """
    points = np.repeat(centre[None], len(places), axis=0)
    points[:, column] = places
    if conditions is None:
        return points
    middle = np.full((1, len(space)), 0.5)
    middle[:, space.is_discrete] = (space.n_levels[space.is_discrete] - 1.0) // 2.0
    middle = space.snap(middle)
    return conditions.fill(points, np.repeat(middle, len(places), axis=0))
