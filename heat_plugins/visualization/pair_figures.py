"""What pairs of parameters do together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from heat_plugins.insight.effect_intervals import pair_table
from heat_plugins.insight.study_model import MOST_COMPARED, StudyModel
from heat_plugins.visualization.pair_map import PairMap
from heat_plugins.visualization.reading import check_objective, columns_of, of_model
from heat_plugins.visualization.style import (
    goal,
    nothing,
    number,
    ranked,
    shown,
    shown_of,
    titled,
)

__all__ = ["plot_interactions", "plot_pair"]

TOO_FEW = "It takes two parameters that vary."
NO_VALUES = "No trial has a finite value and parameters that vary yet."


@of_model
def plot_interactions(study: StudyModel, *, objective: int = 0) -> go.Figure:
    """Plot how much pairs of parameters do together that neither does alone.

    On the diagonal is what each does alone. All are shares of the variance of the model's mean.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    facts, title = study.data.objectives[objective], "Interactions of parameters"
    if len(study.space) < 2:
        return nothing(title, TOO_FEW)
    if study.everywhere(objective) is None:
        return nothing(title, NO_VALUES)
    columns = ranked(study.shares(objective).total.tolist(), MOST_COMPARED)
    order = {column: i for i, column in enumerate(columns)}
    table = np.full((len(columns), len(columns)), np.nan)
    np.fill_diagonal(table, study.shares(objective).first[columns])
    for pair in study.pairs(objective):
        low, high = sorted((order[pair.first], order[pair.second]))
        table[high, low] = pair.share
    names = [shown(study.space.names[column]) for column in columns]
    places = list(range(len(columns)))
    texts = [["" if np.isnan(v) else f"{v:.1%}" for v in row] for row in table]
    hover = [
        ["" if np.isnan(table[i, j]) else _told(names, i, j, table[i, j]) for j in places]
        for i in places
    ]
    figure = go.Figure(
        go.Heatmap(
            z=table,
            x=places,
            y=places,
            text=texts,
            texttemplate="%{text}",
            hovertext=hover,
            hoverinfo="text",
            colorscale="Blues",
            zmin=0.0,
            colorbar={"title": {"text": "share of<br>the variance"}, "tickformat": ".0%"},
        )
    )
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": names, "automargin": True}
    figure.update_xaxes(**ticks, showgrid=False)
    figure.update_yaxes(**ticks, showgrid=False, autorange="reversed")
    figure.update_layout(
        title=titled(
            title,
            f"{goal(facts)}; below the diagonal: what two do together, on it: one alone",
            shown_of(len(columns), len(study.space)),
        ),
        height=240 + 42 * len(columns),
        margin={"t": 110},
        plot_bgcolor="white",
    )
    return figure


def _told(names: Sequence[str], i: int, j: int, share: float) -> str:
    which = f"{names[i]} alone" if i == j else f"{names[i]} and {names[j]} together"
    return f"{which}: {share:.1%}"


@of_model
def plot_pair(
    study: StudyModel, params: Sequence[str] | None = None, *, objective: int = 0
) -> go.Figure:
    """Plot the expected objective over two parameters, the others being anything.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        params: The names of two; None for those that do most together.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    facts, title = study.data.objectives[objective], "Two parameters together"
    chosen = columns_of(study.space.names, params)
    if chosen is not None and (len(chosen) != 2 or chosen[0] == chosen[1]):
        raise ValueError(f"params must be two different names, got {params!r}")
    if len(study.space) < 2:
        return nothing(title, TOO_FEW)
    model = study.everywhere(objective)
    if model is None:
        return nothing(title, NO_VALUES)
    columns = (chosen[0], chosen[1]) if chosen else study.pairs(objective)[0][:2]
    pair = PairMap.of(study.space, columns, study.history.points)
    table = pair_table(study.space, model.surrogate.mean, columns, pair.places, study.conditions)
    table = model(table.ravel()).reshape(table.shape)
    rows = study.data.history.objectives[:, objective] * facts.sign
    texts = [
        f"trial {n}: {number(value)}" for n, value in zip(study.data.numbers, rows, strict=True)
    ]
    figure = pair.heat_map(table, shown(facts.name, 20), dark_is_low=not facts.is_maximised)
    pair.add_points(figure, study.history.points, "trials", texts)
    best = [study.best]
    star = [texts[study.best]]
    pair.add_points(figure, study.history.points[best], "best trial", star, is_best=True)
    figure.update_layout(
        title=titled(
            title,
            f"expected {goal(facts)}, all others being anything; dark is good, empty where one "
            "does not exist",
        )
    )
    return figure
