"""HEBO, a Gaussian process on embeddings of choices, from the package of that name."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import Any

import numpy as np

from heat_plugins.benchmarks.methods.peers import WorstForFailed, fixed_values, in_order
from heat_plugins.benchmarks.problems.tasks import Choice, Parameter, Params, Result, Task

__all__ = ["HeboSolver"]


class HeboSolver:
    """HEBO with random numbers that repeat.

    Points that are given count among its first random ones, of which there are one more than
    there are parameters. Where the fit of its Gaussian process ends in numbers that are none,
    HEBO says so on the standard output and goes on with random predictions;
    ``n_random_predictions`` counts the suggestions that were made like that.

    Args:
        task: The task, with one objective and without conditions.
        seed: Of every random generator that it draws from.
        optimizer: What fits the Gaussian process; None for HEBO's choice, whose steps have
            noise added. With 25 choices of 5 that noise drives the fit out of bounds more often
            than not; ``"adam"`` has none.

    Raises:
        ImportError: If the package is missing.
    """

    def __init__(self, task: Task, seed: int, optimizer: str | None = None) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from hebo.design_space.design_space import DesignSpace
                from hebo.optimizers.hebo import HEBO
        except ModuleNotFoundError as error:
            raise ImportError(
                f"this needs the package {error.name!r}, which is not installed; "
                "install it with: make peers"
            ) from error

        self._task = task
        self._fixed = fixed_values(task)
        self._value_of = WorstForFailed()
        self._moving = [p for p in task.parameters if p.name not in self._fixed]
        self._seeds = np.random.default_rng(seed)
        space = DesignSpace().parse([_definition(p) for p in self._moving])
        self._hebo = HEBO(space, scramble_seed=seed)
        if optimizer is not None:
            config = {**self._hebo.model_config, "optimizer": optimizer}
            self._hebo = HEBO(space, scramble_seed=seed, model_config=config)
        self.n_random_predictions = 0

    def ask(self) -> Params:
        """Return HEBO's suggestion."""
        said = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(said), _repeatable(self._seeds):
            warnings.simplefilter("ignore")  # of the libraries below, about each other
            row = self._hebo.suggest(n_suggestions=1).iloc[0]
        self.n_random_predictions += "output random predictions" in said.getvalue()
        params = {p.name: _value(p, row[p.name]) for p in self._moving}
        return in_order(self._task, params | self._fixed)

    def tell(self, params: Params, result: Result) -> None:
        """Add what came of parameters; HEBO itself leaves out values that are not finite."""
        import pandas as pd

        row = {p.name: _word(p, params[p.name]) for p in self._moving}
        value = self._value_of(result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about joining with a table that is still empty
            self._hebo.observe_new_data(pd.DataFrame([row]), np.array([[value]]))


@contextmanager
def _repeatable(seeds: np.random.Generator) -> Iterator[None]:
    """Seed what HEBO draws from and leave everything as it was found.

    That is NumPy's and PyTorch's global generators, and the genetic algorithm of pymoo, which
    by itself takes a seed from the system since its release 0.6.1.6. HEBO also leaves behind
    the jitter of GPyTorch that its last attempt had, which may be large.
    """
    import torch
    from gpytorch.settings import cholesky_jitter
    from hebo.acq_optimizers import evolution_optimizer

    seed = int(seeds.integers(2**31))
    numpy_state = np.random.get_state()
    minimize = evolution_optimizer.minimize
    jitter = cholesky_jitter.value(torch.float32), cholesky_jitter.value(torch.float64)
    with torch.random.fork_rng(devices=[]):
        try:
            np.random.seed(seed)
            torch.manual_seed(seed)
            evolution_optimizer.minimize = partial(minimize, seed=seed)
            yield
        finally:
            evolution_optimizer.minimize = minimize
            np.random.set_state(numpy_state)
            cholesky_jitter._set_value(
                float_value=jitter[0], double_value=jitter[1], half_value=None
            )


def _definition(parameter: Parameter) -> dict[str, Any]:
    """Return a parameter in HEBO's words."""
    if isinstance(parameter, Choice):
        # Places stand for choices, which may be of any type.
        categories = list(range(len(parameter.choices)))
        return {"name": parameter.name, "type": "cat", "categories": categories}
    if parameter.integer:
        kind = "pow_int" if parameter.log else "int"
    else:
        kind = "pow" if parameter.log else "num"
    return {"name": parameter.name, "type": kind, "lb": parameter.low, "ub": parameter.high}


def _word(parameter: Parameter, value: Any) -> Any:
    """Return a value of HEBO for one of the task."""
    return parameter.choices.index(value) if isinstance(parameter, Choice) else value


def _value(parameter: Parameter, word: Any) -> Any:
    """Return a value of the task for one of HEBO."""
    if isinstance(parameter, Choice):
        return parameter.choices[int(word)]
    # HEBO computes in single precision, which may end just outside.
    number = min(max(float(word), parameter.low), parameter.high)
    return round(number) if parameter.integer else number
