"""RNA inverse folding: a sequence of bases that folds into a given structure.

Defined as in MCBO (Dreczkowski, Grosnit and Bou-Ammar, "Framework and Benchmarks for
Combinatorial and Mixed-variable Bayesian Optimization", 2023): the value is the number of places
at which the structure of minimum free energy differs from the target.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = ["BASES", "SNORD64", "rna"]

BASES = "ACGU"

# Puzzle 18 of the Eterna100 (Anderson-Lee et al., "Principles for Predicting RNA Secondary
# Structure Design Difficulty", 2016): the small nucleolar RNA SNORD64, 67 bases. Brackets that
# belong together are bases that pair, dots are bases that do not.
SNORD64 = "((((((.....(((....(((...(((((.............)))))....)))..)))..))))))"


def _vienna() -> ModuleType:
    try:
        return import_module("RNA")
    except ModuleNotFoundError as error:
        raise ImportError(
            "problem 'rna' needs the package 'ViennaRNA', which is not installed; "
            "install it with: pip install ViennaRNA"
        ) from error


def _distance_to(target: str) -> Callable[[Codes], float]:
    """Return the number of places at which the fold of a sequence differs from the target."""
    fold = _vienna().fold

    def distance(codes: Codes) -> float:
        structure, _ = fold("".join(BASES[code] for code in codes))
        return float(sum(a != b for a, b in zip(structure, target, strict=True)))

    return distance


def rna(target: str = SNORD64) -> Problem:
    """Which base to put at each place, so that the sequence folds into the target.

    Args:
        target: The structure in brackets and dots. That of the default can be reached.
    """
    return Problem(
        "rna",
        f"RNA inverse folding: {len(target)} bases, distance to the target structure",
        (len(BASES),) * len(target),
        _distance_to(target),
        best_known=0.0 if target == SNORD64 else None,
    )
