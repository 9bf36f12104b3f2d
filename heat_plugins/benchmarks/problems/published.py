"""The comparison problems, exactly as published, on integer codes; all are minimised."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from heat_plugins.benchmarks.problems.clauses import maxsat_60
from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = ["PROBLEMS", "ackley", "ackley_value", "contamination", "labs", "pest_control"]

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


# -------------------------------------------------------------------------- Ackley
def ackley_value(point: NDArray[np.float64]) -> float:
    """Return Ackley's function at a point (d,), with its usual constants."""
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
        lambda codes: ackley_value(grid[codes]),
        best_known=0.0,
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "pest": pest_control,
    "labs": labs,
    "contamination": contamination,
    "maxsat": maxsat_60,
    "ackley": ackley,
}
"""The problems of the paper by name; each is made when it is called."""
