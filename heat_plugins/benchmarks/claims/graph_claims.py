"""What the paper says of kernels on cells of neural networks (appendix "NASLib experiments")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    LEADS_HEADER,
    MOSTLY,
    REPRODUCED,
    TRIFLE,
    UNDECIDED,
    Case,
    Claim,
    difference_text,
    is_sure,
    leads,
    not_worse,
    verdict_mostly,
)
from heat_plugins.benchmarks.results.markdown import p_text
from heat_plugins.benchmarks.results.statistics import (
    MIN_SEEDS,
    Paired,
    Results,
    estimate,
    holm,
    paired,
)

__all__ = ["cell_predictions", "cell_searches"]

SMALL = 0.02  # difference of rank correlations that does not matter
HEAT, SUM, OURS, WL = "cell-heat", "cell-heat-sum", "cell-graph", "cell-wl"
PAIRS = ((SUM, HEAT, True), (SUM, WL, False), (OURS, WL, False))  # leader, other, must be better

By = dict[tuple[str, int, str], dict[int, float]]


def cell_predictions(rows: Sequence[Mapping[str, Any]]) -> Claim:
    """Does the average over relabellings predict cells better, and as well as WL?"""
    by: By = defaultdict(dict)
    for row in rows:
        if row.get("kind") == "cells":
            key = row["problem"], int(row["cells"]), row["method"]
            by[key][int(row["seed"])] = float(row["correlation"])
    found: dict[tuple[str, int, str, str, bool], Paired] = {}
    for problem, n in dict.fromkeys((problem, n) for problem, n, _ in by):
        for leader, other, must_lead in PAIRS:
            # Losses: the rank correlation that is missing.
            losses = (
                {seed: -value for seed, value in by[problem, n, method].items()}
                for method in (leader, other)
            )
            outcome = paired(*losses)
            if outcome is not None:
                found[problem, n, leader, other, must_lead] = outcome
    corrected = holm({key: outcome.p for key, outcome in found.items()})
    cases = tuple(_case(key, found[key], by, corrected[key]) for key in found)
    return Claim(
        "Heat (sum) predicts cells better than heat, and as well as WL",
        "On regression problems of NAS-Bench-101 and 201 the heat kernel averaged over "
        "relabellings outperforms the heat kernel and does as well as or better than the "
        "Weisfeiler-Lehman kernel (figure of NAS regression). Here: Spearman's correlation on "
        "200 cells that were not trained on. cells101 is a made-up table, cell-graph our "
        "kernel, which the paper does not have.",
        f"A difference of up to {SMALL} does not matter. Better: the lead is positive and the "
        "signed-rank test on common seeds, corrected by Holm's method for all cases, is below "
        "0.05. As well: the lead is above minus that. A case is contradicted where the test is "
        f"below 0.05 for the opposite. Five seeds are needed. {MOSTLY}",
        ("problem", "cells", "this", "against", "seeds", "this one's", "the other's", "lead")
        + ("Holm p",),
        cases,
        verdict_mostly(cases),
    )


def _case(key: tuple[str, int, str, str, bool], outcome: Paired, by: By, p: float | None) -> Case:
    """Return one row: a problem, a number of cells and two kernels."""
    problem, n, leader, other, must_lead = key
    lead = outcome.lead
    shown = []
    for method in (leader, other):
        own = estimate([*by[problem, n, method].values()])
        shown.append(difference_text(own))
    verdict = UNDECIDED
    if lead.n >= MIN_SEEDS:
        if is_sure(p) and lead.mean < -SMALL:
            verdict = CONTRADICTED
        elif (is_sure(p) and lead.mean > 0.0) or (not must_lead and lead.mean >= -SMALL):
            verdict = REPRODUCED
    cells = (problem, str(n), leader, other, str(lead.n), *shown)
    return Case((*cells, difference_text(lead), p_text(p)), verdict)


def cell_searches(results: Results) -> Claim:
    """Is a search with the average over relabellings as good as one with WL?"""
    problems = [problem for problem in results.problems if problem.startswith("cells")]
    pairs = [(name, this, other) for name in problems for this, other, _ in PAIRS]
    cases = leads(results, pairs, Results.losses, not_worse)
    return Claim(
        "Searches with heat (sum) find cells as good as those with WL",
        "In Bayesian optimisation of cells the average over relabellings does as well as the "
        "Weisfeiler-Lehman kernel, and better than the heat kernel (figure of NAS optimisation): "
        "10 first cells, 150 evaluations, five at once. Here under one search, the genetic "
        "algorithm with a trust region.",
        f"{TRIFLE} A case is reproduced where the mean is not worse by more than a trifle, and "
        "contradicted where it is and the signed-rank test on common seeds, corrected by Holm's "
        f"method for the cases, is below 0.05. Five seeds are needed. {MOSTLY}",
        LEADS_HEADER,
        cases,
        verdict_mostly(cases),
    )
