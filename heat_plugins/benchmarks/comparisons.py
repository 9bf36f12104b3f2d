"""Several samplers on the same tasks, seed by seed from the same first points.

A comparison is a set of tasks and a set of contenders; the first contender is the one that the
others are held against. All contenders of a seed begin with the same random points, so that
differences between them can be taken within each seed.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import Trial

__all__ = [
    "Comparison",
    "Contender",
    "Result",
    "Standing",
    "Task",
    "ask_for_codes",
    "best_feasible",
    "codes_of",
    "run",
    "summary",
]

Params = dict[str, Any]

STEP = 10  # trials from one score that is noted to the next
# Added to the seed of a study for its first points: RandomSampler would repeat them otherwise.
FIRST_POINTS = 1_000_000


class Result(NamedTuple):
    """What came of a trial: a value for each objective, and constraints met where at most 0."""

    values: tuple[float, ...]
    constraints: tuple[float, ...] = ()


def best_feasible(results: Sequence[Result]) -> float:
    """Return the smallest value of those that meet all constraints; infinity for none."""
    feasible = (r.values[0] for r in results if all(c <= 0.0 for c in r.constraints))
    return min(feasible, default=math.inf)


@dataclass(frozen=True)
class Task:
    """Something to be minimised.

    Args:
        description: One line for people.
        n_trials: Length of a study.
        ask: Asks a trial for its parameters, in whatever order and on whatever conditions.
        evaluate: What comes of the parameters.
        score: What the results of a study are worth.
        n_objectives: Number of values of a result.
        best_known: The best score known, where one is.
    """

    description: str
    n_trials: int
    ask: Callable[[Trial], Params]
    evaluate: Callable[[Params], Result]
    score: Callable[[Sequence[Result]], float] = best_feasible
    n_objectives: int = 1
    best_known: float | None = None


@dataclass(frozen=True)
class Contender:
    """A sampler, by the function that makes it of a ``seed``, and how many work at once."""

    make: Callable[..., BaseSampler]
    n_workers: int = 1


@dataclass(frozen=True)
class Comparison:
    """Which contenders are compared on which tasks.

    Args:
        name: Short name, as the command line knows it.
        scores: What a score is.
        tasks: By name, the functions that make them; other processes find them by import.
        contenders: By name; the first is what the others are compared with.
        n_first: How many random points all contenders of a seed begin with.
        larger_is_better: Whether scores should be large.
    """

    name: str
    scores: str
    tasks: Mapping[str, Callable[[], Task]]
    contenders: Mapping[str, Contender]
    n_first: int = 10
    larger_is_better: bool = False


@dataclass(frozen=True)
class Standing:
    """The end of one study.

    Args:
        comparison: Name of the comparison.
        problem: Name of the task.
        sampler: Name of the contender.
        seed: Seed of the contender and of the first points.
        n_trials: Length of the study.
        score: Its score.
        curve: The score after every ten trials.
        n_repeats: How many trials were the same as an earlier one.
        cpu_seconds: A suggestion took on average, after the first points.
    """

    comparison: str
    problem: str
    sampler: str
    seed: int
    n_trials: int
    score: float
    curve: tuple[float, ...]
    n_repeats: int
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells this study from the others."""
        return self.comparison, self.problem, self.sampler, self.seed


Job = tuple[Comparison, str, str, int]


def jobs_of(
    comparison: Comparison, problems: Sequence[str], samplers: Sequence[str], seeds: Sequence[int]
) -> list[Job]:
    """Return the studies to be run; those of the first seed come first."""
    return [(comparison, p, s, seed) for seed in seeds for p in problems for s in samplers]


def run(jobs: Sequence[Job], n_processes: int = 1) -> Iterator[Standing]:
    """Run studies; yield each as it ends."""
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        yield from pool.imap_unordered(_standing, jobs)


def read(path: Path, comparison: Comparison) -> list[Standing]:
    """Return the studies of a comparison that a file of JSON lines has."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    mine = [row for row in rows if row.get("comparison") == comparison.name]
    return [Standing(**row | {"curve": tuple(row["curve"])}) for row in mine]


def _standing(job: Job) -> Standing:
    comparison, problem, sampler, seed = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task, contender = comparison.tasks[problem](), comparison.contenders[sampler]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        made = contender.make(seed=seed)
    study = optuna.create_study(directions=["minimize"] * task.n_objectives, sampler=made)
    for params in _first_points(task, comparison.n_first, seed):
        study.enqueue_trial(params)
    results, seconds = _results(study, task, contender.n_workers)
    points = {tuple(sorted(trial.params.items())) for trial in study.trials}
    return Standing(
        comparison.name,
        problem,
        sampler,
        seed,
        task.n_trials,
        task.score(results),
        tuple(task.score(results[:n]) for n in range(STEP, task.n_trials + 1, STEP)),
        task.n_trials - len(points),
        float(np.mean(seconds[comparison.n_first :])),
    )


def _first_points(task: Task, n: int, seed: int) -> list[Params]:
    """Return the parameters of random trials."""
    study = optuna.create_study(sampler=RandomSampler(seed=FIRST_POINTS + seed))
    return [task.ask(study.ask()) for _ in range(n)]


def _results(study: optuna.Study, task: Task, n_workers: int) -> tuple[list[Result], list[float]]:
    """Run all trials, so many at a time; return results and CPU seconds of each suggestion.

    Whenever a trial is asked for, all other workers are busy, and the oldest ends first.
    """
    running: deque[tuple[Trial, Params]] = deque()
    results: list[Result] = []
    seconds = []

    def finish_oldest() -> None:
        trial, params = running.popleft()
        result = task.evaluate(params)
        for i, constraint in enumerate(result.constraints):
            trial.set_constraint(f"c{i}", constraint)
        study.tell(trial, result.values)
        results.append(result)

    for _ in range(task.n_trials):
        start = time.process_time()
        trial = study.ask()
        params = task.ask(trial)
        seconds.append(time.process_time() - start)
        running.append((trial, params))
        if len(running) == n_workers:
            finish_oldest()
    while running:
        finish_oldest()
    return results, seconds


def ask_for_codes(n_choices: Sequence[int]) -> Callable[[Trial], Params]:
    """Return what asks a trial for so many unordered choices of each variable."""
    # Padded numbers: Optuna sorts parameters by name, and this keeps them in order.
    width = len(str(len(n_choices) - 1))

    def ask(trial: Trial) -> Params:
        return {
            f"x{i:0{width}d}": trial.suggest_categorical(f"x{i:0{width}d}", tuple(range(k)))
            for i, k in enumerate(n_choices)
        }

    return ask


def codes_of(params: Params) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the codes (d,) that ``ask_for_codes`` asked for."""
    return np.array([*params.values()], dtype=np.int64)


def summary(comparison: Comparison, results: Sequence[Standing]) -> Iterator[dict[str, Any]]:
    """Yield a row for each task and contender: scores, and differences within the seeds.

    ``ahead`` is by how much the first contender is better than the row's, in the seeds that
    both have run: below zero where it loses.
    """
    first = next(iter(comparison.contenders))
    sign = 1.0 if comparison.larger_is_better else -1.0
    for name in comparison.tasks:
        scores = {
            sampler: {
                o.seed: o.score for o in results if (o.problem, o.sampler) == (name, sampler)
            }
            for sampler in comparison.contenders
        }
        for sampler, mine in scores.items():
            if not mine:
                continue
            theirs = [o for o in results if (o.problem, o.sampler) == (name, sampler)]
            common = sorted(mine.keys() & scores[first].keys())
            ahead = [sign * (scores[first][seed] - mine[seed]) for seed in common]
            is_first = sampler == first
            yield {
                "problem": name,
                "sampler": sampler,
                "trials": str(theirs[0].n_trials),
                "seeds": str(len(mine)),
                comparison.scores: mean([*mine.values()]),
                f"{first} ahead by": "" if is_first else mean(ahead),
                "in seeds": "" if is_first else _wins(ahead),
                "repeats": float(np.mean([o.n_repeats for o in theirs])),
                "cpu_seconds": float(np.mean([o.cpu_seconds for o in theirs])),
            }


def _wins(ahead: Sequence[float]) -> str:
    """Return how many differences are above zero, and how many are zero."""
    ties = sum(a == 0.0 for a in ahead)
    won = f"{sum(a > 0.0 for a in ahead)} of {len(ahead)}"
    return f"{won}, {ties} equal" if ties else won


def mean(values: Sequence[float]) -> str:
    """Return the mean and its standard error."""
    if not values:
        return "-"
    with np.errstate(invalid="ignore"):
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.4g} ± {error:.2g}"
