"""From a history to the next point: the whole pipeline in one pure function.

    history -> standardised values -> surrogates -> log expected improvement (of the
    hypervolume, times the probability of being feasible)
            -> genetic search inside the trust region -> point

The same space, history, settings and seed give the same point in any process; what is kept
between calls is a cache that changes the time and never the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from heat_plugins.acquisition.builder import Goal
from heat_plugins.acquisition.failures import log_success
from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.batch_function import BatchFunction
from heat_plugins.gp.fit import FitCache, KernelFit
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcomes import Outcome, Outcomes, fit_outcome, modelled_constraints
from heat_plugins.history import NO_REGION, History, canonical
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.memory import keep_freed_memory
from heat_plugins.search.branches import NEXT_TO_NOTHING, is_elsewhere
from heat_plugins.search.domain import Domain
from heat_plugins.search.genetic import SearchBudget, maximise, unseen_point
from heat_plugins.search.linear_constraints import LinearLimits
from heat_plugins.search.trust_region import TrustRegion, TrustRegionRules, replay
from heat_plugins.space import Allowed, Array, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.point_set import PointSet, both
from heat_plugins.space.trial_conditions import begin_otherwise, conditions_from
from heat_plugins.spec.model import Model

__all__ = [
    "FitCache",
    "History",
    "NothingAllowed",
    "Problem",
    "Settings",
    "Suggestion",
    "canonical",
    "objective_of",
    "suggest",
]


FAILURES = -1  # the cache of the model of failures, next to those of objectives and constraints


class NothingAllowed(ValueError):
    """No point was found that the user's own rule allows."""


@dataclass(frozen=True)
class Settings:
    """What a user can choose.

    Args:
        n_startup_trials: Random points before the first one that the model chooses.
        deterministic: Whether the same point always has the same value.
        trust_region: When the trust region changes; None for no trust region.
        search: How much work the search for the next point may do.
        max_model_points: Observations that the surrogate uses at the most.
        max_fit_points: Observations that its hyperparameters are fitted to at the most.
        model: The kernel and the structure of the surrogate.
    """

    n_startup_trials: int = 10
    deterministic: bool = False
    trust_region: TrustRegionRules | None = field(default_factory=TrustRegionRules)
    search: SearchBudget = field(default_factory=SearchBudget)
    max_model_points: int = 500
    max_fit_points: int = 300
    model: Model = field(default_factory=Model)

    def model_budget(self, builder: KernelBuilder) -> ModelBudget:
        """Return how many observations a model may have, in the space of a builder."""
        return ModelBudget(builder.fit_points(self.max_fit_points), self.max_model_points)


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The next point.

    Args:
        point: (d,) where to evaluate; NaN where a parameter will not be asked for.
        asked_from: Index of the trust region, to be remembered with the trial.
        is_new: False only where every point of the space is in the history already.
        chosen: The kernel of the first objective; None for a random point.
        region: The trust region that was searched.
        acquisition: Log of the expected improvement there; NaN for a random point.
        alternatives: (k, d) other new points that the search found good, the best first; None
            where there was no search.
        leaves_out_constraints: Whether trials break constraints that are not modelled.
        optional: The columns of parameters that do not exist at every point.
    """

    point: Array
    asked_from: int
    is_new: bool
    chosen: KernelFit | None = None
    region: TrustRegion | None = None
    acquisition: float = math.nan
    alternatives: Array | None = None
    leaves_out_constraints: bool = False
    optional: tuple[int, ...] = ()

    @property
    def candidates(self) -> Array:
        """(1 + k, d) the point, and what to take where somebody else has taken it."""
        if self.alternatives is None:
            return self.point[None]
        return np.concatenate([self.point[None], self.alternatives])


@dataclass(frozen=True, eq=False)
class Problem:
    """Where the next point may be, and what is of interest there.

    Args:
        space: The parameters.
        fixed: Coordinates that are given, by column; the rest is optimised for them.
        allowed: Tells which of points (n, d) may be proposed at all; None for all of them.
        limits: Linear limits that the point must keep; None for none.
        conditions: When each parameter exists, where that is known; None learns it from the
            history.
        reference: (M,) the worst value of each of several objectives that is of interest, NaN
            where none is; None for none at all.
    """

    space: Space
    fixed: Mapping[int, float] = field(default_factory=dict)
    allowed: Allowed | None = None
    limits: LinearLimits | None = None
    conditions: Conditions | None = None
    reference: Array | None = None


@usual_errors
def suggest(
    problem: Problem,
    history: History,
    settings: Settings,
    rng: np.random.Generator,
    cache: FitCache | None = None,
) -> Suggestion:
    """Return the next point to evaluate.

    Args:
        problem: The parameters, and where the point may be.
        history: What is known.
        settings: What the user chose.
        rng: Source of randomness; the only one.
        cache: Where to keep the last fit. It saves time and changes nothing else.
    """
    keep_freed_memory()
    space, fixed, limits = problem.space, problem.fixed, problem.limits
    conditions, allowed = problem.conditions, problem.allowed
    cache = FitCache() if cache is None else cache
    if conditions is None:
        conditions = conditions_from(space, history.points, history.failed)
    else:
        history = _as_declared(space, history, conditions)
        conditions = conditions if conditions.trees else None
    builder = cache.builder_for(space, settings.model, conditions)
    symmetry = builder.symmetry()
    optional = tuple(np.flatnonzero(builder.optional).tolist())
    new_beginning = begin_otherwise(space, history.points, history.failed, conditions)
    history = canonical(history.without_halves(builder.optional), symmetry)
    everything = np.concatenate([history.points, history.without_value])
    if conditions is not None:
        # A known point that has more than its conditions say is one that lacks it, to them.
        everything = np.concatenate([everything, conditions.deactivate(everything)])
    if limits is not None:
        allowed = both(limits.holds, allowed)
    avoid = PointSet(everything, symmetry, allowed, space.resolution)
    if new_beginning is not None and not fixed:
        avoid = avoid.restricted_to(new_beginning)
    whole = Domain(space, fixed=fixed, conditions=conditions, limits=limits)
    if whole.is_empty(history.points):
        raise NothingAllowed("no point was found that keeps the limits")
    if len(history.points) < max(settings.n_startup_trials, 1):
        return replace(_anything(whole, avoid, history, rng, allowed), optional=optional)

    goal = Goal(history, problem.reference)
    region = TrustRegion()
    if settings.trust_region is not None:
        region = replay(
            history.points, goal.merits, history.asked_from, space, settings.trust_region
        )
        region = goal.choose_centre(region, rng)
    outcomes = _outcomes(builder, history, settings, region, cache)
    domain = replace(whole, region=region.as_region(space))
    search = _Search(whole, avoid, _starts(history, goal, domain), settings.search, rng)
    # Whoever fixes a choice wants this branch; a front may go through many.
    has_branches = conditions is not None and not fixed and goal.has_one_objective
    acquisition = goal.acquisition(outcomes, region)
    around = _keep_away(avoid, history, region, space) if has_branches else avoid
    points = search(acquisition, domain, around)
    if around is not avoid and outcomes.expect_failure(points):
        # What the regions before have left over fails: better near one of them than there.
        points = search(acquisition)
    elif has_branches and _expects_little(outcomes, region, acquisition, points):
        other = region.next()
        branch_acquisition = goal.acquisition(outcomes, other)
        elsewhere = search(branch_acquisition, avoid=_keep_away(avoid, history, other, space))
        if len(elsewhere) and not outcomes.expect_failure(elsewhere):
            region, acquisition, points = other, branch_acquisition, elsewhere
    if not len(points) and domain.region is not None:
        points = search(acquisition)
    is_new = True
    if not len(points) and whole.size < math.inf:
        # The search met old points only: take any new one, or an old one if all are.
        unseen = unseen_point(whole, avoid, rng, history.points)
        if unseen is not None:
            points = unseen[None]
        else:
            nothing = PointSet(everything[:0], None, allowed)
            points = search(acquisition, avoid=nothing)
            is_new = False
    if not len(points):
        return replace(_anything(whole, avoid, history, rng, allowed), optional=optional)
    point = whole.settle(points[:1], rng)[0]
    value = float(acquisition(point[None])[0])
    return Suggestion(
        point,
        region.index,
        is_new,
        outcomes.objectives[0].chosen,
        region,
        value,
        points[1:],
        outcomes.leaves_out_constraints,
        optional,
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds points (k, d) that maximise an acquisition, in the whole domain or a part of it."""

    whole: Domain
    avoid: PointSet
    starts: Array
    budget: SearchBudget
    rng: np.random.Generator

    def __call__(
        self,
        acquisition: BatchFunction,
        domain: Domain | None = None,
        avoid: PointSet | None = None,
    ) -> Array:
        """Return the best points first, of all points that are not to be avoided by default."""
        domain = self.whole if domain is None else domain
        avoid = self.avoid if avoid is None else avoid
        return maximise(acquisition, domain, avoid, self.starts, self.rng, self.budget)


def _keep_away(avoid: PointSet, history: History, region: TrustRegion, space: Space) -> PointSet:
    """Return what a region should avoid: also what belongs to regions before it."""
    if not region.ended:
        return avoid
    ended = history.points[list(region.ended)]
    return avoid.restricted_to(lambda points: is_elsewhere(points, region.centre, ended, space))


def _as_declared(space: Space, history: History, conditions: Conditions) -> History:
    """Return the history with nothing where, by its conditions, a parameter does not exist."""
    lacks = np.isnan(history.points).any(axis=0) & ~conditions.is_optional
    if lacks.any():
        name = space.names[int(np.argmax(lacks))]
        raise ValueError(
            f"parameter {name!r} always exists by its conditions, but some trial lacks it"
        )
    return replace(
        history,
        points=conditions.deactivate(history.points),
        pending=conditions.deactivate(history.pending),
        failed=conditions.deactivate(history.failed),
    )


def _anything(
    whole: Domain,
    avoid: PointSet,
    history: History,
    rng: np.random.Generator,
    allowed: Allowed | None,
) -> Suggestion:
    """Return a random new point, or a random old one."""
    point = unseen_point(whole, avoid, rng, history.points)
    if point is not None:
        return Suggestion(point, NO_REGION, is_new=True)
    if allowed is None:
        return Suggestion(whole.sample(1, rng)[0], NO_REGION, is_new=False)
    nothing = PointSet(np.empty((0, len(whole.space))), None, allowed)
    point = unseen_point(whole, nothing, rng, history.points)
    if point is None:
        raise NothingAllowed("no point was found that is allowed")
    return Suggestion(point, NO_REGION, is_new=False)


def _expects_little(
    outcomes: Outcomes, region: TrustRegion, acquisition: BatchFunction, points: Array
) -> bool:
    """Whether a region has little left to give, if the first of (k, d) is its best new point.

    Only of one objective with exact values and without constraints: otherwise what the
    acquisition says has another unit, or never comes to an end.
    """
    is_exact = outcomes.objectives[0].is_deterministic and not outcomes.constraints
    if not len(points) or not region.is_searched or not is_exact:
        return False
    return float(acquisition(points[:1])[0]) < NEXT_TO_NOTHING


def _outcomes(
    builder: KernelBuilder,
    history: History,
    settings: Settings,
    region: TrustRegion,
    cache: FitCache,
) -> Outcomes:
    """Return the models of every objective and every constraint."""
    objectives = [
        objective_of(builder, history, settings, cache, index, centre=region.centre)
        for index in range(history.objectives.shape[1])
    ]
    budget = settings.model_budget(builder)
    constraints = []
    columns, leaves_out = modelled_constraints(history.constraint_values)
    for column in columns:
        index = len(objectives) + int(column)
        data = OutcomeData(
            history.points,
            history.constraint_values[:, column],
            history.noise_of(index),
            settings.deterministic,
            is_constraint=True,
        )
        constraints.append(
            fit_outcome(
                builder,
                data,
                budget,
                cache.of_outcome(index),
                centre=region.centre,
                without_value=history.without_value,
            )
        )
    success = log_success(builder, history, budget, cache.of_outcome(FAILURES))
    return Outcomes(objectives, constraints, history.pending, success, leaves_out)


@usual_errors
def objective_of(
    builder: KernelBuilder,
    history: History,
    settings: Settings,
    cache: FitCache,
    index: int = 0,
    *,
    centre: Array | None = None,
    evenly: bool = False,
) -> Outcome:
    """Return the model of one objective of a history that is not empty.

    ``evenly`` fits bad values as closely as good ones, and as they are. That is always so where
    they may matter, and where effects are to add up: bent values have no sums.
    """
    model = settings.model
    has_sums = model.is_auto or model.combination is not None
    data = OutcomeData(
        history.points,
        history.objectives[:, index],
        history.noise_of(index),
        settings.deterministic,
        evenly=evenly or has_sums or history.has_rivals_of_values,
    )
    return fit_outcome(
        builder,
        data,
        settings.model_budget(builder),
        cache.of_outcome(index),
        centre=centre,
        without_value=history.without_value,
    )


def _starts(history: History, goal: Goal, domain: Domain, n: int = 20) -> Array:
    """Return points that the search should vary: the best ones, and the region's centre."""
    if goal.has_one_objective:
        order = np.argsort(goal.merits[:, 0], kind="stable")
    else:
        ranks = np.argsort(np.argsort(goal.merits, axis=0, kind="stable"), axis=0)
        is_front = non_dominated(goal.merits)
        order = np.lexsort((ranks.sum(axis=1), ~is_front, goal.shortfall))
    best = history.points[order[:n]]
    return best if domain.region is None else np.concatenate([domain.region.centre[None], best])
