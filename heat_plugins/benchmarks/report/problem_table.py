"""How all methods do on one problem."""

from __future__ import annotations

import math

from heat_plugins.benchmarks.results.evidence import FULL, OURS
from heat_plugins.benchmarks.results.markdown import loss_text, marked, number, seconds_text, table
from heat_plugins.benchmarks.results.statistics import Results, evaluations_to, median_evaluations

__all__ = ["problem_table"]


def problem_table(results: Results, problem: str) -> str:
    """Return how all methods do on a problem."""
    facts, sign, methods = (
        results.facts(problem),
        results.sign(problem),
        results.methods_of(problem),
    )
    length = results.length(problem, OURS) or FULL
    checkpoints = (length // 4, length // 2, length)
    columns = []
    for n in checkpoints:
        losses = {m: loss for m in methods if (loss := results.loss(problem, m, n)) is not None}
        texts = {
            m: loss_text(loss, sign, len(results.studies(problem, m)))
            for m, loss in losses.items()
        }
        columns.append(marked(losses, texts))
    header = ["method", "seeds", "evaluations", *(f"after {n}" for n in checkpoints)]
    if facts.target is not None:
        header.append(f"evaluations to {number(facts.target)}")
    header += ["CPU s a suggestion", "repeats"]
    rows = []
    for method in methods:
        row = [
            method,
            str(len(results.studies(problem, method))),
            _lengths(results, problem, method),
        ]
        row += [column.get(method, "") for column in columns]
        if facts.target is not None:
            row.append(_to_target(results, problem, method, facts.target))
        row.append(seconds_text(results.seconds_a_suggestion(problem, method)))
        row.append(_repeats(results, problem, method))
        rows.append(row)
    return table(header, rows)


def _lengths(results: Results, problem: str, method: str) -> str:
    lengths = sorted({line.n_trials for line in results.studies(problem, method).values()})
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


def _to_target(results: Results, problem: str, method: str, target: float) -> str:
    sign = results.sign(problem)
    counts = [
        evaluations_to([sign * score for score in line.scores[:FULL]], sign * target)
        for line in results.studies(problem, method).values()
    ]
    n_reached = sum(map(math.isfinite, counts))
    return f"{number(median_evaluations(counts))} ({n_reached} of {len(counts)})"


def _repeats(results: Results, problem: str, method: str) -> str:
    repeats = [line.n_repeats for line in results.studies(problem, method).values()]
    return f"{sum(repeats) / len(repeats):.3g}"
