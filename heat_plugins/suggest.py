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
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from heat_plugins.acquisition.builder import AcquisitionBuilder, Draw
from heat_plugins.acquisition.feasibility import log_success
from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.batch_function import BatchFunction
from heat_plugins.earlier import (
    FAILURES,
    best_of_earlier,
    is_short_startup,
    known_earlier,
    recommended_suggestion,
    self_predictability,
)
from heat_plugins.gp.failure_model import fit_failures
from heat_plugins.gp.fit import FitCache, KernelFit
from heat_plugins.gp.outcome_data import OutcomeData
from heat_plugins.gp.outcomes import Outcome, Outcomes, fit_outcome, modelled_constraints
from heat_plugins.gp.transfer_kernel import similarities
from heat_plugins.history import EarlierStudy, History, canonical
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.memory import keep_freed_memory
from heat_plugins.search.branches import NEGLIGIBLE_LOG_EI
from heat_plugins.search.budgeted_region import Stage
from heat_plugins.search.domain import Domain
from heat_plugins.search.embedded import Embedded
from heat_plugins.search.mutation import mutate
from heat_plugins.search.nested_bins import Subspace, subspaces
from heat_plugins.search.regions import region_after
from heat_plugins.search.search_task import Past, SearchTask
from heat_plugins.search.searches import SEARCHES, maximise
from heat_plugins.search.trust_region import TrustRegion, TrustRegionRules
from heat_plugins.settings import SettingArguments, Settings
from heat_plugins.space import Array, Space
from heat_plugins.space.point_set import PointSet
from heat_plugins.task import NoFeasiblePoint, Problem, Suggestion, Task

__all__ = [
    "EarlierStudy",
    "FitCache",
    "History",
    "NoFeasiblePoint",
    "Problem",
    "SettingArguments",
    "Settings",
    "Suggestion",
    "canonical",
    "self_predictability",
    "study_similarities",
    "outcome_of",
    "suggest",
]


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
    settings.check_objectives(history.objectives.shape[1])
    cache = FitCache() if cache is None else cache
    task = Task.of(problem, history, settings, cache)
    if task.whole.is_empty(task.history.points):
        raise NoFeasiblePoint("no point was found that keeps the limits")
    n_complete, n_failed = len(task.history.points), len(task.history.failed)
    subspace, stages = _present_subspace(problem.space, settings, n_complete + n_failed)
    if settings.is_starting_up_after(task.history) or is_short_startup(task, settings, cache):
        return task.random_suggestion(rng, subspace)
    if not n_complete:
        return recommended_suggestion(task, settings, rng, cache)
    rules = settings.trust_region
    acquisition_builder = AcquisitionBuilder(
        task.history,
        problem.reference,
        settings.acquisition,
        restarts_by_bound=isinstance(rules, TrustRegionRules) and rules.restarts_by_bound,
        by_components=SEARCHES[settings.search_by].needs_components and task.is_plain,
    )
    region = region_after(
        task.history,
        acquisition_builder.ranking,
        problem.space,
        rules,
        stages,
        counts_failures=settings.models_failures,
    )
    region = acquisition_builder.choose_centre(region, rng)
    outcomes = _outcomes(task.builder, task.history, settings, region, cache, fits or {})
    domain = replace(task.whole, region=region.as_region(problem.space))
    past = Past(task.history.points, acquisition_builder.ranking)
    embedded = None if subspace is None else Embedded(subspace, task.whole, region)
    search = _Search(
        task, _starts(task.history, acquisition_builder, domain), past, settings, rng, embedded
    )
    region, acquisition, points = _best_points(
        search, acquisition_builder, outcomes, region, domain
    )
    is_new, unseen = True, None
    if not len(points) and task.whole.size < math.inf:
        # The search met old points only: take any new one, or an old one if all are.
        unseen = task.unseen_point(rng)
        is_new = unseen is not None
        points = search(acquisition, avoid=task.nothing) if unseen is None else unseen[None]
    if not len(points):
        return task.random_suggestion(rng)
    point = points[0] if unseen is not None else task.whole.impute_conditionals(points[:1], rng)[0]
    return Suggestion(
        point,
        region.index,
        is_new,
        outcomes.objectives[0].kernel_fit,
        region,
        float(acquisition(point[None])[0]),
        points[1:],
        outcomes.leaves_out_constraints,
        task.optional,
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds points (k, d) that maximise an acquisition, in the whole domain or a part of it."""

    task: Task
    starts: Array
    past: Past
    settings: Settings
    rng: np.random.Generator
    embedded: Embedded | None = None

    def __call__(
        self,
        acquisition: BatchFunction,
        domain: Domain | None = None,
        avoid: PointSet | None = None,
    ) -> Array:
        """Return the best points first, of all points that are not to be avoided by default.

        In a domain that is given, first those of the present subspace, if there is one.
        """
        is_embedded, domain = domain is not None, self.task.whole if domain is None else domain
        avoid = self.task.avoid if avoid is None else avoid
        budget, run = self.settings.search, partial(maximise, name=self.settings.search_by)
        task = SearchTask(acquisition, domain, avoid, self.starts, self.rng, budget, self.past)
        if is_embedded and self.embedded is not None:
            points = self.embedded.searched(task, run)
            if len(points):
                return points
        return run(task)

    def draw(self, domain: Domain) -> Draw:
        """Return what draws points of a domain, half of them near the starts."""

        def points(n: int) -> Array:
            if self.embedded is not None:
                return self.embedded.sample(n, self.rng)
            near = self.starts[self.rng.integers(len(self.starts), size=n // 2)]
            near = domain.project(mutate(near, domain, 1.0, self.rng), self.rng)
            return np.concatenate([near, domain.sample(n - n // 2, self.rng)])

        return Draw(points, self.rng)


def _best_points(
    search: _Search,
    acquisition_builder: AcquisitionBuilder,
    outcomes: Outcomes,
    region: TrustRegion,
    domain: Domain,
) -> tuple[TrustRegion, BatchFunction, Array]:
    """Search a region, or another branch of a conditional space where little is left to gain.

    Returns:
        The region that was searched in the end, what was maximised, and the best points (k, d)
        first.
    """
    task = search.task
    acquisition = acquisition_builder.acquisition(outcomes, region, search.draw(domain))
    # Whoever fixes a choice wants this branch; a front may go through many.
    is_conditional = task.whole.conditions is not None
    has_branches = (
        is_conditional and not task.whole.fixed and acquisition_builder.has_one_objective
    )
    around = task.exclude_ended_regions(region) if has_branches else task.avoid
    points = search(acquisition, domain, around)
    if around is not task.avoid and outcomes.expect_failure(points):
        # What the regions before have left over fails: better near one of them than there.
        points = search(acquisition)
    elif (
        has_branches
        and acquisition_builder.is_improvement
        and _expects_little(outcomes, region, acquisition, points)
    ):
        other = region.next()
        branch_acquisition = acquisition_builder.acquisition(
            outcomes, other, search.draw(task.whole)
        )
        elsewhere = search(branch_acquisition, avoid=task.exclude_ended_regions(other))
        if len(elsewhere) and not outcomes.expect_failure(elsewhere):
            region, acquisition, points = other, branch_acquisition, elsewhere
    if not len(points) and domain.region is not None:
        points = search(acquisition)
    return region, acquisition, points


def _present_subspace(
    space: Space, settings: Settings, n_ended: int
) -> tuple[Subspace | None, list[Stage]]:
    """Return the subspace after so many trials, None for the whole space, and all its stages."""
    if settings.embedding is None:
        return None, []
    found, stages = subspaces(space, settings.embedding, settings.n_startup(len(space)))
    number = sum(n_ended >= stage.end for stage in stages)
    return (found[number] if number < len(found) else None), stages


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
    return float(acquisition(points[:1])[0]) < NEGLIGIBLE_LOG_EI


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
    columns, leaves_out = modelled_constraints(
        history.constraint_values, [study.constraints for study in history.earlier]
    )
    failures = None
    if settings.models_failures:
        earlier = known_earlier(builder, history, settings, cache)
        budget = settings.model_budget(builder)
        own = cache.of_outcome(FAILURES)
        failures = fit_failures(builder, history, budget, own, earlier.of_failures(own))
    known = history
    if failures is not None and failures.is_explained_by_chance:
        # What was asked for there is as unknown as before: to look nearby is no repetition.
        known = replace(
            history, failed=history.failed[:0], failed_after=None, failed_region_ids=None
        )
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
    boundary = 0.0 if index >= history.objectives.shape[1] else -np.inf
    data = OutcomeData(
        history.points,
        values,
        history.noise_of(index),
        settings.deterministic,
        boundary=boundary,
    )
    earlier = known_earlier(builder, history, settings, cache)
    own = cache.of_outcome(index)
    return fit_outcome(
        builder,
        data,
        settings.model_budget(builder),
        own,
        centre=centre,
        without_value=history.without_value,
        fit=fit,
        earlier=earlier.of_outcome(index, own, boundary),
    )


@usual_errors
def study_similarities(
    space: Space, history: History, settings: Settings, index: int = 0
) -> dict[str, float]:
    """Return by name how alike earlier studies are in an objective of a history not empty."""
    if not history.earlier:
        return {}
    task = Task.of(Problem(space), history, settings, FitCache())
    model = outcome_of(task.builder, task.history, settings, FitCache(), index)
    return similarities(model.kernel_fit.kernel, model.kernel_fit.hyperparameters)


def _starts(
    history: History, acquisition_builder: AcquisitionBuilder, domain: Domain, n: int = 20
) -> Array:
    """Return points that the search should vary: the best ones, and the region's centre."""
    if acquisition_builder.has_one_objective:
        order = np.argsort(acquisition_builder.ranking[:, 0], kind="stable")
    else:
        ranks = np.argsort(np.argsort(acquisition_builder.ranking, axis=0, kind="stable"), axis=0)
        is_front = non_dominated(acquisition_builder.ranking)
        order = np.lexsort(
            (ranks.sum(axis=1), ~is_front, acquisition_builder.distance_to_reference)
        )
    best = history.points[order[:n]]
    if history.earlier:
        best = np.concatenate([best, best_of_earlier(history, n)])
    return best if domain.region is None else np.concatenate([domain.region.centre[None], best])
