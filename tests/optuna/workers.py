"""Processes that work on one study together.

A worker says when it is ready and begins when it is told to, so that all begin at the same
moment however long each took to start. It can be told to kill itself in the middle of
something: at that place exactly, where a signal from outside would come at any.
"""

import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, GrpcStorageProxy, JournalStorage, RDBStorage
from optuna.storages.journal import (
    JournalFileBackend,
    JournalFileSymlinkLock,
    JournalRedisBackend,
)
from sqlalchemy.event import listen

import heat_plugins.optuna.sampler
from heat_plugins import HeatSampler
from heat_plugins.optuna.reservation_record import RESERVATION_KEY

CHOICES = ("a", "b", "c")

# Where a worker can die: while the model looks for a point, after the sampler has noted
# something, with half of the parameters stored, with a write begun but not ended (a lock is
# held, or a transaction is open), and in the objective.
DEATHS = ("asking", "noting", "storing", "committing", "evaluating")


@dataclass(frozen=True)
class Job:
    """What one worker does."""

    storage: str
    study: str
    n_trials: int
    n_params: int = 12
    sampler: dict[str, Any] = field(default_factory=dict)
    sleep: float = 0.0  # seconds that an evaluation takes
    evaluated: str = ""  # file in which every evaluation is noted
    dies: str = ""  # one of DEATHS
    dies_in: int = 3  # which of its own trials the worker does not survive


# To look whether they are takes Optuna a second.
_TABLES_ARE_THERE = {"skip_compatibility_check": True, "skip_table_creation": True}


def open_storage(name: str) -> BaseStorage:
    """Return the storage that a name stands for."""
    kind, _, rest = name.partition(":")
    if kind == "journal":
        # Optuna waits 30 seconds before it breaks the lock of a worker that died holding it.
        lock = JournalFileSymlinkLock(rest, grace_period=3)
        return JournalStorage(JournalFileBackend(rest, lock))
    if kind == "redis":
        return JournalStorage(JournalRedisBackend(rest))
    if kind == "grpc":
        host, _, port = rest.partition(":")
        return GrpcStorageProxy(host=host, port=int(port))
    if kind == "sqlite":
        database = RDBStorage(
            name, engine_kwargs={"connect_args": {"timeout": 60.0}}, **_TABLES_ARE_THERE
        )
        database.engine.dispose()
        listen(database.engine, "connect", lambda c, _: c.execute("PRAGMA synchronous = OFF"))
        return database
    return RDBStorage(name, **_TABLES_ARE_THERE)


def value_of(params: dict[str, str]) -> float:
    """Return a value with one best point, near which a model soon looks."""
    choices = [choice for _, choice in sorted(params.items())]  # storages may change the order
    return float(sum((i + 1) * (choice != "b") for i, choice in enumerate(choices)))


def suggest_point(trial: optuna.Trial, n_params: int) -> dict[str, str]:
    """Return a point of a space of categorical parameters."""
    names = [f"x{i:02}" for i in range(n_params)]
    return {name: trial.suggest_categorical(name, CHOICES) for name in names}


# To start Python and load everything takes longer than a study of a few trials, so workers are
# forked from a process that did it once, and that has neither threads nor connections.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["heat_plugins.optuna.sampler", "optuna.storages._rdb.models", "alembic.command", "psycopg2"]
)


class Worker:
    """A worker as seen from the process that starts it."""

    def __init__(self, job: Job) -> None:
        self._pipe, other = _processes.Pipe()
        self._process = _processes.Process(target=_work, args=(job, other), daemon=True)
        self._process.start()
        other.close()

    def begin(self) -> None:
        """Let the worker begin."""
        self._pipe.send("begin")

    def hear(self, timeout: float) -> dict[str, Any]:
        """Return what the worker reports next; nothing where it killed itself."""
        if not self._pipe.poll(timeout):
            raise TimeoutError(f"a worker was not heard of for {timeout:g} seconds")
        try:
            report = self._pipe.recv()
        except EOFError:
            self._process.join(timeout)
            if self._process.exitcode == -signal.SIGKILL:
                return {}
            raise
        if "error" in report:
            raise RuntimeError(f"a worker failed: {report['error']}")
        return dict(report)

    def end(self) -> None:
        """End the worker if it has not ended."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def run_together(jobs: list[Job], timeout: float = 240.0) -> list[dict[str, Any]]:
    """Run workers that begin at the same moment; return what each reports at its end."""
    workers = [Worker(job) for job in jobs]
    try:
        for worker in workers:
            worker.hear(timeout)
        for worker in workers:
            worker.begin()
        return [worker.hear(timeout) for worker in workers]
    finally:
        for worker in workers:
            worker.end()


def _work(job: Job, pipe: Connection) -> None:
    """Do a job in this process, which it may end."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None  # nothing here has to survive a crash of the machine
    try:
        pipe.send(_slowest_suggestion(job, pipe))
    except Exception:
        pipe.send({"error": traceback.format_exc()})


def _slowest_suggestion(job: Job, pipe: Connection) -> dict[str, Any]:
    """Do a job; return the longest wait for a point, and how many reservations were written."""
    storage = open_storage(job.storage)
    study = optuna.load_study(
        study_name=job.study, storage=storage, sampler=HeatSampler(**job.sampler)
    )
    death = _Death(study, storage, job) if job.dies else None
    claims: list[int] = []  # the trial of each
    _after(study._storage, "set_trial_system_attr", partial(_count_claim, claims))
    slowest = 0.0
    pipe.send({"ready": True})
    pipe.recv()

    def objective(trial: optuna.Trial) -> float:
        nonlocal slowest
        begin = time.monotonic()
        params = suggest_point(trial, job.n_params)
        slowest = max(slowest, time.monotonic() - begin)
        if job.evaluated:
            with open(job.evaluated, "a") as file:  # one write, which the system keeps whole
                file.write(f"{trial.number}\n")
        if death is not None:
            death.comes("evaluating")
        time.sleep(job.sleep)
        return value_of(params)

    study.optimize(objective, n_trials=job.n_trials)
    return {"slowest": slowest, "claims": len(claims)}


def _count_claim(claims: list[int], trial_id: int, key: str, _: Any) -> None:
    if key == RESERVATION_KEY:
        claims.append(trial_id)


class _Death:
    """Ends this process, in one of its trials, when a certain place is reached."""

    def __init__(self, study: optuna.Study, storage: BaseStorage, job: Job) -> None:
        self._job = job
        self._n_begun = 0
        self._n_stored = 0
        inner = study._storage  # may be a cache in front of the storage
        _before(inner, "create_new_trial", self._begin)
        _after(inner, "set_trial_param", self._store)
        _after(inner, "set_trial_system_attr", self._note)
        _before(heat_plugins.optuna.sampler, "suggest", lambda *_: self.comes("asking"))
        if isinstance(storage, RDBStorage):
            listen(storage.engine, "commit", lambda _: self._commit())
        else:
            os.fsync = lambda _: self._commit()  # called by the journal while it has the lock

    def comes(self, place: str) -> None:
        if place == self._job.dies and self._n_begun == self._job.dies_in:
            os.kill(os.getpid(), signal.SIGKILL)

    def _begin(self, *_: Any) -> None:
        self._n_begun += 1
        self._n_stored = 0

    def _store(self, *_: Any) -> None:
        self._n_stored += 1
        if self._n_stored >= self._job.n_params // 2:
            self.comes("storing")

    def _note(self, _: int, key: str, __: Any) -> None:
        if key.startswith("heat_plugins:"):
            self.comes("noting")

    def _commit(self) -> None:
        if self._n_stored >= self._job.n_params // 2:
            self.comes("committing")


def _before(owner: Any, name: str, call: Callable[..., object]) -> None:
    inner = getattr(owner, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        call(*args, *kwargs.values())
        return inner(*args, **kwargs)

    setattr(owner, name, outer)


def _after(owner: Any, name: str, call: Callable[..., object]) -> None:
    inner = getattr(owner, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        call(*args, *kwargs.values())
        return result

    setattr(owner, name, outer)


def numbers_in(path: Path) -> list[int]:
    """Return the numbers of the trials that workers evaluated, in order."""
    return sorted(int(line) for line in path.read_text().split())
