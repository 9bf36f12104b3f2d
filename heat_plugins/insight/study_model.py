"""The models of a study, fitted once for all that is asked of them.

Two of each objective. That of suggestions never pulls in good values, so that it knows the
surroundings of the best trial as the search does: for slices, fronts, and how well it predicts.
The one for the whole space (``fit_everywhere``) has the few trials far from the optimum in mind:
for effects, interactions and shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heat_plugins.acquisition.constrained_ranking import constrained_ranking, violations
from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.failure_model import FailureModel, fit_failures
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_transform import scale_of
from heat_plugins.gp.outcomes import Outcome, modelled_constraints
from heat_plugins.history import History, canonical
from heat_plugins.insight.effect_intervals import PairShare, pair_shares
from heat_plugins.insight.sobol import (
    FEW_EVALUATIONS,
    MOST_TRIALS,
    SobolIndices,
    fit_everywhere,
    scaled,
    sobol_indices,
)
from heat_plugins.insight.study_data import StudyData
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Bools, Indices
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.trial_conditions import conditions_from
from heat_plugins.suggest import outcome_of

__all__ = ["MOST_COMPARED", "InUnits", "StudyModel"]

MOST_COMPARED = 8  # parameters whose pairs are compared


@dataclass(frozen=True, eq=False)
class InUnits:
    """A surrogate that predicts in the units of users: offset + scale * standardised value.

    Args:
        surrogate: The posterior, of standardised values.
        offset: The value that is 0 when standardised.
        scale: What a standardised difference of 1 is; negative for what is maximised.
    """

    surrogate: Surrogate
    offset: float
    scale: float

    @staticmethod
    def of(surrogate: Surrogate, values: Array, standardised: Array, sign: float) -> InUnits:
        """Return it for values (n,), minimised, and what became of them (n,)."""
        finite = np.flatnonzero(np.isfinite(values))
        scale = scale_of(values, standardised)
        offset = 0.0
        if len(finite):
            best = finite[np.argmin(values[finite])]
            offset = float(values[best] - scale * standardised[best])
        return InUnits(surrogate, sign * offset, sign * scale)

    def __call__(self, standardised: Array) -> Array:
        """Return standardised values (n,) in the units of users."""
        values: Array = self.offset + self.scale * standardised
        return values

    def mean(self, points: Array) -> Array:
        """Return means (m,) at points (m, d)."""
        return self(self.surrogate.mean(points))

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Return means and deviations (m,) of the noise-free function at points (m, d)."""
        mean, variance = self.surrogate.posterior(points)
        return self(mean), abs(self.scale) * np.sqrt(variance)


class StudyModel:
    """The models of a study; each is fitted when it is first asked for.

    Args:
        data: The study.

    Attributes:
        data: The same.
        space: The parameters of trials with values.
    """

    def __init__(self, data: StudyData) -> None:
        self.data = data
        self.space = data.space
        self._cache = FitCache()
        self._outcomes: dict[int, Outcome] = {}
        self._everywhere: dict[int, InUnits | None] = {}
        self._shares: dict[int, SobolIndices] = {}
        self._pairs: dict[int, list[PairShare]] = {}

    @property
    def n_objectives(self) -> int:
        """How many objectives there are."""
        return len(self.data.objectives)

    @property
    def has_values(self) -> bool:
        """Whether there is anything to learn from: parameters, and trials with values."""
        return len(self.space) > 0 and len(self.data.history.points) > 0

    def has_finite_values(self, objective: int) -> bool:
        """Whether some trial has a finite value of an objective, and parameters."""
        known = np.isfinite(self.data.history.objectives[:, objective])
        return self.has_values and bool(known.any())

    @cached_property
    def conditions(self) -> Conditions | None:
        """When each parameter exists; None where all always do."""
        if self.data.conditions is not None:
            return self.data.conditions
        return learn_conditions(self.space, self.data.history.points)

    @cached_property
    def builder(self) -> KernelBuilder:
        """What makes the kernels."""
        return self._cache.builder_for(self.space, self.data.settings.model, self.conditions)

    @cached_property
    def history(self) -> History:
        """The trials with values: points without one make no interval smaller."""
        history = canonical(self.data.history, self.builder.symmetry())
        return replace(
            history,
            pending=history.pending[:0],
            failed=history.failed[:0],
            failed_after=None,
            failed_region_ids=None,
        )

    @cached_property
    def is_feasible(self) -> Bools:
        """(n,) which trials with values keep all constraints that are known of them."""
        kept: Bools = violations(self.data.history.constraint_values) <= 0.0
        return kept

    @cached_property
    def front(self) -> Indices:
        """The feasible trials that no other feasible one dominates; of one objective the best."""
        feasible = np.flatnonzero(self.is_feasible)
        values = self.data.history.objectives[feasible]
        return feasible[non_dominated(values)]

    @cached_property
    def best(self) -> int:
        """The row of the best trial; of several objectives one in the middle of the front."""
        history = self.data.history
        ranking = constrained_ranking(history.objectives, violations(history.constraint_values))
        if self.n_objectives == 1:
            return int(np.argmin(ranking[:, 0]))
        rows = self.front if len(self.front) else np.arange(len(ranking))
        ranks = np.argsort(np.argsort(ranking[rows], axis=0, kind="stable"), axis=0)
        return int(rows[np.argmin(ranks.max(axis=1))])

    @usual_errors
    def outcome(self, index: int) -> Outcome:
        """Return the model of an objective, or of a constraint after those, for suggestions."""
        if index not in self._outcomes:
            settings, history = self.data.settings, self.history
            self._outcomes[index] = outcome_of(self.builder, history, settings, self._cache, index)
        return self._outcomes[index]

    def objective(self, index: int) -> InUnits:
        """Return the same of an objective, in the units of users."""
        outcome = self.outcome(index)
        values = self.history.objectives[outcome.rows, index]
        sign = self.data.objectives[index].sign
        return InUnits.of(outcome.surrogate, values, outcome.values, sign)

    def worst_learnt(self, index: int) -> float | None:
        """Return what all worse values of an objective count as, in the units of users.

        None where no finite value is so bad that the model pulls it in.
        """
        outcome, model = self.outcome(index), self.objective(index)
        raw = self.data.objectives[index].sign * self.history.objectives[outcome.rows, index]
        learnt = model(outcome.values)
        known = np.isfinite(raw)
        tolerance = 1e-6 * float(np.ptp(learnt))
        if not np.any(np.abs(raw[known] - learnt[known]) > tolerance):
            return None
        return float(learnt[known][np.argmax(outcome.values[known])])

    @cached_property
    def constraints(self) -> Indices:
        """Which constraints are modelled: those that some trial breaks."""
        return modelled_constraints(self.history.constraint_values)[0]

    @usual_errors
    def everywhere(self, index: int) -> InUnits | None:
        """Return the model of an objective for the whole space; None without finite values."""
        if index not in self._everywhere:
            self._everywhere[index] = self._fitted_everywhere(index)
        return self._everywhere[index]

    def _fitted_everywhere(self, index: int) -> InUnits | None:
        if not self.has_finite_values(index):
            return None
        known = np.flatnonzero(np.isfinite(self.history.objectives[:, index]))
        # Not the best and the latest, as for a suggestion: every part of the space counts.
        order = np.random.default_rng(0).permutation(len(known))
        rows = known[np.sort(order[:MOST_TRIALS])]
        values = self.history.objectives[rows, index]
        standardised = scaled(values)
        surrogate = fit_everywhere(self.builder, self.history.points[rows], standardised)
        sign = self.data.objectives[index].sign
        return InUnits.of(surrogate, values, standardised, sign)

    def shares(self, index: int) -> SobolIndices:
        """Return the shares of parameters in the variance of an objective; zeros if unknown."""
        if index not in self._shares:
            model = self.everywhere(index)
            if model is None:
                nothing = np.zeros(len(self.space))
                return SobolIndices(nothing, nothing)
            self._shares[index] = sobol_indices(
                self.space,
                model.surrogate.mean,
                np.random.default_rng(0),
                self.conditions,
                FEW_EVALUATIONS,
            )
        return self._shares[index]

    def pairs(self, index: int) -> list[PairShare]:
        """Return the shares of pairs of the parameters that matter most for an objective."""
        if index not in self._pairs:
            model = self.everywhere(index)
            if model is None:
                return []
            columns = np.argsort(-self.shares(index).total, kind="stable")[:MOST_COMPARED]
            self._pairs[index] = pair_shares(
                self.space, model.surrogate.mean, columns.tolist(), self.conditions
            )
        return self._pairs[index]

    @cached_property
    def failure_conditions(self) -> Conditions | None:
        """When each parameter of all ended trials exists."""
        history = self.data.failure_history
        return conditions_from(self.data.failure_space, history.points, history.failed)

    @cached_property
    def failures(self) -> FailureModel | None:
        """The model of failures; None where none has failed that is anywhere in particular."""
        data = self.data
        if not data.settings.models_failures or not len(data.failure_space):
            return None
        builder = FitCache().builder_for(
            data.failure_space, data.settings.model, self.failure_conditions
        )
        history = data.failure_history.drop_incomplete(builder.optional)
        history = replace(
            canonical(history, builder.symmetry()), pending=data.failure_history.pending[:0]
        )
        return fit_failures(builder, history, data.settings.model_budget(builder), FitCache())
