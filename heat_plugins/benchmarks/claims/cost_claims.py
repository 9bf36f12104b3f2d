"""What the paper says of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    MOSTLY,
    NOT_MEASURED,
    REPRODUCED,
    Case,
    Claim,
    n_common,
    verdict_mostly,
)
from heat_plugins.benchmarks.results.markdown import seconds_text
from heat_plugins.benchmarks.results.statistics import Results


def little_overhead(results: Results) -> Claim:
    """Does the heat kernel cost little more than the cheapest, a sum?"""
    cases = []
    for problem in results.problems:
        n = n_common(results, problem, ("heat", "cocabo"))
        heat, cocabo = (results.seconds(problem, method, n) for method in ("heat", "cocabo"))
        if heat is None or cocabo is None or n == 0 or not cocabo.mean:
            continue
        ratio = heat.mean / cocabo.mean
        seconds = [seconds_text(total.mean) for total in (heat, cocabo)]
        verdict = REPRODUCED if ratio <= 2.0 else CONTRADICTED
        cases.append(Case((problem, str(n), *seconds, f"{ratio:.2f}"), verdict))
    return Claim(
        "The heat kernel costs little more than a sum",
        "The pipeline with a heat kernel takes little more time than CoCaBO, the fastest: 1.3 to "
        "1.8 times in the paper's table (section 4.3 and appendix E.6).",
        "A case is reproduced where the suggestions of a study take at most twice as long, in "
        f"CPU seconds, and contradicted otherwise. {MOSTLY}",
        ("problem", "evaluations", "heat, s", "cocabo, s", "ratio"),
        tuple(cases),
        verdict_mostly(cases),
    )


def closed_form(speed_rows: Sequence[Mapping[str, Any]]) -> Claim:
    """Is the closed form twice as fast as eigenvectors?"""
    # Of several measurements of one problem the last counts, as with studies.
    rows = {row["problem"]: row for row in speed_rows if row.get("kind") == "closed-form"}
    cases = []
    for problem, row in sorted(rows.items()):
        times = [f"{row[name]:.3g}" for name in ("closed_form_ms", "eigenvectors_ms")]
        verdict = REPRODUCED if row["ratio"] >= 2.0 else CONTRADICTED
        cases.append(Case((str(problem), *times, f"{row['ratio']:.2f}"), verdict))
    mean = sum(row["ratio"] for row in rows.values()) / len(rows) if rows else 0.0
    verdict = NOT_MEASURED if not rows else REPRODUCED if mean >= 2.0 else CONTRADICTED
    return Claim(
        "The closed form is twice as fast as eigenvectors",
        "The kernel in closed form makes the pipeline more than twice as fast as with COMBO's "
        "eigendecompositions, on average over problems (section 3.3.3 and appendix E.6). Here: "
        "the likelihood and its gradient at 200 points, without the search.",
        "The claim is reproduced where the mean of the ratios is at least 2, and contradicted "
        "otherwise; a case likewise.",
        ("variables x choices", "closed form, ms", "eigenvectors, ms", "ratio"),
        tuple(cases),
        verdict,
    )
