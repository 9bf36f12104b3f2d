"""Studies with very many parameters or choices, and trials that bring their own."""

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatSampler
from heat_plugins.optuna import distributions
from heat_plugins.optuna.distributions import ambiguous_choices, is_same_when_stored
from heat_plugins.optuna.union_search_space import (
    LEAST_SHARE,
    MANY_PARAMETERS,
    MOST_PARAMETERS,
    UnionSearchSpace,
)

OWN: dict[str, BaseDistribution] = {"c": CategoricalDistribution(("a", "b", "c"))}
UNIT = FloatDistribution(0.0, 1.0)
COMPLETE = (TrialState.COMPLETE,)


def add(study: optuna.Study, n_trials: int, names: list[str], value: float = 1.0) -> None:
    distributions = OWN | {name: UNIT for name in names}
    for i in range(n_trials):
        params = {"c": "abc"[i % 3]} | {name: 0.25 for name in names}
        study.add_trial(create_trial(value=value, params=params, distributions=distributions))


def named(n: int, prefix: str = "x") -> list[str]:
    return [f"{prefix}{i:04d}" for i in range(n)]


def left_out_messages(log: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in log.records if "does not model" in r.getMessage()]


def test_parameters_that_one_of_many_trials_has_are_not_modelled() -> None:
    study = optuna.create_study()
    n_trials = round(1 / LEAST_SHARE)
    add(study, n_trials, named(3, "own"))
    add(study, 1, named(1000))
    union = UnionSearchSpace(COMPLETE)
    assert list(union.calculate(study)) == ["c", *named(3, "own")]
    assert union.left_out == named(1000)


def test_a_branch_with_one_trial_is_modelled_where_parameters_are_not_many() -> None:
    study = optuna.create_study()
    add(study, 500, named(3, "own"))
    add(study, 1, named(MANY_PARAMETERS - 4))
    union = UnionSearchSpace(COMPLETE)
    assert len(union.calculate(study)) == MANY_PARAMETERS
    assert union.left_out == []


def test_of_few_trials_each_one_tells_of_its_branch() -> None:
    study = optuna.create_study()
    for i in range(10):
        add(study, 1, named(50, f"branch{i}-"))
    union = UnionSearchSpace(COMPLETE)
    assert len(union.calculate(study)) == 501
    assert union.left_out == []


def test_the_space_is_found_again_only_where_trials_are_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sampler asks for it once for each parameter that it does not model."""
    study = optuna.create_study()
    add(study, 3, named(5))
    union = UnionSearchSpace(COMPLETE)
    calls: list[int] = []
    often_enough = union._often_enough
    monkeypatch.setattr(union, "_often_enough", lambda: (calls.append(1), often_enough())[1])
    spaces = [union.calculate(study) for _ in range(5)]
    assert len(calls) == 1
    assert all(space == spaces[0] for space in spaces)
    add(study, 1, named(6))
    assert len(union.calculate(study)) == 7
    assert len(calls) == 2


def test_a_foreign_trial_with_a_thousand_parameters_is_told_of_once(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0))
    add(study, 60, ["own"])
    add(study, 1, named(1000), value=-100.0)
    for _ in range(3):
        trial = study.ask()
        assert set(trial.relative_params) == {"c", "own"}
        params = trial.suggest_categorical("c", ("a", "b", "c")), trial.suggest_float("own", 0, 1)
        study.tell(trial, params[1])
    said = left_out_messages(optuna_log)
    assert len(said) == 1
    assert "1000 parameters" in said[0]
    assert "'x0000'" in said[0]


def test_more_parameters_than_can_be_modelled_are_told_of(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    add(study, 2, named(MOST_PARAMETERS + 5))
    space = study.sampler.infer_relative_search_space(study, study.trials[0])
    assert len(space) == MOST_PARAMETERS
    study.sampler.infer_relative_search_space(study, study.trials[0])
    said = left_out_messages(optuna_log)
    assert len(said) == 1
    assert "6 parameters" in said[0]


def test_an_ordinary_study_hears_nothing(optuna_log: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=2))
    add(study, 30, named(20))
    study.ask().suggest_float("x0000", 0.0, 1.0)
    assert left_out_messages(optuna_log) == []


# --------------------------------------------------------------------- very many choices
def test_equal_choices_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna does so in Python, and every trial of a study asks for it."""
    many = tuple(range(10_000))
    left, right = CategoricalDistribution(many), CategoricalDistribution(tuple(range(10_000)))
    other = CategoricalDistribution((*many[:-1], "other"))
    assert not is_same_when_stored(left, other)

    def refuse(*_: object) -> bool:
        raise AssertionError("compared one by one")

    monkeypatch.setattr(CategoricalDistribution, "__eq__", refuse)
    assert is_same_when_stored(left, left)
    assert is_same_when_stored(left, right)


def test_plain_choices_need_no_table_to_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, BaseDistribution] = {
        "plain": CategoricalDistribution((*range(10_000), "a", None, 0.5)),
        "equal": CategoricalDistribution((1, True, 1.0)),
    }
    for value in (0, 9_999, "a", None, 0.5):
        assert ambiguous_choices(space, {"plain": value}) == {}
    assert ambiguous_choices(space, {"equal": True}) == {"equal": 1}
    assert ambiguous_choices(space, {"equal": 1.0}) == {"equal": 2}
    assert ambiguous_choices(space, {"equal": 1}) == {}
    monkeypatch.delattr(distributions, "Categorical")
    for value in (0, 9_999, "a", None, 0.5):
        assert ambiguous_choices(space, {"plain": value}) == {}


def test_one_trial_with_very_many_parameters_is_soon_left_out() -> None:
    study = optuna.create_study()
    add(study, 3, named(5))
    add(study, 1, named(1000, "strange"))
    union = UnionSearchSpace(COMPLETE)
    assert len(union.calculate(study)) == 1006  # perhaps all that is asked for from now on
    add(study, 1, named(5))
    assert list(union.calculate(study)) == ["c", *named(5)]
    assert union.left_out == named(1000, "strange")


def test_many_parameters_that_two_trials_have_are_kept() -> None:
    study = optuna.create_study()
    add(study, 1, named(5))
    add(study, 2, named(1000, "strange"))
    add(study, 1, named(5))
    assert len(UnionSearchSpace(COMPLETE).calculate(study)) == 1006
