"""What each kernel and structure costs, as a ratio to the default in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import create_trial

from heat_plugins.benchmarks.problems.problem import Codes, Problem
from heat_plugins.benchmarks.problems.published import pest_control
from heat_plugins.benchmarks.run.studies import continue_study, distributions_of, new_study
from heat_plugins.gp.exact_gp import NegativeLogDensity
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.distance import DistanceKernel, GraphColumn
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.optuna import HeatSampler
from heat_plugins.space import Array, Categorical, Space
from heat_plugins.space.graphs import adjacency
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

__all__ = [
    "closed_form_against_eigenvectors",
    "structures_against_default",
    "structures_with_numbers",
]

N_TRIALS = 200
N_MEASURED = 16  # one full cycle of cold and warm fits at 200 trials
SLOW = ("sum over permutations",)  # named without a bar, and measured less often


def _exponential(distance: Array) -> Array:
    result: Array = np.exp(-distance)
    return result


def _cases(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return the arguments of the sampler for every kernel and structure."""
    anchor = dict.fromkeys(names, 0)
    return {
        "heat (default)": {},
        **{name: {"kernel": name} for name in kernels_without_graph() if name != "heat"},
        "a function of sqrt(h)": {"kernel": _exponential},
        "path graphs": {"graphs": dict.fromkeys(names, "path")},
        "quantitative": {"quantitative": names},
        "padded sort": {"structure": PermutationInvariant(names)},
        "sort": {"structure": PermutationInvariant(names, "sort")},
        "product over permutations": {"structure": PermutationInvariant(names, "product")},
        "sum over permutations": {"structure": PermutationInvariant(names, "sum")},
        "additive": {"structure": Additive()},
        "interactions of 2": {"structure": InteractionOrders(2)},
        "interactions of 3": {"structure": InteractionOrders(3)},
        "random decomposition": {"structure": RandomDecomposition()},
        "anchors": {"structure": Anchors((anchor,))},
        "auto": {"structure": "auto"},
    }


def structures_against_default() -> Iterator[dict[str, float | str]]:
    """Yield CPU seconds a suggestion at the same 200 trials, as ratios to the default's."""
    problem = pest_control().relocated()
    rng = np.random.default_rng(0)
    past = list(rng.integers(0, problem.n_choices, size=(N_TRIALS, len(problem.n_choices))))
    names = [*distributions_of(problem)]
    for name, arguments in _cases(names).items():
        # The default again each time: a machine is not equally fast for minutes.
        default = _seconds(problem, past, {}, N_MEASURED)
        seconds = _seconds(problem, past, arguments, 1 if name in SLOW else N_MEASURED)
        yield {
            "kernel_or_structure": name,
            "seconds": seconds,
            "ratio_to_default": seconds / default,
            "bar": "none" if name in SLOW else "3",
        }


def structures_with_numbers() -> Iterator[dict[str, float | str]]:
    """Yield the same for the structures that combine choices and numbers."""
    for name, arguments in _CASES_WITH_NUMBERS.items():
        default = _seconds_with_numbers({})
        seconds = _seconds_with_numbers(arguments)
        yield {
            "kernel_or_structure": name,
            "seconds": seconds,
            "ratio_to_default": seconds / default,
            "bar": "3",
        }


_CASES_WITH_NUMBERS: dict[str, dict[str, Any]] = {
    "heat (default)": {},
    "sum of choices and numbers": {"mixing": "sum"},
    "mixture of both": {"mixing": "mixture"},
    "additive": {"structure": Additive()},
    "interactions of 2": {"structure": InteractionOrders(2)},
    "interactions of 3": {"structure": InteractionOrders(3)},
    "random decomposition": {"structure": RandomDecomposition()},
    "auto": {"structure": "auto"},
}
_WITH_NUMBERS: dict[str, BaseDistribution] = {
    **{f"c{i}": CategoricalDistribution(tuple(range(5))) for i in range(10)},
    **{f"x{i}": FloatDistribution(0.0, 1.0) for i in range(5)},
}


def _with_numbers(params: dict[str, Any]) -> float:
    """Return effects of choices and numbers, each number's optimum moved by a choice."""
    values = [params[name] for name in _WITH_NUMBERS]
    codes, numbers = np.array(values[:10], dtype=float), np.array(values[10:])
    return float(np.sin(1.0 + 2.0 * codes).sum() + np.square(numbers - codes[:5] / 5.0).sum())


def _seconds_with_numbers(arguments: dict[str, Any]) -> float:
    """Return the mean CPU seconds of suggestions at 10 x 5 choices and 5 floats."""
    sampler = HeatSampler(seed=1, deterministic_objective=True, **arguments)
    study = optuna.create_study(sampler=sampler)
    rng = np.random.default_rng(0)
    for _ in range(N_TRIALS):
        params: dict[str, Any] = {f"c{i}": int(rng.integers(5)) for i in range(10)}
        params |= {f"x{i}": float(rng.random()) for i in range(5)}
        study.add_trial(
            create_trial(params=params, distributions=_WITH_NUMBERS, value=_with_numbers(params))
        )
    seconds = []
    for _ in range(1 + N_MEASURED):
        start = time.process_time()
        trial = study.ask(_WITH_NUMBERS)
        seconds.append(time.process_time() - start)
        study.tell(trial, _with_numbers(trial.params))
    return float(np.mean(seconds[1:]))


def _seconds(
    problem: Problem, past: list[Codes], arguments: dict[str, Any], n_measured: int
) -> float:
    """Return the mean CPU seconds of suggestions, the first one left out."""
    sampler = HeatSampler(seed=1, deterministic_objective=True, **arguments)
    record = continue_study(new_study(problem, sampler, past), problem, 1 + n_measured)
    return float(np.mean(record.seconds[1:]))


def closed_form_against_eigenvectors() -> Iterator[dict[str, float | str]]:
    """Yield the time of the likelihood and its gradient: closed form, and COMBO's way."""
    for n_choices in ((5,) * 25, (2,) * 25, (2,) * 50, (2,) * 60, (2,) * 125, (11,) * 20):
        space = Space(
            tuple(Categorical(f"x{i}", tuple(range(g))) for i, g in enumerate(n_choices))
        )
        rng = np.random.default_rng(0)
        points = space.sample(N_TRIALS, rng)
        values = rng.standard_normal(N_TRIALS)
        closed = _milliseconds(partial(_by_closed_form, space), points, values)
        spectral = _milliseconds(partial(_by_eigenvectors, n_choices), points, values)
        yield {
            "kind": "closed-form",
            "problem": f"{len(n_choices)} x {n_choices[0]}",
            "closed_form_ms": closed,
            "eigenvectors_ms": spectral,
            "ratio": spectral / closed,
        }


def _by_closed_form(space: Space) -> Kernel:
    return DistanceKernel(FeatureMap.of(space))


def _by_eigenvectors(n_choices: tuple[int, ...]) -> Kernel:
    graphs = [
        GraphColumn(i, GraphDistance(adjacency("complete", g)), f"x{i}")
        for i, g in enumerate(n_choices)
    ]
    return DistanceKernel(FeatureMap([]), graphs)


def _milliseconds(make: Callable[[], Kernel], points: Array, values: Array) -> float:
    """Return the median time of one evaluation, kernel included, as COMBO redoes it."""
    times = []
    for _ in range(20):
        start = time.process_time()
        kernel = make()
        density = NegativeLogDensity(kernel, points, values)
        density(np.append(kernel.start(4.0), -4.0))
        times.append(time.process_time() - start)
    return 1000.0 * float(np.median(times))
