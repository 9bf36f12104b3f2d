"""What the model does not choose: start-up with another sampler, spaces that change."""

from collections.abc import Callable, Sequence
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial, TrialState

from heat_plugins import HeatSampler

Points = Callable[[optuna.Study], list[tuple[object, ...]]]


class RecordingSampler(RandomSampler):
    """Remembers how it was called."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.calls: list[tuple[Any, ...]] = []

    def reseed_rng(self) -> None:
        self.calls.append(("reseed",))
        super().reseed_rng()

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self.calls.append(("before", trial.number))

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        self.calls.append(("sample", trial.number, name))
        return super().sample_independent(study, trial, name, distribution)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self.calls.append(("after", trial.number, state, values))


def two_letters(trial: optuna.Trial) -> float:
    x = trial.suggest_categorical("x", ("a", "b", "c", "d"))
    return float((x == "a") + (trial.suggest_categorical("y", ("a", "b", "c", "d")) == "b"))


def test_the_independent_sampler_draws_the_start_up_trials_and_no_others() -> None:
    independent = RecordingSampler()
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, independent_sampler=independent)
    )
    study.optimize(two_letters, n_trials=6)
    drawn = [call[1:] for call in independent.calls if call[0] == "sample"]
    assert drawn == [(number, name) for number in range(3) for name in "xy"]


def test_the_values_of_the_independent_sampler_are_used_as_they_are() -> None:
    def startup(sampler: optuna.samplers.BaseSampler) -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=sampler)
        study.optimize(two_letters, n_trials=12)
        return [trial.params for trial in study.trials]

    alone = RecordingSampler()
    inside = HeatSampler(n_startup_trials=12, independent_sampler=RecordingSampler())
    assert startup(alone) == startup(inside)


def test_before_after_and_reseed_are_forwarded_to_the_independent_sampler() -> None:
    independent = RecordingSampler()
    sampler = HeatSampler(seed=0, n_startup_trials=1, independent_sampler=independent)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("x", 0, 9)
        if trial.number == 1:
            raise RuntimeError("this trial fails")
        if trial.number == 2:
            raise optuna.TrialPruned
        return 7.0

    study.optimize(objective, n_trials=3, catch=RuntimeError)
    sampler.reseed_rng()
    assert independent.calls == [
        ("before", 0),
        ("sample", 0, "x"),
        ("after", 0, TrialState.COMPLETE, [7.0]),
        ("before", 1),
        ("after", 1, TrialState.FAIL, None),
        ("before", 2),
        ("after", 2, TrialState.PRUNED, None),
        ("reseed",),
    ]


def test_without_an_independent_sampler_the_start_up_points_differ(points: Points) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=16))
    study.optimize(two_letters, n_trials=16)
    assert len(set(points(study))) == 16


def moving(trial: optuna.Trial) -> float:
    """Every range is a new one: what the model chooses is never what is asked for."""
    low = 2.0 * trial.number
    return trial.suggest_float("x", low, low + 1.0) + trial.suggest_float("y", low, low + 1.0)


def conditional(trial: optuna.Trial) -> float:
    x = trial.suggest_categorical("x", ("a", "b"))
    return trial.suggest_float("for_a" if x == "a" else "for_b", 0.0, 1.0)


def test_independent_sampling_is_warned_of_once_for_each_parameter(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(moving, n_trials=2)
    assert not optuna_log.records  # at start-up everything is random anyway
    study.optimize(moving, n_trials=6)
    messages = [record.getMessage() for record in optuna_log.records]
    assert len(messages) == 2
    for name in ("'x' in trial#2", "'y' in trial#2"):
        assert sum(name in message for message in messages) == 1
    assert {record.name for record in optuna_log.records} == {"optuna.heat_plugins"}


def test_conditional_parameters_are_not_warned_of(optuna_log: pytest.LogCaptureFixture) -> None:
    """Neither when they are new nor afterwards, when the model chooses them."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(conditional, n_trials=10)
    assert {trial.params["x"] for trial in study.trials} == {"a", "b"}
    assert not optuna_log.records


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_what_the_objective_has_to_show_first_is_not_warned_of(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    """A new sampler cannot know whether lists in a study were tuples once."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))

    def objective(trial: optuna.Trial) -> float:
        choices: Any = ([1], [1, 2])
        return trial.suggest_float("x", 0.0, 1.0) + len(trial.suggest_categorical("c", choices))

    study.optimize(objective, n_trials=4)
    study.sampler = HeatSampler(seed=0, n_startup_trials=2)
    study.optimize(objective, n_trials=3)
    assert not optuna_log.records


def test_the_warning_of_independent_sampling_can_be_switched_off(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, warn_independent_sampling=False)
    )
    study.optimize(moving, n_trials=8)
    assert len(study.trials) == 8
    assert not optuna_log.records


def test_the_logger_follows_the_verbosity_of_optuna(optuna_log: pytest.LogCaptureFixture) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=0))
    study.optimize(moving, n_trials=4)
    assert not optuna_log.records


def test_an_ordinary_study_logs_no_warning(optuna_log: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(two_letters, n_trials=8)
    assert len(study.trials) == 8
    assert not optuna_log.records


def test_common_parameters_of_a_conditional_space_are_optimised() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=6))

    def objective(trial: optuna.Trial) -> float:
        branch = trial.suggest_categorical("branch", ("a", "b", "c", "d"))
        if branch == "a":
            trial.suggest_float("extra", 0.0, 1.0)
        letters = [trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(4)]
        return float((branch != "a") + sum(letter != "b" for letter in letters))

    study.optimize(objective, n_trials=30)
    assert study.best_value == 0.0
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 30


def test_a_parameter_that_appears_late_does_not_disturb_the_others(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))

    def objective(trial: optuna.Trial) -> float:
        value = sum(trial.suggest_categorical(f"x{i}", (0, 1, 2)) for i in range(4))
        if trial.number >= 8:
            trial.suggest_categorical("late", ("a", "b"))
        return float(value)

    study.optimize(objective, n_trials=24)
    assert study.best_value == 0.0
    assert {trial.params["late"] for trial in study.trials[8:]} == {"a", "b"}
    assert not optuna_log.records


@pytest.mark.parametrize("bounds", [(0, 5), (0, 20), (20, 30)])
def test_a_range_that_changes_is_respected_from_then_on(bounds: tuple[int, int]) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=2, warn_independent_sampling=False)
    )

    def objective(trial: optuna.Trial) -> float:
        low, high = (0, 10) if trial.number < 6 else bounds
        x = trial.suggest_int("x", low, high)
        y = trial.suggest_float("y", low, high)
        return float(x + y + trial.suggest_categorical("same", (0, 1, 2)))

    study.optimize(objective, n_trials=14)
    low, high = bounds
    for trial in study.trials[6:]:
        assert low <= trial.params["x"] <= high
        assert low <= trial.params["y"] <= high
    assert {trial.params["same"] for trial in study.trials} == {0, 1, 2}


def test_trials_with_nothing_in_common_are_sampled_independently() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=1, warn_independent_sampling=False)
    )
    study.optimize(lambda trial: trial.suggest_float(f"x{trial.number}", 0.0, 1.0), n_trials=5)
    assert [list(trial.params) for trial in study.trials] == [[f"x{i}"] for i in range(5)]
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 5


def test_an_objective_without_parameters_runs() -> None:
    study = optuna.create_study(sampler=HeatSampler(n_startup_trials=0))
    study.optimize(lambda trial: 1.0, n_trials=3)
    assert [trial.value for trial in study.trials] == [1.0, 1.0, 1.0]


def test_numbers_of_a_narrow_range_are_those_of_python() -> None:
    """Optuna's random sampler draws the number below the upper bound as one of NumPy."""
    random = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(sampler=HeatSampler(seed=0, independent_sampler=random))
    values = [study.ask().suggest_float("x", 1e15, 1e15 + 1.0) for _ in range(40)]
    assert {type(value) for value in values} == {float}
