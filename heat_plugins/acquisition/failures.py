"""Where trials fail: a Gaussian process of success and failure.

Notation
    ===========  =====================================================================
    n, q         complete and failed trials
    label        -1 for a complete trial, 1 for a failed one
    ===========  =====================================================================

Labels are modelled like a noisy constraint that is kept where the expected label is below 0, the
least-squares form of classification (Rasmussen and Williams, 2006, section 6.5). Their noise is
learnt: where failures do not depend on the parameters all of it is noise, the probability is
the same everywhere, and nothing is lost.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.acquisition.feasibility import LogFeasibility
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.fit import FitCache, fitted
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.history import History
from heat_plugins.kernels.build import KernelBuilder

__all__ = ["log_success"]


def log_success(
    builder: KernelBuilder, history: History, budget: ModelBudget, cache: FitCache
) -> LogFeasibility | None:
    """Return the log probability that a trial does not fail; None where none has failed.

    Args:
        builder: Makes the kernels.
        history: What is known.
        budget: How many trials the model may have.
        cache: Where the last fit is kept.
    """
    if not len(history.failed):
        return None
    points, has_failed = history.in_order_of_ending()
    labels = np.where(has_failed, 1.0, -1.0)
    data = OutcomeData(points, labels, deterministic=False)
    chosen = fitted(builder, data, budget.fit_points, cache)
    points, labels = points[-budget.model_points :], labels[-budget.model_points :]
    centre, spread = labels.mean(), labels.std() or 1.0
    surrogate = Surrogate(
        chosen.kernel,
        chosen.hyperparameters,
        points,
        (labels - centre) / spread,
        history.pending,
    )
    return LogFeasibility([surrogate], [-centre / spread])
