"""How long methods take, and what they reach when all have the same time.

The time of a study is what its suggestions took, in CPU seconds, and what its evaluations would
take if each took so many seconds: the objectives themselves are quick here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from heat_plugins.benchmarks.results.markdown import (
    loss_text,
    marked,
    multiple_text,
    seconds_text,
    table,
)
from heat_plugins.benchmarks.results.statistics import (
    Estimate,
    Results,
    estimate,
    is_as_good,
    time_after,
    within,
)
from heat_plugins.benchmarks.results.time_ratios import WITHOUT_MODEL, time_ratios

__all__ = ["OBJECTIVE_SECONDS", "equal_time_table", "seconds_table"]

OBJECTIVE_SECONDS = (0.0, 1.0, 10.0)


def seconds_table(results: Results, evaluations: Mapping[str, int]) -> str:
    """Return the CPU seconds of all suggestions of a study, and ratios to the fastest method."""
    summary = time_ratios(results, evaluations)
    if summary is None:
        return "No method with a model has studies of this length."
    problems = [
        problem
        for problem, n in evaluations.items()
        if any(results.seconds(problem, method, n) for method in summary.ratios)
    ]
    rows = []
    for method, (ratio, n_problems) in summary.ratios.items():
        name = f"{method} (no model)" if method in WITHOUT_MODEL else method
        totals = [results.seconds(p, method, evaluations[p]) for p in problems]
        cells = [f"{total.mean:.3g}" if total is not None else "" for total in totals]
        rows.append([name, multiple_text(ratio), str(n_problems), *cells])
    return table(["method", f"times {summary.fastest}", "problems", *problems], rows)


def equal_time_table(
    results: Results,
    evaluations: Mapping[str, int],
    methods: Sequence[str],
    objective_seconds: float,
) -> str:
    """Return what methods reach in the time that the first of them needs.

    Args:
        results: All studies.
        evaluations: The problems, and how many evaluations of the first method set the time.
        methods: The methods.
        objective_seconds: What an evaluation takes.
    """
    reference, *others = methods
    rows = []
    counts: dict[str, list[bool]] = {method: [] for method in methods}
    for problem, n in evaluations.items():
        budgets = {
            seed: time_after(line, objective_seconds)[n - 1]
            for seed, line in results.studies(problem, reference).items()
            if line.n_trials >= n
        }
        if not budgets:
            continue
        reached = {}
        for method in methods:
            found = _reached(results, problem, method, budgets, objective_seconds)
            if found is not None:
                reached[method] = found
        if not any(method in reached for method in others):
            continue
        losses = {method: loss for method, (loss, _) in reached.items()}
        texts = {
            method: f"{loss_text(loss, results.sign(problem), len(budgets))} {done}"
            for method, (loss, done) in reached.items()
        }
        cells = marked(losses, texts)
        best = min(losses.values(), key=lambda loss: loss.mean)
        for method, loss in losses.items():
            counts[method].append(math.isfinite(loss.mean) and is_as_good(loss, best))
        mean_budget = sum(budgets.values()) / len(budgets)
        rows.append([problem, seconds_text(mean_budget), *(cells.get(m, "") for m in methods)])
    if not rows:
        return f"No problem has studies of {reference} and of another method."
    shown = [f"{sum(counts[m])} of {len(counts[m])}" if counts[m] else "" for m in methods]
    rows.append(["best or as good", "", *shown])
    return table(["problem", "seconds", *methods], rows)


def _reached(
    results: Results,
    problem: str,
    method: str,
    budgets: Mapping[int, float],
    objective_seconds: float,
) -> tuple[Estimate, str] | None:
    """Return the mean loss at the end of the time, and how many evaluations that were.

    A seed has the time of the same seed of the reference, and one that the reference does not
    have the mean of its times.
    """
    sign = results.sign(problem)
    mean_budget = sum(budgets.values()) / len(budgets)
    losses, counts, ended_before = [], [], False
    for seed, line in results.studies(problem, method).items():
        budget = budgets.get(seed, mean_budget)
        n_done = within(line, objective_seconds, budget)
        losses.append(sign * line.scores[n_done - 1] if n_done else math.inf)
        counts.append(n_done)
        # With time left for another evaluation as long as the mean one, it would have gone on.
        took = time_after(line, objective_seconds)[-1]
        ended_before |= n_done == line.n_trials and budget - took > took / line.n_trials
    if not losses:
        return None
    n_mean = f"{sum(counts) / len(counts):.0f}"
    return estimate(losses), f"[{n_mean}+]" if ended_before else f"[{n_mean}]"
