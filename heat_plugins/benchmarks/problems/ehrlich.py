"""Ehrlich functions (Stanton et al., 2024): sequences, most of which are infeasible.

Notation
    ===========  =====================================================================
    v, L         letters, and the length of a sequence
    c, k         motifs, and the length of each
    T            (v, v) transition matrix; a sequence is feasible if T[x_i, x_i+1] > 0 for all i
    s_j          (k,) offsets of the letters of motif j
    ===========  =====================================================================

The value of a feasible sequence is the product over the motifs of the largest share of the
motif's letters that stand, at their offsets from each other, anywhere in the sequence. It is
to be maximised, 1 is reached, and an infeasible sequence has no value. The definition is that of
``holo.test_functions.closed_form.Ehrlich`` with as many levels as a motif has letters; the
random draws are our own. Sizes are those of González-Duque et al. (2024), "A survey and
benchmark of high-dimensional Bayesian optimization of discrete sequences".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from heat_plugins.benchmarks.problems.problem import Codes
from heat_plugins.benchmarks.problems.tasks import Choice, Params, Result, Task
from heat_plugins.space import Array

__all__ = ["EHRLICH", "Ehrlich", "random_ehrlich"]

TEMPERATURE = 0.5  # of the random transition probabilities
SHARE_OF_BAND = 0.4  # of the letters, to either side, that may follow a letter


@dataclass(frozen=True, eq=False)
class Ehrlich:
    """One function.

    Args:
        transitions: (v, v) the transition matrix T.
        motifs: (c, k) the letters of the motifs.
        offsets: (c, k) where they stand, the first at 0.
        start: (L,) a feasible sequence.
    """

    transitions: Array
    motifs: Codes
    offsets: Codes
    start: Codes

    def is_feasible(self, sequence: Codes) -> bool:
        """Whether every letter of a sequence (L,) may follow the one before it."""
        return bool(np.all(self.transitions[sequence[:-1], sequence[1:]] > 0.0))

    def __call__(self, sequence: Codes) -> float:
        """Return the value of a feasible sequence (L,)."""
        value = 1.0
        for motif, offsets in zip(self.motifs, self.offsets, strict=True):
            starts = np.arange(len(sequence) - offsets[-1])
            matches = sequence[starts[:, None] + offsets] == motif  # (places, k)
            value *= float(matches.mean(axis=1).max())
        return value


def random_ehrlich(
    length: int, n_motifs: int, motif_length: int, n_letters: int = 20, seed: int = 0
) -> Ehrlich:
    """Return a random function; all motifs together fit into a feasible sequence."""
    rng = np.random.default_rng([seed, length, n_motifs, motif_length, n_letters])
    transitions = _transitions(n_letters, rng)
    first = _stationary(transitions)

    def walk(n: int) -> Codes:
        letters = [int(rng.choice(n_letters, p=first))]
        while len(letters) < n:
            letters.append(int(rng.choice(n_letters, p=transitions[letters[-1]])))
        return np.array(letters)

    # One walk through all motifs: they can follow each other.
    motifs = walk(n_motifs * motif_length).reshape(n_motifs, motif_length)
    room = (length - n_motifs * motif_length) // n_motifs
    shares = rng.random((n_motifs, motif_length - 1))
    gaps = 1 + np.floor(room * shares / shares.sum(axis=1, keepdims=True)).astype(np.int64)
    offsets = np.concatenate([np.zeros((n_motifs, 1), np.int64), np.cumsum(gaps, axis=1)], axis=1)
    return Ehrlich(transitions, motifs, offsets, walk(length))


def _transitions(v: int, rng: np.random.Generator) -> Array:
    """Return an ergodic transition matrix (v, v) in which some steps are impossible.

    Staying is always possible, so a sequence with all motifs can be filled up.
    """
    band = int(v * SHARE_OF_BAND)
    gaps = (np.arange(v)[None, :] - np.arange(v)[:, None]) % v
    in_band = (gaps <= band) | (gaps >= v - band)
    while True:
        weights = np.exp(rng.standard_normal((v, v)) / TEMPERATURE)
        is_possible = in_band[rng.permutation(v)] | np.eye(v, dtype=bool)
        matrix: Array = np.where(is_possible, weights, 0.0)
        matrix /= matrix.sum(axis=1, keepdims=True)
        # By Perron and Frobenius: every letter leads to every other in so many steps.
        if np.all(np.linalg.matrix_power(matrix, (v - 1) ** 2 + 1) > 0.0):
            return matrix


def _stationary(transitions: Array) -> Array:
    """Return the probabilities (v,) that one step does not change."""
    v = len(transitions)
    equations = np.concatenate([transitions.T - np.eye(v), np.ones((1, v))])
    solution = np.linalg.lstsq(equations, np.append(np.zeros(v), 1.0), rcond=None)[0]
    solution = np.maximum(solution, 0.0)
    probabilities: Array = solution / solution.sum()
    return probabilities


def _task(name: str, length: int, n_motifs: int, motif_length: int, n_letters: int) -> Task:
    function = random_ehrlich(length, n_motifs, motif_length, n_letters)
    letters = tuple("ACDEFGHIKLMNPQRSTVWY"[:n_letters])
    names = [f"x{i:02d}" for i in range(length)]

    def evaluate(params: Params) -> Result:
        sequence = np.array([letters.index(params[name]) for name in names])
        if not function.is_feasible(sequence):
            return Result(())
        return Result((-function(sequence),))

    start = {name: letters[code] for name, code in zip(names, function.start, strict=True)}
    return Task(
        name,
        f"Ehrlich function: {length} of {n_letters} letters, {n_motifs} motifs of {motif_length}, "
        "one feasible sequence known",
        tuple(Choice(name, letters) for name in names),
        evaluate,
        best_known=-1.0,
        may_fail=True,
        known=(start,),
    )


EHRLICH: dict[str, Callable[[], Task]] = {
    name: partial(_task, name, *sizes)
    for name, sizes in {
        "ehrlich-5": (5, 1, 4, 20),
        "ehrlich-15": (15, 2, 5, 20),
        "ehrlich-64": (64, 4, 10, 20),
        "ehrlich-pest": (25, 1, 25, 5),
    }.items()
}
