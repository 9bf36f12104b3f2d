"""Small figures side by side, one for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from heat_plugins.space import Array
from heat_plugins.visualization.parameter_axis import ParameterAxis
from heat_plugins.visualization.style import BAND, MAIN, number, shown

__all__ = ["Panels"]

MOST_COLUMNS = 4
ROW_HEIGHT, HEAD, FOOT = 210, 90, 60  # pixels
TWO_SIDED_95 = 1.96


class Panels:
    """A figure of panels with one vertical scale.

    Attributes:
        figure: The figure.

    Args:
        names: Of the panels.
        y_title: What is on the vertical axis of all.
    """

    def __init__(self, names: Sequence[str], y_title: str) -> None:
        self._columns = min(MOST_COLUMNS, len(names))
        rows = -(-len(names) // self._columns)
        self.figure = make_subplots(
            rows,
            self._columns,
            subplot_titles=[shown(name) for name in names],
            shared_yaxes=True,
            horizontal_spacing=0.03,
            vertical_spacing=min(0.32 / rows, 0.25),
        )
        self.figure.update_annotations(font_size=13)
        self.figure.update_layout(
            height=HEAD + FOOT + ROW_HEIGHT * rows,
            margin={"t": HEAD, "b": FOOT, "l": 70, "r": 20},
            showlegend=False,
        )
        self.figure.update_yaxes(matches="y", automargin=True, nticks=6)
        for row in range(1, rows + 1):
            self.figure.update_yaxes(title_text=y_title, row=row, col=1)
        self._rows = rows

    def place(self, index: int) -> dict[str, int]:
        """Return where a panel is."""
        return {"row": index // self._columns + 1, "col": index % self._columns + 1}

    def add_curve(
        self, index: int, axis: ParameterAxis, means: Array, deviations: Array, unit: str
    ) -> None:
        """Draw means (r,) with 95 % intervals: dots with bars for listed values, else a band."""
        x, reach = axis.positions, TWO_SIDED_95 * deviations
        texts = [
            f"{name}: {number(mean)}<br>{number(mean - r)} to {number(mean + r)} (95 %){unit}"
            for name, mean, r in zip(axis.names, means, reach, strict=True)
        ]
        style: dict[str, Any] = {"hovertext": texts, "hoverinfo": "text"}
        if axis.is_listed:
            bars = {"type": "data", "array": reach, "color": MAIN, "thickness": 1.5, "width": 3}
            marker = {"color": MAIN, "size": 8}
            dots = go.Scatter(x=x, y=means, mode="markers", marker=marker, error_y=bars, **style)
            self.figure.add_trace(dots, **self.place(index))
        else:
            outline = np.concatenate([means + reach, (means - reach)[::-1]])
            band = go.Scatter(
                x=[*x, *x[::-1]],
                y=outline,
                fill="toself",
                fillcolor=BAND,
                line={"width": 0},
                mode="lines",
                hoverinfo="skip",
            )
            self.figure.add_trace(band, **self.place(index))
            line = go.Scatter(x=x, y=means, mode="lines", line={"color": MAIN}, **style)
            self.figure.add_trace(line, **self.place(index))
        self.figure.update_xaxes(**axis.layout(), **self.place(index))
