"""Workers that are killed in the middle of a trial, and what the others make of it.

All deaths of ``workers.DEATHS`` are died in one study at the same time, since to start a
process costs more than a trial.
"""

import time
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState
from workers import DEATHS, Job, numbers_in, open_storage, run_together, suggest_point, value_of

from heat_plugins import HeatSampler

pytest_plugins = ["servers"]

DAY = 86_400.0
BLOCKED = 30.0  # seconds of a suggestion that must have waited for someone who will not come


@pytest.fixture(params=["journal", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a storage that processes can share."""
    if request.param == "journal":
        return f"journal:{tmp_path / 'study.log'}"
    return str(request.getfixturevalue("postgresql"))


def die(job: Job, trial: int) -> list[Job]:
    """Return a job for each death, which comes in a certain one of the worker's trials."""
    return [replace(job, dies=death, dies_in=trial) for death in DEATHS]


def check_dead(reports: list[dict[str, float]]) -> None:
    """A worker that was never in the place where it should die would test nothing."""
    assert [death for death, report in zip(DEATHS, reports, strict=True) if report] == []


def points_of(trials: list[FrozenTrial]) -> set[tuple[tuple[str, object], ...]]:
    return {tuple(sorted(trial.params.items())) for trial in trials}


def test_a_study_goes_on_when_workers_are_killed(shared: str, tmp_path: Path) -> None:
    study = optuna.create_study(storage=open_storage(shared))
    job = Job(
        shared,
        study.study_name,
        n_trials=8,
        sampler={"seed": 0, "n_startup_trials": 4},
        sleep=0.02,
        evaluated=str(tmp_path / "evaluated"),
    )
    *killed, survived = run_together([*die(job, trial=2), job])
    check_dead(killed)
    assert survived["slowest"] < BLOCKED

    trials = study.trials
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert (len(complete), len(running)) == (len(DEATHS) + 8, len(DEATHS))
    assert [trial.value for trial in complete] == [value_of(trial.params) for trial in complete]

    # Each was evaluated once: what is complete, and what one worker died of.
    evaluated = numbers_in(tmp_path / "evaluated")
    assert len(set(evaluated)) == len(evaluated) == len(complete) + 1
    assert {trial.number for trial in complete} < set(evaluated)
    whole = [trial for trial in trials if len(trial.params) == job.n_params]
    assert len(points_of(whole)) == len(whole)


def test_the_points_of_killed_workers_are_kept_for_them_and_then_given_away(shared: str) -> None:
    study = optuna.create_study(storage=open_storage(shared))

    def go_on(n_trials: int, pending_timeout: float) -> list[FrozenTrial]:
        study.sampler = HeatSampler(seed=1, n_startup_trials=1, pending_timeout=pending_timeout)
        study.optimize(lambda trial: value_of(suggest_point(trial, 3)), n_trials=n_trials)
        return study.get_trials(states=(TrialState.COMPLETE,))

    go_on(1, DAY)  # from here on the workers know the space, which has 27 points
    job = Job(
        shared,
        study.study_name,
        n_trials=1,
        n_params=3,
        sampler={"seed": 0, "n_startup_trials": 1, "pending_timeout": DAY},
    )
    check_dead(run_together(die(job, trial=1)))
    dead = study.get_trials(states=(TrialState.RUNNING,))
    assert len(dead) == len(DEATHS)

    n_left = 27 - 1 - len(DEATHS)
    complete = go_on(n_left, DAY)
    assert len(points_of(complete)) == 1 + n_left
    whole = [trial for trial in dead if len(trial.params) == 3]
    assert whole
    assert points_of(complete).isdisjoint(points_of(whole))

    time.sleep(0.05)
    complete = go_on(len(DEATHS), pending_timeout=0.01)
    assert len(points_of(complete)) == 27
    # What became of them is not the sampler's to decide.
    assert study.get_trials(states=(TrialState.RUNNING,)) == dead
