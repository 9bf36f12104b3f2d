"""Studies of two, three and four objectives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from heat_plugins import HeatSampler
from heat_plugins.acquisition.pareto import hypervolume, non_dominated
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

Points = Callable[[optuna.Study], list[tuple[object, ...]]]
DIRECTIONS = {
    2: ["minimize", "maximize"],
    3: ["maximize", "minimize", "maximize"],
    4: ["minimize", "maximize", "maximize", "minimize"],
}
NUMBERS_OF_OBJECTIVES = pytest.mark.parametrize("m", [2, 3, 4])
TARGETS = ("aaaaaa", "bbbbaa", "abcabc", "cccccc")


def word(trial: optuna.Trial) -> str:
    return "".join(trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(6))


def distances(letters: str, m: int) -> list[float]:
    """How far a word is from each of some targets: no word is near to all of them."""
    return [
        float(sum(ours != theirs for ours, theirs in zip(letters, target, strict=True)))
        for target in TARGETS[:m]
    ]


def signed(values: list[float], directions: list[str]) -> list[float]:
    return [v if d == "minimize" else -v for v, d in zip(values, directions, strict=True)]


def run(study: optuna.Study, m: int, n_trials: int) -> optuna.Study:
    directions = [direction.name.lower() for direction in study.directions]
    study.optimize(lambda trial: signed(distances(word(trial), m), directions), n_trials=n_trials)
    return study


def values_of(study: optuna.Study) -> Any:
    """Return the values of all trials as distances, whatever the directions are."""
    return np.array([distances("".join(t.params.values()), len(t.values)) for t in study.trials])


@pytest.mark.parametrize(
    ("m", "trust_region"), [(2, True), (3, True), (4, True), (2, False), (4, False)]
)
def test_more_hypervolume_than_at_random(m: int, trust_region: bool, points: Points) -> None:
    directions = DIRECTIONS[m]
    sampler = HeatSampler(seed=0, n_startup_trials=8, trust_region=trust_region)
    ours = run(optuna.create_study(directions=directions, sampler=sampler), m, 24)
    worst = np.full(m, 7.0)
    at_random = [
        run(optuna.create_study(directions=directions, sampler=RandomSampler(seed=s)), m, 24)
        for s in range(3)
    ]
    assert hypervolume(values_of(ours), worst) > max(
        hypervolume(values_of(study), worst) for study in at_random
    )
    assert len(set(points(ours))) == 24
    assert len(ours.best_trials) > 1


@NUMBERS_OF_OBJECTIVES
def test_maximising_is_minimising_the_negative_trial_by_trial(m: int) -> None:
    studies = [
        run(
            optuna.create_study(directions=d, sampler=HeatSampler(seed=1, n_startup_trials=5)),
            m,
            9,
        )
        for d in (DIRECTIONS[m], ["minimize"] * m)
    ]
    assert [t.params for t in studies[0].trials] == [t.params for t in studies[1].trials]


def test_both_ends_of_a_front_of_numbers_are_found() -> None:
    study = optuna.create_study(
        directions=["minimize", "minimize"],
        sampler=HeatSampler(seed=0, n_startup_trials=8, deterministic_objective=True),
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x, y = (trial.suggest_float(name, -2.0, 2.0) for name in "xy")
        return (x - 1.0) ** 2 + y**2, (x + 1.0) ** 2 + y**2

    study.optimize(objective, n_trials=30)
    values = np.array([trial.values for trial in study.trials])
    front = values[non_dominated(values)]
    assert front[:, 0].min() < 0.2 and front[:, 1].min() < 0.2
    # All of the front lies between the two middles, where the roots add up to 2.
    assert np.sort(np.sqrt(front).sum(axis=1))[: len(front) // 2].max() < 2.3
    assert len(front) >= 8


# ------------------------------------------------------------------------ awkward values
SPACE: dict[str, BaseDistribution] = {
    "c": CategoricalDistribution(("a", "b", "c", "d")),
    "d": CategoricalDistribution((1, 2, 3)),
    "x": FloatDistribution(0.0, 1.0),
}


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", ["equal", "one constant", "infinite", "all infinite", "huge"])
def test_awkward_values_give_different_points(m: int, kind: str, points: Points) -> None:
    study = optuna.create_study(
        directions=DIRECTIONS[m], sampler=HeatSampler(seed=0, n_startup_trials=3)
    )
    for number in range(7):
        trial = study.ask(SPACE)
        values = [float((number * 7 + 3 * j) % 5) for j in range(m)]
        if kind == "equal":
            values = [1.0] * m
        elif kind == "one constant":
            values[0] = 2.0
        elif kind == "infinite":
            values[number % m] = math.inf if number % 3 else -math.inf
        elif kind == "all infinite":
            values = [math.inf if (number + j) % 2 else -math.inf for j in range(m)]
        elif kind == "huge":
            values = [1e300 * (value - 2.0) for value in values]
        study.tell(trial, values)
    assert len(set(points(study))) == 7


def test_infinitely_bad_values_are_left_behind() -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=HeatSampler(seed=0, n_startup_trials=8)
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        letters = word(trial)
        if letters[0] == "a":
            return math.inf, -math.inf
        first, second = distances(letters, 2)
        return first, -second

    study.optimize(objective, n_trials=24)
    assert sum(trial.params["x0"] == "a" for trial in study.trials[8:]) <= 4


@pytest.mark.parametrize("deterministic", [False, True])
def test_failed_pruned_and_running_trials_are_not_repeated(
    deterministic: bool, points: Points
) -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize", "minimize"],
        sampler=HeatSampler(seed=0, n_startup_trials=2, deterministic_objective=deterministic),
    )
    space: dict[str, BaseDistribution] = {
        name: CategoricalDistribution((0, 1, 2)) for name in ("a", "b")
    }
    endings = [TrialState.COMPLETE, TrialState.FAIL, TrialState.RUNNING, TrialState.PRUNED]
    for number in range(9):
        trial = study.ask(space)
        state = endings[number % 4]
        if state == TrialState.COMPLETE:
            study.tell(trial, [1.0, trial.params["a"], trial.params["b"]])
        elif state != TrialState.RUNNING:
            study.tell(trial, state=state)
    assert len(set(points(study))) == 9


@pytest.mark.parametrize("m", [2, 4])
def test_trials_asked_for_before_any_is_told_are_spread_out(m: int, points: Points) -> None:
    study = run(
        optuna.create_study(
            directions=DIRECTIONS[m], sampler=HeatSampler(seed=0, n_startup_trials=8)
        ),
        m,
        10,
    )
    asked = [study.ask() for _ in range(5)]
    words = [word(trial) for trial in asked]
    assert len({*words, *("".join(map(str, p)) for p in points(study)[:10])}) == 15
    for trial, letters in zip(asked, words, strict=True):
        study.tell(trial, signed(distances(letters, m), DIRECTIONS[m]))
    assert len(study.trials) == 15


# ---------------------------------------------------------------- together with the rest
@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 5 has it")
@pytest.mark.parametrize("m", [2, 4])
def test_constraints_cut_the_front(m: int) -> None:
    study = optuna.create_study(
        directions=DIRECTIONS[m], sampler=HeatSampler(seed=0, n_startup_trials=8)
    )

    def objective(trial: optuna.Trial) -> list[float]:
        letters = word(trial)
        trial.set_constraint("b", float(letters.count("b") - 1))
        return signed(distances(letters, m), DIRECTIONS[m])

    study.optimize(objective, n_trials=26)
    kept = [trial.constraints["b"] <= 0.0 for trial in study.trials]
    assert np.mean(kept[13:]) >= 0.6 > np.mean(kept[:8])
    assert all(trial.constraints["b"] <= 0.0 for trial in study.best_trials)


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 5 has it")
def test_while_nothing_is_feasible_feasibility_is_looked_for() -> None:
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=HeatSampler(seed=1, n_startup_trials=8)
    )

    def objective(trial: optuna.Trial) -> list[float]:
        letters = word(trial)
        trial.set_constraint("c", float(5 - letters.count("c")))
        return distances(letters, 2)

    study.optimize(objective, n_trials=24)
    broken = [trial.constraints["c"] for trial in study.trials]
    assert min(broken[:8]) > 0.0 >= min(broken[8:])


def test_parameters_that_exist_in_one_branch_only() -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=HeatSampler(seed=0, n_startup_trials=6)
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        if trial.suggest_categorical("branch", ("a", "b")) == "a":
            x = trial.suggest_float("of_a", 0.0, 1.0)
            return x, x
        y = trial.suggest_float("of_b", 0.0, 1.0)
        return 2.0 + y, 2.0 - y

    study.optimize(objective, n_trials=20)
    values = np.array([[t.values[0], -t.values[1]] for t in study.trials])
    assert hypervolume(values, np.array([4.0, 0.0])) > 5.2  # of 5.5 at the best
    asked = [trial.system_attrs["heat_plugins:asked"]["point"] for trial in study.trials[10:]]
    assert [point.keys() for point in asked] == [t.params.keys() for t in study.trials[10:]]


NAMES = ["x0", "x1", "x2"]
ARGUMENTS: dict[str, dict[str, Any]] = {
    **{kernel: {"kernel": kernel} for kernel in kernels_without_graph()},
    "isotropic": {"ard": False},
    "mixture": {"mixing": "mixture"},
    "padded sort": {"structure": PermutationInvariant(NAMES)},
    "sort": {"structure": PermutationInvariant(NAMES, "sort")},
    "group sum": {"structure": PermutationInvariant(NAMES, "sum")},
    "group product": {"structure": PermutationInvariant(NAMES, "product")},
    "rotations": {"structure": PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 0]])},
    "additive": {"structure": Additive()},
    "interactions": {"structure": InteractionOrders(2)},
    "decomposition": {"structure": RandomDecomposition()},
    "anchors": {"structure": Anchors(({"x0": "a", "x1": "a"}, {"x2": "b"}))},
    "auto": {"structure": "auto"},
    "graphs": {"kernel": "combo", "graphs": {"x0": "cycle", "x3": "path"}},
}


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_every_kernel_and_structure_runs(arguments: dict[str, Any], points: Points) -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"],
        sampler=HeatSampler(seed=0, n_startup_trials=5, **arguments),
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        letters = word(trial)
        return letters.count("a") + trial.suggest_float("y", 0.0, 1.0), float(letters.count("b"))

    study.optimize(objective, n_trials=6)
    assert len(set(points(study))) == 6
    assert study.trials[-1].system_attrs["heat_plugins:asked"]["region"] == 0


def test_every_storage_gives_the_same_trials_with_a_new_sampler_for_each(
    storage: BaseStorage | None,
) -> None:
    plain = optuna.create_study(
        directions=DIRECTIONS[3], sampler=HeatSampler(seed=3, n_startup_trials=4)
    )
    run(plain, 3, 9)
    study = optuna.create_study(directions=DIRECTIONS[3], storage=storage)
    for _ in range(9):
        study.sampler = HeatSampler(seed=3, n_startup_trials=4)
        run(study, 3, 1)
    assert [trial.params for trial in study.trials] == [trial.params for trial in plain.trials]


# ---------------------------------------------------------------------------- explanations
@pytest.mark.parametrize("directions", [["minimize"] * 2, ["minimize", "maximize"]])
def test_each_objective_is_explained_by_itself_and_in_its_own_direction(
    directions: list[str],
) -> None:
    study = optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        c = trial.suggest_categorical("c", ("a", "b", "c"))
        x = trial.suggest_float("x", 0.0, 1.0)
        return 100.0 * x, 10.0 * "abc".index(c)

    study.optimize(objective, n_trials=40)
    sampler = HeatSampler(seed=0, deterministic_objective=True)
    first, second = sampler.explain(study), sampler.explain(study, objective=1)
    assert sampler.explain(study, 0) == first
    place = dict(first.effects["x"])
    assert place[1.0] - place[0.0] == pytest.approx(100.0, abs=10.0)
    assert max(abs(effect) for _, effect in first.effects["c"]) < 10.0
    letter = dict(second.effects["c"])
    assert letter["c"] - letter["a"] == pytest.approx(20.0, abs=2.0)
    assert letter["b"] - letter["a"] == pytest.approx(10.0, abs=2.0)
    assert max(abs(effect) for _, effect in second.effects["x"]) < 2.0
