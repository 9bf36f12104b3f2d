"""What the paper says of its experiments, and whether these studies say the same.

Every claim is split into cases, a problem or a kernel on a problem. A rule that is written down
with the claim gives each case a verdict, and the verdicts of the cases give that of the claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_plugins.benchmarks.claims.claim import Claim
from heat_plugins.benchmarks.claims.cost_claims import closed_form, little_overhead
from heat_plugins.benchmarks.claims.graph_claims import cell_predictions, cell_searches
from heat_plugins.benchmarks.claims.kernel_claims import (
    kernels_alike,
    no_kernel_is_better,
    relocation_hurts,
    relocation_spares,
)
from heat_plugins.benchmarks.claims.pipeline_claims import heat_is_fast, heat_matches_all
from heat_plugins.benchmarks.claims.structure_claims import (
    additive_on_biology,
    padded_sorting,
    padded_sorting_and_ssk,
)
from heat_plugins.benchmarks.results.markdown import table
from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["all_claims", "claims_page", "summary_table"]


def all_claims(results: Results, speed_rows: Sequence[Mapping[str, Any]] = ()) -> list[Claim]:
    """Return every claim with its verdict.

    Args:
        results: All studies.
        speed_rows: Rows of ``kernel_speed`` and ``cell_regression``, each with its ``kind``.
    """
    return [
        kernels_alike(results),
        relocation_hurts(results),
        relocation_spares(results),
        no_kernel_is_better(results),
        heat_matches_all(results),
        padded_sorting(results),
        padded_sorting_and_ssk(results),
        additive_on_biology(results),
        cell_predictions(speed_rows),
        cell_searches(results),
        heat_is_fast(results),
        little_overhead(results),
        closed_form(speed_rows),
    ]


def summary_table(claims: Sequence[Claim]) -> str:
    """Return a line for each claim."""
    rows = [[claim.title, f"**{claim.verdict}**", claim.count] for claim in claims]
    return table(["claim", "verdict", "cases"], rows)


def claims_page(claims: Sequence[Claim]) -> list[str]:
    """Return the paragraphs and tables of the page about claims."""
    parts = [
        "# The paper's claims",
        "Whether the studies here agree with the experiments of the paper, by rules that a "
        "program applies. Kernels are compared under one search, the genetic algorithm with a "
        "trust region; losses are scores, or their negatives where large scores are better, so "
        "that a positive lead is always good.",
        summary_table(claims),
    ]
    for claim in claims:
        parts += [f"## {claim.title}: {claim.verdict}", claim.statement, f"*Rule.* {claim.rule}"]
        if claim.cases:
            rows = [[*case.cells, case.verdict] for case in claim.cases]
            parts.append(table([*claim.header, "verdict"], rows))
    return parts
