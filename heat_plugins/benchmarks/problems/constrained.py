"""Constraints that only an evaluation reveals: the best value that meets them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from heat_plugins.benchmarks.problems.functions import sequence
from heat_plugins.benchmarks.problems.tasks import Params, Result, Task, choices_of, codes_of

__all__ = ["CONSTRAINED", "knapsack", "letters"]


def knapsack(n: int = 25, n_variants: int = 5, seed: int = 0) -> Task:
    """One of several variants of each item, heavy ones worth more; the load has a limit.

    About one in ten random loads is light enough.
    """
    rng = np.random.default_rng([seed, n, n_variants])
    weights = rng.integers(1, 21, (n, n_variants))
    worth = weights + rng.integers(0, 11, (n, n_variants))
    places = np.arange(n)
    spread = np.sqrt(weights.var(axis=1).sum())
    limit = int(weights.mean(axis=1).sum() - 1.28 * spread)

    def evaluate(params: Params) -> Result:
        codes = codes_of(params)
        load = float(weights[places, codes].sum())
        return Result((-float(worth[places, codes].sum()),), (load - limit,))

    return Task(
        "knapsack",
        f"knapsack of {n} items, one of {n_variants} variants each",
        choices_of((n_variants,) * n),
        evaluate,
        n_constraints=1,
        best_known=-_most_worth(weights, worth, limit),
    )


def _most_worth(weights: NDArray[np.int64], worth: NDArray[np.int64], limit: int) -> float:
    """Return the most that a load within the limit is worth, item by item."""
    most = np.zeros(limit + 1)  # most[w]: what a load of at most w is worth
    for of_item, gains in zip(weights, worth, strict=True):
        options = np.full((len(gains), limit + 1), -np.inf)
        for option, weight, gain in zip(options, of_item, gains, strict=True):
            if weight <= limit:
                option[weight:] = most[: limit + 1 - weight] + gain
        most = options.max(axis=0)
    return float(most[-1])


def letters(length: int = 25, n_letters: int = 5) -> Task:
    """A landscape of letters and pairs, and two more that must be below a level.

    About three in ten random sequences meet each of the two constraints.
    """
    value, *others = [sequence(length, n_letters, 0.5, 50 + i) for i in range(3)]
    codes = np.random.default_rng(0).integers(0, n_letters, (2000, length))
    levels = [float(np.quantile([f(c) for c in codes], 0.3)) for f in others]

    def evaluate(params: Params) -> Result:
        codes = codes_of(params)
        limits = (f(codes) - level for f, level in zip(others, levels, strict=True))
        return Result((value(codes),), tuple(limits))

    return Task(
        "letters-constrained",
        f"{length} letters of {n_letters}, two constraints of the same kind",
        choices_of((n_letters,) * length),
        evaluate,
        n_constraints=2,
    )


CONSTRAINED: dict[str, Callable[[], Task]] = {
    "knapsack": knapsack,
    "letters-constrained": letters,
}
