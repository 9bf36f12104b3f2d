"""Which figures a report has: their panels, methods and captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heat_plugins.benchmarks.methods.method_list import HEAT_AND_HAMMING, OTHER_KERNELS
from heat_plugins.benchmarks.problems.functions import SFU
from heat_plugins.benchmarks.report import figures as drawing
from heat_plugins.benchmarks.report import figures_html
from heat_plugins.benchmarks.report.time_tables import OBJECTIVE_SECONDS, ratios
from heat_plugins.benchmarks.results.evidence import (
    BIOLOGY,
    OURS,
    VARIANTS,
    full_lengths,
    main_problems,
    peers_of,
)
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["Picture", "draw_all", "pictures"]

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
    additive = ["heat", "cocabo", "rducb", "additive", "interactions-2", "auto"]
    others = [p for p in results.problems if not p.startswith((*SFU, *BIOLOGY))]
    biology = [p for p in results.problems if p.startswith(BIOLOGY)]
    functions = [name + variant for name in SFU for variant in VARIANTS]
    found = [
        Picture(
            "methods",
            f"`{OURS}` and its peers: mean and standard error of the best value so far. Dashed: "
            "the best known value, where it is near.",
            _in_rows_of_three(main),
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
            _in_rows_of_three(_with_two_of(results, biology, additive)),
            additive,
        ),
    ]
    return [picture for picture in found if picture.grid]


def _with_two_of(results: Results, problems: Iterable[str], methods: Sequence[str]) -> list[str]:
    """Return the problems on which at least two of the methods can be compared."""
    return [p for p in problems if sum(bool(results.studies(p, m)) for m in methods) > 1]


def _in_rows_of_three(problems: Sequence[str]) -> list[list[str]]:
    return [[*problems[i : i + 3]] for i in range(0, len(problems), 3)]


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


def draw_all(results: Results, folder: Path, html: bool) -> None:
    """Draw all figures into a folder, perhaps also as pages to zoom in."""
    for picture in pictures(results):
        arguments = picture.grid, picture.methods
        drawing.curves(results, *arguments, folder / f"{picture.name}.png", picture.dotted)
        if html:
            page = folder / "html" / f"{picture.name}.html"
            figures_html.curves_html(results, *arguments, page, picture.dotted)
            # Not worth keeping under version control: megabytes, and made in seconds.
            (page.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    evaluations = full_lengths(results, main_problems(results))
    times = ratios(results, evaluations)
    if times is not None:
        multiples = {method: ratio for method, (ratio, _) in times.ratios.items()}
        label = f"CPU seconds of suggestions, times those of {times.fastest}"
        most = max(n for _, n in times.ratios.values())
        notes = {
            m: f"  ({n} problem{'s' * (n > 1)})" for m, (_, n) in times.ratios.items() if n < most
        }
        drawing.bars(multiples, notes, label, folder / "seconds.png")
    drawing.curves_over_time(
        results,
        _for_time(results, evaluations),
        [OURS, *peers_of(results)],
        OBJECTIVE_SECONDS,
        folder / "equal-time.png",
    )


def _for_time(results: Results, evaluations: Mapping[str, int]) -> list[str]:
    """Return a few problems on which most peers were run."""
    rivals = [OURS, *peers_of(results)]
    n_methods = {p: sum(bool(results.studies(p, m)) for m in rivals) for p in evaluations}
    most = sorted((p for p in n_methods if n_methods[p] > 1), key=lambda p: -n_methods[p])
    return [problem for problem in evaluations if problem in most[:N_FOR_TIME]]
