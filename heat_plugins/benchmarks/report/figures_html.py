"""Figures of studies as pages to zoom and point at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.report.curves import Curve, Grid, curves_of
from heat_plugins.benchmarks.report.figures import colour_of
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["curves_html"]


def curves_html(
    results: Results, grid: Grid, methods: Sequence[str], path: Path, dotted: Sequence[str] = ()
) -> bool:
    """Write the same as ``curves`` as a page to zoom and point at.

    The program that draws it is put beside the page once, so that no page needs the network.
    """
    found = curves_of(results, grid, methods)
    if not found:
        return False
    objects = require("plotly.graph_objects", extra="plot")
    subplots = require("plotly.subplots", extra="plot")
    rows, columns = len(grid), max(map(len, grid))
    names = [name for row in grid for name in [*row, *[""] * (columns - len(row))]]
    figure = subplots.make_subplots(
        rows, columns, subplot_titles=[n if n in found else "" for n in names]
    )
    explained: set[str] = set()
    for index, problem in enumerate(names):
        for method, one in found.get(problem, {}).items():
            place = {"row": index // columns + 1, "col": index % columns + 1}
            for trace in _traces(objects, one, method, dotted, method not in explained):
                figure.add_trace(trace, **place)
            explained.add(method)
    figure.update_layout(
        height=60 + 300 * rows, width=480 * columns, template="plotly_white", hovermode="closest"
    )
    figure.update_xaxes(title_text="evaluations")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs="directory", div_id=path.stem)
    return True


def _traces(
    objects: Any, one: Curve, method: str, dotted: Sequence[str], is_first: bool
) -> list[Any]:
    colour = colour_of(method)
    line = {"color": colour, "dash": "dot" if method in dotted else "solid"}
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    outline = np.concatenate([one.mean + one.error, (one.mean - one.error)[::-1]])
    band = objects.Scatter(
        x=np.concatenate([one.x, one.x[::-1]]),
        y=outline,
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.12)",
        line={"width": 0},
        hoverinfo="skip",
        legendgroup=method,
        showlegend=False,
    )
    mean = objects.Scatter(
        x=one.x, y=one.mean, name=method, line=line, legendgroup=method, showlegend=is_first
    )
    return [band, mean]
