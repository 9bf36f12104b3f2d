"""Watches a run: what it warns of and logs, and how long its suggestions take."""

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import heat_plugins

__all__ = ["MOST_SECONDS", "Report", "same_number", "watched"]

MOST_SECONDS = 5.0  # of CPU time for a suggestion
PACKAGE = Path(heat_plugins.__file__).parent  # whose own warnings are never expected
RESOLUTION = 1e-9  # as a share of the range; numbers that are closer are the same


@dataclass
class Report:
    """What was seen of a run.

    Attributes:
        warnings: Category and message of every warning, with the file that it came from.
        logged: Messages of at least the level WARNING.
        slowest: CPU seconds of the longest suggestion.
    """

    warnings: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes how long it takes."""

        def outer(*args: Any, **kwargs: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.slowest = max(self.slowest, time.thread_time() - begin)

        return outer


class _Listener(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextmanager
def watched(
    loggers: Sequence[str], allowed: Sequence[str], *, numpy_raises: bool = False
) -> Iterator[Report]:
    """Watch what is done in the block.

    Args:
        loggers: Names of loggers to listen to; what they print otherwise is not shown.
        allowed: Parts of the class, the text or the file of warnings that may come.
        numpy_raises: Whether the program around makes NumPy's warnings errors.
    """
    report = Report()
    listener = _Listener(report.logged)
    before = {name: list(logging.getLogger(name).handlers) for name in loggers}
    for name in loggers:
        logging.getLogger(name).handlers = [listener]
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            np.errstate(**({"all": "raise"} if numpy_raises else {})),
        ):
            warnings.simplefilter("always")
            yield report
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers
        for warning in caught:
            classes = " ".join(kind.__name__ for kind in warning.category.__mro__)
            place = f"{warning.filename}:{warning.lineno}"
            text = f"{warning.category.__name__}: {warning.message} ({place})"
            is_own = Path(warning.filename).is_relative_to(PACKAGE)
            if is_own or not any(part in f"{classes} {text}" for part in allowed):
                report.warnings.append(text)


def same_number(left: float, right: float, low: float, high: float, log: bool = False) -> bool:
    """Whether two values of a range are the same, but for rounding."""
    if left == right:
        return True
    if log and min(left, right, low) > 0:
        left, right, low, high = map(math.log, (left, right, low, high))
    # Halves, because the range itself may be beyond the largest float.
    return abs(left / 2 - right / 2) <= RESOLUTION * (high / 2 - low / 2)
