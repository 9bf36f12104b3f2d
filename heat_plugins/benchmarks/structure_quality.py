"""What a structure is worth: best values with it and without it, on problems of both kinds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from heat_plugins.benchmarks.functions import SFU, relabelled, sequence
from heat_plugins.benchmarks.problems import Problem, labs, pest_control
from heat_plugins.benchmarks.studies import distributions_of, run
from heat_plugins.optuna import HeatSampler
from heat_plugins.structures import Additive, InteractionOrders, PermutationInvariant

__all__ = ["CASES", "StructureOutcome", "outcomes", "summary"]

N_TRIALS = 100

SYMMETRIC = ("default", "padded sort", "sort")
ADDITIVE = ("default", "additive", "interactions of 2", "auto")

# Which structures are tried on which problem; the first is what the others are compared with.
CASES: dict[str, tuple[str, ...]] = {
    **{name: SYMMETRIC for name in SFU},
    "letters 30 x 4, no pairs": ADDITIVE,
    "letters 30 x 4, weak pairs": ADDITIVE,
    "letters 50 x 4, weak pairs": ADDITIVE,
    "letters 25 x 20, weak pairs": ADDITIVE,
    "letters 30 x 4, strong pairs": ADDITIVE,
    "pest": ADDITIVE,
    "labs": ADDITIVE,
}


def _problem(name: str) -> Problem:
    if name in SFU:
        return relabelled(SFU[name](20, 11))
    letters = {
        "letters 30 x 4, no pairs": (30, 4, 0.0, 1),
        "letters 30 x 4, weak pairs": (30, 4, 0.5, 0),
        "letters 50 x 4, weak pairs": (50, 4, 0.1, 6),
        "letters 25 x 20, weak pairs": (25, 20, 0.3, 3),
        "letters 30 x 4, strong pairs": (30, 4, 1.0, 2),
    }
    if name in letters:
        return sequence(*letters[name])
    return {"pest": pest_control, "labs": labs}[name]().relocated()


def _arguments(structure: str, names: list[str]) -> dict[str, Any]:
    arguments: dict[str, dict[str, Any]] = {
        "default": {},
        "padded sort": {"structure": PermutationInvariant(names)},
        "sort": {"structure": PermutationInvariant(names, "sort")},
        "additive": {"structure": Additive()},
        "interactions of 2": {"structure": InteractionOrders(2)},
        "auto": {"structure": "auto"},
    }
    return arguments[structure]


@dataclass(frozen=True)
class StructureOutcome:
    """The end of one study."""

    problem: str
    structure: str
    seed: int
    best_at_50: float
    best: float
    best_known: float | None


def outcomes(
    problems: Sequence[str], seeds: Sequence[int], n_processes: int = 1
) -> Iterator[StructureOutcome]:
    """Run every structure of every problem with every seed; yield each study as it ends."""
    jobs = [(p, structure, seed) for seed in seeds for p in problems for structure in CASES[p]]
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        yield from pool.imap_unordered(_outcome, jobs)


def _outcome(job: tuple[str, str, int]) -> StructureOutcome:
    name, structure, seed = job
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    problem = _problem(name)
    arguments = _arguments(structure, [*distributions_of(problem)])
    sampler = HeatSampler(
        seed=seed, n_startup_trials=20, deterministic_objective=True, **arguments
    )
    record = run(problem, sampler, N_TRIALS)
    at_50 = min(record.values[:50])
    return StructureOutcome(name, structure, seed, at_50, record.best, problem.best_known)


def summary(results: Sequence[StructureOutcome]) -> Iterator[dict[str, float | str]]:
    """Yield a row for each problem and structure: means, standard errors, the best known."""
    for name, structures in CASES.items():
        for structure in structures:
            mine = [o for o in results if (o.problem, o.structure) == (name, structure)]
            if mine:
                yield {
                    "problem": name,
                    "structure": structure,
                    "seeds": str(len(mine)),
                    "at_50": _mean([o.best_at_50 for o in mine]),
                    f"at_{N_TRIALS}": _mean([o.best for o in mine]),
                    "best_known": "" if mine[0].best_known is None else mine[0].best_known,
                }


def _mean(values: Sequence[float]) -> str:
    """Return the mean and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.4g} ± {error:.2g}"
