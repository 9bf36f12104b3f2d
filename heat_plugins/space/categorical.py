"""Parameters with listed values, encoded as integer codes: the positions of values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space.arrays import Array

__all__ = ["Categorical", "ChoiceIndex", "ListedValues", "Ordinal", "equal_values"]


class ChoiceIndex:
    """Finds the position of a value among choices, exactly.

    ``1``, ``1.0`` and ``True`` are equal in Python but may be three choices, NaN is not
    even equal to itself, and a choice need not be hashable. So a value is looked up by
    type and value first, by plain equality only where that finds nothing.
    """

    def __init__(self, choices: Sequence[Any]) -> None:
        self._choices = choices
        self._by_key: dict[Hashable, int] = {}
        for position, choice in enumerate(choices):
            key = _exact_key(choice)
            if key is not None:
                self._by_key.setdefault(key, position)

    def find(self, value: Any) -> int | None:
        """Return the first position of ``value``, or None where it is not a choice."""
        key = _exact_key(value)
        if key is not None and key in self._by_key:
            return self._by_key[key]
        # An object of some class; failing that, an equal value of another type.
        for same in (_same, equal_values):
            for position, choice in enumerate(self._choices):
                if same(choice, value):
                    return position
        return None


def _exact_key(value: Any) -> Hashable | None:
    """Return what only the same value of the same type has; None for objects of classes.

    Foreign ``__hash__`` and ``__eq__`` may do anything, so no object gets near a dict.
    """
    if isinstance(value, np.bool_ | np.number | np.str_):
        value = value.item()
    kind = type(value)
    if kind is float and math.isnan(value):
        return (float, "nan")  # cannot clash: a float never equals a string
    if kind in (type(None), bool, int, float, complex, str, bytes):
        return (kind, value)
    if kind in (tuple, list):
        keys = [_exact_key(item) for item in value]
        return None if None in keys else (kind, tuple(keys))
    if kind is dict:
        pairs = [(_exact_key(name), _exact_key(item)) for name, item in value.items()]
        return None if any(None in pair for pair in pairs) else (dict, frozenset(pairs))
    return None


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and equal_values(left, right))


def equal_values(left: Any, right: Any) -> bool:
    """Whether two values of any type are equal."""
    try:
        return bool(left == right)
    except Exception:  # a foreign __eq__ may raise anything; then it is not that choice
        return False


@dataclass(frozen=True)
class ListedValues:
    """A parameter with listed values, encoded as integer codes."""

    name: str
    choices: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(self.choices))
        if not self.choices:
            raise ValueError(f"choices of {self.name!r} must have at least 1 value, got 0")

    @cached_property
    def _index(self) -> ChoiceIndex:
        return ChoiceIndex(self.choices)

    @property
    def n_levels(self) -> float:
        """The number of different values."""
        return len(self.choices)

    @property
    def resolution(self) -> float:
        """The largest distance of codes of the same value."""
        return 0.0

    def encode(self, value: Any) -> float:
        """Return the code of ``value``, the first one if it is listed more than once."""
        position = self._index.find(value)
        if position is None:
            raise ValueError(
                f"value of {self.name!r} must be one of {self.choices!r}, got {value!r}"
            )
        return float(position)

    def decode(self, coordinate: float) -> Any:
        """Return the choice at a code."""
        return self.choices[int(coordinate)]

    def snap(self, coordinates: Array) -> Array:
        """Move any number to the nearest code."""
        return np.clip(np.rint(coordinates), 0, len(self.choices) - 1)

    def levels(self) -> Array:
        """Return all codes."""
        return np.arange(len(self.choices), dtype=float)

    def nearby(self, coordinate: float) -> Array:
        """Return the codes other than ``coordinate``."""
        codes = self.levels()
        others: Array = codes[codes != coordinate]
        return others

    def from_uniform(self, uniform: Array) -> Array:
        """Turn uniform numbers in [0, 1) into equally likely codes."""
        return np.floor(uniform * len(self.choices))


@dataclass(frozen=True)
class Categorical(ListedValues):
    """Unordered choices: every two different ones are equally far apart."""


@dataclass(frozen=True)
class Ordinal(ListedValues):
    """Ordered choices: neighbours in the list are closer than its ends."""
