"""Keep what a build runs, examples and notebooks, until something that it depends on changes."""

import ast
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path(os.environ.get("HEAT_PLUGINS_SITE_RUNS", ROOT / "build" / "site-runs"))


def kept(kind: str, name: str, depends_on: Iterable[str], run: Callable[[Path], None]) -> Path:
    """Return a folder with what a run wrote, now or earlier.

    Args:
        kind: Of runs, a folder of its own.
        name: Of this run.
        depends_on: Texts that decide what it writes, apart from the library.
        run: Writes into a folder.
    """
    digest = hashlib.sha256("\0".join([library(), *depends_on]).encode()).hexdigest()[:16]
    folder = KEPT / kind / name
    stamp = folder / ".depends-on"
    if stamp.exists() and stamp.read_text() == digest:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(folder)
    stamp.write_text(digest)
    return folder


def side_by_side(jobs: list[Callable[[], Path]]) -> list[Path]:
    """Return what jobs return, as many at a time as the variable JOBS says."""
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        return [*pool.map(lambda job: job(), jobs)]


def environment() -> dict[str, str]:
    """Return the environment of a program that finds this checkout and takes one thread."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {"OMP_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": path}


@cache
def library() -> str:
    """Return a digest of the library's code, whatever its comments and docstrings say."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "heat_plugins").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                body[:] = [part for part in body if not _is_text(part)]
        digest.update(f"{path.relative_to(ROOT)}\0{ast.dump(tree)}".encode())
    return digest.hexdigest()


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
