"""Many threads that share one sampler."""

import time
from collections.abc import Callable

import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState
from workers import suggest_point, value_of

from heat_plugins import HeatSampler

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
