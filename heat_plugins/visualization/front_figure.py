"""The front of several objectives, and what is expected beyond it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from heat_plugins.insight.study_model import StudyModel
from heat_plugins.space import Array, Bools
from heat_plugins.visualization.reading import check_objective, of_model
from heat_plugins.visualization.style import (
    EXPECTED,
    GREY,
    INFEASIBLE,
    MAIN,
    SIDE_LEGEND,
    goal,
    nothing,
    number,
    titled,
)

__all__ = ["plot_front"]


@of_model
def plot_front(study: StudyModel, objectives: Sequence[int] = (0, 1)) -> go.Figure:
    """Plot the trials that no other dominates, and what the model expects beyond them.

    What is expected are points that no trial has had, whose expected values no trial dominates;
    bars are one deviation of the model.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        objectives: Which two are drawn, if there are more. The front is that of all.
    """
    title = "Front of the objectives"
    if study.n_objectives < 2:
        return nothing(title, "It takes two objectives.")
    if len(objectives) != 2 or objectives[0] == objectives[1]:
        raise ValueError(f"objectives must be two different numbers, got {objectives!r}")
    for objective in objectives:
        check_objective(study, objective)
    data = study.data
    values = data.history.objectives * np.array([o.sign for o in data.objectives])
    if not len(values) or not np.isfinite(values).all(axis=1).any():
        return nothing(title, "No trial has finite values yet.")
    first, second = objectives
    figure = go.Figure()
    texts = np.array(
        [
            f"trial {n}<br>" + "<br>".join(_lines(study, row))
            for n, row in zip(data.numbers, values, strict=True)
        ],
        dtype=object,
    )
    is_front: Bools = np.isin(np.arange(len(values)), study.front)
    groups = (
        ("other trials", study.is_feasible & ~is_front, GREY, "circle", 6),
        ("broke a constraint", ~study.is_feasible, INFEASIBLE, "diamond", 6),
    )
    for name, rows, colour, symbol, size in groups:
        if rows.any():
            marker = {"color": colour, "symbol": symbol, "size": size}
            _add(figure, values[rows][:, [first, second]], name, marker, texts[rows].tolist())
    _add_expected(figure, study, first, second)
    front = np.flatnonzero(is_front)
    front = front[np.argsort(values[front, first], kind="stable")]
    marker = {"color": MAIN, "size": 9, "line": {"color": "white", "width": 1}}
    _add(figure, values[front][:, [first, second]], "front", marker, texts[front].tolist())
    if study.n_objectives == 2:
        shape = "vh" if data.objectives[first].is_maximised else "hv"
        line = {"shape": shape, "color": MAIN, "width": 1}
        figure.update_traces(selector={"name": "front"}, mode="lines+markers", line=line)
    more = "" if study.n_objectives == 2 else f"of all {study.n_objectives} objectives"
    figure.update_layout(
        title=titled(title, more, "bars: one deviation of the model"),
        height=520,
        margin={"t": 110},
        legend=SIDE_LEGEND,
    )
    figure.update_xaxes(title_text=goal(data.objectives[first]))
    figure.update_yaxes(title_text=goal(data.objectives[second]))
    return figure


def _lines(study: StudyModel, values: Array) -> list[str]:
    named = zip(study.data.objectives, values, strict=True)
    return [f"{goal(objective)}: {number(value)}" for objective, value in named]


def _add(
    figure: go.Figure, values: Array, name: str, marker: dict[str, object], texts: Sequence[str]
) -> None:
    figure.add_trace(
        go.Scatter(
            x=values[:, 0],
            y=values[:, 1],
            mode="markers",
            name=name,
            marker=marker,
            hovertext=list(texts),
            hoverinfo="text",
        )
    )


def _add_expected(figure: go.Figure, study: StudyModel, first: int, second: int) -> None:
    """Draw what is expected beyond the front, if there is a model."""
    if not study.has_values or not all(map(study.has_finite_values, range(study.n_objectives))):
        return
    # Here, for the search takes a while to load.
    from heat_plugins.insight.expected_front import expected_front

    found = expected_front(study)
    if not len(found.points):
        return
    texts = ["expected<br>" + "<br>".join(_lines(study, row)) for row in found.means]
    style = {"type": "data", "color": "rgba(230, 159, 0, 0.35)", "thickness": 1, "width": 0}
    marker = {"color": EXPECTED, "symbol": "diamond-open", "size": 8}
    _add(figure, found.means[:, [first, second]], "expected beyond it", marker, texts)
    figure.update_traces(
        selector={"name": "expected beyond it"},
        error_x={**style, "array": found.deviations[:, first]},
        error_y={**style, "array": found.deviations[:, second]},
    )
