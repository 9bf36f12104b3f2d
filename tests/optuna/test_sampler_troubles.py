"""Objectives that fail, are pruned, or return values that are hard to model."""

import math
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION

Points = Callable[[optuna.Study], list[tuple[object, ...]]]


def fails(_: optuna.Trial) -> float:
    raise RuntimeError("this objective fails")


def is_pruned(trial: optuna.Trial) -> float:
    trial.report(5.0, step=0)
    raise optuna.TrialPruned


# What the objective does in a third of the space, and the state of those trials.
TROUBLES: dict[str, tuple[Callable[[optuna.Trial], Any], TrialState]] = {
    "nan": (lambda trial: math.nan, TrialState.FAIL),
    "none": (lambda trial: None, TrialState.FAIL),
    "exception": (fails, TrialState.FAIL),
    "pruned": (is_pruned, TrialState.PRUNED),
    "inf": (lambda trial: math.inf, TrialState.COMPLETE),
    "1e300": (lambda trial: 1e300, TrialState.COMPLETE),
    "1e9": (lambda trial: 1e9, TrialState.COMPLETE),
}


def letters(trial: optuna.Trial) -> list[str]:
    return [trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(6)]


def n_wrong(trial: optuna.Trial) -> float:
    return float(sum(letter != "b" for letter in letters(trial)))


@pytest.mark.parametrize(
    ("trouble", "direction"),
    [*((trouble, "minimize") for trouble in TROUBLES), ("inf", "maximize"), ("1e9", "maximize")],
)
def test_the_optimum_is_found_although_a_third_of_the_space_is_trouble(
    trouble: str, direction: str, points: Points
) -> None:
    act, state = TROUBLES[trouble]
    sign = 1.0 if direction == "minimize" else -1.0

    def objective(trial: optuna.Trial) -> Any:
        value = act(trial) if letters(trial)[0] == "a" else n_wrong(trial)
        return None if value is None else sign * value

    study = optuna.create_study(
        direction=direction, sampler=HeatSampler(seed=0, n_startup_trials=8)
    )
    study.optimize(objective, n_trials=30, catch=RuntimeError)

    assert study.best_value == 0.0
    assert len(set(points(study))) == 30
    for trial in study.trials:
        assert trial.state == (state if trial.params["x0"] == "a" else TrialState.COMPLETE)


@pytest.mark.parametrize("trouble", ["inf", "1e300", "1e9"])
def test_bad_values_are_left_behind(trouble: str) -> None:
    act, _ = TROUBLES[trouble]
    study = optuna.create_study(sampler=HeatSampler(seed=1, n_startup_trials=8))
    study.optimize(
        lambda trial: act(trial) if letters(trial)[0] == "a" else n_wrong(trial), n_trials=28
    )
    assert sum(trial.params["x0"] == "a" for trial in study.trials[8:]) <= 5


def test_minus_infinity_is_the_best_value_and_its_surroundings_are_searched() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))
    study.optimize(
        lambda trial: -math.inf if letters(trial)[:2] == ["a", "a"] else n_wrong(trial),
        n_trials=30,
    )
    assert study.best_value == -math.inf
    assert sum(trial.value == -math.inf for trial in study.trials[-10:]) >= 5


@pytest.mark.parametrize("value", [0.0, -3.5, 1e300, 1e-300, math.inf, -math.inf])
def test_a_constant_objective_gives_different_points(value: float, points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("y", 0.0, 1.0)
        letters(trial)
        return value

    study.optimize(objective, n_trials=10)
    assert len(set(points(study))) == 10
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


@pytest.mark.parametrize("outlier", [1e12, 1e300, -1e12, -1e300])
def test_one_outlier_does_not_stop_the_search(outlier: float, points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))
    corner = {f"x{i}": "c" for i in range(6)}
    study.enqueue_trial(corner)

    def objective(trial: optuna.Trial) -> float:
        value = n_wrong(trial)
        return outlier if trial.params == corner else value

    study.optimize(objective, n_trials=30)
    assert len(set(points(study))) == 30
    assert study.best_value == min(outlier, 0.0)  # the optimum, unless the outlier is better


def test_values_of_every_size_are_optimised_alike() -> None:
    """Scaling by a power of two is exact, so the trials must be the same."""

    def run(scale: float) -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=5))
        study.optimize(lambda trial: scale * n_wrong(trial), n_trials=15)
        return [trial.params for trial in study.trials]

    assert run(1.0) == run(2.0**-900) == run(2.0**900)


@pytest.mark.parametrize("act", [fails, is_pruned])
def test_a_study_in_which_nothing_completes_goes_on_without_repeating(
    act: Callable[[optuna.Trial], float], points: Points
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("x", ("a", "b", "c"))
        trial.suggest_int("y", 0, 2)
        return act(trial)

    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=9, catch=RuntimeError)
    assert len(set(points(study))) == 9


@pytest.mark.parametrize("deterministic", [False, True])
def test_trials_that_fail_before_they_ask_for_anything_do_no_harm(deterministic: bool) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=1, deterministic_objective=deterministic)
    )

    def objective(trial: optuna.Trial) -> float:
        if trial.number % 2 == 0:
            raise RuntimeError("failed at once")
        x = trial.suggest_categorical("x", ("a", "b"))
        if trial.number % 3 == 0:
            raise RuntimeError("failed half-way")
        return float(trial.suggest_int("y", 0, 2) + (x == "b"))

    study.optimize(objective, n_trials=30, catch=RuntimeError)
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert len({tuple(trial.params.values()) for trial in complete}) == 6
    assert study.best_params == {"x": "a", "y": 0}


def test_pruned_trials_are_not_taken_for_complete_ones() -> None:
    """Optuna stores the last reported number as the value of a pruned trial."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    distributions = {"x": optuna.distributions.CategoricalDistribution(range(30))}
    for x in range(5):  # a better value than any complete trial has
        study.add_trial(
            create_trial(
                state=TrialState.PRUNED,
                value=-100.0,
                params={"x": x},
                distributions=distributions,  # type: ignore[arg-type]
            )
        )
    study.optimize(
        lambda trial: float(trial.suggest_categorical("x", range(30))),  # type: ignore[arg-type]
        n_trials=6,
    )
    assert all(trial.params["x"] >= 5 for trial in study.trials[5:])
    regions = [trial.system_attrs["heat_plugins:asked"]["region"] for trial in study.trials[5:]]
    # They count for the start-up as failed ones do, which ends with the first value.
    assert regions == [NO_REGION] + [0] * 5
