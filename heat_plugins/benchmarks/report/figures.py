"""Figures of studies, as the paper draws them.

A method has the same colour in every figure.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.report.curves import Curve, Grid, curves_of
from heat_plugins.benchmarks.results.markdown import multiple_text
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["bars", "colour_of", "correlations", "curves", "curves_over_time"]

# Methods that share a figure differ in colour; those that never do may be alike.
COLOURS = {
    "HeatSampler": "#c1121f",
    "HeatSampler-deterministic": "#f28482",
    # Kernels under the same search
    "heat": "#c1121f",
    "casmopolitan": "#1f77b4",
    "combo": "#17a2a2",
    "one-hot-rbf": "#6a4c93",
    "matern": "#2a9d4a",
    "rational-quadratic": "#e08e0b",
    "graph-matern": "#8d5a2b",
    "hed": "#e0349c",
    "ssk": "#111111",
    "cocabo": "#707070",
    "rducb": "#3d5afe",
    # Structures
    "sort": "#1f77b4",
    "padded-sort": "#2a9d4a",
    "additive": "#2a9d4a",
    "interactions-2": "#e08e0b",
    "auto": "#6a4c93",
    # Cells
    "cell-heat": "#e08e0b",
    "cell-heat-sum": "#c1121f",
    "cell-graph": "#6a4c93",
    "cell-wl": "#1f77b4",
    # Whole pipelines
    "pipeline-heat": "#c1121f",
    "pipeline-combo": "#17a2a2",
    "pipeline-casmopolitan": "#1f77b4",
    "pipeline-boss": "#111111",
    "pipeline-cocabo": "#707070",
    "pipeline-rducb": "#3d5afe",
    "pipeline-bodi": "#e0349c",
    "pipeline-bounce": "#2a9d4a",
    "pipeline-nasbowl": "#e08e0b",
    # Peers
    "Random": "#9e9e9e",
    "TPE": "#1f77b4",
    "TPE-univariate": "#74b3e6",
    "NSGA-II": "#8d5a2b",
    "GPSampler": "#2a9d4a",
    "CatCMAwM": "#e08e0b",
    "SMAC3": "#6a4c93",
    "HEBO": "#e0349c",
    "Ax-default": "#111111",
    "Ax-mixed": "#17a2a2",
}
OTHER_COLOURS = ("#5f0f40", "#386641", "#bc6c25", "#0f4c5c", "#9a031e", "#7b9e00")
EMPHASISED = ("HeatSampler", "heat", "cell-heat-sum", "pipeline-heat")

# What panels have below and beside them.
BEST_OVER_EVALUATIONS = "evaluations", "best value so far"
CORRELATION_OVER_CELLS = "cells known", "rank correlation of predictions"

PANEL_WIDTH, PANEL_HEIGHT, DPI = 3.4, 2.2, 105  # inches, and dots an inch
N_SHADES = 100  # colours of a PNG besides those of the lines
STYLE = {
    "font.size": 8.5,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


def colour_of(method: str) -> str:
    """Return a method's colour; one that has none of its own always gets the same."""
    spare = OTHER_COLOURS[zlib.crc32(method.encode()) % len(OTHER_COLOURS)]
    return COLOURS.get(method, spare)


def curves(
    results: Results, grid: Grid, methods: Sequence[str], path: Path, dotted: Sequence[str] = ()
) -> bool:
    """Draw the best value over evaluations, a panel a problem.

    Args:
        results: All studies.
        grid: Problems; those of a row have one scale.
        methods: Methods to draw, in the order of the legend.
        path: Where the PNG goes.
        dotted: Methods with dotted lines.

    Returns:
        Whether there was anything to draw.
    """
    found = curves_of(results, grid, methods)
    best_known = {problem: results.facts(problem).best_known for problem in found}
    return _panels(found, best_known, grid, methods, BEST_OVER_EVALUATIONS, path, dotted)


def correlations(
    found: Mapping[str, Mapping[str, Curve]], methods: Sequence[str], path: Path
) -> bool:
    """Draw how well kernels predict cells over how many they know, a panel a table of cells.

    Args:
        found: Rank correlations, by problem and method.
        methods: Methods, in the order of the legend.
        path: Where the PNG goes.

    Returns:
        Whether there was anything to draw.
    """
    grid = [[*found][i : i + 2] for i in range(0, len(found), 2)]
    return _panels(found, {}, grid, methods, CORRELATION_OVER_CELLS, path)


def _panels(
    found: Mapping[str, Mapping[str, Curve]],
    best_known: Mapping[str, float | None],
    grid: Grid,
    methods: Sequence[str],
    axes: tuple[str, str],
    path: Path,
    dotted: Sequence[str] = (),
) -> bool:
    """Draw a panel for each problem of a grid; return whether there was anything to draw."""
    if not found:
        return False
    figure_module = require("matplotlib.figure", extra="plot")
    rows, columns = len(grid), max(map(len, grid))
    with require("matplotlib", extra="plot").rc_context(STYLE):
        figure = figure_module.Figure(
            figsize=(PANEL_WIDTH * columns, PANEL_HEIGHT * rows + 0.5), layout="constrained"
        )
        panels = figure.subplots(rows, columns, squeeze=False)
        for i, j in np.ndindex(rows, columns):
            panel, problem = panels[i, j], grid[i][j] if j < len(grid[i]) else ""
            if problem not in found:
                panel.set_axis_off()
                continue
            for method, one in found[problem].items():
                _draw(panel, one, method, dotted)
            _finish(panel, problem, best_known.get(problem))
            if i == rows - 1 or not _has_panel(grid, found, i + 1, j):
                panel.set_xlabel(axes[0])
        for i, row in enumerate(grid):
            _same_scale([panels[i, j] for j, name in enumerate(row) if name in found], row)
        _legend(figure, found, methods, dotted)
        figure.supylabel(axes[1], fontsize=STYLE["font.size"])
        _save(figure, path)
    return True


def curves_over_time(
    results: Results,
    problems: Sequence[str],
    methods: Sequence[str],
    objective_seconds: Sequence[float],
    path: Path,
) -> bool:
    """Draw the best value over time, a row a problem, a column a duration of an evaluation.

    Args:
        results: All studies.
        problems: The problems.
        methods: The methods; dashed lines mark when the first has ended.
        objective_seconds: What an evaluation takes.
        path: Where the PNG goes.

    Returns:
        Whether there was anything to draw.
    """
    by_duration = {s: curves_of(results, [problems], methods, s) for s in objective_seconds}
    shown = [problem for problem in problems if problem in by_duration[objective_seconds[0]]]
    if not shown:
        return False
    figure_module = require("matplotlib.figure", extra="plot")
    with require("matplotlib", extra="plot").rc_context(STYLE):
        figure = figure_module.Figure(
            figsize=(PANEL_WIDTH * len(objective_seconds), PANEL_HEIGHT * len(shown) + 0.5),
            layout="constrained",
        )
        panels = figure.subplots(len(shown), len(objective_seconds), squeeze=False)
        for (i, problem), (j, duration) in _product(shown, objective_seconds):
            panel, of_problem = panels[i, j], by_duration[duration][problem]
            for method, one in of_problem.items():
                _draw(panel, one, method, ())
            if methods[0] in of_problem:
                panel.axvline(of_problem[methods[0]].x[-1], color="#888888", lw=0.8, ls="--")
            panel.set_xscale("log")
            ends = [one.x[[0, -1]] for one in of_problem.values()]
            _plain_numbers(panel.xaxis, np.max(ends) / np.min(ends))
            best = results.facts(problem).best_known
            _finish(panel, f"{problem}, {duration:g} s an evaluation", best)
            if i == len(shown) - 1:
                panel.set_xlabel("seconds")
        _legend(figure, by_duration[objective_seconds[0]], methods, ())
        figure.supylabel("best value so far", fontsize=STYLE["font.size"])
        _save(figure, path)
    return True


def bars(values: Mapping[str, float], notes: Mapping[str, str], label: str, path: Path) -> bool:
    """Draw a bar a method on a logarithmic scale, in the order in which they come.

    Args:
        values: The lengths of the bars, all positive.
        notes: What is written behind some of them besides the value.
        label: What the values are.
        path: Where the PNG goes.

    Returns:
        Whether there was anything to draw.
    """
    if not values:
        return False
    figure_module = require("matplotlib.figure", extra="plot")
    with require("matplotlib", extra="plot").rc_context(STYLE):
        figure = figure_module.Figure(
            figsize=(6.5, 0.26 * len(values) + 0.8), layout="constrained"
        )
        panel = figure.subplots()
        names = [*values]
        low = 0.5 * min(values.values())
        heights = [value - low for value in values.values()]
        panel.barh(names, heights, left=low, color=[colour_of(name) for name in names], height=0.7)
        panel.set_xscale("log")
        _plain_numbers(panel.xaxis, max(values.values()) / low)
        panel.set_xlim(low, 5.0 * max(values.values()))
        panel.margins(y=0.01)
        panel.invert_yaxis()
        panel.grid(axis="y", visible=False)
        panel.set_axisbelow(True)
        panel.set_xlabel(label)
        for name, value in values.items():
            text = f" {multiple_text(value)}{notes.get(name, '')}"
            panel.text(value, name, text, va="center", fontsize=8)
        _save(figure, path)
    return True


def _product(rows: Sequence[str], columns: Sequence[float]) -> list[Any]:
    return [(row, column) for row in enumerate(rows) for column in enumerate(columns)]


def _has_panel(grid: Grid, found: Mapping[str, object], i: int, j: int) -> bool:
    return j < len(grid[i]) and grid[i][j] in found


def _draw(panel: Any, one: Curve, method: str, dotted: Sequence[str]) -> None:
    style = _line_style(method, dotted)
    panel.plot(one.x, one.mean, **style)
    panel.fill_between(
        one.x,
        one.mean - one.error,
        one.mean + one.error,
        color=style["color"],
        alpha=0.15,
        lw=0,
        zorder=1,
    )


def _line_style(method: str, dotted: Sequence[str]) -> dict[str, Any]:
    is_emphasised = method in EMPHASISED
    return {
        "color": colour_of(method),
        "lw": 2.0 if is_emphasised else 1.2,
        "ls": (0, (1.2, 1.2)) if method in dotted else "-",
        "zorder": 3 if is_emphasised else 2,
    }


def _plain_numbers(axis: Any, ratio: float) -> None:
    """Label a logarithmic axis with numbers instead of powers, and not too many of them."""
    ticker = require("matplotlib.ticker", extra="plot")
    steps = (1.0, 2.0, 5.0) if ratio < 200.0 else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=steps))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())


def _finish(panel: Any, title: str, best: float | None) -> None:
    """Write the title, and draw the best known value where the scale has room for it."""
    panel.set_title(title)
    panel.margins(x=0.01)
    low, high = panel.get_ylim()
    room = 0.15 * (high - low)
    if best is not None and low - room <= best <= high + room:
        panel.axhline(best, color="#444444", lw=0.7, ls=(0, (6, 3)), zorder=1)


def _same_scale(panels: Sequence[Any], problems: Sequence[str]) -> None:
    """Let the variants of one problem have the same scale, so that they can be compared."""
    bases = {_base(problem) for problem in problems if problem}
    if len(panels) < 2 or len(bases) > 1:
        return
    limits = [panel.get_ylim() for panel in panels]
    for panel in panels:
        panel.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _base(problem: str) -> str:
    return problem.removesuffix("-relocated").removesuffix("-relabelled")


def _legend(
    figure: Any,
    found: Mapping[str, Mapping[str, Curve]],
    methods: Sequence[str],
    dotted: Sequence[str],
) -> None:
    lines = require("matplotlib.lines", extra="plot")
    shown = [m for m in methods if any(m in of_problem for of_problem in found.values())]
    handles = [lines.Line2D([], [], label=m, **_line_style(m, dotted)) for m in shown]
    columns = max(2, int(figure.get_figwidth() / 1.55))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def _save(figure: Any, path: Path) -> None:
    """Write a PNG of few colours: a third of the size, and the same whenever it is made."""
    image_module = require("PIL.Image", extra="plot")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    with image_module.open(buffer) as image:
        exact = image.convert("RGB")
    # Thin lines have few pixels: left to itself, the choice of colours would drop theirs.
    own = [int(colour[i : i + 2], 16) for colour in COLOURS.values() for i in (1, 3, 5)]
    shades = exact.quantize(colors=N_SHADES, dither=image_module.Dither.NONE).getpalette()
    palette = np.array([255, 255, 255, 0, 0, 0, *own, *shades[: 3 * N_SHADES]]).reshape(-1, 3)
    # Pillow's own choice of the nearest colour is not exact: white would not stay white.
    pixels = np.asarray(exact).reshape(-1, 3).astype(int) @ [1 << 16, 1 << 8, 1]
    colours, which = np.unique(pixels, return_inverse=True)
    parts = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    distances = np.square(parts[:, None, :] - palette).sum(axis=2)
    codes = distances.argmin(axis=1)[which].astype(np.uint8)
    few = image_module.fromarray(codes.reshape(exact.height, exact.width))
    few.putpalette(palette.reshape(-1).tolist())
    few.save(path, format="PNG", optimize=True)
