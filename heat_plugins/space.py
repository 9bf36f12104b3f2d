"""Search spaces: what the parameters are, and the array in which the core sees them.

Notation
    ===========  =====================================================================
    d            number of parameters
    point        (d,) float64 row; one column a parameter, in the order of the space
    discrete     categorical or ordinal parameter: the column holds an integer code
                 0 .. k-1, the position of the choice
    numeric      integer or float parameter: the column holds a number in [0, 1], the
                 place of the value between its bounds (of the logarithms, if ``log``)
    ===========  =====================================================================

A space knows no host. The doors translate their own parameter types into these and
their trials into mappings ``{name: value}``; everything after that happens on points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Categorical", "Ordinal", "Integer", "Float", "Parameter", "Space"]

Array = NDArray[np.float64]


class ChoiceIndex:
    """Finds the position of a value among choices, exactly.

    ``1``, ``1.0`` and ``True`` are equal in Python but may be three choices, NaN is not
    even equal to itself, and a choice need not be hashable. So a value is looked up by
    type and value first, by identity or plain equality only where that finds nothing.
    """

    def __init__(self, choices: Sequence[Any]) -> None:
        """Index ``choices`` by type and value, as far as they can be hashed."""
        self._choices = choices
        self._by_type: dict[tuple[type, Any], int] = {}
        for position, choice in enumerate(choices):
            key = self._key(choice)
            if key is not None:
                self._by_type.setdefault(key, position)

    @staticmethod
    def _key(value: Any) -> tuple[type, Any] | None:
        if isinstance(value, float) and math.isnan(value):
            return (float, "nan")  # cannot clash: a float never equals a string
        try:
            hash(value)
        except TypeError:
            return None
        return (type(value), value)

    def find(self, value: Any) -> int | None:
        """Return the position of ``value``, or None where it is not a choice."""
        key = self._key(value)
        if key is not None and key in self._by_type:
            return self._by_type[key]
        # An unhashable choice, or an equal value of another type (a NumPy scalar, say).
        for position, choice in enumerate(self._choices):
            if choice is value or _equal(choice, value):
                return position
        return None


def _equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # a foreign __eq__ may raise anything; then it is not that choice
        return False


@dataclass(frozen=True)
class _Choices:
    """A parameter with listed values, seen by the core as integer codes."""

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
        """How many different values there are."""
        return len(self.choices)

    def encode(self, value: Any) -> float:
        """Return the code of ``value``."""
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
        return self.levels()[self.levels() != coordinate]

    def spread(self, uniform: Array) -> Array:
        """Turn uniform numbers in [0, 1) into equally likely codes."""
        return np.floor(uniform * len(self.choices))


@dataclass(frozen=True)
class Categorical(_Choices):
    """Unordered choices: every two different ones are equally far apart."""


@dataclass(frozen=True)
class Ordinal(_Choices):
    """Ordered choices: neighbours in the list are closer than its ends."""


@dataclass(frozen=True)
class _Numeric:
    """A parameter on a number line, seen by the core as its place in [0, 1]."""

    name: str
    low: float
    high: float
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(
                f"bounds of {self.name!r} must be finite, got [{self.low}, {self.high}]"
            )
        if self.low > self.high:
            raise ValueError(
                f"bounds of {self.name!r} must have low <= high, got [{self.low}, {self.high}]"
            )
        if self.log and self.low <= 0:
            raise ValueError(
                f"lower bound of {self.name!r} must be > 0 on a log scale, got {self.low}"
            )
        if self.step is not None and not self.step > 0:
            raise ValueError(f"step of {self.name!r} must be > 0, got {self.step}")

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The ends of the line that is mapped to [0, 1], and never of no length."""
        low, high = (
            (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        )
        return low, (high - low) or 1.0

    @property
    def n_levels(self) -> float:
        """How many different values there are; infinite without a step."""
        if self.low == self.high:
            return 1
        if self.step is None:
            return math.inf
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def encode(self, value: Any) -> float:
        """Return the place of ``value`` in [0, 1]."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        if not (self.low - slack <= number <= self.high + slack):
            raise ValueError(
                f"value of {self.name!r} must be a number in [{self.low}, {self.high}], "
                f"got {value!r}"
            )
        return float(self._to_unit(np.array(number)))

    def _to_unit(self, values: Array) -> Array:
        low, length = self._scale
        line = np.log(np.maximum(values, self.low)) if self.log else values
        unit: Array = np.clip((line - low) / length, 0.0, 1.0)
        return unit

    def _from_unit(self, coordinates: Array) -> Array:
        low, length = self._scale
        line = low + np.clip(coordinates, 0.0, 1.0) * length
        values: Array = np.exp(line) if self.log else line
        if self.step is not None:
            last = self.n_levels - 1
            values = (
                self.low + np.clip(np.rint((values - self.low) / self.step), 0, last) * self.step
            )
        return np.clip(values, self.low, self.high)

    def decode(self, coordinate: float) -> Any:
        """Return the value at a place, on the step grid where there is one."""
        return float(self._from_unit(np.array(coordinate)))

    def snap(self, coordinates: Array) -> Array:
        """Move places to the nearest ones that are values of the parameter."""
        if self.step is None:
            return np.clip(coordinates, 0.0, 1.0)
        return self._to_unit(self._from_unit(coordinates))

    def levels(self) -> Array:
        """Return all places of a parameter on a grid."""
        if self.n_levels == 1:
            return np.zeros(1)
        if self.step is None:
            raise ValueError(f"{self.name!r} is continuous: its values cannot be listed")
        return self._to_unit(self.low + np.arange(self.n_levels) * self.step)

    def nearby(self, coordinate: float) -> Array:
        """Return places around ``coordinate``, from the next on the grid to half the range."""
        strides = 0.5 ** np.arange(1, 8)
        places = np.concatenate([coordinate - strides, coordinate + strides])
        if self.step is not None:
            value = self._from_unit(np.array(coordinate))
            adjacent = self._to_unit(np.array([value - self.step, value + self.step]))
            places = self.snap(np.concatenate([places, adjacent]))
        places = np.unique(np.clip(places, 0.0, 1.0))
        return places[places != coordinate]

    def spread(self, uniform: Array) -> Array:
        """Turn uniform numbers in [0, 1) into places; values of a linear grid equally likely."""
        if self.step is None or self.log:
            return self.snap(uniform)
        return self.snap(np.floor(uniform * self.n_levels) / max(self.n_levels - 1, 1))


@dataclass(frozen=True)
class Integer(_Numeric):
    """Whole numbers ``low, low + step, ... <= high``, linear or logarithmic."""

    step: float | None = 1

    def decode(self, coordinate: float) -> int:
        """Return the whole number at a place."""
        return round(float(self._from_unit(np.array(coordinate))))


@dataclass(frozen=True)
class Float(_Numeric):
    """Real numbers between bounds: linear, logarithmic, or on a grid of ``step``."""


Parameter = Categorical | Ordinal | Integer | Float


@dataclass(frozen=True)
class Space:
    """Named parameters in a fixed order.

    Args:
        parameters: The parameters; the order is that of the columns of a point.
    """

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        seen: set[str] = set()
        for parameter in self.parameters:
            if parameter.name in seen:
                raise ValueError(f"parameter {parameter.name!r} occurs twice in the space")
            seen.add(parameter.name)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self.parameters)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in column order."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def column(self) -> dict[str, int]:
        """The column of each name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def is_discrete(self) -> NDArray[np.bool_]:
        """(d,) True where the column holds integer codes."""
        return np.array([isinstance(p, _Choices) for p in self.parameters], dtype=bool)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """(d,) True where the codes have no order."""
        return np.array([isinstance(p, Categorical) for p in self.parameters], dtype=bool)

    @cached_property
    def n_levels(self) -> Array:
        """(d,) number of different values of each column; infinite for a continuous one."""
        return np.array([p.n_levels for p in self.parameters], dtype=float)

    @cached_property
    def size(self) -> float:
        """The number of different points, as an exact int where it is finite."""
        if not np.all(np.isfinite(self.n_levels)):
            return math.inf
        return math.prod(int(n) for n in self.n_levels)

    def encode(self, values: Mapping[str, Any]) -> Array:
        """Return the point (d,) of a mapping that has a value for every parameter."""
        point = np.empty(len(self))
        for i, parameter in enumerate(self.parameters):
            if parameter.name not in values:
                raise ValueError(f"no value for parameter {parameter.name!r}")
            point[i] = parameter.encode(values[parameter.name])
        return point

    def encode_all(self, rows: Iterable[Mapping[str, Any]]) -> Array:
        """Return points (n, d) of several mappings."""
        encoded = [self.encode(row) for row in rows]
        return np.array(encoded).reshape(len(encoded), len(self))

    def decode(self, point: Array) -> dict[str, Any]:
        """Return the value of every parameter at a point (d,)."""
        return {p.name: p.decode(float(point[i])) for i, p in enumerate(self.parameters)}

    def snap(self, points: Array) -> Array:
        """Move points (n, d) to the nearest ones that exist: codes whole, numbers on their grid."""
        snapped = points.copy()
        for i, parameter in enumerate(self.parameters):
            # Codes stay whole in every move of the search; only grids of numbers need it.
            if not self.is_discrete[i] and parameter.n_levels < math.inf:
                snapped[:, i] = parameter.snap(points[:, i])
        return snapped

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw ``n`` points (n, d), every value of a finite parameter equally likely."""
        points = rng.random((n, len(self)))
        for i, parameter in enumerate(self.parameters):
            points[:, i] = parameter.spread(points[:, i])
        return points
