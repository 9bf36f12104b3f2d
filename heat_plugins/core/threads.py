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
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's and SciPy's linear algebra to one thread inside the block.

    The matrices here are small: more threads cost more time than they save, and several
    workers on one machine get into each other's way. The limit belongs to the process, so
    the first thread to come in sets it and the last to leave restores what was there.
    """
    global _n_inside, _limiter
    with _lock:
        if _n_inside == 0:
            _limiter = _controller().limit(limits=1, user_api="blas")
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _limiter.restore_original_limits()
                _limiter = None
