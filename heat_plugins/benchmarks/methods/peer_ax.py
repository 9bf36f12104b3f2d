"""Ax's own strategies, and ours in Ax, through its Client."""

from __future__ import annotations

import warnings
from typing import Any

from heat_plugins._extras import require
from heat_plugins.benchmarks.methods.peers import Asked, in_order, only_value
from heat_plugins.benchmarks.problems.tasks import (
    Choice,
    Parameter,
    Params,
    Result,
    Task,
    first_points,
)

__all__ = ["AxSolver", "start_default", "start_heat", "start_mixed"]

METRIC = "y"


def start_default(task: Task, seed: int) -> AxSolver:
    """Return a client that chooses its strategy by itself."""
    return AxSolver(task, seed)


def start_mixed(task: Task, seed: int) -> AxSolver:
    """Return a client with Ax's generator for mixed spaces, ``Generators.BO_MIXED``."""
    require("ax", extra="ax")
    from ax.adapter.registry import Generators
    from ax.generation_strategy.generation_node import GenerationNode
    from ax.generation_strategy.generation_strategy import GenerationStrategy
    from ax.generation_strategy.generator_spec import GeneratorSpec

    spec = GeneratorSpec(generator_enum=Generators.BO_MIXED)
    node = GenerationNode(name="BO_MIXED", generator_specs=[spec], should_deduplicate=True)
    return AxSolver(task, seed, GenerationStrategy(name="BO_MIXED", nodes=[node]))


def start_heat(task: Task, seed: int) -> AxSolver:
    """Return a client with our strategy as it comes."""
    require("ax", extra="ax")
    from heat_plugins.ax import heat_generation_strategy

    return AxSolver(task, seed, heat_generation_strategy(seed=seed))


class AxSolver:
    """A client whose trials are attached or asked for, one arm each.

    Results are told with a standard error of 0, as the objective is deterministic.

    Args:
        task: The task, with one objective and without conditions.
        seed: Of the client.
        strategy: Its generation strategy; None for what it chooses by itself. That would begin
            with the centre of the space even where trials are given, which is switched off.
    """

    def __init__(self, task: Task, seed: int, strategy: Any = None) -> None:
        require("ax", extra="ax")
        from ax.api.client import Client

        self._task = task
        self._seed = seed
        self._client = Client(random_seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.configure_experiment([_config_of(p) for p in task.parameters])
            self._client.configure_optimization(objective=f"-{METRIC}")
            if strategy is not None:
                self._client.set_generation_strategy(strategy)
            else:
                self._client.configure_generation_strategy("fast", initialize_with_center=False)
        self._asked: Asked[int] = Asked()

    def ask(self) -> Params:
        """Return the arm of a new trial; of an exhausted space any one."""
        from ax.exceptions.core import SearchSpaceExhausted

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of linear algebra, and of its own deprecations
            try:
                ((index, arm),) = self._client.get_next_trials(max_trials=1).items()
            except SearchSpaceExhausted:
                return first_points(self._task, 1, self._seed)[0]
        params = {p.name: _value(p, arm[p.name]) for p in self._task.parameters}
        return self._asked.add(in_order(self._task, params), index)

    def tell(self, params: Params, result: Result) -> None:
        """Complete a trial, or attach one."""
        index = self._asked.pop(params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if index is None:
                arm = {p.name: _word(p, params[p.name]) for p in self._task.parameters}
                index = self._client.attach_trial(parameters=arm)
            if result.has_failed:
                self._client.mark_trial_failed(index)
            else:
                self._client.complete_trial(index, raw_data={METRIC: (only_value(result), 0.0)})


def _config_of(parameter: Parameter) -> Any:
    """Return a parameter in Ax's words."""
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    if isinstance(parameter, Choice):
        return ChoiceParameterConfig(
            name=parameter.name,
            values=[_word(parameter, choice) for choice in parameter.choices],
            parameter_type="str",
            is_ordered=False,
        )
    return RangeParameterConfig(
        name=parameter.name,
        bounds=(parameter.low, parameter.high),
        parameter_type="int" if parameter.integer else "float",
        scaling="log" if parameter.log else "linear",
    )


def _word(parameter: Parameter, value: Any) -> Any:
    """Return a value of Ax for one of the task."""
    # Words stand for choices, since Ax would take numbers for quantities.
    return f"c{parameter.choices.index(value)}" if isinstance(parameter, Choice) else value


def _value(parameter: Parameter, word: Any) -> Any:
    """Return a value of the task for one of Ax."""
    if isinstance(parameter, Choice):
        return parameter.choices[int(word[1:])]
    return int(word) if parameter.integer else float(word)
