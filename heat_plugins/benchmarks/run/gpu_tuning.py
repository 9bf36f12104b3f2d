"""``HeatStrategy`` next to the strategies of Kernel Tuner, on kernels that have been measured.

Every strategy begins by itself and with its own defaults, as its users have it, and is told of the
restrictions. What counts is the best time after 50, 100 and 200 different configurations, failed
ones included: the simulation mode of Kernel Tuner takes those times from a table. Strategies of
Kernel Tuner draw from the random generators of the process, which are seeded for them; only
``bayes_opt`` takes its first points from one that cannot be.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.problems.tuning_caches import (
    TUNING_PROBLEMS,
    TuningProblem,
    tuning_problem,
)
from heat_plugins.benchmarks.results.markdown import marked, mean_text, table
from heat_plugins.benchmarks.results.statistics import estimate

__all__ = ["BUDGETS", "OURS", "PEERS", "read_rows", "summary", "tuned", "tuning_studies"]

OURS = "HeatStrategy"
BUDGETS = (50, 100, 200)  # different configurations
N_SEEDS = 20
FIRST_SEED = 100  # others were looked at while the strategy was written
# Kernel Tuner's for one objective that need no further package, but for ``minimize``.
PEERS = (
    "random_sample",
    "genetic_algorithm",
    "diff_evo",
    "pso",
    "firefly_algorithm",
    "simulated_annealing",
    "dual_annealing",
    "basinhopping",
    "mls",
    "greedy_mls",
    "ordered_greedy_mls",
    "greedy_ils",
    "bayes_opt",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
)
Row = dict[str, Any]


def tuning_studies(
    known: Iterable[Mapping[str, Any]] = (),
    problems: Sequence[str] = TUNING_PROBLEMS,
    strategies: Sequence[str] = (OURS, *PEERS),
    seeds: Sequence[int] = range(FIRST_SEED, FIRST_SEED + N_SEEDS),
) -> Iterator[Row]:
    """Yield the best times of each problem, seed and strategy that is not known yet."""
    require("kernel_tuner", extra="kernel-tuner")
    done = {(row["problem"], row["strategy"], row["seed"]) for row in known}
    measured = {name: tuning_problem(name) for name in problems}
    with tempfile.TemporaryDirectory() as folder:
        caches = {name: Path(folder) / f"{name}.json" for name in problems}
        for name, problem in measured.items():
            problem.write(caches[name])
        for seed in seeds:
            for name, problem in measured.items():
                for strategy in strategies:
                    if (name, strategy, seed) not in done:
                        yield _study(problem, caches[name], strategy, seed)


def _study(problem: TuningProblem, cache: Path, strategy: str, seed: int) -> Row:
    start = time.process_time()
    times = tuned(problem, cache, strategy, seed, BUDGETS[-1])
    return {
        "kind": "kernel-tuner",
        "problem": problem.name,
        "strategy": strategy,
        "seed": seed,
        **{f"best_{n}": min(times[:n], default=math.inf) for n in BUDGETS},
        "configurations": len(times),
        "cpu_seconds": time.process_time() - start,
    }


def tuned(
    problem: TuningProblem, cache: Path, strategy: Any, seed: int, n_configurations: int
) -> list[float]:
    """Return the times of different configurations in order, infinity where one failed.

    Args:
        problem: The kernel.
        cache: Its cache file.
        strategy: A strategy of Kernel Tuner by name, ``OURS``, or one with settings of its own.
        seed: For everything random that can be seeded.
        n_configurations: How many.
    """
    from kernel_tuner import tune_kernel

    from heat_plugins.kernel_tuner import HeatStrategy

    random.seed(seed)
    np.random.seed(seed)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        results, _ = tune_kernel(
            problem.kernel_name,
            "",
            problem.problem_size,
            [],
            dict(problem.tune_params),
            restrictions=list(problem.restrictions),
            strategy=HeatStrategy(seed=seed) if strategy == OURS else strategy,
            strategy_options={"max_fevals": n_configurations},
            cache=str(cache),
            simulation_mode=True,
            lang="C",
            quiet=True,
            seed=seed,
        )
    # A dictionary keeps the order in which configurations came first.
    found = {tuple(result[name] for name in problem.tune_params): result for result in results}
    return [math.inf if "__error__" in r else float(r["time"]) for r in found.values()]


def read_rows(path: Path) -> list[Row]:
    """Return the studies that a file of JSON lines has, whatever else is in it."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row.get("kind") == "kernel-tuner"]


def summary(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table for each problem: mean times, standard errors, the best in bold."""
    for name in dict.fromkeys(row["problem"] for row in rows):
        problem = tuning_problem(name)
        of_problem = [row for row in rows if row["problem"] == name]
        strategies = [*dict.fromkeys(row["strategy"] for row in of_problem)]
        columns = [_column(of_problem, strategies, n) for n in BUDGETS]
        seeds = {s: sum(row["strategy"] == s for row in of_problem) for s in strategies}
        yield (
            f"{name}: {len(problem.results)} valid configurations, of which {problem.n_failed} "
            f"fail; the best takes {problem.best:.4f} ms\n"
        )
        yield table(
            ["strategy", "seeds", *(f"after {n}" for n in BUDGETS), "CPU seconds"],
            [
                [s, str(seeds[s]), *(column[s] for column in columns), _seconds(of_problem, s)]
                for s in strategies
            ],
        )


def _column(
    rows: Sequence[Mapping[str, Any]], strategies: Sequence[str], n: int
) -> dict[str, str]:
    """Return the text of the best time after n configurations, by strategy."""
    means = {
        s: estimate(row[f"best_{n}"] for row in rows if row["strategy"] == s) for s in strategies
    }
    return marked(means, {s: mean_text(mean.mean, mean.error) for s, mean in means.items()})


def _seconds(rows: Sequence[Mapping[str, Any]], strategy: str) -> str:
    """Return the mean CPU seconds of a study, with all that Kernel Tuner does itself."""
    return f"{np.mean([r['cpu_seconds'] for r in rows if r['strategy'] == strategy]):.1f}"
