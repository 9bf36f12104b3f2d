"""Axes of parameters: where values lie in a figure, and how they are called."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.insight.effect_intervals import places_of
from heat_plugins.space import Array, Categorical, Ordinal, Parameter
from heat_plugins.space.numeric import NumberLine
from heat_plugins.visualization.style import number, shown

__all__ = ["ParameterAxis"]

MOST_LISTED = 12  # values of a number that are shown one by one
MOST_CHOICES = 16  # of a categorical parameter
MOST_DETAILED, MOST_POWERS = 2.0, 5.0  # decades with ticks between them, and powers at all
MOST_LETTERS = 40  # side by side in a small figure
LONGEST_TICK = 14  # characters


@dataclass(frozen=True, eq=False)
class ParameterAxis:
    """The axis of a parameter.

    Args:
        parameter: The parameter.
        places: (r,) coordinates that are shown, ascending.
        is_listed: Whether values stand side by side, each with its name, rather than on a line.
    """

    parameter: Parameter
    places: Array
    is_listed: bool

    @staticmethod
    def of(
        parameter: Parameter,
        n_places: int,
        seen: Array | None = None,
        most_listed: int = MOST_LISTED,
    ) -> ParameterAxis:
        """Return the axis, with at most some places of a number.

        Of very many choices those count that most trials have had, by coordinates seen (n,).
        """
        if isinstance(parameter, Categorical | Ordinal):
            places = parameter.levels()
            if len(places) > MOST_CHOICES:
                known = np.empty(0) if seen is None else seen[~np.isnan(seen)].astype(np.int64)
                counts = np.bincount(known, minlength=len(places))
                places = np.sort(np.argsort(-counts, kind="stable")[:MOST_CHOICES]).astype(float)
            return ParameterAxis(parameter, places, is_listed=True)
        is_listed = parameter.n_levels <= most_listed
        return ParameterAxis(parameter, places_of(parameter, n_places), is_listed)

    @property
    def is_log(self) -> bool:
        """Whether the line is logarithmic."""
        parameter = self.parameter
        return not self.is_listed and isinstance(parameter, NumberLine) and parameter.log

    @property
    def left_out(self) -> int:
        """How many listed values are not shown."""
        return int(self.parameter.n_levels) - len(self.places) if self.is_listed else 0

    @property
    def positions(self) -> list[float]:
        """(r) where the places are."""
        return self.at(self.places)

    def at(self, coordinates: Array) -> list[float]:
        """Return where coordinates (n,) are; NaN for those that are not shown."""
        if not self.is_listed:
            decode = self.parameter.decode
            return [float("nan") if np.isnan(c) else float(decode(c)) for c in coordinates]
        order = {float(place): float(i) for i, place in enumerate(self.places)}
        snapped = self.parameter.snap(coordinates)
        return [order.get(float(c), float("nan")) for c in snapped]

    @property
    def names(self) -> list[str]:
        """(r) what the places are called, letter by letter."""
        return [shown(text) for text in self._texts]

    @property
    def _texts(self) -> list[str]:
        values = [self.parameter.decode(float(place)) for place in self.places]
        texts = [number(v) if isinstance(v, float) else str(v) for v in values]
        # 1 and "1" may be two choices.
        return [repr(v) if texts.count(t) > 1 else t for v, t in zip(values, texts, strict=True)]

    @property
    def has_long_names(self) -> bool:
        """Whether names do not fit side by side into a small figure."""
        texts = [shown(text, LONGEST_TICK) for text in self._texts] if self.is_listed else []
        return max(map(len, texts), default=0) * len(texts) > MOST_LETTERS

    def layout(self, longest: int = LONGEST_TICK) -> dict[str, Any]:
        """Return the settings of a plotly axis, with names of so many characters."""
        if not self.is_listed:
            return self._log_layout() if self.is_log else {"nticks": 6}
        return {
            "type": "linear",
            "tickmode": "array",
            "tickvals": self.positions,
            "ticktext": [shown(text, longest) for text in self._texts],
            "range": [-0.6, len(self.places) - 0.4],
            "zeroline": False,
        }

    def _log_layout(self) -> dict[str, Any]:
        """Return the settings of a logarithmic axis: powers of ten alone, if there are several."""
        low, high = self.positions[0], self.positions[-1]
        decades = math.log10(high) - math.log10(low)
        if decades < MOST_DETAILED:
            return {"type": "log", "nticks": 6}
        return {
            "type": "log",
            "dtick": math.ceil(decades / MOST_POWERS),
            "exponentformat": "power",
        }
