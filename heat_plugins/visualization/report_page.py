"""A page with all figures of a study."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import plotly.io

from heat_plugins._version import __version__
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.visualization.course_figure import plot_course
from heat_plugins.visualization.effect_figures import plot_effects, plot_importances
from heat_plugins.visualization.front_figure import plot_front
from heat_plugins.visualization.pair_figures import plot_interactions, plot_pair
from heat_plugins.visualization.quality_figure import plot_quality
from heat_plugins.visualization.reading import read
from heat_plugins.visualization.slice_figure import plot_slices
from heat_plugins.visualization.style import number, shown
from heat_plugins.visualization.success_figure import plot_success

__all__ = ["report"]

_STYLE = """
body { font-family: "Open Sans", verdana, arial, sans-serif; color: #2a3f5f; max-width: 1100px;
       margin: 2em auto; padding: 0 1em; line-height: 1.5; }
h1, h2 { font-weight: 500; }
h2 { margin-top: 2.5em; border-bottom: 1px solid #d5dbe3; }
table { border-collapse: collapse; }
td { padding: 0.15em 1em 0.15em 0; overflow-wrap: anywhere; vertical-align: top; }
nav a { margin-right: 1em; }
"""


class Section(NamedTuple):
    """A part of the page."""

    title: str
    text: str
    figures: list[go.Figure]


def report(study: Any, path: str | Path, *, sampler: Any = None) -> Path:
    """Write a page with all figures of a study, and return where it is.

    It is one file that needs no network: the program that draws is in it once.

    Args:
        study: A study of Optuna, of any sampler; a ``Client`` or an ``Experiment`` of Ax; or what
            ``read`` returned.
        path: Of the page, such as ``"report.html"``.
        sampler: As of ``read``.
    """
    model = read(study, sampler)
    sections = list(_sections(model))
    links = "".join(
        f'<a href="#part{i}">{_text(section.title)}</a>' for i, section in enumerate(sections)
    )
    body = [f"<h1>Report of a study</h1>{_summary(model)}<nav>{links}</nav>"]
    is_first = True
    for i, section in enumerate(sections):
        body.append(f'<h2 id="part{i}">{_text(section.title)}</h2><p>{section.text}</p>')
        for j, figure in enumerate(section.figures):
            body.append(
                plotly.io.to_html(
                    figure,
                    include_plotlyjs=is_first,
                    full_html=False,
                    div_id=f"figure{i}-{j}",
                    config={"displaylogo": False, "responsive": True},
                )
            )
            is_first = False
    body.append(f"<p><small>Written by heat_plugins {__version__}.</small></p>")
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Report of a study</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path


def _sections(model: StudyModel) -> Iterator[Section]:
    n = model.n_objectives
    yield Section(
        "Course",
        "Every trial and the best value so far. A trust region that finds nothing better shrinks, "
        "and begins anew elsewhere.",
        [plot_course(model)],
    )
    if n > 1:
        yield Section(
            "Front",
            "Trials that no other one beats in all objectives, and untried points that the model "
            "expects to be better.",
            [plot_front(model, pair) for pair in combinations(range(n), 2)],
        )
    for index, objective in enumerate(model.data.objectives):
        of = "" if n == 1 else f" for {objective.name}"
        yield Section(
            f"What matters{of}",
            "Shares of the variance of what the model expects over the whole space, and what each "
            "value does on average. Where few trials are the model knows little, which intervals "
            "show.",
            [plot_importances(model, objective=index), plot_effects(model, objective=index)],
        )
        if len(model.space) > 1:
            yield Section(
                f"Pairs of parameters{of}",
                "What two parameters do together that neither does alone, and the pair that does "
                "most.",
                [plot_interactions(model, objective=index), plot_pair(model, objective=index)],
            )
        yield Section(
            f"Around {'the best trial' if n == 1 else 'a trial of the front'}{of}",
            "What the model expects if one parameter changes and the others stay.",
            [plot_slices(model, objective=index)],
        )
        yield Section(
            f"How good the model is{of}",
            "A model that cannot predict trials which it has not seen says little about effects. "
            "With few trials, or after a search has settled, that is usual.",
            [plot_quality(model, objective=index)],
        )
    data = model.data
    if any(t.state == "failed" or not t.is_feasible for t in data.trials):
        yield Section(
            "Failures and constraints",
            "How likely a trial is not to fail and to keep its constraints, over the two "
            "parameters that this depends on most.",
            [plot_success(model)],
        )


def _text(words: object) -> str:
    return shown(words, 200)


def _summary(model: StudyModel) -> str:
    """Return what there is, in a few lines."""
    data = model.data
    counts = {
        state: sum(trial.state == state for trial in data.trials)
        for state in ("complete", "pruned", "failed", "running")
    }
    told = ", ".join(f"{n} {state}" for state, n in counts.items() if n) or "none"
    infeasible = sum(not trial.is_feasible for trial in data.trials)
    lines = [
        f"{len(data.trials)} trials ({told}"
        + (f"; {infeasible} broke a constraint" if infeasible else "")
        + f"), {len(data.space)} parameters that vary."
    ]
    for objective in data.objectives:
        lines.append(
            f"{_text(objective.name)} is {'maximised' if objective.is_maximised else 'minimised'}."
        )
    return f"<p>{' '.join(lines)}</p>{_best_table(model)}"


def _best_table(model: StudyModel) -> str:
    """Return the best trial with its parameters; nothing where there is none."""
    data = model.data
    if not len(data.history.points):
        return "<p>No trial has values yet.</p>"
    row = model.best
    signs = np.array([objective.sign for objective in data.objectives])
    values = signs * data.history.objectives[row]
    told = ", ".join(
        f"{_text(objective.name)} {number(value)}"
        for objective, value in zip(data.objectives, values, strict=True)
    )
    which = "Best trial" if model.n_objectives == 1 else "A trial in the middle of the front"
    kept = "" if model.is_feasible[row] else " (it breaks constraints)"
    params = data.space.decode(data.history.points[row])
    cells = "".join(
        f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in params.items()
    )
    return (
        f"<p>{which}: number {data.numbers[row]}, {told}{kept}.</p>"
        f"<details><summary>Its {len(params)} parameters</summary><table>{cells}</table></details>"
    )
