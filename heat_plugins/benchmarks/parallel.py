"""What four workers at once cost in quality, at the same number of evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from optuna.samplers import GPSampler

from heat_plugins.benchmarks.comparisons import (
    Comparison,
    Contender,
    Params,
    Result,
    Standing,
    Task,
    ask_for_codes,
    codes_of,
)
from heat_plugins.benchmarks.problems import PROBLEMS
from heat_plugins.optuna import HeatSampler

__all__ = ["PARALLEL", "bars"]

N_TRIALS = 200
N_FIRST = 20
# How much more regret than one worker several may leave, at the same number of evaluations.
ALLOWED_REGRET = 1.1


def _task(name: str) -> Task:
    problem = PROBLEMS[name]().relocated()

    def evaluate(params: Params) -> Result:
        return Result((problem(codes_of(params)),))

    return Task(
        problem.description,
        N_TRIALS,
        ask_for_codes(problem.n_choices),
        evaluate,
        best_known=problem.best_known,
    )


_HEAT = partial(HeatSampler, n_startup_trials=N_FIRST, deterministic_objective=True)
_GP = partial(GPSampler, n_startup_trials=N_FIRST, deterministic_objective=True)

PARALLEL = Comparison(
    "parallel",
    "best value",
    {name: partial(_task, name) for name in ("pest", "labs")},
    {
        "HeatSampler": Contender(_HEAT),
        "HeatSampler, 4 workers": Contender(_HEAT, n_workers=4),
        "GPSampler, 4 workers": Contender(_GP, n_workers=4),
    },
    n_first=N_FIRST,
)


def bars(results: Sequence[Standing]) -> Iterator[dict[str, Any]]:
    """Yield a row a task: the mean regrets, and whether that of four workers is small enough.

    It is if it is within a tenth of one worker's, or below that of GPSampler's four.
    """
    for name, make in PARALLEL.tasks.items():
        best_known = make().best_known
        assert best_known is not None
        regrets = {
            sampler: float(np.mean(scores)) - best_known
            for sampler in PARALLEL.contenders
            if (scores := [o.score for o in results if (o.problem, o.sampler) == (name, sampler)])
        }
        if len(regrets) < len(PARALLEL.contenders):
            continue
        alone, ours, theirs = regrets.values()
        yield {
            "problem": name,
            "regret_of_one": alone,
            "of_four": ours,
            "of_four_GPSampler": theirs,
            "reached": "yes" if ours <= ALLOWED_REGRET * alone or ours < theirs else "no",
        }
