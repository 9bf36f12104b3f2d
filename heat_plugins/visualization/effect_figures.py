"""Effects of the values of parameters, and how much each parameter matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from heat_plugins.insight.effect_intervals import effects_of
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.visualization.panels import Panels
from heat_plugins.visualization.parameter_axis import ParameterAxis
from heat_plugins.visualization.reading import check_objective, columns_of, of_model
from heat_plugins.visualization.style import (
    GREY,
    MAIN,
    OTHER,
    SIDE_LEGEND,
    goal,
    nothing,
    number,
    ranked,
    shown,
    shown_of,
    titled,
)

__all__ = ["plot_effects", "plot_importances"]

N_PLACES = 15  # of a number
NO_VALUES = "No trial has a finite value and parameters that vary yet."


@of_model
def plot_effects(
    study: StudyModel, params: Sequence[str] | None = None, *, objective: int = 0
) -> go.Figure:
    """Plot the effect of every value of parameters, with 95 % intervals of the model.

    An effect is the change of the expected objective when a parameter has a value and all others
    are anything. That of a parameter that exists under some choices only is its effect there.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        params: Names of the parameters; None for those that matter most.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    title = "Effects of single parameters"
    chosen = columns_of(study.space.names, params)
    model = study.everywhere(objective)
    if model is None:
        return nothing(title, NO_VALUES)
    columns = ranked(study.shares(objective).total.tolist()) if chosen is None else chosen
    if not columns:
        return nothing(title, "No parameter was named.")
    facts = study.data.objectives[objective]
    axes = [
        ParameterAxis.of(study.space.parameters[column], N_PLACES, study.history.points[:, column])
        for column in columns
    ]
    panels = Panels(axes, "effect")
    for index, (column, axis) in enumerate(zip(columns, axes, strict=True)):
        effects = effects_of(study.space, model.surrogate, column, axis.places, study.conditions)
        if not effects:
            continue
        means = model.scale * np.array([effect.mean for effect in effects])
        deviations = abs(model.scale) * np.array([effect.deviation for effect in effects])
        panels.add_curve(index, means, deviations)
        panels.figure.add_hline(0.0, line={"color": GREY, "width": 1}, **panels.place(index))
    panels.figure.update_layout(
        title=titled(
            title,
            f"change of {goal(facts)} with the value, all others being anything; 95 % intervals",
            shown_of(len(columns), len(study.space)) if chosen is None else "",
        )
    )
    return panels.figure


@of_model
def plot_importances(study: StudyModel, *, objective: int = 0) -> go.Figure:
    """Plot how much each parameter matters: its shares of the variance of the model's mean.

    The dark part of a bar is what the parameter does alone, its first-order Sobol' index; the
    whole of it also what it does together with others, its total index.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    facts = study.data.objectives[objective]
    title = "Importance of parameters"
    if study.everywhere(objective) is None:
        return nothing(title, NO_VALUES)
    shares = study.shares(objective)
    if not shares.total.any():
        return nothing(title, "All values are the same, as far as the model can tell.")
    columns = ranked(shares.total.tolist())[::-1]  # the first bar is at the bottom
    first, total = shares.first[columns], shares.total[columns]
    names = [study.space.names[column] for column in columns]
    figure = go.Figure()
    for label, values, colour in (
        ("alone", first, MAIN),
        ("together with others", total - first, OTHER),
    ):
        figure.add_trace(
            go.Bar(
                x=values,
                y=list(range(len(columns))),
                orientation="h",
                name=label,
                marker={"color": colour},
                hovertext=[
                    f"{shown(name, 60)}: {number(f)} alone, {number(t)} with others"
                    for name, f, t in zip(names, first, total, strict=True)
                ],
                hoverinfo="text",
            )
        )
    figure.update_layout(
        barmode="stack",
        height=150 + 26 * max(len(columns), 3),
        title=titled(title, goal(facts), shown_of(len(columns), len(study.space))),
        legend=SIDE_LEGEND,
        margin={"t": 90},
    )
    figure.update_xaxes(title_text="share of the variance", tickformat=".0%", rangemode="tozero")
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(columns))),
        ticktext=[shown(name) for name in names],
        automargin=True,
    )
    return figure
