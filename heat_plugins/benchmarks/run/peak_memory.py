"""How much memory a process has used."""

from __future__ import annotations

import resource
import sys

__all__ = ["peak_megabytes"]


def peak_megabytes() -> float:
    """Return the most memory that this process has had at any time."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform == "darwin":
        kilobytes //= 1024  # counted in bytes there
    return kilobytes / 1024.0
