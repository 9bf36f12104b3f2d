"""Options of the strategy: those of Kernel Tuner, and the settings that all integrations share."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from made_up_kernel import CHOICES, Tune, keys

from heat_plugins import Additive, HeatSampler, PermutationInvariant, pipeline
from heat_plugins.kernel_tuner import HeatStrategy
from heat_plugins.suggest import SettingArguments

START = (64, 4, 3, "tiled", False)


def test_settings_are_those_of_the_sampler() -> None:
    shared = {*SettingArguments.__annotations__}
    assert shared < {*inspect.signature(HeatSampler).parameters}
    named = HeatStrategy.__doc__ or ""
    assert all(f"``{name}``" in named for name in shared)


def test_x0_is_the_first_configuration(tune: Tune) -> None:
    asked = keys(tune(HeatStrategy(seed=0), 12, options={"x0": START}))
    assert asked[0] == START
    assert len({*asked}) == 12


@pytest.mark.parametrize(
    "x0", [(64, 4), 3, (64, 4, 3, "round", False), (256, 16, 1, "row", True), "64,4,3,tiled,False"]
)
def test_an_invalid_x0_is_refused(tune: Tune, x0: Any) -> None:
    with pytest.raises(ValueError, match="Invalid x0: .* expected a value for each of"):
        tune(HeatStrategy(seed=0), 12, options={"x0": x0})


def test_settings_may_come_as_strategy_options(tune: Tune) -> None:
    options = {"n_startup_trials": 3, "acquisition": "ucb"}
    first = keys(tune(HeatStrategy(seed=0), 8, options=options))
    assert keys(tune(HeatStrategy(seed=0, n_startup_trials=3, acquisition="ucb"), 8)) == first
    # The options of a run come before those of the strategy.
    own = HeatStrategy(seed=0, n_startup_trials=8, acquisition="thompson")
    assert keys(tune(own, 8, options=options)) == first
    assert keys(tune(HeatStrategy(seed=0), 8)) != first


@pytest.mark.parametrize(
    "settings",
    [
        {"structure": Additive()},
        {"structure": "auto"},
        {"kernel": "matern", "trust_region": False},
        {"order": {"layout": ["row", "tiled", "column"]}, "quantitative": {"tile": "log"}},
        {"numeric_choices": "unordered", "deterministic_objective": True},
        {"search": "hill-climbing", "hyperparameters": "slice-sampling"},
        pipeline("bounce"),
        pipeline("rducb"),
    ],
    ids=str,
)
def test_settings_of_all_kinds(tune: Tune, settings: dict[str, Any]) -> None:
    n_startup = {"n_startup_trials": 5}
    asked = keys(tune(HeatStrategy(seed=0, **(settings | n_startup)), 9))
    assert len({*asked}) == 9


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"popsize": 20}, ValueError, r"Unrecognized option popsize in HeatStrategy \(allowed:"),
        ({"seed": -1}, ValueError, "seed must be None or a non-negative integer, got -1"),
        ({"n_startup_trials": 1.5}, ValueError, "n_startup_trials must be None or"),
        ({"trust_region": "big"}, ValueError, "trust_region must be True or False, or one of"),
        ({"deterministic_objective": 1}, TypeError, "deterministic_objective must be True or"),
        ({"kernel": "cold"}, ValueError, "kernel must be one of"),
        ({"search": "lucky"}, ValueError, "search must be one of"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_at_once(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        HeatStrategy(**settings)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({}, {"popsize": 20}, r"Unrecognized option popsize in strategy_options \(allowed:.*x0"),
        ({"order": {"colour": ["r"]}}, {}, r"name \['colour'\], but the tunable parameters with"),
        ({"order": {"layout": ["row", "tiled"]}}, {}, "order of 'layout' must hold each of"),
        (
            {"structure": PermutationInvariant(["tile", "layout"])},
            {},
            "interchangeable parameters",
        ),
        ({}, {"max_fevals": 9, "seed": 3}, "Unrecognized option seed in strategy_options"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    tune: Tune, settings: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tune(HeatStrategy(seed=0, **settings), options=options)
    assert "time=" not in tune.printed.getvalue()


def test_a_parameter_with_one_value_cannot_be_named(tune: Tune) -> None:
    choices = {**CHOICES, "one": [1]}
    with pytest.raises(ValueError, match=r"name \['one'\], but the tunable parameters with more"):
        tune(HeatStrategy(quantitative=["one"]), 9, choices=choices)


def test_one_objective_is_enough_for_some_acquisitions(tune: Tune) -> None:
    objectives = {"time": False, "block_size_x": True}
    with pytest.raises(ValueError, match="acquisition must be 'log-ei' for 2 objectives"):
        tune(HeatStrategy(acquisition="ucb"), 9, objectives=objectives)
    many = dict.fromkeys(["time", "block_size_x", "block_size_y", "tile", "compile_time"], False)
    with pytest.raises(ValueError, match="HeatStrategy takes at most 4 objectives, got 5"):
        tune(HeatStrategy(), 9, objectives=many)
