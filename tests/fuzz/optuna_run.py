"""Runs the study of a case and notes what its objective was given."""

import os
import shutil
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import optuna
from draw import Draw
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from optuna_case import OptunaCase, Step, foreign_trial
from optuna_objective import Trouble
from sqlalchemy.event import listen
from watch import Report, watched

__all__ = ["Event", "Run", "run"]

# Warnings that are not ours, each with its reason.
ALLOWED = (
    "ExperimentalWarning",  # of the journal storage and its backends
    "`constraints_func` has been deprecated",  # Optuna's own words, which the sampler repeats
    "is out of range for distribution",  # Optuna, of what the case enqueues
    "optuna/samplers/_tpe",  # Optuna, where TPE is the independent sampler
    "Choices for a categorical distribution should be",  # Optuna, of tuples and objects
    "The reported value is ignored",  # Optuna, where the objective reports a step again
    "The constraint value is ignored",  # Optuna, where two threads have one enqueued trial
    "Inconsistent parameter values",  # Optuna, of waiting trials from elsewhere
    "could not be cast to float",  # Optuna, of what the objective returns
    "is not acceptable",
    "All-NaN slice encountered",  # NumPy, of pruners where all that was reported is NaN
)


# What Optuna calls of a sampler in each trial.
TIMED = (
    "before_trial",
    "infer_relative_search_space",
    "sample_relative",
    "sample_independent",
    "after_trial",
)


@dataclass
class Event:
    """A point that a study came to know of, in the order in which it did.

    Attributes:
        number: Number of the trial; -1 for one that waits.
        params: Its values, as the objective got them.
        is_free: Whether all values were the sampler's to choose.
        is_suggested: Whether they were chosen together, and not one by one.
        chosen: The names of those that were.
        batch: Which trials were asked for before any of them was told; None for one by itself.
    """

    number: int
    params: dict[str, Any] = field(default_factory=dict)
    is_free: bool = False
    is_suggested: bool = False
    chosen: frozenset[str] = frozenset()
    batch: int | None = None


@dataclass
class Run:
    """What came of a run."""

    report: Report
    events: list[Event]
    error: str = ""
    is_over: bool = False  # stopped by the sampler
    is_blocked: bool = False  # Optuna itself did not take some value
    n_refused: int = 0  # trials in which the sampler took a parameter for another one
    left_out: list[Step] = field(default_factory=list)  # what the storage did not take
    states: dict[str, int] = field(default_factory=dict)


def run(case: OptunaCase, *, resume_always: bool = False) -> Run:
    """Run the study of a case, if asked for with a new sampler after every step."""
    with (
        tempfile.TemporaryDirectory(prefix="heat-fuzz-") as folder,
        mock.patch.object(os, "fsync", lambda _: None),  # nothing has to survive a crash
        watched(["optuna"], ALLOWED, numpy_raises=case.numpy_raises) as report,
    ):
        result = Run(report, [])
        try:
            _Player(case, Path(folder), result).play(resume_always)
        except Exception as error:
            if _is_one_trial_for_two(case, error):
                result.is_blocked = True
            else:
                result.error = traceback.format_exc()
    return result


class _Player:
    """Does the steps of a case one after the other."""

    def __init__(self, case: OptunaCase, folder: Path, result: Run) -> None:
        self.case = case
        self.result = result
        self.folder = folder
        self.batch: int | None = None
        self.storage = _storage(case.storage, folder)
        optuna.create_study(
            study_name="fuzz", storage=self.storage, directions=case.behaviour.directions
        )
        self.resume()

    def resume(self) -> None:
        """Begin anew with what is stored."""
        if not isinstance(self.storage, InMemoryStorage):
            self.storage = _storage(self.case.storage, self.folder)
        sampler = self.case.settings.make()
        for name in TIMED:
            setattr(sampler, name, self.result.report.timed(getattr(sampler, name)))
        self.study = optuna.load_study(
            study_name="fuzz",
            storage=self.storage,
            sampler=sampler,
            pruner=self.case.make_pruner(),
        )

    def play(self, resume_always: bool) -> None:
        for step in self.case.steps:
            getattr(self, step.kind)(*([] if step.kind == "resume" else [step]))
            if resume_always:
                self.resume()
        trials = self.study.get_trials(deepcopy=False)
        for trial in trials:
            name = trial.state.name
            self.result.states[name] = self.result.states.get(name, 0) + 1
        key = "heat_plugins:asked"
        claims = {t.number: t.system_attrs[key] for t in trials if key in t.system_attrs}
        for event in self.result.events:
            claim = claims.get(event.number)
            event.is_suggested = event.number in claims
            point = claim.get("point") if isinstance(claim, dict) else None
            event.chosen = frozenset(point if isinstance(point, dict) else ())

    def objective(self, trial: optuna.Trial) -> Any:
        stored = self.study._storage.get_trial(trial._trial_id)
        fixed = stored.system_attrs.get("fixed_params") or stored.params
        event = Event(trial.number, is_free=not fixed, batch=self.batch)
        self.result.events.append(event)
        try:
            return self.case.behaviour(trial, self.case.space, event.params.__setitem__)
        except Trouble:
            raise
        except ValueError as error:
            if self._is_refused_by_optuna(error):
                self.result.is_blocked = True
                raise Trouble("Optuna refuses") from error
            if "check_distribution_compatibility" in _functions(error):
                self.result.n_refused += 1
                raise Trouble("Optuna refuses what trials from elsewhere had") from error
            raise

    def _is_refused_by_optuna(self, error: ValueError) -> bool:
        """Whether Optuna itself does not take a value, whichever sampler there is."""
        frames = _functions(error)
        # The last is of TPE, as the independent sampler: it reads other choices as its own.
        if frames & {"set_trial_param", "_is_fixed_param", "_build_parzen_estimator"}:
            return True
        # Later than the storage it refuses choices and kinds that an objective changes.
        has_changed = any(len(p.stages) > 1 for p in self.case.space.parameters)
        return has_changed and "check_distribution_compatibility" in frames

    def optimize(self, step: Step) -> None:
        before = len(self.result.events)
        self.study.optimize(
            self.objective, n_trials=step.count, n_jobs=self.case.n_jobs, catch=(Trouble,)
        )
        self.result.is_over |= len(self.result.events) - before < step.count

    def ask(self, step: Step) -> None:
        draw = Draw(step.seed, "ask")
        asked = []
        self.batch = step.seed
        n_refused, is_refused = self.result.n_refused, False
        for _ in range(step.count):
            trial, n_before = self.study.ask(), self.result.n_refused
            try:
                answer: dict[str, Any] = {"values": self.objective(trial)}
            except Trouble:
                answer = {"state": TrialState.FAIL}
            except optuna.TrialPruned:
                answer = {"state": TrialState.PRUNED}
            asked.append((trial, answer, self.result.n_refused > n_before))
        self.batch = None
        draw.shuffle(asked)
        for trial, answer, was_refused in asked:
            if draw.chance(0.9):  # or else it runs for ever
                self.study.tell(trial, **answer, skip_if_finished=draw.chance(0.5))
                is_refused |= was_refused
        # What is refused shows when trials are told; all of these were asked for before.
        self.result.n_refused = n_refused + is_refused

    def enqueue(self, step: Step) -> None:
        params = dict(step.params)
        self.study.enqueue_trial(params, skip_if_exists=step.seed % 2 == 0)
        self.result.events.append(Event(-1, params))

    def add(self, step: Step) -> None:
        trial = foreign_trial(self.case, step.seed)
        if trial is None:
            return
        try:
            self.study.add_trial(trial)
        except ValueError:
            if self.case.storage != "sqlite":
                raise
            # Databases themselves refuse other kinds and choices of a parameter.
            self.result.left_out.append(step)
            return
        # Of choices that are equal in Python storages keep the first, but for the one in memory.
        kept = {
            name: distribution.to_external_repr(distribution.to_internal_repr(trial.params[name]))
            for name, distribution in trial.distributions.items()
        }
        if self.case.storage == "memory":
            kept = dict(trial.params)
        # What failed half way says that others will which begin in the same way.
        number = self.study.trials[-1].number if trial.state == TrialState.FAIL else -1
        self.result.events.append(Event(number, kept, is_free=False))


def _is_one_trial_for_two(case: OptunaCase, error: Exception) -> bool:
    """Whether two threads got the same enqueued trial, whichever sampler there is.

    Both read that it waits before either has written that it runs: SQLite locks no rows.
    """
    is_shared = case.n_jobs > 1 and case.storage == "sqlite"
    return is_shared and (
        isinstance(error, UpdateFinishedTrialError) or str(error).startswith("Cannot tell a ")
    )


def _functions(error: Exception) -> set[str]:
    """Return the names of the functions that an exception passed through."""
    return {frame.name for frame in traceback.extract_tb(error.__traceback__)}


def _storage(kind: str, folder: Path) -> BaseStorage:
    if kind == "memory":
        return InMemoryStorage()
    if kind == "journal":
        return JournalStorage(JournalFileBackend(str(folder / "study.log")))
    path = folder / "study.db"
    if not path.exists():
        shutil.copy(_empty_database(), path)
    database = RDBStorage(
        f"sqlite:///{path}", skip_compatibility_check=True, skip_table_creation=True
    )
    database.engine.dispose()
    listen(database.engine, "connect", lambda c, _: c.execute("PRAGMA synchronous = OFF"))
    return database


_databases: list[tempfile.TemporaryDirectory[str]] = []


def _empty_database() -> Path:
    """Return a database with Optuna's tables; to make them takes a second."""
    if not _databases:
        _databases.append(tempfile.TemporaryDirectory(prefix="heat-fuzz-"))
        RDBStorage(f"sqlite:///{_databases[0].name}/empty.db").engine.dispose()
    return Path(_databases[0].name) / "empty.db"
