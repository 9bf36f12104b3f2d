"""The site, built once for all tests, however many processes they run in."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need

ROOT = Path(__file__).resolve().parents[2]
BUILDERS = ("griffe", "IPython", "material", "mkdocs", "mkdocstrings", "networkx", "ziamath")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, with a few examples in their short form."""
    need(*BUILDERS)
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "sitemap.xml").exists():  # what is written last
            build(folder, shared / "site-runs")
    return folder


def build(folder: Path, runs: Path) -> None:
    """Build the site strictly: every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env=os.environ
        | {
            "HEAT_PLUGINS_GALLERY": "quick",
            "HEAT_PLUGINS_SITE_RUNS": str(runs),
            "JOBS": "1",
            "NO_MKDOCS_2_WARNING": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        },
    )
    assert done.returncode == 0, done.stderr[-5000:]
