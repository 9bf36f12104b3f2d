"""Functions of numbers alone, which every sampler for hyperparameters has to handle as well.

All are shifted so that their smallest value is 0; their usual places are listed by Surjanovic and
Bingham (2013), "Virtual Library of Simulation Experiments". Optima in the middle of the range
are moved away from it: some methods look there first.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable

import numpy as np

from heat_plugins.benchmarks.problems.published import ackley_value
from heat_plugins.benchmarks.problems.tasks import Number, Params, Result, Task
from heat_plugins.space import Array

__all__ = ["NUMBERS", "branin", "hartmann6", "levy", "rosenbrock"]

Function = Callable[[Array], float]

HARTMANN_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_WIDTHS = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_MINIMUM = -3.322368011415515
BRANIN_MINIMUM = 0.39788735772973816


def branin(x: Array) -> float:
    """Branin's function of two numbers, with three optima."""
    a, b = x
    parabola = b - 5.1 / (4.0 * math.pi**2) * a**2 + 5.0 / math.pi * a - 6.0
    wave = 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(a)
    return float(parabola**2 + wave + 10.0 - BRANIN_MINIMUM)


def hartmann6(x: Array) -> float:
    """Hartmann's function of six numbers: four hills, one a little higher than the next."""
    exponents = np.sum(HARTMANN_WIDTHS * (x - HARTMANN_CENTRES) ** 2, axis=1)
    return float(-HARTMANN_HEIGHTS @ np.exp(-exponents) - HARTMANN_MINIMUM)


def levy(x: Array) -> float:
    """Levy's function: a bowl with waves in every direction."""
    w = 1.0 + (x - 1.0) / 4.0
    first = math.sin(math.pi * w[0]) ** 2
    waves = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return float(first + waves.sum() + last)


def rosenbrock(x: Array) -> float:
    """Rosenbrock's function: a long bent valley."""
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def _sphere(x: Array) -> float:
    return float(np.sum((x - 1.234) ** 2))


def _ackley(x: Array) -> float:
    return ackley_value(x - 3.21)


def _task(
    name: str,
    description: str,
    function: Function,
    bounds: list[tuple[float, float]],
    noise: float = 0.0,
) -> Task:
    """Return the task to minimise a function within bounds.

    Noise is normal with the given deviation, and the same for the same point.
    """
    names = [f"x{i:02d}" for i in range(len(bounds))]

    def evaluate(params: Params) -> Result:
        value = function(np.array([params[name] for name in names]))
        if noise == 0.0:
            return Result((value,))
        seed = zlib.crc32(json.dumps(params, sort_keys=True).encode())
        drawn = noise * np.random.default_rng(seed).standard_normal()
        return Result((value + float(drawn),), truth=(value,))

    parameters = tuple(Number(name, *bound) for name, bound in zip(names, bounds, strict=True))
    return Task(name, description, parameters, evaluate, best_known=0.0)


NUMBERS: dict[str, Callable[[], Task]] = {
    "branin": lambda: _task(
        "branin", "Branin's function of 2 numbers", branin, [(-5.0, 10.0), (0.0, 15.0)]
    ),
    "hartmann6": lambda: _task(
        "hartmann6", "Hartmann's function of 6 numbers", hartmann6, [(0.0, 1.0)] * 6
    ),
    "levy10": lambda: _task("levy10", "Levy's function of 10 numbers", levy, [(-10.0, 10.0)] * 10),
    "levy10-noisy": lambda: _task(
        "levy10-noisy",
        "Levy's function of 10 numbers with noise of deviation 2",
        levy,
        [(-10.0, 10.0)] * 10,
        noise=2.0,
    ),
    "sphere20": lambda: _task(
        "sphere20", "squared distance of 20 numbers", _sphere, [(-5.12, 5.12)] * 20
    ),
    "rosenbrock5": lambda: _task(
        "rosenbrock5", "Rosenbrock's function of 5 numbers", rosenbrock, [(-2.048, 2.048)] * 5
    ),
    "ackley5": lambda: _task(
        "ackley5", "Ackley's function of 5 numbers", _ackley, [(-32.768, 32.768)] * 5
    ),
}
