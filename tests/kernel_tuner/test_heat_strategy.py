"""The strategy in Kernel Tuner's simulation mode: which configurations it asks for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from kernel_tuner.strategies.wrapper import OptAlgWrapper
from made_up_kernel import CHOICES, Tune, keys, made_up

from heat_plugins.kernel_tuner import HeatStrategy


def keeps_restrictions(params: Mapping[str, Any]) -> bool:
    threads = params["block_size_x"] * params["block_size_y"]
    return threads <= 512 and params["tile"] <= params["block_size_x"] // 8


def of_key(key: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(CHOICES, key, strict=True))


VALID = {key for key in itertools.product(*CHOICES.values()) if keeps_restrictions(of_key(key))}
MEASURED = {key: made_up(of_key(key)) for key in VALID}


@pytest.mark.parametrize("seed", range(2))
def test_configurations_are_valid_and_different_and_within_the_budget(
    tune: Tune, seed: int
) -> None:
    results = tune(HeatStrategy(seed=seed), 50)
    asked = keys(results)
    assert len(asked) == 50 == len({*asked})
    assert {*asked} <= VALID
    best = min(r["time"] for r in MEASURED.values() if "__error__" not in r)
    assert min(r["time"] for r in results if "__error__" not in r) == best


def test_the_same_seed_gives_the_same_configurations(tune: Tune) -> None:
    first = keys(tune(HeatStrategy(seed=7), 16))
    assert keys(tune(HeatStrategy(seed=7), 16)) == first
    assert keys(tune(HeatStrategy(seed=7), 12)) == first[:12]
    assert keys(tune(HeatStrategy(seed=8), 12)) != first[:12]
    # The seed of tune_kernel counts where the strategy has none.
    assert keys(tune(HeatStrategy(), 12, seed=7)) == first[:12]
    assert keys(tune(HeatStrategy(seed=7), 12, seed=8)) == first[:12]
    assert keys(tune(HeatStrategy(), 5)) != keys(tune(HeatStrategy(), 5))


def test_one_strategy_serves_several_runs(tune: Tune) -> None:
    strategy = HeatStrategy(seed=3)
    assert keys(tune(strategy, 12)) == keys(tune(strategy, 12))
    without = tune(strategy, 10, restrictions=None)
    assert len({*keys(without)}) == 10


def test_random_generators_of_the_process_are_left_alone(tune: Tune) -> None:
    states = random.getstate(), np.random.get_state()[1].copy()
    tune(HeatStrategy(seed=0), 15)
    assert random.getstate() == states[0]
    assert (np.random.get_state()[1] == states[1]).all()


def test_it_is_an_optimisation_algorithm_in_their_wrapper_as_well(tune: Tune) -> None:
    wrapped = tune(OptAlgWrapper(HeatStrategy(seed=7)), 12)
    assert keys(wrapped) == keys(tune(HeatStrategy(seed=7), 12))


def test_failures_are_learnt(tune: Tune) -> None:
    def n_failed(learns: bool) -> int:
        runs = [tune(HeatStrategy(seed=s, consider_failed_trials=learns), 40) for s in (0, 1)]
        return sum("__error__" in result for results in runs for result in results)

    assert sum("__error__" in result for result in MEASURED.values()) > 0.15 * len(VALID)
    assert n_failed(True) < n_failed(False)


def test_all_may_fail(tune: Tune) -> None:
    def fails(params: Mapping[str, Any]) -> dict[str, Any]:
        return {"time": "RuntimeFailedConfig", "__error__": "RuntimeFailedConfig"}

    results = tune(HeatStrategy(seed=0), 12, measure=fails, restrictions=None, quiet=True)
    assert len({*keys(results)}) == 12


def test_an_exhausted_space_ends(tune: Tune) -> None:
    choices = {"block_size_x": [16, 32, 64], "n": [1, 2, 3], "word": ["a", "b"]}
    valid = {k for k in itertools.product(*choices.values()) if k[0] > 16 or k[1] == 1}

    def time(params: Mapping[str, Any]) -> dict[str, Any]:
        return {"time": params["block_size_x"] / 16 + params["n"]}

    for n in (None, 1000):
        results = tune(
            HeatStrategy(seed=1),
            n,
            choices=choices,
            measure=time,
            restrictions=["block_size_x > 16 or n == 1"],
        )
        assert len(results) == len(valid)
        assert {*keys(results, choices)} == valid


def size(params: Mapping[str, Any]) -> dict[str, Any]:
    """A time that depends on all parameters, of whatever type."""
    return {"time": 1.0 + sum(len(str(value)) * (i + 1) for i, value in enumerate(params))}


@pytest.mark.parametrize(
    "choices",
    [
        {"block_size_x": [32]},
        {"block_size_x": [32], "flag": [True]},
        {"block_size_x": [32], "only": [1]},
        {"block_size_x": [32, 64]},
        {"block_size_x": [32, 64, 128], "one": [5], "word": ["", "-O3", "a,b"]},
        {"block_size_x": [64, 16, 32], "flag": [False, True], "share": [0.5, 0.25, 1e-3]},
        {"block_size_x": [1, 2, 4], "shift": [-1, 0, 1, 3], "mixed": [None, "a", 2]},
    ],
    ids=str,
)
def test_unusual_tunables(tune: Tune, choices: dict[str, list[Any]]) -> None:
    results = tune(HeatStrategy(seed=0), choices=choices, measure=size, restrictions=None)
    assert {*keys(results, choices)} == {*itertools.product(*choices.values())}
    assert len(results) == len({*keys(results, choices)})


@pytest.mark.parametrize(
    "restrictions",
    [
        ["block_size_x * block_size_y <= 512", "tile <= block_size_x // 8"],
        ["block_size_x * block_size_y <= 512 and tile <= block_size_x // 8"],
        keeps_restrictions,
        [
            lambda block_size_x, block_size_y: block_size_x * block_size_y <= 512,
            lambda block_size_x, tile: tile <= block_size_x // 8,
        ],
    ],
    ids=["strings", "string", "function", "functions"],
)
def test_restrictions_in_all_their_forms(tune: Tune, restrictions: Any) -> None:
    asked = keys(tune(HeatStrategy(seed=0), 15, restrictions=restrictions))
    assert len(asked) == 15 == len({*asked})
    assert {*asked} <= VALID


def test_without_restrictions_every_combination_may_come(tune: Tune) -> None:
    asked = keys(tune(HeatStrategy(seed=0), 20, restrictions=None))
    assert len({*asked}) == 20
    assert not {*asked} <= VALID


def test_a_time_limit_ends_a_run(tune: Tune) -> None:
    results = tune(HeatStrategy(seed=0), options={"time_limit": 4.0})
    # Each takes 150 ms in the cache file.
    assert 3 <= len(results) <= 4000 // 150 + 1


def test_more_is_better_where_the_user_says_so(tune: Tune) -> None:
    def speed(params: Mapping[str, Any]) -> dict[str, Any]:
        return {"time": 1.0, "speed": float(params["block_size_x"] + params["tile"])}

    results = tune(
        HeatStrategy(seed=0), 40, measure=speed, objective="speed", objective_higher_is_better=True
    )
    assert max(r["speed"] for r in results) == 256 + 8


def test_several_objectives(tune: Tune) -> None:
    def two(params: Mapping[str, Any]) -> dict[str, Any]:
        time = 1.0 + abs(params["tile"] - 4) + params["block_size_x"] / 64
        return {"time": time, "speed": params["block_size_x"] / 8 - params["block_size_y"]}

    results = tune(
        HeatStrategy(seed=0), 25, measure=two, objectives={"time": False, "speed": True}
    )
    assert len({*keys(results)}) == 25
    assert min(r["time"] for r in results) == 1.5
    assert max(r["speed"] for r in results) == 256 / 8 - 1


def test_a_value_that_is_no_number_is_a_failure(tune: Tune) -> None:
    def half(params: Mapping[str, Any]) -> dict[str, Any]:
        return {"time": float("nan") if params["layout"] == "row" else params["tile"] + 1.0}

    results = tune(HeatStrategy(seed=0), 30, measure=half, quiet=True)
    assert len({*keys(results)}) == 30
    assert sum(r["layout"] == "row" for r in results[10:]) < 7
