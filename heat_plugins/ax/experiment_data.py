"""What an experiment of Ax has seen, as arrays of the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from numpy.typing import NDArray

from heat_plugins.ax.codes import HeatCodes
from heat_plugins.history import NO_REGION, History
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array

__all__ = ["REGION_KEY", "Aim", "history_of"]

# Where the trust region that an arm was asked for is kept, among the metadata of the arm.
REGION_KEY = "heat_plugins:region"
LARGEST_ERROR = 1e100  # whose square is a number, and which says nothing as well as infinity


@dataclass(frozen=True, eq=False)
class Aim:
    """What is to be optimised, as sums over metrics.

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
        # Ax maximises, the core minimises.
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


@usual_errors
def history_of(
    codes: HeatCodes,
    data: ExperimentData,
    aim: Aim | None,
    pending: Array,
    failed: Array,
    failed_at: Sequence[float] = (),
) -> History:
    """Return the history for a suggestion.

    Args:
        codes: How parameters became columns.
        data: Arms and observations, already transformed.
        aim: What counts; None where nothing can be known about it.
        pending: (p, d) points under evaluation, and others that are not to be proposed again.
        failed: (q, d) points that failed.
        failed_at: (q) when they did, in seconds, ascending.
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
    values = _sums(means, aim.objectives)  # (n, M)
    constraints = _sums(means, aim.constraints) - aim.bounds  # (n, C)
    noise = _sums(variances, np.concatenate([aim.objectives, aim.constraints]) ** 2)
    metadata = arms["metadata"].tolist()
    regions = np.array([_region(entry) for entry in metadata], dtype=np.int64)
    is_known: NDArray[np.bool_] = ~np.any(np.isnan(values), axis=1)
    times = [entry.get(Keys.TRIAL_COMPLETION_TIMESTAMP, np.inf) for entry in metadata]
    completed = np.array(times, dtype=float)
    # In order of completion, as the trust region saw them.
    order = np.argsort(completed, kind="stable")
    order = order[is_known[order]]
    return History(
        points[order],
        values[order, 0] if values.shape[1] == 1 else values[order],
        regions[order],
        _not_among(np.concatenate([pending, points[~is_known]]), points[order]),
        failed,
        constraints[order] if constraints.shape[1] else None,
        None if np.isnan(noise[order]).all() else noise[order],
        np.searchsorted(completed[order], failed_at, side="right") if len(failed_at) else None,
    )


def _sums(columns: Array, weights: Array) -> Array:
    """Return weighted sums (n, k) of columns (n, m); NaN matters where it has a weight."""
    sums = np.zeros((len(columns), len(weights)))
    for k, row in enumerate(weights):
        used = np.flatnonzero(row)
        sums[:, k] = columns[:, used] @ row[used]
    return sums


def _region(metadata: dict[str, object]) -> int:
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
