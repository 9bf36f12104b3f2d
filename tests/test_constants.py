"""The page of tuned constants says what the code has."""

import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "constants.md"
ROWS = re.findall(r"^\| `([\w.]+)` \| ([^|]+) \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)


def value_of(path: str) -> Any:
    """Return what a dotted path names: of a module, or a default of a class in one."""
    *module, name = path.split(".")
    try:
        owner: Any = import_module(".".join(module))
    except ModuleNotFoundError:
        owner = getattr(import_module(".".join(module[:-1])), module[-1])()
    return getattr(owner, name)


def number_of(text: str) -> Any:
    """Return a number, or a pair of them, some of which are logarithms."""
    return eval(text, {"__builtins__": {}}, {"log": math.log})


def test_the_page_has_rows() -> None:
    assert len(ROWS) >= 25
    assert len({path for path, *_ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("path", "value", "what"), ROWS)
def test_a_constant_is_what_the_page_says(path: str, value: str, what: str) -> None:
    assert value_of(path) == pytest.approx(number_of(value))
    assert what.strip()
