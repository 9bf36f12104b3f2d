"""Objectives that are edited while a study runs: ranges change, parameters come and go."""

import math
from typing import Any

import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from heat_plugins import HeatSampler


class Watched(HeatSampler):
    """Notes which values the model did not choose."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.independent: list[tuple[int, str]] = []

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        self.independent.append((trial.number, name))
        return super().sample_independent(study, trial, name, distribution)


def expected(trial: FrozenTrial) -> set[str]:
    """Return the parameters that the model expected a trial to ask for."""
    return set(trial.system_attrs["heat_plugins:asked"]["point"])


RANGES: dict[str, tuple[BaseDistribution, BaseDistribution, float]] = {
    "wider": (FloatDistribution(0.0, 1.0), FloatDistribution(-1.0, 6.0), 4.0),
    "narrower": (FloatDistribution(0.0, 10.0), FloatDistribution(2.0, 4.0), 2.5),
    "elsewhere": (FloatDistribution(0.0, 1.0), FloatDistribution(5.0, 9.0), 7.0),
    "wider ints": (IntDistribution(0, 9), IntDistribution(0, 99), 60),
    "narrower ints": (IntDistribution(0, 99), IntDistribution(20, 29), 23),
    "ints elsewhere": (IntDistribution(0, 9), IntDistribution(100, 140), 120),
    "wider log": (
        FloatDistribution(1e-3, 1e-1, log=True),
        FloatDistribution(1e-6, 1e0, log=True),
        1e-5,
    ),
    "other steps": (FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 2, step=0.1), 1.3),
}


@pytest.mark.parametrize(("before", "after", "best"), RANGES.values(), ids=RANGES)
def test_a_new_range_is_searched_with_what_the_old_one_has_taught(
    before: BaseDistribution, after: BaseDistribution, best: float
) -> None:
    sampler = Watched(seed=0, n_startup_trials=5, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    log = getattr(after, "log", False)

    def distance(x: float) -> float:
        return abs(math.log10(x / best)) if log and x > 0 else abs(x - best)

    def objective(trial: optuna.Trial) -> float:
        x = trial._suggest("x", before if trial.number < 8 else after)
        return distance(x) + (trial.suggest_categorical("c", ("a", "b", "c")) != "b")

    study.optimize(objective, n_trials=24)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    for trial in study.trials[8:]:
        assert after._contains(after.to_internal_repr(trial.params["x"]))
    span = distance(after.low) + distance(after.high)
    assert study.best_value <= 0.1 * span
    # The model has a value for each, but for the first and perhaps for that after the change.
    numbers = [number for number, name in sampler.independent if name == "x"]
    assert numbers in ([0], [0, 8])


def test_a_range_may_change_with_every_trial() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, warn_independent_sampling=False)
    )

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -trial.number - 1.0, trial.number + 1.0)
        y = trial.suggest_int("y", trial.number, 2 * trial.number + 1)
        return x + y

    study.optimize(objective, n_trials=14)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e150])
def test_ranges_may_be_of_any_size_compared_to_earlier_ones(scale: float) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, warn_independent_sampling=False)
    )

    def objective(trial: optuna.Trial) -> float:
        high = 1.0 if trial.number < 6 else scale
        return trial.suggest_float("x", 0.0, high) / high + trial.suggest_int("y", 0, 9)

    study.optimize(objective, n_trials=12)
    assert all(0.0 <= trial.params["x"] <= scale for trial in study.trials[6:])
    assert study.best_value < 1.0


# ------------------------------------------------------------------ parameters come and go
def test_a_parameter_that_is_dropped_is_no_longer_expected(storage: BaseStorage | None) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=0, n_startup_trials=4))

    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0)
        if trial.number < 8:
            value += trial.suggest_categorical("old", ("a", "b")) == "a"
        return value

    study.optimize(objective, n_trials=16)
    assert expected(study.trials[7]) == {"old", "x"}
    assert [expected(trial) for trial in study.trials[12:]] == [{"x"}] * 4


def test_a_parameter_that_appears_late_is_modelled_from_then_on() -> None:
    sampler = Watched(seed=0, n_startup_trials=4, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        value = abs(trial.suggest_float("x", 0.0, 1.0) - 0.3)
        late = trial.suggest_float("late", 0.0, 1.0) if trial.number >= 8 else 0.5
        return value + abs(late - 0.7)

    study.optimize(objective, n_trials=20)
    assert sampler.independent == [(0, "x"), (8, "late")]
    assert all(expected(trial) == {"x", "late"} for trial in study.trials[12:])
    assert study.best_value < 0.1


def test_a_parameter_that_everybody_has_by_now_is_like_any_other() -> None:
    """One that came late stays conditional, for there are trials without it."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=4)

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("y", 0, 3)

    study.optimize(objective, n_trials=16)
    assert study.best_value < 0.1
    assert len({trial.params["y"] for trial in study.trials[4:]}) >= 2


@pytest.mark.parametrize("n_names", [3, 40])
def test_names_may_be_new_all_the_time(n_names: int) -> None:
    """As many parameters as trials: nobody should write this, but it must not break."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float(f"x{trial.number % n_names}", 0.0, 1.0)
        return value + trial.suggest_categorical("c", (0, 1, 2))

    study.optimize(objective, n_trials=16)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert study.best_value < 1.0


def test_a_parameter_that_had_one_value_gets_more() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        high = 0 if trial.number < 6 else 5
        return abs(trial.suggest_int("k", 0, high) - 4) + trial.suggest_float("x", 0.0, 1.0)

    study.optimize(objective, n_trials=18)
    assert {trial.params["k"] for trial in study.trials[:6]} == {0}
    assert study.best_params["k"] == 4


def test_a_parameter_that_had_more_values_gets_one() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        high = 5 if trial.number < 6 else 0
        return abs(trial.suggest_int("k", 0, high) - 4) + trial.suggest_float("x", 0.0, 1.0)

    study.optimize(objective, n_trials=16)
    assert {trial.params["k"] for trial in study.trials[6:]} == {0}
    found = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(found) == ["x"]


def test_a_running_trial_of_another_sampler_that_has_only_begun_does_no_harm() -> None:
    """Some of its parameters are known, and no one can say what the others will be."""
    space: dict[str, BaseDistribution] = {
        "x": FloatDistribution(0.0, 1.0),
        "c": CategoricalDistribution(("a", "b", "c")),
        "k": IntDistribution(0, 9),
    }
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(8):
        trial = study.ask(space)
        study.tell(trial, trial.params["x"] + trial.params["k"])
    study.ask().suggest_float("x", 0.0, 1.0)
    study.ask()
    for structure in (None, "auto"):
        study.sampler = HeatSampler(seed=0, structure=structure, n_startup_trials=4)
        trial = study.ask(space)
        assert trial.params.keys() == space.keys()
        assert trial.params["k"] < 5
        study.tell(trial, trial.params["x"] + trial.params["k"])
