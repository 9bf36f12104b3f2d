"""Each folder of ``optunahub`` is a package of that registry: it loads, and its example runs."""

import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import optuna
import pytest
import yaml

from heat_plugins import HeatSampler

# Not "optunahub" alone: where that is missing, our own folder answers to the name.
hub = pytest.importorskip("optunahub.hub")

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = ROOT / "optunahub" / "package"
# By name: what it gives, and the largest value that its example may end with.
PACKAGES = {
    "samplers/heat_kernel": (["HeatSampler"], 1.0),
    "samplers/heat_kernel_graphs": (["HeatSampler", "graph_of_distances"], 0.0),
}
for_each_package = pytest.mark.parametrize("name", PACKAGES)


def readme_of(name: str) -> str:
    return (REGISTRY / name / "README.md").read_text(encoding="utf-8")


def load(package: str) -> ModuleType:
    module: ModuleType = hub.load_local_module(package, registry_root=str(REGISTRY))
    return module


@for_each_package
def test_a_package_is_the_sampler_and_what_it_says(name: str) -> None:
    module = load(name)
    assert module.HeatSampler is HeatSampler
    assert module.__all__ == PACKAGES[name][0]
    section = readme_of(name).partition("## Class or Function Names")[2].partition("##")[0]
    assert re.findall(r"^- (\w+)$", section, flags=re.MULTILINE) == module.__all__


@for_each_package
def test_a_short_study_runs(name: str) -> None:
    study = optuna.create_study(sampler=load(name).HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(
        lambda t: t.suggest_int("x", -5, 5) ** 2 + (t.suggest_categorical("c", "abc") == "a"), 12
    )
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 12
    assert study.best_value <= 2.0


@for_each_package
def test_the_example_of_the_readme_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the folder here instead of the registry's server."""
    monkeypatch.setattr("optunahub.load_module", load)
    (example,) = re.findall(r"```python\n(.*?)```", readme_of(name), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["study"].best_value <= PACKAGES[name][1]
    assert len(names["study"].trials) == 40


@for_each_package
def test_front_matter_is_what_the_registry_asks_for(name: str) -> None:
    front_matter = yaml.safe_load(readme_of(name).split("---\n")[1])
    assert set(front_matter) == {
        "author",
        "title",
        "description",
        "tags",
        "optuna_versions",
        "license",
    }
    assert "sampler" in front_matter["tags"]
    assert front_matter["license"] == "MIT License"
    texts = [value for value in front_matter.values() if not isinstance(value, list)]
    listed = [*front_matter["tags"], *front_matter["optuna_versions"]]
    assert all(isinstance(text, str) and text for text in [*texts, *listed])


@for_each_package
def test_sections_of_the_readme_are_those_of_the_registry(name: str) -> None:
    sections = re.findall(r"^## (.*)$", readme_of(name), flags=re.MULTILINE)
    assert sections == [
        "Abstract",
        "Class or Function Names",
        "Installation",
        "Example",
        "Others",
    ]


@for_each_package
def test_the_licence_is_ours(name: str) -> None:
    assert (REGISTRY / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@for_each_package
@pytest.mark.parametrize(
    ("missing", "message"),
    [("heat_plugins", "pip install heat-plugins"), ("scipy", "import of scipy halted")],
)
def test_what_is_missing_is_named(name: str, missing: str, message: str) -> None:
    command = (
        "import runpy, sys\n"
        f"sys.modules[{missing!r}] = None\n"
        f"runpy.run_path({str(REGISTRY / name / '__init__.py')!r})"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode != 0
    assert message in done.stderr.splitlines()[-1]


def line(first: float, second: float) -> float:
    return abs(first - second)


def test_a_graph_of_distances_is_stronger_where_choices_are_closer() -> None:
    graph = load("samplers/heat_kernel_graphs").graph_of_distances([0.0, 1.0, 3.0], line)
    # The distances to the nearest other choice are 1, 1 and 2.
    expected = np.exp(-0.5 * np.array([[0, 1, 9], [1, 0, 4], [9, 4, 0]]))
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(graph, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("choices", "distance", "message"),
    [
        (["a"], lambda a, b: 0.0, "at least 2 values, got 1"),
        (["a", "b"], lambda a, b: 0.0, "positive and finite"),
        (["a", "b"], lambda a, b: float("nan"), "positive and finite"),
        ([1.0, 2.0], lambda a, b: 1.0 + max(a - b, 0.0), "order of its arguments"),
    ],
)
def test_what_is_no_distance_is_refused(choices: list[Any], distance: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("samplers/heat_kernel_graphs").graph_of_distances(choices, distance)


def test_distances_are_worth_having() -> None:
    """A word of 120 is found in 20 trials, which at random takes 60 on average."""
    words = ["".join(letters) for letters in itertools.permutations("abcde")]

    def swaps(first: str, second: str) -> int:
        return sum(a != b for a, b in zip(first, second, strict=True))

    graph = load("samplers/heat_kernel_graphs").graph_of_distances(words, swaps)
    for seed in range(2):
        sampler = HeatSampler(seed=seed, deterministic_objective=True, graphs={"word": graph})
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda t: swaps(t.suggest_categorical("word", words), "dbeac"), 20)
        assert study.best_value == 0.0
