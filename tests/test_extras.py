"""A missing extra is answered with the command that installs it."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import optuna
import pytest

from heat_plugins._extras import require

ROOT = Path(__file__).resolve().parents[1]


def test_an_installed_module_is_returned() -> None:
    import json.decoder

    assert require("json.decoder", extra="plot") is json.decoder


def test_a_missing_module_names_the_command_that_installs_it() -> None:
    with pytest.raises(ImportError, match=r"pip install 'heat-plugins\[plot\]'") as caught:
        require("no_such_package_here.plots", extra="plot")
    assert "'no_such_package_here'" in str(caught.value)


def test_a_module_that_is_there_but_broken_is_not_called_missing(tmp_path, monkeypatch) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_package_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package_here"):
        require("half_installed", extra="plot")


def test_the_benchmarks_say_what_is_missing_without_tqdm() -> None:
    command = (
        "import sys; sys.modules['tqdm'] = None\n"
        "from heat_plugins.benchmarks.__main__ import _progress\n"
        "next(_progress(iter([]), [], [], 1))"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'heat-plugins[benchmarks]'" in done.stderr


# Top-level modules that ``pip install heat-plugins`` does not bring.
OF_EXTRAS = (
    "torch",
    "gpytorch",
    "linear_operator",
    "botorch",
    "ax",
    "matplotlib",
    "plotly",
    "sklearn",
    "pandas",
    "kernel_tuner",
)
# Imports and ``find_spec`` answer as if the packages had never been installed.
BASE = f"""
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_EXTRAS}:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
import heat_plugins
"""


def on_a_base_install(command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds none of the packages of extras."""
    arguments = [sys.executable, "-W", "error", *options, "-c", BASE + command]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300)


# Conditional, two objectives, a constraint; six trials of the model.
STUDY = """
import optuna
from heat_plugins import Additive, HeatImportanceEvaluator, HeatSampler

def objective(trial):
    model = trial.suggest_categorical("model", ["tree", "net", "line"])
    size = trial.suggest_int("size", 1, 9)
    cost = float(size)
    if model == "tree":
        cost += trial.suggest_int("depth", 1, 8)
    if model == "net":
        cost += 3 * trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    trial.set_constraint("memory", cost - 12.0)
    return cost, abs(size - 5) + (model != "net")

sampler = HeatSampler(seed=0, n_startup_trials=6, structure=STRUCTURE)
study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
study.optimize(objective, n_trials=12)
assert all(trial.values is not None for trial in study.trials)
for i in range(2):
    assert "model" in str(sampler.explain(study, objective=i))
importance = optuna.importance.get_param_importances(
    study, evaluator=HeatImportanceEvaluator(), target=lambda trial: trial.values[1]
)
assert set(importance) >= {"model", "size"}
assert not OF_EXTRAS & {module.partition(".")[0] for module in sys.modules}
print(len(study.best_trials))
"""


@pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="came with Optuna 5")
@pytest.mark.parametrize("structure", ["None", "Additive()", "'auto'"])
def test_a_study_runs_and_is_explained_on_a_base_install(structure: str) -> None:
    code = STUDY.replace("STRUCTURE", structure).replace("OF_EXTRAS", f"set({OF_EXTRAS})")
    done = on_a_base_install(
        code,
        "-W",
        "ignore::optuna.exceptions.ExperimentalWarning",
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1


def test_the_base_install_is_what_the_sampler_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    assert names == {"numpy", "optuna", "scipy", "threadpoolctl"}
    assert {"all", "ax", "benchmarks", "kernel-tuner", "plot", "torch"} <= project[
        "optional-dependencies"
    ].keys()


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_installs_no_torch(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "-n", "-C", str(ROOT), "demo", f"VENV={tmp_path / 'venv'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "install -c constraints.txt -e '.[plot]'" in done.stdout
    assert "torch" not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "from heat_plugins import *\nHeatSampler(seed=0); PermutationInvariant(['a', 'b'])",
        "assert not hasattr(heat_plugins, 'HeatGP')",
        "assert not hasattr(heat_plugins, 'heat_generation_strategy')",
        "assert not hasattr(heat_plugins, 'HeatStrategy')",
        "import inspect\nassert 'HeatSampler' in dict(inspect.getmembers(heat_plugins))",
        "assert getattr(heat_plugins, 'HeatGP', None) is None",
        "assert all(hasattr(heat_plugins, name) for name in dir(heat_plugins))",
        "from heat_plugins.kernels import *\nassert 'HeatKernel' not in dir() and rho(1.0, 2) < 1",
        "from heat_plugins import kernels\nassert not hasattr(kernels, 'HeatKernel')",
        "import inspect, heat_plugins.kernels\nassert inspect.getmembers(heat_plugins.kernels)",
        "from heat_plugins.kernels import diverse_dictionary, heat_kernel",
        "from heat_plugins.visualization import *\nassert 'read' in dir()",
        "from heat_plugins.benchmarks.problems import pest_control\npest_control().relocated()",
    ],
)
def test_a_base_install_has_all_names_but_those_of_extras(command: str) -> None:
    done = on_a_base_install(command)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "error", "extra"),
    [
        ("from heat_plugins import HeatGP", "MissingExtra", "ax"),
        ("from heat_plugins import heat_generation_strategy", "MissingExtra", "ax"),
        ("from heat_plugins.botorch import HeatGP", "MissingExtra", "ax"),
        ("import heat_plugins.ax", "MissingExtra", "ax"),
        ("from heat_plugins import HeatStrategy", "MissingExtra", "kernel-tuner"),
        ("import heat_plugins.kernel_tuner", "MissingExtra", "kernel-tuner"),
        ("heat_plugins.HeatGP", "AttributeError", "ax"),
        ("from heat_plugins.kernels import HeatKernel", "MissingExtra", "torch"),
        ("import heat_plugins.kernels as k; k.HeatKernel", "AttributeError", "torch"),
        ("from heat_plugins.torch import CombinatorialKernel", "MissingExtra", "torch"),
        ("from heat_plugins.visualization import report", "MissingExtra", "plot"),
        (
            "from heat_plugins.benchmarks.__main__ import main\nmain(['bench', '--only=speed'])",
            "error",
            "torch",
        ),
        (
            "from heat_plugins.benchmarks.problems.catalogue import task_named; task_named('svm')",
            "MissingExtra",
            "benchmarks",
        ),
    ],
)
def test_a_name_of_an_extra_says_how_to_install_it(command: str, error: str, extra: str) -> None:
    done = on_a_base_install(command)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert last.partition(":")[0].endswith(error)
    assert f"pip install 'heat-plugins[{extra}]'" in last


def test_pictures_load_what_they_need_when_they_are_drawn() -> None:
    command = (
        "import sys, heat_plugins.visualization\n"
        "assert not {'optuna', 'ax', 'plotly', 'scipy'} & sys.modules.keys()\n"
        "from heat_plugins.visualization import plot_effects, read, report\n"
        "assert not {'optuna', 'ax'} & sys.modules.keys()"
    )
    pytest.importorskip("plotly")
    subprocess.run([sys.executable, "-W", "error", "-c", command], check=True)


def test_everything_is_public_where_everything_is_installed() -> None:
    pytest.importorskip("ax")
    pytest.importorskip("kernel_tuner")
    import heat_plugins

    names = {"HeatGP", "HeatStrategy", "heat_generation_strategy", "register_kernel"}
    assert names <= set(heat_plugins.__all__)
    assert all(hasattr(heat_plugins, name) for name in heat_plugins.__all__)
