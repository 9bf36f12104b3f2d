"""Packages import each other in one direction only (docs/architecture.md)."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import heat_plugins

ROOT = Path(heat_plugins.__file__).parent
BELOW_KERNELS = {"runtime", "space", "spec"}
BELOW_GP = {*BELOW_KERNELS, "batch_function", "history", "kernels"}
BELOW_SUGGEST = {*BELOW_GP, "gp", "search", "acquisition"}
BELOW_HOSTS = {*BELOW_SUGGEST, "insight", "suggest", "_extras"}
# By package, or by file on the top floor: what it may import. Whatever an entry names comes
# before it, so that there can be no cycles.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "_extras": set(),
    "_moved": set(),
    "runtime": set(),
    "space": {"runtime"},
    "spec": {"runtime", "space"},
    "kernels": {*BELOW_KERNELS, "_extras"},
    "batch_function": {"space"},
    "history": {"space"},
    "gp": BELOW_GP,
    "search": {"runtime", "space", "spec", "batch_function", "history"},
    "acquisition": {*BELOW_GP, "gp", "search"},
    "settings": BELOW_SUGGEST,
    "task": {*BELOW_SUGGEST, "settings"},
    "earlier": {*BELOW_SUGGEST, "settings", "task"},
    "suggest": {*BELOW_SUGGEST, "settings", "task", "earlier"},
    "insight": {*BELOW_SUGGEST, "settings", "suggest"},
    "torch": {*BELOW_GP, "gp", "_extras"},
    "botorch": {"torch", "_extras"},
    "optuna": BELOW_HOSTS,
    "ax": {*BELOW_HOSTS, "torch", "botorch"},
    "visualization": {*BELOW_HOSTS, "optuna", "ax", "_version"},
    "kernel_tuner": BELOW_HOSTS,
    "benchmarks": {*BELOW_HOSTS, "torch", "botorch", "optuna", "ax", "kernel_tuner", "_version"},
}
ROOMS: dict[str, set[str]] = {
    "problems": set(),
    "methods": {"problems"},
    "results": {"problems", "methods"},
    "run": {"problems", "methods", "results"},
    "claims": {"problems", "methods", "results"},
    "report": {"problems", "methods", "results", "claims"},
}
FILES = sorted(ROOT.rglob("*.py"))
# PyTorch, plotly and the hosts, by who may import them.
HOSTS = {
    "torch": {"torch", "ax", "benchmarks"},
    "gpytorch": {"torch", "ax", "benchmarks"},
    "botorch": {"torch", "ax", "benchmarks"},
    "ax": {"ax", "benchmarks"},
    "optuna": {"optuna", "benchmarks"},
    "plotly": {"visualization", "benchmarks"},
    "kernel_tuner": {"kernel_tuner", "benchmarks"},
}


def imports(path: Path) -> Iterator[str]:
    """Yield the names of all modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [alias.name for alias in node.names]
            yield from (f"{node.module}.{name}" for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported(path: Path, root: Path) -> set[str]:
    """Return the parts of a package that a file of it imports."""
    prefix = ".".join(("heat_plugins", *root.relative_to(ROOT).parts)) + "."
    return {
        name.removeprefix(prefix).partition(".")[0]
        for name in imports(path)
        if name.startswith(prefix)
    }


def part(path: Path, root: Path = ROOT) -> str:
    """Return the package of a file, or the file itself where it is in none."""
    return path.relative_to(root).with_suffix("").parts[0]


@pytest.mark.parametrize(("table", "root"), [(MAY_IMPORT, ROOT), (ROOMS, ROOT / "benchmarks")])
def test_tables_name_every_part_after_what_it_may_import(
    table: dict[str, set[str]], root: Path
) -> None:
    found = {part(path, root) for path in root.rglob("*.py")} - {"__init__", "__main__"}
    assert found == table.keys()
    before: set[str] = set()
    for name, allowed in table.items():
        assert allowed <= before, name
        before.add(name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_arrows(path: Path) -> None:
    mine = part(path)
    if mine == "__init__":  # lazy public names
        return
    assert imported(path, ROOT) <= {mine, *MAY_IMPORT[mine]}
    for name in imports(path):
        host = name.partition(".")[0]
        assert mine in HOSTS.get(host, {mine}), f"{mine} must not import {host}"
    if mine == "benchmarks" and len(path.relative_to(ROOT).parts) > 2:
        room = part(path, ROOT / "benchmarks")
        assert imported(path, ROOT / "benchmarks") <= {room, *ROOMS[room]}


def test_no_two_files_have_one_name() -> None:
    names = Counter(path.stem for path in FILES if not path.stem.startswith("__"))
    assert [name for name, n in names.items() if n > 1] == []
