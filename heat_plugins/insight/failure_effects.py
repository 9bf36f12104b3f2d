"""Explanation of failures, from the Gaussian process of success and failure.

Notation
    ===========  =====================================================================
    label        -1 for a complete trial, 1 for a failed one
    f            the expected label, a function on the space; its posterior is Gaussian
    p            probability of failure, (1 + f) / 2, the least-squares form of
                 classification (Rasmussen and Williams, 2006, section 6.5)
    F_v          the mean of f over points with the value v of a parameter, the other
                 parameters being anything
    K, k_v       (n, n) covariance of the observed labels; (n,) of these with F_v
    ===========  =====================================================================

Unlike the probability that f is below 0, which the acquisition uses, p is how often trials fail:
where a third of them fails at random it is a third and not next to nothing.

Whether failures depend on parameters at all is told by cross-validation: hyperparameters are
learnt without a fifth of the trials, whose labels are then predicted. Fitted to all of them, a
model with a rate for each parameter finds something in random labels, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.gp.failure_model import FailureModel, fit_failures
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget
from heat_plugins.history import History, canonical
from heat_plugins.insight.effects import settings_of
from heat_plugins.insight.sobol import FEW_EVALUATIONS, even_points, sobol_indices
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["FailureEffects", "FailureProbability", "failure_effects"]

N_FOLDS = 5
MOST_TRIALS = 300  # that are cross-validated
N_BACKGROUND = 128  # points whose mean F_v is
# Correlation of predicted with true labels, in deviations of that of random ones (n ** -0.5), and
# the share of their variance: the least that is not called chance. 14 of 319 histories of random
# failures had more (20 to 100 trials, 3 to 16 parameters). Where trials with one choice of four
# fail in 90 %, others in 5 %, it was 42 % after 20 trials, 91 % after 50 and all after 100.
CLEAR_CORRELATION = 2.5
CLEAR_SHARE = 0.05
TWO_SIDED_95 = 1.96  # deviations of a normal distribution on either side of its mean


class FailureProbability(NamedTuple):
    """Probability of failure with a value of a parameter, averaged over the others.

    Args:
        value: The value.
        probability: Of failure.
        low: Lower end of its 95 % interval by the model.
        high: Upper end.
    """

    value: object
    probability: float
    low: float
    high: float


@dataclass(frozen=True)
class FailureEffects:
    """Explanation of failures.

    Args:
        n_failed: Trials that ended without a value: failed, or pruned without a report.
        n_complete: Trials that have a value.
        n_unplaced: Those of the failed that had not asked for all parameters. They are nowhere
            in particular, and nothing is learnt from them.
        depends: Whether failures are seen to depend on parameters; otherwise they look like
            chance, and shares and probabilities mean little.
        explained: Share of the variance of the labels that parameters predict, by
            cross-validation; the rest is chance, or not learnt yet.
        shares: Of the variance of f over the space, the share in which a parameter takes part,
            by itself or with others: its total Sobol' index.
        probabilities: For each parameter its values, with how often trials fail there.
    """

    n_failed: int
    n_complete: int
    n_unplaced: int = 0
    depends: bool = False
    explained: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    probabilities: Mapping[str, tuple[FailureProbability, ...]] = field(default_factory=dict)


@usual_errors
def failure_effects(
    builder: KernelBuilder, conditions: Conditions | None, history: History, budget: ModelBudget
) -> FailureEffects | None:
    """Return what failures depend on; None where no trial has failed."""
    if not len(history.failed):
        return None
    placed = canonical(history.drop_incomplete(builder.optional), builder.symmetry())
    n_failed, n_complete = len(history.failed), len(history.points)
    nothing = FailureEffects(n_failed, n_complete, n_failed - len(placed.failed))
    # Points under evaluation have no label yet, and make no interval smaller.
    placed = replace(placed, pending=placed.pending[:0])
    model = fit_failures(builder, placed, budget, FitCache())
    if model is None:
        return nothing
    space = builder.space
    rng = np.random.default_rng(0)
    indices = sobol_indices(space, model.surrogate.mean, rng, conditions, FEW_EVALUATIONS)
    validated = _cross_validated(model)
    return replace(
        nothing,
        depends=(validated.explained > CLEAR_SHARE and validated.correlation > CLEAR_CORRELATION),
        explained=max(validated.explained, 0.0),
        shares=dict(zip(space.names, indices.total.tolist(), strict=True)),
        probabilities=_probabilities(space, model, conditions, validated.error),
    )


class _CrossValidation(NamedTuple):
    """Skill of leave-one-out predictions of the labels.

    Args:
        explained: 1 - sum (y - prediction)^2 / sum (y - mean of the others)^2, which is below 0
            where the mean of the others predicts better.
        correlation: Of predictions with y, times sqrt(n): standard normal if they have nothing
            to do with each other.
        error: Mean squared error of the predictions, as if one more trial had been predicted
            wrong (in the spirit of Laplace's rule of succession): that three trials out of three
            failed does not make the next one certain to.
    """

    explained: float
    correlation: float
    error: float


def _cross_validated(model: FailureModel) -> _CrossValidation:
    """Predict the labels of each fifth of the trials from the others."""
    rng = np.random.default_rng(0)
    some = rng.permutation(len(model.points))[:MOST_TRIALS]
    # Each fold gets its part of the failures.
    some = some[np.argsort(model.values[some], kind="stable")]
    points, values = model.points[some], model.values[some]
    folds = np.arange(len(some)) % N_FOLDS
    # (m,) predicted: the mean of the others, and what is added to it
    middles, deviations = np.zeros((2, len(some)))
    for fold in range(N_FOLDS if len(some) > 1 else 0):
        out = folds == fold
        known = values[~out]
        middle, spread = known.mean(), known.std() or 1.0
        standardised, kernel = (known - middle) / spread, model.kernel_fit.kernel
        found = fit(kernel, points[~out], standardised, deterministic=False).hyperparameters
        surrogate = Surrogate(kernel, found, points[~out], standardised)
        middles[out], deviations[out] = middle, spread * surrogate.mean(points[out])
    errors = float(np.sum((values - middles - deviations) ** 2))
    error = (errors + (2.0 / model.spread) ** 2) / (len(some) + 1)
    total = float(np.sum((values - middles) ** 2))
    scale = float(deviations.std() * values.std())
    if not (total > 0.0 and scale > 0.0):  # one trial only, or nothing that tells them apart
        return _CrossValidation(0.0, 0.0, error)
    covariance = float(np.mean((deviations - deviations.mean()) * (values - values.mean())))
    correlation = covariance / scale * float(np.sqrt(len(some)))
    return _CrossValidation(1.0 - errors / total, correlation, error)


def _probabilities(
    space: Space, model: FailureModel, conditions: Conditions | None, error: float
) -> dict[str, tuple[FailureProbability, ...]]:
    """Return how often trials fail with each value of each parameter.

    F_v is Gaussian: its mean is that of the posterior over B points, its variance
    sigma^2 (mean of k(x, x') over these - k_v^T K^-1 k_v). For the variance, labels have as much
    noise as cross-validation found ``error``, if the fit found less; to it comes the sampling
    error of the points.
    """
    kernel, hyperparameters = model.kernel_fit.kernel, model.kernel_fit.hyperparameters
    theta = hyperparameters.theta
    variance = model.surrogate.variance
    matrix = kernel.matrix(theta, kernel.prepare(model.points))
    diagonal = np.eye(len(matrix))
    exact = linalg.cho_factor(matrix + hyperparameters.noise * diagonal, lower=True)
    weights = linalg.cho_solve(exact, model.values)  # K^-1 y
    noise = max(hyperparameters.noise, error / variance)
    factor = linalg.cho_factor(matrix + noise * diagonal, lower=True)
    cross = kernel.cross_covariance(theta, model.points)

    def probability(value: object, points: Array) -> FailureProbability:
        covariances = cross(points)  # (B, n)
        means, together = covariances @ weights, covariances.mean(axis=0)  # (B,), k_v
        own = kernel.matrix(theta, kernel.prepare(points)).mean()
        rest = max(float(own - together @ linalg.cho_solve(factor, together)), 0.0)
        deviation = np.sqrt(variance * rest + means.var() / len(points))
        label = model.centre + model.spread * means.mean()
        reach = TWO_SIDED_95 * model.spread * deviation
        ends = np.clip((1.0 + np.array([label, label - reach, label + reach])) / 2.0, 0.0, 1.0)
        return FailureProbability(value, *ends.tolist())

    everywhere = even_points(space, N_BACKGROUND, np.random.default_rng(0))
    return {
        name: tuple(probability(value, points) for value, points in settled)
        for name, _, settled in settings_of(space, conditions, everywhere)
    }
