"""The main table: us against every peer, a row a problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heat_plugins.benchmarks.results.evidence import OURS, peers_of
from heat_plugins.benchmarks.results.markdown import loss_text, marked, mean_text, p_text, table
from heat_plugins.benchmarks.results.statistics import (
    MIN_SEEDS,
    Estimate,
    Results,
    average_ranks,
    is_as_good,
    paired,
)

__all__ = ["MainTable", "main_table"]


class MainTable(NamedTuple):
    """A main table, and the problems in it on which we are not as good as the best."""

    text: str
    lost: list[str]  # a line each
    few: list[str]  # problems with too few seeds of ours for a test
    few_of: list[str]  # peers with too few seeds on some problem
    counts: dict[str, tuple[int, int]]  # on how many problems a method is as good as the best, of

    @property
    def n_problems(self) -> int:
        """On how many problems we can be compared."""
        return self.counts[OURS][1]

    @property
    def caution(self) -> str:
        """What to bear in mind where seeds are few; nothing where they are not."""
        parts = []
        if self.few:
            parts.append(f"problems {', '.join(self.few)}")
        if self.few_of:
            parts.append(f"methods {', '.join(self.few_of)} (some or all problems)")
        if not parts:
            return ""
        return (
            f"Fewer than {MIN_SEEDS} seeds, so that a mean is a first impression and no test is "
            f"made: {'; '.join(parts)}."
        )


def main_table(results: Results, evaluations: Mapping[str, int]) -> MainTable | None:
    """Return us against every peer, a row a problem.

    Args:
        results: All studies.
        evaluations: The problems, and after how many evaluations to look.
    """
    losses: dict[str, dict[str, Estimate]] = {}
    for problem, n in evaluations.items():
        row = {
            method: loss
            for method in (OURS, *peers_of(results))
            if results.length(problem, method) >= n
            and (loss := results.loss(problem, method, n)) is not None
        }
        if OURS in row and len(row) > 1:
            losses[problem] = row
    if not losses:
        return None
    methods = [m for m in (OURS, *peers_of(results)) if any(m in row for row in losses.values())]
    counts = dict.fromkeys(methods, 0)
    rows, lost = [], []
    for problem, row in losses.items():
        n_seeds = row[OURS].n
        texts = {m: loss_text(loss, results.sign(problem), n_seeds) for m, loss in row.items()}
        cells = marked(row, texts)
        best = min(row, key=lambda m: row[m].mean)
        for method, loss in row.items():
            counts[method] += math.isfinite(loss.mean) and is_as_good(loss, row[best])
        if row[OURS].mean == row[best].mean:
            standing = "best"
        elif is_as_good(row[OURS], row[best]):
            standing = "as good"
        else:
            standing = f"behind {best}"
            lost.append(_loss_line(results, problem, best, evaluations[problem]))
        link = f"[{problem}](problems.md#{problem})"
        start = [link, str(evaluations[problem]), str(n_seeds)]
        rows.append([*start, *(cells.get(m, "") for m in methods), standing])
    means = {p: {m: loss.mean for m, loss in row.items()} for p, row in losses.items()}
    mean_ranks, ranked = average_ranks(means)
    rank_cells = [f"{mean_ranks[m]:.2f}" if m in mean_ranks else "" for m in methods]
    n_of = {m: sum(m in row for row in losses.values()) for m in methods}
    best_cells = [f"{counts[m]} of {n_of[m]}" for m in methods]
    rows.append([f"average rank ({len(ranked)} problems)", "", "", *_bold_least(rank_cells), ""])
    rows.append(["best or as good", "", "", *best_cells, ""])
    header = ["problem", "evaluations", "seeds", *methods, f"{OURS} is"]
    few = [problem for problem, row in losses.items() if row[OURS].n < MIN_SEEDS]
    few_of = [
        method
        for method in methods[1:]
        if any(method in row and row[method].n < MIN_SEEDS for row in losses.values())
    ]
    counts_of = {method: (counts[method], n_of[method]) for method in methods}
    return MainTable(table(header, rows), lost, few, few_of, counts_of)


def _loss_line(results: Results, problem: str, best: str, n: int) -> str:
    """Return by how much we are behind, on the seeds that both have."""
    outcome = paired(results.losses(problem, OURS, n), results.losses(problem, best, n))
    line = f"- {problem}: {best} has the best mean"
    if outcome is None:
        return line
    lead, p = outcome
    where = "ahead" if lead.mean > 0.0 else "behind"
    size = mean_text(abs(lead.mean), lead.error)
    test = f"p {p_text(p)}" if p is not None else "too few for a test"
    return f"{line}; `{OURS}` is {where} by {size} on {lead.n} common seeds ({test})"


def _bold_least(cells: Sequence[str]) -> list[str]:
    least = min((float(cell) for cell in cells if cell), default=None)
    return [f"**{cell}**" if cell and float(cell) == least else cell for cell in cells]
