"""What a study tells about its parameters, also when most of its trials are good ones."""

import optuna
import pytest

from heat_plugins import HeatSampler

EFFECTS = {"a": 0.0, "b": 1.5, "c": 3.0, "d": 0.5}


@pytest.mark.parametrize("n_trials", [20, 80])
def test_effects_stay_what_they_are_when_the_search_settles(n_trials: int) -> None:
    sampler = HeatSampler(seed=0)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        letter = trial.suggest_categorical("letter", list(EFFECTS))
        number = trial.suggest_int("number", 0, 7)
        place = trial.suggest_float("place", 0.0, 1.0)
        return EFFECTS[letter] + 0.3 * number + (place - 0.3) ** 2

    study.optimize(objective, n_trials=n_trials)
    effects = sampler.explain(study).effects
    letters = dict(effects["letter"])
    assert letters["c"] - letters["a"] == pytest.approx(3.0, rel=0.35)
    assert letters["b"] - letters["a"] == pytest.approx(1.5, rel=0.5)
    numbers = dict(effects["number"])
    assert numbers[7] - numbers[0] == pytest.approx(2.1, rel=0.35)
