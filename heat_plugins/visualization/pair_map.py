"""Maps over two parameters, with trials on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from heat_plugins.space import Array, Bools, Space
from heat_plugins.visualization.parameter_axis import ParameterAxis
from heat_plugins.visualization.style import BEST, SIDE_LEGEND, number, shown

__all__ = ["PairMap"]

N_PLACES = 20  # of a number
JITTER = 0.28  # of trials with the same choices, which would hide each other


@dataclass(frozen=True, eq=False)
class PairMap:
    """A map over two columns of points: the first to the right, the second upwards."""

    columns: tuple[int, int]
    axes: tuple[ParameterAxis, ParameterAxis]

    @staticmethod
    def of(space: Space, columns: tuple[int, int], points: Array) -> PairMap:
        """Return the map of two columns, in which points (n, d) were seen."""
        first, second = (
            ParameterAxis.of(space.parameters[i], N_PLACES, points[:, i]) for i in columns
        )
        return PairMap(columns, (first, second))

    @property
    def places(self) -> tuple[Array, Array]:
        """The coordinates (r,) and (s,)."""
        return self.axes[0].places, self.axes[1].places

    def heat_map(
        self,
        table: Array,
        name: str,
        *,
        dark_is_low: bool,
        limits: tuple[float, float] | None = None,
    ) -> go.Figure:
        """Return a figure of values (r, s), NaN where there are none."""
        right, upwards = self.axes
        hover = [
            [f"{x}<br>{y}<br>{name}: {number(table[i, j])}" for i, x in enumerate(right.names)]
            for j, y in enumerate(upwards.names)
        ]
        low, high = limits or (None, None)
        figure = go.Figure(
            go.Heatmap(
                z=table.T,
                x=right.positions,
                y=upwards.positions,
                colorscale="Blues",
                reversescale=dark_is_low,
                hovertext=hover,
                hoverinfo="text",
                hoverongaps=False,
                zmin=low,
                zmax=high,
                colorbar={"title": {"text": name}},
            )
        )
        figure.update_xaxes(
            title_text=shown(right.parameter.name),
            automargin=True,
            showgrid=False,
            **right.layout(),
        )
        figure.update_yaxes(
            title_text=shown(upwards.parameter.name),
            automargin=True,
            showgrid=False,
            **upwards.layout(20),
        )
        height = 480 if not upwards.is_listed else max(380, 150 + 42 * len(upwards.places))
        figure.update_layout(
            height=height,
            margin={"t": 90},
            plot_bgcolor="white",
            legend=SIDE_LEGEND,
        )
        return figure

    def add_points(
        self,
        figure: go.Figure,
        points: Array,
        name: str,
        texts: Sequence[str],
        *,
        colour: str = "#333333",
        symbol: str = "circle",
        is_best: bool = False,
    ) -> None:
        """Mark trials at points (n, d), where both parameters exist."""
        rng = np.random.default_rng(0)
        places = []
        for axis, column in zip(self.axes, self.columns, strict=True):
            at = np.array(axis.at(points[:, column]), dtype=float)
            if axis.is_listed and not is_best:
                at += rng.uniform(-JITTER, JITTER, len(at))
            places.append(at)
        is_there: Bools = np.all(~np.isnan(places), axis=0)
        if not is_there.any():
            return
        marker = {
            "color": colour,
            "symbol": symbol,
            "size": 6,
            "line": {"color": "white", "width": 1},
        }
        if is_best:
            marker |= {"color": BEST, "symbol": "star", "size": 15}
        figure.add_trace(
            go.Scatter(
                x=places[0][is_there],
                y=places[1][is_there],
                mode="markers",
                name=name,
                marker=marker,
                hovertext=[text for text, there in zip(texts, is_there, strict=True) if there],
                hoverinfo="text",
            )
        )
