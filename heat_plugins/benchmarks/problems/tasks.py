"""What a comparison is about: parameters, a function of them, and what its results are worth.

A task knows nothing of those that solve it: every method reads the same parameters and
conditions, and translates them into its own words.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = [
    "Choice",
    "Number",
    "Params",
    "Result",
    "Task",
    "active_parameters",
    "best_feasible",
    "choices_of",
    "codes_of",
    "first_points",
    "of_codes",
]

Params = dict[str, Any]
Condition = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Choice:
    """One of several unordered choices; ``when`` says which values others must have."""

    name: str
    choices: tuple[Any, ...]
    when: Condition = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """A number from ``low`` to ``high``, perhaps whole, perhaps on a logarithmic scale."""

    name: str
    low: float
    high: float
    log: bool = False
    integer: bool = False
    when: Condition = field(default_factory=dict)


Parameter = Choice | Number


class Result(NamedTuple):
    """What came of a trial.

    Args:
        values: One for each objective; none where the trial failed.
        constraints: Met where at most 0.
        truth: The values without their noise, where they have some.
    """

    values: tuple[float, ...]
    constraints: tuple[float, ...] = ()
    truth: tuple[float, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether the trial ended without a value."""
        return not self.values


def best_feasible(results: Sequence[Result]) -> float:
    """Return the smallest value of those that meet all constraints; infinity for none.

    Of noisy values, what the best would be without noise.
    """
    feasible = (
        (r.truth or r.values)[0]
        for r in results
        if not r.has_failed and all(c <= 0.0 for c in r.constraints)
    )
    return min(feasible, default=math.inf)


@dataclass(frozen=True)
class Task:
    """Something to be minimised.

    Args:
        name: Short name, as the command line knows it.
        description: One line for people.
        parameters: In the order in which they are asked for: one that depends on others comes
            after them.
        evaluate: What comes of the parameters that exist.
        score: What the results of a study are worth.
        n_objectives: Number of values of a result.
        n_constraints: Number of its constraints.
        larger_is_better: Whether scores should be large.
        best_known: The best score known, where one is.
        target: A score that is worth reaching: how many evaluations that takes is reported.
        may_fail: Whether some trials fail.
        known: Parameters that are tried first, by every method that learns from others' points.
        is_feasible: Whether parameters may be tried at all, which is known before an evaluation;
            None where all may.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    evaluate: Callable[[Params], Result]
    score: Callable[[Sequence[Result]], float] = best_feasible
    n_objectives: int = 1
    n_constraints: int = 0
    larger_is_better: bool = False
    best_known: float | None = None
    target: float | None = None
    may_fail: bool = False
    known: tuple[Params, ...] = ()
    is_feasible: Callable[[Params], bool] | None = None

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters exist under some choices only."""
        return any(parameter.when for parameter in self.parameters)


def active_parameters(task: Task, value_of: Callable[[Parameter], Any]) -> dict[str, Any]:
    """Return a value for each parameter that exists, given those before it."""
    params: Params = {}
    for parameter in task.parameters:
        if all(params.get(name, _NOTHING) in values for name, values in parameter.when.items()):
            params[parameter.name] = value_of(parameter)
    return params


_NOTHING = object()


def first_points(task: Task, n: int, seed: int) -> list[Params]:
    """Return random points that may be tried, the same for every method of a seed."""
    rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])

    def draw(parameter: Parameter) -> Any:
        if isinstance(parameter, Choice):
            return parameter.choices[rng.integers(len(parameter.choices))]
        low, high = parameter.low, parameter.high
        if parameter.integer:  # each whole number has an interval of its own
            low, high = low - 0.5, high + 0.5
        if parameter.log:
            number = math.exp(rng.uniform(math.log(low), math.log(high)))
        else:
            number = rng.uniform(low, high)
        number = min(max(number, parameter.low), parameter.high)
        return round(number) if parameter.integer else number

    points: list[Params] = []
    while len(points) < n:
        params = active_parameters(task, draw)
        if task.is_feasible is None or task.is_feasible(params):
            points.append(params)
    return points


def choices_of(n_choices: Sequence[int]) -> tuple[Choice, ...]:
    """Return unordered choices 0, 1, ... for each variable."""
    # Padded numbers: Optuna sorts parameters by name, and this keeps them in order.
    width = len(str(len(n_choices) - 1))
    return tuple(Choice(f"x{i:0{width}d}", tuple(range(k))) for i, k in enumerate(n_choices))


def codes_of(params: Params) -> Codes:
    """Return the codes (d,) of parameters made by ``choices_of``."""
    return np.array([params[name] for name in sorted(params)], dtype=np.int64)


def of_codes(problem: Problem, name: str | None = None, target: float | None = None) -> Task:
    """Return a problem on integer codes as a task; what may not be tried fails."""
    may_try = problem.is_feasible

    def is_feasible(params: Params) -> bool:
        return may_try is None or may_try(codes_of(params))

    def evaluate(params: Params) -> Result:
        return Result((problem(codes_of(params)),) if is_feasible(params) else ())

    return Task(
        name or problem.name,
        problem.description,
        choices_of(problem.n_choices),
        evaluate,
        best_known=problem.best_known,
        target=target,
        is_feasible=None if may_try is None else is_feasible,
    )


def relocated(problem: Problem, target: float | None = None) -> Task:
    """Return a problem on integer codes, its optimum moved to a random place, as a task."""
    moved = replace(problem.relocated(), description=f"{problem.description}; relocated")
    return of_codes(moved, f"{problem.name}-relocated", target)
