"""Surrogates of all outcomes: one for each objective and each constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heat_plugins.batch_function import BatchFunction
from heat_plugins.gp.exact_gp import (
    DETERMINISTIC_NOISE,
    Hyperparameters,
    Surrogate,
    variance_and_rest,
)
from heat_plugins.gp.fit import FitCache, KernelFit, sampled, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcome_transform import standardised_value
from heat_plugins.gp.transfer_kernel import EarlierModel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Bools, Indices, Space

__all__ = ["Outcome", "Outcomes", "fit_outcome", "modelled_constraints"]

# Every model takes its time in every suggestion, whatever it has to tell.
MOST_CONSTRAINTS = 10
# A constraint is modelled once this share of the trials have it, or so many.
LEAST_SHARE = 0.05
ENOUGH_TRIALS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """The model of one objective or constraint.

    Args:
        surrogate: The posterior, of standardised values.
        kernel_fit: The kernel it has.
        values: (k,) standardised values.
        rows: (k,) the trials that they belong to.
        modelled: (l,) the trials that the surrogate has.
        is_deterministic: Whether equal points have equal values, or seem to.
        zero: Where 0 lies among the standardised values of a constraint; NaN of an objective.
        believed: (k,) what to take for the true values: those that came, or what the model
            makes of them where their noise is known.
        samples: The same posterior with other likely hyperparameters each, where these are
            sampled.
    """

    surrogate: Surrogate
    kernel_fit: KernelFit
    values: Array
    rows: Indices
    modelled: Indices
    is_deterministic: bool
    zero: float
    believed: Array
    samples: tuple[Surrogate, ...] = ()

    def incumbent(self, among: Bools, row: int | None) -> float | None:
        """Return the standardised value to improve on; None where there is none.

        Args:
            among: (n,) which trials count.
            row: The trial whose value it should be, if that is known exactly.
        """
        if self.is_deterministic:
            counted = self.rows[among[self.rows]] if row is None else np.array([row])
            values = self.values[np.isin(self.rows, counted[among[counted]])]
            return float(values.min()) if len(values) else None
        # A lucky noisy value is no level to improve on; the model's own idea of it is.
        means = self.surrogate.mean(self.points[among[self.modelled]])
        return float(means.min()) if len(means) else None

    @property
    def points(self) -> Array:
        """(l, d) the points that the surrogate has values of."""
        return self.surrogate.points


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The models of every objective and every constraint.

    Args:
        objectives: One for each.
        constraints: One for each that is modelled.
        pending: (p, d) points under evaluation.
        log_success: The log probability that a trial does not fail; None where none has.
        leaves_out_constraints: Whether trials break others than those that are modelled.
    """

    objectives: list[Outcome]
    constraints: list[Outcome]
    pending: Array
    log_success: BatchFunction | None = None
    leaves_out_constraints: bool = False

    def by_sample(self) -> list[Outcomes]:
        """Return one for each sample of hyperparameters; itself where these are not sampled."""
        n_samples = len(self.objectives[0].samples)
        if not n_samples:
            return [self]
        return [
            replace(
                self,
                objectives=[replace(each, surrogate=each.samples[i]) for each in self.objectives],
            )
            for i in range(n_samples)
        ]

    def expect_failure(self, points: Array) -> bool:
        """Whether the first of points (k, d), if there is one, will rather fail than not."""
        if self.log_success is None or not len(points):
            return False
        return bool(self.log_success(points[:1])[0] < np.log(0.5))


def modelled_constraints(
    constraints: Array, earlier: Sequence[Array | None] = ()
) -> tuple[Indices, bool]:
    """Return which of constraints (n, C) to model, and whether that leaves out broken ones.

    One that is never broken cannot be modelled, nor can one that nothing is known about. Those
    that few trials have are left out, and of very many those that are broken less often: to
    rank the trials they still count, and what is broken again and again comes to be modelled.
    What trials of earlier studies broke, (n_s, C) each or None, is known to be possible.
    """
    n_known = np.count_nonzero(~np.isnan(constraints), axis=0)
    n_broken = np.count_nonzero(constraints > 0.0, axis=0)
    for known in earlier:
        if known is not None:
            n_broken = n_broken + np.count_nonzero(known > 0.0, axis=0) * (n_known > 0)
    enough = min(LEAST_SHARE * len(constraints), ENOUGH_TRIALS)
    found = np.flatnonzero((n_broken > 0) & (n_known >= enough))
    most = found[np.argsort(-n_broken[found], kind="stable")[:MOST_CONSTRAINTS]]
    return np.sort(most), len(most) < int(np.count_nonzero(n_broken))


def fit_outcome(
    builder: KernelBuilder,
    data: OutcomeData,
    budget: ModelBudget,
    cache: FitCache,
    *,
    centre: Array | None = None,
    without_value: Array | None = None,
    fit: KernelFit | None = None,
    earlier: Sequence[EarlierModel] = (),
) -> Outcome:
    """Return the model of one outcome.

    Args:
        builder: Makes the kernels.
        data: What the trials tell; values are NaN where they are not known.
        budget: How many observations the model may have.
        cache: Where the last fit of this outcome is kept.
        centre: (d,) the middle of the trust region, if there is one.
        without_value: (p, d) points under evaluation, and those that failed.
        fit: The kernel, where it has been fitted to these observations already.
        earlier: What earlier studies know of this outcome.
    """
    rows = np.flatnonzero(~np.isnan(data.values))
    data = data.at(rows).with_inferred_noise(builder.space)
    if fit is None:
        fit = select_model(builder, data, budget.fit_points, cache, earlier)
    kernel_fit = fit
    points, values, noise = data.standardised
    some = _model_points(builder.space, points, data.values, centre, budget.model_points)
    noise = None if noise is None else noise[some]
    # Failed points too: without a value, but not to be surrounded by more of their kind.
    pending = None if without_value is None else without_value[-budget.model_points // 2 :]

    def surrogate_with(hyperparameters: Hyperparameters) -> Surrogate:
        shares = noise
        if noise is not None and not np.isnan(noise).any():
            known = np.maximum(noise, DETERMINISTIC_NOISE)
            variance, rest = variance_and_rest(
                kernel_fit.kernel,
                hyperparameters,
                points[some],
                values[some],
                known,
                learns_extra_noise=data.learns_extra_noise,
            )
            hyperparameters = Hyperparameters(hyperparameters.theta, -np.inf)
            shares = (known + rest) / variance
        return Surrogate(
            kernel_fit.kernel, hyperparameters, points[some], values[some], pending, shares
        )

    surrogate = surrogate_with(kernel_fit.hyperparameters)
    samples: list[Hyperparameters] = []
    if builder.model.hyperparameters == "slice-sampling":
        samples = sampled(kernel_fit, data, budget.fit_points)
    return Outcome(
        surrogate=surrogate,
        kernel_fit=kernel_fit,
        values=values,
        rows=rows,
        modelled=rows[some],
        is_deterministic=kernel_fit.is_noise_free,
        zero=standardised_value(0.0, data.values, values, data.boundary),
        believed=values if noise is None else surrogate.mean(points),
        samples=tuple(surrogate_with(sample) for sample in samples),
    )


def _model_points(
    space: Space, points: Array, values: Array, centre: Array | None, limit: int
) -> Indices:
    """Choose observations for the surrogate: of very many, near, good and late ones."""
    n = len(points)
    if n <= limit:
        return np.arange(n)
    best = np.argsort(values, kind="stable")
    difference = points - (points[best[0]] if centre is None else centre)
    np.abs(difference, out=difference)
    # What exists at one of two points only has been counted as the choice that makes it so.
    difference[np.isnan(difference)] = 0.0
    np.greater(difference, 0.0, out=difference, where=space.is_discrete)
    near = np.argsort(difference.sum(axis=1), kind="stable")
    latest = np.arange(n)[::-1]
    return np.union1d(np.union1d(near[: limit // 2], best[: limit // 4]), latest[: limit // 4])
