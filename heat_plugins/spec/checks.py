"""Validation that several specifications share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["check_bool", "check_one_of", "check_positive", "check_whole"]

_KINDS = {0: "a non-negative integer", 1: "a positive integer"}


def check_whole(name: str, value: object, least: int = 0, *, optional: bool = False) -> None:
    """Refuse what is no integer of at least 0 or 1, nor None where that is possible."""
    if optional and value is None:
        return
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:  # type: ignore[operator]
        wanted = ("None or " if optional else "") + _KINDS[least]
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse what is no integer above zero."""
    check_whole(name, value, 1)


def check_bool(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}")
