"""Samplers of Optuna as methods: ours and its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import TrialState

from heat_plugins.benchmarks.methods.method import Method, Solver, anything
from heat_plugins.benchmarks.problems.tasks import (
    Choice,
    Parameter,
    Params,
    Result,
    Task,
    active_parameters,
)

__all__ = ["OptunaSolver", "distribution_of", "from_optuna"]


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """Return a parameter in Optuna's words."""
    if isinstance(parameter, Choice):
        return CategoricalDistribution(parameter.choices)
    if parameter.integer:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log)


class OptunaSolver:
    """A study, asked parameter by parameter as an objective would.

    Args:
        task: The task.
        sampler: Its sampler.
    """

    def __init__(self, task: Task, sampler: BaseSampler) -> None:
        self._task = task
        self._distributions = {p.name: distribution_of(p) for p in task.parameters}
        directions = [StudyDirection.MINIMIZE] * task.n_objectives
        self._study = optuna.create_study(directions=directions, sampler=sampler)
        self._asked: list[tuple[Params, optuna.Trial]] = []  # and not yet told

    @property
    def study(self) -> optuna.Study:
        """The study."""
        return self._study

    def ask(self) -> Params:
        """Return the parameters of a new trial."""
        trial = self._study.ask()

        def suggest(parameter: Parameter) -> Any:
            return trial._suggest(parameter.name, self._distributions[parameter.name])

        params = active_parameters(self._task, suggest)
        self._asked.append((params, trial))
        return params

    def tell(self, params: Params, result: Result) -> None:
        """Finish the trial that was asked for, or add a finished one."""
        trial = next((trial for asked, trial in self._asked if asked is params), None)
        if trial is not None:
            self._asked = [(asked, other) for asked, other in self._asked if other is not trial]
            for i, constraint in enumerate(result.constraints):
                trial.set_constraint(f"c{i}", constraint)
            if result.has_failed:
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, result.values)
            return
        if result.constraints:
            # Constraints go with a trial that is running, so one is made to order.
            self._study.enqueue_trial(params)
            self.tell(self.ask(), result)
            return
        distributions = {name: self._distributions[name] for name in params}
        self._study.add_trial(
            optuna.trial.create_trial(
                params=params,
                distributions=distributions,
                values=None if result.has_failed else list(result.values),
                state=TrialState.FAIL if result.has_failed else TrialState.COMPLETE,
            )
        )


def from_optuna(
    description: str,
    make: Callable[..., BaseSampler],
    why_not: Callable[[Task], str | None] = anything,
    knows_feasible: bool = False,
    **arguments: Any,
) -> Method:
    """Return a method of the function that makes a sampler of ``seed`` and other arguments.

    Args:
        description: One line for people.
        make: Makes a sampler.
        why_not: Why it cannot solve a task.
        knows_feasible: Whether the sampler takes ``is_feasible``: what may be tried at all.
        **arguments: Others of the sampler.
    """

    def start(task: Task, seed: int) -> Solver:
        known = {"is_feasible": task.is_feasible} if knows_feasible else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return OptunaSolver(task, make(seed=seed, **known, **arguments))

    return Method(description, start, why_not)
