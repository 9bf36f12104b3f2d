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
from heat_plugins.gp.failure_model import fit_failures
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
    "outcome_of",
    "suggest",
]


FEWEST_STARTUP, MOST_STARTUP = 5, 10  # random points at first
N_DENIED = 200  # points with parameters that later trials lack, of which one may be new
FAILURES = -1  # the cache of the model of failures, next to those of objectives and constraints


class NothingAllowed(ValueError):
    """No point was found that the user's own rule allows."""


@dataclass(frozen=True)
class Settings:
    """What a user can choose.

    Args:
        n_startup_trials: Random points before the first one that the model chooses, failed
            ones included; None for as many as there are parameters, from 5 to 10.
        deterministic: Whether the same point always has the same value.
        trust_region: When the trust region changes; None for no trust region.
        search: How much work the search for the next point may do.
        max_model_points: Observations that the surrogate uses at the most.
        max_fit_points: Observations that its hyperparameters are fitted to at the most.
        model: The kernel and the structure of the surrogate.
        models_failures: Whether failed trials say where trials fail.
    """

    n_startup_trials: int | None = None
    deterministic: bool = False
    trust_region: TrustRegionRules | None = field(default_factory=TrustRegionRules)
    search: SearchBudget = field(default_factory=SearchBudget)
    max_model_points: int = 500
    max_fit_points: int = 300
    model: Model = field(default_factory=Model)
    models_failures: bool = True

    def is_starting_up(self, n_parameters: int, n_complete: int, n_failed: int = 0) -> bool:
        """Whether the next point is random: as long as too little, or no value, is known."""
        n_startup = self.n_startup_trials
        if n_startup is None:
            n_startup = min(max(n_parameters, FEWEST_STARTUP), MOST_STARTUP)
        return n_complete == 0 or n_complete + n_failed < n_startup

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
    fits: Mapping[int, KernelFit] | None = None,
) -> Suggestion:
    """Return the next point to evaluate.

    Args:
        problem: The parameters, and where the point may be.
        history: What is known.
        settings: What the user chose.
        rng: Source of randomness; the only one.
        cache: Where to keep the last fit. It saves time and changes nothing else.
        fits: Kernels of objectives, and of constraints after those, that have been fitted to
            this history already.
    """
    keep_freed_memory()
    cache = FitCache() if cache is None else cache
    task = _Task.of(problem, history, settings, cache)
    if task.whole.is_empty(task.history.points):
        raise NothingAllowed("no point was found that keeps the limits")
    n_complete, n_failed = len(task.history.points), len(task.history.failed)
    if settings.is_starting_up(len(problem.space), n_complete, n_failed):
        return task.any_point(rng)
    goal = Goal(task.history, problem.reference)
    region = TrustRegion()
    if settings.trust_region is not None:
        region = replay(
            task.history.points,
            goal.merits,
            task.history.asked_from,
            problem.space,
            settings.trust_region,
            task.history.failed_after if settings.models_failures else None,
        )
        region = goal.choose_centre(region, rng)
    outcomes = _outcomes(task.builder, task.history, settings, region, cache, fits or {})
    domain = replace(task.whole, region=region.as_region(problem.space))
    search = _Search(task, _starts(task.history, goal, domain), settings.search, rng)
    region, acquisition, points = _best_points(search, goal, outcomes, region, domain)
    is_new, unseen = True, None
    if not len(points) and task.whole.size < math.inf:
        # The search met old points only: take any new one, or an old one if all are.
        unseen = task.unseen_point(rng)
        is_new = unseen is not None
        points = search(acquisition, avoid=task.nothing) if unseen is None else unseen[None]
    if not len(points):
        return task.any_point(rng)
    point = points[0] if unseen is not None else task.whole.settle(points[:1], rng)[0]
    return Suggestion(
        point,
        region.index,
        is_new,
        outcomes.objectives[0].chosen,
        region,
        float(acquisition(point[None])[0]),
        points[1:],
        outcomes.leaves_out_constraints,
        task.optional,
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """A problem, with what its history says about it.

    Args:
        builder: Makes the kernels.
        history: What is known, with one point for all that are the same.
        whole: Where the next point may be.
        avoid: Where it must not be.
        allowed: Tells which points may be proposed at all; None for all of them.
    """

    builder: KernelBuilder
    history: History
    whole: Domain
    avoid: PointSet
    allowed: Allowed | None

    @staticmethod
    def of(problem: Problem, history: History, settings: Settings, cache: FitCache) -> _Task:
        """Learn when parameters exist, and which points need not be proposed again."""
        space, fixed, limits = problem.space, problem.fixed, problem.limits
        conditions, allowed = problem.conditions, problem.allowed
        if conditions is None:
            conditions = conditions_from(space, history.points, history.failed)
        else:
            history = _as_declared(space, history, conditions)
            conditions = conditions if conditions.trees else None
        builder = cache.builder_for(space, settings.model, conditions)
        new_beginning = begin_otherwise(space, history.points, history.failed, conditions)
        history = canonical(history.without_halves(builder.optional), builder.symmetry())
        known = np.concatenate([history.points, history.without_value])
        if conditions is not None:
            # A known point that has more than its conditions say is one that lacks it, to them.
            known = np.concatenate([known, conditions.deactivate(known)])
        if limits is not None:
            allowed = both(limits.holds, allowed)
        avoid = PointSet(known, builder.symmetry(), allowed, space.resolution)
        if new_beginning is not None and not fixed:
            avoid = avoid.restricted_to(new_beginning)
        whole = Domain(space, fixed=fixed, conditions=conditions, limits=limits)
        return _Task(builder, history, whole, avoid, allowed)

    @property
    def optional(self) -> tuple[int, ...]:
        """The columns of parameters that do not exist at every point."""
        return tuple(np.flatnonzero(self.builder.optional).tolist())

    @property
    def nothing(self) -> PointSet:
        """The points to avoid where all that are allowed have been tried."""
        return PointSet(np.empty((0, len(self.whole.space))), None, self.allowed)

    def away_from(self, region: TrustRegion) -> PointSet:
        """Return what a region should avoid: also what belongs to regions before it."""
        if not region.ended:
            return self.avoid
        ended, space = self.history.points[list(region.ended)], self.whole.space
        return self.avoid.restricted_to(
            lambda points: is_elsewhere(points, region.centre, ended, space)
        )

    def unseen_point(self, rng: np.random.Generator) -> Array | None:
        """Return any new point (d,); None where there is none.

        Where trials contradict each other about what exists, the latest are believed. If by
        those nothing is new, other values are tried of what earlier ones had.
        """
        points, conditions = self.history.points, self.whole.conditions
        found = unseen_point(self.whole, self.avoid, rng, points)
        if found is not None or conditions is None:
            return found
        is_denied = ~np.isnan(points) & ~conditions.active(points)
        if not is_denied.any():
            return None
        rows = rng.choice(np.flatnonzero(is_denied.any(axis=1)), N_DENIED)
        others = self.whole.space.sample(len(rows), rng)
        others = self.whole.hold(np.where(is_denied[rows], others, points[rows]))
        fresh = others[~self.avoid.contains(others)]
        return fresh[0] if len(fresh) else None

    def any_point(self, rng: np.random.Generator) -> Suggestion:
        """Return a random new point, or a random old one."""
        point = self.unseen_point(rng)
        is_new = point is not None
        if point is None and self.allowed is None:
            point = self.whole.sample(1, rng)[0]
        elif point is None:
            point = unseen_point(self.whole, self.nothing, rng, self.history.points)
        if point is None:
            raise NothingAllowed("no point was found that is allowed")
        return Suggestion(point, NO_REGION, is_new, optional=self.optional)


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds points (k, d) that maximise an acquisition, in the whole domain or a part of it."""

    task: _Task
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
        domain = self.task.whole if domain is None else domain
        avoid = self.task.avoid if avoid is None else avoid
        return maximise(acquisition, domain, avoid, self.starts, self.rng, self.budget)


def _best_points(
    search: _Search, goal: Goal, outcomes: Outcomes, region: TrustRegion, domain: Domain
) -> tuple[TrustRegion, BatchFunction, Array]:
    """Search a region, or another branch of a conditional space where little is left to gain.

    Returns:
        The region that was searched in the end, what was maximised, and the best points (k, d)
        first.
    """
    task = search.task
    acquisition = goal.acquisition(outcomes, region)
    # Whoever fixes a choice wants this branch; a front may go through many.
    is_conditional = task.whole.conditions is not None
    has_branches = is_conditional and not task.whole.fixed and goal.has_one_objective
    around = task.away_from(region) if has_branches else task.avoid
    points = search(acquisition, domain, around)
    if around is not task.avoid and outcomes.expect_failure(points):
        # What the regions before have left over fails: better near one of them than there.
        points = search(acquisition)
    elif has_branches and _expects_little(outcomes, region, acquisition, points):
        other = region.next()
        branch_acquisition = goal.acquisition(outcomes, other)
        elsewhere = search(branch_acquisition, avoid=task.away_from(other))
        if len(elsewhere) and not outcomes.expect_failure(elsewhere):
            region, acquisition, points = other, branch_acquisition, elsewhere
    if not len(points) and domain.region is not None:
        points = search(acquisition)
    return region, acquisition, points


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
    fits: Mapping[int, KernelFit],
) -> Outcomes:
    """Return the models of every objective and every constraint."""
    n_objectives = history.objectives.shape[1]
    columns, leaves_out = modelled_constraints(history.constraint_values)
    failures = None
    if settings.models_failures:
        budget = settings.model_budget(builder)
        failures = fit_failures(builder, history, budget, cache.of_outcome(FAILURES))
    known = history
    if failures is not None and failures.look_like_chance:
        # What was asked for there is as unknown as before: to look nearby is no repetition.
        known = replace(history, failed=history.failed[:0], failed_after=None)
    outcomes = [
        outcome_of(
            builder, known, settings, cache, index, centre=region.centre, fit=fits.get(index)
        )
        for index in (*range(n_objectives), *(n_objectives + columns).tolist())
    ]
    return Outcomes(
        outcomes[:n_objectives],
        outcomes[n_objectives:],
        history.pending,
        log_success(failures),
        leaves_out,
    )


@usual_errors
def outcome_of(
    builder: KernelBuilder,
    history: History,
    settings: Settings,
    cache: FitCache,
    index: int = 0,
    *,
    centre: Array | None = None,
    fit: KernelFit | None = None,
) -> Outcome:
    """Return the model of one objective, or constraint after those, of a history not empty."""
    values = np.column_stack([history.objectives, history.constraint_values])[:, index]
    data = OutcomeData(
        history.points,
        values,
        history.noise_of(index),
        settings.deterministic,
        boundary=0.0 if index >= history.objectives.shape[1] else -np.inf,
    )
    return fit_outcome(
        builder,
        data,
        settings.model_budget(builder),
        cache.of_outcome(index),
        centre=centre,
        without_value=history.without_value,
        fit=fit,
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
