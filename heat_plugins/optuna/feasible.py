"""The user's feasibility rule, ``is_feasible``, as a function of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from heat_plugins.space import Array, Bools, Space

__all__ = ["FeasiblePoints", "IsFeasible", "seems_feasible"]

IsFeasible = Callable[[dict[str, Any]], bool]


class FeasiblePoints:
    """Asks the user's function about points of a space, once for each.

    A function that looks for a parameter which does not exist at a point, or is not known yet,
    raises KeyError; it has no objection then.

    Args:
        is_feasible: The user's function of the parameters of a trial.
        space: The parameters that vary.
        fixed: Values of the parameters that do not.
        on_missing: Called with the name that the function missed.
        on_error: Called with any other exception that the function raises.
    """

    def __init__(
        self,
        is_feasible: IsFeasible,
        space: Space,
        fixed: Mapping[str, Any],
        on_missing: Callable[[str], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._is_feasible = is_feasible
        self._space = space
        self._fixed = dict(fixed)
        self._on_missing = on_missing
        self._on_error = on_error
        self._known: dict[bytes, bool] = {}
        self._values: dict[tuple[int, float], Any] = {}  # by column and coordinate
        self._missing: set[bytes] = set()  # points at which the function missed a parameter
        self._errors = np.geterr()  # as the user's program has them

    def __call__(self, points: Array) -> Bools:
        """(n,) whether points (n, d) may be tried."""
        return np.array([self._ask(point) for point in points], dtype=bool)

    def _ask(self, point: Array) -> bool:
        key = point.tobytes()
        if key not in self._known:
            params = self._fixed | self._decode(point)
            try:
                with np.errstate(**self._errors):
                    self._known[key] = bool(self._is_feasible(params))
            except KeyError as error:
                self._on_missing(str(error))
                self._missing.add(key)
                self._known[key] = True
            except Exception as error:
                error.add_note(f"raised by `is_feasible` of `HeatSampler` for {params!r}")
                self._on_error(error)
                raise
        return self._known[key]

    def _decode(self, point: Array) -> dict[str, Any]:
        """Return the values at a point (d,), which has most of them in common with others."""
        values, parameters = {}, self._space.parameters
        for column, coordinate in enumerate(point.tolist()):
            if math.isnan(coordinate):
                continue
            key = column, coordinate
            if key not in self._values:
                self._values[key] = parameters[column].decode(coordinate)
            values[parameters[column].name] = self._values[key]
        return values

    def is_unsettled(self, point: Array) -> bool:
        """Whether the function looked for a parameter which a point (d,) does not have."""
        return point.tobytes() in self._missing


def seems_feasible(is_feasible: IsFeasible, params: dict[str, Any]) -> bool:
    """Whether a trial may go on with the parameters that it has so far.

    Before the search space is known values are drawn one by one, and the user's function may
    miss those that are still to come. Then it has no objection yet.
    """
    try:
        return bool(is_feasible(params))
    except Exception:
        return True
