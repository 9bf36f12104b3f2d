"""Orders and quantities that are declared of choices, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from heat_plugins.space import Array, Indices
from heat_plugins.space.categorical import ListedValues

__all__ = ["kind_of", "number_places", "places_of", "positions_of"]


def kind_of(parameter: Any) -> Any:
    """Return what two parameters must share to be interchangeable."""
    if isinstance(parameter, ListedValues):
        return [*parameter.choices]
    return type(parameter).__name__, parameter.low, parameter.high, parameter.step, parameter.log


def positions_of(parameter: ListedValues, order: Sequence[Any]) -> Indices:
    """Return the codes of choices in their order."""
    try:
        positions = [int(parameter.encode(choice)) for choice in order]
    except ValueError:  # a choice that the parameter does not have
        positions = []
    if sorted(positions) != list(range(len(parameter.choices))):
        raise ValueError(
            f"order of {parameter.name!r} must hold each of {parameter.choices!r} once, "
            f"got {tuple(order)!r}"
        )
    return np.array(positions, dtype=np.int64)


def places_of(parameter: ListedValues, scale: str) -> Array:
    """Return the places (g,) in [0, 1] of choices that are numbers."""
    try:
        values = np.array([float(choice) for choice in parameter.choices])
    except (TypeError, ValueError):
        raise ValueError(
            f"choices of the quantitative parameter {parameter.name!r} must be numbers, "
            f"got {parameter.choices!r}"
        ) from None
    if not np.all(np.isfinite(values)) or (scale == "log" and np.any(values <= 0.0)):
        wanted = "positive" if scale == "log" else "finite"
        raise ValueError(
            f"choices of the quantitative parameter {parameter.name!r} must be {wanted} "
            f"numbers, got {parameter.choices!r}"
        )
    if scale == "log":
        values = np.log(values)
    span = values.max() - values.min()
    places: Array = (values - values.min()) / (span if span > 0.0 else 1.0)
    return places


def number_places(parameter: ListedValues) -> Array | None:
    """Return places (g,) in [0, 1] of choices if all are numbers, at least three; None otherwise.

    0, 1, 2, ... are codes: they number the choices and say nothing about them.

    The others stand where their order of magnitude does if that spreads them more evenly: who
    lists 16, 32, 64 means each of them to be as far from the next.
    """
    choices = parameter.choices
    if not all(isinstance(choice, Real) and not isinstance(choice, bool) for choice in choices):
        return None
    try:
        values = np.array([float(choice) for choice in choices])
    except OverflowError:
        return None
    if not np.isfinite(values).all() or len(np.unique(values)) < 3:
        return None
    if np.array_equal(np.sort(values), np.arange(len(values))):
        return None
    linear = _spread_out(values)
    if values.min() <= 0.0:
        return linear
    logarithmic = _spread_out(np.log(values))
    return logarithmic if _widest_gap(logarithmic) < _widest_gap(linear) else linear


def _spread_out(values: Array) -> Array:
    """Return values (g,), not all the same, moved and scaled to [0, 1]."""
    values = values / np.max(np.abs(values))  # so that no difference overflows
    spread: Array = (values - values.min()) / (values.max() - values.min())
    return spread


def _widest_gap(places: Array) -> float:
    return float(np.diff(np.sort(places)).max())
