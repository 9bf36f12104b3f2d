"""Long commands show how far they are on a terminal, and nothing where their output is kept."""

import io
import sys
from pathlib import Path

import pytest
from made_up_studies import studies, written

from heat_plugins.benchmarks import __main__ as command
from heat_plugins.benchmarks.run.runner import Job

pytest.importorskip("matplotlib")


class Screen(io.StringIO):
    """What is written to a terminal, or to a file."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


SCREENS = pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "file"])


@SCREENS
def test_runs_show_their_progress_on_a_terminal_alone(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    lines = studies("p", {"Random": 1.0}, n_seeds=3)
    jobs = [Job("p", "Random", seed, 60) for seed in range(3)]
    assert [*command._progress(iter(lines), jobs, [], 1)] == []
    assert ("3/3" in screen.getvalue()) == is_terminal
    assert bool(screen.getvalue()) == is_terminal


@SCREENS
def test_reports_show_their_progress_on_a_terminal_alone(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    screen = Screen(is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    path = written(studies("p", {"HeatSampler": 1.0, "TPE": 2.0}, n_seeds=2), tmp_path / "a.jsonl")
    command.main(
        ["report", "--results", str(path), "--folder", str(tmp_path / "out"), "--no-figures"]
    )
    assert (tmp_path / "out" / "README.md").exists()
    assert ("2/2" in screen.getvalue()) == is_terminal
    assert bool(screen.getvalue()) == is_terminal
