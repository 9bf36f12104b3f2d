"""How long a suggestion takes: against GPSampler, against Ax's strategies, and as studies grow.

All are asked at the same history in the same process, so that the ratio means something on any
machine; the seconds alone do not.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator

import numpy as np
import optuna
from optuna.samplers import GPSampler

from heat_plugins._extras import require
from heat_plugins.benchmarks.methods.method_list import METHODS
from heat_plugins.benchmarks.problems.catalogue import task_named
from heat_plugins.benchmarks.problems.problem import Codes, Problem
from heat_plugins.benchmarks.problems.published import labs, pest_control
from heat_plugins.benchmarks.run.peak_memory import peak_megabytes
from heat_plugins.benchmarks.run.runner import Job, run_study
from heat_plugins.benchmarks.run.studies import continue_study, new_study
from heat_plugins.optuna import HeatSampler

__all__ = ["against_ax", "against_gp_sampler", "growth"]

N_TRIALS = 200
N_MEASURED = 8  # one full cycle of cold and warm fits at 200 trials


def against_gp_sampler() -> Iterator[dict[str, float | str]]:
    """Yield CPU seconds a suggestion of both samplers after 200 trials, and their ratio."""
    require("torch", extra="torch")  # GPSampler does
    for problem in (pest_control().relocated(), labs().relocated()):
        study = new_study(problem, HeatSampler(seed=0, n_startup_trials=20))
        continue_study(study, problem, N_TRIALS)
        past = [np.array([*trial.params.values()]) for trial in study.get_trials()]
        heat = _seconds(problem, HeatSampler(seed=1, deterministic_objective=True), past)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            peer = GPSampler(seed=1, deterministic_objective=True)
        gp = _seconds(problem, peer, past)
        yield {
            "problem": f"{len(problem.n_choices)} x {problem.n_choices[0]} ({problem.name})",
            "heat_seconds": heat,
            "gp_sampler_seconds": gp,
            "ratio": heat / gp,
        }


def against_ax(n_trials: int = 100, n_suggestions: int = 4) -> Iterator[dict[str, float | str]]:
    """Yield CPU seconds a suggestion of strategies in Ax after the same random arms."""
    task = task_named("pest-relocated")
    ours = None
    for name in ("Ax-heat", "Ax-default", "Ax-mixed"):
        # One more than is counted: what is made once is made by the first suggestion.
        job = Job(task.name, name, 0, n_trials + 1 + n_suggestions, n_trials)
        seconds = float(np.mean(run_study(task, METHODS[name], job).seconds[-n_suggestions:]))
        ours = seconds if ours is None else ours
        yield {
            "problem": f"25 x 5 ({task.name}), {n_trials} arms",
            "strategy": name,
            "seconds": seconds,
            "times_ours": seconds / ours,
        }


def _seconds(problem: Problem, sampler: optuna.samplers.BaseSampler, past: list[Codes]) -> float:
    """Mean CPU seconds of suggestions at a history, the first one left out."""
    study = new_study(problem, sampler, past)
    record = continue_study(study, problem, 1 + N_MEASURED)
    return float(np.mean(record.seconds[1:]))


def growth() -> Iterator[dict[str, float | str]]:
    """Yield the median seconds of a suggestion, and peak memory, for large studies."""
    cases = [((5,) * 25, 1000), ((5,) * 25, 5000), ((2,) * 1000, 200)]
    # A new process each: the peak of memory belongs to a process and never falls.
    context = multiprocessing.get_context("spawn")
    for n_choices, n_trials in cases:
        with context.Pool(1) as pool:
            seconds, megabytes = pool.apply(_grown, (n_choices, n_trials))
        yield {
            "problem": f"{len(n_choices)} x {n_choices[0]}, {n_trials} trials",
            "heat_seconds": seconds,
            "peak_megabytes": megabytes,
        }


def _grown(n_choices: tuple[int, ...], n_trials: int) -> tuple[float, float]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rng = np.random.default_rng(0)
    # A rough function with structure: pairs of variables, each pair with its own table.
    tables = [rng.standard_normal((a, b)) for a, b in zip(n_choices, n_choices[1:], strict=False)]

    def value(codes: Codes) -> float:
        return float(sum(t[a, b] for t, a, b in zip(tables, codes, codes[1:], strict=False)))

    problem = Problem("pairs", "a chain of pairwise tables", n_choices, value)
    past = list(rng.integers(0, n_choices, size=(n_trials, len(n_choices))))
    sampler = HeatSampler(seed=1, deterministic_objective=True)
    record = continue_study(new_study(problem, sampler, past), problem, 1 + N_MEASURED)
    return float(np.median(record.seconds[1:])), peak_megabytes()
