"""From a history to the next point: the whole pipeline in one pure function.

    history -> standardised values -> surrogate -> log expected improvement
            -> genetic search inside the trust region -> point

The same space, history, settings and seed give the same point in any process; what is kept
between calls is a memo that changes the time and never the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core.acquisition import LogExpectedImprovement
from heat_plugins.core.build import Builder
from heat_plugins.core.domain import Domain
from heat_plugins.core.genetic import SearchBudget, maximise, unseen_point
from heat_plugins.core.learn import Chosen, FitMemo, fitted
from heat_plugins.core.memory import keep_freed_memory
from heat_plugins.core.seen import PointSet
from heat_plugins.core.surrogate import Surrogate
from heat_plugins.core.symmetry import Symmetry
from heat_plugins.core.trust_region import NO_REGION, TrustRegion, TrustRegionRules, replay
from heat_plugins.core.values import standardise
from heat_plugins.model import Model
from heat_plugins.space import Array, Space

__all__ = ["FitMemo", "History", "Settings", "Suggestion", "canonical", "suggest", "surrogate_of"]


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
class History:
    """What is known when a point is asked for.

    Args:
        points: (n, d) evaluated points in order of completion.
        values: (n,) their values, to be minimised; infinities are allowed, NaN is not.
        asked_from: (n,) the trust region each was asked for (``NO_REGION`` if none).
        pending: (p, d) points under evaluation.
        others: (q, d) further points that need not be proposed again: failed, say.
    """

    points: Array
    values: Array
    asked_from: NDArray[np.int64]
    pending: Array
    others: Array

    @staticmethod
    def of(
        space: Space,
        points: Array,
        values: Array,
        asked_from: NDArray[np.int64] | None = None,
        pending: Array | None = None,
        others: Array | None = None,
    ) -> History:
        """Return a history with whatever is not given empty."""
        nothing = np.empty((0, len(space)))
        if asked_from is None:
            asked_from = np.full(len(points), NO_REGION, dtype=np.int64)
        return History(
            points,
            values,
            asked_from,
            nothing if pending is None else pending,
            nothing if others is None else others,
        )


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The next point.

    Args:
        point: (d,) where to evaluate.
        asked_from: Index of the trust region, to be remembered with the trial.
        is_new: False only where every point of the space is in the history already.
        chosen: The kernel that was used; None for a random point.
    """

    point: Array
    asked_from: int
    is_new: bool
    chosen: Chosen | None = None


def suggest(
    space: Space,
    history: History,
    settings: Settings,
    rng: np.random.Generator,
    held: Mapping[int, float] | None = None,
    memo: FitMemo | None = None,
) -> Suggestion:
    """Return the next point to evaluate.

    Args:
        space: The parameters.
        history: What is known.
        settings: What the user chose.
        rng: Source of randomness; the only one.
        held: Coordinates that are given, by column; the rest is optimised for them.
        memo: Where to keep the last fit. It saves time and changes nothing else.
    """
    keep_freed_memory()
    held = held or {}
    memo = FitMemo() if memo is None else memo
    builder = memo.builder_for(space, settings.model)
    symmetry = builder.symmetry()
    history = canonical(history, symmetry)
    everything = np.concatenate([history.points, history.pending, history.others])
    avoid = PointSet(everything, symmetry)
    whole = Domain(space, held=held)
    if len(history.points) < max(settings.n_startup_trials, 1):
        return _settle(None, NO_REGION, whole, avoid, rng, None)

    region = TrustRegion()
    if settings.trust_region is not None:
        region = replay(
            history.points, history.values, history.asked_from, space, settings.trust_region
        )
    domain = Domain(space, region.as_region(space), held)
    model = surrogate_of(builder, history, settings, region, memo)
    acquisition = LogExpectedImprovement(model.surrogate, model.best)
    starts = _starts(history, domain)
    point = maximise(acquisition, domain, avoid, starts, rng, settings.search)
    if point is None and domain.region is not None:
        point = maximise(acquisition, whole, avoid, starts, rng, settings.search)
    if point is None and whole.size < math.inf:
        # The search met old points only: take any new one, or an old one if all are.
        point = unseen_point(whole, avoid, rng)
        if point is None:
            point = maximise(
                acquisition, whole, PointSet(everything[:0]), starts, rng, settings.search
            )
            assert point is not None
            return Suggestion(point, region.index, is_new=False, chosen=model.chosen)
    return _settle(point, region.index, whole, avoid, rng, model.chosen)


def _settle(
    point: Array | None,
    asked_from: int,
    whole: Domain,
    avoid: PointSet,
    rng: np.random.Generator,
    chosen: Chosen | None,
) -> Suggestion:
    """Return the point, or a random new one, or a random old one."""
    if point is None:
        point = unseen_point(whole, avoid, rng)
    if point is None:
        return Suggestion(whole.sample(1, rng)[0], asked_from, is_new=False, chosen=chosen)
    return Suggestion(point, asked_from, is_new=True, chosen=chosen)


def canonical(history: History, symmetry: Symmetry | None) -> History:
    """Return the history with one point for all that are the same to the objective."""
    if symmetry is None:
        return history
    return replace(
        history,
        points=symmetry.canonical(history.points),
        pending=symmetry.canonical(history.pending),
        others=symmetry.canonical(history.others),
    )


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A surrogate, the kernel it has, and the value to improve on."""

    surrogate: Surrogate
    chosen: Chosen
    best: float


def surrogate_of(
    builder: Builder,
    history: History,
    settings: Settings,
    region: TrustRegion,
    memo: FitMemo,
) -> FittedModel:
    """Return the surrogate of a history that is not empty."""
    # Conflicting values of one point are noise, whatever was said about the objective.
    deterministic = settings.deterministic and not _has_conflicts(history)
    limit = settings.max_fit_points
    chosen = fitted(builder, history.points, history.values, deterministic, limit, memo)
    values = standardise(history.values)
    some = _model_points(builder.space, history, region, settings.max_model_points)
    # Failed points too: without a value, but not to be surrounded by more of their kind.
    without_value = np.concatenate([history.others, history.pending])
    model = Surrogate(
        chosen.covariance,
        chosen.hyperparameters,
        history.points[some],
        values[some],
        without_value[-settings.max_model_points // 2 :],
    )
    best = float(values.min())
    if region.centre is not None:
        best = float(values[history.values == region.best][0])
    if not deterministic:
        # A lucky noisy value is no level to improve on; the model's own idea of it is.
        best = float(np.min(model.mean(history.points[some])))
    return FittedModel(model, chosen, best)


def _model_points(
    space: Space, history: History, region: TrustRegion, limit: int
) -> NDArray[np.int64]:
    """Choose observations for the surrogate: of very many, near, good and late ones."""
    n = len(history.points)
    if n <= limit:
        return np.arange(n)
    best = np.argsort(history.values, kind="stable")
    centre = history.points[best[0]] if region.centre is None else region.centre
    difference = np.abs(history.points - centre)
    distance = np.where(space.is_discrete, difference > 0.0, difference).sum(axis=1)
    near = np.argsort(distance, kind="stable")
    latest = np.arange(n)[::-1]
    return np.union1d(np.union1d(near[: limit // 2], best[: limit // 4]), latest[: limit // 4])


def _starts(history: History, domain: Domain, n: int = 20) -> Array:
    """Return points that the search should vary: the best ones, and the region's centre."""
    best = history.points[np.argsort(history.values, kind="stable")[:n]]
    return best if domain.region is None else np.concatenate([domain.region.centre[None], best])


def _has_conflicts(history: History) -> bool:
    """Whether some point was observed with different values."""
    fingerprints = PointSet(history.points).fingerprint(history.points)
    order = np.lexsort((history.values, fingerprints))
    same = fingerprints[order][1:] == fingerprints[order][:-1]
    return bool(np.any(same & (history.values[order][1:] != history.values[order][:-1])))
