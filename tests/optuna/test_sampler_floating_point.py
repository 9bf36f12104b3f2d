"""A program that wants an exception for every underflow means its own."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import optuna
import pytest

from heat_plugins import Additive, HeatImportanceEvaluator, HeatSampler

RAISING = {"divide": "raise", "over": "raise", "under": "raise", "invalid": "raise"}


@pytest.fixture(autouse=True)
def _everything_raises() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield
        assert np.geterr() == RAISING  # nobody has changed it


def mixed(trial: optuna.Trial) -> float:
    value = (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2
    value += abs(np.log10(trial.suggest_float("rate", 1e-5, 1e-1, log=True)) + 3)
    value += 0.2 * (trial.suggest_categorical("c", list("abcd")) != "c")
    return float(value + 0.1 * abs(trial.suggest_int("i", 0, 9) - 4))


@pytest.mark.parametrize(
    "settings", [{}, {"structure": Additive()}, {"kernel": "graph-matern"}], ids=str
)
def test_a_study_goes_on(settings: dict[str, Any]) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=5, **settings)
    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed, n_trials=12)
    sampler.explain(study)
    assert HeatImportanceEvaluator().evaluate(study).keys() == {"x", "rate", "c", "i"}


@pytest.mark.parametrize("values", [(1e308, -1e308, 0.0, 1e-320), (1e-200, 2e-200), (3e300, 1.0)])
def test_values_of_any_size(values: tuple[float, ...]) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=5))
    study.optimize(
        lambda trial: values[trial.number % len(values)] + 0.0 * mixed(trial), n_trials=12
    )


def test_two_objectives() -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=5)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(lambda trial: (mixed(trial), trial.params["x"]), n_trials=14)


def test_a_subnormal_range() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    study.optimize(lambda trial: trial.suggest_float("x", 5e-324, 1e-310, log=True), n_trials=6)


def test_a_conditional_space_that_runs_out() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_int("x", 0, 2)
        return x + (0.5 * (trial.suggest_categorical("c", "ab") == "a") if x == 0 else 0.0)

    sampler = HeatSampler(seed=0, n_startup_trials=2, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=10)
    assert len(study.trials) == 4  # all that there are
    sampler.explain(study)


def test_a_rule_of_the_user_has_the_users_settings() -> None:
    found = []

    def is_feasible(params: dict[str, Any]) -> bool:
        found.append(np.geterr())
        return True

    sampler = HeatSampler(seed=0, n_startup_trials=2, is_feasible=is_feasible)
    optuna.create_study(sampler=sampler).optimize(mixed, n_trials=4)
    assert all(errors == RAISING for errors in found)
    assert len(found) > 100
