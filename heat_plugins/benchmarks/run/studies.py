"""Run a problem as an Optuna study and note values and CPU seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler

from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = ["Record", "continue_study", "new_study", "run"]


@dataclass
class Record:
    """What happened in a study.

    Args:
        values: Value of each trial.
        seconds: CPU seconds that each suggestion took, of all threads together.
    """

    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The smallest value."""
        return min(self.values)


def distributions_of(problem: Problem) -> dict[str, BaseDistribution]:
    """Return a categorical distribution for each variable."""
    # Padded numbers: Optuna sorts parameters by name, and this keeps them in order.
    width = len(str(len(problem.n_choices) - 1))
    return {
        f"x{i:0{width}d}": CategoricalDistribution(tuple(range(k)))
        for i, k in enumerate(problem.n_choices)
    }


def new_study(
    problem: Problem, sampler: BaseSampler, past: list[Codes] | None = None
) -> optuna.Study:
    """Return a study of the problem, with finished trials at the given codes."""
    study = optuna.create_study(sampler=sampler)
    distributions = distributions_of(problem)
    for codes in past or []:
        params = dict(zip(distributions, (int(code) for code in codes), strict=True))
        study.add_trial(
            optuna.trial.create_trial(
                params=params, distributions=distributions, value=problem(codes)
            )
        )
    return study


def continue_study(
    study: optuna.Study,
    problem: Problem,
    n_trials: int,
    on_trial: Callable[[float], None] | None = None,
) -> Record:
    """Ask for, evaluate and tell ``n_trials`` more trials."""
    distributions = distributions_of(problem)
    record = Record()
    for _ in range(n_trials):
        start = time.process_time()
        trial = study.ask(distributions)
        record.seconds.append(time.process_time() - start)
        params = trial.params  # a copy each time it is asked for
        value = problem(np.array([params[name] for name in distributions]))
        study.tell(trial, value)
        record.values.append(value)
        if on_trial is not None:
            on_trial(value)
    return record


def run(
    problem: Problem,
    sampler: BaseSampler,
    n_trials: int,
    on_trial: Callable[[float], None] | None = None,
) -> Record:
    """Run a new study of ``n_trials`` trials."""
    return continue_study(new_study(problem, sampler), problem, n_trials, on_trial)
