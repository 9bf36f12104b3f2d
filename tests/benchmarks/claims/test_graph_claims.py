"""The rules that give verdicts on kernels of cells."""

from typing import Any

import pytest
from made_up_studies import results_of, studies

from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    NOT_MEASURED,
    REPRODUCED,
    UNDECIDED,
)
from heat_plugins.benchmarks.claims.graph_claims import cell_predictions, cell_searches
from heat_plugins.benchmarks.run.cell_regression import correlation

GOOD = {"cell-heat": 0.5, "cell-heat-sum": 0.8, "cell-graph": 0.85, "cell-wl": 0.81}


def rows(correlations: dict[str, float], n_seeds: int = 20) -> list[dict[str, Any]]:
    """Correlations that vary a little, one row for each method and seed."""
    return [
        {
            "kind": "cells",
            "problem": "cells101",
            "method": method,
            "cells": 50,
            "seed": seed,
            "correlation": mean + 0.001 * ((seed * 7 + len(method)) % 5),
        }
        for method, mean in correlations.items()
        for seed in range(n_seeds)
    ]


def test_verdicts_on_predictions() -> None:
    claim = cell_predictions([*rows(GOOD), {"kind": "closed-form"}])
    assert claim.verdict == REPRODUCED
    assert [case.verdict for case in claim.cases] == [REPRODUCED] * 3
    assert [case.cells[2:5] for case in claim.cases] == [
        ("cell-heat-sum", "cell-heat", "20"),
        ("cell-heat-sum", "cell-wl", "20"),
        ("cell-graph", "cell-wl", "20"),
    ]
    assert cell_predictions(rows(GOOD, n_seeds=3)).verdict == UNDECIDED
    assert cell_predictions([]).verdict == NOT_MEASURED
    behind = cell_predictions(rows(GOOD | {"cell-wl": 0.95}))
    assert behind.verdict == CONTRADICTED
    assert [case.verdict for case in behind.cases] == [REPRODUCED, CONTRADICTED, CONTRADICTED]
    # As good is enough against WL, but not against the heat kernel.
    same = cell_predictions(rows(dict.fromkeys(GOOD, 0.8)))
    assert [case.verdict for case in same.cases] == [UNDECIDED, REPRODUCED, REPRODUCED]


@pytest.mark.parametrize(
    ("heat", "graph", "verdict"), [(2.0, 1.0, REPRODUCED), (1.0, 3.0, CONTRADICTED)]
)
def test_verdicts_on_searches(heat: float, graph: float, verdict: str) -> None:
    ends = {"cell-heat": heat, "cell-heat-sum": graph, "cell-graph": graph, "cell-wl": 1.0}
    claim = cell_searches(results_of(studies("cells201-cifar10", ends)))
    assert claim.verdict == verdict and len(claim.cases) == 3
    assert cell_searches(results_of(studies("ackley", ends))).verdict == NOT_MEASURED


def test_correlations_repeat_and_are_better_with_the_graph() -> None:
    found = [correlation("cells101", "cell-graph", 25, 0) for _ in range(2)]
    assert found[0] == found[1]
    assert correlation("cells101", "cell-heat", 25, 0) < found[0] <= 1.0
