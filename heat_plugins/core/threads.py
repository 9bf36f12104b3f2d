"""One BLAS thread while a point is computed, and the user's setting before and after."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_n_inside = 0
_limiter: Any = None


@cache
def _controllers() -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the libraries with one number for all threads, and those with one for each."""
    # Looking for the loaded libraries takes milliseconds, so it is done once.
    blas = ThreadpoolController().select(user_api="blas")
    own = blas.select(threading_layer="openmp")
    shared = blas.select(
        filepath=[lib.filepath for lib in blas.lib_controllers if lib not in own.lib_controllers]
    )
    return shared, own


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's and SciPy's linear algebra to one thread inside the block.

    The matrices here are small: more threads cost more time than they save, and several
    workers on one machine get into each other's way. The limit mostly belongs to the
    process, so the first thread to come in sets it and the last to leave restores what was
    there. While another thread holds a limit of its own with threadpoolctl, that one stays.
    """
    global _n_inside, _limiter
    shared, own = _controllers()
    # threadpoolctl obeys the thread that set a number and ignores all others, until the
    # thread leaves this block. So it has to be here even if no library is in ``own``.
    with own.limit(limits=1):
        with _lock:
            if _n_inside == 0:
                _limiter = shared.limit(limits=1)
            _n_inside += 1
        try:
            yield
        finally:
            with _lock:
                _n_inside -= 1
                if _n_inside == 0:
                    _limiter.restore_original_limits()
                    _limiter = None
