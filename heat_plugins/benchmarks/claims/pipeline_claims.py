"""What the paper says of whole pipelines (section 4.3, figures of methods and of times)."""

from __future__ import annotations

from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    EVERYWHERE,
    LEADS_HEADER,
    NOT_MEASURED,
    REPRODUCED,
    TRIFLE,
    Case,
    Claim,
    leads,
    n_common,
    not_worse,
    verdict_everywhere,
)
from heat_plugins.benchmarks.methods.method_list import PIPELINE_METHODS
from heat_plugins.benchmarks.results.statistics import Results
from heat_plugins.benchmarks.results.time_ratios import Ratios, time_ratios

__all__ = ["heat_is_fast", "heat_matches_all", "pipeline_times"]

HEAT = "pipeline-heat"
PLACE = 3  # of the heat pipeline among the fastest


def heat_matches_all(results: Results) -> Claim:
    """Does the heat pipeline match or outperform all others after relocation?"""
    problems = [name for name in results.problems if name.endswith("-relocated")]
    others = [method for method in PIPELINE_METHODS if method != HEAT]
    pairs = [(problem, HEAT, other) for problem in problems for other in others]
    cases = leads(results, pairs, Results.losses, not_worse)
    return Claim(
        "The heat pipeline matches or outperforms all others after relocation",
        "After relocation of the optima, one-hot RBF kernel, genetic algorithm and trust region "
        "together match or outperform every other pipeline (section 4.3). Here all of them are "
        "made of our parts, which docs/pipelines.md compares with the originals.",
        f"{TRIFLE} A case is reproduced where the mean of the heat pipeline is not worse by more "
        "than a trifle, and contradicted where it is and the signed-rank test on common seeds, "
        "corrected by Holm's method for the cases, is below 0.05. Five seeds are needed. "
        f"{EVERYWHERE}",
        LEADS_HEADER,
        cases,
        verdict_everywhere(cases),
    )


def pipeline_times(results: Results) -> Ratios | None:
    """Return how long pipelines take on the problems that the heat pipeline has."""
    evaluations = {}
    for problem in results.problems:
        found = [method for method in PIPELINE_METHODS if results.studies(problem, method)]
        if HEAT in found:
            evaluations[problem] = n_common(results, problem, found)
    return time_ratios(results, evaluations, PIPELINE_METHODS)


def heat_is_fast(results: Results) -> Claim:
    """Is the heat pipeline among the three that take the least time?"""
    times = pipeline_times(results)
    cases: list[Case] = []
    verdict = NOT_MEASURED
    if times is not None and HEAT in times.ratios:
        own, _ = times.ratios[HEAT]
        for method, (ratio, n_problems) in times.ratios.items():
            if method != HEAT:
                outcome = REPRODUCED if own <= ratio else CONTRADICTED
                cases.append(Case((method, str(n_problems), f"{ratio / own:.2f}"), outcome))
        n_faster = sum(case.verdict == CONTRADICTED for case in cases)
        verdict = REPRODUCED if n_faster < PLACE else CONTRADICTED
    return Claim(
        "The heat pipeline takes the third-lowest time",
        "Of all pipelines only CoCaBO and Bounce take less time than the heat pipeline (section "
        "4.3 and appendix E.6). Here: CPU seconds of the suggestions of a study, as multiples of "
        "those of the heat pipeline, mean over problems.",
        "A pipeline that is slower agrees. The claim is reproduced where at most two are faster.",
        ("pipeline", "problems", "time, as a multiple"),
        tuple(cases),
        verdict,
    )
