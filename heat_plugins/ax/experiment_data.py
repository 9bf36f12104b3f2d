"""Reads an experiment of Ax into a history of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from ax.adapter.adapter_utils import (
    extract_objective_thresholds,
    extract_objective_weight_matrix,
)
from ax.adapter.data_utils import ExperimentData
from ax.core.optimization_config import (
    MultiObjectiveOptimizationConfig,
    OptimizationConfig,
    PreferenceOptimizationConfig,
)
from ax.core.types import ComparisonOp
from ax.exceptions.core import UnsupportedError
from ax.utils.common.constants import Keys
from pandas import DataFrame

from heat_plugins.ax.codes import HeatCodes
from heat_plugins.history import NO_REGION, History
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Bools

__all__ = [
    "REGION_KEY",
    "Aim",
    "Side",
    "history_of",
    "in_order_of_completion",
    "region_in",
    "sides_of",
    "values_of",
]

# Where the trust region that an arm was asked for is kept, among the metadata of the arm.
REGION_KEY = "heat_plugins:region"
LARGEST_ERROR = 1e100  # whose square is a number, and which says nothing as well as infinity


@dataclass(frozen=True, eq=False)
class Aim:
    """Objectives and constraints, as sums over metrics.

    Args:
        metrics: (m) the names of the metrics that there are data of.
        objectives: (M, m) weights of the metrics in each objective, to be minimised.
        constraints: (C, m) weights of the metrics in each outcome constraint.
        bounds: (C,) what those sums may be at the most.
        reference: (M,) the worst values of interest, NaN where there is no such threshold.
    """

    metrics: tuple[str, ...]
    objectives: Array
    constraints: Array
    bounds: Array
    reference: Array

    @staticmethod
    def of(config: OptimizationConfig, metrics: Sequence[str]) -> Aim | None:
        """Return the aim; None while there are no data of one of the metrics."""
        if isinstance(config, PreferenceOptimizationConfig):
            raise UnsupportedError(
                "heat_plugins optimises metrics, not learnt preferences: got a "
                "PreferenceOptimizationConfig."
            )
        needed = set(config.objective.metric_signatures)
        for constraint in config.outcome_constraints:
            needed |= set(constraint.metric_signatures)
        if not needed <= set(metrics):
            return None
        outcomes = list(metrics)
        # Ax maximises, the history is minimised.
        objectives = -extract_objective_weight_matrix(config.objective, outcomes)
        sums = np.zeros((len(config.outcome_constraints), len(outcomes)))
        bounds = np.zeros(len(sums))
        for i, constraint in enumerate(config.outcome_constraints):
            sign = 1.0 if constraint.op == ComparisonOp.LEQ else -1.0
            bounds[i] = sign * constraint.bound
            for metric, weight in constraint.metric_weights:
                sums[i, outcomes.index(metric)] = sign * weight
        reference = np.full(len(objectives), np.nan)
        if isinstance(config, MultiObjectiveOptimizationConfig):
            thresholds = extract_objective_thresholds(
                config.objective_thresholds, config.objective, outcomes
            )
            if thresholds is not None:
                reference = -np.asarray(thresholds, dtype=float)
        return Aim(tuple(outcomes), objectives, sums, bounds, reference)

    def metric_of(self, index: int) -> str | None:
        """Return the only metric of an objective, or of a constraint after those."""
        used = np.flatnonzero(np.concatenate([self.objectives, self.constraints])[index])
        return self.metrics[used[0]] if len(used) == 1 else None


class Side(NamedTuple):
    """The bad values of a metric: small ones if it is maximised, beyond a boundary."""

    maximise: bool
    boundary: float | None = None


def sides_of(config: OptimizationConfig | None) -> dict[str, Side]:
    """Return the bad side of each metric in use."""
    if config is None or isinstance(config, PreferenceOptimizationConfig):
        return {}
    sides = {}
    for constraint in config.outcome_constraints:
        sign = 1.0 if constraint.op == ComparisonOp.GEQ else -1.0
        for metric, weight in constraint.metric_weights:
            is_known = len(constraint.metric_weights) == 1 and not constraint.relative
            boundary = constraint.bound / weight if is_known and weight else None
            sides[metric] = Side(sign * weight > 0.0, boundary)
    metrics = list(config.objective.metric_signatures)
    weights = extract_objective_weight_matrix(config.objective, metrics)
    maximised = np.any(weights > 0.0, axis=0)
    return sides | {m: Side(bool(is_so)) for m, is_so in zip(metrics, maximised, strict=True)}


@usual_errors
def history_of(
    codes: HeatCodes,
    data: ExperimentData,
    aim: Aim | None,
    pending: Array,
    failed: Array,
    failed_at: Sequence[float] = (),
    failed_metadata: Sequence[Mapping[str, Any]] = (),
) -> History:
    """Return the history for a suggestion.

    Args:
        codes: How parameters became columns.
        data: Arms and observations, already transformed, in order of completion.
        aim: What counts; None where nothing can be known about it.
        pending: (p, d) points under evaluation, and others that are not to be proposed again.
        failed: (q, d) points that failed.
        failed_at: (q) when they did, in seconds, ascending.
        failed_metadata: (q) of their arms.
    """
    arms = data.arm_data
    points = arms[list(codes.space.names)].to_numpy(dtype=float)
    if codes.conditions is not None:
        points = codes.conditions.deactivate(points)
    if aim is None:
        empty = np.empty((0, len(codes.space)))
        pending = _not_among(np.concatenate([pending, points]), empty)
        return History.of(codes.space, empty, np.empty(0), None, pending, failed)
    observed = data.observation_data.reindex(arms.index)
    means = observed["mean"][list(aim.metrics)].to_numpy(dtype=float)  # (n, m)
    errors = observed["sem"][list(aim.metrics)].to_numpy(dtype=float)
    variances = np.minimum(np.abs(errors), LARGEST_ERROR) ** 2
    values = values_of(data, aim)
    constraints = _sums(means, aim.constraints) - aim.bounds  # (n, C)
    noise = _sums(variances, np.concatenate([aim.objectives, aim.constraints]) ** 2)
    metadata = arms["metadata"].tolist()
    regions = np.array([region_in(entry) for entry in metadata], dtype=np.int64)
    is_known: Bools = ~np.any(np.isnan(values), axis=1)
    completed = _completed(arms)[is_known]
    failed_after = np.searchsorted(completed, failed_at, side="right")
    return History(
        points=points[is_known],
        values=values[is_known, 0] if values.shape[1] == 1 else values[is_known],
        region_ids=regions[is_known],
        pending=_not_among(np.concatenate([pending, points[~is_known]]), points[is_known]),
        failed=failed,
        constraints=constraints[is_known] if constraints.shape[1] else None,
        noise=None if np.isnan(noise[is_known]).all() else noise[is_known],
        failed_after=failed_after if len(failed_at) else None,
        failed_region_ids=np.array(
            [region_in(entry) for entry in failed_metadata], dtype=np.int64
        ),
    )


def values_of(data: ExperimentData, aim: Aim) -> Array:
    """Return the objectives (n, M) of arms, minimised; NaN where a metric has no data."""
    observed = data.observation_data.reindex(data.arm_data.index)
    return _sums(observed["mean"][list(aim.metrics)].to_numpy(dtype=float), aim.objectives)


def in_order_of_completion(data: ExperimentData) -> ExperimentData:
    """Return arms and observations in the order in which their trials were completed.

    That is how the trust region saw them, and how fits of fewer arms go on to more.
    """
    arms = data.arm_data.iloc[np.argsort(_completed(data.arm_data), kind="stable")]
    return ExperimentData(arms, data.observation_data.reindex(arms.index))


def _completed(arms: DataFrame) -> Array:
    """(n,) when the trials of arms were completed, in seconds; infinity where that is unknown."""
    entries = arms["metadata"]
    times = [entry.get(Keys.TRIAL_COMPLETION_TIMESTAMP, np.inf) for entry in entries]
    return np.array(times, dtype=float)


def _sums(columns: Array, weights: Array) -> Array:
    """Return weighted sums (n, k) of columns (n, m); NaN matters where it has a weight."""
    sums = np.zeros((len(columns), len(weights)))
    for k, row in enumerate(weights):
        used = np.flatnonzero(row)
        sums[:, k] = columns[:, used] @ row[used]
    return sums


def region_in(metadata: Mapping[str, Any]) -> int:
    """Return the trust region that an arm was asked for, by its metadata."""
    region = metadata.get(REGION_KEY)
    return region if isinstance(region, int) and not isinstance(region, bool) else NO_REGION


def _not_among(points: Array, known: Array) -> Array:
    """Return points (p, d) without those that are rows of ``known`` (n, d), and without twins."""
    seen = {row.tobytes() for row in known}
    kept = []
    for row in points:
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            kept.append(row)
    return np.array(kept).reshape(len(kept), points.shape[1])
