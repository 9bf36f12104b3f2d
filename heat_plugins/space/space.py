"""Search spaces: the parameters, and how points of them are arrays.

Notation
    ===========  =====================================================================
    d            number of parameters
    point        (d,) float64 row; one column a parameter, in the order of the space
    discrete     categorical or ordinal parameter: the column holds an integer code
                 0 .. k-1, the position of the choice
    numeric      integer or float parameter: the column holds a number in [0, 1], the
                 unit value between its bounds (of the logarithms, if ``log``)
    NaN          in a column: the parameter does not exist at this point, because its
                 existence depends on others (conditions.py)
    ===========  =====================================================================

A space knows no host. The integrations translate their own parameter types into these and
their trials into mappings ``{name: value}``; everything after that happens on points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space.arrays import Array, Bools, Indices
from heat_plugins.space.categorical import Categorical, ListedValues, Ordinal
from heat_plugins.space.numeric import Float, Integer

__all__ = ["Allowed", "Parameter", "Space", "apply_changes"]

Allowed = Callable[[Array], Bools]
"""A function that tells which of points (n, d) may be proposed."""
Parameter = Categorical | Ordinal | Integer | Float
"""What a space is made of."""


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
    def is_discrete(self) -> Bools:
        """(d,) True where the column holds integer codes."""
        return np.array([isinstance(p, ListedValues) for p in self.parameters], dtype=bool)

    @cached_property
    def is_categorical(self) -> Bools:
        """(d,) True where the codes have no order."""
        return np.array([isinstance(p, Categorical) for p in self.parameters], dtype=bool)

    @cached_property
    def n_levels(self) -> Array:
        """(d,) number of different values of each column; infinite for a continuous one."""
        return np.array([p.n_levels for p in self.parameters], dtype=float)

    @cached_property
    def resolution(self) -> Array:
        """(d,) how far apart coordinates of the same value may be."""
        return np.array([p.resolution for p in self.parameters], dtype=float)

    @cached_property
    def size(self) -> float:
        """The number of different points, as an exact int where it is finite."""
        levels = [parameter.n_levels for parameter in self.parameters]
        return math.inf if math.inf in levels else math.prod(levels)

    def encode(self, values: Mapping[str, Any]) -> Array:
        """Return the point (d,) of a mapping that has a value for every parameter."""
        point = np.empty(len(self))
        for i, parameter in enumerate(self.parameters):
            if parameter.name not in values:
                raise ValueError(f"no value for parameter {parameter.name!r}")
            point[i] = parameter.encode(values[parameter.name])
        return point

    def stack(self, points: Sequence[Array]) -> Array:
        """Return points (n, d) as one array, also if there are none."""
        return np.array(points, dtype=float).reshape(len(points), len(self))

    def decode(self, point: Array) -> dict[str, Any]:
        """Return the value of every parameter that exists at a point (d,)."""
        return {
            p.name: p.decode(float(x))
            for p, x in zip(self.parameters, point, strict=True)
            if not math.isnan(x)
        }

    def snap(self, points: Array) -> Array:
        """Move points (n, d) to the nearest that exist: codes whole, numbers on their grid."""
        snapped = points.copy()
        for i, parameter in enumerate(self.parameters):
            snapped[:, i] = parameter.snap(points[:, i])
        return snapped

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw ``n`` points (n, d), uniform on each scale: all choices equally likely."""
        points = rng.random((n, len(self)))
        for i, parameter in enumerate(self.parameters):
            points[:, i] = parameter.from_uniform(points[:, i])
        return points


def apply_changes(point: Array, columns: Indices, coordinates: Array) -> Array:
    """Return copies (N, d) of a point, each with one coordinate replaced."""
    changed = np.repeat(point[None], len(columns), axis=0)
    changed[np.arange(len(columns)), columns] = coordinates
    return changed
