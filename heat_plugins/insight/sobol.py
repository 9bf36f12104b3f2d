"""Sobol indices: first-order and total effects of the surrogate's mean.

Notation
    ===========  =====================================================================
    m            the mean of the surrogate, a function on the space
    V            the variance of m over the space, all values alike
    S_i          first-order effect of parameter i: Var(E[m | parameter i]) / V
    T_i          total effect of parameter i: E[Var(m | all parameters but i)] / V
    background   (B, d) points that stand for "the other parameters being anything"
    ===========  =====================================================================

S_i is the share of V that parameter i has by itself (Sobol', 1993); 1 - sum S_i is that of all
interactions. T_i is the share of V in which parameter i takes part, by itself or with others (the
total index of Homma and Saltelli, 1996). It is zero only for a parameter that does nothing;
without interactions the T_i add up to one, with interactions to more, as what two parameters
do together is counted for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.gp.fit import Candidates
from heat_plugins.gp.outcome_transform import with_unit_deviation
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.orthogonal import quadrature
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Categorical, Ordinal, Parameter, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.spec.model import Model

__all__ = [
    "FEW_EVALUATIONS",
    "SobolIndices",
    "even_points",
    "fit_everywhere",
    "importances",
    "scaled",
    "sobol_indices",
    "total_effects",
]

MOST_TRIALS = 300  # that the model is fitted to
OUTLIER_LIMIT = 1.0  # ranges of the middle 80 % that a value may be away from them
N_BACKGROUND = 256
FEWEST_BACKGROUND = 32  # with very many parameters
MOST_EVALUATIONS = 200_000  # of the mean, if the background may be smaller for it
FEW_EVALUATIONS = 10_000  # the same, next to other things that are explained
MOST_PLACES = 64  # that stand for all values of a parameter that is no continuous number
N_FINE = 5040  # divisible by most small numbers of values


@usual_errors
def importances(
    space: Space, model: Model, points: Array, values: Array, rng: np.random.Generator
) -> Array:
    """Return the total effect (d,) of each parameter on what a model makes of a history.

    That is n > 0 points (n, d) with finite values (n,), of which some are drawn where there are
    very many.
    """
    # Not the best and the latest, as for a suggestion: every part of the space counts.
    some = np.sort(rng.permutation(len(points))[:MOST_TRIALS])
    surrogate = fit_everywhere(KernelBuilder(space, model), points[some], scaled(values[some]))
    return total_effects(space, surrogate.mean, rng)


@usual_errors
def fit_everywhere(builder: KernelBuilder, points: Array, values: Array) -> Surrogate:
    """Return a surrogate that is meant for the whole space and not for its best part.

    It is fitted to points (n, d) and their values (n,) as :func:`scaled` returns them.
    """
    combinations = Candidates.of(builder).combinations.values()
    kernels = [builder.kernel(combination, len(points)) for combination in combinations]
    fits = [fit(kernel, points, values, deterministic=False) for kernel in kernels]
    # A fit gone wrong is the least likely.
    losses = np.nan_to_num([result.negative_log_density for result in fits], nan=np.inf)
    best = int(np.argmin(losses))
    return Surrogate(kernels[best], fits[best].hyperparameters, points, values)


@usual_errors
def scaled(values: Array) -> Array:
    """Return finite values (n,) with mean 0 and deviation 1, outliers on either side pulled in.

    More loosely than for suggestions (``standardise``): most trials of a good sampler are near
    the optimum, and what parameters do is seen in the few that are not.
    """
    # Sums and differences of values near the largest double would overflow.
    values = values / max(float(np.max(np.abs(values))), np.finfo(float).tiny)
    low, high = np.quantile(values, [0.1, 0.9])
    if high > low:
        reach = OUTLIER_LIMIT * (high - low)
        values = np.clip(values, low - reach, high + reach)
    return with_unit_deviation(values, float(np.max(np.abs(values))))


class SobolIndices(NamedTuple):
    """First-order effects S (d,) and total effects T (d,) of a function on a space."""

    first: Array
    total: Array


def total_effects(space: Space, mean: Callable[[Array], Array], rng: np.random.Generator) -> Array:
    """Return the total effects (d,) of :func:`sobol_indices` alone."""
    return sobol_indices(space, mean, rng).total


@usual_errors
def sobol_indices(
    space: Space,
    mean: Callable[[Array], Array],
    rng: np.random.Generator,
    conditions: Conditions | None = None,
    most_evaluations: int = MOST_EVALUATIONS,
) -> SobolIndices:
    """Return the first-order and total effects of a function on a space; zeros if constant.

    Exact for sums of effects of single choices; the sampling error of what several
    parameters do together is that of the background, which is the same for all values of a
    parameter.

    Args:
        space: The parameters.
        mean: The function, of points (n, d).
        rng: Draws the background.
        conditions: When parameters exist; one that does not makes no difference.
        most_evaluations: Of the function, if the background may be smaller for it.
    """
    all_places = [_places(parameter, rng) for parameter in space.parameters]
    n_places = sum(len(places) for places, _ in all_places)
    n = N_BACKGROUND
    while n > FEWEST_BACKGROUND and n * n_places > most_evaluations:
        n //= 2
    background = even_points(space, n, rng)

    def function(points: Array) -> Array:
        return mean(points if conditions is None else conditions.deactivate(points))

    middle = function(background).mean()  # small numbers have exact squares
    alone, own, first, second = np.zeros((4, len(space)))
    for column, (places, shares) in enumerate(all_places):
        moved = np.repeat(background, len(places), axis=0)
        moved[:, column] = np.tile(places, n)
        values = function(moved).reshape(n, len(places)) - middle
        means = values @ shares  # (B,)
        own[column] = np.mean((values - means[:, None]) ** 2 @ shares)
        first[column], second[column] = means.mean(), np.mean(values**2 @ shares)
        alone[column] = (values.mean(axis=0) - first[column]) ** 2 @ shares
    # All evaluations together know the variance best.
    variance = second.mean() - first.mean() ** 2 if len(space) else 0.0
    if not variance > 0.0:
        return SobolIndices(*np.zeros((2, len(space))))
    total = np.minimum(own / variance, 1.0)
    return SobolIndices(np.minimum(alone / variance, total), total)


def _places(parameter: Parameter, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return places (r,) that stand for all values of a parameter, and their shares (r,)."""
    if isinstance(parameter, Categorical | Ordinal):
        places = parameter.levels()
        if len(places) > MOST_PLACES:
            places = rng.choice(places, MOST_PLACES, replace=False)
        return places, np.full(len(places), 1.0 / len(places))
    if parameter.n_levels == np.inf:
        return quadrature()
    # On a log scale the values of a grid are not equally likely.
    n = N_FINE if parameter.n_levels <= MOST_PLACES else MOST_PLACES
    places, counts = np.unique(
        parameter.from_uniform((np.arange(n) + 0.5) / n), return_counts=True
    )
    return places, counts / n


def even_points(space: Space, n: int, rng: np.random.Generator) -> Array:
    """Return points (n, d) that cover the space evenly; n is a power of two."""
    if len(space) > qmc.Sobol.MAXDIM:
        return space.sample(n, rng)
    points: Array = qmc.Sobol(len(space), seed=rng).random(n)
    for column, parameter in enumerate(space.parameters):
        points[:, column] = parameter.from_uniform(points[:, column])
    return points
