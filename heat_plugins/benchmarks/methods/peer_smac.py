"""SMAC3, random forests with local search, by asking and telling."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any

from heat_plugins._extras import require
from heat_plugins.benchmarks.methods.peers import Asked, WorstForFailed, in_order
from heat_plugins.benchmarks.problems.tasks import Choice, Parameter, Params, Result, Task

__all__ = ["SmacSolver"]


class SmacSolver:
    """The facade for hyperparameters, told that the objective is deterministic.

    Its forest, acquisition function, search, share of random points (a fifth) and scale of
    values (between 0 and 1, then the logarithm, so that values below 0 do no harm) are those
    of the package, which also trains the forest at every eighth suggestion only. What departs
    from its defaults: no Sobol points at the beginning, since points are given; and a forest
    that works in this thread, as the studies share the processors already.

    A seed repeats within a process; between processes only if they have the same
    PYTHONHASHSEED, since its search goes through sets of configurations, which hash as text.

    Args:
        task: The task, with one objective; parameters may depend on others.
        seed: Of all components.
    """

    def __init__(self, task: Task, seed: int) -> None:
        smac = require("smac", extra="peers")
        self._task = task
        self._parameters = {parameter.name: parameter for parameter in task.parameters}
        folder = Path(tempfile.mkdtemp(prefix="smac-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._space = _space_of(task)
        scenario = smac.Scenario(
            self._space, deterministic=True, seed=seed, output_directory=folder
        )
        facade = smac.HyperparameterOptimizationFacade
        self._facade = facade(
            scenario,
            initial_design=facade.get_initial_design(scenario, n_configs=0),
            logging_level=False,  # leave Python's logging as it is
        )
        self._trial_seed = 0  # one for all, else it would take a result for a noisy one
        self._asked: Asked[Any] = Asked()
        self._value_of = WorstForFailed()

    def ask(self) -> Params:
        """Return the configuration of the next trial; of an exhausted space any one."""
        from smac.main.exceptions import ConfigurationSpaceExhaustedException
        from smac.runhistory.dataclasses import TrialInfo

        try:
            trial = self._next_trial()
        except (ConfigurationSpaceExhaustedException, StopIteration):
            trial = TrialInfo(self._space.sample_configuration(), seed=self._trial_seed)
        self._trial_seed = trial.seed
        params = {name: self._value(name, word) for name, word in dict(trial.config).items()}
        return self._asked.add(in_order(self._task, params), trial)

    def _next_trial(self) -> Any:
        from joblib import parallel_config

        with parallel_config(backend="sequential"), warnings.catch_warnings():
            # Its log has the mean time of the steps of a search, which may not have taken any.
            warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
            warnings.filterwarnings("ignore", "invalid value encountered", RuntimeWarning)
            return self._facade.ask()

    def tell(self, params: Params, result: Result) -> None:
        """Finish a trial, or add one."""
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        cost = self._value_of(result)
        trial = self._asked.pop(params)
        if trial is None:
            trial = TrialInfo(self._configuration(params), seed=self._trial_seed)
        self._facade.tell(trial, TrialValue(cost=cost), save=False)

    def _configuration(self, params: Params) -> Any:
        from ConfigSpace import Configuration

        values = {name: _word(self._parameters[name], value) for name, value in params.items()}
        return Configuration(self._space, values=values)

    def _value(self, name: str, word: Any) -> Any:
        """Return a value of the task for one of the package."""
        parameter = self._parameters[name]
        if isinstance(parameter, Choice):
            return parameter.choices[int(word)]
        return int(word) if parameter.integer else float(word)


def _space_of(task: Task) -> Any:
    """Return the parameters and conditions of a task in the words of ConfigSpace."""
    import ConfigSpace as cs

    space = cs.ConfigurationSpace()
    made = {p.name: _hyperparameter(p) for p in task.parameters}
    space.add(*made.values())
    parameters = {p.name: p for p in task.parameters}
    for child in task.parameters:
        conditions: list[Any] = [
            cs.InCondition(
                made[child.name],
                made[parent],
                [_word(parameters[parent], value) for value in values],
            )
            for parent, values in child.when.items()
        ]
        if len(conditions) > 1:
            conditions = [cs.AndConjunction(*conditions)]
        space.add(*conditions)
    return space


def _hyperparameter(parameter: Parameter) -> Any:
    import ConfigSpace as cs

    if isinstance(parameter, Choice):
        # Places stand for choices, which may be of any type.
        return cs.CategoricalHyperparameter(parameter.name, range(len(parameter.choices)))
    if parameter.integer:
        bounds = (int(parameter.low), int(parameter.high))
        return cs.Integer(parameter.name, bounds, log=parameter.log)
    return cs.Float(parameter.name, (parameter.low, parameter.high), log=parameter.log)


def _word(parameter: Parameter, value: Any) -> Any:
    """Return a value of the package for one of the task."""
    return parameter.choices.index(value) if isinstance(parameter, Choice) else value
