"""The Gaussian process of success and failure, for suggestions and for explanations.

Notation
    ===========  =====================================================================
    n, q         complete and failed trials
    label        -1 for a complete trial, 1 for a failed one
    y            (n + q,) standardised labels: (label - centre) / spread
    ===========  =====================================================================

Labels are modelled like a noisy outcome, the least-squares form of classification (Rasmussen and
Williams, 2006, section 6.5). Their noise is learnt: where failures do not depend on the
parameters all of it is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.fit import FitCache, KernelFit, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.transfer_kernel import EarlierModel
from heat_plugins.history import History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array

__all__ = ["FailureModel", "fit_failures"]

LEAST_SKILL = 0.15  # share of the variance of labels that the others must explain


@dataclass(frozen=True, eq=False)
class FailureModel:
    """The model of success and failure.

    Args:
        surrogate: The posterior of y.
        kernel_fit: Its kernel.
        points: (m, d) the trials that the posterior uses.
        values: (m,) y of these.
        centre: Mean of their labels.
        spread: Deviation of their labels; 1 where all are the same.
    """

    surrogate: Surrogate
    kernel_fit: KernelFit
    points: Array
    values: Array
    centre: float
    spread: float

    @property
    def boundary(self) -> float:
        """The label 0 on the scale of y: a trial is expected to fail above it."""
        return -self.centre / self.spread

    @property
    def is_explained_by_chance(self) -> bool:
        """Whether other trials do not predict a trial's label: leave-one-out skill is too low."""
        missed = self.values - self.surrogate.leave_one_out_means(self.values)
        return bool(missed @ missed > (1.0 - LEAST_SKILL) * (self.values @ self.values))


def fit_failures(
    builder: KernelBuilder,
    history: History,
    budget: ModelBudget,
    cache: FitCache,
    earlier: Sequence[EarlierModel] = (),
) -> FailureModel | None:
    """Return the model of failures; None where no trial has failed, nor one of ``earlier``."""
    if not len(history.failed) and not earlier:
        return None
    points, has_failed = history.in_order_of_ending()
    labels = np.where(has_failed, 1.0, -1.0)
    data = OutcomeData(points, labels, deterministic=False)
    kernel_fit = select_model(builder, data, budget.fit_points, cache, earlier)
    points, labels = points[-budget.model_points :], labels[-budget.model_points :]
    centre, spread = labels.mean(), labels.std() or 1.0
    values = (labels - centre) / spread
    surrogate = Surrogate(
        kernel_fit.kernel, kernel_fit.hyperparameters, points, values, history.pending
    )
    return FailureModel(surrogate, kernel_fit, points, values, centre, spread)
