"""What the documents show must run."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from needs import need

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
HAS_SET_CONSTRAINT = hasattr(optuna.Trial, "set_constraint")


def snippets_of(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_opens_with_three_lines_of_code() -> None:
    lines = [line for line in snippets_of(ROOT / "README.md")[0].splitlines() if line.strip()]
    assert len(lines) == 3
    assert "HeatSampler()" in lines[-1]


SNIPPETS = [
    pytest.param(page, snippet, id=f"{page.name}-{number}")
    for page in PAGES
    for number, snippet in enumerate(snippets_of(page), start=1)
]


# Optuna 5 says that constraints_func has had its day; the page says so, too.
@pytest.mark.filterwarnings("ignore:`constraints_func` has been deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*is experimental:optuna.exceptions.ExperimentalWarning")
# Ax calls what it, or pandas, has deprecated.
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning:ax.")
# Its measure of a fit divides by the error, which can be none.
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning:ax.utils.stats")
@pytest.mark.parametrize(("page", "snippet"), SNIPPETS)
def test_snippets_run(
    page: Path, snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "set_constraint" in snippet and not HAS_SET_CONSTRAINT:
        pytest.skip("Trial.set_constraint came with Optuna 5")
    if "kernel_tuner" in snippet:
        pytest.importorskip("kernel_tuner")
    monkeypatch.chdir(tmp_path)  # some write files
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(snippet, page.name, "exec"), names)
    if page.name in ("README.md", "optuna.md", "ax.md"):
        assert {"study", "client", "gp"} & names.keys()


COMPARISON = ["--trials", "14", "--repeats", "1"]
WORKERS = ["--trials", "14", "--workers", "2", "--storage", "study.log"]
# By name: the arguments of a short form, and what it prints.
EXAMPLES = {
    "quickstart": (COMPARISON, ["HeatSampler", "TPESampler"]),
    "permutation_invariant": (
        COMPARISON,
        ["with the structure", "without", "ackley", "styblinski-tang"],
    ),
    "additive": (
        COMPARISON,
        ["Additive()", '"auto"', "without", "share of variance by order", "place"],
    ),
    "architecture_cells": (
        COMPARISON,
        ["with the graph", "without", "TPESampler", "cells are different"],
    ),
    "graph_of_choices": (COMPARISON, ["with graphs", "without", "TPESampler"]),
    "pipelines": (COMPARISON, ["default", "bounce", "casmopolitan", "rducb", "whole space"]),
    "transfer": (
        COMPARISON,
        ["0 to 4", "5 to 9", "a model added", "previous=[earlier]", "from nothing", "how alike"],
    ),
    "conditional_pipeline": (
        COMPARISON,
        ["HeatSampler", "TPESampler (group)", "tried", "'model'"],
    ),
    "constrained": (COMPARISON, ["weight is known", "weight is measured", "too hot"]),
    "two_objectives": (COMPARISON, ["hypervolume", "NSGAIISampler", "front", "features"]),
    "parallel_workers": (WORKERS, ["14 of 14 points are distinct", "found the best"]),
    "ax_constrained_objectives": (
        ["--trials", "14"],
        ["of 14 trials keep to 12 GB", "Pareto frontier", "% errors"],
    ),
}
# The same for those that draw nothing.
WITHOUT_PICTURE = {
    "botorch_loop": (["--trials", "12"], ["plan  12 costs", "best plan after 12"]),
    "ax_quickstart": (
        ["--trials", "13"],
        ["trial  12:", "best parameterization", "prediction for the same", "in truth"],
    ),
    "ax_batch": (
        ["--trials", "16"],
        [
            "batch of 4",
            "completed: 14, failed: 1, abandoned: 1",
            "16 of 16 recipes are distinct",
            "hardest alloy",
        ],
    ),
    "ax_resume": (
        ["--trials", "11", "--after", "8"],
        ["8 trials, saved", "the suggestions are the same", "the best of 11 trials"],
    ),
    "report": (["--trials", "12"], ["best of 12 mixtures", "effects of single", "report.html"]),
}
if importlib.util.find_spec("kernel_tuner") is not None:
    WITHOUT_PICTURE["kernel_tuner_simulation"] = (
        ["--configurations", "16"],
        ["HeatStrategy       16 configurations", "genetic_algorithm", "5184 valid configurations"],
    )
SHARED = {"comparison", "studies"}  # by the examples


def path_with_root() -> dict[str, str]:
    """Return an environment in which programs find the package of this checkout."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def run_example(name: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=path_with_root(),
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported what examples need, and runs each in a fork of its own."""
    program = Path(__file__).with_name("fork_examples.py")
    modules = [name for name in ("ax.api.client", "matplotlib") if importlib.util.find_spec(name)]
    with subprocess.Popen(
        [sys.executable, str(program), "optuna", "heat_plugins.benchmarks.problems", *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=path_with_root(),
    ) as process:
        yield process
        process.kill()


def run_forked(
    forks: subprocess.Popen[str], name: str, arguments: list[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run an example as ``run_example`` does, without its imports."""
    outputs = [folder / "stdout", folder / "stderr"]
    job = {
        "program": str(ROOT / "examples" / f"{name}.py"),
        "arguments": arguments,
        "folder": str(folder),
        **{path.name: str(path) for path in outputs},
    }
    assert forks.stdin is not None and forks.stdout is not None
    print(json.dumps(job), file=forks.stdin, flush=True)
    code = forks.stdout.readline()
    done = subprocess.CompletedProcess(name, int(code), *(path.read_text() for path in outputs))
    assert done.returncode == 0, done.stderr
    return done


def test_every_example_is_tested() -> None:
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    tested = {
        *EXAMPLES,
        *WITHOUT_PICTURE,
        *SHARED,
        "dashboard",
        "ray_tune",
        "kernel_tuner_simulation",
    }
    assert names == tested


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_print_a_result_and_write_a_picture(
    example: str, forks: subprocess.Popen[str], tmp_path: Path
) -> None:
    arguments, words = EXAMPLES[example]
    picture = tmp_path / "picture.png"
    done = run_forked(forks, example, [*arguments, "--output", str(picture)], tmp_path)
    for word in words:
        assert word in done.stdout
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert re.search(r"(\d+)/\1 ", done.stderr)  # the progress bar, at its end


@pytest.mark.parametrize("example", WITHOUT_PICTURE)
def test_examples_without_a_picture_print_a_result(
    example: str, forks: subprocess.Popen[str], tmp_path: Path
) -> None:
    arguments, words = WITHOUT_PICTURE[example]
    done = run_forked(forks, example, arguments, tmp_path)
    for word in words:
        assert word in done.stdout


def test_the_dashboard_example_saves_figures_with_the_study(
    forks: subprocess.Popen[str], tmp_path: Path
) -> None:
    need("optuna_dashboard", "plotly")
    done = run_forked(forks, "dashboard", ["--trials", "8"], tmp_path)
    assert done.stdout.count("saved with the study") == 6
    assert "optuna-dashboard sqlite:///study.db" in done.stdout
    study = optuna.load_study(study_name="network", storage=f"sqlite:///{tmp_path / 'study.db'}")
    attributes = study._storage.get_study_system_attrs(study._study_id)
    assert sum(key.startswith("dashboard:plot_data") for key in attributes) >= 6


@pytest.mark.slow
def test_the_ray_example_runs_or_says_what_it_needs(tmp_path: Path) -> None:
    done = run_example("ray_tune", ["--trials", "6"], tmp_path)
    if importlib.util.find_spec("ray") is None or importlib.util.find_spec("pyarrow") is None:
        assert 'pip install "ray[tune]"' in done.stdout
    else:
        assert "6 of their points are distinct" in done.stdout
        assert "best loss" in done.stdout


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").glob("*/*.md"))])
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []
