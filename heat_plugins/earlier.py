"""What earlier studies do for a suggestion: how it begins, and what their models know."""

from __future__ import annotations

import numpy as np

from heat_plugins.acquisition.recommendation import Recommendation
from heat_plugins.gp.earlier_models import EarlierModels
from heat_plugins.gp.fit import FitCache
from heat_plugins.history import NO_REGION, EarlierStudy, History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.search_task import Past, SearchTask
from heat_plugins.search.searches import maximise
from heat_plugins.settings import Settings
from heat_plugins.space import Array, Space
from heat_plugins.space.trial_conditions import conditions_from
from heat_plugins.task import Suggestion, Task

__all__ = [
    "FAILURES",
    "best_of_earlier",
    "self_predictability",
    "is_short_startup",
    "known_earlier",
    "recommended_suggestion",
]

FAILURES = -1  # the cache of the model of failures, next to those of objectives and constraints
N_STARTS = 20  # points that a search varies


def known_earlier(
    builder: KernelBuilder, history: History, settings: Settings, cache: FitCache
) -> EarlierModels:
    """Return what earlier studies know."""
    cache.begin_with(tuple(study.fingerprint for study in history.earlier))
    budget = settings.model_budget(builder)
    return EarlierModels(builder, history.earlier, settings.deterministic, budget)


def is_short_startup(task: Task, settings: Settings, cache: FitCache) -> bool:
    """Whether the next point is random because earlier studies are expected to tell little.

    Where they tell nothing of themselves, there are as many random points as without them.
    """
    if not task.history.earlier or settings.n_startup_trials is not None:
        return False
    n_random = settings.n_startup(len(task.whole.space))
    n_ended = len(task.history.points) + len(task.history.failed)
    if n_ended >= n_random:
        return False
    share = known_earlier(task.builder, task.history, settings, cache).expected_share(cache)
    return n_ended < round(n_random * (1.0 - share))


def self_predictability(space: Space, study: EarlierStudy, settings: Settings) -> float:
    """Return from 0 to 1 how well trials of a study foretell each other, in its own space."""
    conditions = conditions_from(space, study.points, study.failed)
    builder = KernelBuilder(space, settings.model, conditions)
    budget = settings.model_budget(builder)
    models = EarlierModels(builder, (study,), settings.deterministic, budget)
    return models.expected_share(FitCache())


def best_of_earlier(history: History, n: int = N_STARTS) -> Array:
    """Return the best points (k, d) of earlier studies that had all parameters, n of each."""
    found = [
        study.points[np.argsort(study.values[:, 0], kind="stable")[:n]]  # NaN comes last
        for study in history.earlier
        if not study.lacking.any()
    ]
    return np.concatenate([history.points[:0], *found])


def recommended_suggestion(
    task: Task, settings: Settings, rng: np.random.Generator, cache: FitCache
) -> Suggestion:
    """Return the point that earlier studies recommend, while the present one has no value."""
    recommendation = _recommendation(task, settings, cache)
    starts = best_of_earlier(task.history)
    if not len(starts):
        starts = task.whole.sample(N_STARTS, rng)
    past = Past(task.history.points, task.history.objectives)
    search = SearchTask(recommendation, task.whole, task.avoid, starts, rng, settings.search, past)
    points = maximise(search, settings.search_by)
    if not len(points):
        return task.random_suggestion(rng)
    point = task.whole.impute_conditionals(points[:1], rng)[0]
    return Suggestion(
        point,
        NO_REGION,
        True,
        acquisition=float(recommendation(point[None])[0]),
        alternatives=points[1:],
        optional=task.optional,
    )


def _recommendation(task: Task, settings: Settings, cache: FitCache) -> Recommendation:
    """Return what earlier studies expect of all objectives, constraints and failures."""
    history = task.history
    earlier = known_earlier(task.builder, history, settings, cache)
    n_objectives = max(study.values.shape[1] for study in history.earlier)
    n_outcomes = max(study.outcomes.shape[1] for study in history.earlier)
    models = [
        earlier.of_outcome(i, cache.of_outcome(i), -np.inf if i < n_objectives else 0.0)
        for i in range(n_outcomes)
    ]
    failures = earlier.of_failures(cache.of_outcome(FAILURES)) if settings.models_failures else ()
    return Recommendation(
        [model for each in models[:n_objectives] for model in each],
        [model for each in (*models[n_objectives:], failures) for model in each],
    )
