"""One BLAS thread while a point is computed, and the user's setting before and after."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_lock = threading.RLock()  # held whenever threadpoolctl is called, and never for long
_inside: Counter[int] = Counter()  # by thread, how many blocks it is in
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
    global _limiter
    shared, own = _controllers()
    me = threading.get_ident()
    with _lock:
        # threadpoolctl obeys the thread that set a number and ignores all others, until the
        # thread leaves this block. So it has to be here even if no library is in ``own``.
        mine = own.limit(limits=1).__enter__()
        if _limiter is None:
            _limiter = shared.limit(limits=1)
        _inside[me] += 1
    try:
        yield
    finally:
        with _lock:
            _leave(me)
            mine.__exit__(None, None, None)


def _leave(thread: int) -> None:
    """Note that a thread has left one block; the last one restores the numbers."""
    global _limiter
    _inside[thread] -= 1
    if not _inside[thread]:
        del _inside[thread]
    if not _inside and _limiter is not None:
        _limiter.restore_original_limits()
        _limiter = None


def _in_forked_child() -> None:
    """Take all threads but this one for gone, for they are not in the child."""
    try:
        others = [thread for thread in _inside if thread != threading.get_ident()]
        if others:
            _, own = _controllers()
            with own.limit(limits=1):
                for thread in others:
                    _inside[thread] = 1
                    _leave(thread)
    finally:
        _lock.release()


# A fork waits for the lock, so that nobody is halfway through when memory is copied.
if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_lock.release,
        after_in_child=_in_forked_child,
    )
