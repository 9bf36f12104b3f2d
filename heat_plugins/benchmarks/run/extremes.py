"""What a suggestion costs where spaces or trials are unusual: very wide, or of many outputs."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from heat_plugins.benchmarks.run.peak_memory import peak_megabytes
from heat_plugins.gp.fit import FitCache
from heat_plugins.history import NO_REGION, History
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.space import Array, Categorical, Space
from heat_plugins.suggest import Problem, Settings, suggest

__all__ = ["extremes"]

N_MEASURED = 5  # the first fits its hyperparameters from scratch, the others do not


def extremes() -> Iterator[dict[str, float | str]]:
    """Yield CPU seconds of the first and of later suggestions, and the memory they take."""
    # A new process each: the peak of memory belongs to a process and never falls.
    context = multiprocessing.get_context("spawn")
    for name in CASES:
        with context.Pool(1) as pool:
            first, later, megabytes = pool.apply(_measured, (name,))
        yield {
            "case": name,
            "first_seconds": first,
            "later_seconds": later,
            "megabytes": megabytes,
        }


def _measured(name: str) -> tuple[float, float, float]:
    space, history = CASES[name]()
    cache, seconds = FitCache(), []
    before = peak_megabytes()
    for trial in range(N_MEASURED):
        began = time.process_time()
        with one_blas_thread():
            rng = np.random.default_rng([0, trial])
            suggestion = suggest(Problem(space), history, Settings(), rng, cache)
        seconds.append(time.process_time() - began)
        history = _with_another(history, suggestion.point, suggestion.region_id)
    return seconds[0], float(np.median(seconds[1:])), peak_megabytes() - before


def _with_another(history: History, point: Array, region_id: int) -> History:
    """Return the history with one more trial, whose outputs are those of the first one."""
    constraints = history.constraints
    return replace(
        history,
        points=np.concatenate([history.points, point[None]]),
        values=np.concatenate([history.values, history.values[:1]]),
        region_ids=np.append(history.region_ids, region_id),
        constraints=None
        if constraints is None
        else np.concatenate([constraints, constraints[:1]]),
    )


# ------------------------------------------------------------------------------- cases
def _random(n_choices: list[int], n_trials: int, n_outputs: int = 1) -> tuple[Space, Array, Array]:
    """Return a space, random points (n, d) and sums of single effects (n, outputs) there."""
    rng = np.random.default_rng(0)
    space = Space(tuple(Categorical(f"c{i}", tuple(range(k))) for i, k in enumerate(n_choices)))
    points = space.sample(n_trials, rng)
    outputs = np.zeros((n_trials, n_outputs))
    for k, codes in zip(n_choices, points.T.astype(np.int64), strict=True):
        outputs += rng.standard_normal((k, n_outputs))[codes]
    return space, points, outputs


def _history(space: Space, points: Array, values: Array, constraints: Array | None) -> History:
    regions = np.full(len(points), NO_REGION, dtype=np.int64)
    return History.of(space, points, values, regions, constraints=constraints)


def _wide(n_choices: list[int], n_trials: int) -> tuple[Space, History]:
    space, points, outputs = _random(n_choices, n_trials)
    return space, _history(space, points, outputs[:, 0], None)


def _conditional(n_choices: int) -> tuple[Space, History]:
    """The second parameter exists where the first has the first of three choices."""
    space, points, outputs = _random([3, n_choices, 5], 100)
    points[points[:, 0] > 0.0, 1] = np.nan
    return space, _history(space, points, outputs[:, 0], None)


def _foreign_constraints() -> tuple[Space, History]:
    """One trial of 101 has 300 constraints and breaks them all."""
    space, points, outputs = _random([5] * 10, 101)
    constraints = np.full((101, 300), np.nan)
    constraints[50] = 1.0
    return space, _history(space, points, outputs[:, 0], constraints)


def _two_constraints() -> tuple[Space, History]:
    space, points, outputs = _random([5] * 20, 600, 3)
    return space, _history(space, points, outputs[:, 0], outputs[:, 1:])


def _two_objectives() -> tuple[Space, History]:
    space, points, outputs = _random([5] * 20, 600, 2)
    return space, _history(space, points, outputs, None)


CASES: dict[str, Callable[[], tuple[Space, History]]] = {
    "3 of 10,000 choices, 1,000 trials": lambda: _wide([10_000] * 3, 1000),
    "200 of 50 choices, 1,000 trials": lambda: _wide([50] * 200, 1000),
    "2,000 switches, 1,000 trials": lambda: _wide([2] * 2000, 1000),
    "20,000 choices that need not exist, 100 trials": lambda: _conditional(20_000),
    "300 constraints of one trial of 101": _foreign_constraints,
    "two constraints, 600 trials": _two_constraints,
    "two objectives, 600 trials": _two_objectives,
}
