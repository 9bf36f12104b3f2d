"""Models of earlier studies: each is fitted once, as a study of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heat_plugins.gp.failure_model import fit_failures
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.gp.transfer_kernel import EarlierModel
from heat_plugins.history import EarlierStudy, History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Bools

__all__ = ["EarlierModels"]

FEWEST_POINTS = 50  # of each study in its model; of several they share what one may have
FEWEST_VALUES = 3  # that say more than nothing
# Share of the variance of its own values that a study must predict, each from the others, to be
# expected to tell as much as any. The weight is the square of what it has of that.
ENOUGH_SKILL = 0.3
LEAST_WEIGHT = 0.01
LEAST_RELATIVE_WEIGHT = 0.25  # of the largest one; studies below that would only distract


class EarlierModels:
    """What earlier studies know, outcome by outcome.

    Args:
        builder: Makes the kernels, those of the present study.
        studies: The earlier ones.
        deterministic: What the user says of the present one.
        budget: How many observations the model of the present one may have.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        studies: tuple[EarlierStudy, ...],
        deterministic: bool | None,
        budget: ModelBudget,
    ) -> None:
        self._builder, self._deterministic = builder, deterministic
        self._studies = [_Placed(study, builder.optional) for study in studies]
        self._budget = ModelBudget(
            budget.fit_points, max(FEWEST_POINTS, budget.model_points // max(len(studies), 1))
        )

    def of_outcome(
        self, index: int, cache: FitCache, boundary: float = -np.inf
    ) -> tuple[EarlierModel, ...]:
        """Return the models of an objective, or of a constraint after those.

        Args:
            index: Of the outcome.
            cache: Of the outcome.
            boundary: Where bad values begin, if that is known.
        """
        return _remembered(
            cache, lambda study: self._outcome(study, index, boundary), self._studies
        )

    def expected_share(self, cache: FitCache) -> float:
        """Return from 0 to 1 how much the studies are expected to tell of the first objective."""
        return min(1.0, sum(model.weight for model in self.of_outcome(0, cache)))

    def of_failures(self, cache: FitCache) -> tuple[EarlierModel, ...]:
        """Return the models of failures, where those do not look like chance."""
        return _remembered(cache, self._failures, self._studies)

    def _outcome(self, study: _Placed, index: int, boundary: float) -> EarlierModel | None:
        if index >= study.outcomes.shape[1]:
            return None
        is_known = study.is_complete & ~np.isnan(study.outcomes[:, index])
        points, values = study.points[is_known], study.outcomes[is_known, index]
        if len(values) < FEWEST_VALUES or np.all(values == values[0]):
            return None
        data = OutcomeData(points, values, None, self._deterministic, boundary=boundary)
        outcome = fit_outcome(self._builder, data, self._budget, FitCache())
        values = outcome.values[np.isin(outcome.rows, outcome.modelled)]
        skill = outcome.surrogate.skill(values)
        weight = float(np.clip((max(skill, 0.0) / ENOUGH_SKILL) ** 2, LEAST_WEIGHT, 1.0))
        return EarlierModel(study.name, outcome.surrogate, study.lacking, outcome.zero, weight)

    def _failures(self, study: _Placed) -> EarlierModel | None:
        points = study.points[study.is_complete]
        history = History.of(self._builder.space, points, np.zeros(len(points)))
        history = replace(history, failed=study.failed, failed_after=study.failed_after)
        history = history.drop_incomplete(self._builder.optional)
        found = fit_failures(self._builder, history, self._budget, FitCache())
        if found is None or found.is_explained_by_chance:
            return None
        return EarlierModel(study.name, found.surrogate, study.lacking, found.boundary)


class _Placed:
    """An earlier study with some coordinate in the columns that it did not have."""

    def __init__(self, study: EarlierStudy, optional: Bools) -> None:
        self.name, self.lacking = study.name, study.lacking
        self.points = self._with_all_columns(study.points)
        self.failed = self._with_all_columns(study.failed)
        self.outcomes = study.outcomes
        self.is_complete = ~np.isnan(self.points[:, ~optional]).any(axis=1)
        n_complete = np.concatenate([[0], np.cumsum(self.is_complete)])
        after = study.failed_after
        self.failed_after = None if after is None else n_complete[after]

    def _with_all_columns(self, points: Array) -> Array:
        return np.where(self.lacking, 0.0, points)


def _remembered(
    cache: FitCache,
    model_of: Callable[[_Placed], EarlierModel | None],
    studies: list[_Placed],
) -> tuple[EarlierModel, ...]:
    """Return the models of studies that have one, made once."""
    if cache.earlier is None:
        found = [model for study in studies if (model := model_of(study)) is not None]
        least = LEAST_RELATIVE_WEIGHT * max((model.weight for model in found), default=0.0)
        cache.earlier = tuple(model for model in found if model.weight >= least)
    return cache.earlier
