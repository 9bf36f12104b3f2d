"""The comparison problems, exactly as published, on integer codes.

Every problem is minimised. ``relocated`` moves the optimum to a place without structure,
as Bounce (Papenmeier et al., 2023) does: the categories of each variable are permuted, or
the bits of a binary problem flipped, once per problem and the same for every method and seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DATA_VARIABLE",
    "PROBLEMS",
    "Problem",
    "ackley",
    "contamination",
    "labs",
    "maxsat",
    "pest_control",
    "read_wcnf",
]

Codes = NDArray[np.int64]

RELOCATION_SEED = 2024
DATA_VARIABLE = "HEAT_PLUGINS_DATA"


@dataclass(frozen=True)
class Problem:
    """A function of integer codes, to be minimised.

    Args:
        name: Short name, as the command line knows it.
        description: One line for people.
        n_choices: Number of choices of each variable.
        function: Value at codes (d,).
        best_known: The smallest value known, where one is.
    """

    name: str
    description: str
    n_choices: tuple[int, ...]
    function: Callable[[Codes], float]
    best_known: float | None = None

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
        rng = np.random.RandomState(RELOCATION_SEED)
        function = self.function
        if set(self.n_choices) == {2}:
            mask = rng.randint(0, 2, size=len(self.n_choices))
            return replace(self, function=lambda codes: function(codes ^ mask))
        permutations = [rng.permutation(k) for k in self.n_choices]
        return replace(
            self,
            function=lambda codes: function(
                np.array([p[c] for p, c in zip(permutations, codes, strict=True)])
            ),
        )


# --------------------------------------------------------------------- pest control
N_PEST_STAGES = 25
N_SIMULATIONS = 100
PEST_ALARM = 0.1
PEST_PRICE = np.array([1.0, 0.8, 0.7, 0.5])
PEST_DISCOUNT = np.array([0.2, 0.3, 0.3, 0.0])
PEST_TOLERANCE = np.array([1.0 / 7.0, 2.5 / 7.0, 2.0 / 7.0, 0.5 / 7.0])
PEST_CONTROL_BETA = np.array([2.0 / 7.0, 3.0 / 7.0, 3.0 / 7.0, 5.0 / 7.0])


@cache
def _beta_draws(b: float) -> NDArray[np.float64]:
    """(100,) Beta(1, b) draws; every use starts its own generator at seed 0."""
    return np.random.RandomState(0).beta(1.0, b, size=N_SIMULATIONS)


def _pest_control(codes: Codes) -> float:
    fraction = _beta_draws(30.0)
    spread = _beta_draws(17.0 / 3.0)
    uses = np.bincount(codes, minlength=5)[1:]  # how often each pesticide is used in all
    price = PEST_PRICE * (1.0 - PEST_DISCOUNT / N_PEST_STAGES * uses)
    control = PEST_CONTROL_BETA.copy()
    cost = 0.0
    for code in codes:
        cost += float(np.mean(fraction > PEST_ALARM))
        if code > 0:
            pesticide = code - 1
            fraction = (1.0 - _beta_draws(float(control[pesticide]))) * fraction
            # The pest gets used to what is sprayed, so the next use does less.
            control[pesticide] += PEST_TOLERANCE[pesticide] / N_PEST_STAGES
            cost += float(price[pesticide])
        else:
            fraction = spread * (1.0 - fraction) + fraction
    return cost


def pest_control() -> Problem:
    """Which of four pesticides, or none, at each of 25 stages."""
    return Problem(
        "pest",
        "pest control: 25 stages, none or one of four pesticides at each",
        (5,) * N_PEST_STAGES,
        _pest_control,
        best_known=12.03,
    )


# ------------------------------------------------------------------- contamination
N_FOOD_STAGES = 25
CONTAMINATION_LIMIT = 0.1
CONTAMINATION_LEVEL = 0.95
CONTAMINATION_WEIGHT = 0.01


@cache
def _contamination_draws() -> tuple[NDArray[np.float64], ...]:
    def draws(b: float, *size: int) -> NDArray[np.float64]:
        return np.random.RandomState(42).beta(1.0, b, size=size)

    return (
        draws(30.0, N_SIMULATIONS),
        draws(17.0 / 3.0, N_FOOD_STAGES, N_SIMULATIONS),
        draws(3.0 / 7.0, N_FOOD_STAGES, N_SIMULATIONS),
    )


def _contamination(codes: Codes) -> float:
    contaminated, spread, cleaning = _contamination_draws()
    value = 0.0
    for i, prevent in enumerate(codes):
        contaminated = (
            spread[i] * (1 - prevent) * (1.0 - contaminated)
            + (1.0 - cleaning[i] * prevent) * contaminated
        )
        safe = float(np.mean(contaminated < CONTAMINATION_LIMIT)) - CONTAMINATION_LEVEL
        value += float(prevent) - safe
    return value + CONTAMINATION_WEIGHT * float(np.sum(codes))


def contamination() -> Problem:
    """Whether to clean at each of 25 stages of a food chain."""
    return Problem(
        "contamination",
        "contamination control: clean or not at each of 25 stages of a food chain",
        (2,) * N_FOOD_STAGES,
        _contamination,
        best_known=21.44,
    )


# ---------------------------------------------------------------------------- LABS
def _minus_merit_factor(codes: Codes) -> float:
    signs = 2.0 * codes - 1.0
    n = len(signs)
    # full autocorrelation; the second half are the lags 1 .. n-1
    correlations = np.correlate(signs, signs, mode="full")[n:]
    return -(n**2) / (2.0 * float(np.sum(correlations**2)))


def labs(n: int = 50) -> Problem:
    """Binary sequence with low autocorrelation; the value is minus the merit factor."""
    return Problem(
        "labs",
        f"low-autocorrelation binary sequence of length {n}, minus the merit factor",
        (2,) * n,
        _minus_merit_factor,
        best_known=-8.17 if n == 50 else None,
    )


# -------------------------------------------------------------------------- MaxSAT
def read_wcnf(path: str | Path) -> tuple[int, list[tuple[float, list[int]]]]:
    """Read a weighted clause file: the number of variables and ``(weight, literals)`` rows."""
    n_variables = 0
    clauses: list[tuple[float, list[int]]] = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if not words or words[0] == "c":
                continue
            if words[0] == "p":
                n_variables = int(words[2])
                continue
            literals = [int(word) for word in words[1:]]
            if not literals or literals[-1] != 0:
                raise ValueError(f"clause in {path} must end in 0, got {line.strip()!r}")
            clauses.append((float(words[0]), literals[:-1]))
    if not n_variables or not clauses:
        raise ValueError(f"{path} must hold a 'p wcnf' line and at least one clause, got neither")
    return n_variables, clauses


def maxsat(path: str | Path, name: str = "maxsat") -> Problem:
    """Weighted satisfiability: minus the summed standardised weight of satisfied clauses."""
    n_variables, clauses = read_wcnf(path)
    weights = np.array([weight for weight, _ in clauses])
    if weights.std() == 0.0:
        raise ValueError(f"clauses of {path} must differ in weight, all have {weights[0]}")
    weights = (weights - weights.mean()) / weights.std()
    # wanted[v][c, i]: whether clause c holds when variable i has the value v
    wanted = np.zeros((2, len(clauses), n_variables), dtype=bool)
    for row, (_, literals) in enumerate(clauses):
        for literal in literals:
            wanted[int(literal > 0), row, abs(literal) - 1] = True

    def value(codes: Codes) -> float:
        satisfied = np.any(np.where(codes == 1, wanted[1], wanted[0]), axis=1)
        return -float(weights[satisfied].sum())

    best = -195.6528 if Path(path).name == "frb-frb10-6-4.wcnf" else None
    return Problem(
        name, f"weighted MaxSAT, {n_variables} variables", (2,) * n_variables, value, best
    )


def _maxsat_60() -> Problem:
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder or ".") / "maxsat" / "frb-frb10-6-4.wcnf"
    if not folder or not path.exists():
        raise FileNotFoundError(
            f"problem 'maxsat' needs maxsat/{path.name} in the folder that the environment "
            f"variable {DATA_VARIABLE} names, got {folder!r}"
        )
    return maxsat(path)


# -------------------------------------------------------------------------- Ackley
def _ackley(point: NDArray[np.float64]) -> float:
    return float(
        -20.0 * np.exp(-0.2 * np.sqrt(np.mean(point**2)))
        - np.exp(np.mean(np.cos(2.0 * np.pi * point)))
        + 20.0
        + np.e
    )


def ackley(n: int = 20, n_levels: int = 11) -> Problem:
    """Ackley's function on a grid whose levels are unordered choices."""
    grid = np.linspace(-32.768, 32.768, n_levels)
    return Problem(
        "ackley",
        f"Ackley's function of {n} variables on a grid of {n_levels} unordered levels",
        (n_levels,) * n,
        lambda codes: _ackley(grid[codes]),
        best_known=0.0,
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "pest": pest_control,
    "labs": labs,
    "contamination": contamination,
    "maxsat": _maxsat_60,
    "ackley": ackley,
}
