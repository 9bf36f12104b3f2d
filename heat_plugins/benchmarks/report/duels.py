"""Us against one peer, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heat_plugins.benchmarks.results.evidence import FULL, OURS, peers_of
from heat_plugins.benchmarks.results.markdown import mean_text, p_text, table
from heat_plugins.benchmarks.results.statistics import Paired, Results, holm, paired, sign_test

__all__ = ["Duel", "duel_summary", "duel_table", "duels"]


@dataclass(frozen=True)
class Duel:
    """We against a peer on one problem.

    Args:
        n: After how many evaluations.
        outcome: Our lead and the p-value of it.
        corrected: The p-value corrected for the number of problems with this peer.
    """

    n: int
    outcome: Paired
    corrected: float | None


def duels(results: Results) -> dict[str, dict[str, Duel]]:
    """Return us against each peer on each problem, on the seeds that both have."""
    all_duels: dict[str, dict[str, Duel]] = {}
    for peer in peers_of(results):
        outcomes: dict[str, tuple[int, Paired]] = {}
        for problem in results.problems:
            n = min(FULL, *(results.length(problem, method) for method in (OURS, peer)))
            ours, theirs = (results.losses(problem, method, n) for method in (OURS, peer))
            outcome = paired(ours, theirs)
            if outcome is not None:
                outcomes[problem] = n, outcome
        corrected = holm({problem: outcome.p for problem, (_, outcome) in outcomes.items()})
        all_duels[peer] = {
            problem: Duel(n, outcome, corrected[problem])
            for problem, (n, outcome) in outcomes.items()
        }
    return all_duels


def duel_summary(all_duels: Mapping[str, Mapping[str, Duel]]) -> str:
    """Return on how many problems we are ahead of each peer, and behind."""
    rows = []
    for peer, by_problem in all_duels.items():
        if not by_problem:
            continue
        leads = [duel.outcome.lead.mean for duel in by_problem.values()]
        n_ahead, n_behind = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
        surely = [
            duel.outcome.lead.mean
            for duel in by_problem.values()
            if duel.corrected is not None and duel.corrected < 0.05
        ]
        # Of n seeds the least two-sided p-value is 2^(1 - n).
        can_tell = any(2.0 ** (1 - duel.outcome.lead.n) < 0.05 for duel in by_problem.values())
        rows.append(
            [
                peer,
                str(len(leads)),
                str(n_ahead),
                str(n_behind),
                p_text(sign_test(n_ahead, n_behind)),
                str(sum(lead > 0 for lead in surely)) if can_tell else "-",
                str(sum(lead < 0 for lead in surely)) if can_tell else "-",
            ]
        )
    header = ["against", "problems", "ahead", "behind", "sign test p"]
    header += ["ahead, Holm p < 0.05", "behind, Holm p < 0.05"]
    return table(header, rows)


def duel_table(all_duels: Mapping[str, Mapping[str, Duel]], problem: str) -> str:
    """Return our lead over each peer on a problem; nothing where there is no peer."""
    rows = []
    for peer, by_problem in all_duels.items():
        if problem not in by_problem:
            continue
        duel = by_problem[problem]
        lead, p = duel.outcome
        text = mean_text(lead.mean, lead.error)
        rows.append([peer, str(duel.n), str(lead.n), text, p_text(p), p_text(duel.corrected)])
    if not rows:
        return ""
    return table([f"{OURS} against", "evaluations", "seeds", "ahead by", "p", "Holm p"], rows)
