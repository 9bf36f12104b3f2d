"""MkDocs hook: the notebooks of docs/tutorials, run and turned into pages.

They are committed without outputs. A page has the text, the code and what it printed and drew;
nothing of Jupyter is needed to read it.
"""

import base64
import json
import logging
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from run_cached import environment, kept, side_by_side

log = logging.getLogger("mkdocs.hooks.notebooks")
ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
RUNNER = ROOT / "website" / "run_notebook.py"
LONGEST = 300  # seconds that a notebook may take


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add a page, and its pictures, for every notebook."""
    paths = sorted(TUTORIALS.glob("*.ipynb"))
    own = Path(__file__).read_text("utf-8") + RUNNER.read_text("utf-8")
    jobs = [
        partial(kept, "tutorials", path.stem, [path.read_text("utf-8"), own], partial(write, path))
        for path in paths
    ]
    for folder in side_by_side([*jobs]):
        for written in sorted(folder.glob("[!.]*")):
            uri = f"tutorials/{written.name}"
            if written.suffix == ".md":
                text = written.read_text(encoding="utf-8")
                files.append(File.generated(config, uri, content=text))
            else:
                files.append(File.generated(config, uri, abs_src_path=str(written)))
    return files


def write(path: Path, folder: Path) -> None:
    """Run a notebook and write its page and pictures into a folder."""
    start = time.perf_counter()
    outputs = run(path)
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            parts += [f"```python\n{source}\n```", *show(next(outputs), path.stem, folder)]
        else:
            parts.append(source)
    (folder / f"{path.stem}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    log.info("%s took %.0f s", path.name, time.perf_counter() - start)


def run(path: Path) -> Any:
    """Return an iterator over the outputs of the code cells."""
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(path)],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        env=environment(),
    )
    if done.returncode:
        raise RuntimeError(f"{path.name} failed:\n{done.stderr[-5000:]}")
    return iter(json.loads(done.stdout.splitlines()[-1]))


def show(output: dict[str, Any], name: str, folder: Path) -> list[str]:
    """Return the parts of the page for an output, and write its pictures."""
    parts = []
    if text := re.sub(r"\x1b\[[0-9;]*m", "", output["text"]).rstrip():
        parts.append(f'<div class="output" markdown>\n\n```text\n{text}\n```\n\n</div>')
    for picture in output["pictures"]:
        file = f"{name}-{len([*folder.glob('*.png')]) + 1}.png"
        (folder / file).write_bytes(base64.b64decode(picture))
        parts.append(f"![What the code above draws]({file})")
    return parts
