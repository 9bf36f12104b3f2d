"""A feasible point of linear constraints, by mixed-integer programming.

Notation
    ===========  =====================================================================
    W, v, b      weights, what is summed, and bounds of the limits (linear_constraints.py)
    k            variables of a column: one for a number, one for each choice of a code
    t            how far inside the limits the point is, as a share of their scales
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from heat_plugins.search.linear_constraints import LinearLimits
from heat_plugins.space import Array, Space
from heat_plugins.space.numeric import NumberLine

__all__ = ["feasible_point"]

# Seconds after which the search is given up.
TIME_LIMIT = 5.0


def feasible_point(limits: LinearLimits, space: Space, fixed: Mapping[int, float]) -> Array | None:
    """Return a point (d,) well inside the limits, NaN in columns that they are not about.

    Found by a mixed-integer programme: the most t for which W v + t scale <= b, with a whole
    number for a place on a grid, and for a code one of k switches. All limits count: every column
    is taken to exist. None where there is no such point.
    """
    bounds, parts = limits.bounds.copy(), []
    for column in np.flatnonzero(limits.involved).tolist():
        weights = limits.weights[:, column]
        if column in fixed or space.n_levels[column] == 1:
            row = np.zeros((1, len(space)))
            row[0, column] = fixed.get(column, 0.0)
            bounds -= weights * limits.values(row)[0, column]
        else:
            parts.append(_Part.of(limits, space, column))
    return _solve(limits, space, parts, bounds)


class _Part(NamedTuple):
    """The variables of one column, each at least 0."""

    column: int
    numbers: Array  # (k,) what each variable adds to the sum
    places: Array  # (k,) what each variable adds to the coordinate
    highest: float  # the upper bound of each
    is_whole: bool  # whether they must be whole numbers
    is_choice: bool = False  # whether exactly one of them is 1

    @staticmethod
    def of(limits: LinearLimits, space: Space, column: int) -> _Part:
        """Return the variables of a column."""
        parameter, n_levels = space.parameters[column], float(space.n_levels[column])
        if isinstance(parameter, NumberLine) and (not parameter.log or np.isinf(n_levels)):
            last = 1.0 if np.isinf(n_levels) else n_levels - 1.0
            unit = np.array([1.0 / last])
            return _Part(column, unit, unit, last, is_whole=bool(np.isfinite(n_levels)))
        levels = parameter.levels()
        numbers = limits.tables.get(column, levels)
        return _Part(column, numbers, levels, 1.0, is_whole=True, is_choice=True)


def _solve(limits: LinearLimits, space: Space, parts: list[_Part], bounds: Array) -> Array | None:
    """Return the point (d,) of the programme; None where it has none."""
    point = np.full(len(space), np.nan)
    sizes = [len(part.numbers) for part in parts]
    blocks = [np.outer(limits.weights[:, part.column], part.numbers) for part in parts]
    scales = np.maximum(limits.scales, np.finfo(float).tiny)[:, None]
    # Rows of one size: the tolerances of the solver are absolute. The last variable is t.
    table = np.concatenate([*blocks, scales], axis=1) / scales
    constraints = [optimize.LinearConstraint(table, -np.inf, bounds / scales[:, 0])]
    choices = np.zeros((sum(part.is_choice for part in parts), table.shape[1]))
    ends = np.cumsum([0, *sizes])
    for row, i in enumerate([i for i, part in enumerate(parts) if part.is_choice]):
        choices[row, ends[i] : ends[i + 1]] = 1.0
    if len(choices):
        constraints.append(optimize.LinearConstraint(sparse.csr_array(choices), 1.0, 1.0))
    cost = np.zeros(table.shape[1])
    cost[-1] = -1.0
    result = optimize.milp(
        cost,
        integrality=np.append(np.repeat([part.is_whole for part in parts], sizes), 0),
        bounds=optimize.Bounds(
            np.zeros(len(cost)), np.append(np.repeat([part.highest for part in parts], sizes), 1.0)
        ),
        constraints=constraints,
        options={"time_limit": TIME_LIMIT},
    )
    if result.x is None:
        return None
    for part, start, end in zip(parts, ends[:-1], ends[1:], strict=True):
        variables = np.rint(result.x[start:end]) if part.is_whole else result.x[start:end]
        coordinate = np.array([variables @ part.places])
        point[part.column] = space.parameters[part.column].snap(coordinate)[0]
    return point
