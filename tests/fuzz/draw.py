"""Randomness of a case: everything derives from one integer and the name of a part.

Parts draw from streams of their own, so that a new option in one of them leaves the others
as they were for the same seed.
"""

import random
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = ["Draw", "share_of"]

T = TypeVar("T")


class Draw(random.Random):
    """A generator with the questions that cases ask."""

    def __new__(cls, *_: object) -> "Draw":
        """Keep the arguments from the base class, which takes one."""
        return super().__new__(cls)

    def __init__(self, seed: int, part: str) -> None:
        super().__init__(f"{part}/{seed}")

    def chance(self, probability: float) -> bool:
        """Return True so often."""
        return self.random() < probability

    def one_of(self, *items: T) -> T:
        """Return one of the arguments."""
        return self.choice(items)

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Return a few of some items, in random order."""
        most = min(most, len(items))
        return self.sample(list(items), self.randint(min(least, most), most))


def share_of(*things: Any) -> float:
    """Return a number in [0, 1) that looks random and is the same in every process."""
    return zlib.crc32(repr(things).encode()) / 2**32
