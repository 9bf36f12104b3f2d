"""Several processes on one study, all with the same seed: no point twice."""

import shutil
from pathlib import Path

import optuna
import pytest
from workers import Job, open_storage, run_together, value_of

pytest_plugins = ["servers"]


@pytest.fixture(params=["journal", "sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> str:
    """The name of a storage that processes can share."""
    if request.param == "journal":
        return f"journal:{tmp_path / 'study.log'}"
    if request.param == "sqlite":
        return f"sqlite:///{shutil.copy(empty_database, tmp_path)}"
    return str(request.getfixturevalue("postgresql"))


def test_four_processes_with_one_seed_never_meet(shared: str) -> None:
    study = optuna.create_study(storage=open_storage(shared))
    job = Job(shared, study.study_name, n_trials=8, sampler={"seed": 0}, sleep=0.05)
    run_together([job] * 4)
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(32))
    assert [trial.value for trial in trials] == [value_of(trial.params) for trial in trials]
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 32
