"""Trials that have finished are looked at once."""

from collections.abc import Sequence
from typing import Any, overload

import optuna
import pytest
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from heat_plugins.optuna.trial_log import TrialLog
from heat_plugins.optuna.union_search_space import FINISHED, UnionSearchSpace


class Watched(Sequence[FrozenTrial]):
    """The trials of a study; knows which of them were looked at."""

    def __init__(self, trials: list[FrozenTrial]) -> None:
        self._trials = trials
        self.looked_at: list[int] = []

    def __len__(self) -> int:
        return len(self._trials)

    @overload
    def __getitem__(self, index: int) -> FrozenTrial: ...
    @overload
    def __getitem__(self, index: slice) -> list[FrozenTrial]: ...
    def __getitem__(self, index: Any) -> Any:
        self.looked_at.append(self._trials[index].number)
        return self._trials[index]


def study_with(n_finished: int) -> optuna.Study:
    study = optuna.create_study()
    study.add_trials([create_trial(value=float(i)) for i in range(n_finished)])
    return study


def numbers(trials: Sequence[FrozenTrial]) -> list[int]:
    return [trial.number for trial in trials]


def test_only_new_and_unfinished_trials_are_looked_at() -> None:
    study = study_with(100)
    running = study.ask()
    log = TrialLog()
    log.follow(study.trials)
    study.add_trial(create_trial(value=0.0))
    study.add_trial(create_trial(state=TrialState.FAIL))
    watched = Watched(study.trials)
    log.follow(watched)
    # The last one known before, to see that the study is the same; then the rest.
    assert set(watched.looked_at) == {100, 101, 102}
    assert len(watched.looked_at) <= 5
    assert numbers(log.finished) == [*range(100), 101, 102]
    assert numbers(log.unfinished) == [running.number]
    study.tell(running, 1.0)
    log.follow(study.trials)
    assert numbers(log.finished) == [*range(100), 101, 102, 100]
    assert not log.unfinished


@pytest.mark.parametrize("others", [[], [5, 6, 7], range(40)])
def test_other_trials_begin_anew(others: Sequence[int]) -> None:
    """As Hyperband does, which shows a sampler the trials of one bracket at a time."""
    trials = study_with(40).trials
    log = TrialLog()
    log.follow(trials[::2])
    epoch = log.epoch
    log.follow([trials[i] for i in others])
    assert numbers(log.finished) == [*others]
    assert log.epoch > epoch


def test_patience_is_that_of_all_finished_trials() -> None:
    log = TrialLog()
    log.follow([])
    assert log.patience == float("inf")
    log.follow(study_with(1).trials)
    assert log.patience == 600.0


def test_each_bracket_of_hyperband_has_a_search_space_of_its_own() -> None:
    """A sampler that goes on with a stored study sees the trials of one bracket alone."""
    space = UnionSearchSpace(FINISHED)
    storage = optuna.storages.InMemoryStorage()  # in which every trial has an id of its own
    first, second = optuna.create_study(storage=storage), optuna.create_study(storage=storage)
    for study, name in ((first, "x"), (second, "y")):
        distributions: dict[str, BaseDistribution] = {name: IntDistribution(0, 9)}
        study.add_trial(create_trial(value=0.0, params={name: 1}, distributions=distributions))
    for study, name in ((first, "x"), (second, "y"), (first, "x")):
        assert list(space.calculate(study)) == [name]
