"""Modules that a release had are found by their old names."""

import importlib
import pickle
import subprocess
import sys

import pytest

from heat_plugins._moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_same_module_and_says_the_new_one(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved; write {MOVED[old]}"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(MOVED[old])
    assert module.__name__ == module.__spec__.name == MOVED[old]


def test_a_pickle_that_names_an_old_module_is_loaded() -> None:
    from heat_plugins.benchmarks.run.studies import Record

    old = pickle.dumps(Record([1.0]), 0).replace(b"benchmarks.run.studies", b"benchmarks.studies")
    sys.modules.pop("heat_plugins.benchmarks.studies", None)
    with pytest.warns(DeprecationWarning, match="has moved"):
        assert pickle.loads(old) == Record([1.0])


def test_the_warning_is_shown_to_a_script_and_points_at_its_line() -> None:
    code = "from heat_plugins.benchmarks.studies import run"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "<string>:1: DeprecationWarning" in done.stderr
    assert "write heat_plugins.benchmarks.run.studies" in done.stderr


def test_names_that_never_were_are_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match="heat_plugins.benchmarks.nonsense"):
        importlib.import_module("heat_plugins.benchmarks.nonsense")


def test_the_problems_of_the_first_release_are_where_they_were() -> None:
    from heat_plugins.benchmarks.problems import (
        PROBLEMS,
        Problem,
        ackley,
        contamination,
        labs,
        maxsat,
        pest_control,
        read_wcnf,
    )

    assert isinstance(pest_control(), Problem) and "pest" in PROBLEMS
    assert all(map(callable, (ackley, contamination, labs, maxsat, read_wcnf)))
