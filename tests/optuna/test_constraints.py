"""Constraints that trials come with: from the objective itself, or from a function of trials."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from heat_plugins import HeatSampler, suggest
from heat_plugins.acquisition.builder import AcquisitionBuilder
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.optuna.constraints import MOST_COLUMNS, constraints_in, constraints_of
from heat_plugins.optuna.study_reader import StudyReader

HAS_SET_CONSTRAINT = hasattr(optuna.trial.Trial, "set_constraint")  # from Optuna 5 on
needs_set_constraint = pytest.mark.skipif(not HAS_SET_CONSTRAINT, reason="Optuna 5 has it")

SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0.0, 1.0),
    "c": CategoricalDistribution(("a", "b", "c")),
}


def sampler_with(constraints_func: Any, **arguments: Any) -> HeatSampler:
    """Return a sampler with a function for constraints, which Optuna 5 has deprecated."""
    if not HAS_SET_CONSTRAINT:
        return HeatSampler(constraints_func=constraints_func, **arguments)
    with pytest.warns(FutureWarning, match="constraints_func"):
        return HeatSampler(constraints_func=constraints_func, **arguments)


def value_of(params: dict[str, Any]) -> float:
    return float(params["x"] + (params["c"] != "a"))


def limits_of(params: dict[str, Any]) -> list[float]:
    """The best value is 1.4: of what is best without limits, all is forbidden."""
    return [0.4 - params["x"], 1.0 if params["c"] == "a" else -1.0]


def is_kept(params: dict[str, Any]) -> bool:
    return all(limit <= 0.0 for limit in limits_of(params))


def study_with(way: str, limits: Any = limits_of, **arguments: Any) -> optuna.Study:
    """Return a study of which the sampler learns the limits in one of two ways."""
    if way == "constraints_func":
        sampler = sampler_with(lambda trial: limits(trial.params), **arguments)
    else:
        sampler = HeatSampler(**arguments)
    return optuna.create_study(sampler=sampler)


def run(study: optuna.Study, way: str, n_trials: int, limits: Any = limits_of) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0.0, 1.0)
        trial.suggest_categorical("c", ("a", "b", "c"))
        if way == "set_constraint":
            for i, limit in enumerate(limits(trial.params)):
                trial.set_constraint(f"limit {i}", limit)
        return value_of(trial.params)

    study.optimize(objective, n_trials=n_trials)


WAYS = pytest.mark.parametrize(
    "way", [pytest.param("set_constraint", marks=needs_set_constraint), "constraints_func"]
)


@WAYS
def test_the_best_feasible_trial_is_found(way: str) -> None:
    is_exact = way == "set_constraint"
    study = study_with(way, seed=0, n_startup_trials=6, deterministic_objective=is_exact)
    run(study, way, 24)
    feasible = [trial.value for trial in study.trials if is_kept(trial.params)]
    assert min(feasible) < 1.45
    assert sum(is_kept(trial.params) for trial in study.trials[12:]) >= 6
    # Without limits all would be at the other end.
    assert min(trial.value for trial in study.trials[12:]) > 0.3


@needs_set_constraint
def test_both_ways_give_the_same_trials() -> None:
    studies = []
    for way in ("set_constraint", "constraints_func"):
        study = study_with(way, seed=1, n_startup_trials=4)
        run(study, way, 8)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]


@needs_set_constraint
def test_without_any_feasible_trial_the_search_moves_towards_feasibility() -> None:
    """One point in 200 or so is feasible; what breaks the limit least is followed to it."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))

    def objective(trial: optuna.Trial) -> float:
        letters = [trial.suggest_categorical(f"x{i}", ("a", "b", "c", "d")) for i in range(6)]
        trial.set_constraint("letters", float(sum(letter != "b" for letter in letters) - 1))
        return float(letters.count("c"))

    study.optimize(objective, n_trials=35)
    broken = [trial.constraints["letters"] for trial in study.trials]
    assert min(broken[:8]) > 0.0
    assert min(broken[8:]) <= 0.0
    assert np.mean(broken[-10:]) < np.mean(broken[:8]) - 2.0


def test_a_constraint_on_choices_alone_is_learnt() -> None:
    study = study_with(
        "constraints_func",
        lambda params: [1.0 if params["c"] in "ab" else 0.0],
        seed=0,
        n_startup_trials=6,
    )
    run(study, "constraints_func", 18)
    chosen = [trial.params["c"] for trial in study.trials[10:]]
    assert chosen.count("c") >= 6


@needs_set_constraint
def test_every_storage_gives_the_same_trials(storage: BaseStorage | None) -> None:
    studies = []
    for where in (storage, None):
        study = optuna.create_study(storage=where, sampler=HeatSampler(seed=2, n_startup_trials=4))
        run(study, "set_constraint", 7)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]


# ---------------------------------------------------------------- the function of the user
def test_the_function_is_deprecated_where_optuna_says_so() -> None:
    sampler_with(lambda trial: (0.0,))
    HeatSampler()  # says nothing


def test_the_function_sees_complete_and_pruned_trials_and_what_it_returns_is_kept() -> None:
    seen: list[int] = []

    def constraints(trial: FrozenTrial) -> Sequence[float]:
        seen.append(trial.number)
        return (trial.params["x"] - 0.5, -1.0)

    study = optuna.create_study(sampler=sampler_with(constraints, seed=0, n_startup_trials=1))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise RuntimeError("this trial fails")
        return x

    study.optimize(objective, n_trials=4, catch=RuntimeError)
    assert seen == [0, 1, 3]
    for trial in study.trials:
        if trial.number in seen:
            expected = [trial.params["x"] - 0.5, -1.0]
            assert list(trial.system_attrs["constraints"]) == expected
        else:
            assert "constraints" not in trial.system_attrs


@pytest.mark.parametrize(
    ("constraints", "error"),
    [
        (lambda trial: 1 / 0, ZeroDivisionError),
        (lambda trial: (math.nan,), ValueError),
    ],
)
def test_what_the_function_raises_reaches_the_user(
    constraints: Any, error: type[Exception]
) -> None:
    study = optuna.create_study(sampler=sampler_with(constraints))
    with pytest.raises(error):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    # As with Optuna's own samplers, the trial has no constraints then and the study can go on.
    assert study.trials[0].system_attrs["constraints"] is None
    study.sampler = HeatSampler(seed=0, n_startup_trials=0)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)


# ------------------------------------------------------------------- missing and rubbish
@needs_set_constraint
def test_constraints_may_be_missing_in_some_trials() -> None:
    """As in Optuna, what is not known is not broken; what is known is learnt from."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=6))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        y = trial.suggest_float("y", 0.0, 1.0)
        if trial.number % 3 != 1:
            trial.set_constraint("x", 0.5 - x)
        if trial.number % 3 != 2:
            trial.set_constraint("y", 0.3 - y)
        return x + y

    study.optimize(objective, n_trials=24)
    kept = [t.params["x"] >= 0.5 and t.params["y"] >= 0.3 for t in study.trials]
    assert sum(kept) >= 4
    assert min(t.value for t, k in zip(study.trials, kept, strict=True) if k) < 1.0


@needs_set_constraint
@pytest.mark.parametrize("bad", [math.inf, 1e300, 1e-300])
def test_constraints_of_any_size_are_taken(bad: float) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=5))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("x", bad if x < 0.5 else -bad)
        return x

    study.optimize(objective, n_trials=16)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    # The best feasible value is on the very edge, which is narrowed down from both sides.
    assert min(x for x in (trial.params["x"] for trial in study.trials) if x >= 0.5) < 0.6


RUBBISH: list[Any] = [
    None,
    "no",
    7,
    {"a": 1.0},
    [],
    [None, "x", [1.0]],
    [math.nan],
    [[0.5]],
    [math.inf, -math.inf],
    [1.0],
    [0.1, 0.2, 0.3],
]


def test_any_attribute_of_the_name_does_no_harm() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    for i, rubbish in enumerate(RUBBISH):
        study.add_trial(
            create_trial(
                params={"x": i / len(RUBBISH), "c": "abc"[i % 3]},
                distributions=SPACE,
                value=float(i),
                system_attrs={
                    "constraints": rubbish,
                    "constraints:one": rubbish,
                    "constraints:": rubbish,
                    "constraints_": rubbish,
                },
            )
        )
    for _ in range(3):
        trial = study.ask(SPACE)
        study.tell(trial, value_of(trial.params))
    assert len(study.trials) == len(RUBBISH) + 3


def trial_with(**attributes: Any) -> FrozenTrial:
    return create_trial(value=0.0, system_attrs=attributes)


def test_numbers_of_both_forms_are_read_each_in_its_own_column() -> None:
    trials = [
        trial_with(constraints=[1.0, -2]),
        trial_with(**{"constraints:b": 3.0, "constraints:a": True}),
        trial_with(constraints=(5.0,), **{"constraints:a": math.nan}),
        trial_with(),
    ]
    nan = math.nan
    expected = [[1.0, -2.0, nan, nan], [nan, nan, 1.0, 3.0], [5.0, nan, nan, nan], [nan] * 4]
    found = constraints_of([constraints_in(trial) for trial in trials])
    np.testing.assert_array_equal(found, expected)  # 0, 1, a, b


def test_no_constraints_are_none() -> None:
    assert constraints_of([]) is None
    nothing = [trial_with(), trial_with(constraints=None)]
    assert constraints_of([constraints_in(trial) for trial in nothing]) is None
    assert constraints_in(trial_with(constraints=["x"], **{"constraints:a": None})) == {}


def test_of_very_many_constraints_the_rarest_share_a_column() -> None:
    usual = {f"u{i}": float(i) for i in range(MOST_COLUMNS)}
    foreign = {f"a{i}": -1.0 for i in range(3000)}
    found = constraints_of([usual, usual, usual, foreign, foreign | {"a7": 2.0}])
    assert found is not None
    assert found.shape == (5, MOST_COLUMNS + 1)
    np.testing.assert_array_equal(found[0, :-1], [usual[name] for name in sorted(usual)])
    np.testing.assert_array_equal(found[:, -1], [*[math.nan] * 3, -1.0, 2.0])
    just_enough = constraints_of([usual, {}])
    assert just_enough is not None
    assert just_enough.shape == (2, MOST_COLUMNS)


def test_a_trial_with_hundreds_of_constraints_is_infeasible_and_not_modelled(
    monkeypatch: pytest.MonkeyPatch, optuna_log: pytest.LogCaptureFixture
) -> None:
    """Each model costs every later suggestion; that some are left out is said once."""
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    run(study, "none", 25)
    attributes = {f"constraints:{i}": 1.0 for i in range(300)}
    best = create_trial(
        value=-10.0, params={"x": 0.5, "c": "a"}, distributions=SPACE, system_attrs=attributes
    )
    study.add_trial(best)
    fits: list[bool] = []

    def counted(builder: Any, data: Any, *arguments: Any, **others: Any) -> Any:
        fits.append(data.boundary == 0.0)
        return fit_outcome(builder, data, *arguments, **others)

    monkeypatch.setattr(suggest, "fit_outcome", counted)
    run(study, "none", 3)
    assert fits == [False] * 3
    said = [record for record in optuna_log.records if "constraints" in record.getMessage()]
    assert len(said) == 1
    history = StudyReader(SPACE).read(study.get_trials(), study.directions, None, {})
    assert AcquisitionBuilder(history).is_feasible.sum() == len(study.trials) - 1


def test_constraints_that_every_trial_has_are_modelled_without_a_word(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = study_with("constraints_func", seed=0, n_startup_trials=5)
    run(study, "constraints_func", 12)
    assert "constraints" not in optuna_log.text


@needs_set_constraint
def test_what_optuna_reads_is_what_is_read_here() -> None:
    trial = trial_with(constraints=[1.0, -2.0], **{"constraints:cost": 0.5})
    found = constraints_of([constraints_in(trial)])
    assert found is not None
    assert found[0].tolist() == [number for _, number in sorted(trial.constraints.items())]
