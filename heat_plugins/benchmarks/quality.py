"""What value is reached after 200 evaluations, on the relocated problems."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import optuna

from heat_plugins.benchmarks.problems import PROBLEMS
from heat_plugins.benchmarks.studies import run
from heat_plugins.optuna import HeatSampler

__all__ = ["BARS", "Outcome", "outcomes", "summary"]

N_TRIALS = 200

# The mean over the seeds that the default sampler should reach, or go below.
BARS = {
    "pest": 12.10,
    "labs": -3.9,
    "contamination": 21.50,
    "maxsat": -195.65,
    "ackley": 9.0,
}


@dataclass(frozen=True)
class Outcome:
    """The end of one study."""

    problem: str
    seed: int
    best: float
    best_at_100: float
    cpu_seconds: float


def outcomes(
    problems: Sequence[str], seeds: Sequence[int], n_processes: int = 1
) -> Iterator[Outcome]:
    """Run every problem with every seed; yield each study as it ends."""
    jobs = [(problem, seed) for seed in seeds for problem in problems]
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        yield from pool.imap_unordered(_outcome, jobs)


def _outcome(job: tuple[str, int]) -> Outcome:
    name, seed = job
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    problem = PROBLEMS[name]().relocated()
    sampler = HeatSampler(seed=seed, n_startup_trials=20, deterministic_objective=True)
    record = run(problem, sampler, N_TRIALS)
    return Outcome(name, seed, record.best, min(record.values[:100]), sum(record.seconds))


def summary(results: Sequence[Outcome]) -> list[dict[str, float | str]]:
    """Return a row a problem: mean, standard error, worst seed, and the bar."""
    rows: list[dict[str, float | str]] = []
    for name in dict.fromkeys(outcome.problem for outcome in results):
        best = np.array([outcome.best for outcome in results if outcome.problem == name])
        seconds = np.mean([o.cpu_seconds for o in results if o.problem == name])
        error = best.std(ddof=1) / np.sqrt(len(best)) if len(best) > 1 else float("nan")
        rows.append(
            {
                "problem": name,
                "seeds": str(len(best)),
                "mean": float(best.mean()),
                "standard_error": float(error),
                "worst": float(best.max()),
                "bar": BARS[name],
                "reached": "yes" if round(float(best.mean()), 2) <= BARS[name] else "no",
                "cpu_seconds": float(seconds),
            }
        )
    return sorted(rows, key=lambda row: list(BARS).index(str(row["problem"])))
