"""Problems x methods x seeds, in several processes, each study noted as it ends."""

from __future__ import annotations

import datetime
import logging
import math
import multiprocessing
import os
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import optuna

from heat_plugins.benchmarks.methods.method import Method, Solver
from heat_plugins.benchmarks.problems.tasks import Params, Result, Task, first_points
from heat_plugins.benchmarks.results import raw_lines
from heat_plugins.benchmarks.results.raw_lines import StudyLine

__all__ = ["Failure", "Job", "expected_seconds", "run_jobs", "run_study", "to_do"]

N_FIRST = 20
MAX_ASKS = 20  # for a point that may be tried, of a method that cannot be told which may


class Job(NamedTuple):
    """A study to be run."""

    problem: str
    method: str
    seed: int
    n_trials: int
    n_first: int = N_FIRST

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells this study from the others."""
        return self.problem, self.method, self.seed


def run_study(task: Task, method: Method, job: Job) -> StudyLine:
    """Run one study and return what happened.

    Where several workers are busy at once, each new suggestion is made while the others are
    under way, and the oldest ends first.
    """
    solver = method.start(task, job.seed)
    given: list[Params] = []
    if method.takes_first_points:
        given = [*task.known, *first_points(task, job.n_first, job.seed)]
    under_way: deque[Params] = deque()
    results: list[Result] = []
    scores: list[float] = []
    seconds: list[float] = []
    points = set()

    def finish_oldest() -> None:
        params = under_way.popleft()
        result = task.evaluate(params)
        start = time.process_time()
        solver.tell(params, result)
        seconds[-1] += time.process_time() - start
        results.append(result)
        scores.append(_score(task, results, scores))

    for i in range(job.n_trials):
        start = time.process_time()
        params = given[i] if i < len(given) else _feasible(task, solver)
        seconds.append(time.process_time() - start)
        points.add(tuple(sorted(params.items())))
        under_way.append(params)
        if i < len(given) or len(under_way) == method.n_workers:
            finish_oldest()
    while under_way:
        finish_oldest()
    return StudyLine(
        problem=task.name,
        method=job.method,
        seed=job.seed,
        n_first=len(given),
        scores=[float(f"{score:.10g}") for score in scores],
        seconds=[round(spent, 5) for spent in seconds],
        n_repeats=job.n_trials - len(points),
        n_failed=sum(result.has_failed for result in results),
        versions=raw_lines.versions(),
        machine=raw_lines.machine(),
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _feasible(task: Task, solver: Solver) -> Params:
    """Return what a method proposes; of what may not be tried it is told that it failed.

    That is known without an evaluation, so it costs none. After so many vain proposals the last
    one counts.
    """
    params = solver.ask()
    for _ in range(MAX_ASKS - 1):
        if task.is_feasible is None or task.is_feasible(params):
            break
        solver.tell(params, Result(()))
        params = solver.ask()
    return params


def _score(task: Task, results: Sequence[Result], before: Sequence[float]) -> float:
    """Return what the results are worth, given what all but the last were."""
    if task.n_objectives > 1:
        return task.score(results)
    score = task.score(results[-1:])  # of one objective the last result says it all
    return min(score, before[-1]) if before else score


class Failure(NamedTuple):
    """A study that ended with an error: nothing was noted, the others go on."""

    job: Job
    error: str


def run_jobs(
    jobs: Sequence[Job], path: Path, n_processes: int = 1
) -> Iterator[StudyLine | Failure]:
    """Run studies in processes of their own; yield each when it has ended and been noted.

    The process that ran a study appends it to the file: it is kept even where whoever waits
    for it has been killed.
    """
    # SMAC3 iterates over sets: the same studies in other processes only with the same hashes.
    os.environ.setdefault("PYTHONHASHSEED", "0")
    context = multiprocessing.get_context("spawn")
    with context.Pool(n_processes, initializer=_quiet) as pool:
        yield from pool.imap_unordered(partial(_study, path), jobs)


def to_do(jobs: Sequence[Job], done: Mapping[tuple[str, str, int], StudyLine]) -> list[Job]:
    """Return the studies that have not been run, or only with fewer evaluations."""
    return [job for job in jobs if job.key not in done or done[job.key].n_trials < job.n_trials]


def expected_seconds(job: Job, lines: Iterable[StudyLine]) -> float:
    """Return how long a study may take, judged by those of the same method."""
    alike = [line for line in lines if line.method == job.method]
    alike = [line for line in alike if line.problem == job.problem] or alike
    if not alike:
        return math.nan
    # The cost of a suggestion grows with the history, about in proportion.
    costs = [sum(line.seconds) * (job.n_trials / line.n_trials) ** 2 for line in alike]
    return float(np.mean(costs))


def _quiet() -> None:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def _study(path: Path, job: Job) -> StudyLine | Failure:
    from heat_plugins.benchmarks.methods.method_list import method_named
    from heat_plugins.benchmarks.problems.catalogue import task_named

    try:
        line = run_study(task_named(job.problem), method_named(job.method), job)
    except Exception as error:  # whatever a peer may raise must not end the others' studies
        return Failure(job, f"{type(error).__name__}: {error}")
    raw_lines.append(path, line)
    return line
