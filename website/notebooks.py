"""MkDocs hook: the notebooks of docs/tutorials, run and turned into pages.

They are committed without outputs. A page has the text, the code and what it printed and drew;
nothing of Jupyter is needed to read it.
"""

import base64
import logging
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

from run_cached import kept, side_by_side

log = logging.getLogger("mkdocs.hooks.notebooks")
ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
LONGEST = 300  # seconds that a cell may take


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add a page, and its pictures, for every notebook."""
    paths = sorted(TUTORIALS.glob("*.ipynb"))
    jobs = [
        partial(kept, "tutorials", path.stem, [path.read_text("utf-8")], partial(write, path))
        for path in paths
    ]
    for folder in side_by_side([*jobs]):
        for written in sorted(folder.glob("*.*")):
            if written.name.startswith("."):
                continue
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
    notebook = run(path)
    parts = [
        part
        for number, cell in enumerate(notebook.cells)
        for part in show(cell, number, path, folder)
    ]
    (folder / f"{path.stem}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    log.info("%s took %.0f s", path.name, time.perf_counter() - start)


def run(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with outputs."""
    notebook = nbformat.read(path, as_version=4)
    before = os.environ.get("PYTHONPATH", "")
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", transport="ipc"),
        timeout=LONGEST,
        resources={"metadata": {"path": ROOT}},
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), before])}
    client.execute(env=environment)
    return notebook


def show(cell: nbformat.NotebookNode, number: int, path: Path, folder: Path) -> list[str]:
    """Return the parts of the page that a cell makes, and write its pictures."""
    if cell.cell_type != "code":
        return [cell.source]
    parts = [f"```python\n{cell.source}\n```"]
    texts: list[str] = []
    pictures: list[str] = []
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            name = f"{path.stem}-{number}-{len(pictures)}.png"
            (folder / name).write_bytes(base64.b64decode(data["image/png"]))
            pictures.append(f"![What the code above draws]({name})")
        elif output.output_type == "stream":
            texts.append(output.text)
        else:
            texts.append(data.get("text/plain", "") + "\n")
    text = re.sub(r"\x1b\[[0-9;]*m", "", "".join(texts)).rstrip()
    if text:
        parts.append(f'<div class="output" markdown>\n\n```text\n{text}\n```\n\n</div>')
    return parts + pictures
