"""When the start-up ends: after as many trials as were promised, and with a value."""

import math

import optuna
import pytest
from optuna.trial import TrialState

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION
from heat_plugins.optuna.reservation_record import RESERVATION_KEY
from heat_plugins.suggest import Settings


def n_random(study: optuna.Study) -> int:
    """How many trials after the first, which knows no parameters yet, the model did not choose."""
    regions = [trial.system_attrs[RESERVATION_KEY]["region"] for trial in study.trials[1:]]
    assert regions == sorted(regions)  # no random ones once the model has begun
    return 1 + regions.count(NO_REGION)


@pytest.mark.parametrize(
    ("n_parameters", "expected"), [(1, 5), (4, 5), (7, 7), (10, 10), (30, 10)]
)
def test_it_is_as_long_as_there_are_parameters(n_parameters: int, expected: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    study.optimize(
        lambda t: sum(t.suggest_float(f"x{i}", 0.0, 1.0) for i in range(n_parameters)), n_trials=13
    )
    assert n_random(study) == expected


@pytest.mark.parametrize("n_startup", [0, 1, 3, 8])
def test_a_number_that_is_given_is_kept(n_startup: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=n_startup))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=10)
    assert n_random(study) == max(n_startup, 1)


@pytest.mark.parametrize("bad", [math.nan, None])
def test_failed_trials_count(bad: float | None) -> None:
    """Otherwise a study of which few trials succeed would draw at random for ever."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=6))

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_categorical(f"x{i}", "abc") for i in range(6)]
        if trial.number != 2 and x[0] != "a":
            if bad is None:
                raise RuntimeError("does not run")
            return bad
        return float(sum(letter != "b" for letter in x[1:]))

    study.optimize(objective, n_trials=20, catch=(RuntimeError,))
    assert n_random(study) == 6
    states = [trial.state for trial in study.trials]
    assert states[:6].count(TrialState.FAIL) >= 2
    # What failures depend on is learnt.
    assert states[10:].count(TrialState.COMPLETE) > states[10:].count(TrialState.FAIL)


def test_what_failures_depend_on_need_not_be_learnt() -> None:
    def n_failed(consider: bool) -> int:
        sampler = HeatSampler(seed=0, consider_failed_trials=consider)
        study = optuna.create_study(sampler=sampler)

        def objective(trial: optuna.Trial) -> float:
            x = [trial.suggest_categorical(f"x{i}", "abc") for i in range(5)]
            if x[0] != "a":
                raise RuntimeError("does not run")
            return float(sum(letter != "b" for letter in x[1:]))

        study.optimize(objective, n_trials=30, catch=(RuntimeError,))
        return sum(trial.state == TrialState.FAIL for trial in study.trials)

    assert n_failed(True) < n_failed(False)


def test_a_study_whose_every_trial_fails_gets_new_points() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("a", range(5))  # type: ignore[arg-type]
        trial.suggest_categorical("b", range(5))  # type: ignore[arg-type]
        raise RuntimeError("does not run")

    study.optimize(objective, n_trials=20, catch=(RuntimeError,))
    assert n_random(study) == 20
    assert len({(t.params["a"], t.params["b"]) for t in study.trials}) == 20


def test_settings_without_a_value_never_end_the_start() -> None:
    settings = Settings(n_startup_trials=4)
    assert settings.is_starting_up(3, 0, 100)
    assert settings.is_starting_up(3, 2, 1)
    assert not settings.is_starting_up(3, 1, 3)
    assert Settings().is_starting_up(8, 7) and not Settings().is_starting_up(8, 8)


def numbers_of(trial: optuna.Trial) -> dict[str, float]:
    trial.suggest_categorical("c", "abcd")
    return {
        "x": trial.suggest_float("x", -1.0, 3.0),
        "rate": trial.suggest_float("rate", 1e-4, 1.0, log=True),
        "n": trial.suggest_int("n", 1, 9),
        "even": trial.suggest_int("even", 0, 100, step=2),
        "step": trial.suggest_float("step", 0.0, 1.0, step=0.25),
    }


def test_the_numbers_of_the_first_trial_are_in_the_middle() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    study.optimize(lambda t: sum(numbers_of(t).values()), n_trials=5)
    middle = {"x": 1.0, "rate": 0.01, "n": 5, "even": 50, "step": 0.5}
    first = dict(study.trials[0].params)
    first.pop("c")
    assert first == pytest.approx(middle)
    for later in study.trials[1:]:
        assert later.params["x"] != 1.0 and later.params["rate"] != pytest.approx(0.01)


def test_a_switch_has_no_middle_and_neither_has_a_trial_that_is_not_the_first() -> None:
    firsts = set()
    for seed in range(12):
        study = optuna.create_study(sampler=HeatSampler(seed=seed))
        study.enqueue_trial({"x": 0.25})
        study.optimize(
            lambda t: t.suggest_int("switch", 0, 1) + t.suggest_float("x", 0.0, 1.0), n_trials=2
        )
        assert study.trials[0].params["x"] == 0.25
        assert study.trials[1].params["x"] != 0.5
        firsts.add(study.trials[0].params["switch"])
    assert firsts == {0, 1}


def test_of_trials_that_begin_at_once_one_has_the_middle() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    trials = [study.ask() for _ in range(6)]
    drawn = [tuple(numbers_of(trial).values()) for trial in trials]
    assert drawn[0] == pytest.approx((1.0, 0.01, 5, 50, 0.5))
    assert all(values[0] != 1.0 for values in drawn[1:])
    assert len(set(drawn)) == 6


def test_the_middle_keeps_what_the_user_allows() -> None:
    sampler = HeatSampler(seed=0, is_feasible=lambda params: params.get("x", 9.0) > 0.6)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=1)
    assert study.trials[0].params["x"] > 0.6
