"""Reset locks in a forked process, whose threads it does not have.

A fork copies the memory of a process and the one thread that asked for it. A lock that another
thread held stays locked in the copy, and what that thread was about to change stays half
changed.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Renewable", "renew_in_children"]


class Renewable(Protocol):
    """Something with locks."""

    def after_fork(self) -> None:
        """Make the locks anew, and all that another thread may have been changing."""


_owners: WeakSet[Renewable] = WeakSet()


def renew_in_children(owner: Renewable) -> None:
    """Have an object renewed in every process that is forked from this one, while it lives."""
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_renew)
