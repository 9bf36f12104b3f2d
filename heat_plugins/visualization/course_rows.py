"""Rows of the figure of a search: what was expected, regions, and who ran when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import plotly.graph_objects as go

from heat_plugins.history import NO_REGION
from heat_plugins.insight.course import Lanes, lanes_of
from heat_plugins.insight.study_data import TrialFacts
from heat_plugins.visualization.style import (
    EXPECTED,
    FAILED,
    GREY,
    INFEASIBLE,
    MAIN,
    number,
    shown,
)

__all__ = [
    "LOOKS",
    "PARTS",
    "TRIAL",
    "Look",
    "Part",
    "Row",
    "add_markers",
    "further_rows",
    "kind_of",
]

Part = Literal["values", "expected", "regions", "workers"]
TRIAL = "trial"  # what is on most horizontal axes
PARTS: tuple[Part, ...] = get_args(Part)
Look = tuple[str, str, str]  # name, colour, symbol
LOOKS: dict[str, Look] = {
    "complete": ("trials", MAIN, "circle"),
    "infeasible": ("broke a constraint", INFEASIBLE, "diamond"),
    "pruned": ("pruned", EXPECTED, "triangle-down"),
    "failed": ("failed", FAILED, "x"),
}


class Row(NamedTuple):
    """A row of the figure.

    Args:
        title: What it shows.
        height: Of it, as a share of the usual one.
        draw: What draws it, into a row of a figure.
        x_title: What is on its horizontal axis.
    """

    title: str
    height: float
    draw: Callable[[go.Figure, int], None]
    x_title: str = TRIAL


def further_rows(trials: Sequence[TrialFacts]) -> dict[Part, Row]:
    """Return the rows that there is something to draw in."""
    rows: dict[Part, Row] = {}
    if any(trial.acquisition is not None for trial in trials):
        rows["expected"] = _expected_row(trials)
    if any(trial.region != NO_REGION for trial in trials):
        rows["regions"] = _region_row(trials)
    lanes = lanes_of(trials)
    if len(lanes.names) - lanes.n_unnamed > 1 or lanes.n_unnamed > 1:
        rows["workers"] = _lanes_row(trials, lanes)
    return rows


def kind_of(trial: TrialFacts) -> str:
    """Return which look a trial has."""
    if trial.state == "complete" and not trial.is_feasible:
        return "infeasible"
    return trial.state


def add_markers(
    figure: go.Figure,
    row: int,
    xs: Sequence[float],
    ys: Sequence[float],
    texts: Sequence[str],
    look: Look,
    *,
    in_legend: bool = True,
) -> None:
    """Draw markers into a row."""
    name, colour, symbol = look
    trace = go.Scatter(
        x=list(xs),
        y=list(ys),
        mode="markers",
        name=name,
        marker={"color": colour, "symbol": symbol, "size": 6},
        hovertext=list(texts),
        hoverinfo="text",
        showlegend=in_legend,
    )
    figure.add_trace(trace, row=row, col=1)


def _expected_row(trials: Sequence[TrialFacts]) -> Row:
    """Return the row of what the sampler expected of its trials."""
    some = [(t.number, t.acquisition) for t in trials if t.acquisition is not None]

    def draw(figure: go.Figure, row: int) -> None:
        trace = go.Scatter(
            x=[n for n, _ in some],
            y=[value for _, value in some],
            mode="lines+markers",
            line={"color": MAIN, "width": 1},
            marker={"size": 4},
            hovertext=[f"trial {n}: {number(value)}" for n, value in some],
            hoverinfo="text",
            showlegend=False,
        )
        figure.add_trace(trace, row=row, col=1)

    return Row("log of the improvement that was expected", 0.5, draw)


def _region_row(trials: Sequence[TrialFacts]) -> Row:
    """Return the row of trust regions: their sizes where they were written, and which it was."""
    asked = [trial for trial in trials if trial.region != NO_REGION]
    sizes = [(trial, trial.scale) for trial in asked if trial.scale is not None]
    if sizes:
        title = "size of the trust region, as a share of the space"
        heights = [scale for _, scale in sizes]
        some = [trial for trial, _ in sizes]
    else:
        title, some, heights = "trust region", asked, [float(trial.region) for trial in asked]
    begins, last = [], 0
    for trial in some:
        if trial.region > last:
            last = trial.region
            begins.append(trial.number)

    def draw(figure: go.Figure, row: int) -> None:
        texts = [
            f"trial {trial.number}: region {trial.region}"
            + ("" if trial.scale is None else f", size {number(trial.scale)}")
            for trial in some
        ]
        look = ("region", MAIN, "square")
        numbers = [trial.number for trial in some]
        add_markers(figure, row, numbers, heights, texts, look, in_legend=False)
        for begin in begins:
            line = {"color": GREY, "dash": "dot"}
            figure.add_vline(begin - 0.5, line=line, row=row, col=1)
        if sizes:
            figure.update_yaxes(type="log", row=row, col=1)

    return Row(title + ("; dotted: a new one begins" if begins else ""), 0.45, draw)


def _lanes_row(trials: Sequence[TrialFacts], lanes: Lanes) -> Row:
    """Return the row of who ran which trial when."""
    timed = [(t, k) for t, k in zip(trials, lanes.of_trial, strict=True) if k is not None]
    begin = min(trial.start for trial, _ in timed)

    def draw(figure: go.Figure, row: int) -> None:
        for kind, (name, colour, _) in LOOKS.items():
            some = [(trial, lane) for trial, lane in timed if kind_of(trial) == kind]
            trace = go.Bar(
                x=[trial.end - trial.start for trial, _ in some],
                y=[lane for _, lane in some],
                base=[trial.start - begin for trial, _ in some],
                orientation="h",
                marker={"color": colour, "line": {"color": "white", "width": 1}},
                hovertext=[
                    f"trial {trial.number}: {number(trial.end - trial.start)} s, {name}"
                    for trial, _ in some
                ],
                hoverinfo="text",
                showlegend=False,
            )
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(
            tickmode="array",
            tickvals=list(range(len(lanes.names))),
            ticktext=[shown(name) for name in lanes.names],
            automargin=True,
            row=row,
            col=1,
        )
        figure.update_layout(barmode="overlay")

    height = min(0.2 + 0.07 * len(lanes.names), 1.0)
    return Row("who ran when", height, draw, "seconds since the beginning")
