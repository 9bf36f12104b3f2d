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
