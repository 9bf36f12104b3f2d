"""Generation strategies of Ax on the same problems: ours, and what Ax itself offers.

All strategies of a seed begin with the same random arms, which are attached by hand, and are
then asked for one arm at a time.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heat_plugins.benchmarks.comparisons import mean
from heat_plugins.benchmarks.problems import PROBLEMS, Problem

__all__ = [
    "PROBLEM_NAMES",
    "STRATEGIES",
    "AxOutcome",
    "at_one_history",
    "outcomes",
    "read",
    "summary",
]

N_TRIALS = 100
N_FIRST = 10
STEP = 10
N_LAST = 10  # suggestions at the end whose cost is noted
METRIC = "y"
PROBLEM_NAMES = ("pest",)  # 25 unordered parameters of 5 choices


@dataclass(frozen=True)
class AxOutcome:
    """The end of one experiment.

    Args:
        problem: Name of the problem.
        strategy: Name of the generation strategy.
        seed: Seed of the strategy and of the first arms.
        n_trials: Length of the experiment.
        best: The smallest value.
        curve: The smallest value after every ten trials.
        n_repeats: How many arms were the same as an earlier one.
        n_fallbacks: How many arms came from a generator that stands in for the intended one.
        cpu_seconds: A suggestion took on average, after the first arms.
        last_cpu_seconds: The same for the last suggestions.
    """

    problem: str
    strategy: str
    seed: int
    n_trials: int
    best: float
    curve: tuple[float, ...]
    n_repeats: int
    n_fallbacks: int
    cpu_seconds: float
    last_cpu_seconds: float

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells this experiment from the others."""
        return self.problem, self.strategy, self.seed


def _heat(seed: int) -> Any:
    from heat_plugins.ax import heat_generation_strategy

    return heat_generation_strategy(
        seed=seed, n_startup_trials=N_FIRST, deterministic_objective=True
    )


def _mixed(seed: int) -> Any:
    from ax.adapter.registry import Generators
    from ax.generation_strategy.generation_node import GenerationNode
    from ax.generation_strategy.generation_strategy import GenerationStrategy
    from ax.generation_strategy.generator_spec import GeneratorSpec

    spec = GeneratorSpec(generator_enum=Generators.BO_MIXED)
    node = GenerationNode(name="BO_MIXED", generator_specs=[spec], should_deduplicate=True)
    return GenerationStrategy(name="BO_MIXED", nodes=[node])


# By name, what makes a strategy of a seed; None for what the Client chooses by itself.
STRATEGIES: dict[str, Callable[[int], Any] | None] = {
    "heat_plugins": _heat,
    "Ax default": None,
    "Ax BO_MIXED": _mixed,
}


def outcomes(
    jobs: Sequence[tuple[str, str, int]], n_trials: int = N_TRIALS, n_processes: int = 1
) -> Iterator[AxOutcome]:
    """Run experiments (problem, strategy, seed); yield each as it ends."""
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        yield from pool.imap_unordered(partial(_outcome, n_trials), jobs)


def read(path: Path) -> list[AxOutcome]:
    """Return the experiments that a file of JSON lines has."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    mine = [row for row in rows if "n_fallbacks" in row]
    return [AxOutcome(**row | {"curve": tuple(row["curve"])}) for row in mine]


def _outcome(n_trials: int, job: tuple[str, str, int]) -> AxOutcome:
    problem_name, strategy, seed = job
    problem, names, client = _client(problem_name, strategy, seed)
    values: list[float] = []
    seconds: list[float] = []
    for given in _random_arms(problem, names, N_FIRST, seed):
        index = client.attach_trial(parameters=given)
        values.append(_complete(client, index, given, problem))
    for _ in range(N_FIRST, n_trials):
        start = time.process_time()
        ((index, arm),) = client.get_next_trials(max_trials=1).items()
        seconds.append(time.process_time() - start)
        values.append(_complete(client, index, arm, problem))
    experiment = client._experiment
    runs = [trial.generator_runs[0] for trial in experiment.trials.values()]
    return AxOutcome(
        problem_name,
        strategy,
        seed,
        n_trials,
        min(values),
        tuple(min(values[:n]) for n in range(STEP, n_trials + 1, STEP)),
        n_trials - len(experiment.arms_by_signature),
        sum("Sobol" in str(run._generator_key) for run in runs[N_FIRST:]),
        float(np.mean(seconds)),
        float(np.mean(seconds[-N_LAST:])),
    )


def at_one_history(
    problem_name: str = "pest", n_trials: int = N_TRIALS, n_suggestions: int = 4, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield a row a strategy: the cost of suggestions after the same random arms, in one run."""
    costs: dict[str, float] = {}
    for strategy in STRATEGIES:
        problem, names, client = _client(problem_name, strategy, seed)
        for given in _random_arms(problem, names, n_trials, seed):
            _complete(client, client.attach_trial(parameters=given), given, problem)
        seconds = []
        for _ in range(1 + n_suggestions):
            start = time.process_time()
            ((index, arm),) = client.get_next_trials(max_trials=1).items()
            seconds.append(time.process_time() - start)
            _complete(client, index, arm, problem)
        costs[strategy] = float(np.mean(seconds[1:]))  # what is made once is made by the first
        yield {
            "problem": problem_name,
            "strategy": strategy,
            "trials": str(n_trials),
            "cpu_seconds": costs[strategy],
            "times ours": costs[strategy] / next(iter(costs.values())),
        }


def _complete(client: Any, index: int, arm: Mapping[str, Any], problem: Problem) -> float:
    """Evaluate an arm, tell the client, and return the value."""
    value = float(problem(np.array([int(choice[1:]) for choice in arm.values()])))
    client.complete_trial(index, raw_data={METRIC: (value, 0.0)})
    return value


def _random_arms(
    problem: Problem, names: Sequence[str], n: int, seed: int
) -> list[dict[str, str]]:
    rows = np.random.default_rng(seed).integers(problem.n_choices, size=(n, len(names)))
    return [{name: f"c{k}" for name, k in zip(names, row, strict=True)} for row in rows]


def _client(problem_name: str, strategy: str, seed: int) -> tuple[Problem, list[str], Any]:
    """Return the problem, the names of its parameters, and a client that minimises it."""
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    problem = PROBLEMS[problem_name]().relocated()
    names = [f"x{i:02d}" for i in range(len(problem.n_choices))]
    client = Client(random_seed=seed)
    client.configure_experiment(
        parameters=[
            # Words, since numbers would be taken for quantities.
            ChoiceParameterConfig(
                name=name,
                values=[f"c{code}" for code in range(k)],
                parameter_type="str",
                is_ordered=False,
            )
            for name, k in zip(names, problem.n_choices, strict=True)
        ]
    )
    client.configure_optimization(objective=f"-{METRIC}")
    make = STRATEGIES[strategy]
    if make is None:
        client.configure_generation_strategy(
            method="fast", initialization_budget=N_FIRST, initialize_with_center=False
        )
    else:
        client.set_generation_strategy(make(seed))
    return problem, names, client


def summary(results: Sequence[AxOutcome]) -> Iterator[dict[str, Any]]:
    """Yield a row for each problem and strategy.

    ``times ours`` is the cost of the last suggestions divided by that of heat_plugins.
    """
    for problem in dict.fromkeys(o.problem for o in results):
        ours = {o.seed: o for o in results if (o.problem, o.strategy) == (problem, "heat_plugins")}
        for strategy in STRATEGIES:
            mine = [o for o in results if (o.problem, o.strategy) == (problem, strategy)]
            if not mine:
                continue
            common = [o for o in mine if o.seed in ours]
            ahead = [o.best - ours[o.seed].best for o in common]
            cost = float(np.mean([o.last_cpu_seconds for o in mine]))
            our_cost = float(np.mean([o.last_cpu_seconds for o in ours.values()] or [np.nan]))
            is_ours = strategy == "heat_plugins"
            yield {
                "problem": problem,
                "strategy": strategy,
                "trials": str(mine[0].n_trials),
                "seeds": str(len(mine)),
                "best value": mean([o.best for o in mine]),
                "heat_plugins ahead by": "" if is_ours else mean(ahead),
                "in seeds": "" if is_ours else f"{sum(a > 0 for a in ahead)} of {len(ahead)}",
                "repeats": float(np.mean([o.n_repeats for o in mine])),
                "fallbacks": float(np.mean([o.n_fallbacks for o in mine])),
                "cpu_seconds": float(np.mean([o.cpu_seconds for o in mine])),
                "last": cost,
                "times ours": cost / our_cost,
            }
