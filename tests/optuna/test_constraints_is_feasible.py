"""``is_feasible``: what may not be tried is never proposed, and all the rest is."""

import pickle
from collections.abc import Callable
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
from optuna.trial import TrialState

from heat_plugins import HeatSampler
from heat_plugins.spec.structures import PermutationInvariant

Params = dict[str, Any]
Objective = Callable[[optuna.Trial], float]


def codes(trial: optuna.Trial) -> float:
    return float(sum(trial.suggest_categorical(f"x{i}", tuple(range(10))) for i in range(6)))


def numbers(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_float("y", 0.0, 1.0)


def whole(trial: optuna.Trial) -> float:
    return float(trial.suggest_int("k", 0, 999))


def branches(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("branch", ("a", "b")) == "a":
        return trial.suggest_float("of_a", 0.0, 1.0)
    return trial.suggest_int("of_b", 0, 9) + trial.suggest_float("also_b", 0.0, 1.0)


# Of each space about one point in a hundred may be tried.
RARE: dict[str, tuple[Objective, Callable[[Params], bool]]] = {
    "codes": (codes, lambda p: (p["x0"], p["x1"]) == (3, 4)),
    "numbers": (numbers, lambda p: abs(p["x"] - 0.5) < 0.05 and abs(p["y"] - 0.5) < 0.05),
    "whole": (whole, lambda p: p["k"] % 100 == 7),
    "one": (whole, lambda p: p["k"] == 7),
    "branches": (branches, lambda p: p["branch"] == "b" and p["of_b"] == 3 and p["also_b"] < 0.2),
}


@pytest.mark.parametrize(("objective", "is_feasible"), RARE.values(), ids=RARE)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_else_is_proposed_where_hardly_anything_is_feasible(
    objective: Objective, is_feasible: Callable[[Params], bool], seed: int
) -> None:
    """From the second trial on; in branches, once all parameters of the branch were seen."""
    sampler = HeatSampler(seed=seed, n_startup_trials=4, is_feasible=is_feasible)
    study = optuna.create_study(sampler=sampler)
    if objective is branches:
        study.enqueue_trial({"branch": "b"})
    study.optimize(objective, n_trials=10)
    assert all(is_feasible(trial.params) for trial in study.trials[1:])


def test_the_first_trial_is_feasible_where_single_values_decide() -> None:
    """It is drawn parameter by parameter; twenty draws find one choice of three."""
    for seed in range(10):
        sampler = HeatSampler(seed=seed, is_feasible=lambda p: p["a"] != 1 and p["b"] != p["a"])
        study = optuna.create_study(sampler=sampler)

        def objective(trial: optuna.Trial) -> float:
            a = trial.suggest_categorical("a", (0, 1, 2))
            return float(a + trial.suggest_categorical("b", (0, 1, 2)))

        study.optimize(objective, n_trials=1)
        (trial,) = study.trials
        assert trial.params["a"] != 1 and trial.params["b"] != trial.params["a"]


@pytest.mark.parametrize("n_startup_trials", [0, 30])
@pytest.mark.parametrize("deterministic", [False, True])
def test_all_feasible_points_of_a_small_space_are_visited_before_any_is_repeated(
    n_startup_trials: int, deterministic: bool
) -> None:
    sampler = HeatSampler(
        seed=0,
        n_startup_trials=n_startup_trials,
        deterministic_objective=deterministic,
        is_feasible=lambda p: p["x"] + p["y"] <= 3 and p["c"] != "no",
    )
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        c = trial.suggest_categorical("c", ("yes", "no"))
        return trial.suggest_int("x", 0, 9) - trial.suggest_int("y", 0, 9) + float(c == "no")

    study.enqueue_trial({"c": "yes", "x": 0, "y": 0})
    study.optimize(objective, n_trials=12)
    found = [(trial.params["x"], trial.params["y"]) for trial in study.trials]
    assert sorted(found[:10]) == [(x, y) for x in range(4) for y in range(4 - x)]
    assert set(found[10:]) <= set(found[:10])
    assert len(found) == (10 if deterministic else 12)  # the study stops, or repeats points
    assert {trial.params["c"] for trial in study.trials} == {"yes"}


def test_the_best_feasible_point_is_found() -> None:
    """The sum should be small, and must not be: the best lies on the rim of what is allowed."""
    sampler = HeatSampler(seed=0, is_feasible=lambda p: sum(p.values()) >= 9)
    study = optuna.create_study(sampler=sampler)
    space = {f"x{i}": CategoricalDistribution(tuple(range(4))) for i in range(6)}
    for _ in range(30):
        trial = study.ask(space)
        study.tell(trial, sum(value**2 for value in trial.params.values()))
    feasible = [trial.value for trial in study.trials if sum(trial.params.values()) >= 9]
    assert len(feasible) >= 29
    assert min(feasible) <= 20.0  # at the best 15: 1, 1, 1, 2, 2, 2


# ------------------------------------------------------------------------------ no way out
def test_nothing_feasible_is_said_with_the_name_of_the_argument() -> None:
    study = optuna.create_study(sampler=HeatSampler(is_feasible=lambda p: False))
    with pytest.raises(ValueError, match=r"`is_feasible` must allow at least one .* \['k'\]"):
        study.optimize(whole, n_trials=3)
    assert len(study.trials) == 2  # the first was drawn before anything was known


@pytest.mark.parametrize(
    ("is_feasible", "error"),
    [(lambda p: False, ValueError), (lambda p: p["k"] < "text", TypeError)],
    ids=["nothing is feasible", "the function fails"],
)
def test_a_wrong_function_ends_the_study_whatever_is_caught(
    is_feasible: Callable[[Params], bool], error: type[Exception]
) -> None:
    study = optuna.create_study(sampler=HeatSampler(is_feasible=is_feasible))
    with pytest.raises(error):
        study.optimize(whole, n_trials=8, catch=(Exception,))
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE, TrialState.FAIL]


@pytest.mark.parametrize("n_startup_trials", [0, 10])
def test_what_the_function_raises_carries_a_note(n_startup_trials: int) -> None:
    def is_feasible(params: Params) -> bool:
        return bool(1 / (params["k"] - params["k"]))

    sampler = HeatSampler(n_startup_trials=n_startup_trials, is_feasible=is_feasible)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ZeroDivisionError) as error:
        study.optimize(whole, n_trials=2)
    (note,) = error.value.__notes__
    assert "`is_feasible`" in note and "{'k': " in note


@pytest.mark.parametrize("n_startup_trials", [0, 10])
def test_a_parameter_that_does_not_exist_is_no_objection_and_warned_of_once(
    n_startup_trials: int, optuna_log: pytest.LogCaptureFixture
) -> None:
    """The rule is about one branch, and was written without a thought of the other."""

    def is_feasible(params: Params) -> bool:
        return bool(params["of_b"] > 3)

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=n_startup_trials, is_feasible=is_feasible)
    )
    for branch in ("a", "b", "a", "b"):
        study.enqueue_trial({"branch": branch})
    study.optimize(branches, n_trials=12)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    later = [trial.params["of_b"] for trial in study.trials[2:] if "of_b" in trial.params]
    assert later and min(later) > 3
    (said,) = (record.getMessage() for record in optuna_log.records)
    assert "`is_feasible` raised KeyError('of_b')" in said


def test_any_truth_value_will_do() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, is_feasible=lambda p: p["k"] % 2)
    )
    study.optimize(whole, n_trials=6)
    assert all(trial.params["k"] % 2 for trial in study.trials)


# ---------------------------------------------------------------------------- what is asked
def test_the_function_gets_all_parameters_as_the_objective_gets_them() -> None:
    asked: list[Params] = []

    def is_feasible(params: Params) -> bool:
        asked.append(params)
        return True

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, is_feasible=is_feasible)
    )

    def objective(trial: optuna.Trial) -> float:
        flag = trial.suggest_categorical("flag", (True, None, "text"))
        only = trial.suggest_int("only", 3, 3)
        return trial.suggest_float("x", 0.0, 1.0) + only + (flag is None)

    study.optimize(objective, n_trials=2)
    asked.clear()
    study.optimize(objective, n_trials=3)
    assert asked
    for params in asked:
        assert params.keys() == {"flag", "only", "x"}
        assert params["flag"] in (True, None, "text")
        assert params["only"] == 3 and type(params["only"]) is int
        assert type(params["x"]) is float


def test_each_point_is_asked_about_once() -> None:
    asked: list[int] = []

    def is_feasible(params: Params) -> bool:
        asked.append(params["k"])
        return params["k"] < 500

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, is_feasible=is_feasible)
    )
    study.optimize(whole, n_trials=1)
    asked.clear()
    study.optimize(whole, n_trials=7)
    assert len(asked) == len(set(asked))


def test_parameters_of_other_branches_are_not_among_those_asked_about() -> None:
    known = {"a": {"branch", "of_a"}, "b": {"branch", "of_b", "also_b"}}
    asked: list[Params] = []

    def is_feasible(params: Params) -> bool:
        asked.append(params)
        return True

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=6, is_feasible=is_feasible)
    )
    study.optimize(branches, n_trials=14)
    asked.clear()
    study.optimize(branches, n_trials=4)
    assert asked and all(params.keys() == known[params["branch"]] for params in asked)


def test_a_value_that_is_drawn_is_feasible_even_where_all_that_is_has_been_tried() -> None:
    choices = CategoricalDistribution(tuple("abcdef"))
    for seed in range(10):
        sampler = HeatSampler(seed=seed, is_feasible=lambda params: params["p"] in "ac")
        study = optuna.create_study(sampler=sampler)
        for value in "ac":
            study.add_trial(
                optuna.trial.create_trial(
                    params={"p": value}, distributions={"p": choices}, value=0.0
                )
            )
        trial = study._storage.get_trial(study.ask()._trial_id)
        assert sampler.sample_independent(study, trial, "p", choices) in "ac"


# --------------------------------------------------------------------------- given trials
def test_enqueued_trials_are_run_and_their_rest_is_feasible() -> None:
    """What is given is the user's own decision; what is not given is held to the rule."""
    space: dict[str, BaseDistribution] = {f"x{i}": IntDistribution(0, 9) for i in range(3)}

    def is_feasible(params: Params) -> bool:
        return params["x0"] < params["x1"] < params["x2"]

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, is_feasible=is_feasible)
    )
    for _ in range(5):
        study.tell(study.ask(space), 1.0)
    study.enqueue_trial({"x0": 9, "x1": 9, "x2": 9})
    assert study.ask(space).params == {"x0": 9, "x1": 9, "x2": 9}
    for fixed in ({"x0": 7}, {"x1": 1}, {"x2": 2}, {"x0": 3, "x2": 5}):
        study.enqueue_trial(fixed)
        trial = study.ask(space)
        assert fixed.items() <= trial.params.items()
        assert is_feasible(trial.params)


@pytest.mark.parametrize("n_startup_trials", [0, 20])
def test_a_part_that_cannot_be_completed_is_run_all_the_same(n_startup_trials: int) -> None:
    """Whoever enqueues a value wants it."""
    study = optuna.create_study(
        sampler=HeatSampler(
            seed=0, n_startup_trials=n_startup_trials, is_feasible=lambda p: p["x"] != 2
        )
    )

    def objective(trial: optuna.Trial) -> float:
        return float(trial.suggest_int("x", 0, 3) + trial.suggest_int("y", 0, 4))

    study.optimize(objective, n_trials=2)
    study.enqueue_trial({"x": 2})
    study.optimize(objective, n_trials=6)
    assert [trial.params["x"] == 2 for trial in study.trials[1:]] == [False, True] + [False] * 5


def test_together_with_constraints_objectives_and_symmetry() -> None:
    names = [f"x{i}" for i in range(3)]
    sampler = HeatSampler(
        seed=0,
        n_startup_trials=4,
        is_feasible=lambda p: sum(p[name] for name in names) % 2 == 0,
        structure=PermutationInvariant(names),
    )
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        values = [trial.suggest_categorical(name, (0, 1, 2, 3)) for name in names]
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("largest", max(values) - 2.5)
        return float(sum(values)), float(max(values))

    study.optimize(objective, n_trials=10)
    assert all(sum(trial.params.values()) % 2 == 0 for trial in study.trials[1:])
    orbits = {tuple(sorted(trial.params.values())) for trial in study.trials}
    assert len(orbits) == 10


def divides(params: Params) -> bool:
    return bool(params["k"] % 3 == 0)


def test_a_pickled_sampler_keeps_to_the_rule(storage: BaseStorage | None) -> None:
    study = optuna.create_study(
        storage=storage, sampler=HeatSampler(seed=0, n_startup_trials=2, is_feasible=divides)
    )
    for _ in range(5):
        study.optimize(whole, n_trials=1)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
    assert all(divides(trial.params) for trial in study.trials)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_keep_to_the_rule(n_jobs: int) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=4, is_feasible=divides)
    study = optuna.create_study(sampler=sampler)
    study.optimize(whole, n_trials=1)
    study.optimize(whole, n_trials=12, n_jobs=n_jobs)
    assert all(divides(trial.params) for trial in study.trials[1:])
    assert len({trial.params["k"] for trial in study.trials}) == 13


@pytest.mark.parametrize("seed", range(3))
def test_what_trials_from_elsewhere_lack_is_subject_to_the_rule(seed: int) -> None:
    """A parameter that seems not to exist at a point gets a value nevertheless."""
    choices = CategoricalDistribution(tuple(range(6)))

    def objective(trial: optuna.Trial) -> float:
        return float(sum(trial.suggest_categorical(name, choices.choices) for name in "xyz"))

    def is_feasible(params: Params) -> bool:
        return sum(params[name] for name in "xyz") % 3 != 1

    sampler = HeatSampler(seed=seed, n_startup_trials=3, is_feasible=is_feasible)
    study = optuna.create_study(sampler=sampler)
    for x in range(1, 6):
        study.enqueue_trial({"x": x})
    study.optimize(objective, n_trials=5)
    distributions: dict[str, BaseDistribution] = {"x": choices, "z": choices}
    for z in range(4):
        params = {"x": 0, "z": z}
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=-9.0 - z)
        )
    study.optimize(objective, n_trials=10)
    own = study.trials[9:]
    assert any(trial.params["x"] == 0 for trial in own)
    assert all(is_feasible(trial.params) for trial in own)


def test_what_the_objective_has_to_show_first_is_subject_to_the_rule() -> None:
    """A value is drawn for it when the rest of the point has been chosen."""

    def objective(trial: optuna.Trial) -> float:
        return float(sum(trial.suggest_categorical(name, tuple(range(6))) for name in "xyz"))

    def is_feasible(params: Params) -> bool:
        return sum(params[name] for name in "xyz") % 3 == 1

    def sampler() -> HeatSampler:
        return HeatSampler(seed=0, n_startup_trials=3, is_feasible=is_feasible)

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=4)
    number = FloatDistribution(0.0, 1.0)
    study.add_trial(optuna.create_trial(params={"y": 0.5}, distributions={"y": number}, value=1.0))
    for _ in range(8):
        study.sampler = sampler()
        study.optimize(objective, n_trials=1)
    assert all(is_feasible(trial.params) for trial in study.trials[5:])
