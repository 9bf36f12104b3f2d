"""What the peers of other packages have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from heat_plugins.benchmarks.problems.tasks import Choice, Params, Result, Task

__all__ = [
    "Asked",
    "WorstForFailed",
    "fixed_values",
    "in_order",
    "one_objective_without_conditions",
    "only_value",
]

Handle = TypeVar("Handle")

FIRST_FAILURE = 1e3  # what a trial is worth that failed before any other ended


class Asked(Generic[Handle]):
    """Parameters that were asked for and not told yet, with what their package calls them."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Params, Handle]] = []

    def add(self, params: Params, handle: Handle) -> Params:
        """Remember parameters, and return them."""
        self._pairs.append((params, handle))
        return params

    def pop(self, params: Params) -> Handle | None:
        """Forget these very parameters, and return what belongs to them; None for others."""
        for i, (asked, _) in enumerate(self._pairs):
            if asked is params:  # equal ones may be under way twice
                return self._pairs.pop(i)[1]
        return None


def one_objective_without_conditions(task: Task) -> str | None:
    """Return why a method with one objective and a fixed set of parameters cannot solve it."""
    if task.n_objectives > 1 or task.n_constraints:
        return "it has one objective and no constraints"
    return "it takes no parameters that depend on others" if task.is_conditional else None


class WorstForFailed:
    """The only value of each result, for methods that know no failed trials.

    They learn the worst value so far instead, as users do who have to tell something. Before
    there is one, a value that is worse than any of our tables has.
    """

    def __init__(self) -> None:
        self._worst = -math.inf

    def __call__(self, result: Result) -> float:
        """Return the value to learn from."""
        if result.has_failed:
            return self._worst if math.isfinite(self._worst) else FIRST_FAILURE
        value = only_value(result)
        self._worst = max(self._worst, value)
        return value


def only_value(result: Result) -> float:
    """Return the value of a result that has one, and no constraints.

    Raises:
        ValueError: If there is more to the result, which would otherwise be lost in silence.
    """
    if len(result.values) != 1 or result.constraints:
        raise ValueError(
            "this method learns from one value and no constraints; "
            f"got {len(result.values)} values and {len(result.constraints)} constraints"
        )
    return float(result.values[0])


def in_order(task: Task, values: Mapping[str, Any]) -> Params:
    """Return values in the order of the task's parameters, which other packages do not keep."""
    return {p.name: values[p.name] for p in task.parameters if p.name in values}


def fixed_values(task: Task) -> Params:
    """Return the values of parameters that can have only one."""
    fixed: Params = {}
    for p in task.parameters:
        if isinstance(p, Choice) and len(p.choices) == 1:
            fixed[p.name] = p.choices[0]
        elif not isinstance(p, Choice) and p.low == p.high:
            fixed[p.name] = int(p.low) if p.integer else p.low
    return fixed
