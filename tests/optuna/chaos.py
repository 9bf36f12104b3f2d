"""Workers that are killed, stopped and cut off from their storage, at random from a seed.

They run the loop that ``docs/optuna.md`` shows, so that what it promises is tested.
"""

import ast
import multiprocessing
import os
import random
import re
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.trial import TrialState
from workers import open_storage, suggest_point, value_of

STUDY = "plan"  # as the guide calls it
N_PARAMS = 10
EVALUATION_SECONDS = 0.02
LONGEST_STOP = 1.5  # seconds; less than a lock of a journal file is respected
END_SECONDS = 60.0  # for workers to end when they are told to

_processes = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Post:
    """Where workers work, and where they note what they have done."""

    storage: str
    folder: Path

    @property
    def told(self) -> Path:
        """File with the numbers of the trials whose values the storage has accepted."""
        return self.folder / "told"

    @property
    def failed(self) -> Path:
        """File with what workers died of that nobody did to them."""
        return self.folder / "failed"

    @property
    def end(self) -> Path:
        """File that tells workers to end."""
        return self.folder / "end"


@dataclass
class Deeds:
    """How often each thing was done."""

    kills: int = 0
    stops: int = 0
    restarts: int = 0


def loop_of_the_guide() -> dict[str, Any]:
    """Return the functions of the loop in ``docs/optuna.md`` that goes on after outages."""
    page = Path(__file__).resolve().parents[2] / "docs" / "optuna.md"
    snippets = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (snippet,) = (text for text in snippets if "def is_outage" in text)
    tree = ast.parse(snippet)
    # Without the last line, which calls it.
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
    ]
    names: dict[str, Any] = {}
    exec(compile(tree, page.name, "exec"), names)
    return names


def _work(post: Post, n_trials: int) -> None:
    """Work until there are so many trials or the end is told."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None  # nothing here has to survive a crash of the machine
    _note_what_is_told(post)
    names = loop_of_the_guide()

    def objective(trial: optuna.Trial) -> float:
        params = suggest_point(trial, N_PARAMS)
        time.sleep(EVALUATION_SECONDS)
        if post.end.exists():
            os._exit(0)  # as if it were killed here: the trial stays RUNNING
        return value_of(params)

    names["objective"] = objective
    try:
        names["work"](_patiently_opened(post), n_trials)
    except Exception as error:
        with post.failed.open("a") as file:
            file.write(f"{error!r}\n")
        raise


def _patiently_opened(post: Post) -> Any:
    """Open the storage, which may be away at just this moment."""
    end = time.monotonic() + END_SECONDS
    while True:
        try:
            return open_storage(post.storage)
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _note_what_is_told(post: Post) -> None:
    """Note every trial whose value a storage has accepted."""
    for kind in (RDBStorage, JournalStorage):
        inner = kind.set_trial_state_values

        def outer(
            self: Any, trial_id: int, state: TrialState, *args: Any, _inner=inner, **kw: Any
        ):
            result = _inner(self, trial_id, state, *args, **kw)
            if state == TrialState.COMPLETE:
                with post.told.open("a") as file:  # one write, which the system keeps whole
                    file.write(f"{trial_id}\n")
            return result

        kind.set_trial_state_values = outer


class Chaos:
    """Keeps some workers at work and does things to them."""

    def __init__(self, post: Post, n_workers: int, seed: int) -> None:
        self._post = post
        self._random = random.Random(seed)
        self._workers = [self._start() for _ in range(n_workers)]
        self.deeds = Deeds()

    def _start(self) -> Any:
        process = _processes.Process(target=_work, args=(self._post, 10**9), daemon=True)
        process.start()
        return process

    def rage(self, seconds: float, restart: Callable[[], None] | None) -> None:
        """Do things at random for some time."""
        end = time.monotonic() + seconds
        deeds = ["kill", "kill", "stop", "stop"] + (["restart"] if restart else [])
        while time.monotonic() < end:
            time.sleep(self._random.uniform(0.1, 0.8))
            deed = self._random.choice(deeds)
            if deed == "restart" and restart is not None:
                restart()
                self.deeds.restarts += 1
            elif deed == "kill":
                self._kill(self._random.randrange(len(self._workers)))
            elif deed == "stop":
                self._stop(self._random.choice(self._workers))

    def _kill(self, position: int) -> None:
        worker = self._workers[position]
        worker.kill()
        worker.join()
        self.deeds.kills += 1
        self._workers[position] = self._start()

    def _stop(self, worker: Any) -> None:
        if not worker.is_alive():
            return
        os.kill(worker.pid, signal.SIGSTOP)
        time.sleep(self._random.uniform(0.05, LONGEST_STOP))
        os.kill(worker.pid, signal.SIGCONT)
        self.deeds.stops += 1

    def settle(self) -> None:
        """Let all workers end."""
        self._post.end.touch()
        for worker in self._workers:
            worker.join(END_SECONDS)
            if worker.is_alive():
                worker.kill()
                worker.join()
                raise TimeoutError("a worker did not end")
