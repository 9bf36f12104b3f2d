"""What a sampler says about failed trials."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest

from heat_plugins import HeatSampler


def study_of(
    objective: Callable[[optuna.Trial], Any], n_trials: int, sampler: Any = None, **kwargs: Any
) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0) if sampler is None else sampler
    study = optuna.create_study(sampler=sampler, **kwargs)
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))
    return study


def kernel_time(trial: optuna.Trial) -> float:
    threads = trial.suggest_categorical("threads", ["few", "some", "many"])
    tile = trial.suggest_int("tile", 1, 8)
    rate = trial.suggest_float("rate", 0.0, 1.0)
    if threads == "many":
        raise RuntimeError("out of registers")
    return tile + rate


def random_failures(trial: optuna.Trial) -> float:
    value = trial.suggest_int("tile", 1, 8) + trial.suggest_float("rate", 0.0, 1.0)
    if np.random.default_rng(trial.number).random() < 0.3:
        raise RuntimeError("the machine is away")
    return value


@pytest.fixture(scope="module")
def failing_study() -> optuna.Study:
    return study_of(kernel_time, 60)


def test_a_choice_that_fails_is_named(failing_study: optuna.Study) -> None:
    found = HeatSampler(seed=0).explain(failing_study)
    failures = found.failures
    assert failures is not None and failures.depends
    assert failures.n_failed + failures.n_complete == 60
    assert failures.shares["threads"] > 0.9
    probabilities = {row.value: row.probability for row in failures.probabilities["threads"]}
    assert probabilities["many"] > 0.9
    assert max(probabilities["few"], probabilities["some"]) < 0.1
    lines = str(found).splitlines()
    first = lines.index(
        f"failures: {failures.n_failed} of 60 trials; they depend mostly on threads "
        f"({failures.shares['threads']:.2f})"
    )
    assert lines[first + 1].startswith("  share explained by parameters: ")
    assert lines[first + 2] == "probability of failure (with its 95% interval):"
    assert lines[first + 3].startswith("  threads: 'many' 100% (")
    assert len(lines) == first + 4


def test_the_objective_is_explained_as_before(failing_study: optuna.Study) -> None:
    with_failures = HeatSampler(seed=0).explain(failing_study)
    without = HeatSampler(seed=0, consider_failed_trials=False).explain(failing_study)
    assert without.failures is None and "fail" not in str(without)
    assert with_failures.effects == without.effects
    assert str(with_failures).startswith(str(without))


def test_nothing_is_said_where_nothing_failed() -> None:
    study = study_of(lambda trial: trial.suggest_int("tile", 1, 8), 8)
    found = HeatSampler().explain(study)
    assert found.failures is None and "fail" not in str(found)


def test_random_failures_are_called_chance() -> None:
    found = HeatSampler().explain(study_of(random_failures, 60))
    assert found.failures is not None and not found.failures.depends
    assert (
        str(found)
        .splitlines()[-1]
        .endswith("of 60 trials; they look like chance: no parameter is seen to make a difference")
    )


def test_where_all_failed_there_is_nothing_to_explain() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("tile", 1, 8)
        raise RuntimeError("no luck")

    with pytest.raises(ValueError, match="at least 1 complete trial"):
        HeatSampler().explain(study_of(objective, 5))


def test_all_but_one_failed() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_int("tile", 1, 8)
        if trial.number != 3:
            raise RuntimeError("no luck")
        return value

    text = str(HeatSampler().explain(study_of(objective, 8)))
    assert "failures: 7 of 8 trials; they look like chance" in text


def test_several_objectives_fail_together() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        return kernel_time(trial), 1.0

    study = study_of(objective, 40, directions=["minimize", "maximize"])
    first, second = (HeatSampler().explain(study, objective=i).failures for i in range(2))
    assert first is not None and first == second and first.shares["threads"] > 0.9


@pytest.mark.parametrize("asks_first", [True, False], ids=["numbers in it", "at once"])
def test_a_branch_that_never_succeeded_is_named(asks_first: bool) -> None:
    """Its own parameters are known from failed trials alone."""

    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["tree", "net", "svm"])
        if model == "svm":
            if asks_first:
                trial.suggest_float("gamma", 0.0, 1.0)
            raise RuntimeError("not installed")
        if model == "net":
            return trial.suggest_float("rate", 0.0, 1.0)
        return trial.suggest_int("depth", 1, 9) / 9.0

    found = HeatSampler(seed=0).explain(study_of(objective, 40))
    failures = found.failures
    assert failures is not None and failures.depends and failures.n_unplaced == 0
    assert failures.shares["model"] > 0.9
    assert ("gamma" in failures.shares) == asks_first
    assert "gamma" not in found.effects
    worst = max(failures.probabilities["model"], key=lambda row: row.probability)
    assert worst.value == "svm" and worst.probability > 0.9
    assert "depend mostly on model (1.00)" in str(found)


def test_failures_before_all_parameters_are_known() -> None:
    def objective(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("rate", 0.0, 1.0)
        if rate > 0.6:
            raise RuntimeError("diverged")
        return rate + trial.suggest_float("decay", 0.0, 1.0)

    text = str(HeatSampler().explain(study_of(objective, 20)))
    assert "of 20 trials; what they depend on is not known" in text
    assert text.splitlines()[-1].endswith("of them had not asked for all parameters yet")


def test_trials_pruned_without_a_report_count_as_failures() -> None:
    def objective(trial: optuna.Trial) -> float:
        try:
            return kernel_time(trial)
        except RuntimeError as error:
            raise optuna.TrialPruned from error

    failures = HeatSampler().explain(study_of(objective, 40)).failures
    assert failures is not None and failures.shares["threads"] > 0.9


def test_only_what_matters_is_written() -> None:
    """The five values that fail most, of parameters with a share."""

    def objective(trial: optuna.Trial) -> float:
        tile = trial.suggest_categorical("tile", list("abcdefgh"))
        rate = trial.suggest_float("rate", 0.0, 1.0)
        trial.suggest_float("idle", 0.0, 1.0)
        if tile in "ab" or rate > 0.8:
            raise RuntimeError("no luck")
        return rate

    lines = str(HeatSampler().explain(study_of(objective, 100))).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("failures"))
    assert "depend mostly on tile (" in lines[first] and ") and rate (" in lines[first]
    assert [line.partition(":")[0] for line in lines[first + 3 :]] == ["  tile", "  rate"]
    assert lines[first + 3].endswith(", ...") and lines[first + 3].count("%") == 15


def test_a_running_study_is_explained_without_warnings() -> None:
    study = study_of(kernel_time, 25, HeatSampler(seed=0))
    study.ask()
    sampler = study.sampler
    assert isinstance(sampler, HeatSampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sampler.explain(study) == sampler.explain(study)
