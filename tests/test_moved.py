"""Modules that a release had are found by their old names."""

import base64
import importlib
import pickle
import subprocess
import sys

import optuna
import pytest

from heat_plugins import Additive, HeatSampler, PermutationInvariant
from heat_plugins._moved import GONE, MOVED, RENAMED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_same_module_and_says_the_new_one(old: str) -> None:
    new = importlib.import_module(MOVED[old])  # with warnings of its own, perhaps
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved; write {MOVED[old]}"):
        module = importlib.import_module(old)
    assert module is new
    assert module.__name__ == module.__spec__.name == MOVED[old]


@pytest.mark.filterwarnings("ignore:heat_plugins.* has moved:DeprecationWarning")
@pytest.mark.parametrize(
    ("old", "name", "new"),
    [(old, name, new) for old, names in RENAMED.items() for name, new in names.items()],
)
def test_names_that_are_elsewhere_say_where(old: str, name: str, new: str) -> None:
    sys.modules.pop(old, None)
    with pytest.raises(ImportError, match=f"{old}.{name} has moved; write {new}"):
        exec(f"from {old} import {name}")
    home, _, now = new.rpartition(".")
    assert hasattr(importlib.import_module(home), now)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = importlib.import_module(old).nonsense


@pytest.mark.filterwarnings("ignore:heat_plugins.* has moved:DeprecationWarning")
def test_the_tag_of_trials_of_no_region_is_where_the_first_release_had_it() -> None:
    from heat_plugins.history import NO_REGION

    assert importlib.import_module("heat_plugins.core.trust_region").NO_REGION is NO_REGION


@pytest.mark.parametrize("old", GONE)
def test_modules_that_are_gone_say_what_to_do(old: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"{old} is gone: {GONE[old]}"):
        importlib.import_module(old)


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


# HeatSampler(seed=3, n_startup_trials=4, deterministic_objective=True, mixing="mixture",
#     structure=[PermutationInvariant(["a", "b"], method="sum"), Additive()],
#     order={"size": ["S", "M", "L"]}, quantitative={"block": "log"}), pickled by version 0.1.0
OLD_SAMPLER = (
    "gASVpQQAAAAAAACMG2hlYXRfcGx1Z2lucy5vcHR1bmEuc2FtcGxlcpSMC0hlYXRTYW1wbGVylJOUKYGUfZQojAVf"
    "c2VlZJRLA4wJX3NldHRpbmdzlIwZaGVhdF9wbHVnaW5zLmNvcmUuc3VnZ2VzdJSMCFNldHRpbmdzlJOUKYGUfZQo"
    "jBBuX3N0YXJ0dXBfdHJpYWxzlEsEjA1kZXRlcm1pbmlzdGljlIiMDHRydXN0X3JlZ2lvbpSMHmhlYXRfcGx1Z2lu"
    "cy5jb3JlLnRydXN0X3JlZ2lvbpSMEFRydXN0UmVnaW9uUnVsZXOUk5QpgZR9lCiMC2ZpcnN0X3NjYWxllEc/6ZmZ"
    "mZmZmowGZmFjdG9ylEc/+AAAAAAAAIwRc3VjY2Vzc2VzX3RvX2dyb3eUSwOMEmZhaWx1cmVzX3RvX3Nocmlua5RO"
    "jAxzbWFsbGVzdF9ib3iURz+EeuFHrhR7dWKMBnNlYXJjaJSMGWhlYXRfcGx1Z2lucy5jb3JlLmdlbmV0aWOUjAxT"
    "ZWFyY2hCdWRnZXSUk5QpgZR9lCiMCnBvcHVsYXRpb26US2SMC2dlbmVyYXRpb25zlEsKjAdwYXJlbnRzlEsejAdh"
    "c2NlbnRzlEsEjAxhc2NlbnRfc3RlcHOUSx6MD2VudW1lcmF0ZV91cF90b5RN0Ad1YowQbWF4X21vZGVsX3BvaW50"
    "c5RN9AGMDm1heF9maXRfcG9pbnRzlE0sAYwFbW9kZWyUjBJoZWF0X3BsdWdpbnMubW9kZWyUjAVNb2RlbJSTlCmB"
    "lH2UKIwGa2VybmVslIwEaGVhdJSMA2FyZJROjAlzdHJ1Y3R1cmWUjBdoZWF0X3BsdWdpbnMuc3RydWN0dXJlc5SM"
    "FFBlcm11dGF0aW9uSW52YXJpYW50lJOUKYGUfZQojAZncm91cHOUjAFhlIwBYpSGlIWUjAZtZXRob2SUjANzdW2U"
    "jAluX3NhbXBsZXOUS8iMDHBlcm11dGF0aW9uc5ROdWJoMYwIQWRkaXRpdmWUk5QpgZR9lIwJcmVtYWluZGVylIhz"
    "YoaUjAZncmFwaHOUfZSMBW9yZGVylH2UjARzaXpllIwBU5SMAU2UjAFMlIeUc4wMcXVhbnRpdGF0aXZllH2UjAVi"
    "bG9ja5SMA2xvZ5RzjAZtaXhpbmeUjAdtaXh0dXJllHVidWKMFF9pbmRlcGVuZGVudF9zYW1wbGVylE6MGl93YXJu"
    "X2luZGVwZW5kZW50X3NhbXBsaW5nlIiMEV9jb25zdHJhaW50c19mdW5jlE6MDF9pc19mZWFzaWJsZZROjAZfcnVs"
    "ZXOUjBtoZWF0X3BsdWdpbnMub3B0dW5hLmhpc3RvcnmUjAxSZWFkaW5nUnVsZXOUk5QpgZR9lCiMD2NvbnNpZGVy"
    "X3BydW5lZJSIjA9wZW5kaW5nX3RpbWVvdXSUTnVijAdfcmVjb3JklImMCF9ub3RpY2VzlIwbaGVhdF9wbHVnaW5z"
    "Lm9wdHVuYS5ub3RpY2VzlIwHTm90aWNlc5STlCmBlH2UKIwFX3NhaWSUj5SMDF9jb21iaW5hdGlvbpSMAJR1YowG"
    "X2dpdmVulH2UdWIu"
)


@pytest.mark.filterwarnings("ignore:heat_plugins.* has moved:DeprecationWarning")
def test_a_sampler_that_the_first_release_pickled_goes_on() -> None:
    sampler = pickle.loads(base64.b64decode(OLD_SAMPLER))
    assert isinstance(sampler, HeatSampler)
    assert (
        sampler._settings
        == HeatSampler(
            seed=3,
            n_startup_trials=4,
            deterministic_objective=True,
            structure=[PermutationInvariant(["a", "b"], method="sum"), Additive()],
            order={"size": ["S", "M", "L"]},
            quantitative={"block": "log"},
            mixing="mixture",
            numeric_choices="unordered",  # as they were then
        )._settings
    )
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        same = trial.suggest_categorical("a", "xyz") == trial.suggest_categorical("b", "xyz")
        size = trial.suggest_categorical("size", ["S", "M", "L"])
        return same + (size != "M") + trial.suggest_categorical("block", [16, 32, 64]) / 64

    study.optimize(objective, n_trials=12)
    assert study.best_value < 0.6
