"""Every distribution, both directions, and choices that are hard to tell apart."""

import math
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from heat_plugins import HeatSampler
from heat_plugins.optuna.study_reader import StudyReader

# Optuna warns of every choice that JSON changes; here that is the point.
tuples_are_intended = pytest.mark.filterwarnings(
    "ignore:Choices for a categorical distribution should be a tuple:UserWarning"
)

EVERYTHING: dict[str, BaseDistribution] = {
    "choice": CategoricalDistribution(("a", "b", "c")),
    "flag": CategoricalDistribution((False, True)),
    "single": CategoricalDistribution(("only",)),
    "int": IntDistribution(-3, 4),
    "int_step": IntDistribution(0, 12, step=3),
    "int_log": IntDistribution(1, 1000, log=True),
    "int_single": IntDistribution(5, 5),
    "float": FloatDistribution(-1.0, 2.0),
    "float_step": FloatDistribution(0.0, 1.0, step=0.1),
    "float_log": FloatDistribution(1e-5, 1e-1, log=True),
    "float_single": FloatDistribution(0.5, 0.5),
}

TYPES = {"choice": str, "flag": bool, "single": str, "int": int, "float": float}


def loss(params: dict[str, Any]) -> float:
    return float(
        "abc".index(params["choice"])
        + params["flag"]
        + abs(params["int"] - 2)
        + abs(params["int_step"] - 6) / 3
        + abs(math.log10(params["int_log"]) - 1)
        + (params["float"] - 1) ** 2
        + abs(params["float_step"] - 0.3)
        + abs(math.log10(params["float_log"]) + 3)
    )


def run(sign: float, n_trials: int, *, direction: str, seed: int = 0) -> optuna.Study:
    study = optuna.create_study(
        direction=direction, sampler=HeatSampler(seed=seed, n_startup_trials=5)
    )
    for _ in range(n_trials):
        trial = study.ask(EVERYTHING)
        study.tell(trial, sign * loss(trial.params))
    return study


@pytest.fixture(scope="module")
def minimised() -> optuna.Study:
    return run(1.0, 40, direction="minimize")


def test_all_distributions_in_one_study_give_native_values_inside_their_ranges(
    minimised: optuna.Study,
) -> None:
    assert len(minimised.trials) == 40
    for trial in minimised.trials:
        for name, value in trial.params.items():
            distribution = EVERYTHING[name]
            assert type(value) is TYPES[name.split("_")[0]], (name, value)
            assert distribution._contains(distribution.to_internal_repr(value)), (name, value)


def test_all_distributions_in_one_study_are_optimised(minimised: optuna.Study) -> None:
    assert min(trial.value for trial in minimised.trials[:5]) > 2.0
    assert minimised.best_value < 1.0  # one step of one parameter


def test_maximising_is_minimising_the_negative_trial_by_trial(minimised: optuna.Study) -> None:
    maximised = run(-1.0, 15, direction="maximize")
    assert [t.params for t in maximised.trials] == [t.params for t in minimised.trials[:15]]
    assert maximised.best_value == -min(trial.value for trial in minimised.trials[:15])


ODD_CHOICES = (None, math.nan, 0, 1, 1.0, True, False, "1", "1.0", "None", "", (1, 2), ((1,), 2))


@tuples_are_intended
def test_odd_choices_are_all_different_points_in_every_storage(
    storage: BaseStorage | None,
) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=1, n_startup_trials=3))
    got: list[tuple[str, bool]] = []

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", ODD_CHOICES)  # type: ignore[arg-type]
        flag = trial.suggest_categorical("flag", (False, True))
        got.append((repr(x), flag))
        return float(len(repr(x)) + flag)

    study.optimize(objective, n_trials=2 * len(ODD_CHOICES))
    assert set(got) == {(repr(x), flag) for x in ODD_CHOICES for flag in (False, True)}


@tuples_are_intended
def test_odd_choices_of_running_trials_are_not_given_again(storage: BaseStorage | None) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=2, n_startup_trials=1))
    got: list[str] = []
    for number in range(len(ODD_CHOICES)):
        trial = study.ask()
        got.append(repr(trial.suggest_categorical("x", ODD_CHOICES)))  # type: ignore[arg-type]
        if number == 0:
            study.tell(trial, 0.0)
    assert study.trials[-1].state == TrialState.RUNNING
    assert sorted(got) == sorted(map(repr, ODD_CHOICES))


@tuples_are_intended
def test_the_model_sees_the_choices_that_the_objective_got(storage: BaseStorage | None) -> None:
    """Optuna itself stores 1.0 and True as 1, and a file gives tuples back as lists."""
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=3, n_startup_trials=4))
    got: list[str] = []

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", ODD_CHOICES)  # type: ignore[arg-type]
        got.append(repr(x))
        return float(trial.suggest_int("y", 0, 99))

    study.enqueue_trial({"x": True})
    study.optimize(objective, n_trials=16)
    current = study.ask()._cached_frozen_trial
    reader = StudyReader(study.sampler.infer_relative_search_space(study, current))
    history = reader.read(study.trials, study.directions, current, asked={})
    assert [repr(reader.space.decode(point)["x"]) for point in history.points] == got


@pytest.mark.parametrize("enqueued", [1, 1.0, True])
def test_an_enqueued_choice_is_told_from_its_equals(
    storage: BaseStorage | None, enqueued: Any
) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=4, n_startup_trials=0))
    got: list[str] = []

    def objective(trial: optuna.Trial) -> float:
        got.append(repr(trial.suggest_categorical("x", (1, 1.0, True, 2))))
        return 0.0

    study.enqueue_trial({"x": enqueued})
    study.optimize(objective, n_trials=4)
    assert got[0] == repr(enqueued)
    assert sorted(got) == sorted(["1", "1.0", "True", "2"])


@tuples_are_intended
def test_choices_reach_the_objective_as_they_were_given(storage: BaseStorage | None) -> None:
    given: Sequence[Any] = ((1, 2), [3, 4], {"depth": 5})
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=5, n_startup_trials=2))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", given)
        assert any(x is choice for choice in given)
        return float(trial.suggest_int("y", 0, 3))

    study.optimize(objective, n_trials=8)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 8


@tuples_are_intended
def test_a_pickled_sampler_still_knows_the_tuples_it_was_given(
    storage: BaseStorage | None, points: Callable[[optuna.Study], list[Any]]
) -> None:
    study = optuna.create_study(storage=storage, sampler=HeatSampler(seed=6, n_startup_trials=2))
    for _ in range(9):
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        trial = study.ask()
        x = trial.suggest_categorical("x", ((1, 2), (3, 4), (5, 6)))  # type: ignore[arg-type]
        study.tell(trial, float(x[0] + trial.suggest_int("y", 0, 2)))
    assert len({repr(point) for point in points(study)}) == 9


@tuples_are_intended
def test_a_new_sampler_learns_how_tuples_were_given(storage: BaseStorage | None) -> None:
    """The storage gives it lists; the objective shows it the tuples in the next trial."""
    study = optuna.create_study(storage=storage)
    for number in range(9):
        if number % 3 == 0:
            study.sampler = HeatSampler(
                seed=8, n_startup_trials=1, warn_independent_sampling=False
            )
        trial = study.ask()
        x = trial.suggest_categorical("x", ((1, 2), (3, 4), (5, 6)))  # type: ignore[arg-type]
        assert isinstance(x, tuple)
        study.tell(trial, float(x[0] + trial.suggest_int("y", 0, 2)))
    assert len(study.trials) == 9
    assert study.sampler.infer_relative_search_space(study, study.trials[-1]).keys() == {"x", "y"}


@tuples_are_intended
@pytest.mark.filterwarnings("ignore:.*is experimental:optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_tuples_after_resuming_are_as_the_guide_says(
    kind: str, tmp_path: Path, empty_database: Path
) -> None:
    """A journal gives them back; Optuna's databases refuse them, whichever sampler there is."""
    database = shutil.copy(empty_database, tmp_path)

    def go_on(sampler: BaseSampler) -> optuna.Study:
        storage: Any = f"sqlite:///{database}"
        if kind == "journal":
            storage = JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
        study = optuna.create_study(
            study_name="tuples", storage=storage, sampler=sampler, load_if_exists=True
        )
        study.optimize(
            lambda trial: sum(trial.suggest_categorical("x", ((1, 2), (3, 4)))),  # type: ignore
            n_trials=2,
        )
        return study

    assert len(go_on(HeatSampler(seed=0)).trials) == 2
    if kind == "journal":
        assert len(go_on(HeatSampler(seed=0)).trials) == 4
        return
    for sampler in (HeatSampler(seed=0), RandomSampler(seed=0)):
        with pytest.raises(ValueError, match="does not support dynamic value space"):
            go_on(sampler)


def test_a_choice_listed_twice_counts_once() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=7, deterministic_objective=True))
    study.optimize(
        lambda trial: float(trial.suggest_categorical("x", (1, 2, 1, 3, 2))), n_trials=20
    )
    assert sorted(trial.params["x"] for trial in study.trials) == [1, 2, 3]
