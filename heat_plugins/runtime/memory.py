"""Keep freed memory in the C library, for it will be needed again in a moment."""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["keep_freed_memory"]

# Larger than all arrays of an ordinary step together; glibc's own limit is 32 MB.
BYTES_KEPT = 24 * 2**20


@cache
def keep_freed_memory() -> None:
    """Make the C library reuse the memory of medium-sized arrays, once in a process.

    A suggestion makes and drops hundreds of arrays of about a megabyte. By default glibc
    gives each of them back to the system at once, and fetching fresh pages takes longer than
    the arithmetic: with numbers in the space half of the whole time. The limit above which
    it does so rises to the largest block that was ever freed, so one block that is never
    touched, and hence costs nothing, is enough. Other C libraries take no notice.
    """
    np.empty(BYTES_KEPT, dtype=np.uint8)
