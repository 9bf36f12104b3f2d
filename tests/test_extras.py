"""A missing extra is answered with the command that installs it."""

import subprocess
import sys

import pytest

from heat_plugins._extras import require


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


BASE = """
import sys
for package in ("botorch", "ax"):
    sys.modules[package] = None
import heat_plugins
"""


def on_a_base_install(command: str) -> subprocess.CompletedProcess[str]:
    """Run a program that cannot import BoTorch and Ax."""
    arguments = [sys.executable, "-W", "error", "-c", BASE + command]
    return subprocess.run(arguments, capture_output=True, text=True)


@pytest.mark.parametrize(
    "command",
    [
        "from heat_plugins import *\nHeatSampler(seed=0); PermutationInvariant(['a', 'b'])",
        "assert not hasattr(heat_plugins, 'HeatGP')",
        "assert not hasattr(heat_plugins, 'heat_generation_strategy')",
        "import inspect\nassert 'HeatSampler' in dict(inspect.getmembers(heat_plugins))",
        "assert getattr(heat_plugins, 'HeatGP', None) is None",
        "assert all(hasattr(heat_plugins, name) for name in dir(heat_plugins))",
    ],
)
def test_a_base_install_has_all_names_but_those_of_extras(command: str) -> None:
    done = on_a_base_install(command)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("from heat_plugins import HeatGP", "MissingExtra"),
        ("from heat_plugins import heat_generation_strategy", "MissingExtra"),
        ("from heat_plugins.botorch import HeatGP", "MissingExtra"),
        ("import heat_plugins.ax", "MissingExtra"),
        ("heat_plugins.HeatGP", "AttributeError"),
    ],
)
def test_a_name_of_an_extra_says_how_to_install_it(command: str, error: str) -> None:
    done = on_a_base_install(command)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert last.partition(":")[0].endswith(error)
    assert "pip install 'heat-plugins[ax]'" in last


def test_everything_is_public_where_everything_is_installed() -> None:
    pytest.importorskip("ax")
    import heat_plugins

    assert {"HeatGP", "heat_generation_strategy", "register_kernel"} <= set(heat_plugins.__all__)
    assert all(hasattr(heat_plugins, name) for name in heat_plugins.__all__)
