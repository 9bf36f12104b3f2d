"""What a claim is, and the rules that give verdicts on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_plugins.benchmarks.results.evidence import FULL
from heat_plugins.benchmarks.results.markdown import mean_text, number, p_text
from heat_plugins.benchmarks.results.statistics import (
    MIN_SEEDS,
    Estimate,
    Paired,
    Results,
    holm,
    paired,
)

__all__ = [
    "CONTRADICTED",
    "EVERYWHERE",
    "LEADS_HEADER",
    "MOSTLY",
    "NOT_MEASURED",
    "NOT_MORE",
    "REPRODUCED",
    "TRIFLE",
    "UNDECIDED",
    "Case",
    "Claim",
    "difference_text",
    "is_more",
    "is_sure",
    "leads",
    "n_common",
    "not_worse",
    "score_text",
    "trifle_of",
    "verdict_everywhere",
    "verdict_mostly",
]

REPRODUCED = "reproduced"
CONTRADICTED = "contradicted"
UNDECIDED = "not decided by these seeds"
NOT_MEASURED = "not measured"

LEVEL = 0.05
MARGIN = 0.1  # of what the heat kernel gains


@dataclass(frozen=True)
class Case:
    """One row: what it is about, its numbers, and what they say of the claim."""

    cells: tuple[str, ...]
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Args:
        title: A few words.
        statement: What the paper says, and where.
        rule: How a case gets its verdict, and the claim that of its cases.
        header: Names of the cells of a case.
        cases: What was measured.
        verdict: What the cases say together.
    """

    title: str
    statement: str
    rule: str
    header: tuple[str, ...]
    cases: tuple[Case, ...]
    verdict: str

    @property
    def count(self) -> str:
        """How many cases agree and disagree, in words."""
        if not self.cases:
            return ""
        verdicts = [case.verdict for case in self.cases]
        n_yes, n_no = verdicts.count(REPRODUCED), verdicts.count(CONTRADICTED)
        return f"{n_yes} of {len(verdicts)} agree, {n_no} disagree"


def verdict_everywhere(cases: Sequence[Case]) -> str:
    """Return the verdict on what is said of every case: one that disagrees contradicts it."""
    verdicts = [case.verdict for case in cases]
    if not verdicts:
        return NOT_MEASURED
    if CONTRADICTED in verdicts:
        return CONTRADICTED
    return REPRODUCED if 2 * verdicts.count(REPRODUCED) >= len(verdicts) else UNDECIDED


def verdict_mostly(cases: Sequence[Case]) -> str:
    """Return the verdict on what is said of most cases: half of them or more decide."""
    verdicts = [case.verdict for case in cases]
    if not verdicts:
        return NOT_MEASURED
    n_yes, n_no = verdicts.count(REPRODUCED), verdicts.count(CONTRADICTED)
    if n_yes > n_no and 2 * n_yes >= len(verdicts):
        return REPRODUCED
    if n_no > n_yes and 2 * n_no >= len(verdicts):
        return CONTRADICTED
    return UNDECIDED


EVERYWHERE = (
    "The claim is contradicted where one case is, and reproduced where none is and at least half "
    "of them are reproduced."
)
MOSTLY = "At least half of the cases decide, if they outnumber those that say the opposite."
NOT_MORE = (
    "It is contradicted where the difference has the other sign and the test is below 0.05, or "
    "where a difference of more than a trifle is further than two standard errors away."
)
TRIFLE = (
    "A *trifle* is a tenth of what the heat kernel gains on the problem between the first points "
    "and the end."
)


def n_common(results: Results, problem: str, methods: Sequence[str]) -> int:
    """Return after how many evaluations methods can be compared."""
    return min(FULL, *(results.length(problem, method) for method in methods))


def trifle_of(results: Results, problem: str, n: int, otherwise: str) -> float:
    """Return which difference between mean losses is too small to matter.

    Args:
        results: All studies.
        problem: The problem.
        n: After how many evaluations.
        otherwise: Whose gain counts where the heat kernel has no studies.
    """
    for method in ("heat", otherwise):
        first = results.loss(problem, method, results.n_first(problem))
        last = results.loss(problem, method, n)
        if first is not None and last is not None:
            gain = first.mean - last.mean
            return MARGIN * gain if math.isfinite(gain) else 0.0
    return 0.0


def is_sure(p: float | None) -> bool:
    """Return whether a p-value is known and small."""
    return p is not None and p < LEVEL


def is_more(difference: Estimate, p: float | None, trifle: float) -> str:
    """Return the verdict on a claim that there is a difference, and one that matters."""
    if is_sure(p) and difference.mean != 0.0 and not math.isnan(difference.mean):
        return REPRODUCED if difference.mean > 0.0 else CONTRADICTED
    if difference.error is not None and difference.n >= MIN_SEEDS:
        most = difference.mean + 2.0 * difference.error
        return CONTRADICTED if most <= trifle else UNDECIDED
    return UNDECIDED


def not_worse(lead: Estimate, p: float | None, trifle: float) -> str:
    """Return the verdict on a claim that there is a lead, or none to speak of on either side."""
    if lead.n < MIN_SEEDS or math.isnan(lead.mean):
        return UNDECIDED
    if lead.mean >= -trifle:
        return REPRODUCED
    return CONTRADICTED if is_sure(p) else UNDECIDED


def difference_text(difference: Estimate) -> str:
    """Return a difference with its standard error."""
    return mean_text(difference.mean, difference.error)


def score_text(results: Results, problem: str, loss: Estimate | None) -> str:
    """Return a mean loss as the score that it stands for; nothing where there is none."""
    return "" if loss is None else mean_text(results.sign(problem) * loss.mean, loss.error)


Losses = Callable[[Results, str, str, int], Mapping[int, float]]


def leads(
    results: Results,
    pairs: Sequence[tuple[str, str, str]],
    losses_of: Losses,
    verdict_of: Callable[[Estimate, float | None, float], str],
) -> tuple[Case, ...]:
    """Return the lead of one method over another on common seeds, corrected all together.

    Args:
        results: All studies.
        pairs: Problem, the method that should lead, and the other.
        losses_of: The loss of each seed after so many evaluations.
        verdict_of: The verdict on a lead, its p-value and a trifle.
    """
    rows: dict[tuple[str, str, str], tuple[int, Paired]] = {}
    for problem, leader, other in pairs:
        n = n_common(results, problem, (leader, other))
        both = (losses_of(results, problem, method, n) for method in (leader, other))
        outcome = paired(*both)
        if outcome is not None:
            rows[problem, leader, other] = n, outcome
    corrected = holm({key: outcome.p for key, (_, outcome) in rows.items()})
    cases = []
    for key, (n, outcome) in rows.items():
        problem, leader, other = key
        shown = [
            score_text(results, problem, results.loss(problem, method, n))
            for method in (leader, other)
        ]
        trifle = trifle_of(results, problem, n, other)
        cells = (
            problem,
            leader,
            other,
            str(outcome.lead.n),
            str(n),
            *shown,
            difference_text(outcome.lead),
            number(float(f"{trifle:.3g}")),
            p_text(outcome.p),
            p_text(corrected[key]),
        )
        cases.append(Case(cells, verdict_of(outcome.lead, corrected[key], trifle)))
    return tuple(cases)


LEADS_HEADER = ("problem", "this", "against", "seeds", "after", "this at the end") + (
    "the other at the end",
    "lead",
    "a trifle",
    "p",
    "Holm p",
)
