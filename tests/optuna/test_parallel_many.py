"""Sixteen processes with one seed on a small space, through every storage that can be shared."""

import shutil
from pathlib import Path

import optuna
import pytest
from workers import Job, open_storage, run_together, value_of

pytest_plugins = ["servers"]

N_WORKERS, N_TRIALS, N_PARAMS = 16, 4, 10


@pytest.fixture(params=["journal", "sqlite", "postgresql", "redis", "grpc"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> str:
    """The name of a storage that processes can share."""
    match request.param:
        case "journal":
            return f"journal:{tmp_path / 'study.log'}"
        case "sqlite":
            return f"sqlite:///{shutil.copy(empty_database, tmp_path)}"
        case "postgresql":
            return str(request.getfixturevalue("postgresql"))
        case "redis":
            return f"redis:{request.getfixturevalue('redis_server')}"
        case _:
            return f"grpc:{request.getfixturevalue('grpc_proxy')}"


@pytest.mark.filterwarnings("ignore:.*(GrpcStorageProxy|JournalRedisBackend) is experimental")
def test_sixteen_processes_never_meet(shared: str) -> None:
    study = optuna.create_study(storage=open_storage(shared))
    job = Job(
        shared, study.study_name, N_TRIALS, n_params=N_PARAMS, sampler={"seed": 0}, sleep=0.02
    )
    reports = run_together([job] * N_WORKERS)
    trials = study.trials
    n = N_WORKERS * N_TRIALS
    assert [trial.number for trial in trials] == list(range(n))
    assert [trial.value for trial in trials] == [value_of(trial.params) for trial in trials]
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == n
    assert sum(report["claims"] for report in reports) <= 2 * n
