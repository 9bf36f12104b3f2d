"""The rooms of the benchmarks import each other in one direction only."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import heat_plugins.benchmarks

ROOT = Path(heat_plugins.benchmarks.__file__).parent
PREFIX = "heat_plugins.benchmarks."
# By room: the rooms that it may import from.
MAY_IMPORT = {
    "problems": set(),
    "methods": {"problems"},
    "results": {"problems", "methods"},
    "run": {"problems", "methods", "results"},
    "claims": {"problems", "methods", "results"},
    "report": {"problems", "methods", "results", "claims"},
}


def rooms_imported_by(path: Path) -> set[str]:
    """Return the rooms of all imports of a module, those inside functions included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == PREFIX[:-1]:
            names |= {PREFIX + alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {
        name.removeprefix(PREFIX).partition(".")[0] for name in names if name.startswith(PREFIX)
    }


def test_every_room_is_known() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == MAY_IMPORT.keys()
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_from_those_below_it_only(room: str) -> None:
    for path in (ROOT / room).glob("*.py"):
        assert rooms_imported_by(path) <= {room, *MAY_IMPORT[room]}, path.name


def test_no_module_has_the_name_of_another() -> None:
    names = Counter(p.stem for p in ROOT.rglob("*.py") if not p.stem.startswith("__"))
    assert [name for name, n in names.items() if n > 1] == []
    assert not names.keys() & MAY_IMPORT.keys()
