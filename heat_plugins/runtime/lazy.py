"""Properties that are computed once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

__all__ = ["cached_property"]

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """The property of the standard library, without the lock that it has up to Python 3.11.

    All instances of a class share that lock, so threads wait for each other, and a process
    that is forked while another thread has it waits for ever. What is computed here is the
    same whoever does it, so nothing is lost if two threads do.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
