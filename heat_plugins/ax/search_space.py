"""Conversion of Ax's search spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ax.core.parameter import ChoiceParameter, ParameterType, RangeParameter
from ax.core.parameter import Parameter as AxParameter
from ax.core.search_space import SearchSpace
from ax.exceptions.core import UnsupportedError, UserInputError

from heat_plugins.space import Categorical, Float, Ordinal, Parameter, Space
from heat_plugins.space.numeric import as_written
from heat_plugins.space.stored_integer import storable_integers
from heat_plugins.spec.model import Model, Scale

__all__ = ["complete_model", "parents_of", "space_of"]


def space_of(search_space: SearchSpace) -> Space:
    """Return the space of the parameters that can be tuned, columns in the order of Ax."""
    return Space(tuple(_parameter(p) for p in search_space.tunable_parameters.values()))


def _parameter(parameter: AxParameter) -> Parameter:
    name = parameter.name
    is_task = isinstance(parameter, ChoiceParameter) and parameter.is_task
    if parameter.is_fidelity or is_task:
        raise UnsupportedError(
            f"Parameter `{name}` is a {'task' if is_task else 'fidelity'} parameter, which "
            "heat_plugins does not support. Expected choice and range parameters only."
        )
    if isinstance(parameter, ChoiceParameter):
        kind = Ordinal if parameter.is_ordered else Categorical
        return kind(name, tuple(parameter.values))
    if isinstance(parameter, RangeParameter):
        try:
            return _number(parameter)
        except ValueError as error:
            raise UserInputError(f"Parameter `{name}` cannot be searched: {error}.") from error
    raise UnsupportedError(
        f"Parameter `{name}` must be a choice or a range, got {type(parameter).__name__}."
    )


def _number(parameter: RangeParameter) -> Parameter:
    name, log = parameter.name, bool(parameter.log_scale)
    if parameter.parameter_type == ParameterType.INT:
        return storable_integers(name, int(parameter.lower), int(parameter.upper), log=log)
    low, high, step = _grid(parameter)
    return Float(name, low, high, step=step, log=log)


def _grid(parameter: RangeParameter) -> tuple[float, float, float | None]:
    """Return bounds and step of a float, on the grid of the values that Ax rounds to."""
    low, high, digits = float(parameter.lower), float(parameter.upper), parameter.digits
    if digits is None or parameter.logit_scale:
        return low, high, None
    step = Fraction(10) ** -digits
    first, last = ceil(as_written(low) / step), floor(as_written(high) / step)
    if first >= last or (parameter.log_scale and first <= 0):  # hardly any value is left
        return low, high, None
    return float(first * step), float(last * step), float(step)


def parents_of(search_space: SearchSpace) -> dict[str, tuple[str, Sequence[Any]]]:
    """Return what decides about each parameter that need not exist.

    By name: the parameter that it depends on, and the values under which it exists.
    """
    parents: dict[str, tuple[str, list[Any]]] = {}
    for parent in search_space.parameters.values():
        if parent.is_hierarchical:
            for value, children in parent.dependents.items():
                for child in children:
                    parents.setdefault(child, (parent.name, []))[1].append(value)
    tunable = search_space.tunable_parameters
    # What depends on a fixed parameter depends on whatever that depends on.
    for name in parents:
        while name in parents and parents[name][0] not in tunable:
            above = parents.get(parents[name][0])
            if above is None:
                break
            parents[name] = above
    return {
        name: parent for name, parent in parents.items() if {name, parent[0]} <= tunable.keys()
    }


def complete_model(model: Model, search_space: SearchSpace) -> Model:
    """Return the model with what Ax itself knows about the choices.

    Ordered choices that are numbers are quantities. What the user says comes first.
    """
    tunable = search_space.tunable_parameters
    unknown = [name for name in model.named if name not in tunable]
    if unknown:
        raise UserInputError(
            f"Settings of heat_plugins name {_quoted(unknown)}, but the parameters that can be "
            f"tuned are {_quoted(tunable)}."
        )
    scales = {name: s for name, p in tunable.items() if (s := _scale(p)) is not None}
    for name in model.named:
        scales.pop(name, None)
    return replace(model, quantitative={**scales, **model.scales}) if scales else model


def _scale(parameter: AxParameter) -> Scale | None:
    """Return the scale of ordered choices that are numbers; None for all others."""
    if not isinstance(parameter, ChoiceParameter) or not parameter.is_ordered:
        return None
    is_number = parameter.parameter_type in (ParameterType.INT, ParameterType.FLOAT)
    if not is_number or len(parameter.values) < 3:
        return None
    return "log" if parameter.log_scale else "linear"


def _quoted(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
