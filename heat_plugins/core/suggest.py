"""From a history to the next point: the whole pipeline in one pure function.

    history -> standardised values -> surrogates -> log expected improvement (of the
    hypervolume, times the probability of being feasible)
            -> genetic search inside the trust region -> point

The same space, history, settings and seed give the same point in any process; what is kept
between calls is a memo that changes the time and never the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from heat_plugins.conditions import Conditions
from heat_plugins.core.acquisition import LogExpectedImprovement
from heat_plugins.core.branches import NEXT_TO_NOTHING, is_elsewhere
from heat_plugins.core.build import Builder
from heat_plugins.core.domain import Domain
from heat_plugins.core.feasibility import LogFeasibility, Sum
from heat_plugins.core.genetic import BatchFunction, SearchBudget, maximise, unseen_point
from heat_plugins.core.history import History, canonical
from heat_plugins.core.hypervolume import LogHypervolumeImprovement
from heat_plugins.core.learn import Chosen, FitMemo
from heat_plugins.core.learn_conditions import learn_conditions
from heat_plugins.core.limits import LinearLimits
from heat_plugins.core.memory import keep_freed_memory
from heat_plugins.core.merit import merits, violations
from heat_plugins.core.outputs import Output, fit_output
from heat_plugins.core.pareto import crowding_distances, non_dominated, reference_point
from heat_plugins.core.seen import Allowed, PointSet, both
from heat_plugins.core.trust_region import NO_REGION, TrustRegion, TrustRegionRules, replay
from heat_plugins.core.values import place_of, standardise
from heat_plugins.model import Model
from heat_plugins.space import Array, Space

__all__ = [
    "FitMemo",
    "History",
    "NothingAllowed",
    "Settings",
    "Suggestion",
    "canonical",
    "objective_of",
    "suggest",
]


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
    """

    point: Array
    asked_from: int
    is_new: bool
    chosen: Chosen | None = None
    region: TrustRegion | None = None
    acquisition: float = math.nan


def suggest(
    space: Space,
    history: History,
    settings: Settings,
    rng: np.random.Generator,
    held: Mapping[int, float] | None = None,
    memo: FitMemo | None = None,
    allowed: Allowed | None = None,
    conditions: Conditions | None = None,
    reference: Array | None = None,
    limits: LinearLimits | None = None,
) -> Suggestion:
    """Return the next point to evaluate.

    Args:
        space: The parameters.
        history: What is known.
        settings: What the user chose.
        rng: Source of randomness; the only one.
        held: Coordinates that are given, by column; the rest is optimised for them.
        memo: Where to keep the last fit. It saves time and changes nothing else.
        allowed: Tells which of points (n, d) may be proposed at all; None for all of them.
        conditions: When each parameter exists, where that is known; None learns it from the
            history.
        reference: (M,) the worst value of each of several objectives that is of interest, NaN
            where none is; None for none at all.
        limits: Linear limits that the point must keep; None for none.
    """
    keep_freed_memory()
    held = held or {}
    memo = FitMemo() if memo is None else memo
    if conditions is None:
        conditions = learn_conditions(space, history.points)
    else:
        history = _as_declared(space, history, conditions)
        conditions = conditions if conditions.trees else None
    builder = memo.builder_for(space, settings.model, conditions)
    symmetry = builder.symmetry()
    history = canonical(history.without_halves(builder.optional), symmetry)
    everything = np.concatenate([history.points, history.without_value])
    if limits is not None:
        allowed = both(limits.holds, allowed)
    avoid = PointSet(everything, symmetry, allowed)
    whole = Domain(space, held=held, conditions=conditions, limits=limits)
    if whole.is_empty(history.points):
        raise NothingAllowed("no point was found that keeps the limits")
    if len(history.points) < max(settings.n_startup_trials, 1):
        return _anything(whole, avoid, history, rng, allowed)

    goal = _Goal(history, reference)
    region = TrustRegion()
    if settings.trust_region is not None:
        region = replay(
            history.points, goal.merits, history.asked_from, space, settings.trust_region
        )
        region = goal.choose_centre(region, rng)
    domain = replace(whole, region=region.as_region(space))
    models = _models(builder, history, settings, region, memo)
    acquisition = goal.acquisition(models, region)
    starts = _starts(history, goal, domain)
    # Whoever holds a choice wants this branch; a front may go through many.
    has_branches = conditions is not None and not held and goal.has_one_objective
    around = _keep_away(avoid, history, region, space) if has_branches else avoid
    point = maximise(acquisition, domain, around, starts, rng, settings.search)
    if has_branches and models.expect_little_of(region, acquisition, point):
        other = region.next()
        branch_acquisition = goal.acquisition(models, other)
        away = _keep_away(avoid, history, other, space)
        elsewhere = maximise(branch_acquisition, whole, away, starts, rng, settings.search)
        if elsewhere is not None:
            region, acquisition, point = other, branch_acquisition, elsewhere
    if point is None and domain.region is not None:
        point = maximise(acquisition, whole, avoid, starts, rng, settings.search)
    is_new = True
    if point is None and whole.size < math.inf:
        # The search met old points only: take any new one, or an old one if all are.
        point = unseen_point(whole, avoid, rng, history.points)
        if point is None:
            nothing = PointSet(everything[:0], None, allowed)
            point = maximise(acquisition, whole, nothing, starts, rng, settings.search)
            is_new = False
    if point is None:
        return _anything(whole, avoid, history, rng, allowed)
    point = whole.settle(point[None], rng)[0]
    value = float(acquisition(point[None])[0])
    return Suggestion(point, region.index, is_new, models.objectives[0].chosen, region, value)


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
        others=conditions.deactivate(history.others),
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


@dataclass(frozen=True, eq=False)
class _Models:
    """What was learnt about every objective and every constraint."""

    objectives: list[Output]
    constraints: list[Output]
    pending: Array

    def expect_little_of(
        self, region: TrustRegion, acquisition: BatchFunction, point: Array | None
    ) -> bool:
        """Whether a region has little left to give, if this (d,) is its best new point.

        Only of one objective with exact values and without constraints: otherwise what the
        acquisition says has another unit, or never comes to an end.
        """
        is_exact = self.objectives[0].is_deterministic and not self.constraints
        if point is None or not region.is_searched or not is_exact:
            return False
        return float(acquisition(point[None])[0]) < NEXT_TO_NOTHING


def _models(
    builder: Builder, history: History, settings: Settings, region: TrustRegion, memo: FitMemo
) -> _Models:
    objectives = [
        objective_of(builder, history, settings, region, memo, index)
        for index in range(history.objectives.shape[1])
    ]
    constraints = []
    for index, column in enumerate(history.constraint_values.T, start=len(objectives)):
        # One that nothing is known about, or that never varied, cannot be modelled.
        if np.isnan(column).all() or (column[~np.isnan(column)] <= 0.0).all():
            continue
        constraints.append(
            _fit(builder, history, column, settings, region, memo, index, True, True)
        )
    return _Models(objectives, constraints, history.pending)


def objective_of(
    builder: Builder,
    history: History,
    settings: Settings,
    region: TrustRegion,
    memo: FitMemo,
    index: int = 0,
    evenly: bool = False,
) -> Output:
    """Return the model of one objective of a history that is not empty.

    ``evenly`` fits bad values as closely as good ones, and as they are. That is always so where
    they may matter, and where effects are to add up: bent values have no sums.
    """
    model = settings.model
    has_sums = model.is_auto or model.combination is not None
    evenly = evenly or has_sums or history.has_rivals_of_values
    values = history.objectives[:, index]
    return _fit(builder, history, values, settings, region, memo, index, False, evenly)


def _fit(
    builder: Builder,
    history: History,
    values: Array,
    settings: Settings,
    region: TrustRegion,
    memo: FitMemo,
    index: int,
    is_constraint: bool,
    evenly: bool,
) -> Output:
    return fit_output(
        builder,
        history,
        values,
        region.centre,
        settings.deterministic,
        settings.max_fit_points,
        settings.max_model_points,
        memo.of_output(index),
        is_constraint,
        evenly,
        history.noise_of(index),
    )


class _Goal:
    """What counts as better: one value, or several, feasible trials first.

    Args:
        history: What is known.
        reference: (M,) the worst values of interest, NaN where there are none; None for none.
    """

    def __init__(self, history: History, reference: Array | None = None) -> None:
        self._points = history.points
        violation = violations(history.constraint_values)
        self.is_feasible = violation <= 0.0
        self.merits = merits(history.objectives, violation)  # (n, M)
        self.has_one_objective = self.merits.shape[1] == 1
        self._reference: Array | None = None
        self.shortfall = np.zeros(len(violation))  # (n,) from the reference
        if reference is not None:
            self._set_reference(reference, history.objectives)

    def _set_reference(self, reference: Array, objectives: Array) -> None:
        """Find the place of the reference (M,), and how far the trials are from reaching it."""
        if reference.shape != objectives.shape[1:]:
            raise ValueError(
                f"reference must have shape {objectives.shape[1:]}, got {reference.shape}"
            )
        if self.has_one_objective or np.isnan(reference).all():
            return
        columns = [standardise(column, evenly=True) for column in objectives.T]
        pairs = zip(reference, objectives.T, columns, strict=True)
        self._reference = np.array([place_of(r, raw, column) for r, raw, column in pairs])
        values = np.column_stack(columns)
        # Where an infinite value has its place does not say that it reaches anything.
        values[np.isposinf(objectives)] = np.finfo(float).max
        self.shortfall = np.full(len(values), np.inf)
        if self.is_feasible.any():
            feasible = values[self.is_feasible]
            self.shortfall[self.is_feasible] = _shortfall(feasible, self._reference)

    def choose_centre(self, region: TrustRegion, rng: np.random.Generator) -> TrustRegion:
        """Return the region around one of its best trials.

        Of several that are not comparable, those whose neighbours are far away are the most
        likely: gaps of the front are searched more often.
        """
        if self.has_one_objective or not region.front:
            return region
        trials = np.array(region.front)
        # With a reference, those that reach it; failing that, those that come closest.
        trials = trials[self.shortfall[trials] == self.shortfall[trials].min()]
        front = np.column_stack([standardise(column, evenly=True) for column in self.merits.T])
        likely = 1.0 / len(trials) + crowding_distances(front[trials])
        trial = rng.choice(trials, p=likely / likely.sum())
        return replace(region, centre=self._points[trial])

    def acquisition(self, models: _Models, region: TrustRegion) -> BatchFunction:
        """Return what the next point should maximise."""
        terms: list[BatchFunction] = []
        improvement = self._improvement(models, region)
        if improvement is not None:
            terms.append(improvement)
        if models.constraints:
            terms.append(
                LogFeasibility(
                    [output.surrogate for output in models.constraints],
                    [output.zero for output in models.constraints],
                )
            )
        return terms[0] if len(terms) == 1 else Sum(terms)

    def _improvement(self, models: _Models, region: TrustRegion) -> BatchFunction | None:
        """Return the log expected improvement; None while nothing feasible is known."""
        if self.has_one_objective:
            output = models.objectives[0]
            best = output.best(self.is_feasible, region.front[0] if region.front else None)
            return None if best is None else LogExpectedImprovement(output.surrogate, best)
        if not self.is_feasible.any():
            return None
        values = np.column_stack([output.believed for output in models.objectives])
        values = values[self.is_feasible]
        if len(models.pending):
            # Points under evaluation count as what is expected of them.
            expected = [output.surrogate.mean(models.pending) for output in models.objectives]
            values = np.concatenate([values, np.column_stack(expected)])
        # Beyond the worst that was seen, not the worst of the front: the ends of a front grow
        # only if what lies beyond them counts.
        reference = reference_point(values, values)
        if self._reference is not None:
            reference = self._within_reach(values, reference)
        front = values[non_dominated(values)]
        surrogates = [output.surrogate for output in models.objectives]
        return LogHypervolumeImprovement(surrogates, front, reference)

    def _within_reach(self, values: Array, usual: Array) -> Array:
        """Return a reference (M,) that is worth searching below.

        The user's, and the usual one (M,) where there is none. As long as none of the values
        (n, M) is better in all objectives, the user's is moved back to

            r'_j = max(r_j, min_i y_ij) + t,  t = min_i max_j (y_ij - max(r_j, min_i y_ij)):

        to the best that was seen of each objective, and from there by the same t in each of
        them to where some value reaches it. What is better than that is closer to the user's.
        Below one far away nothing would be expected anywhere, and the search would go where
        the least is known.
        """
        assert self._reference is not None
        nearest = np.maximum(self._reference, values.min(axis=0))  # NaN stays
        reference = nearest + _shortfall(values, self._reference).min()
        return np.where(np.isnan(reference), usual, reference)


def _shortfall(values: Array, reference: Array) -> Array:
    """Return (n,) by how much values (n, M) miss a reference (M,) where they miss it most.

    0 where they are better in all objectives; those without a reference, NaN, do not count.
    An objective that is far from its reference at all values must not be the only one that
    counts, so all are measured from the best that was seen if that is not good enough.
    """
    given = ~np.isnan(reference)
    values, reference = values[:, given], reference[given]
    shortfall: Array = np.max(values - np.maximum(reference, values.min(axis=0)), axis=1)
    return np.maximum(shortfall, 0.0)


def _starts(history: History, goal: _Goal, domain: Domain, n: int = 20) -> Array:
    """Return points that the search should vary: the best ones, and the region's centre."""
    if goal.has_one_objective:
        order = np.argsort(goal.merits[:, 0], kind="stable")
    else:
        ranks = np.argsort(np.argsort(goal.merits, axis=0, kind="stable"), axis=0)
        is_front = non_dominated(goal.merits)
        order = np.lexsort((ranks.sum(axis=1), ~is_front, goal.shortfall))
    best = history.points[order[:n]]
    return best if domain.region is None else np.concatenate([domain.region.centre[None], best])
