"""Tuning runs without a kernel: large spaces, batches, measured tables, a real compiler."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_tuner import tune_kernel
from kernel_tuner.searchspace import Searchspace

from heat_plugins.benchmarks.problems.tuning_caches import TUNING_PROBLEMS, tuning_problem
from heat_plugins.benchmarks.run.gpu_tuning import PEERS, summary, tuned, tuning_studies
from heat_plugins.kernel_tuner import HeatStrategy

Configuration = tuple[Any, ...]


class Enough(Exception):
    """The budget is spent."""


class Costs:
    """What evaluates configurations, as ``CostFunc`` does, by a function of their values."""

    def __init__(self, budget: int, workers: int = 1) -> None:
        self.runner = SimpleNamespace(available_parallelism=lambda: workers)
        self.tuning_options = TuningOptions(objective=["time"])
        self.results: list[dict[str, Any]] = []
        self.asked: list[Configuration] = []
        self.batches: list[int] = []
        self._budget = budget

    def eval_all(self, xs: Sequence[Configuration], check_restrictions: bool) -> list[float]:
        assert not check_restrictions
        if len(self.asked) >= self._budget:
            raise Enough
        self.asked += xs
        self.batches.append(len(xs))
        costs = [float(sum(abs(math.log2(v + 1) - 3) for v in x)) for x in xs]
        self.results += [{"time": cost} for cost in costs]
        return costs


class TuningOptions(dict[str, Any]):
    """Options that are read as attributes and as keys, as those of Kernel Tuner."""

    strategy_options: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return self[name]


def run(choices: dict[str, list[int]], restrictions: Any, budget: int, workers: int = 1) -> Costs:
    searchspace = Searchspace(choices, restrictions, 10**9)
    costs = Costs(budget, workers)
    began = time.process_time()
    try:
        best, cost = HeatStrategy(seed=0)(costs, searchspace)
        assert searchspace.is_param_config_valid(best) and cost == min(
            r["time"] for r in costs.results
        )
    except Enough:
        pass
    costs.seconds = time.process_time() - began  # type: ignore[attr-defined]
    assert all(searchspace.is_param_config_valid(x) for x in costs.asked)
    assert len({*costs.asked}) == len(costs.asked)
    return costs


def test_hundreds_of_thousands_of_configurations_are_no_burden() -> None:
    choices = {f"p{i}": [1, 2, 4, 8, 16, 32, 64, 128] for i in range(6)}
    costs = run(choices, [], 14)  # 262,144
    assert len(costs.asked) == 14
    assert costs.seconds < 10.0  # type: ignore[attr-defined]


def test_rare_configurations_are_found() -> None:
    values = [*range(1, 31)]
    choices = {f"p{i}": values for i in range(4)}
    # About one of 1,700 combinations keeps it.
    costs = run(choices, ["p0 * p1 == 60", "p2 * p3 == 24", "p0 > p2"], 30)
    assert len(costs.asked) == 30


def test_all_workers_of_a_parallel_runner_get_different_configurations() -> None:
    costs = run({"a": [1, 2, 4, 8], "b": [1, 2, 4], "c": [1, 3, 5]}, ["a >= b"], 100, workers=4)
    n = len([1 for a, b, _ in itertools.product([1, 2, 4, 8], [1, 2, 4], [1, 3, 5]) if a >= b])
    assert len(costs.asked) == n
    assert costs.batches == [4] * (n // 4) + ([n % 4] if n % 4 else [])


@pytest.mark.skipif("HEAT_PLUGINS_DATA" not in os.environ, reason="needs the tables")
@pytest.mark.data
class TestMeasuredKernels:
    """On the tables of GPU kernels."""

    @pytest.mark.parametrize("name", TUNING_PROBLEMS)
    def test_restrictions_leave_what_was_measured(self, name: str) -> None:
        problem = tuning_problem(name)
        restrictions = list(problem.restrictions)
        searchspace = Searchspace(dict(problem.tune_params), restrictions, 10**9)
        assert {*searchspace.list} == problem.results.keys()

    def test_gemm_is_tuned(self, tmp_path: Path) -> None:
        problem = tuning_problem("gemm")
        problem.write(tmp_path / "cache.json")
        times = tuned(problem, tmp_path / "cache.json", HeatStrategy(seed=0), 0, 60)
        assert len(times) == 60
        assert min(times) < 1.1 * problem.best
        assert tuned(problem, tmp_path / "cache.json", HeatStrategy(seed=0), 0, 12) == times[:12]

    def test_a_benchmark_is_gone_on_with(self) -> None:
        problems, strategies = ("pnpoly",), ("random_sample", PEERS[1])
        rows = [*tuning_studies([], problems, strategies, range(2))]
        assert len(rows) == 4
        assert all(r["best_50"] >= r["best_100"] >= r["best_200"] for r in rows)
        assert [*tuning_studies(rows, problems, strategies, range(2))] == []
        heading, table = summary(json.loads(json.dumps(rows)))
        assert "4092 valid configurations, of which 370 fail" in heading
        assert "| random_sample | 2 |" in table


SOURCE = """
extern "C" float kernel(float *sums, int n) {
    for (int i = 0; i < n; i++) sums[i % tile] += 1.0f;
    return tile + unroll;
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.filterwarnings("ignore::UserWarning:kernel_tuner")
def test_a_real_compiler_and_a_cache_to_go_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # Kernel Tuner compiles where it is
    choices = {"tile": [1, 2, 4], "unroll": [1, 2, 3]}
    arguments = [np.zeros(8, dtype=np.float32), np.int32(8)]

    def results(n: int) -> list[dict[str, Any]]:
        found, _ = tune_kernel(
            "kernel",
            SOURCE,
            1,
            arguments,
            choices,
            lang="C",
            strategy=HeatStrategy(seed=0),
            strategy_options={"max_fevals": n},
            cache=str(tmp_path / "cache"),
            iterations=1,
            quiet=True,
        )
        return list(found)

    first = results(4)
    again = results(9)
    asked = [(r["tile"], r["unroll"]) for r in again]
    assert asked[:4] == [(r["tile"], r["unroll"]) for r in first]
    assert {*asked} == {*itertools.product(*choices.values())}
    assert all(r["time"] == r["tile"] + r["unroll"] for r in again)
