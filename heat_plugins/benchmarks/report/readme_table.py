"""The table of the README: on how many problems each method is as good as the best."""

from __future__ import annotations

from collections.abc import Iterable

from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.report.main_table import main_table
from heat_plugins.benchmarks.report.small_tables import LONG, lengths_at
from heat_plugins.benchmarks.results.evidence import (
    FIRST_PROBLEMS,
    FULL,
    HALF,
    OURS,
    main_problems,
    peers_of,
)
from heat_plugins.benchmarks.results.markdown import table
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["readme_table"]


def readme_table(results: Results) -> str | None:
    """Return a row for each group of problems and number of evaluations; None without studies."""
    groups = [
        (title, n, found.counts)
        for title, n, problems in _groups(results)
        if (found := main_table(results, dict.fromkeys(problems, n))) is not None
    ]
    if not groups:
        return None
    methods = [m for m in (OURS, *peers_of(results)) if any(m in row for _, _, row in groups)]
    rows = []
    for title, n, counts in groups:
        most = max(good / of for good, of in counts.values())
        cells = []
        for method in methods:
            good, of = counts.get(method, (0, 0))
            text = f"{good} of {of}" if of else ""
            cells.append(f"**{text}**" if of and good / of == most else text)
        rows.append([title, str(n), *cells])
    return table(["problems", "evaluations", *methods], rows)


def _groups(results: Results) -> Iterable[tuple[str, int, list[str]]]:
    """Yield a title, after how many evaluations to look, and problems."""
    main = [p for p in main_problems(results) if results.length(p, OURS) >= FULL]
    paper = [p for p in main if p.removesuffix("-relocated") in FIRST_PROBLEMS]
    for n in (HALF, FULL):
        yield "of the paper, optima relocated", n, paper
    users = [p for p in main if p not in paper]
    yield "mixed, conditional, two objectives", FULL, users
    for n in (25, 50, 100):
        tables = [p for p in lengths_at(results, n) if p in TABLES]
        yield "tables of networks and GPU kernels", n, tables
    yield "functions of numbers", 50, [p for p in lengths_at(results, 50) if p in NUMBERS]
    yield "sequences, most of them infeasible", LONG, list(lengths_at(results, LONG))
