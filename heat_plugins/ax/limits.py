"""Parameter constraints of Ax as linear limits on encoded points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ax.core.parameter import ChoiceParameter, FixedParameter, RangeParameter
from ax.core.parameter import Parameter as AxParameter
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.search_space import SearchSpace
from ax.exceptions.core import UserInputError
from scipy import special

from heat_plugins.search.linear_constraints import LinearLimits
from heat_plugins.space import Allowed, Array, Bools, Parameter, Space
from heat_plugins.space.categorical import ListedValues
from heat_plugins.space.point_set import both

__all__ = ["Limits", "limits_of"]


# How far equal sums may be apart: a tenth of what Ax itself tolerates.
EQUAL = 1e-9


class Limits(NamedTuple):
    """Constraints on points.

    Args:
        linear: Limits that are linear in the coordinates; None if there are none.
        allowed: Tells which points (n, d) keep the others; None if there are none.
    """

    linear: LinearLimits | None
    allowed: Allowed | None


def limits_of(search_space: SearchSpace, space: Space, box: SearchSpace) -> Limits:
    """Return the limits of a search space.

    Args:
        search_space: As the user knows it.
        space: The parameters.
        box: The search space in coordinates. Where it is narrower than ``space``, which covers
            all that was ever observed, it is a limit too.
    """
    rows: list[_Row] = []
    others: list[_Row] = []
    for constraint in search_space.parameter_constraints:
        for row in _rows(constraint, search_space, space):
            names = [space.names[column] for column in row.weights]
            is_linear = not any(_is_bent(search_space.parameters[name]) for name in names)
            (rows if is_linear else others).append(row)
    allowed = _inside(space, box)
    for row in others:
        allowed = both(_test(row, space, search_space), allowed)
    return Limits(_linear(rows, space) if rows else None, allowed)


class _Row(NamedTuple):
    """The weighted sum of the values of some columns is at most the bound."""

    weights: dict[int, float]
    bound: float


def _rows(
    constraint: ParameterConstraint, search_space: SearchSpace, space: Space
) -> Sequence[_Row]:
    weights: dict[int, float] = {}
    bound = float(constraint.bound)
    for name, weight in constraint.constraint_dict.items():
        parameter = search_space.parameters[name]
        if isinstance(parameter, FixedParameter):
            bound -= float(weight) * _number(name, parameter.value)
            continue
        column = space.column[name]
        listed = space.parameters[column]
        if isinstance(listed, ListedValues):
            for choice in listed.choices:
                _number(name, choice)
        weights[column] = float(weight)
    if not constraint.is_equality:
        return [_Row(weights, bound)]
    opposite = {column: -weight for column, weight in weights.items()}
    return [_Row(weights, bound + EQUAL), _Row(opposite, EQUAL - bound)]


def _number(name: str, value: object) -> float:
    if isinstance(value, (bool, int, float)):
        return float(value)
    raise UserInputError(
        f"Parameter `{name}` is in a parameter constraint, so its values must be numbers, "
        f"got {value!r}."
    )


def _is_bent(given: AxParameter) -> bool:
    return isinstance(given, RangeParameter) and bool(given.log_scale or given.logit_scale)


def _linear(rows: Sequence[_Row], space: Space) -> LinearLimits:
    """Return limits on coordinates: the value of a number is low + coordinate * length."""
    weights = np.zeros((len(rows), len(space)))
    bounds = np.array([row.bound for row in rows])
    tables: dict[int, Array] = {}
    for i, row in enumerate(rows):
        for column, weight in row.weights.items():
            parameter = space.parameters[column]
            if isinstance(parameter, ListedValues):
                tables[column] = np.array([float(choice) for choice in parameter.choices])
                weights[i, column] = weight
            else:
                low, high = parameter.decode(0.0), parameter.decode(1.0)
                weights[i, column] = weight * (high - low)
                bounds[i] -= weight * low
    return LinearLimits(weights, bounds, tables)


def _values(parameter: Parameter, coordinates: Array, is_logit: bool) -> Array:
    """Return the values (n,) at coordinates (n,), NaN where there are none."""
    values = [np.nan if np.isnan(x) else float(parameter.decode(float(x))) for x in coordinates]
    return special.expit(values) if is_logit else np.array(values)


def _test(row: _Row, space: Space, search_space: SearchSpace) -> Allowed:
    """Return a test of points, for sums that are not linear in the coordinates."""
    given = {column: search_space.parameters[space.names[column]] for column in row.weights}
    is_logit = {c: isinstance(p, RangeParameter) and p.logit_scale for c, p in given.items()}

    def holds(points: Array) -> Bools:
        sums = sum(
            weight * _values(space.parameters[column], points[:, column], is_logit[column])
            for column, weight in row.weights.items()
        )
        # A limit on a parameter that does not exist is none, as in LinearLimits.
        return np.isnan(sums) | (np.asarray(sums) <= row.bound + EQUAL)

    return holds


def _inside(space: Space, box: SearchSpace) -> Allowed | None:
    """Return a test whether points are inside a smaller search space; None if it is as large."""
    codes: dict[int, Array] = {}
    ranges: dict[int, tuple[float, float]] = {}
    for column, parameter in enumerate(space.parameters):
        given = box.parameters.get(parameter.name)
        if isinstance(given, RangeParameter):
            if (given.lower, given.upper) != (0.0, 1.0):
                ranges[column] = (given.lower, given.upper)
        elif isinstance(given, ChoiceParameter) and len(given.values) < parameter.n_levels:
            codes[column] = np.array(given.values, dtype=np.float64)
    if not codes and not ranges:
        return None

    def inside(points: Array) -> Bools:
        holds = np.ones(len(points), dtype=bool)
        for column, listed in codes.items():
            holds &= np.isin(points[:, column], listed) | np.isnan(points[:, column])
        for column, (low, high) in ranges.items():
            x = points[:, column]
            holds &= np.isnan(x) | ((x >= low - EQUAL) & (x <= high + EQUAL))
        return holds

    return inside
