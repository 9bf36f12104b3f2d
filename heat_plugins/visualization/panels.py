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
ROW_HEIGHT, GAP, LONG_GAP, HEAD = 165, 62, 115, 105  # pixels
TWO_SIDED_95 = 1.96


class Panels:
    """A figure of panels with one vertical scale.

    Attributes:
        figure: The figure.

    Args:
        axes: The horizontal axes of the panels, one for each.
        y_title: What is on the vertical axis of all.
    """

    def __init__(self, axes: Sequence[ParameterAxis], y_title: str) -> None:
        self._axes = axes
        self._columns = min(MOST_COLUMNS, len(axes))
        rows = -(-len(axes) // self._columns)
        gap = LONG_GAP if any(axis.has_long_names for axis in axes) else GAP
        inner = ROW_HEIGHT * rows + gap * (rows - 1)
        self.figure = make_subplots(
            rows,
            self._columns,
            subplot_titles=[shown(axis.parameter.name) for axis in axes],
            shared_yaxes="all",
            horizontal_spacing=0.03,
            vertical_spacing=gap / inner,
        )
        self.figure.update_annotations(font_size=13)
        self.figure.update_layout(
            height=HEAD + gap + inner,
            margin={"t": HEAD, "b": gap, "l": 70, "r": 20},
            showlegend=False,
        )
        self.figure.update_yaxes(automargin=True, nticks=6)
        self.figure.update_yaxes(title_text=y_title, col=1)

    def place(self, index: int) -> dict[str, int]:
        """Return where a panel is."""
        return {"row": index // self._columns + 1, "col": index % self._columns + 1}

    def add_curve(self, index: int, means: Array, deviations: Array) -> None:
        """Draw means (r,) with 95 % intervals: dots with bars for listed values, else a band."""
        axis = self._axes[index]
        x, reach = axis.positions, TWO_SIDED_95 * deviations
        rest = f"<br>{axis.left_out} rarer choices are not shown" if axis.left_out else ""
        texts = [
            f"{name}: {number(mean)}<br>{number(mean - r)} to {number(mean + r)} (95 %){rest}"
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
