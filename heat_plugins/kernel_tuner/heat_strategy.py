"""``HeatStrategy``: how Kernel Tuner asks for configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
from kernel_tuner.searchspace import Searchspace
from kernel_tuner.strategies.common import CostFunc
from kernel_tuner.strategies.wrapper import OptAlgWrapper

from heat_plugins.kernel_tuner.configurations import Configuration
from heat_plugins.kernel_tuner.tuning_run import TuningRun
from heat_plugins.spec.checks import check_whole
from heat_plugins.suggest import SettingArguments, Settings

__all__ = ["HeatStrategy"]

# What every strategy of Kernel Tuner takes; Kernel Tuner itself sees to all but the last.
COMMON_OPTIONS = ("max_fevals", "time_limit", "searchspace_construction_options", "x0")


class HeatStrategy:
    """Bayesian optimisation with heat kernels, as a strategy of Kernel Tuner.

    A Gaussian process whose kernel is the heat kernel on the graph of choices is fitted to the
    configurations that have been measured, and the next one is where the log expected improvement
    is largest inside a trust region around the best so far. Only configurations that keep the
    restrictions are looked at, and none twice. Where kernels fail to compile or to run is learnt,
    and avoided.

    Example:
        .. code-block:: python

            results, env = kernel_tuner.tune_kernel(
                "vector_add", source, size, args, tune_params, restrictions=restrictions,
                strategy=HeatStrategy(seed=1), strategy_options={"max_fevals": 100},
            )

    ``strategy_options`` may hold ``max_fevals``, ``time_limit`` and ``x0``, the configuration to
    begin with, as for other strategies, and any of the settings here, which then count for this
    run.

    Args:
        seed: Seed for everything random: the same one gives the same configurations in any
            process. None for the ``seed`` of ``tune_kernel``, and a new one where that is None.
        **settings: What ``HeatSampler`` and ``heat_generation_strategy`` take under the same
            names: ``n_startup_trials``, ``deterministic_objective``, ``consider_failed_trials``,
            ``trust_region``, ``kernel``, ``structure``, ``ard``, ``graphs``, ``order``,
            ``quantitative``, ``mixing``, ``numeric_choices``, ``acquisition``,
            ``hyperparameters``, ``search`` and ``embedding``; ``docs/kernel-tuner.md`` says what
            they are. A trial is the evaluation of a configuration.

    Raises:
        TypeError, ValueError: If a setting is not what it should be.
    """

    # Configurations come as they are: no scaling to numbers, no rounding to the nearest valid one.
    costfunc_kwargs: ClassVar[dict[str, bool]] = {"scaling": False, "snap": False}

    def __init__(self, *, seed: int | None = None, **settings: Unpack[SettingArguments]) -> None:
        check_whole("seed", seed, optional=True)
        _check_names(settings, "HeatStrategy")
        Settings.of(0, **settings)  # refuses what is not possible
        self._seed = seed
        self._settings = settings

    def tune(self, searchspace: Searchspace, runner: Any, tuning_options: Any) -> list[Any]:
        """Evaluate configurations until the budget is spent: what ``tune_kernel`` calls."""
        results: list[Any] = OptAlgWrapper(self).tune(searchspace, runner, tuning_options)
        return results

    def __call__(
        self, func: CostFunc, searchspace: Searchspace
    ) -> tuple[Configuration | None, float]:
        """Evaluate configurations until none is left; ``func`` raises when the budget is spent.

        Returns:
            The best configuration and its cost, of the first objective if there are several; None
            and infinity where all failed.
        """
        options: dict[str, Any] = dict(func.tuning_options.strategy_options)
        _check_names(options, "strategy_options", COMMON_OPTIONS)
        own = {name: value for name, value in options.items() if name not in COMMON_OPTIONS}
        seed = self._seed_of(func)
        settings = Settings.of(seed, **{**self._settings, **own})
        run = TuningRun(func, searchspace, seed, settings)
        run.evaluate_all(options.get("x0"))
        return run.best

    def _seed_of(self, func: CostFunc) -> int:
        """Return the seed of the strategy, of ``tune_kernel``, or a new one."""
        given = func.tuning_options.get("seed") if self._seed is None else self._seed
        check_whole("seed", given, optional=True)
        return int(np.random.SeedSequence().generate_state(1)[0]) if given is None else int(given)


def _check_names(given: Mapping[str, Any], where: str, also: Sequence[str] = ()) -> None:
    """Refuse options that do not exist, in the words of Kernel Tuner's own strategies."""
    allowed = [*SettingArguments.__annotations__, *also]
    for name in given:
        if name not in allowed:
            raise ValueError(f"Unrecognized option {name} in {where} (allowed: {allowed})")
