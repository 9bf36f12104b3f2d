"""``HeatImportanceEvaluator``: importances by the model of ``HeatSampler``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.importance._base import _get_distributions
from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.insight.sobol import importances
from heat_plugins.optuna.distributions import is_modelled, params_of, space_of
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.space import Array
from heat_plugins.spec.checks import check_whole
from heat_plugins.spec.model import Model, Scale, Structures

__all__ = ["HeatImportanceEvaluator"]


class HeatImportanceEvaluator(BaseImportanceEvaluator):
    """Importance of parameters as total effects of a Gaussian process with heat kernels.

    The importance of a parameter is the share of the variance of the fitted function in
    which the parameter takes part, by itself or together with others: its total Sobol index.
    All choices of a parameter count alike, and all places of a number on its own scale, so
    on a log scale all powers of ten. So it is about the whole space and not about where the
    trials are, though where they are few the model knows little.

    Importances lie between 0 and 1. Without interactions they add up to 1, otherwise to
    more; ``optuna.importance.get_param_importances`` divides by their sum unless it is told
    ``normalize=False``.

    Why this number and not the fitted rates: a rate says how fast the objective changes
    with a parameter, not how much; and first-order effects miss parameters that act only
    together. ``docs/optuna.md`` has the measurements.

    Example:
        .. code-block:: python

            optuna.importance.get_param_importances(
                study, evaluator=HeatImportanceEvaluator()
            )

    Args:
        structure: What is known about the objective, as in ``HeatSampler``.
        graphs: Which choices are next to each other, by parameter name.
        order: Choices in their order, by parameter name.
        quantitative: Names of categorical parameters whose choices are numbers with
            meaningful distances, perhaps with the scale ``"linear"`` or ``"log"``.
        seed: Seed for the points at which the model is looked at and, of more than 300
            trials, for those that it is fitted to. Without one the result is reproducible,
            too.
    """

    def __init__(
        self,
        *,
        structure: Structures = None,
        graphs: Mapping[str, Any] | None = None,
        order: Mapping[str, Sequence[Any]] | None = None,
        quantitative: Mapping[str, Scale] | Sequence[str] = (),
        seed: int | None = None,
    ) -> None:
        check_whole("seed", seed, optional=True)
        self._seed = 0 if seed is None else int(seed)
        self._model = Model(
            structure=structure,
            graphs={} if graphs is None else graphs,
            order={} if order is None else order,
            quantitative=quantitative,
        )

    def evaluate(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Callable[[FrozenTrial], float] | None = None,
    ) -> dict[str, float]:
        """Return the importance of each parameter, the most important first.

        Args:
            study: A study of any sampler. Complete trials count, unless their value is
                infinite or NaN.
            params: Names of the parameters to assess, from the trials that have all of
                them. None for those that all complete trials have in common.
            target: What to explain, as a number of a trial; None for the objective value.
        """
        if target is None and len(study.directions) > 1:
            raise ValueError(
                "If the `study` is being used for multi-objective optimization, "
                "please specify the `target`. For example, use "
                "`target=lambda t: t.values[0]` for the first objective value."
            )
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        # Of named parameters Optuna checks the names.
        distributions = _get_distributions(study, params) if params else {}
        if params is None:
            distributions = intersection_search_space(trials)
        # A parameter with a single value makes no difference.
        varying = {
            name: dist
            for name, dist in distributions.items()
            if not dist.single() and is_modelled(dist)
        }
        found = dict.fromkeys(distributions, 0.0)
        points, values = _history(trials, distributions, varying, target)
        if varying and len(points) > 1:
            rng = np.random.default_rng(self._seed)
            with one_blas_thread():
                effects = importances(space_of(varying), self._model, points, values, rng)
            found |= dict(zip(varying, effects.tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def _history(
    trials: Sequence[FrozenTrial],
    distributions: Mapping[str, BaseDistribution],
    varying: Mapping[str, BaseDistribution],
    target: Callable[[FrozenTrial], float] | None,
) -> tuple[Array, Array]:
    """Return points (n, d) and values (n,) of the trials that can be compared."""
    space = space_of(varying)
    points, values = [], []
    for trial in trials:
        if not all(name in trial.params for name in distributions):
            continue
        value = float(trial.values[0] if target is None else target(trial))
        if not np.isfinite(value):
            continue
        try:
            points.append(space.encode(params_of(varying, trial)))
        except ValueError:  # enqueued although the distribution does not have it
            continue
        values.append(value)
    return space.stack(points), np.array(values, dtype=float)
