"""Several objectives: how much of the best conceivable hypervolume is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heat_plugins.acquisition.pareto import hypervolume
from heat_plugins.benchmarks.problems.functions import sequence
from heat_plugins.benchmarks.problems.tasks import Params, Result, Task, choices_of, codes_of

__all__ = ["OBJECTIVES", "features", "letters_2", "letters_3", "share_of_hypervolume"]


def share_of_hypervolume(results: Sequence[Result]) -> float:
    """Return the volume that results dominate, as a share of the box from 0 to 1."""
    values = np.array([result.values for result in results])
    return hypervolume(values, np.ones(values.shape[1]))


def _letters(n_objectives: int, length: int, n_letters: int) -> Task:
    """Sequences scored by landscapes of equal kind that have nothing to do with each other.

    Each value is 0 at the best that its landscape alone has and 1 at the mean of all.
    """
    landscapes = [sequence(length, n_letters, 0.5, 40 + i) for i in range(n_objectives)]

    def evaluate(params: Params) -> Result:
        codes = codes_of(params)
        return Result(tuple(1.0 - f(codes) / float(f.best_known or 1.0) for f in landscapes))

    return Task(
        f"letters-{n_objectives}",
        f"{n_objectives} landscapes of {length} letters of {n_letters}",
        choices_of((n_letters,) * length),
        evaluate,
        share_of_hypervolume,
        n_objectives,
        larger_is_better=True,
    )


def letters_2() -> Task:
    """Two landscapes of 25 letters of 5."""
    return _letters(2, 25, 5)


def letters_3() -> Task:
    """Three landscapes of 20 letters of 4."""
    return _letters(3, 20, 4)


def features(n: int = 40, n_factors: int = 8, seed: int = 0) -> Task:
    """Which features to predict from: the error against their number, both as shares.

    Features and target depend on common factors, so that features can replace each other. The
    error is the variance that the best linear prediction leaves: no data, no noise.

    Args:
        n: Number of features.
        n_factors: Number of factors; each feature depends on some of them.
        seed: Seed of the dependences.
    """
    rng = np.random.default_rng([seed, n])
    loadings = rng.standard_normal((n, n_factors)) * (rng.random((n, n_factors)) < 0.4)
    effects = rng.standard_normal(n_factors)
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.2, 2.0, n))
    with_target = loadings @ effects
    variance = effects @ effects

    def evaluate(params: Params) -> Result:
        used = np.flatnonzero(codes_of(params))
        weights = np.linalg.solve(covariance[np.ix_(used, used)], with_target[used])
        return Result((float(1.0 - with_target[used] @ weights / variance), len(used) / n))

    return Task(
        "features",
        f"{n} features in or out: error against number",
        choices_of((2,) * n),
        evaluate,
        share_of_hypervolume,
        n_objectives=2,
        larger_is_better=True,
    )


OBJECTIVES: dict[str, Callable[[], Task]] = {
    "letters-2": letters_2,
    "features": features,
    "letters-3": letters_3,
}
