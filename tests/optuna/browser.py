"""A headless Chromium that looks at a page once: what it shows, and what its console says.

It reaches nothing but this machine, so that a page which needs the network shows that it does.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Look", "find_chromium", "look_at"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--enable-logging=stderr",
    "--log-level=0",
)
SECONDS = 120.0  # for a browser on a machine that is busy with other things
CONSOLE = re.compile(r":CONSOLE[:(]\d+\)?\] (.*)")


@dataclass(frozen=True)
class Look:
    """What a page was like.

    Args:
        dom: Its elements in the end, as HTML.
        console: What its programs wrote, errors that nothing caught among it.
        picture: What it looked like, as PNG.
    """

    dom: str
    console: list[str]
    picture: bytes


def find_chromium() -> str | None:
    """Return the path of a browser; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def look_at(
    address: str | Path, program: str, size: tuple[int, int] = (1200, 900), wait: int = 10_000
) -> Look:
    """Open a page and look at it.

    Args:
        address: Of the page, or a file.
        program: The browser.
        size: Width and height, in pixels.
        wait: Milliseconds of its own time that the page has; waiting for answers is free.
    """
    address = address.resolve().as_uri() if isinstance(address, Path) else address
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        picture = Path(folder) / "picture.png"
        command = [
            program,
            *FLAGS,
            f"--user-data-dir={folder}/profile",
            f"--window-size={size[0]},{size[1]}",
            f"--virtual-time-budget={wait}",
            f"--screenshot={picture}",
            "--dump-dom",
            address,
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            try:
                ends = process.communicate(timeout=SECONDS)
            finally:
                _kill(process.pid)
        dom, log = (end.decode("utf-8", "replace") for end in ends)
        if not picture.exists():
            raise RuntimeError(f"{address} was not opened: {log[-1000:]}")
        return Look(dom, CONSOLE.findall(log), picture.read_bytes())


def _kill(group: int) -> None:
    """End what is left of a browser: it is several processes."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:  # nothing is
        pass
