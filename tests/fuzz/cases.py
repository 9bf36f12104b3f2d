"""Runs cases by their seeds and prints what is wrong with them, and how to run them again."""

import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

__all__ = ["Outcome", "run_case", "run_cases"]

CASE_SECONDS = 300  # after which a case is taken to hang
MOST_SHOWN = 3  # of what is wrong with a case, where many are run


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    kind: str
    seed: int
    wrong: tuple[str, ...]
    description: str
    seconds: float

    def __str__(self) -> str:
        again = f"again: make fuzz ARGS='{self.kind} --seed {self.seed} --cases 1'"
        return "\n".join([f"{self.kind} case {self.seed}", *self.wrong, again, self.description])

    @property
    def brief(self) -> str:
        """What went wrong, in few lines."""
        shown = [_shortened(wrong) for wrong in self.wrong[:MOST_SHOWN]]
        more = len(self.wrong) - len(shown)
        shown += [f"  and {more} more"] if more else []
        return "\n".join([f"{self.kind} case {self.seed}", *shown])


def _shortened(wrong: str) -> str:
    """Return a traceback as its last line and the last places in our own code."""
    if "Traceback" not in wrong:
        return f"  {wrong[:300]}".replace("\n", " ")
    lines = wrong.strip().splitlines()
    ours = [line.strip() for line in lines if "/heat_plugins/" in line][-3:]
    return "\n".join(f"  {line}" for line in (f"exception: {lines[-1][:300]}", *ours))


class Hangs(BaseException):
    """Nothing catches this by mistake."""


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hangs(f"not done after {seconds} s")

    if threading.current_thread() is not threading.main_thread():  # only there it can ring
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_case(kind: str, seed: int) -> Outcome:
    """Make the case of a seed, run it, and check it."""
    begin = time.process_time()
    description = ""
    try:
        with _alarm(CASE_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # while a case is made; its run is watched
            if kind == "optuna":
                from optuna_case import random_case
                from optuna_checks import check

                case = random_case(seed)
                description = str(case)
                wrong = check(case)
            else:
                from ax_case import random_ax_case
                from ax_checks import check_ax

                ax_case = random_ax_case(seed)
                description = str(ax_case)
                wrong = check_ax(ax_case)
    except (Exception, Hangs):
        wrong = [f"exception: {traceback.format_exc()}"]
    return Outcome(kind, seed, tuple(wrong), description, time.process_time() - begin)


def run_cases(kind: str, seeds: Sequence[int], jobs: int) -> Iterator[Outcome]:
    """Run the cases of some seeds, several at a time."""
    if jobs == 1:
        yield from map(partial(run_case, kind), seeds)
        return
    # Not forked: a fork of a process with threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(run_case, kind), seeds)
