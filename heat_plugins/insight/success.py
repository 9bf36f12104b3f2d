"""The probability that a trial succeeds: it does not fail, and it keeps its constraints.

Notation
    ===========  =====================================================================
    f            expected label of success (-1) and failure (1), as in failure_effects.py
    mu, s, t     posterior of a standardised constraint, and where its limit lies
    ===========  =====================================================================

    P(success) = (1 - f) / 2 * prod_c Phi((t_c - mu_c) / s_c)

Unlike in the acquisition, where f stands for a probability that failure is likelier than not, this
is how often trials succeed.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from heat_plugins.insight.sobol import FEW_EVALUATIONS, sobol_indices
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["SuccessProbability"]


class SuccessProbability:
    """The probability of success, a function of points, and the space it lives in.

    Attributes:
        space: The parameters: those of all ended trials where failures are modelled.
        conditions: When each exists.
        has_failures: Whether failures are modelled.
        has_constraints: Whether constraints are.
    """

    def __init__(self, model: StudyModel) -> None:
        self._model = model
        self.has_failures = model.failures is not None
        self.has_constraints = model.has_values and len(model.constraints) > 0
        data = model.data
        self.space: Space = data.failure_space if self.has_failures else data.space
        self.conditions: Conditions | None = None
        if self.has_failures:
            self.conditions = model.failure_conditions
        elif model.has_values:
            self.conditions = model.conditions
        # Of the parameters that trials with values have; failed ones may have more.
        self._columns = [self.space.column[name] for name in data.space.names]

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell."""
        return self.has_failures or self.has_constraints

    @usual_errors
    def __call__(self, points: Array) -> Array:
        """Return probabilities (n,) at points (n, d)."""
        probability = np.ones(len(points))
        failures = self._model.failures
        if failures is not None:
            label = failures.centre + failures.spread * failures.surrogate.mean(points)
            probability *= np.clip((1.0 - label) / 2.0, 0.0, 1.0)
        if self.has_constraints:
            for index in self._model.constraints.tolist():
                outcome = self._model.outcome(self._model.n_objectives + index)
                mean, variance = outcome.surrogate.posterior(points[:, self._columns])
                probability *= special.ndtr((outcome.zero - mean) / np.sqrt(variance))
        return probability

    def of_modelled(self, points: Array) -> Array:
        """Return probabilities (n,) at points (n, d) of the space of trials with values.

        Parameters that failed trials alone have do not exist there.
        """
        if not self.is_known:
            return np.ones(len(points))
        everything = np.full((len(points), len(self.space)), np.nan)
        everything[:, self._columns] = points
        return self(everything)

    def shares(self) -> Array:
        """Return the share (d,) of its variance in which each parameter takes part."""
        rng = np.random.default_rng(0)
        return sobol_indices(self.space, self, rng, self.conditions, FEW_EVALUATIONS).total
