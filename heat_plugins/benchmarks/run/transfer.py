"""What earlier studies are worth: the same search on other data, with and without them.

========  ===================================================================================
how       what the sampler is given
========  ===================================================================================
alone     nothing
transfer  a study of 100 trials of the earlier problem
shuffled  the same study, its values permuted
five      that study among four whose values are permuted, each in another way
========  ===================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState

from heat_plugins.benchmarks.methods.optuna_solver import OptunaSolver
from heat_plugins.benchmarks.problems.related import RELATED
from heat_plugins.benchmarks.problems.tasks import Task, best_feasible
from heat_plugins.optuna import HeatSampler

__all__ = ["HOW", "known_rows", "summary", "transfer"]

HOW = ("alone", "transfer", "shuffled", "five")
N_EARLIER, N_TRIALS = 100, 50
FIRST_EARLIER_SEED = 1000
COUNTS = (5, 10, 15, 25, 50)  # evaluations at which the best value is shown
N_STUDIES, PLACE = 5, 2  # of several earlier studies, and where the one is that is related
WORST = 1e3  # what counts as a value where every trial failed


def transfer(
    seeds: Iterable[int], names: Sequence[str] = (), known: Sequence[dict[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the best values so far of each study that is not known yet."""
    done = {(row["problem"], row["how"], row["seed"]) for row in known}
    for seed in seeds:
        for name in names or RELATED:
            missing = [how for how in HOW if (name, how, seed) not in done]
            if not missing:
                continue
            earlier, present = RELATED[name](seed)
            past, _ = _study(earlier, HeatSampler(seed=FIRST_EARLIER_SEED + seed), N_EARLIER)
            for how in missing:
                sampler = HeatSampler(seed=seed, previous=_previous(past, how, seed))
                _, curve = _study(present, sampler, N_TRIALS)
                yield {"problem": name, "how": how, "seed": seed, "values": curve}


def _previous(past: optuna.Study, how: str, seed: int) -> list[optuna.Study]:
    if how == "alone":
        return []
    if how == "transfer":
        return [past]
    if how == "shuffled":
        return [_shuffled(past, [seed])]
    return [past if i == PLACE else _shuffled(past, [seed, i]) for i in range(N_STUDIES)]


def _study(task: Task, sampler: HeatSampler, n_trials: int) -> tuple[optuna.Study, list[float]]:
    """Run a study; return it, and the best value after each trial."""
    solver, results, curve = OptunaSolver(task, sampler), [], []
    for _ in range(n_trials):
        params = solver.ask()
        results.append(task.evaluate(params))
        solver.tell(params, results[-1])
        curve.append(min(best_feasible(results), WORST))
    return solver.study, [float(f"{value:.10g}") for value in curve]


def _shuffled(study: optuna.Study, seed: Sequence[int]) -> optuna.Study:
    """Return a study with the values of its complete trials permuted."""
    trials = study.get_trials()
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    order = np.random.default_rng(seed).permutation(len(complete))
    values = [complete[i].value for i in order]
    for trial, value in zip(complete, values, strict=True):
        trial.values = [value]
    shuffled = optuna.create_study()
    shuffled.add_trials(trials)
    return shuffled


def known_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows that a file has."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if "how" in row]


def summary(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield mean and standard error of the best value, and when that of ``alone`` was reached.

    That is the first evaluation at which the mean is as good as that of ``alone`` at the end.
    """
    by_case: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        by_case.setdefault((row["problem"], row["how"]), []).append(row["values"])
    for (problem, how), curves in by_case.items():
        values = np.array(curves)
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * mean
        goal = np.mean([curve[-1] for curve in by_case.get((problem, "alone"), curves)])
        reached = np.flatnonzero(mean <= goal)
        yield {
            "problem": problem,
            "how": how,
            "seeds": len(values),
            **{f"after {n}": f"{mean[n - 1]:.3g} ± {error[n - 1]:.2g}" for n in COUNTS},
            "as alone at the end": str(reached[0] + 1) if len(reached) else "no",
        }
