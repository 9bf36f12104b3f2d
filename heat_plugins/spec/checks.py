"""What several descriptions refuse in the same words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["check_bool", "check_one_of", "check_positive"]


def check_positive(name: str, value: object) -> None:
    """Refuse what is no integer above zero."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def check_bool(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {tuple(allowed)}, got {value!r}")
