"""Importances, by Optuna's own contract and on objectives whose effects are known."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import (
    FanovaImportanceEvaluator,
    get_param_importances,
)
from optuna.samplers import RandomSampler, TPESampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from heat_plugins.optuna.importance import HeatImportanceEvaluator
from heat_plugins.spec.structures import PermutationInvariant

SPACE: dict[str, BaseDistribution] = {
    "colour": CategoricalDistribution(("red", "green", "blue")),
    "layers": IntDistribution(1, 4),
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "only": CategoricalDistribution(("one",)),
    "idle": CategoricalDistribution((False, True)),
    "noise": FloatDistribution(0.0, 1.0),
}


def loss(params: dict[str, Any]) -> float:
    colour = {"red": 0.0, "green": 1.0, "blue": 2.0}[params["colour"]]
    return float(colour + params["layers"] + 2.0 * math.log10(params["rate"]))


# The variances of the three effects, divided by their sum.
VARIANCES = np.array([2.0 / 3.0, 5.0 / 4.0, 4.0 * 16.0 / 12.0])
TRUE = dict(zip(("colour", "layers", "rate"), VARIANCES / VARIANCES.sum(), strict=True))


def study_of(
    function: Callable[[dict[str, Any]], float],
    space: dict[str, BaseDistribution],
    n_trials: int,
    *,
    sampler: optuna.samplers.BaseSampler | None = None,
    storage: BaseStorage | None = None,
    direction: str = "minimize",
) -> optuna.Study:
    study = optuna.create_study(
        sampler=sampler or RandomSampler(seed=0), storage=storage, direction=direction
    )
    for _ in range(n_trials):
        trial = study.ask(space)
        study.tell(trial, function(trial.params))
    return study


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    return study_of(loss, SPACE, 40)


def test_importances_of_effects_that_add_up(study: optuna.Study) -> None:
    found = HeatImportanceEvaluator().evaluate(study)
    assert list(found)[:3] == ["rate", "layers", "colour"]
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(type(value) is float for value in found.values())
    for name, value in found.items():
        assert value == pytest.approx(TRUE.get(name, 0.0), abs=0.02)
    assert found["only"] == 0.0
    assert sum(found.values()) == pytest.approx(1.0, abs=0.02)


def test_importances_of_parameters_that_act_together_add_up_to_more() -> None:
    space: dict[str, BaseDistribution] = {
        name: CategoricalDistribution((0, 1)) for name in ("a", "b", "c", "d")
    }
    study = study_of(lambda p: float(p["a"] != p["b"]), space, 30)
    found = HeatImportanceEvaluator().evaluate(study)
    assert found["a"] == pytest.approx(1.0, abs=0.05) == found["b"]
    assert found["c"] < 0.05 > found["d"]
    shares = get_param_importances(study, evaluator=HeatImportanceEvaluator())
    assert shares["a"] == pytest.approx(0.5, abs=0.05) and sum(shares.values()) == pytest.approx(1)


def test_trials_of_a_sampler_that_prefers_good_ones_give_the_same_importances() -> None:
    study = study_of(loss, SPACE, 60, sampler=TPESampler(seed=0))
    found = HeatImportanceEvaluator().evaluate(study)
    for name, value in found.items():
        assert value == pytest.approx(TRUE.get(name, 0.0), abs=0.1)


def test_the_direction_does_not_matter(study: optuna.Study) -> None:
    maximised = study_of(lambda params: -loss(params), SPACE, 40, direction="maximize")
    found = HeatImportanceEvaluator().evaluate(maximised)
    expected = HeatImportanceEvaluator().evaluate(study)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)


# --------------------------------------------------------------------------------- seeds
def test_the_result_is_the_same_every_time(study: optuna.Study) -> None:
    found = HeatImportanceEvaluator().evaluate(study)
    evaluator = HeatImportanceEvaluator(seed=7)
    assert HeatImportanceEvaluator().evaluate(study) == found
    assert evaluator.evaluate(study) == evaluator.evaluate(study)
    assert evaluator.evaluate(study) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize("seed", [-1, "1", 0.5])
def test_a_seed_is_a_non_negative_integer(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be None or a non-negative integer, got"):
        HeatImportanceEvaluator(seed=seed)


# ------------------------------------------------------------------- what can be asked for
@pytest.mark.parametrize("params", ["rate", ["rate", 1], ["rate", "no such"], {"rate"}])
def test_what_is_wrong_is_said_in_the_words_of_optuna(study: optuna.Study, params: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        FanovaImportanceEvaluator().evaluate(study, params)
    with pytest.raises(expected.type) as caught:
        HeatImportanceEvaluator().evaluate(study, params)
    assert str(caught.value) == str(expected.value)


def test_ranges_that_change_cannot_be_asked_for() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: t.suggest_float("x", 0.0, 1.0 + t.number) + t.suggest_int("n", 0, 3), 5
    )
    with pytest.raises(ValueError) as expected:
        FanovaImportanceEvaluator().evaluate(study, ["x"])
    with pytest.raises(ValueError) as caught:
        HeatImportanceEvaluator().evaluate(study, ["x"])
    assert str(caught.value) == str(expected.value)
    assert list(HeatImportanceEvaluator().evaluate(study)) == ["n"]


def test_some_parameters_only(study: optuna.Study) -> None:
    found = HeatImportanceEvaluator().evaluate(study, ["layers", "only", "rate"])
    assert list(found) == ["rate", "layers", "only"]
    assert found["rate"] > 0.5 and found["only"] == 0.0
    assert HeatImportanceEvaluator().evaluate(study, []) == {}


def conditional(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["tree", "linear"])
    if kind == "tree":
        return float(trial.suggest_int("depth", 1, 9))
    return 3.0 + trial.suggest_float("slope", 0.0, 1.0) * trial.suggest_float("zero", 0.0, 0.0)


def test_conditional_parameters_count_where_they_are_named() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(conditional, 40)
    evaluator = HeatImportanceEvaluator()
    assert list(evaluator.evaluate(study)) == ["kind"]
    # Only trees have a depth, and among them the kind makes no difference.
    found = evaluator.evaluate(study, ["kind", "depth"])
    assert found["depth"] > 0.9 > 0.25 > found["kind"]
    assert evaluator.evaluate(study, ["slope", "zero"]) == {"slope": 0.0, "zero": 0.0}
    with pytest.raises(ValueError, match="completed trials with all specified parameters"):
        evaluator.evaluate(study, ["depth", "slope"])


def test_several_objectives_need_a_target() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: (t.suggest_float("x", 0.0, 1.0), t.suggest_categorical("c", [1, 2, 3])), 30
    )
    evaluator = HeatImportanceEvaluator()
    with pytest.raises(ValueError) as expected:
        FanovaImportanceEvaluator().evaluate(study)
    with pytest.raises(ValueError) as caught:
        evaluator.evaluate(study)
    assert str(caught.value) == str(expected.value)
    assert list(evaluator.evaluate(study, target=lambda t: t.values[0])) == ["x", "c"]
    assert list(evaluator.evaluate(study, target=lambda t: t.values[1])) == ["c", "x"]


# ------------------------------------------------------------------------ what trials count
def test_only_complete_trials_with_finite_values_count(study: optuna.Study) -> None:
    expected = HeatImportanceEvaluator().evaluate(study)
    more = optuna.create_study(sampler=RandomSampler(seed=1))
    more.add_trials(study.get_trials())
    for state, value in [
        (TrialState.PRUNED, 1e6),
        (TrialState.FAIL, None),
        (TrialState.COMPLETE, math.inf),
        (TrialState.COMPLETE, -math.inf),
    ]:
        trial = study.trials[0]
        more.add_trial(
            create_trial(
                state=state, value=value, params=trial.params, distributions=trial.distributions
            )
        )
    more.ask(SPACE)
    more.enqueue_trial({"rate": 1e-3})
    assert HeatImportanceEvaluator().evaluate(more) == expected


def test_a_target_may_be_nan_or_infinite(study: optuna.Study) -> None:
    def target(trial: FrozenTrial) -> float:
        strange = {0: math.nan, 1: math.inf, 2: -math.inf}
        return strange.get(trial.number, float(trial.params["layers"]))

    found = HeatImportanceEvaluator().evaluate(study, target=target)
    assert found["layers"] > 0.95
    found = HeatImportanceEvaluator().evaluate(study, target=lambda _: math.nan)
    assert found == dict.fromkeys(SPACE, 0.0)


def test_a_value_outside_its_range_is_left_out() -> None:
    study = study_of(loss, SPACE, 15)
    expected = HeatImportanceEvaluator().evaluate(study)
    study.enqueue_trial({"layers": 7})
    with pytest.warns(UserWarning, match="out of range"):
        study.tell(study.ask(SPACE), 100.0)
    assert study.trials[-1].params["layers"] == 7
    assert HeatImportanceEvaluator().evaluate(study) == expected


@pytest.mark.parametrize("n_trials", [0, 1, 2, 3])
def test_few_trials(n_trials: int) -> None:
    found = HeatImportanceEvaluator().evaluate(study_of(loss, SPACE, n_trials))
    assert set(found) == (set(SPACE) if n_trials else set())
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert n_trials > 1 or not any(found.values())


def test_a_constant_objective_has_no_importances() -> None:
    found = HeatImportanceEvaluator().evaluate(study_of(lambda _: 3.0, SPACE, 8))
    assert found == dict.fromkeys(SPACE, 0.0)


class Thing:
    """A choice that is an object of some class, and equal to nothing else."""


# Optuna warns of every choice that JSON changes; here that is the point.
@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be a tuple")
def test_choices_may_be_tuples(storage: BaseStorage | None) -> None:
    space: dict[str, BaseDistribution] = {
        "shape": CategoricalDistribution(((1, 1), (2, 2), (1, 3), None)),
        "same": CategoricalDistribution((1, True, 1.0)),
        "flag": CategoricalDistribution(("a", "a", "b")),
    }

    def size(params: dict[str, Any]) -> float:
        return float(sum(params["shape"] or (0,)) ** 2)

    found = HeatImportanceEvaluator().evaluate(study_of(size, space, 25, storage=storage))
    assert found["shape"] > 0.9 > 0.1 > max(found["same"], found["flag"])


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be a tuple")
def test_choices_may_be_objects() -> None:
    things = (Thing(), Thing(), Thing())
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(
        lambda t: things.index(t.suggest_categorical("thing", things)) + t.suggest_int("x", 5, 6),
        20,
    )
    found = HeatImportanceEvaluator().evaluate(study)
    assert found["thing"] > 0.6 and sum(found.values()) == pytest.approx(1.0, abs=0.05)


# ----------------------------------------------------------------------------- what is known
def test_what_is_known_about_the_objective_can_be_said() -> None:
    space: dict[str, BaseDistribution] = {
        "a": CategoricalDistribution((1, 2, 4)),
        "b": CategoricalDistribution((1, 2, 4)),
        "size": CategoricalDistribution(("S", "M", "L", "XL")),
        "width": CategoricalDistribution((8, 16, 32, 64)),
    }
    study = study_of(
        lambda p: p["a"] * p["b"] + "SMLX".index(p["size"][0]) + math.log2(p["width"]), space, 40
    )
    evaluator = HeatImportanceEvaluator(
        structure=PermutationInvariant(["a", "b"]),
        graphs={"a parameter of another study": "cycle"},
        order={"size": ["S", "M", "L", "XL"]},
        quantitative={"width": "log"},
    )
    found = evaluator.evaluate(study)
    assert found["a"] == pytest.approx(found["b"], rel=0.1)
    assert found["a"] > found["size"] > 0.02 < found["width"]
    with pytest.raises(ValueError, match="must be one of"):
        HeatImportanceEvaluator(quantitative={"width": "cubic"}).evaluate(study)  # type: ignore
