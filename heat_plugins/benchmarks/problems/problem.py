"""What a problem on integer codes is, and how its optimum is moved.

Every problem is minimised. ``relocated`` moves the optimum to a place without structure,
as Bounce (Papenmeier et al., 2023) does: the categories of each variable are permuted, or
the bits of a binary problem flipped, once per problem and the same for every method and seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATA_VARIABLE", "RELOCATION_SEED", "Codes", "Problem", "data_file"]

Codes = NDArray[np.int64]
"""A point, as the number of each parameter's choice."""

RELOCATION_SEED = 2024
"""Of the permutations that move the optima of the paper's problems."""
DATA_VARIABLE = "HEAT_PLUGINS_DATA"
"""The environment variable that names the folder with problem files."""


@dataclass(frozen=True)
class Problem:
    """A function of integer codes, to be minimised.

    Args:
        name: Short name, as the command line knows it.
        description: One line for people.
        n_choices: Number of choices of each variable.
        function: Value at codes (d,).
        best_known: The smallest value known, where one is.
        is_feasible: Whether codes (d,) may be tried at all; None where all may.
    """

    name: str
    description: str
    n_choices: tuple[int, ...]
    function: Callable[[Codes], float]
    best_known: float | None = None
    is_feasible: Callable[[Codes], bool] | None = None

    def __call__(self, codes: Codes) -> float:
        """Return the value at codes (d,)."""
        codes = np.asarray(codes, dtype=np.int64)
        if codes.shape != (len(self.n_choices),):
            raise ValueError(
                f"{self.name} takes {len(self.n_choices)} codes, got shape {codes.shape}"
            )
        return float(self.function(codes))

    def relocated(self) -> Problem:
        """Return the same problem with its optimum moved to a random place."""
        moved = _relocation(self.n_choices)
        function, is_feasible = self.function, self.is_feasible
        return replace(
            self,
            function=lambda codes: function(moved(codes)),
            is_feasible=is_feasible and (lambda codes: is_feasible(moved(codes))),
        )


def _relocation(n_choices: Sequence[int]) -> Callable[[Codes], Codes]:
    """Return what codes (d,) are before the function sees them."""
    rng = np.random.RandomState(RELOCATION_SEED)
    if set(n_choices) == {2}:
        mask = rng.randint(0, 2, size=len(n_choices))
        return lambda codes: codes ^ mask
    permutations = [rng.permutation(k) for k in n_choices]
    return lambda codes: np.array([p[c] for p, c in zip(permutations, codes, strict=True)])


def data_file(problem: str, *parts: str) -> Path:
    """Return a file of the folder that ``HEAT_PLUGINS_DATA`` names.

    Args:
        problem: The name of the problem that needs it.
        *parts: Folders and file below that folder.

    Raises:
        FileNotFoundError: With the file and the variable to set.
    """
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder or ".", *parts)
    if not folder or not path.exists():
        raise FileNotFoundError(
            f"problem {problem!r} needs {'/'.join(parts)} in the folder that the environment "
            f"variable {DATA_VARIABLE} names, got {folder!r}"
        )
    return path
