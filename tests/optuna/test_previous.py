"""Studies that go on from earlier ones."""

import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import BaseStorage
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatSampler, PermutationInvariant, pipeline

Objective = Callable[[optuna.Trial], float]


def layers(best: Sequence[str] = "abcd", choices: Sequence[str] = "abcd") -> Objective:
    """How many of four layers are not as they should be, and how far a rate is from 0.3."""

    def objective(trial: optuna.Trial) -> float:
        found = [trial.suggest_categorical(f"layer{i}", [*choices]) for i in range(4)]
        wrong = sum(choice != wanted for choice, wanted in zip(found, best, strict=True))
        return wrong + abs(trial.suggest_float("rate", 0.0, 1.0) - 0.3)

    return objective


def random_study(
    objective: Objective, n: int = 40, seed: int = 0, **arguments: object
) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(sampler=sampler, **arguments)  # type: ignore[arg-type]
    study.optimize(objective, n_trials=n, catch=(ArithmeticError,))
    return study


def going_on(
    objective: Objective,
    previous: Sequence[object],
    n: int = 8,
    seed: int = 0,
    directions: Sequence[str] = ("minimize",),
    **arguments: object,
) -> optuna.Study:
    sampler = HeatSampler(seed=seed, previous=previous, **arguments)  # type: ignore[arg-type]
    study = optuna.create_study(sampler=sampler, directions=directions)
    study.optimize(objective, n_trials=n, catch=(ArithmeticError,))
    return study


def test_a_study_goes_on_where_another_one_was() -> None:
    earlier = random_study(layers())
    study = going_on(layers(), [earlier])
    assert study.trials[0].params == earlier.best_params
    assert study.best_value < 0.3 < going_on(layers(), []).best_value


def test_an_added_choice_is_tried_and_the_others_are_known() -> None:
    earlier = random_study(layers(choices="abcd"), 60)
    study = going_on(layers(best="abce", choices="abcde"), [earlier], 20)
    assert study.best_value < 0.3
    assert [study.best_params[f"layer{i}"] for i in range(4)] == [*"abce"]


def test_trials_with_a_choice_that_is_gone_are_left_out() -> None:
    earlier = random_study(layers(best="eeee", choices="abcde"))
    study = going_on(layers(best="abcd"), [earlier], 12)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert study.best_value < 2.0


def test_directions_may_differ() -> None:
    wanted = layers()
    earlier = random_study(lambda trial: -7.0 * wanted(trial), direction="maximize")
    assert earlier.best_value > -7.0 * 3.0
    assert going_on(wanted, [earlier]).best_value < 0.3


def test_another_scale_and_level_make_no_difference() -> None:
    """Values are standardised by study."""
    wanted = layers()
    plain, scaled = (
        random_study(wanted),
        random_study(lambda trial: 512.0 * wanted(trial) - 4096.0),
    )
    first, second = (going_on(wanted, [earlier], 5) for earlier in (plain, scaled))
    for one, other in zip(first.trials, second.trials, strict=True):
        assert one.params == pytest.approx(other.params, abs=1e-4)


def test_a_parameter_that_is_new_and_one_that_is_gone() -> None:
    wanted = layers()

    def before(trial: optuna.Trial) -> float:
        return wanted(trial) + 0.1 * trial.suggest_float("old", 0.0, 1.0)

    def now(trial: optuna.Trial) -> float:
        return wanted(trial) + abs(trial.suggest_int("new", 1, 9) - 4)

    study = going_on(now, [random_study(before)], 20)
    assert study.best_value < 0.5


def test_a_parameter_that_is_a_choice_here_and_a_number_there_is_left_out(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    wanted = layers()

    def before(trial: optuna.Trial) -> float:
        return wanted(trial) + trial.suggest_float("width", 0.0, 1.0)

    def now(trial: optuna.Trial) -> float:
        return wanted(trial) + (trial.suggest_categorical("width", ["narrow", "wide"]) == "wide")

    study = going_on(now, [random_study(before, study_name="old")], 10)
    assert study.best_value < 0.5
    said = [r.getMessage() for r in optuna_log.records if "is left out" in r.getMessage()]
    assert len(said) == 1 and "'width'" in said[0] and "'old'" in said[0]


def test_a_study_with_other_objectives_is_left_out(optuna_log: pytest.LogCaptureFixture) -> None:
    wanted = layers()
    earlier = optuna.create_study(directions=["minimize"] * 2, study_name="pair")
    earlier.optimize(lambda trial: (wanted(trial), 0.0), n_trials=5)
    study = going_on(wanted, [earlier], 4)
    alone = going_on(wanted, [], 4)
    assert [t.params for t in study.trials] == [t.params for t in alone.trials]
    assert sum("'pair' is left out" in record.getMessage() for record in optuna_log.records) == 1


def test_a_study_does_not_go_on_from_itself(optuna_log: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(study_name="one")
    study.sampler = HeatSampler(seed=0, previous=[study])
    study.optimize(layers(), n_trials=4)
    alone = going_on(layers(), [], 4)
    assert [t.params for t in study.trials] == [t.params for t in alone.trials]
    assert sum("which is the one that is running" in r.getMessage() for r in optuna_log.records)


def test_several_objectives_carry_over() -> None:
    wanted = layers()

    def both(trial: optuna.Trial) -> tuple[float, float]:
        value = wanted(trial)
        return value, sum(trial.params[f"layer{i}"] == "a" for i in range(4)) - 2.0 * value

    earlier = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    earlier.optimize(both, n_trials=40)
    study = going_on(both, [earlier], 6, directions=("minimize", "maximize"))  # type: ignore[arg-type]
    assert min(trial.values[0] for trial in study.trials) < 1.0


def test_where_trials_fail_carries_over() -> None:
    wanted = layers()

    def objective(trial: optuna.Trial) -> float:
        value = wanted(trial)
        if trial.params["layer0"] in "bc":
            raise ZeroDivisionError
        return value

    earlier = random_study(objective, 60)
    study = going_on(objective, [earlier], 10)
    assert sum(trial.state == TrialState.FAIL for trial in study.trials) <= 1


def test_constraints_carry_over() -> None:
    wanted = layers()

    def constraints(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [1.0 if trial.params["layer0"] == "a" else -1.0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        sampler = HeatSampler(seed=0, constraints_func=constraints, n_startup_trials=40)
        earlier = optuna.create_study(sampler=sampler)
        earlier.optimize(wanted, n_trials=40)
        study = going_on(wanted, [earlier], 10, constraints_func=constraints)
    assert study.trials[0].params["layer0"] != "a"
    assert sum(trial.params["layer0"] == "a" for trial in study.trials) <= 3
    kept = [trial.value for trial in study.trials if trial.params["layer0"] != "a"]
    assert min(kept) < 1.3


def test_conditions_carry_over() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["tree", "svm"]) == "tree":
            return 0.5 + 0.02 * abs(trial.suggest_int("depth", 1, 12) - 7)
        return abs(trial.suggest_float("C", 1e-2, 1e2, log=True) - 3.0)

    study = going_on(objective, [random_study(objective)], 8)
    assert study.best_value < 0.3
    assert all(("C" in t.params) == (t.params["model"] == "svm") for t in study.trials)


def test_pruned_trials_of_an_earlier_study_count() -> None:
    wanted = layers()

    def pruned(trial: optuna.Trial) -> float:
        value = wanted(trial)
        trial.report(value, 1)
        if trial.number % 2:
            raise optuna.TrialPruned
        return value

    assert going_on(wanted, [random_study(pruned, 60)], 8).best_value < 0.3


def test_a_study_of_a_storage_is_found_by_its_name(storage: BaseStorage | None) -> None:
    earlier = random_study(layers(), storage=storage, study_name="old")
    given: list[object] = [earlier if storage is None else ("old", storage)]
    sampler = HeatSampler(seed=0, previous=given, record=True)  # type: ignore[arg-type]
    study = optuna.create_study(storage=storage, sampler=sampler)
    study.optimize(layers(), n_trials=4)
    record = study.trials[-1].user_attrs["heat_plugins"]
    assert json.loads(json.dumps(record)) == record
    assert record["previous"].keys() == {"old"}
    assert record["previous"]["old"]["trials"] == 40
    assert 0.0 <= record["previous"]["old"]["similarity"] < 1.0


def test_studies_are_read_as_of_the_first_suggestion() -> None:
    earlier = random_study(layers())
    sampler = HeatSampler(seed=0, previous=[earlier])
    study = optuna.create_study(sampler=sampler)
    study.optimize(layers(), n_trials=3)
    earlier.optimize(layers(), n_trials=5)
    study.sampler = pickle.loads(pickle.dumps(sampler))
    study.optimize(layers(), n_trials=3)
    fixed = going_on(layers(), [random_study(layers())], 6)
    assert [t.params for t in study.trials] == [t.params for t in fixed.trials]


def test_resuming_with_another_sampler_of_the_same_seed_changes_nothing() -> None:
    earlier = random_study(layers())
    whole = going_on(layers(), [earlier], 8)
    study = going_on(layers(), [earlier], 4)
    study.sampler = HeatSampler(seed=0, previous=[earlier])
    study.optimize(layers(), n_trials=4)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]


def test_threads_get_different_points() -> None:
    sampler = HeatSampler(seed=0, previous=[random_study(layers())])
    study = optuna.create_study(sampler=sampler)
    study.optimize(layers(), n_trials=12, n_jobs=4)
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 12


def test_what_may_not_be_tried_is_not_recommended() -> None:
    earlier = random_study(layers())
    best = earlier.best_params["layer0"]
    study = going_on(layers(), [earlier], 4, is_feasible=lambda p: p.get("layer0") != best)
    assert all(trial.params["layer0"] != best for trial in study.trials)


def test_start_up_trials_that_were_asked_for_are_random() -> None:
    earlier = random_study(layers())
    with_earlier, alone = [
        going_on(layers(), previous, 5, n_startup_trials=5) for previous in ([earlier], [])
    ]
    assert [t.params for t in with_earlier.trials] == [t.params for t in alone.trials]


def test_no_start_up_trials_leave_everything_to_the_model() -> None:
    earlier = random_study(layers())
    study = going_on(layers(), [earlier], 5, n_startup_trials=0)
    assert study.trials[0].params == earlier.best_params and study.best_value < 0.5


def test_an_earlier_study_without_trials_changes_nothing() -> None:
    study, alone = going_on(layers(), [optuna.create_study()]), going_on(layers(), [])
    assert [t.params for t in study.trials] == [t.params for t in alone.trials]


def test_trials_that_stored_data_spoils_stall_nothing() -> None:
    earlier = optuna.create_study()
    distributions = {"rate": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for value in (np.inf, -np.inf, 1e300, 1e300, -1e300):
        earlier.add_trial(
            create_trial(params={"rate": 0.5}, distributions=distributions, value=float(value))
        )
    assert len(going_on(layers(), [earlier], 8).trials) == 8


def test_explain_tells_how_alike_studies_are() -> None:
    related = random_study(layers(), study_name="related")
    other = random_study(layers(best="dcba"), study_name="other")
    study = going_on(layers(), [related, other], 15)
    found = study.sampler.explain(study)  # type: ignore[attr-defined]
    assert found.similarities["related"] > 0.6 > found.similarities["other"]
    assert "earlier studies (how alike, from 0 to 1):" in str(found)
    assert "  related: 0." in str(found) or "  related: 1." in str(found)
    alone = going_on(layers(), [], 6)
    assert alone.sampler.explain(alone).similarities == {}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("previous", "error", "message"),
    [
        ("old", TypeError, "previous must be a list of studies"),
        (optuna.create_study, TypeError, "previous must be a list of studies"),
        ([3], TypeError, "previous must list studies, or pairs of a name and a storage, got 3"),
        ([("old",)], TypeError, "previous must list studies"),
        ([("nowhere", "sqlite://")], ValueError, "previous must name studies that exist"),
    ],
)
def test_what_is_no_study_is_refused(
    previous: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        HeatSampler(previous=previous)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        *[pipeline(name) for name in ("rducb", "cocabo", "bounce", "bodi")],
        {"acquisition": "thompson"},
        {"structure": "auto"},
        {"trust_region": "casmopolitan"},
        {"structure": PermutationInvariant([f"layer{i}" for i in range(4)])},
    ],
    ids=lambda arguments: "-".join(map(str, [*arguments.values()]))[:40],
)
def test_every_part_of_the_pipeline_goes_on(arguments: dict[str, Any]) -> None:
    """Whatever the parts are, the best trial before is the first and points are new."""
    earlier = random_study(layers(), 25)
    study = going_on(layers(), [earlier], 6, **{**arguments, "n_startup_trials": None})
    assert study.trials[0].params == earlier.best_params
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 6


def test_two_studies_of_one_name_are_told_apart() -> None:
    earlier = [random_study(layers(), seed=seed, study_name="same") for seed in (0, 1)]
    study = going_on(layers(), earlier, 3, record=True)
    record = study.trials[-1].user_attrs["heat_plugins"]["previous"]
    assert record.keys() == {"same", "same (2)"}
