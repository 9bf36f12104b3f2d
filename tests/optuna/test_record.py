"""What a sampler tells about itself: a record with each trial, and itself when pickled."""

import copy
import json
import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from heat_plugins import HeatSampler
from heat_plugins.spec.structures import Additive, PermutationInvariant

KEYS = {"region", "scale", "radius", "structure", "evidence", "acquisition", "seconds", "worker"}


def letters(trial: optuna.Trial) -> float:
    value = sum(trial.suggest_categorical(f"x{i}", (0, 1, 2)) for i in range(4))
    return value + trial.suggest_float("y", 0.0, 1.0)


def records(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.user_attrs["heat_plugins"] for trial in study.trials[1:]]


def test_every_trial_that_the_sampler_chose_has_a_record(storage: BaseStorage | None) -> None:
    study = optuna.create_study(
        storage=storage, sampler=HeatSampler(seed=0, n_startup_trials=4, record=True)
    )
    study.optimize(letters, n_trials=9)
    assert study.trials[0].user_attrs == {}  # drawn before anything was known
    for record in records(study):
        assert record.keys() == KEYS
        assert json.loads(json.dumps(record)) == record
        assert 0.0 < record["seconds"] < 600.0
    for record in records(study)[:3]:  # at random
        others = {name: record[name] for name in KEYS - {"seconds", "evidence", "worker"}}
        assert others == dict.fromkeys(others) and record["evidence"] == {}
    for record in records(study)[3:]:
        assert record["region"] == 0 and 0.0 < record["scale"] <= 1.0
        everywhere = record["scale"] == 1.0
        assert record["radius"] == (None if everywhere else math.ceil(record["scale"] * 4))
        assert record["structure"] == "product" and record["evidence"] == {}
        assert math.isfinite(record["acquisition"])


def test_without_being_asked_nothing_is_recorded() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    study.optimize(letters, n_trials=5)
    assert all(trial.user_attrs == {} for trial in study.trials)


def test_recording_changes_no_trial() -> None:
    params = []
    for record in (True, False):
        sampler = HeatSampler(seed=0, n_startup_trials=3, record=record)
        study = optuna.create_study(sampler=sampler)
        study.optimize(letters, n_trials=8)
        params.append([trial.params for trial in study.trials])
    assert params[0] == params[1]


def test_the_record_tells_what_the_evidence_chose() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=5, record=True, structure="auto")
    )
    study.optimize(letters, n_trials=8)
    for record in records(study)[4:]:
        assert record["evidence"].keys() == {"product", "additive", "interactions"}
        assert record["structure"] in record["evidence"]
        assert all(math.isfinite(value) for value in record["evidence"].values())


def test_without_a_trust_region_everything_is_searched() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, record=True, trust_region=False)
    )
    study.optimize(letters, n_trials=6)
    for record in records(study)[2:]:
        assert record["radius"] is None and record["structure"] == "product"


def test_a_region_that_shrinks_shows() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2, record=True))

    def objective(trial: optuna.Trial) -> float:
        for i in range(5):
            trial.suggest_categorical(f"x{i}", (0, 1, 2))
        return 1.0  # nothing improves

    study.optimize(objective, n_trials=18)  # one region's
    scales = [record["scale"] for record in records(study)[1:]]
    assert scales[0] > scales[-1]
    assert scales == sorted(scales, reverse=True)


def test_records_of_several_objectives_and_branches() -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"],
        sampler=HeatSampler(seed=0, n_startup_trials=4, record=True),
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        if trial.suggest_categorical("branch", ("a", "b")) == "a":
            return trial.suggest_float("of_a", 0.0, 1.0), 1.0
        return 0.5, float(trial.suggest_int("of_b", 0, 9))

    study.optimize(objective, n_trials=9)
    for record in records(study):
        assert record.keys() == KEYS and json.loads(json.dumps(record)) == record
    assert all(math.isfinite(record["acquisition"]) for record in records(study)[3:])


# ------------------------------------------------------------------------------- pickling
def is_even(params: dict[str, Any]) -> bool:
    return bool(sum(value for name, value in params.items() if name != "y") % 2 == 0)


def limits(trial: FrozenTrial) -> Sequence[float]:
    return [trial.params["y"] - 0.5]


ARGUMENTS: dict[str, Any] = {
    "seed": 7,
    "n_startup_trials": 4,
    "deterministic_objective": True,
    "independent_sampler": RandomSampler(seed=1),
    "warn_independent_sampling": False,
    "constraints_func": limits,
    "is_feasible": is_even,
    "consider_pruned_trials": False,
    "consider_failed_trials": False,
    "pending_timeout": 12.5,
    "record": True,
    "trust_region": False,
    "kernel": "casmopolitan",
    "structure": (PermutationInvariant(["x0", "x1"]), Additive()),
    "ard": True,
    "graphs": {"x2": "path"},
    "order": {"x3": (2, 1, 0)},
    "quantitative": ["other"],
    "mixing": "product",
    "numeric_choices": "unordered",
    "acquisition": "ucb",
    "hyperparameters": "maximum-likelihood",
    "search": "hill-climbing",
    "embedding": "nested",
    "previous": [],
}
CLONES = pytest.mark.parametrize(
    "clone",
    [lambda sampler: pickle.loads(pickle.dumps(sampler)), copy.deepcopy],
    ids=["pickle", "copy"],
)


@pytest.mark.filterwarnings("ignore:`constraints_func` has been deprecated:FutureWarning")
@CLONES
def test_a_copy_has_every_argument(clone: Callable[[HeatSampler], HeatSampler]) -> None:
    original = HeatSampler(**ARGUMENTS)
    copied = clone(original)
    assert copied._seed == 7
    assert copied._settings == original._settings != HeatSampler(seed=7)._settings
    assert copied._rules == original._rules != HeatSampler()._rules
    assert copied._record and not copied._warn_independent_sampling
    assert copied._is_feasible is is_even
    assert copied._constraints_func is limits
    assert isinstance(copied._independent_sampler, RandomSampler)


@pytest.mark.filterwarnings("ignore:`constraints_func` has been deprecated:FutureWarning")
@CLONES
def test_a_copy_goes_on_like_the_original(clone: Callable[[HeatSampler], HeatSampler]) -> None:
    arguments = {**ARGUMENTS, "independent_sampler": None}
    del arguments["quantitative"]
    studies = []
    for is_copied in (False, True):
        study = optuna.create_study(sampler=HeatSampler(**arguments))
        for _ in range(7):
            study.optimize(letters, n_trials=1)
            if is_copied:
                assert isinstance(study.sampler, HeatSampler)
                study.sampler = clone(study.sampler)
        studies.append(study)
    assert [t.params for t in studies[0].trials] == [t.params for t in studies[1].trials]
    assert all(is_even(trial.params) for trial in studies[1].trials[1:])
    assert all("heat_plugins" in trial.user_attrs for trial in studies[1].trials[1:])
    assert all("constraints" in trial.system_attrs for trial in studies[1].trials)


def test_every_argument_is_tried_here() -> None:
    """So that a new one is not forgotten."""
    annotations = HeatSampler.__init__.__annotations__
    assert ARGUMENTS.keys() == annotations.keys() - {"return"}
