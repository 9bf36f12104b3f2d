"""No point twice while there is a new one; what happens when there is none; many threads."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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

Points = Callable[[optuna.Study], list[tuple[object, ...]]]
Space = dict[str, BaseDistribution]

NINE_POINTS: dict[str, Space] = {
    "categorical": {
        "x": CategoricalDistribution(("a", "b", "c")),
        "y": CategoricalDistribution(("a", "b", "c")),
    },
    "int": {"x": IntDistribution(-1, 1), "y": IntDistribution(0, 4, step=2)},
    "int_log": {"x": IntDistribution(1, 9, log=True)},
    "float_step": {
        "x": FloatDistribution(0.1, 0.3, step=0.1),
        "y": FloatDistribution(-1.0, 1.0, step=1.0),
    },
    "mixed": {"x": CategoricalDistribution((None, True, 1.5)), "y": IntDistribution(7, 9)},
    "with_single": {
        "only": CategoricalDistribution(("one",)),
        "x": CategoricalDistribution(tuple(range(9))),
    },
}


def value_of(trial: optuna.Trial) -> float:
    return float(sum(map(len, map(repr, trial.params.values()))))


@pytest.mark.parametrize("space", NINE_POINTS.values(), ids=NINE_POINTS.keys())
@pytest.mark.parametrize("n_startup_trials", [0, 20])
def test_nine_trials_find_each_of_nine_points(
    space: Space, n_startup_trials: int, points: Points
) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=n_startup_trials)
    study = optuna.create_study(sampler=sampler)
    for _ in range(9):
        trial = study.ask(space)
        study.tell(trial, value_of(trial))
    assert len(set(points(study))) == 9


@pytest.mark.parametrize("space", NINE_POINTS.values(), ids=NINE_POINTS.keys())
@pytest.mark.parametrize("seed", range(2))
def test_failed_pruned_and_running_trials_are_not_repeated_either(
    space: Space, seed: int, points: Points
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed, n_startup_trials=2))
    endings = [TrialState.FAIL, TrialState.RUNNING, TrialState.PRUNED, TrialState.COMPLETE]
    for number in range(9):
        trial = study.ask(space)
        ending = endings[number % 4]
        if ending == TrialState.COMPLETE:
            study.tell(trial, value_of(trial))
        elif ending != TrialState.RUNNING:
            study.tell(trial, state=ending)
    assert len(set(points(study))) == 9


def test_no_point_is_repeated_in_a_space_too_large_to_list(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=5))
    space: Space = {f"x{i}": CategoricalDistribution((0, 1)) for i in range(12)}
    for _ in range(40):  # a narrow optimum, around which all good points are soon known
        trial = study.ask(space)
        study.tell(trial, float(sum(trial.params.values()) ** 2))
    assert len(set(points(study))) == 40


def test_floats_are_not_repeated_on_a_plateau(points: Points) -> None:
    """An accuracy on 200 cases has many best points; a log scale has its last bits."""

    def accuracy(trial: optuna.Trial) -> float:
        rate = math.log10(trial.suggest_float("lr", 1e-5, 1e-1, log=True))
        share = trial.suggest_float("drop", 0.0, 0.9)
        name = trial.suggest_categorical("opt", ["sgd", "adam", "rms"])
        depth = trial.suggest_int("n", 1, 8)
        value = 0.9 - 0.02 * (rate + 3) ** 2 - 0.05 * (share - 0.3) ** 2
        value -= 0.03 * (name != "adam") + 0.002 * (depth - 4) ** 2
        return round(200 * value) / 200

    study = optuna.create_study(direction="maximize", sampler=HeatSampler(seed=0))
    study.optimize(accuracy, n_trials=66)
    seen = {
        (round(drop, 7), round(math.log(rate), 7), *rest)
        for drop, rate, *rest in points(study)  # sorted by name
    }
    assert len(seen) == 66


def test_trials_asked_for_before_any_is_told_are_different(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    for _ in range(9):
        study.ask(NINE_POINTS["categorical"])
    assert len(set(points(study))) == 9


def test_a_typed_decimal_is_the_point_of_the_grid_next_to_it() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))
    study.enqueue_trial({"x": 0.3})  # the grid has 0.1 + 0.1 + 0.1
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 0.5, step=0.1), n_trials=20)
    assert sorted(round(trial.params["x"], 9) for trial in study.trials) == [
        0.0, 0.1, 0.2, 0.3, 0.4, 0.5
    ]  # fmt: skip


@pytest.mark.parametrize("space", NINE_POINTS.values(), ids=NINE_POINTS.keys())
@pytest.mark.parametrize("n_startup_trials", [0, 20])
def test_a_deterministic_study_stops_with_a_warning_when_all_points_are_known(
    space: Space,
    n_startup_trials: int,
    points: Points,
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(
            seed=0, n_startup_trials=n_startup_trials, deterministic_objective=True
        )
    )

    def objective(trial: optuna.Trial) -> float:
        for name, distribution in space.items():
            trial._suggest(name, distribution)
        return value_of(trial)

    study.optimize(objective, n_trials=20)
    assert len(study.trials) == len(set(points(study))) == 9
    warnings = [record for record in optuna_log.records if record.levelname == "WARNING"]
    assert [record.name for record in warnings] == ["optuna.heat_plugins"]
    assert "stops the study" in warnings[0].getMessage()


def test_a_deterministic_study_stops_when_the_last_points_fail() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_int("x", 0, 5)
        if x == 2:
            raise RuntimeError("this point fails")
        if x == 3:
            raise optuna.TrialPruned
        return float(x)

    study.optimize(objective, n_trials=20, catch=RuntimeError)
    assert sorted(trial.params["x"] for trial in study.trials) == [0, 1, 2, 3, 4, 5]


def test_a_deterministic_study_runs_what_is_enqueued_before_it_stops() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_int("x", 0, 5)
        if len(study.trials) == 5:
            left = set(range(6)) - {other.params["x"] for other in study.trials}
            study.enqueue_trial({"x": left.pop()})
        return float(x)

    study.optimize(objective, n_trials=20)
    assert sorted(trial.params["x"] for trial in study.trials) == [0, 1, 2, 3, 4, 5]
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


def test_a_new_sampler_sees_at_once_that_everything_has_been_tried() -> None:
    """Even if it has not been asked for a point, because all values were given."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 3)), n_trials=10)
    assert len(study.trials) == 4
    study.sampler = HeatSampler(seed=0, deterministic_objective=True)
    study.enqueue_trial({"x": 1})
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 3)), n_trials=10)
    assert len(study.trials) == 5


@pytest.mark.parametrize("wide", [(0, 11), (-6, 5), (20, 31)])
def test_a_study_that_has_stopped_goes_on_in_a_wider_range(wide: tuple[int, int]) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, deterministic_objective=True, warn_independent_sampling=False)
    )
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 5)), n_trials=20)
    assert len(study.trials) == 6
    study.optimize(lambda trial: float(trial.suggest_int("x", *wide)), n_trials=20)
    tried = [trial.params["x"] for trial in study.trials]
    assert set(range(wide[0], wide[1] + 1)) <= set(tried)
    assert len(tried) <= len(set(tried)) + 1  # the first one knows of the old range only


def test_a_noisy_study_goes_on_and_repeats_points(
    points: Points, optuna_log: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", ("a", "b", "c"))
        y = trial.suggest_int("y", 0, 2)
        return float((x != "b") + y) + 0.01 * math.sin(trial.number)

    study.optimize(objective, n_trials=18)
    counts = Counter(points(study))
    assert len(study.trials) == 18
    assert len(set(points(study)[:9])) == 9
    assert counts[("b", 0)] >= 2  # the best one is worth measuring again
    (record,) = optuna_log.records  # said once, not with every trial
    assert record.levelname == "WARNING"
    assert "has been tried: further trials repeat points" in record.getMessage()


@pytest.mark.parametrize("deterministic", [False, True])
def test_asking_beyond_the_last_point_by_hand_repeats_points(
    deterministic: bool, points: Points, optuna_log: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, deterministic_objective=deterministic)
    )
    for _ in range(13):
        trial = study.ask(NINE_POINTS["mixed"])
        study.tell(trial, value_of(trial))
    assert len(set(points(study)[:9])) == 9
    assert len(study.trials) == 13
    said = ["repeat points" in record.getMessage() for record in optuna_log.records]
    assert said == [True]  # once, not with every trial


def test_asking_beyond_the_last_point_with_all_trials_running_repeats_points() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    space: Space = {"x": CategoricalDistribution(("a", "b"))}
    study.tell(study.ask(space), 1.0)
    asked = [study.ask(space).params["x"] for _ in range(4)]
    assert {study.trials[0].params["x"], asked[0]} == {"a", "b"}
    assert set(asked) <= {"a", "b"}


def test_a_deterministic_study_with_conditional_parameters_does_not_stop() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, deterministic_objective=True, warn_independent_sampling=False)
    )

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("branch", ("left", "right")) == "left":
            return trial.suggest_float("left", 0.0, 1.0)
        return float(trial.suggest_int("right", 0, 9))

    study.optimize(objective, n_trials=15)
    assert len(study.trials) == 15
    assert {trial.params["branch"] for trial in study.trials} == {"left", "right"}


@pytest.mark.parametrize("seed", range(3))
def test_a_bound_beyond_which_a_parameter_is_missing_is_not_repeated(
    seed: int, points: Points
) -> None:
    """The best value is on a bound of ``x``, and a climb to it leaves ``y`` behind."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        y = trial.suggest_int("y", -7, 7) if x <= 0.6 else 0
        return abs(y) / 20 - x

    sampler = HeatSampler(seed=seed, n_startup_trials=4, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=20)
    assert len(set(points(study))) == 20
    assert study.best_value == -1.0


def test_conditional_parameters_of_a_finite_branch_do_not_repeat(points: Points) -> None:
    """The common parameter alone is soon exhausted; the independent ones must differ then."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, warn_independent_sampling=False))

    def objective(trial: optuna.Trial) -> float:
        branch = trial.suggest_categorical("branch", ("left", "right"))
        return float(trial.suggest_int(branch, 0, 19))

    study.optimize(objective, n_trials=16)
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 16


@pytest.mark.parametrize("n_startup_trials", [0, 10])
def test_four_threads_get_different_points(n_startup_trials: int, points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(n_startup_trials=n_startup_trials))

    def objective(trial: optuna.Trial) -> float:
        letters = []
        for i in range(3):
            time.sleep(0.001)  # let the other threads ask in between
            letters.append(trial.suggest_categorical(f"x{i}", ("a", "b", "c")))
        time.sleep(0.002)
        return float(letters.count("b"))

    study.optimize(objective, n_trials=24, n_jobs=4)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert len(set(points(study))) == 24  # of 27


def test_threads_that_ask_for_one_parameter_after_the_other_get_different_points() -> None:
    """Between the suggestions every thread waits for the others."""
    n_threads = 4
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=0))
    space: Space = {f"x{i}": CategoricalDistribution(("a", "b")) for i in range(4)}
    study.tell(study.ask(space), 1.0)
    barrier = threading.Barrier(n_threads)

    def work(_: int) -> tuple[str, ...]:
        letters = []
        trial = study.ask()
        for name in space:
            barrier.wait(timeout=30)
            letters.append(trial.suggest_categorical(name, ("a", "b")))
        barrier.wait(timeout=30)
        study.tell(trial, float(letters.count("b")))
        return tuple(letters)

    with ThreadPoolExecutor(n_threads) as pool:
        found = [point for _ in range(3) for point in pool.map(work, range(n_threads))]
    assert len({*found, tuple(study.trials[0].params.values())}) == 13  # of 16


def test_a_value_that_the_model_does_not_choose_goes_with_those_that_it_does() -> None:
    """One trial had `p` as a number, so `p` is drawn; what the model chose is asked for later."""
    p, q = CategoricalDistribution(["a", "b"]), CategoricalDistribution(["x", "y"])
    n_new = 0
    for seed in range(12):
        study = optuna.create_study(sampler=HeatSampler(seed=seed, n_startup_trials=1))
        for pair in (("a", "x"), ("a", "y"), ("b", "x")):
            params = dict(zip("pq", pair, strict=True))
            study.add_trial(
                optuna.create_trial(params=params, distributions={"p": p, "q": q}, value=1.0)
            )
        number = FloatDistribution(0.0, 1.0)
        study.add_trial(
            optuna.create_trial(
                params={"p": 0.5}, distributions={"p": number}, state=TrialState.FAIL
            )
        )
        trial = study.ask()
        found = (
            trial.suggest_categorical("p", p.choices),
            trial.suggest_categorical("q", q.choices),
        )
        n_new += found[1] == "y"
        assert found[1] == "x" or found == ("b", "y")
    assert n_new > 1


def test_four_threads_stop_a_deterministic_study(points: Points) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(n_startup_trials=2, deterministic_objective=True)
    )

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("y", 0, 2)
        return float(trial.suggest_categorical("x", (1, 2, 3)))

    study.optimize(objective, n_trials=100, n_jobs=4)
    assert len(set(points(study))) == 9
    assert len(study.trials) <= 9 + 4  # those which had begun when the ninth point ended


def test_several_studies_on_one_storage_do_not_mix(
    storage: BaseStorage | None, points: Points
) -> None:
    """One sampler for two studies: each gets what a sampler of its own would give it."""

    def run(sampler: HeatSampler, choices: tuple[str, ...]) -> optuna.Study:
        study = optuna.create_study(storage=storage, sampler=sampler)

        def objective(trial: optuna.Trial) -> float:
            return choices.index(trial.suggest_categorical("x", choices)) + trial.suggest_float(
                "y", 0.0, 1.0
            )

        study.optimize(objective, n_trials=6)
        return study

    shared = HeatSampler(seed=0, n_startup_trials=2)
    for choices in (("a", "b", "c"), ("d", "e", "f", "g")):
        alone = HeatSampler(seed=0, n_startup_trials=2)
        assert points(run(shared, choices)) == points(run(alone, choices))
