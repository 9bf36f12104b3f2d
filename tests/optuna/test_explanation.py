"""What a study tells about its parameters, also when most of its trials are good ones."""

from collections.abc import Callable
from typing import Any

import optuna
import pytest

from heat_plugins import HeatSampler
from heat_plugins.optuna.explanation import Explanation

EFFECTS = {"a": 0.0, "b": 1.5, "c": 3.0, "d": 0.5}


def test_effects_stay_what_they_are_when_the_search_settles() -> None:
    sampler = HeatSampler(seed=0)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        letter = trial.suggest_categorical("letter", list(EFFECTS))
        number = trial.suggest_int("number", 0, 7)
        place = trial.suggest_float("place", 0.0, 1.0)
        return EFFECTS[letter] + 0.3 * number + (place - 0.3) ** 2

    for n_more in (20, 40):
        study.optimize(objective, n_trials=n_more)
        effects = sampler.explain(study).effects
        letters = dict(effects["letter"])
        assert letters["c"] - letters["a"] == pytest.approx(3.0, rel=0.35)
        assert letters["b"] - letters["a"] == pytest.approx(1.5, rel=0.5)
        numbers = dict(effects["number"])
        assert numbers[7] - numbers[0] == pytest.approx(2.1, rel=0.35)


def explanation_of(objective: Callable[[optuna.Trial], float], **kwargs: Any) -> Explanation:
    """Return what a sampler learns from 60 random trials."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=60)
    return HeatSampler(seed=0, **kwargs).explain(study)


def test_numbers_alone_have_estimated_shares() -> None:
    """The variance of 2 u + v is 4 / 12 + 1 / 12."""

    def objective(trial: optuna.Trial) -> float:
        return 2.0 * trial.suggest_float("u", 0, 1) + trial.suggest_float("v", 0, 1)

    found = explanation_of(objective, structure="product")
    assert found.order_shares is None  # two numbers have one distance, which does not split
    for name, expected in (("u", 0.8), ("v", 0.2)):
        assert found.shares[name] == pytest.approx((expected, expected), abs=0.02)
    lines = str(found).splitlines()
    assert lines[1] == "share of variance by order, estimated: 1: 100%, 2 and more: 0%"
    assert lines[2] == "by parameter, estimated (alone / with others): u 80% / 80%, v 20% / 20%"


@pytest.mark.parametrize("structure", [None, "auto"])
def test_shares_of_what_choices_and_numbers_do_together(structure: str | None) -> None:
    """The letter turns the sign of u: neither has an effect alone."""

    def objective(trial: optuna.Trial) -> float:
        letter = trial.suggest_categorical("letter", ["a", "b"])
        u, v = (trial.suggest_float(name, -1.0, 1.0) for name in "uv")
        return v + (u if letter == "a" else -u)

    found = explanation_of(objective, structure=structure)
    expected = {"letter": (0.0, 0.5), "u": (0.0, 0.5), "v": (0.5, 0.5)}
    for name, shares in expected.items():
        assert found.shares[name] == pytest.approx(shares, abs=0.06)
    # Where the kernel itself splits into orders its own shares are written.
    assert ("estimated" in str(found)) == (found.order_shares is None)


def test_shares_in_a_conditional_space() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["net", "tree"]) == "net":
            return 2.0 * trial.suggest_float("rate", 0, 1) + trial.suggest_float("decay", 0, 1)
        return 1.5

    shares = explanation_of(objective).shares
    assert shares["rate"].total > shares["decay"].total > 0.05
    assert shares["model"].total > shares["model"].alone


def test_equal_values_have_no_shares() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_float("u", 0, 1)
        trial.suggest_float("v", 0, 1)
        return 3.0

    found = explanation_of(objective)
    assert found.shares == {"u": (0.0, 0.0), "v": (0.0, 0.0)}
    assert "estimated" not in str(found)


def test_of_many_parameters_the_largest_shares_are_written() -> None:
    def objective(trial: optuna.Trial) -> float:
        return sum(i * trial.suggest_float(f"x{i}", 0, 1) for i in range(7))

    line = str(explanation_of(objective, structure="product")).splitlines()[2]
    assert line.endswith(", ...") and line.count("/") == 6 and ": x6 " in line
