"""Many threads that share one sampler, or a storage in memory alone."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import optuna
import pytest
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import TrialState
from workers import suggest_point, value_of

from heat_plugins import HeatSampler
from heat_plugins.suggest import Suggestion

Points = Callable[[optuna.Study], list[tuple[object, ...]]]


def test_eight_threads_never_meet(storage: BaseStorage | None, points: Points) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        params = suggest_point(trial, 12)
        time.sleep(0.01)  # so that there are always others that run
        return value_of(params)

    study.optimize(objective, n_trials=30, n_jobs=8)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert len(study.trials) == len(set(points(study))) == 30


def test_samplers_on_one_storage_in_memory_never_meet(points: Points) -> None:
    storage = InMemoryStorage()
    study = optuna.create_study(study_name="shared", storage=storage)

    def objective(trial: optuna.Trial) -> float:
        params = suggest_point(trial, 10)
        time.sleep(0.01)
        return value_of(params)

    def work(seed: int) -> None:
        own = optuna.load_study(
            study_name="shared", storage=storage, sampler=HeatSampler(seed=seed)
        )
        own.optimize(objective, n_trials=8)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert len(study.trials) == len(set(points(study))) == 48


@pytest.mark.parametrize("storage", ["sqlite", "journal"], indirect=True)
def test_first_trials_that_draw_at_once_never_meet(
    storage: BaseStorage, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows the search space yet; the slower one draws a value while another takes it."""
    study = optuna.create_study(study_name="shared", storage=storage, sampler=HeatSampler(seed=0))
    of_quick = optuna.load_study(study_name="shared", storage=storage, sampler=HeatSampler(seed=1))
    slow, quick = study.ask(), of_quick.ask()
    drawn = []

    def draw(*_: Any) -> str:
        drawn.append("abc"[len(drawn) // 2])
        if len(drawn) == 1:
            quick.suggest_categorical("x", "abc")
        return drawn[0] if len(drawn) <= 2 else drawn[-1]

    monkeypatch.setattr(optuna.samplers.RandomSampler, "sample_independent", draw)
    slow.suggest_categorical("x", "abc")
    assert points(study) == [("b",), ("a",)]


def test_a_trial_that_begins_during_a_search_takes_another_point(points: Points) -> None:
    """The slower one looks for a point while it is alone, and claims it when it no longer is."""
    study = optuna.create_study(study_name="shared")
    slow, quick = HeatSampler(seed=0, n_startup_trials=1), HeatSampler(seed=1, n_startup_trials=1)
    of_quick = optuna.load_study(study_name="shared", storage=study._storage, sampler=quick)
    study.sampler = slow
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, value_of(suggest_point(trial, 6)))
    search = slow._suggest

    def search_while_another_trial_runs(*arguments: Any) -> Suggestion:
        suggestion = search(*arguments)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slow, "_suggest", search)
            patch.setattr(quick, "_suggest", lambda *_: suggestion)
            suggest_point(of_quick.ask(), 6)
        return suggestion

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slow, "_suggest", search_while_another_trial_runs)
        suggest_point(study.ask(), 6)
    assert len(study.trials) == len(set(points(study))) == 5
