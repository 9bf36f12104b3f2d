"""One tuning run: configurations from ``suggest``, their costs from Kernel Tuner."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
from kernel_tuner.searchspace import Searchspace
from kernel_tuner.strategies.common import CostFunc

from heat_plugins.gp.fit import FitCache
from heat_plugins.history import NO_REGION
from heat_plugins.kernel_tuner.configurations import Configuration, Configurations
from heat_plugins.kernel_tuner.tuning_record import TuningRecord
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.space import Array
from heat_plugins.suggest import Problem, Settings, Suggestion, suggest

__all__ = ["TuningRun"]

MOST_OBJECTIVES = 4


class TuningRun:
    """Chooses configurations and has them evaluated.

    Attributes:
        best: The best configuration and its cost, of the first objective if there are several;
            None and infinity as long as all have failed.

    Args:
        func: Evaluates configurations; raises ``StopCriterionReached`` when the budget is spent.
        searchspace: The valid configurations.
        seed: Seed for everything random.
        settings: What the user chose.

    Raises:
        ValueError: If the settings do not fit the tunable parameters.
    """

    def __init__(
        self, func: CostFunc, searchspace: Searchspace, seed: int, settings: Settings
    ) -> None:
        self.best: tuple[Configuration | None, float] = None, math.inf
        self._func = func
        self._searchspace = searchspace
        self._seed = seed
        self._settings = settings
        self._configurations = Configurations(searchspace)
        self._configurations.check_names(settings.model)
        n_objectives = len(func.tuning_options.objective)
        if n_objectives > MOST_OBJECTIVES:
            raise ValueError(
                f"HeatStrategy takes at most {MOST_OBJECTIVES} objectives, got {n_objectives}"
            )
        settings.check_objectives(n_objectives)
        space = self._configurations.space
        self._record = TuningRecord(space, n_objectives)
        self._problem = Problem(space, listed=self._configurations.listed)
        self._cache = FitCache()
        if len(space):
            # Before anything is compiled: this refuses what does not fit the parameters.
            self._cache.builder_for(space, settings.model)

    def evaluate_all(self, x0: Any = None) -> None:
        """Evaluate configuration after configuration, until none is left.

        Args:
            x0: The one to begin with; None for a random one.
        """
        if x0 is not None:
            self._evaluate([self._given(x0)])
        while (n_left := self._searchspace.size - self._record.n_evaluated) > 0:
            # As many as the workers of a parallel runner can take at once, mostly one.
            workers = int(self._func.runner.available_parallelism())
            self._evaluate(self._batch(max(1, min(workers, n_left))))

    def _given(self, x0: Any) -> Suggestion:
        """Return the configuration of a user, as if it had been suggested."""
        names = self._searchspace.param_names
        configuration = tuple(x0) if isinstance(x0, tuple | list) else ()
        if not self._searchspace.is_param_config_valid(configuration):
            raise ValueError(
                f"Invalid x0: {x0}, expected a value for each of {names}, which together satisfy "
                "the restrictions"
            )
        return Suggestion(self._configurations.point(configuration), NO_REGION, is_new=True)

    def _batch(self, n: int) -> list[Suggestion]:
        """Return the next configurations, each chosen with those before it in mind."""
        if not len(self._problem.space):  # one configuration alone
            return [Suggestion(np.empty(0), NO_REGION, is_new=True)]
        batch: list[Suggestion] = []
        with one_blas_thread():
            for _ in range(n):
                pending: list[Array] = [suggestion.point for suggestion in batch]
                number = self._record.n_evaluated + len(batch)
                batch.append(
                    suggest(
                        self._problem,
                        self._record.history(pending),
                        self._settings,
                        np.random.default_rng([self._seed, number, zlib.crc32(b"")]),
                        self._cache,
                    )
                )
        return batch

    def _evaluate(self, batch: list[Suggestion]) -> None:
        """Have configurations evaluated, and note what came of them."""
        asked = [self._configurations.configuration(suggestion.point) for suggestion in batch]
        # That they are valid needs no second check.
        costs = self._func.eval_all(asked, check_restrictions=False)
        results = self._func.results[-len(asked) :]
        for suggestion, configuration, result, cost in zip(
            batch, asked, results, costs, strict=True
        ):
            each = [float(c) for c in np.atleast_1d(cost)]
            failed = self._record.add(suggestion.point, suggestion.region_id, result, each)
            if not failed and each[0] < self.best[1]:
                self.best = configuration, each[0]
