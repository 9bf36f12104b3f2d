"""The folder ``optunahub`` is a package of that registry: it loads, and what it shows runs."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import optuna
import pytest
import yaml

from heat_plugins import HeatSampler

# Not "optunahub" alone: where that is missing, our own folder answers to the name.
hub = pytest.importorskip("optunahub.hub")

ROOT = Path(__file__).resolve().parents[2]
NAME = "samplers/heat_kernel"
REGISTRY = ROOT / "optunahub" / "package"
FOLDER = REGISTRY / NAME
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def load(package: str = NAME) -> ModuleType:
    module: ModuleType = hub.load_local_module(package, registry_root=str(REGISTRY))
    return module


def test_the_package_is_the_sampler_and_nothing_else() -> None:
    module = load()
    assert module.HeatSampler is HeatSampler
    assert module.__all__ == ["HeatSampler"]


def test_a_short_study_runs() -> None:
    study = optuna.create_study(sampler=load().HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(
        lambda t: t.suggest_int("x", -5, 5) ** 2 + (t.suggest_categorical("c", "abc") == "a"), 12
    )
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 12
    assert study.best_value <= 2.0


def test_the_example_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the folder here instead of the registry's server."""
    monkeypatch.setattr("optunahub.load_module", load)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["study"].best_value < 1.0
    assert len(names["study"].trials) == 40


def test_front_matter_is_what_the_registry_asks_for() -> None:
    front_matter = yaml.safe_load(README.split("---\n")[1])
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


def test_sections_of_the_readme_are_those_of_the_registry() -> None:
    sections = re.findall(r"^## (.*)$", README, flags=re.MULTILINE)
    assert sections == [
        "Abstract",
        "Class or Function Names",
        "Installation",
        "Example",
        "Others",
    ]


def test_the_licence_is_ours() -> None:
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    ("missing", "message"),
    [("heat_plugins", "pip install heat-plugins"), ("scipy", "import of scipy halted")],
)
def test_what_is_missing_is_named(missing: str, message: str) -> None:
    command = (
        "import runpy, sys\n"
        f"sys.modules[{missing!r}] = None\n"
        f"runpy.run_path({str(FOLDER / '__init__.py')!r})"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode != 0
    assert message in done.stderr.splitlines()[-1]
