"""Slices of the model through the best trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from heat_plugins.insight.slices import slice_points
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.visualization.panels import Panels
from heat_plugins.visualization.parameter_axis import ParameterAxis
from heat_plugins.visualization.reading import check_objective, columns_of, of_model
from heat_plugins.visualization.style import (
    BEST,
    goal,
    nothing,
    number,
    pulled_in,
    ranked,
    shown_of,
    titled,
)

__all__ = ["plot_slices"]

N_PLACES = 41  # of a number


@of_model
def plot_slices(
    study: StudyModel, params: Sequence[str] | None = None, *, objective: int = 0
) -> go.Figure:
    """Plot slices of the model through the best trial, with 95 % intervals of the function.

    In each, one parameter varies and the others stay what they are in that trial. Those that do
    not exist there have no slice. Of several objectives it is a trial in the middle of the front.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        params: Names of the parameters; None for those that matter most.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    title = "Slices through the best trial"
    chosen = columns_of(study.space.names, params)
    if not study.has_finite_values(objective):
        return nothing(title, "No trial has a finite value and parameters that vary yet.")
    facts, row = study.data.objectives[objective], study.best
    model, centre = study.objective(objective), study.history.points[row]
    there = np.flatnonzero(~np.isnan(centre))
    if chosen is None:
        scores = np.where(np.isnan(centre), -1.0, study.shares(objective).total)
        columns = ranked(scores.tolist())[: len(there)]
    else:
        columns = [column for column in chosen if column in there]
    if not columns:
        return nothing(title, "None of the parameters exists in the best trial.")
    axes = [
        ParameterAxis.of(study.space.parameters[column], N_PLACES, study.history.points[:, column])
        for column in columns
    ]
    panels = Panels(axes, "expected value")
    for index, (column, axis) in enumerate(zip(columns, axes, strict=True)):
        points = slice_points(study.space, centre, column, axis.places, study.conditions)
        panels.add_curve(index, *model.posterior(points))
        value = facts.sign * study.data.history.objectives[row, objective]
        panels.figure.add_trace(
            go.Scatter(
                x=axis.at(centre[[column]]),
                y=[value],
                mode="markers",
                marker={"color": BEST, "symbol": "star", "size": 11},
                hovertext=f"trial {study.data.numbers[row]}: {number(value)}",
                hoverinfo="text",
            ),
            **panels.place(index),
        )
    number_there = len(there) if chosen is None else len(columns)
    panels.figure.update_layout(
        title=titled(
            f"Slices through trial {study.data.numbers[row]} (★)",
            f"{goal(facts)}, expected if one parameter changes; 95 % intervals of the function",
            shown_of(len(columns), number_there),
            pulled_in(study.worst_learnt(objective)),
        )
    )
    return panels.figure
