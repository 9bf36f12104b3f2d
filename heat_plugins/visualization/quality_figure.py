"""How well the model predicts values that it has not seen."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from heat_plugins.insight.model_quality import LeftOut, left_out_predictions
from heat_plugins.insight.study_model import InUnits, StudyModel
from heat_plugins.space import Array
from heat_plugins.visualization.reading import check_objective, of_model
from heat_plugins.visualization.style import GREY, MAIN, goal, nothing, number, pulled_in, titled

__all__ = ["plot_quality"]

LEVELS = np.linspace(0.05, 0.95, 19)
TWO_SIDED_95 = 1.96


@of_model
def plot_quality(study: StudyModel, *, objective: int = 0) -> go.Figure:
    """Plot predictions of values that were left out against these, and how often they held.

    A fifth of the trials is left out at a time, and everything about the model learnt from the
    others. To the right: which share of the values lies in the interval that should have 10 %,
    20 %, ... of them; below the diagonal the model is too sure, above it too cautious.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        objective: Which objective, if there are several.
    """
    check_objective(study, objective)
    facts = study.data.objectives[objective]
    title = "How good the model is"
    if not study.has_finite_values(objective):
        return nothing(title, "No trial has a finite value and parameters that vary yet.")
    outcome, model = study.outcome(objective), study.objective(objective)
    found = left_out_predictions(outcome)
    if found is None:
        return nothing(title, "It takes four trials with values to leave some out.")
    if np.ptp(found.values) == 0.0:
        return nothing(title, "All values are the same: there is nothing to predict.")
    figure = make_subplots(
        1,
        2,
        column_widths=[0.6, 0.4],
        horizontal_spacing=0.18,
        subplot_titles=["predictions of values left out", "calibration"],
    )
    raw = facts.sign * study.data.history.objectives[found.rows, objective]
    texts = [f"trial {study.data.numbers[row]}" for row in found.rows]
    _add_predictions(figure, found, model, raw, texts)
    _add_calibration(figure, found)
    covered = float(found.coverage(np.array([0.95]))[0])
    figure.update_layout(
        title=titled(
            title,
            goal(facts),
            f"variance predicted: {found.explained:.0%}, rank correlation "
            f"{found.rank_correlation:.2f}, in their 95 % intervals: {covered:.0%} of "
            f"{len(found.rows)} values",
            pulled_in(study.worst_learnt(objective)),
        ),
        height=500,
        showlegend=False,
        margin={"t": 130},
    )
    return figure


def _add_predictions(
    figure: go.Figure, found: LeftOut, model: InUnits, raw: Array, texts: list[str]
) -> None:
    """Draw predictions with 95 % intervals over values, those as the model takes them."""
    values, means = model(found.values), model(found.means)
    reach = TWO_SIDED_95 * abs(model.scale) * found.deviations
    # Far outliers and infinities are pulled in before they are learnt.
    is_pulled = ~np.isclose(values, raw, rtol=1e-6, atol=1e-9 * np.ptp(values))
    hover = [
        f"{text}: {number(value)}{' (an outlier, which the model pulls in)' if pulled else ''}<br>"
        f"predicted {number(mean)}, {number(mean - r)} to {number(mean + r)}"
        for text, value, pulled, mean, r in zip(texts, raw, is_pulled, means, reach, strict=True)
    ]
    ends = [float(min(values.min(), means.min())), float(max(values.max(), means.max()))]
    diagonal = go.Scatter(
        x=ends, y=ends, mode="lines", line={"color": GREY, "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_trace(diagonal, row=1, col=1)
    dots = go.Scatter(
        x=values,
        y=means,
        mode="markers",
        marker={
            "color": MAIN,
            "size": 6,
            "symbol": np.where(is_pulled, "triangle-right", "circle"),
        },
        error_y={"type": "data", "array": reach, "color": "rgba(0, 114, 178, 0.25)", "width": 0},
        hovertext=hover,
        hoverinfo="text",
    )
    figure.add_trace(dots, row=1, col=1)
    figure.update_xaxes(title_text="value", row=1, col=1)
    figure.update_yaxes(title_text="predicted", row=1, col=1)


def _add_calibration(figure: go.Figure, found: LeftOut) -> None:
    """Draw how many values lie in intervals over how many should."""
    diagonal = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": GREY, "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_trace(diagonal, row=1, col=2)
    shares = found.coverage(LEVELS)
    hover = [
        f"{s:.0%} in the {level:.0%} interval" for s, level in zip(shares, LEVELS, strict=True)
    ]
    line = go.Scatter(
        x=LEVELS,
        y=shares,
        mode="lines+markers",
        line={"color": MAIN},
        marker={"size": 5},
        hovertext=hover,
        hoverinfo="text",
    )
    figure.add_trace(line, row=1, col=2)
    style = {"tickformat": ".0%", "range": [-0.02, 1.02], "row": 1, "col": 2}
    figure.update_xaxes(title_text="interval", **style)
    figure.update_yaxes(title_text="values in it", **style)
