"""How long a running trial counts as pending, with the clock set by hand."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from heat_plugins import HeatSampler

MINUTE = timedelta(minutes=1)
YEAR = timedelta(days=365)
SPACE: dict[str, BaseDistribution] = {
    name: CategoricalDistribution(("a", "b", "c")) for name in ("x", "y")
}
ALL = {(x, y) for x in "abc" for y in "abc"}
Points = Callable[[optuna.Study], list[tuple[object, ...]]]


def trial(
    point: tuple[str, str], state: TrialState, began: timedelta, took: timedelta
) -> FrozenTrial:
    """A trial that began some time ago; Optuna's ``create_trial`` lets all begin now."""
    start = datetime.now() - began
    return FrozenTrial(
        number=-1,
        trial_id=-1,
        state=state,
        value=None if state == TrialState.RUNNING else float(point.count("b")),
        datetime_start=start,
        datetime_complete=None if state == TrialState.RUNNING else start + took,
        params=dict(zip(SPACE, point, strict=True)),
        distributions=SPACE,
        user_attrs={},
        system_attrs={},
        intermediate_values={},
    )


def study_of(
    storage: BaseStorage | None,
    sampler: HeatSampler,
    running_for: timedelta,
    each_took: timedelta,
) -> optuna.Study:
    """A study of nine points in which one is running and eight are complete."""
    study = optuna.create_study(storage=storage, sampler=sampler)
    points = sorted(ALL)
    for point in points[1:]:
        study.add_trial(trial(point, TrialState.COMPLETE, running_for + YEAR, each_took))
    study.add_trial(trial(points[0], TrialState.RUNNING, running_for, each_took))
    return study


@pytest.mark.parametrize(
    ("pending_timeout", "running_for", "each_took"),
    [(60.0, 2 * MINUTE, YEAR / 100), (None, YEAR, MINUTE)],
    ids=["given", "from durations"],
)
def test_the_point_of_an_overdue_trial_is_free_again(
    storage: BaseStorage | None,
    pending_timeout: float | None,
    running_for: timedelta,
    each_took: timedelta,
) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=1, pending_timeout=pending_timeout)
    study = study_of(storage, sampler, running_for, each_took)
    new = study.ask(SPACE)
    assert tuple(new.params[name] for name in SPACE) == min(ALL)


@pytest.mark.parametrize(
    ("pending_timeout", "running_for", "each_took"),
    [(YEAR.total_seconds(), 2 * MINUTE, MINUTE / 60), (None, MINUTE, 60 * MINUTE)],
    ids=["given", "from durations"],
)
def test_the_point_of_a_trial_in_time_is_not(
    storage: BaseStorage | None,
    pending_timeout: float | None,
    running_for: timedelta,
    each_took: timedelta,
    points: Points,
) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=1, pending_timeout=pending_timeout)
    study = optuna.create_study(storage=storage, sampler=sampler)
    study.add_trial(trial(("a", "a"), TrialState.COMPLETE, running_for + YEAR, each_took))
    study.add_trial(trial(("b", "b"), TrialState.RUNNING, running_for, each_took))
    for _ in range(7):
        study.ask(SPACE)
    assert set(points(study)) == ALL


def test_the_same_holds_at_start_up(points: Points) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=20, pending_timeout=60.0)
    study = study_of(None, sampler, 2 * MINUTE, MINUTE)
    study.ask(SPACE)
    assert points(study)[-1] == min(ALL)


@pytest.mark.parametrize("n_startup_trials", [1, 20])
def test_without_any_finished_trial_nothing_is_overdue(
    n_startup_trials: int, points: Points
) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=n_startup_trials)
    study = optuna.create_study(sampler=sampler)
    study.add_trial(trial(("b", "b"), TrialState.RUNNING, 60 * MINUTE, MINUTE))
    for _ in range(8):
        study.ask(SPACE)
    assert set(points(study)) == ALL


@pytest.mark.parametrize("dead", [("a", "a"), ("c", "c")])
def test_a_deterministic_study_is_not_over_before_the_point_of_an_overdue_trial_is_known(
    dead: tuple[str, str],
) -> None:
    """Of the two points that are left, one or the other is the dead worker's."""
    sampler = HeatSampler(
        seed=0, n_startup_trials=1, deterministic_objective=True, pending_timeout=60.0
    )
    study = optuna.create_study(sampler=sampler)
    for point in sorted(ALL - {("a", "a"), ("c", "c")}):
        study.add_trial(trial(point, TrialState.COMPLETE, YEAR, MINUTE))
    study.add_trial(trial(dead, TrialState.RUNNING, 2 * MINUTE, MINUTE))
    study.optimize(lambda t: len({t._suggest(n, d) for n, d in SPACE.items()}), n_trials=20)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert {tuple(trial.params[name] for name in SPACE) for trial in complete} == ALL
    assert len(complete) == 9


@pytest.mark.parametrize(
    ("pending_timeout", "running_for"), [(60.0, 2 * MINUTE), (None, YEAR)], ids=["given", "found"]
)
def test_no_suggestion_fights_for_its_point_with_an_overdue_trial(
    tmp_path: Path, pending_timeout: float | None, running_for: timedelta
) -> None:
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    written = []
    inner = storage.set_trial_system_attr
    storage.set_trial_system_attr = lambda *args: (written.append(args), inner(*args))
    sampler = HeatSampler(seed=0, n_startup_trials=1, pending_timeout=pending_timeout)
    study = study_of(storage, sampler, running_for, MINUTE)
    study.ask(SPACE)
    assert len(written) == 1


@pytest.mark.parametrize("pending_timeout", [-1.0, float("nan")])
def test_an_impossible_timeout_is_refused(pending_timeout: object) -> None:
    with pytest.raises(ValueError, match="pending_timeout"):
        HeatSampler(pending_timeout=pending_timeout)
