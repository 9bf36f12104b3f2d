"""What the paper says of kernels under one search, and of relocation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    EVERYWHERE,
    LEADS_HEADER,
    MOSTLY,
    NOT_MORE,
    REPRODUCED,
    TRIFLE,
    UNDECIDED,
    Case,
    Claim,
    difference_text,
    is_more,
    is_sure,
    leads,
    n_common,
    not_worse,
    score_text,
    trifle_of,
    verdict_everywhere,
    verdict_mostly,
)
from heat_plugins.benchmarks.methods.method_list import HEAT_AND_HAMMING, OTHER_KERNELS
from heat_plugins.benchmarks.results.evidence import BIOLOGY
from heat_plugins.benchmarks.results.markdown import number, p_text
from heat_plugins.benchmarks.results.statistics import (
    MIN_SEEDS,
    Estimate,
    Results,
    difference_of_means,
    estimate,
    friedman,
    holm,
    rank_sum_test,
)

RELOCATED = "-relocated"


def kernels_alike(results: Results) -> Claim:
    """Are the seven heat and Hamming kernels alike?"""
    measured = {}
    for problem in results.problems:
        kernels = [m for m in HEAT_AND_HAMMING if results.studies(problem, m)]
        if len(kernels) < 2:
            continue
        # One kernel with few seeds would leave few that all have.
        enough = [m for m in kernels if len(results.studies(problem, m)) >= MIN_SEEDS]
        measured[problem] = enough if len(enough) > 1 else kernels
    rows = {}
    for problem, kernels in measured.items():
        n = n_common(results, problem, kernels)
        losses = [results.losses(problem, kernel, n) for kernel in kernels]
        seeds = sorted(set.intersection(*(set(of_kernel) for of_kernel in losses)))
        if seeds:
            by_kernel = [[of_kernel[seed] for seed in seeds] for of_kernel in losses]
            rows[problem] = n, by_kernel, friedman(by_kernel)
    corrected = holm({problem: p for problem, (_, _, p) in rows.items()})
    cases = []
    for problem, (n, by_kernel, p) in rows.items():
        means = [estimate(of_kernel) for of_kernel in by_kernel]
        spread = max(m.mean for m in means) - min(m.mean for m in means)
        errors = [m.error for m in means if m.error is not None]
        pooled = math.sqrt(sum(e * e for e in errors) / len(errors)) if errors else math.nan
        trifle = trifle_of(results, problem, n, measured[problem][0])
        if means[0].n < MIN_SEEDS or math.isnan(spread):
            verdict = UNDECIDED
        elif spread <= trifle:
            verdict = REPRODUCED
        else:
            verdict = CONTRADICTED if is_sure(corrected[problem]) else UNDECIDED
        sizes = [number(float(f"{size:.3g}")) for size in (spread, pooled, trifle)]
        counts = [str(len(means)), str(means[0].n), str(n)]
        cells = (problem, *counts, *sizes, p_text(p), p_text(corrected[problem]))
        cases.append(Case(cells, verdict))
    return Claim(
        "Heat and Hamming kernels are alike",
        "With a fixed search, the seven heat and Hamming kernels (solid lines in the figure of "
        "the kernels) are nearly indistinguishable on all problems (section 4.1 of the paper).",
        f"{TRIFLE} A case is reproduced where the means of the kernels on common seeds are "
        "within a trifle of each other, and contradicted where they are not and Friedman's test "
        "by seeds, corrected by Holm's method for the number of problems, is below 0.05. Five "
        f"seeds are needed. {EVERYWHERE}",
        ("problem", "kernels", "seeds", "after", "spread", "standard error", "a trifle", "p")
        + ("Holm p",),
        tuple(cases),
        verdict_everywhere(cases),
    )


def _twins(results: Results, method: str) -> list[str]:
    """Return the problems that a method has solved as published and relocated."""
    return [
        problem
        for problem in results.problems
        if results.studies(problem, method) and results.studies(problem + RELOCATED, method)
    ]


def _relocation(
    results: Results,
    kernels: Sequence[str],
    verdict_of: Callable[[Estimate, float | None, float], str],
    excepted: tuple[str, ...] = (),
) -> tuple[Case, ...]:
    """Return how much worse kernels are on relocated problems, a case a kernel and problem.

    Args:
        results: All studies.
        kernels: The kernels.
        verdict_of: The verdict on how much worse, its p-value and a trifle.
        excepted: How the names of problems begin that the claim is not about.
    """
    cases = []
    for kernel in kernels:
        rows = {}
        for problem in _twins(results, kernel):
            if problem.startswith(excepted):
                continue
            twin = problem + RELOCATED
            n = min(n_common(results, name, [kernel]) for name in (problem, twin))
            before, after = (results.losses(name, kernel, n) for name in (problem, twin))
            if before and after:
                p = rank_sum_test([*before.values()], [*after.values()])
                rows[problem] = n, estimate(before.values()), estimate(after.values()), p
        corrected = holm({problem: p for problem, (_, _, _, p) in rows.items()})
        for problem, (n, before_mean, after_mean, p) in rows.items():
            worse = difference_of_means(after_mean, before_mean)
            trifle = trifle_of(results, problem, n, kernel)
            cells = (
                kernel,
                problem,
                f"{before_mean.n}, {after_mean.n}",
                score_text(results, problem, before_mean),
                score_text(results, problem, after_mean),
                difference_text(worse),
                number(float(f"{trifle:.3g}")),
                p_text(p),
                p_text(corrected[problem]),
            )
            cases.append(Case(cells, verdict_of(worse, corrected[problem], trifle)))
    return tuple(cases)


_RELOCATION_HEADER = ("kernel", "problem", "seeds", "as published", "relocated", "worse by") + (
    "a trifle",
    "p",
    "Holm p",
)


def _is_not_hurt(worse: Estimate, p: float | None, trifle: float) -> str:
    return not_worse(worse._replace(mean=-worse.mean), p, trifle)


def relocation_hurts(results: Results) -> Claim:
    """Does relocation hurt kernels that gain from structure in the labels?"""
    cases = _relocation(results, ("hed", "ssk"), is_more, ("labs", *BIOLOGY))
    return Claim(
        "HED and SSK are worse after relocation",
        "BODi's HED kernel and BOSS's SSK are significantly worse once the optimum is moved to a "
        "place without structure (section 4.2). LABS and the biological problems are left out, as "
        "the paper excepts them.",
        f"{TRIFLE} A case is reproduced where the mean is worse after relocation and a rank sum "
        "test, corrected by Holm's method for the problems of a kernel, is below 0.05. "
        f"{NOT_MORE} {MOSTLY}",
        _RELOCATION_HEADER,
        cases,
        verdict_mostly(cases),
    )


def relocation_spares(results: Results) -> Claim:
    """Are kernels that only ask whether choices are equal the same after relocation?"""
    cases = _relocation(results, (*HEAT_AND_HAMMING, "cocabo", "rducb"), _is_not_hurt)
    return Claim(
        "Heat kernels are not affected by relocation",
        "Heat and Hamming kernels, and those of CoCaBO and RDUCB, are as good after relocation as "
        "before (section 4.2).",
        f"{TRIFLE} A case is reproduced where the mean is not worse by more than a trifle, and "
        "contradicted where it is and a rank sum test, corrected by Holm's method for the "
        f"problems of a kernel, is below 0.05. Five seeds are needed. {EVERYWHERE}",
        _RELOCATION_HEADER,
        cases,
        verdict_everywhere(cases),
    )


def no_kernel_is_better(results: Results) -> Claim:
    """Is any other kernel better than the heat kernel after relocation?"""
    problems = [
        problem
        for problem in results.problems
        if problem.endswith(RELOCATED) and not problem.startswith(BIOLOGY)
    ]
    cases: tuple[Case, ...] = ()
    for kernel in OTHER_KERNELS:
        pairs = [(problem, "heat", kernel) for problem in problems]
        cases += leads(results, pairs, Results.losses, not_worse)
    return Claim(
        "After relocation nothing is better than a heat kernel",
        "After relocation all baselines are matched or outperformed by the pipeline with a heat "
        "kernel (section 4.3). Here their kernels are compared under the same search; whole "
        "methods of others are in the main tables.",
        f"{TRIFLE} A case is reproduced where the heat kernel is not worse by more than a "
        "trifle, and contradicted where it is and the signed-rank test on common seeds, "
        "corrected by Holm's method for the problems of a kernel, is below 0.05. Six seeds are "
        f"needed for that. {EVERYWHERE}",
        LEADS_HEADER,
        cases,
        verdict_everywhere(cases),
    )
