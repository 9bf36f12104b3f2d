"""Trials that come from elsewhere: enqueued, added, partly fixed, pruned by Optuna's pruners."""

import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.pruners import HyperbandPruner, MedianPruner
from optuna.samplers import PartialFixedSampler
from optuna.storages import BaseStorage
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatSampler

Points = Callable[[optuna.Study], list[tuple[object, ...]]]

BITS: dict[str, BaseDistribution] = {f"x{i}": CategoricalDistribution((0, 1)) for i in range(7)}


def n_unlike_the_first(params: dict[str, Any]) -> float:
    """Every bit should be what the first one is: the best rest depends on it."""
    return float(sum(bit != params["x0"] for bit in params.values()))


def study_of_bits(n_known: int, **settings: Any) -> optuna.Study:
    """Return a study that knows some points, but neither of the two optima."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, **settings))
    points = [point for point in itertools.product((0, 1), repeat=7) if len(set(point)) == 2]
    for point in random.Random(0).sample(points, n_known):
        params = dict(zip(BITS, point, strict=True))
        study.add_trial(
            create_trial(params=params, distributions=BITS, value=n_unlike_the_first(params))
        )
    return study


@pytest.mark.parametrize("trust_region", [True, False])
def test_a_partly_enqueued_trial_gets_the_best_rest_for_what_is_fixed(trust_region: bool) -> None:
    study = study_of_bits(50, trust_region=trust_region)
    for bit in (0, 1, 1, 0):
        study.enqueue_trial({"x0": bit})
    asked = [study.ask(BITS).params for _ in range(4)]
    assert [params["x0"] for params in asked] == [0, 1, 1, 0]
    assert asked[0] == dict.fromkeys(BITS, 0)
    assert asked[1] == dict.fromkeys(BITS, 1)
    # The best is being tried; what is left is nearly as good.
    assert all(n_unlike_the_first(params) <= 2 for params in asked[2:])


def test_several_fixed_values_are_respected() -> None:
    study = study_of_bits(50)
    study.enqueue_trial({"x0": 1, "x3": 0, "x5": 0})
    params = study.ask(BITS).params
    assert params == {**dict.fromkeys(BITS, 1), "x3": 0, "x5": 0}


def test_partly_enqueued_trials_at_start_up_do_not_repeat_each_other(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=20))
    for _ in range(6):
        study.enqueue_trial({"x": "b"})

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("y", 0, 5)
        return float(trial.suggest_categorical("x", ("a", "b", "c")) == "a")

    study.optimize(objective, n_trials=6)
    assert set(points(study)) == {("b", y) for y in range(6)}


def test_fully_enqueued_trials_are_run_as_they_are_and_then_learnt_from(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    given = [("a", 0.25), ("b", 0.5), ("c", 0.75), ("a", 0.25)]
    for choice, number in given:
        study.enqueue_trial({"choice": choice, "number": number})

    def objective(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("choice", ("a", "b", "c"))
        return float((choice != "b") + abs(trial.suggest_float("number", 0.0, 1.0) - 0.5))

    study.optimize(objective, n_trials=14)
    assert points(study)[:4] == given
    assert not any("heat_plugins:asked" in trial.system_attrs for trial in study.trials[:4])
    assert sum(trial.params["choice"] == "b" for trial in study.trials[4:]) >= 6


def test_a_waiting_point_is_not_given_to_another_trial() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=0))
    space: dict[str, BaseDistribution] = {"x": IntDistribution(0, 5)}
    trial = study.ask(space)
    study.tell(trial, 0.0)
    waiting = next(x for x in range(6) if x != trial.params["x"])
    running = study.ask()
    study.enqueue_trial({"x": waiting})
    assert running.suggest_int("x", 0, 5) != waiting


@pytest.mark.parametrize("fixed", [{"x": 50.0}, {"k": 99}, {"x": -1, "k": 99}, {"k": 4}])
def test_an_enqueued_value_outside_its_range_is_used_and_does_no_harm(
    fixed: dict[str, Any],
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        k = trial.suggest_int("k", 1, 9, step=2)
        return x + k + (trial.suggest_categorical("c", ("a", "b")) == "a")

    study.optimize(objective, n_trials=3)
    study.enqueue_trial(fixed)
    with pytest.warns(UserWarning, match="is out of range"):
        study.optimize(objective, n_trials=1)
    assert fixed.items() <= study.trials[3].params.items()
    study.optimize(objective, n_trials=4)
    for trial in study.trials[4:]:
        assert trial.state == TrialState.COMPLETE
        assert 0.0 <= trial.params["x"] <= 1.0
        assert trial.params["k"] in (1, 3, 5, 7, 9)


def test_an_enqueued_value_between_the_steps_does_not_count_as_a_point_of_the_space() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))
    study.enqueue_trial({"k": 4})

    def objective(trial: optuna.Trial) -> float:
        return float(trial.suggest_int("k", 1, 9, step=2))

    with pytest.warns(UserWarning, match="is out of range"):
        study.optimize(objective, n_trials=20)
    assert sorted(trial.params["k"] for trial in study.trials) == [1, 3, 4, 5, 7, 9]


def test_an_enqueued_choice_that_does_not_exist_fails_its_own_trial_only() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))

    def objective(trial: optuna.Trial) -> float:
        y = trial.suggest_int("y", 0, 5)
        return float(y + (trial.suggest_categorical("x", ("a", "b")) == "a"))

    study.optimize(objective, n_trials=2)
    study.enqueue_trial({"x": "no such choice"})
    study.optimize(objective, n_trials=4, catch=ValueError)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE] * 2 + [TrialState.FAIL] + [TrialState.COMPLETE] * 3


def test_an_enqueued_name_that_nobody_asks_for_is_ignored() -> None:
    study = study_of_bits(20)
    study.enqueue_trial({"no_such_parameter": 1, "x1": 0})
    assert study.ask(BITS).params["x1"] == 0


def test_added_trials_replace_the_start_up(storage: BaseStorage | None) -> None:
    known = study_of_bits(50).trials
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=0))
    study.add_trials(known)
    first = study.ask(BITS).params
    assert n_unlike_the_first(first) == 0.0  # the optimum, not a random point
    assert n_unlike_the_first(study.ask(BITS).params) == 0.0  # and the other one


def test_points_of_added_trials_are_not_repeated(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    space: dict[str, BaseDistribution] = {"x": IntDistribution(0, 9)}
    states = [TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED]
    for x, state in zip((1, 5, 9), states, strict=True):
        value = 1.0 if state == TrialState.COMPLETE else None
        study.add_trial(
            create_trial(state=state, params={"x": x}, distributions=space, value=value)
        )
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=7)
    assert sorted(points(study)) == [(x,) for x in range(10)]


def test_added_trials_may_have_times_with_a_zone() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=1)
    added = create_trial(params={"x": 1}, distributions={"x": IntDistribution(0, 9)}, value=1.0)
    added.datetime_complete = datetime.now(UTC)
    study.add_trial(added)
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=4)
    assert len(study.trials) == 6


def test_added_trials_of_another_range_or_without_parameters_are_left_out() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    wide: dict[str, BaseDistribution] = {"x": FloatDistribution(-100.0, 100.0)}
    study.add_trial(create_trial(params={"x": -90.0}, distributions=wide, state=TrialState.FAIL))
    study.add_trial(create_trial(state=TrialState.FAIL))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2, n_trials=8)
    assert all(0.0 <= trial.params["x"] <= 1.0 for trial in study.trials[2:])
    assert study.best_value < 0.01


def test_an_added_trial_on_another_scale_costs_no_trial() -> None:
    """Optuna takes a logarithmic range and a linear one for two parameters."""

    def objective(trial: optuna.Trial) -> float:
        return abs(trial.suggest_int("x", 1, 1000, log=True) - 30)

    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=4)
    study.add_trial(
        create_trial(params={"x": 50}, distributions={"x": IntDistribution(0, 100)}, value=20.0)
    )
    study.optimize(objective, n_trials=6)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 11


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be a tuple")
def test_added_trials_with_other_choices_where_choices_are_objects() -> None:
    """Objects cannot be compared by what a storage would make of them."""

    def objective(trial: optuna.Trial) -> float:
        function = trial.suggest_categorical("function", (min, max))  # type: ignore[arg-type]
        return float(function(trial.suggest_int("x", 0, 9), 4))

    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=4)
    study.add_trial(
        create_trial(
            params={"function": "min"},
            distributions={"function": CategoricalDistribution(("min", "max"))},
            value=0.0,
        )
    )
    study.optimize(objective, n_trials=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 9


# PartialFixedSampler is marked as experimental, and says so.
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_partial_fixed_sampler_keeps_its_value_and_the_rest_is_optimised(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", ("a", "b", "c"))
        y = trial.suggest_categorical("y", ("a", "b", "c"))
        return float((x != "c") + (y != "b")) + trial.suggest_int("z", 0, 9)

    study.optimize(objective, n_trials=5)
    study.sampler = PartialFixedSampler({"x": "a"}, study.sampler)
    study.optimize(objective, n_trials=12)
    fixed = study.trials[5:]
    assert {trial.params["x"] for trial in fixed} == {"a"}
    assert len({(trial.params["y"], trial.params["z"]) for trial in fixed}) == 12
    assert min(trial.value for trial in fixed) <= 2.0


# PartialFixedSampler is marked as experimental, and says so.
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("x", ["a", "b", "c"])
@pytest.mark.parametrize("is_resumed", [False, True], ids=["going on", "resumed"])
def test_the_first_trial_is_optimised_for_what_partial_fixed_sampler_fixes(
    x: str, is_resumed: bool
) -> None:
    """As for a value that was enqueued; it may be another one than the last trial had."""

    def objective(trial: optuna.Trial) -> float:
        best = {"a": 2, "b": 5, "c": 8}[trial.suggest_categorical("x", ("a", "b", "c"))]
        return float(abs(trial.suggest_int("y", 0, 9) - best) + trial.suggest_int("z", 0, 9))

    asked = []
    for is_enqueued in (False, True):
        study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=5))
        study.optimize(objective, n_trials=25)
        if is_resumed:
            study.sampler = HeatSampler(seed=0, n_startup_trials=5)
        if is_enqueued:
            study.enqueue_trial({"x": x})
        else:
            inner = PartialFixedSampler({"x": x}, study.sampler)
            study.sampler = PartialFixedSampler({}, inner)
        study.optimize(objective, n_trials=1)
        asked.append(study.trials[-1].params)
    assert asked[0]["x"] == x
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    "pruner",
    [
        HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3),
        MedianPruner(n_startup_trials=3, n_warmup_steps=1),
    ],
    ids=["hyperband", "median"],
)
@pytest.mark.parametrize("deterministic", [False, True])
def test_pruners_work_with_reported_values(
    pruner: optuna.pruners.BasePruner, deterministic: bool
) -> None:
    study = optuna.create_study(
        pruner=pruner,
        sampler=HeatSampler(seed=0, n_startup_trials=3, deterministic_objective=deterministic),
    )

    def objective(trial: optuna.Trial) -> float:
        letters = [trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(5)]
        value = float(sum(letter != "b" for letter in letters))
        for step in range(1, 10):
            trial.report(value + 1.0 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=30)
    states = {trial.state for trial in study.trials}
    assert states == {TrialState.COMPLETE, TrialState.PRUNED}
    assert len(study.trials) == 30
    assert study.best_value <= 1.0


def test_equal_choices_of_trials_added_in_memory_are_told_apart_by_their_types() -> None:
    same = (True, 1, 1.0)
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))
    space: dict[str, BaseDistribution] = {"x": CategoricalDistribution(same)}
    study.add_trial(create_trial(params={"x": 1.0}, distributions=space, value=0.0))
    values = []

    def objective(trial: optuna.Trial) -> float:
        values.append(trial.suggest_categorical("x", same))
        return 1.0

    study.optimize(objective, n_trials=2)
    assert {type(value) for value in values} == {bool, int}


@pytest.mark.parametrize("seed", range(4))
def test_a_first_trial_leaves_what_is_enqueued_to_whoever_comes_next(seed: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed))
    first = study.ask()
    study.enqueue_trial({"x": "b"})
    assert first.suggest_categorical("x", ["a", "b"]) == "a"
    assert study.ask().suggest_categorical("x", ["a", "b"]) == "b"
