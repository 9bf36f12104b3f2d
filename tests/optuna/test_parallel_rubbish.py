"""Attributes that another program wrote, or that a worker did not finish writing."""

import math
from itertools import cycle
from typing import Any

import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import TrialState, create_trial
from small_search import quick_sampler

from heat_plugins import HeatSampler

pytest_plugins = ["servers"]

# With choices that are equal to each other, about which the sampler has to take notes.
SPACE: dict[str, BaseDistribution] = {
    "same": CategoricalDistribution((1, 1.0, True, "x")),
    "x": CategoricalDistribution(("a", "b", "c")),
    "n": IntDistribution(1, 9),
    "f": FloatDistribution(0.0, 1.0),
}
PARAMS = {"same": 1, "x": "a", "n": 3, "f": 0.5}
KEYS = {"heat_plugins:", "heat_plugins:region", "heat_plugins:unheard of"}
KEYS |= {f"heat_plugins:choice:{name}" for name in ("same", "x", "n", "unheard of")}
RUBBISH: dict[str, Any] = {
    "none": None,
    "text": "x",
    "empty text": "",
    "number": -7,
    "large number": 10**30,
    "fraction": 0.5,
    "nan": math.nan,
    "inf": math.inf,
    "true": True,
    "list": [1],
    "empty list": [],
    "long list": list(range(100_000)),
    "nested list": [[[None]]],
    "object": {"a": {}},
    "empty object": {},
    "wrong params": {"same": "y", "x": None, "n": "3", "f": [0.5]},
    "half of the params": {"same": 1},
    # Of the right form, as far as the names of today's form go, but impossible.
    "large claim": {"region": 10**30, "point": {"same": 10**30, "n": 10**400, "f": 1e300}},
    "negative claim": {"region": -7, "point": {"same": -1, "x": -1, "n": -1, "f": -1.0}},
    "claim of nothing": {"region": math.nan, "point": {"n": math.nan, "f": math.inf}},
    "claim of lists": {"region": [], "point": {"same": [1], "x": {}, "n": None, "f": "0.5"}},
    "claim of others": {"region": 0, "point": {"y": 1, "z": 0.5, "": 0}},
    "claim of rubbish": {"region": True, "point": [["same", 1]]},
}


class Recorder(InMemoryStorage):
    """Remembers under which names attributes are written."""

    def __init__(self) -> None:
        super().__init__()
        self.trial_keys: set[str] = set()
        self.study_keys: set[str] = set()

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.trial_keys.add(key)
        super().set_trial_system_attr(trial_id, key, value)

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self.study_keys.add(key)
        super().set_study_system_attr(study_id, key, value)


@pytest.fixture(scope="module")
def used() -> Recorder:
    """A storage that knows the names which the sampler uses."""
    recorder = Recorder()
    sampler = HeatSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(storage=recorder, sampler=sampler)
    for number in range(8):
        study.tell(study.ask(SPACE), float(number))
    return recorder


def test_the_sampler_writes_only_under_its_own_name(used: Recorder) -> None:
    written = used.trial_keys | used.study_keys
    assert written
    assert all(key.startswith("heat_plugins:") for key in written)


def spoil(study: optuna.Study, used: Recorder, *rubbish: Any) -> None:
    """Give a study finished and running trials whose attributes make no sense."""
    attributes = dict(zip(sorted(KEYS | used.trial_keys), cycle(rubbish), strict=False))
    for number, state in enumerate([TrialState.COMPLETE] * 3 + [TrialState.FAIL]):
        study.add_trial(
            create_trial(
                state=state,
                value=float(number) if state == TrialState.COMPLETE else None,
                params={**PARAMS, "n": number + 1},
                distributions=SPACE,
                system_attrs=attributes,
            )
        )
    storage = study._storage
    half = study.ask()
    half.suggest_categorical("x", ("a", "b", "c"))
    for trial in (study.ask(), half, study.ask(SPACE)):
        for key, value in attributes.items():
            storage.set_trial_system_attr(trial._trial_id, key, value)
    for key in used.study_keys:
        storage.set_study_system_attr(study._study_id, key, rubbish[0])


def check_goes_on(study: optuna.Study) -> None:
    for number in range(3):  # the first may be one that waits
        trial = study.ask(SPACE)
        assert all(SPACE[name]._contains(SPACE[name].to_internal_repr(value))
                   for name, value in trial.params.items())  # fmt: skip
        study.tell(trial, float(number))
    assert study.trials[-1].value == 2.0


@pytest.mark.parametrize("n_startup_trials", [1, 20], ids=["model", "startup"])
@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
def test_rubbish_never_breaks_a_suggestion(
    rubbish: Any, n_startup_trials: int, used: Recorder
) -> None:
    study = optuna.create_study(sampler=quick_sampler(seed=0, n_startup_trials=n_startup_trials))
    spoil(study, used, rubbish)
    check_goes_on(study)


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
def test_a_trial_whose_own_attributes_are_rubbish_gets_its_point(
    rubbish: Any, used: Recorder
) -> None:
    """Enqueued trials bring attributes of their own, also those that a copy brought along."""
    study = optuna.create_study(sampler=quick_sampler(seed=0, n_startup_trials=1))
    spoil(study, used, rubbish)
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            system_attrs=dict.fromkeys(KEYS | used.trial_keys, rubbish),
        )
    )
    check_goes_on(study)


@pytest.fixture
def stored(postgresql: str) -> BaseStorage:
    """A storage that gives back what a database makes of the attributes."""
    return optuna.storages.RDBStorage(postgresql)


def test_rubbish_in_a_database_never_breaks_a_suggestion(
    stored: BaseStorage, used: Recorder
) -> None:
    study = optuna.create_study(storage=stored, sampler=HeatSampler(seed=0, n_startup_trials=1))
    spoil(study, used, *RUBBISH.values())
    spoil(study, used, *reversed(RUBBISH.values()))
    check_goes_on(study)


@pytest.mark.parametrize("cut", [1, 10, -1])
def test_half_of_what_the_sampler_writes_never_breaks_a_suggestion(
    cut: int, used: Recorder
) -> None:
    """A note as text that ends too early, which a storage without transactions may keep."""
    notes = [trial.system_attrs for trial in used.get_all_trials(0) if trial.system_attrs]
    assert notes
    study = optuna.create_study(sampler=quick_sampler(seed=0, n_startup_trials=1))
    spoil(study, used, *(half_of(value, cut) for value in notes[-1].values()))
    check_goes_on(study)


def half_of(value: Any, cut: int) -> Any:
    """Return a part of a note: of a text, a list or an object; of anything else its text."""
    if isinstance(value, dict):
        return dict(list(value.items())[:cut])
    return value[:cut] if isinstance(value, (str, list)) else str(value)[:cut]
