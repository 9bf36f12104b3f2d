"""Parameters on a number line, encoded as unit values, in [0, 1]."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space.arrays import Array

__all__ = ["Float", "Integer", "NumberLine", "as_written"]


# Numbers no further apart than this share of their range are taken for the same. Decoding and
# encoding change far less, a number that was kept in single precision about a tenth of this.
RESOLUTION = 1e-6
# Grids with more values than this are too fine for each to have a unit value of its own.
MOST_LEVELS = 2**32
# Bounds that differ by less than this share of them are as far apart on a log scale as on a
# linear one, and their logarithms would have few digits left to differ in.
NARROW = 1e-3
# Where values lie that are further away than this many times the range.
FARTHEST = 1e6


@dataclass(frozen=True)
class NumberLine:
    """A parameter on a number line, encoded as its unit value, in [0, 1].

    Values on a grid are ``low + k * step``. Each has one unit value, the same bits whichever
    way it was come by, so that points can be compared. On grids too fine for that, as
    without a grid, unit values are compared up to ``resolution``.
    """

    name: str
    low: float
    high: float
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        bounds = f"[{self.low}, {self.high}]"
        if not (_is_finite(self.low) and _is_finite(self.high)):
            raise ValueError(f"bounds of {self.name!r} must be finite, got {bounds}")
        if self.low > self.high:
            raise ValueError(f"bounds of {self.name!r} must have low <= high, got {bounds}")
        if self.log and self.low <= 0:
            raise ValueError(
                f"lower bound of {self.name!r} must be > 0 on a log scale, got {self.low}"
            )
        if self.step is not None and not 0 < self.step < math.inf:
            raise ValueError(f"step of {self.name!r} must be > 0 and finite, got {self.step}")
        if self.step is not None and not _is_finite(self.n_levels):
            raise ValueError(
                f"step of {self.name!r} must divide {bounds} into fewer parts, got {self.step}"
            )

    @cached_property
    def n_levels(self) -> float:
        """The number of different values; infinite without a step."""
        if self.low == self.high:
            return 1
        if self.step is None:
            return math.inf
        return (as_written(self.high) - as_written(self.low)) // as_written(self.step) + 1

    @cached_property
    def resolution(self) -> float:
        """The largest distance of unit values that count as equal; 0 on a grid, which is exact."""
        low, high = float(self.low), float(self.high)
        spacing = math.ulp(max(abs(low), abs(high)))
        if self.n_levels <= MOST_LEVELS and (self.step is None or self.step >= spacing):
            return 0.0
        # In a range of few floats, many unit values stand for each: those that are nearest.
        # Whole numbers may have to give way to the next one that is a float.
        reach = 0.5 if self.step is None else 1.0
        return max(RESOLUTION, reach * self._spacing)

    @cached_property
    def _spacing(self) -> float:
        """The largest distance of the unit values of neighbouring floats."""
        low, high = float(self.low), float(self.high)
        if self._is_log:
            return math.ulp(low) / low / self._line[1]
        return math.ulp(max(abs(low), abs(high))) * self._unit / self._line[1]

    @cached_property
    def _highest(self) -> float:
        """The highest value: the upper bound, or what the grid has last below it."""
        if self.step is None:
            return self.high
        return float(as_written(self.low) + (self.n_levels - 1) * as_written(self.step))

    @cached_property
    def _is_log(self) -> bool:
        """Whether unit values are those of logarithms."""
        return self.log and self.high / self.low > 1.0 + NARROW

    @cached_property
    def _unit(self) -> float:
        """The factor of values that keeps the length of the longest range finite."""
        return 1.0 if math.isfinite(self._highest - self.low) else 0.25

    @cached_property
    def _line(self) -> tuple[float, float]:
        """Start and length of the line that is mapped to [0, 1]; never of no length."""
        low, high = self.low * self._unit, self._highest * self._unit
        if self._is_log:
            low, high = float(np.log(float(self.low))), float(np.log(self._highest))
        return low, (high - low) or 1.0

    def _unit_value(self, index: Array) -> Array:
        """Return the unit value of the ``index``-th value of the grid."""
        last = self.n_levels - 1
        index = np.clip(index, 0, last)
        return self._to_unit(self._value(index)) if self._is_log else index / max(last, 1)

    @usual_errors
    def _value(self, index: Array) -> Array:
        """Return the ``index``-th value of the grid, as a float."""
        assert self.step is not None
        values: Array = (self.low * self._unit + index * (self.step * self._unit)) / self._unit
        return np.clip(values, self.low, self._highest)

    @usual_errors
    def _index(self, coordinates: Array) -> Array:
        """Return the number of the value of the grid that is nearest to a unit value."""
        assert self.step is not None
        unit_values, last = np.clip(coordinates, 0.0, 1.0), self.n_levels - 1
        if self._is_log:
            steps = (self._from_unit(unit_values) - self.low) / self.step
        else:
            steps = unit_values * last
        return np.clip(np.rint(steps), 0, last)

    @usual_errors
    def _to_unit(self, values: Array) -> Array:
        start, length = self._line
        line = np.log(np.maximum(values, self.low)) if self._is_log else values * self._unit
        return np.clip((line - start) / length, 0.0, 1.0)

    @usual_errors
    def _from_unit(self, coordinates: Array) -> Array:
        start, length = self._line
        line = start + coordinates * length
        values: Array = np.exp(line) if self._is_log else line / self._unit
        return np.clip(values, self.low, self.high)

    @property
    def _slack(self) -> float:
        """The tolerance of the bounds, for rounding."""
        return 1e-9 * max(abs(self.low), abs(self.high))

    def encode(self, value: Any) -> float:
        """Return the unit value of ``value``; a value off the grid keeps its own."""
        number = _as_number(value)
        if not self.low - self._slack <= number <= self.high + self._slack:
            raise ValueError(
                f"value of {self.name!r} must be a number in [{self.low}, {self.high}], "
                f"got {value!r}"
            )
        if self.n_levels == 1 or number <= self.low:
            return 0.0
        if self.step is not None:
            index = self._steps(number)
            if abs(index - round(index)) < 1e-3:
                return float(self._unit_value(np.array(float(round(index)))))
        return 1.0 if number >= self.high else float(self._to_unit(np.array(float(number))))

    def _steps(self, number: float) -> float:
        """Return how many steps a number is above the lowest value."""
        assert self.step is not None
        return (number * self._unit - self.low * self._unit) / (self.step * self._unit)

    def normalize(self, value: Any) -> float:
        """Return the unit value of any number, below 0 or above 1 where it is out of range.

        NaN where it has none: on a log scale, numbers that are not positive.
        """
        number = _as_number(value)
        if self.low - self._slack <= number <= self.high + self._slack:
            return self.encode(value)
        if self.log and not number > 0:
            return math.nan
        start, length = self._line
        line = math.log(number) if self._is_log else _as_float(number) * self._unit
        return min(max((line - start) / length, -FARTHEST), FARTHEST)

    def decode(self, coordinate: float) -> Any:
        """Return the value of a unit value, on the step grid where there is one."""
        if self.step is not None:
            return float(self._value(self._index(np.array(coordinate))))
        if not 0.0 < coordinate < 1.0:
            return float(self.low if coordinate <= 0.0 else self.high)
        return float(self._from_unit(np.array(coordinate)))

    def snap(self, coordinates: Array) -> Array:
        """Move unit values to the nearest ones that are values of the parameter."""
        if self.n_levels == 1:
            return np.zeros_like(coordinates)
        if self.step is None:
            unit_values = np.clip(coordinates, 0.0, 1.0)
            has_few_floats = self._spacing > RESOLUTION
            return self._to_unit(self._from_unit(unit_values)) if has_few_floats else unit_values
        return self._unit_value(self._index(coordinates))

    def levels(self) -> Array:
        """Return all unit values of a parameter on a grid."""
        if self.n_levels == 1:
            return np.zeros(1)
        if self.step is None:
            raise ValueError(f"{self.name!r} is continuous: its values cannot be listed")
        return self._unit_value(np.arange(self.n_levels, dtype=float))

    def nearby(self, coordinate: float) -> Array:
        """Return unit values around one, from the next on the grid to half the range away."""
        strides = 0.5 ** np.arange(1, 8)
        unit_values = np.concatenate([coordinate - strides, coordinate + strides])
        if self.step is not None:
            adjacent = self._index(np.array(coordinate)) + np.array([-1.0, 0.0, 1.0])
            unit_values = np.concatenate([unit_values, self._unit_value(adjacent)])
        unit_values = np.unique(self.snap(unit_values))
        others: Array = unit_values[unit_values != coordinate]
        return others

    def around(self, coordinate: float, half_width: float) -> tuple[float, float]:
        """Return the lowest and the highest unit value at most ``half_width`` away.

        On a grid these are those of values, and never less than the two next to it: a
        box too small for a step would be a single point.
        """
        coordinate = min(max(coordinate, 0.0), 1.0)  # seen when the range was another one
        low, high = max(coordinate - half_width, 0.0), min(coordinate + half_width, 1.0)
        if self.step is None:
            return low, high
        slack = 1e-9  # a value on the rim is inside, whatever its last bit says
        middle = float(self._index(np.array(coordinate)))
        first, last = self._index(np.array([low, high]))
        first += float(self._unit_value(first)) < low - slack
        last -= float(self._unit_value(last)) > high + slack
        ends = self._unit_value(np.array([min(first, middle - 1.0), max(last, middle + 1.0)]))
        return float(ends[0]), float(ends[1])

    @usual_errors
    def from_uniform(self, uniform: Array) -> Array:
        """Turn uniform numbers in [0, 1) into unit values, uniform on the line of the parameter.

        On a grid each value gets the numbers that are nearest to it, those at the ends too;
        on a linear one all are equally likely.
        """
        if self.step is None or self.n_levels == 1:
            return self.snap(uniform)
        if not self._is_log:
            return self._unit_value(np.floor(uniform * self.n_levels))
        start = np.log(max(self.low - 0.5 * self.step, 0.5 * self.low))
        values = np.exp(start + uniform * (np.log(self._highest + 0.5 * self.step) - start))
        return self._unit_value(np.rint((values - self.low) / self.step))


def as_written(number: float) -> Fraction:
    """Return a number as it is written: three times 0.1 makes 0.3, which floats deny."""
    return Fraction(str(number))


def _as_float(number: float) -> float:
    """Return a number as a float, infinite where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_finite(number: float) -> bool:
    return math.isfinite(_as_float(number))


def _as_number(value: Any) -> float:
    """Return a value as a number, a whole one without rounding; NaN where it is none."""
    try:
        return operator.index(value) if hasattr(value, "__index__") else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True)
class Integer(NumberLine):
    """Whole numbers ``low, low + step, ... <= high``, linear or logarithmic."""

    step: float | None = 1

    def __post_init__(self) -> None:
        if self.step is None:
            object.__setattr__(self, "step", 1)
        super().__post_init__()
        for field in ("low", "high", "step"):
            number = getattr(self, field)
            if number != int(number):
                raise ValueError(f"{field} of {self.name!r} must be a whole number, got {number}")
            object.__setattr__(self, field, int(number))

    @property
    def _slack(self) -> float:
        return 0

    def _steps(self, number: float) -> float:
        assert self.step is not None
        return (number - self.low) / self.step  # whole numbers, which are exact

    def decode(self, coordinate: float) -> int:
        """Return the whole number of a unit value."""
        assert self.step is not None
        # Python's whole numbers: those of a huge range have no floats of their own.
        last = int(self.n_levels) - 1
        index = min(int(self._index(np.array(coordinate))), last) if coordinate < 1.0 else last
        return int(self.low) + index * int(self.step)


@dataclass(frozen=True)
class Float(NumberLine):
    """Real numbers between bounds: linear, logarithmic, or on a grid of ``step``."""
