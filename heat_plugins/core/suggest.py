"""From a history to the next point: the whole pipeline in one pure function.

    history -> standardised values -> surrogate -> log expected improvement
            -> genetic search inside the trust region -> point

The same space, history, settings and seed give the same point in any process; what is kept
between calls is a memo that changes the time and never the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core import surrogate
from heat_plugins.core.acquisition import LogExpectedImprovement
from heat_plugins.core.domain import Domain
from heat_plugins.core.features import FeatureMap
from heat_plugins.core.genetic import SearchBudget, maximise, unseen_point
from heat_plugins.core.seen import PointSet
from heat_plugins.core.surrogate import Hyperparameters, Surrogate
from heat_plugins.core.trust_region import NO_REGION, TrustRegion, TrustRegionRules, replay
from heat_plugins.core.values import standardise
from heat_plugins.space import Array, Space

__all__ = ["FitMemo", "History", "Settings", "Suggestion", "suggest"]


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
    """

    n_startup_trials: int = 10
    deterministic: bool = False
    trust_region: TrustRegionRules | None = field(default_factory=TrustRegionRules)
    search: SearchBudget = field(default_factory=SearchBudget)
    max_model_points: int = 500
    max_fit_points: int = 300


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
    """

    point: Array
    asked_from: int
    is_new: bool


@dataclass
class FitMemo:
    """Remembers the last cold fit, so that it need not be made again for the next point."""

    key: tuple[bytes, ...] | None = None
    hyperparameters: Hyperparameters | None = None


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
    held = held or {}
    everything = np.concatenate([history.points, history.pending, history.others])
    avoid = PointSet(everything)
    whole = Domain(space, held=held)
    if len(history.points) < max(settings.n_startup_trials, 1):
        return _settle(None, NO_REGION, whole, avoid, rng)

    region = TrustRegion()
    if settings.trust_region is not None:
        region = replay(
            history.points, history.values, history.asked_from, space, settings.trust_region
        )
    domain = Domain(space, region.as_region(space), held)
    acquisition = _acquisition(space, history, settings, region, memo)
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
            return Suggestion(point, region.index, is_new=False)
    return _settle(point, region.index, whole, avoid, rng)


def _settle(
    point: Array | None, asked_from: int, whole: Domain, avoid: PointSet, rng: np.random.Generator
) -> Suggestion:
    """Return the point, or a random new one, or a random old one."""
    if point is None:
        point = unseen_point(whole, avoid, rng)
    if point is None:
        return Suggestion(whole.sample(1, rng)[0], asked_from, is_new=False)
    return Suggestion(point, asked_from, is_new=True)


def _acquisition(
    space: Space,
    history: History,
    settings: Settings,
    region: TrustRegion,
    memo: FitMemo | None,
) -> LogExpectedImprovement:
    feature_map = FeatureMap(space)
    # Conflicting values of one point are noise, whatever was said about the objective.
    deterministic = settings.deterministic and not _has_conflicts(history)
    hyperparameters = _hyperparameters(feature_map, history, settings, deterministic, memo)
    values = standardise(history.values)
    chosen = _model_points(space, history, region, settings.max_model_points)
    # Failed points too: without a value, but not to be surrounded by more of their kind.
    without_value = np.concatenate([history.others, history.pending])
    model = Surrogate(
        feature_map,
        hyperparameters,
        history.points[chosen],
        values[chosen],
        without_value[-settings.max_model_points // 2 :],
    )
    best = float(values.min())
    if region.centre is not None:
        best = float(values[history.values == region.best][0])
    if not deterministic:
        # A lucky noisy value is no level to improve on; the model's own idea of it is.
        best = float(np.min(model.posterior(history.points[chosen])[0]))
    return LogExpectedImprovement(model, best)


def _hyperparameters(
    feature_map: FeatureMap,
    history: History,
    settings: Settings,
    deterministic: bool,
    memo: FitMemo | None,
) -> Hyperparameters:
    """Fit in two stages, so that most calls are cheap and all depend on the history alone.

    The full search runs on the first ``n0`` observations, where ``n0`` stays the same for a
    number of calls; a few further steps take in the observations since then. Both are
    functions of the history, the memo only avoids repeating the first.
    """
    n = len(history.points)
    stride = 2 ** max(0, math.floor(math.log2(n / 8)))
    n0 = n - n % stride
    key = (
        history.points[:n0].tobytes(),
        history.values[:n0].tobytes(),
        feature_map.owner.tobytes(),
        feature_map.is_numeric.tobytes(),
        f"{deterministic} {settings.max_fit_points}".encode(),
    )
    start = memo.hyperparameters if memo is not None and memo.key == key else None
    if start is None:
        start = _fit(feature_map, history, n0, settings, deterministic, None)
        if memo is not None:
            memo.key, memo.hyperparameters = key, start
    if n0 == n:
        return start
    return _fit(feature_map, history, n, settings, deterministic, start)


def _fit(
    feature_map: FeatureMap,
    history: History,
    n: int,
    settings: Settings,
    deterministic: bool,
    start: Hyperparameters | None,
) -> Hyperparameters:
    """Fit to the first ``n`` observations: of very many, the best and the latest."""
    values = standardise(history.values[:n])
    chosen = np.arange(n)
    if n > settings.max_fit_points:
        half = settings.max_fit_points // 2
        best = np.argsort(values, kind="stable")[:half]
        chosen = np.union1d(best, np.arange(n - half, n))
    return surrogate.fit(
        feature_map,
        history.points[chosen],
        values[chosen],
        deterministic=deterministic,
        start=start,
    )


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
