"""The course of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from heat_plugins.insight.course import best_so_far, hypervolume_so_far
from heat_plugins.insight.study_data import ObjectiveFacts, TrialFacts
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.space import Array
from heat_plugins.spec.checks import check_one_of
from heat_plugins.visualization.course_rows import (
    LOOKS,
    PARTS,
    TRIAL,
    Part,
    Row,
    add_markers,
    further_rows,
    kind_of,
)
from heat_plugins.visualization.reading import of_model
from heat_plugins.visualization.style import (
    GREY,
    SIDE_LEGEND,
    SO_FAR,
    goal,
    nothing,
    number,
    titled,
)

__all__ = ["plot_course"]

# The share of the values that is always within the axis, and by how many times the distance from
# the best has to jump for the rest to be left out.
LEAST_SHOWN, FARTHEST = 0.6, 10.0
ROW_HEIGHT, GAP, HEAD, FOOT = 330, 66, 125, 60  # pixels; rows say which share of a height


@of_model
def plot_course(study: StudyModel, parts: Sequence[Part] = PARTS) -> go.Figure:
    """Plot the course of a search: values and the best so far, failures, regions, workers.

    Of several objectives it is the hypervolume of what the trials dominate. The expected
    improvement, the size of trust regions and who ran a trial are there where
    ``HeatSampler(record=True)`` wrote them; times and failures are known of every study.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        parts: Which rows the figure has, if there is something to draw in them: ``"values"``,
            ``"expected"``, ``"regions"``, ``"workers"``.
    """
    for part in parts:
        check_one_of("parts", part, PARTS)
    data, title = study.data, "Course of the search"
    trials = [trial for trial in data.trials if trial.state != "running"]
    if not trials:
        return nothing(title, "No trial has ended yet.")
    found = {"values": _values_row(data.objectives, trials), **further_rows(trials)}
    rows = [found[part] for part in PARTS if part in parts and part in found]
    if not rows:
        return nothing(title, "There is nothing to draw in the parts that were named.")
    total = sum(row.height for row in rows)
    inner = ROW_HEIGHT * total + GAP * (len(rows) - 1)
    figure = make_subplots(
        len(rows),
        1,
        row_heights=[row.height / total for row in rows],
        subplot_titles=[row.title for row in rows],
        vertical_spacing=GAP / inner,
    )
    figure.update_annotations(font_size=13, x=0.0, xanchor="left")
    margin = 0.02 * (trials[-1].number - trials[0].number) + 0.5
    ends = [trials[0].number - margin, trials[-1].number + margin]
    titles = [row.x_title for row in rows]
    for index, row in enumerate(rows, start=1):
        row.draw(figure, index)
        place = {"row": index, "col": 1}
        if row.x_title not in titles[index:]:  # the last that has it says it for all
            figure.update_xaxes(title_text=row.x_title, title_standoff=4, **place)
        if row.x_title == TRIAL:
            figure.update_xaxes(range=ends, **place)
    n_failed = sum(trial.state == "failed" for trial in trials)
    figure.update_layout(
        title=titled(title, f"{len(trials)} trials, {n_failed} of them failed"),
        height=HEAD + FOOT + int(inner),
        margin={"t": HEAD, "b": FOOT},
        legend={**SIDE_LEGEND, "y": 1.0 + 20.0 / inner},
    )
    return figure


def _values_row(objectives: Sequence[ObjectiveFacts], trials: Sequence[TrialFacts]) -> Row:
    has_one = len(objectives) == 1
    best = (
        best_so_far(trials, objectives[0]) if has_one else hypervolume_so_far(trials, objectives)
    )

    def draw(figure: go.Figure, row: int) -> None:
        if has_one:
            _add_values(figure, row, trials, objectives[0])
        else:
            _add_valueless(figure, row, trials, 0.0)
        line = {"color": SO_FAR, "shape": "hv", "width": 2}
        numbers = [trial.number for trial in trials]
        trace = go.Scatter(x=numbers, y=best, mode="lines", line=line, name="best so far")
        figure.add_trace(trace, row=row, col=1)

    return Row(goal(objectives[0]) if has_one else "Hypervolume", 1.0, draw)


def _add_values(
    figure: go.Figure, row: int, trials: Sequence[TrialFacts], objective: ObjectiveFacts
) -> None:
    """Draw the values of trials, and at the ends of the axis those that are beyond it."""
    values = np.array([trial.values[0] if trial.values else np.nan for trial in trials])
    low, high = _range_of(values[np.isfinite(values)], objective.sign)
    margin = 0.03 * (high - low)
    figure.update_yaxes(range=[low, high], row=row, col=1)
    is_within = (values >= low) & (values <= high)
    groups = [
        (look, is_within & np.array([kind_of(trial) == kind for trial in trials]))
        for kind, look in LOOKS.items()
    ]
    beyond = ("infinite, or beyond the axis", GREY, "asterisk-open")
    for look, rows in [*groups, (beyond, ~np.isnan(values) & ~is_within)]:
        numbers = [trials[i].number for i in np.flatnonzero(rows)]
        heights = values[rows]
        if look is beyond:
            heights = np.clip(heights, low + margin, high - margin)
        texts = [
            f"trial {n}: {number(value)}" for n, value in zip(numbers, values[rows], strict=True)
        ]
        if numbers:
            add_markers(figure, row, numbers, heights.tolist(), texts, look)
    _add_valueless(figure, row, trials, low + margin if objective.is_maximised else high - margin)


def _range_of(finite: Array, sign: float) -> tuple[float, float]:
    """Return the range to show: all values, but for bad ones that would hide the others.

    Those come after a jump: all of them are many times as far from the best as the next one.
    """
    if not len(finite):
        return 0.0, 1.0
    ordered = np.sort(sign * finite)
    distances = ordered - ordered[0]
    most = ordered[-1]
    for i in range(int(LEAST_SHOWN * len(ordered)), len(ordered) - 1):
        if 0.0 < FARTHEST * distances[i] < distances[i + 1]:
            most = ordered[i]
            break
    best = float(ordered[0])
    margin = 0.07 * float(most - best) or max(abs(best), 1.0) * 0.1
    low, high = sorted((sign * (best - margin), sign * (float(most) + margin)))
    return low, high


def _add_valueless(
    figure: go.Figure, row: int, trials: Sequence[TrialFacts], height: float
) -> None:
    """Draw trials that ended without a value, at some height."""
    for kind in ("failed", "pruned"):
        numbers = [t.number for t in trials if t.state == kind and t.values is None]
        if numbers:
            texts = [f"trial {n} {kind}" for n in numbers]
            add_markers(figure, row, numbers, [height] * len(numbers), texts, LOOKS[kind])
