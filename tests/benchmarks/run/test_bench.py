"""What `python -m heat_plugins.benchmarks` does, on a small scale."""

import numpy as np
import optuna
import pytest

from heat_plugins.benchmarks import __main__ as command
from heat_plugins.benchmarks.problems.problem import Problem
from heat_plugins.benchmarks.run.extremes import CASES, _measured
from heat_plugins.benchmarks.run.speed import _grown
from heat_plugins.benchmarks.run.studies import continue_study, new_study, run
from heat_plugins.optuna import HeatSampler
from heat_plugins.suggest import Settings

optuna.logging.set_verbosity(optuna.logging.WARNING)

COUNT = Problem("count", "how many codes are not zero", (3,) * 12, lambda c: float(np.sum(c != 0)))


def test_a_run_records_the_values_of_the_problem_and_the_time_of_each_suggestion() -> None:
    seen: list[float] = []
    record = run(COUNT, optuna.samplers.RandomSampler(seed=0), 7, seen.append)
    assert record.values == seen
    assert len(record.seconds) == 7 and min(record.seconds) >= 0.0
    assert record.best == min(seen)
    assert all(value == int(value) and 0 <= value <= 12 for value in seen)


def test_parameters_keep_the_order_of_the_variables() -> None:
    """Optuna sorts parameters by name, and a problem is a function of their order."""
    first = Problem(
        "first", "the first ten codes", (3,) * 12, lambda c: float(c[:10] @ 3 ** np.arange(10))
    )
    past = [np.arange(12) % 3, np.arange(12) // 4]
    study = new_study(first, optuna.samplers.RandomSampler(seed=0), past)
    assert [trial.value for trial in study.trials] == [first(codes) for codes in past]
    record = continue_study(study, first, 3)
    for trial, value in zip(study.trials[2:], record.values, strict=True):
        assert first(np.array([trial.params[name] for name in sorted(trial.params)])) == value


def test_a_model_beats_random_points_on_an_easy_problem() -> None:
    heat = run(COUNT, HeatSampler(seed=0, deterministic_objective=True), 45)
    random = run(COUNT, optuna.samplers.RandomSampler(seed=0), 45)
    assert heat.best == 0.0
    assert heat.best < random.best


def test_growth_is_measured_in_seconds_and_megabytes() -> None:
    seconds, megabytes = _grown((3,) * 8, 30)
    assert 0.0 < seconds < 60.0
    assert megabytes > 10.0


def test_extremes_are_measured_in_seconds_and_megabytes() -> None:
    first, later, megabytes = _measured("300 constraints of one trial of 101")
    assert 0.0 < later
    assert 0.0 < first
    assert megabytes >= 0.0


@pytest.mark.parametrize("name", CASES)
def test_extremes_have_trials_enough_for_the_model(name: str) -> None:
    space, history = CASES[name]()
    assert history.points.shape == (len(history.values), len(space))
    assert not Settings().is_starting_up(len(space), len(history.points))


def test_tables_are_markdown(capsys) -> None:
    command._table(iter([{"problem": "a", "cpu_seconds": 0.123456}]))
    assert capsys.readouterr().out.splitlines() == [
        "| problem | cpu seconds |",
        "|---|---|",
        "| a | 0.1235 |",
    ]
