"""What the tests of the integration with Optuna share."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.event import listen

# Before a test imports it: it is a plugin of others.
pytest.register_assert_rewrite("servers")


@pytest.fixture(autouse=True)
def _only_warnings_are_logged() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(verbosity)


@pytest.fixture(autouse=True)
def _nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storages make sure that what they write survives a crash; here that costs time only."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def optuna_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What Optuna logs, which it does not hand on to other loggers by itself."""
    optuna.logging.enable_propagation()
    yield caplog
    optuna.logging.disable_propagation()


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with Optuna's tables; to make them takes a second, to copy them nothing."""
    path = tmp_path_factory.mktemp("database") / "empty.db"
    database = RDBStorage(f"sqlite:///{path}")
    database.remove_session()
    database.engine.dispose()
    return path


@pytest.fixture(params=["memory", "sqlite", "journal"])
def storage(
    request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path
) -> Iterator[BaseStorage | None]:
    """One storage of each kind; the last two give back what JSON makes of the choices."""
    if request.param == "sqlite":
        path = shutil.copy(empty_database, tmp_path)
        database = RDBStorage(f"sqlite:///{path}")
        database.engine.dispose()
        listen(database.engine, "connect", lambda c, _: c.execute("PRAGMA synchronous = OFF"))
        yield database
        database.remove_session()
        database.engine.dispose()
    elif request.param == "journal":
        yield JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    else:
        yield None


@pytest.fixture
def points() -> Callable[[optuna.Study], list[tuple[object, ...]]]:
    """Return the parameter values of each trial of a study, by parameter name."""

    def of(study: optuna.Study) -> list[tuple[object, ...]]:
        return [tuple(t.params[name] for name in sorted(t.params)) for t in study.trials]

    return of
