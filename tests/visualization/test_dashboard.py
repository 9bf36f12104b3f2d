"""optuna-dashboard shows the figures that are saved with a study, in a real browser."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from browser import find_chromium, look_at
from needs import need, unavailable
from odd_studies import mixed

from heat_plugins.visualization import plot_course, plot_effects, read

SERVE = (
    "import sys; from optuna_dashboard import run_server\n"
    "run_server(sys.argv[1], host='127.0.0.1', port=int(sys.argv[2]))"
)
START_SECONDS = 60.0  # on a machine that is busy with other things


@contextmanager
def dashboard(storage: str) -> Iterator[str]:
    """The address of a dashboard that runs until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/dashboard"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVE, storage, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(address):
            assert process.poll() is None, "the dashboard has ended"
            assert time.monotonic() < end, "the dashboard does not answer"
            time.sleep(0.2)
        yield address
    finally:
        process.kill()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5.0) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_dashboard_shows_figures_without_a_network(tmp_path: Path) -> None:
    need("optuna_dashboard", "plotly")
    program = find_chromium()
    if program is None:
        unavailable("no Chromium was found (Debian: apt-get install chromium)")
    from optuna_dashboard import save_plotly_graph_object

    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(study_name="mixed", storage=storage)
    study.add_trials(mixed().trials)
    model = read(study)
    for name, plot in {"course": plot_course, "effects": plot_effects}.items():
        save_plotly_graph_object(study, plot(model), graph_object_id=name)
    study._storage.remove_session()
    with dashboard(storage) as address:
        look = look_at(f"{address}/studies/1", program, (1300, 2600), wait=15_000)
    assert not [line for line in look.console if "rror" in line]
    for title in ("Course of the search", "Effects of single parameters"):
        assert title in look.dom
