"""The same seed gives the same trials: in another process, after resuming, after pickling."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION

Points = Callable[[optuna.Study], list[tuple[object, ...]]]

# One source for this process and for others: arguments are the seed, the file of a journal
# ("" for none) and the number of trials; the points of all trials are printed.
PROGRAM = """
import json, sys
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from heat_plugins import HeatSampler

def objective(trial):
    letters = [trial.suggest_categorical(f"letter{i}", ("a", "b", "c", None)) for i in range(3)]
    steps = trial.suggest_int("steps", 1, 64, log=True)
    rate = trial.suggest_float("rate", 0.0, 1.0)
    if trial.number % 7 == 5:
        raise RuntimeError("this trial fails")
    if trial.number % 7 == 6:
        raise optuna.TrialPruned
    return letters.count("b") + abs(steps - 8) / 8 + (rate - 0.3) ** 2

def run(seed, journal, n_trials):
    storage = JournalStorage(JournalFileBackend(journal)) if journal else None
    study = optuna.create_study(
        storage=storage,
        study_name="study",
        load_if_exists=True,
        sampler=HeatSampler(seed=seed, n_startup_trials=4),
    )
    study.optimize(objective, n_trials=n_trials, catch=RuntimeError)
    return [trial.params for trial in study.trials]

if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
"""

program: dict[str, Any] = {"__name__": "program"}
exec(PROGRAM, program)


def run_here(seed: int, n_trials: int, journal: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = program["run"](seed, journal, n_trials)
    return found


def run_elsewhere(
    seed: int, n_trials: int, journal: str = "", hash_seed: str = "0"
) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), journal, str(n_trials)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def uninterrupted() -> list[dict[str, Any]]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return run_here(seed=0, n_trials=12)


def test_the_same_seed_gives_the_same_trials(uninterrupted: list[dict[str, Any]]) -> None:
    assert run_here(seed=0, n_trials=12) == uninterrupted


def test_the_same_seed_gives_the_same_trials_in_another_process(
    uninterrupted: list[dict[str, Any]],
) -> None:
    assert run_elsewhere(seed=0, n_trials=12, hash_seed="1") == uninterrupted


def test_another_seed_gives_other_trials(uninterrupted: list[dict[str, Any]]) -> None:
    other = run_here(seed=1, n_trials=6)
    assert other[0] != uninterrupted[0]
    assert all(params not in uninterrupted for params in other)


def test_no_seed_gives_other_trials_every_time() -> None:
    def first() -> dict[str, Any]:
        study = optuna.create_study(sampler=HeatSampler())
        return {name: study.ask().suggest_float(name, 0.0, 1.0) for name in "ab"}

    assert first() != first()


@pytest.mark.parametrize("n_before", [1, 9])
def test_a_resumed_study_continues_as_if_never_interrupted(
    n_before: int, tmp_path: Path, uninterrupted: list[dict[str, Any]]
) -> None:
    journal = str(tmp_path / "study.log")
    run_here(0, n_before, journal)
    assert run_here(0, 12 - n_before, journal) == uninterrupted


def test_a_study_is_resumed_in_another_process(
    tmp_path: Path, uninterrupted: list[dict[str, Any]]
) -> None:
    journal = str(tmp_path / "study.log")
    run_elsewhere(0, 6, journal, hash_seed="2")
    assert run_elsewhere(0, 6, journal, hash_seed="3") == uninterrupted


def test_every_storage_gives_the_same_trials_with_a_new_sampler_for_each(
    storage: BaseStorage | None, uninterrupted: list[dict[str, Any]]
) -> None:
    study = optuna.create_study(storage=storage)
    for _ in range(12):
        study.sampler = HeatSampler(seed=0, n_startup_trials=4)
        study.optimize(program["objective"], n_trials=1, catch=RuntimeError)
    assert [trial.params for trial in study.trials] == uninterrupted


@pytest.mark.parametrize("clone", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_a_copied_sampler_continues_like_the_original(
    clone: Callable[[HeatSampler], HeatSampler], uninterrupted: list[dict[str, Any]]
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    for _ in range(2):
        study.optimize(program["objective"], n_trials=6, catch=RuntimeError)
        assert isinstance(study.sampler, HeatSampler)
        study.sampler = clone(study.sampler)
    assert [trial.params for trial in study.trials] == uninterrupted


def test_a_sampler_without_a_seed_keeps_its_own_when_pickled() -> None:
    original = HeatSampler()
    study = optuna.create_study(sampler=original)
    trial = study._storage.get_trial(study.ask()._trial_id)
    distribution = optuna.distributions.FloatDistribution(0.0, 1.0)
    expected = original.sample_independent(study, trial, "x", distribution)
    restored = pickle.loads(pickle.dumps(original))
    assert restored.sample_independent(study, trial, "x", distribution) == expected


def test_pickling_while_a_trial_runs_loses_no_pending_point(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    for number in range(9):
        trial = study.ask()
        trial.suggest_categorical("x", ("a", "b", "c"))
        trial.suggest_int("y", 0, 2)
        if number == 0:
            study.tell(trial, 1.0)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
    assert study.trials[-1].state == TrialState.RUNNING
    assert len(set(points(study))) == 9


def test_reseeding_changes_what_is_sampled(uninterrupted: list[dict[str, Any]]) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(program["objective"], n_trials=3, catch=RuntimeError)
    study.sampler.reseed_rng()
    study.optimize(program["objective"], n_trials=5, catch=RuntimeError)
    found = [trial.params for trial in study.trials]
    assert found[:3] == uninterrupted[:3]
    # The last trial of the start-up is drawn; what the model chooses after it may coincide.
    assert found[3]["rate"] not in [params["rate"] for params in uninterrupted]


def test_threads_reseed_the_sampler() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(program["objective"], n_trials=8, n_jobs=2, catch=RuntimeError)
    again = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    again.optimize(program["objective"], n_trials=8, n_jobs=2, catch=RuntimeError)
    # The first trial of both has the middle of the range.
    startup = [trial.params["rate"] for trial in (*study.trials[1:4], *again.trials[1:4])]
    assert len(set(startup)) == 6


def test_two_workers_with_the_same_seed_on_one_study_get_different_points(
    storage: BaseStorage | None, points: Points
) -> None:
    study = optuna.create_study(storage=storage)
    workers = [HeatSampler(seed=0, n_startup_trials=2) for _ in range(2)]
    for number in range(12):
        study.sampler = workers[number % 2]
        trial = study.ask()
        x = trial.suggest_categorical("x", ("a", "b", "c"))
        y = trial.suggest_int("y", 0, 3)
        if number % 3:
            study.tell(trial, float(y + (x == "a")))
    assert len(set(points(study))) == 12


def test_the_trust_region_follows_from_the_history_alone() -> None:
    """With new samplers all the way, the study goes through the same regions."""

    def run(renew: bool) -> list[tuple[dict[str, Any], object]]:
        study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))

        def objective(trial: optuna.Trial) -> float:
            trial.suggest_categorical("x", tuple(range(60)))
            return 1.0  # nothing improves, so the region shrinks and a new one begins

        for _ in range(28):
            if renew:
                study.sampler = HeatSampler(seed=0, n_startup_trials=2)
            study.optimize(objective, n_trials=1)
        asked = [t.system_attrs.get("heat_plugins:asked", {}) for t in study.trials]
        return [(t.params, a.get("region")) for t, a in zip(study.trials, asked, strict=True)]

    trials = run(renew=False)
    assert trials == run(renew=True)
    regions = [region for _, region in trials]
    assert regions[:2] == [None, NO_REGION]  # nothing was known of the first, nor asked for
    assert {0, 1} <= set(regions[2:])
