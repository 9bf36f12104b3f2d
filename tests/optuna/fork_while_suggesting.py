"""Fork while another thread is in the middle of a suggestion; let the child suggest, too.

A program of its own, for a process that hangs is killed more easily than a test.
"""

import os
import sys
import threading
import time
from typing import Any

import numpy as np
import optuna
from threadpoolctl import ThreadpoolController

from heat_plugins import HeatSampler
from heat_plugins.runtime.threads import one_blas_thread

SECONDS = 60.0
parent = os.getpid()
is_inside, may_go_on = threading.Event(), threading.Event()


def is_feasible(params: dict[str, Any]) -> bool:
    """Stop the thread of the parent inside of the search for a point."""
    if os.getpid() == parent and threading.current_thread() is not threading.main_thread():
        is_inside.set()
        may_go_on.wait(SECONDS)
    return True


def objective(trial: optuna.Trial) -> float:
    codes = [trial.suggest_categorical(f"c{i}", [0, 1, 2]) for i in range(6)]
    return float(sum(codes)) + trial.suggest_float("x", 0.0, 1.0)


def blas_threads() -> set[int]:
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries}


def child(study: optuna.Study, before: set[int]) -> None:
    assert blas_threads() == before, "the limit of the parent's thread is still there"
    study.optimize(objective, n_trials=2)
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before
    assert np.linalg.cholesky(np.eye(300)).sum() == 300.0


def main() -> int:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = HeatSampler(seed=0, n_startup_trials=4, is_feasible=is_feasible)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=6)
    before = blas_threads()
    thread = threading.Thread(target=lambda: objective(study.ask()), daemon=True)
    thread.start()
    assert is_inside.wait(SECONDS)
    pid = os.fork()
    if pid == 0:
        try:
            child(study, before)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    code = None
    end = time.monotonic() + SECONDS
    while code is None and time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if ended else None
        time.sleep(0.01)
    if code is None:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        print("the child hangs")
    may_go_on.set()
    thread.join(SECONDS)
    study.optimize(objective, n_trials=1)  # the parent goes on as well
    return 1 if code is None else code


if __name__ == "__main__":
    sys.exit(main())
