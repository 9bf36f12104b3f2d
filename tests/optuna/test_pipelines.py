"""Published systems by name: complete, usable on spaces of any kind, and what the page says."""

import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from heat_plugins import HeatSampler, LabelledGraph, pipeline
from heat_plugins.spec.pipelines import PIPELINES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipelines.md"
every_pipeline = pytest.mark.parametrize("name", PIPELINES)


def letters(trial: optuna.Trial) -> float:
    names = [trial.suggest_categorical(f"letter{i}", list("abcd")) for i in range(6)]
    return float(sum(name != "b" for name in names) - 0.5 * (names[0] == names[1]))


def mixed(trial: optuna.Trial) -> float:
    """Conditions, numbers and failures."""
    kind = trial.suggest_categorical("kind", ["one", "two", "three"])
    value = {"one": 0.0, "two": 1.0, "three": 2.0}[kind]
    if kind != "three":
        value += trial.suggest_float("x", -1, 1) ** 2
    count = trial.suggest_int("count", 0, 9)
    if kind == "two" and count > 6:
        raise RuntimeError("does not run")
    return value + abs(count - 3)


def run(name: str, objective: Any, n_trials: int, **settings: Any) -> optuna.Study:
    settings = pipeline(name) | {"n_startup_trials": 6} | settings
    study = optuna.create_study(sampler=HeatSampler(seed=0, **settings))
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))
    return study


@every_pipeline
def test_a_pipeline_works_on_choices(name: str) -> None:
    study = run(name, letters, 26)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 26
    # By bandits, or by what random trees say, little is learnt in so few trials.
    assert study.best_value <= {"cocabo": 3.0, "rducb": 2.0, "bodi": 2.0}.get(name, 0.5)
    again = run(name, letters, 12)
    assert [t.params for t in again.trials] == [t.params for t in study.trials[:12]]


@every_pipeline
def test_a_pipeline_works_on_mixed_spaces(name: str) -> None:
    study = run(name, mixed, 16)
    points = [tuple(sorted(trial.params.items())) for trial in study.trials]
    assert len(set(points)) == 16


@every_pipeline
def test_parts_can_be_exchanged(name: str) -> None:
    first, second = pipeline(name), pipeline(name)
    first["search"] = "pool"
    assert pipeline(name) == second
    if name != "rducb":
        HeatSampler(**second | {"acquisition": "thompson"})


def test_the_page_has_every_pipeline_with_its_parts() -> None:
    found = re.findall(r'^\| `"(\w+)"` \| (.*) \|$', PAGE.read_text("utf-8"), re.MULTILINE)
    rows = dict(reversed(found))  # the first table is that of systems
    for name, entry in PIPELINES.items():
        assert entry.reference in rows[name], name
        for part, value in entry.parts.items():
            if part in ("search", "trust_region", "kernel") and value is not False:
                assert f'"{value}"' in rows[name], (name, part)


def test_nasbowl_takes_its_kernel_where_there_is_a_graph() -> None:
    graph = LabelledGraph(
        ["in", "a", "b", "out"],
        {("in", "a"): "ia", ("in", "b"): "ib", ("a", "out"): "ao", ("b", "out"): "bo"},
        fixed=["in", "out"],
        directed=True,
    )
    settings = {"kernel": "weisfeiler-lehman", "structure": graph, "n_startup_trials": 4}

    def cell(trial: optuna.Trial) -> float:
        operations = [trial.suggest_categorical(node, ["conv", "pool"]) for node in "ab"]
        edges = [trial.suggest_categorical(name, [0, 1]) for name in ("ia", "ib", "ao", "bo")]
        return float(operations.count("pool") - sum(edges))

    study = optuna.create_study(sampler=HeatSampler(seed=0, **pipeline("nasbowl") | settings))
    study.optimize(cell, n_trials=14)
    assert study.best_value <= -3.0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="name must be one of"):
        pipeline("turbo")
