"""Small problems: after how many evaluations to look at them, and how many trials fail."""

from __future__ import annotations

from heat_plugins.benchmarks.results.evidence import OURS, peers_of, small_problems
from heat_plugins.benchmarks.results.markdown import table
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["LONG", "SMALL_LENGTHS", "failures_table", "lengths_at"]

SMALL_LENGTHS = (25, 50, 100, 300)
LONG = 300  # evaluations of sequences, which are looked at in the end only


def lengths_at(results: Results, n: int) -> dict[str, int]:
    """Return the problems to look at after ``n`` evaluations, each with that number."""
    return {
        problem: n
        for problem in small_problems(results)
        if results.length(problem, OURS) >= n
        and (n == LONG) == (results.length(problem, OURS) >= LONG)
    }


def failures_table(results: Results) -> str | None:
    """Return how many trials of a study fail, a row a problem; None where none ever does."""
    methods = [OURS, *peers_of(results)]
    means = {
        problem: {
            method: sum(line.n_failed for line in studies.values()) / len(studies)
            for method in methods
            if (studies := results.studies(problem, method))
        }
        for problem in small_problems(results)
    }
    means = {problem: row for problem, row in means.items() if any(row.values())}
    if not means:
        return None
    methods = [method for method in methods if any(method in row for row in means.values())]
    rows = [
        [
            f"[{problem}](problems.md#{problem})",
            str(results.length(problem, OURS)),
            *(f"{row[m]:.1f}" if m in row else "" for m in methods),
        ]
        for problem, row in means.items()
    ]
    return table(["problem", "evaluations", *methods], rows)
