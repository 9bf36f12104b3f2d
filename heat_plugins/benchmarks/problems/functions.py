"""Functions whose structure is known: invariant under permutations, or additive.

The test functions of Simon Fraser University's collection (Surjanovic and Bingham, 2013) on
a grid whose levels are unordered choices, and a landscape of single and pair effects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from heat_plugins.benchmarks.problems.problem import RELOCATION_SEED, Problem
from heat_plugins.benchmarks.problems.published import ackley

__all__ = ["LETTERS", "SFU", "relabelled", "sequence"]

Point = NDArray[np.float64]


def _rastrigin(x: Point) -> float:
    return float(10.0 * len(x) + np.sum(x**2 - 10.0 * np.cos(2.0 * np.pi * x)))


def _schwefel(x: Point) -> float:
    return float(418.9829 * len(x) - np.sum(x * np.sin(np.sqrt(np.abs(x)))))


def _sphere(x: Point) -> float:
    return float(np.sum(x**2))


def _styblinski_tang(x: Point) -> float:
    return float(0.5 * np.sum(x**4 - 16.0 * x**2 + 5.0 * x))


def _on_a_grid(
    name: str, function: Callable[[Point], float], reach: float
) -> Callable[[int, int], Problem]:
    """Return a maker of the problem with so many variables and levels."""

    def make(n: int = 20, n_levels: int = 11) -> Problem:
        grid = np.linspace(-reach, reach, n_levels)
        # A sum over the variables, so all of them have the same level at its optimum.
        best = min(function(np.full(n, level)) for level in grid)
        return Problem(
            name,
            f"{name} of {n} variables on a grid of {n_levels} unordered levels",
            (n_levels,) * n,
            lambda codes: function(grid[codes]),
            best_known=best,
        )

    return make


SFU: dict[str, Callable[[int, int], Problem]] = {
    "ackley": ackley,
    "rastrigin": _on_a_grid("rastrigin", _rastrigin, 5.12),
    "schwefel": _on_a_grid("schwefel", _schwefel, 500.0),
    "sphere": _on_a_grid("sphere", _sphere, 5.12),
    "styblinski-tang": _on_a_grid("styblinski-tang", _styblinski_tang, 5.0),
}


def relabelled(problem: Problem) -> Problem:
    """Return the problem with its choices renamed, alike for all variables.

    The optimum moves, and what is invariant under permutations of the variables stays so;
    with a different renaming for each variable it would not.
    """
    rng = np.random.RandomState(RELOCATION_SEED)
    renamed = rng.permutation(problem.n_choices[0])
    function = problem.function
    return replace(problem, function=lambda codes: function(renamed[codes]))


def sequence(length: int = 30, n_letters: int = 4, pairs: float = 0.5, seed: int = 0) -> Problem:
    """A sequence whose letters have effects of their own, and in pairs of neighbours.

    Landscapes of RNA and proteins look like this to the first approximation.

    Args:
        length: Number of letters.
        n_letters: Size of the alphabet.
        pairs: Deviation of the effects of neighbouring pairs; that of single letters is 1.
        seed: Seed of the effects.
    """
    rng = np.random.default_rng([seed, length, n_letters])
    single = rng.standard_normal((length, n_letters))
    double = pairs * rng.standard_normal((length - 1, n_letters, n_letters))
    places = np.arange(length)

    def value(codes: NDArray[np.int64]) -> float:
        return float(
            single[places, codes].sum() + double[places[:-1], codes[:-1], codes[1:]].sum()
        )

    return Problem(
        "sequence",
        f"{length} letters of {n_letters}: single effects, and pairs with deviation {pairs:g}",
        (n_letters,) * length,
        value,
        best_known=_best_sequence(single, double),
    )


def _best_sequence(single: Point, double: Point) -> float:
    """Return the smallest value, letter by letter (Viterbi's algorithm)."""
    best = single[0]
    for effects, table in zip(single[1:], double, strict=True):
        best = effects + np.min(best[:, None] + table, axis=0)
    return float(best.min())


def _letters(name: str, length: int, n_letters: int, pairs: float, seed: int) -> Problem:
    return replace(sequence(length, n_letters, pairs, seed), name=name)


# What a sum of effects is worth where effects add up, nearly do, and do not.
LETTERS: dict[str, Callable[[], Problem]] = {
    name: partial(_letters, name, *arguments)
    for name, arguments in {
        "letters-30-no-pairs": (30, 4, 0.0, 1),
        "letters-30": (30, 4, 0.5, 0),
        "letters-50": (50, 4, 0.1, 6),
        "letters-25": (25, 20, 0.3, 3),
        "letters-30-strong-pairs": (30, 4, 1.0, 2),
    }.items()
}
