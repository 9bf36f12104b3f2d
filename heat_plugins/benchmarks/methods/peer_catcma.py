"""CatCMA with margin, an evolution strategy for mixed spaces, from the package ``cmaes``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.methods.peers import Asked, WorstForFailed, fixed_values, in_order
from heat_plugins.benchmarks.problems.tasks import Choice, Number, Parameter, Params, Result, Task

__all__ = ["CatCmaSolver"]


class CatCmaSolver:
    """A population at a time, each member of which is asked for and told by itself.

    Its size, the first distribution and the rates of learning are those of the package. The
    strategy has no use for points that are not of its own population, and ignores them.

    Args:
        task: The task, with one objective and without conditions.
        seed: Of the strategy.
    """

    def __init__(self, task: Task, seed: int) -> None:
        cmaes = require("cmaes", extra="peers")
        self._task = task
        self._fixed = fixed_values(task)
        moving = [p for p in task.parameters if p.name not in self._fixed]
        numbers = [p for p in moving if isinstance(p, Number)]
        self._floats = [p for p in numbers if not p.integer]
        # The package says that whatever takes two values is better off as a category.
        self._integers = [p for p in numbers if p.integer and len(_values(p)) > 2]
        self._categories = [p for p in moving if p not in self._floats + self._integers]
        self._strategy = cmaes.CatCMAwM(
            x_space=[[_scaled(p, p.low), _scaled(p, p.high)] for p in self._floats] or None,
            z_space=[[_scaled(p, v) for v in _values(p)] for p in self._integers] or None,
            c_space=[len(_values(p)) for p in self._categories] or None,
            seed=seed,
        )
        self._asked: Asked[Any] = Asked()
        self._value_of = WorstForFailed()
        self._population: list[tuple[Any, float]] = []

    def ask(self) -> Params:
        """Return the next member of the population."""
        member = self._strategy.ask()
        params = dict(self._fixed)
        # A kind of variable that is not there comes as None.
        for number, x in zip(self._floats, () if member.x is None else member.x, strict=True):
            # The exponential of a logarithm may lie just outside.
            params[number.name] = min(max(_unscaled(number, x), number.low), number.high)
        for number, z in zip(self._integers, () if member.z is None else member.z, strict=True):
            params[number.name] = round(_unscaled(number, z))
        for category, one_hot in zip(
            self._categories, () if member.c is None else member.c, strict=True
        ):
            params[category.name] = _values(category)[int(np.argmax(one_hot))]
        return self._asked.add(in_order(self._task, params), member)

    def tell(self, params: Params, result: Result) -> None:
        """Learn from the population as soon as all of it is known."""
        value = self._value_of(result)
        member = self._asked.pop(params)
        if member is None:
            return
        self._population.append((member, value))
        if len(self._population) == self._strategy.population_size:
            self._strategy.tell(self._population)
            self._population = []


def _values(parameter: Parameter) -> tuple[Any, ...]:
    """Return what a parameter can be that is not a float."""
    if isinstance(parameter, Choice):
        return parameter.choices
    return tuple(range(int(parameter.low), int(parameter.high) + 1))


def _scaled(number: Number, value: float) -> float:
    return math.log(value) if number.log else value


def _unscaled(number: Number, value: float) -> float:
    return math.exp(value) if number.log else float(value)
