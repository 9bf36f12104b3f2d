"""Which figures a report has: their panels, methods and captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heat_plugins.benchmarks.claims.pipeline_claims import pipeline_times
from heat_plugins.benchmarks.methods.graph_methods import GRAPH_METHODS
from heat_plugins.benchmarks.methods.method_list import (
    HEAT_AND_HAMMING,
    OTHER_KERNELS,
    PIPELINE_METHODS,
)
from heat_plugins.benchmarks.problems.cells import CELLS
from heat_plugins.benchmarks.problems.functions import SFU
from heat_plugins.benchmarks.report import figures as drawing
from heat_plugins.benchmarks.report import figures_html
from heat_plugins.benchmarks.report.curves import correlations_of
from heat_plugins.benchmarks.report.time_tables import OBJECTIVE_SECONDS
from heat_plugins.benchmarks.results.evidence import (
    BIOLOGY,
    OURS,
    VARIANTS,
    full_lengths,
    main_problems,
    peers_of,
)
from heat_plugins.benchmarks.results.statistics import Results
from heat_plugins.benchmarks.results.time_ratios import Ratios, time_ratios

__all__ = ["Picture", "draw_all", "n_steps", "pictures"]

N_FOR_TIME = 4  # problems in the figure of values over time


class Picture(NamedTuple):
    """A figure of curves.

    Args:
        name: Of the file, without its ending.
        caption: What it shows.
        grid: Problems, rows of panels.
        methods: Methods, in the order of the legend.
        dotted: Those with dotted lines.
    """

    name: str
    caption: str
    grid: list[list[str]]
    methods: list[str]
    dotted: tuple[str, ...] = ()


def pictures(results: Results) -> list[Picture]:
    """Return the figures of curves that these studies can fill."""
    rivals = [OURS, *peers_of(results)]
    main = _with_two_of(results, main_problems(results), rivals)
    kernels = [*HEAT_AND_HAMMING, *OTHER_KERNELS]
    invariant = ["heat", "sort", "padded-sort", "ssk"]
    cells = [p for p in results.problems if p in CELLS]
    logic = [p for p in results.problems if p.startswith("aig")]
    additive = ["heat", "cocabo", "rducb", "additive", "interactions-2", "auto"]
    others = [p for p in results.problems if not p.startswith((*SFU, *BIOLOGY))]
    biology = [p for p in results.problems if p.startswith(BIOLOGY)]
    functions = [name + variant for name in SFU for variant in VARIANTS]
    piped = _with_two_of(results, results.problems, [*PIPELINE_METHODS])
    not_relocated = [p for p in piped if not p.endswith("-relocated")]
    found = [
        Picture(
            "methods",
            f"`{OURS}` and its peers: mean and standard error of the best value so far. Dashed: "
            "the best known value, where it is near.",
            _in_rows_of(3, main),
            rivals,
        ),
        Picture(
            "methods-both",
            "The same on problems as published (left) and relocated (right).",
            _twins(_with_two_of(results, results.problems, rivals), complete=True),
            rivals,
        ),
        Picture(
            "kernels",
            "Kernels under the same search, problems as published (left) and relocated (right). "
            "Solid: heat and Hamming kernels. Dotted: others.",
            _twins(_with_two_of(results, others, kernels)),
            kernels,
            tuple(OTHER_KERNELS),
        ),
        Picture(
            "invariant",
            "Functions that do not change when variables change places.",
            _by_variant(_with_two_of(results, functions, invariant)),
            invariant,
            ("ssk",),
        ),
        Picture(
            "additive",
            "Additive kernels on biological problems.",
            _in_rows_of(3, _with_two_of(results, biology, additive)),
            additive,
        ),
        Picture(
            "pipelines",
            "Whole pipelines, made of our parts.",
            _twins(piped) if not_relocated else _in_rows_of(3, piped),
            [*PIPELINE_METHODS],
        ),
        Picture(
            "cells",
            "Searches for cells of neural networks, five evaluations at once.",
            _in_rows_of(2, _with_two_of(results, cells, [*GRAPH_METHODS])),
            [*GRAPH_METHODS],
        ),
        Picture(
            "logic",
            "Logic synthesis: the size and depth of circuits.",
            _in_rows_of(3, _with_two_of(results, logic, rivals)),
            rivals,
        ),
    ]
    return [picture for picture in found if picture.grid]


def _with_two_of(results: Results, problems: Iterable[str], methods: Sequence[str]) -> list[str]:
    """Return the problems on which at least two of the methods can be compared."""
    return [p for p in problems if sum(bool(results.studies(p, m)) for m in methods) > 1]


def _in_rows_of(n: int, problems: Sequence[str]) -> list[list[str]]:
    return [[*problems[i : i + n]] for i in range(0, len(problems), n)]


def _twins(problems: Sequence[str], complete: bool = False) -> list[list[str]]:
    """Return rows of a problem and its relocated twin, perhaps only those that have both."""
    bases = dict.fromkeys(problem.removesuffix("-relocated") for problem in problems)
    rows = [[base, f"{base}-relocated"] for base in bases]
    return [row for row in rows if not complete or {*row} <= {*problems}]


def _by_variant(problems: Sequence[str]) -> list[list[str]]:
    """Return a row for each function, a column for each variant that any of them has."""
    names = [name for name in SFU if any(name + variant in problems for variant in VARIANTS)]
    variants = [v for v in VARIANTS if any(name + v in problems for name in names)]
    return [[name + variant for variant in variants] for name in names]


def draw_all(
    results: Results,
    speed_rows: Sequence[Mapping[str, Any]],
    folder: Path,
    html: bool,
    on_step: Callable[[str], None] = lambda step: None,
) -> None:
    """Draw all figures into a folder, perhaps also as pages to zoom in.

    Args:
        results: All studies.
        speed_rows: Rows of ``kernel_speed`` and ``cell_regression``, each with its ``kind``.
        folder: Where the figures go.
        html: Whether to draw pages to zoom in, too.
        on_step: Called before each of ``n_steps`` with what is drawn next.
    """
    for picture in pictures(results):
        on_step(picture.name)
        arguments = picture.grid, picture.methods
        drawing.curves(results, *arguments, folder / f"{picture.name}.png", picture.dotted)
        if html:
            page = folder / "html" / f"{picture.name}.html"
            figures_html.curves_html(results, *arguments, page, picture.dotted)
            # Not worth keeping under version control: megabytes, and made in seconds.
            (page.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    on_step("predictions and times")
    predictions = correlations_of(speed_rows)
    drawing.correlations(predictions, [*GRAPH_METHODS], folder / "cell-predictions.png")
    evaluations = full_lengths(results, main_problems(results))
    _draw_times(time_ratios(results, evaluations), folder / "seconds.png")
    _draw_times(pipeline_times(results), folder / "pipeline-seconds.png")
    on_step("values over time")
    drawing.curves_over_time(
        results,
        _for_time(results, evaluations),
        [OURS, *peers_of(results)],
        OBJECTIVE_SECONDS,
        folder / "equal-time.png",
    )


def n_steps(results: Results) -> int:
    """Return how many steps ``draw_all`` takes."""
    return len(pictures(results)) + 2


def _draw_times(times: Ratios | None, path: Path) -> None:
    """Draw how long methods take as multiples of the fastest one's time."""
    if times is None:
        return
    multiples = {method: ratio for method, (ratio, _) in times.ratios.items()}
    label = f"CPU seconds of suggestions, times those of {times.fastest}"
    most = max(n for _, n in times.ratios.values())
    notes = {
        m: f"  ({n} problem{'s' * (n > 1)})" for m, (_, n) in times.ratios.items() if n < most
    }
    drawing.bars(multiples, notes, label, path)


def _for_time(results: Results, evaluations: Mapping[str, int]) -> list[str]:
    """Return a few problems on which most peers were run."""
    rivals = [OURS, *peers_of(results)]
    n_methods = {p: sum(bool(results.studies(p, m)) for m in rivals) for p in evaluations}
    most = sorted((p for p in n_methods if n_methods[p] > 1), key=lambda p: -n_methods[p])
    return [problem for problem in evaluations if problem in most[:N_FOR_TIME]]
