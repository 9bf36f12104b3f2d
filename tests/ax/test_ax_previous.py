"""Experiments that go on from earlier ones."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from ax.api.client import Client
from ax.exceptions.core import UserInputError

from heat_plugins.ax import earlier_experiments, heat_generation_strategy
from heat_plugins.ax.earlier_experiments import read_previous, write_previous

Params = dict[str, Any]


def wrong(best: Sequence[str]) -> Callable[[Params], float]:
    def objective(params: Params) -> float:
        missed = sum(params[f"layer{i}"] != wanted for i, wanted in enumerate(best))
        return missed + abs(math.log10(params["rate"]) + 1.0)

    return objective


@pytest.fixture(scope="module")
def space_of(choice: Any, number: Any) -> Callable[[str], list[Any]]:
    def of(choices: str) -> list[Any]:
        layers = [choice(f"layer{i}", choices) for i in range(4)]
        return [*layers, number("rate", 1e-3, 1.0, scaling="log")]

    return of


@pytest.fixture(scope="module")
def earlier(client_of: Any, run: Any, space_of: Any) -> Client:
    client: Client = client_of(space_of("abcd"), n_startup_trials=30)
    run(client, wrong("abcd"), 30)
    return client


def going_on(client_of: Any, space: list[Any], previous: Any, **settings: Any) -> Client:
    client: Client = client_of(space, n_startup_trials=None, previous=previous, **settings)
    return client


def test_an_experiment_goes_on_where_another_one_was(
    client_of: Any, run: Any, space_of: Any, earlier: Client
) -> None:
    values = {}
    for name, previous in (("with", [earlier]), ("alone", ())):
        client = going_on(client_of, space_of("abcd"), previous)
        values[name] = min(map(wrong("abcd"), run(client, wrong("abcd"), 5)))
    assert values["with"] < 0.6 < values["alone"]


def test_an_added_choice_and_loading_in_another_process(
    client_of: Any, run: Any, space_of: Any, earlier: Client, tmp_path: Path
) -> None:
    client = going_on(client_of, space_of("abcde"), [earlier._experiment])
    arms = run(client, wrong("abce"), 14)
    assert min(map(wrong("abce"), arms)) < 0.6
    path = str(tmp_path / "experiment.json")
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)
    expected, found = (each.get_next_trials(1)[14] for each in (client, loaded))
    assert found.pop("rate") == pytest.approx(expected.pop("rate"), rel=1e-4)
    assert found == expected


def test_failures_and_constraints_carry_over(client_of: Any, choice: Any, number: Any) -> None:
    def space() -> list[Any]:
        return [choice("a", "pqr"), choice("b", "pqr"), number("x", 0.0, 1.0)]

    def tell(client: Client, n: int) -> list[Params]:
        asked = []
        for _ in range(n):
            ((index, params),) = client.get_next_trials(1).items()
            asked.append(params)
            if params["a"] == "p":
                client.mark_trial_failed(index)
                continue
            cost = 1.0 if params["b"] == "p" else 0.0
            client.complete_trial(index, raw_data={"y": params["x"] - cost, "cost": cost})
        return asked

    limits: dict[str, Any] = {"outcome_constraints": ["cost <= 0.5"]}
    old = client_of(space(), n_startup_trials=30, **limits)
    tell(old, 30)
    arms = tell(going_on(client_of, space(), [old], **limits), 5)
    assert sum(params["a"] == "p" for params in arms) <= 1
    assert arms[0]["b"] != "p"


def test_a_parameter_of_another_kind_is_left_out_and_named(
    client_of: Any, run: Any, choice: Any, number: Any
) -> None:
    old = client_of([choice("a", "pq"), number("width", 0.0, 1.0)])
    run(old, lambda params: float(params["a"] == "p") + params["width"], 6)
    client = going_on(client_of, [choice("a", "pq"), choice("width", "xyz")], [old])
    with mock.patch.object(earlier_experiments.logger, "warning") as warning:
        arms = run(client, lambda params: float(params["a"] == "p"), 2)
    assert arms[0]["a"] == "q"
    assert "Parameter `width` of the earlier experiment" in warning.call_args_list[0].args[0]


def test_what_is_no_experiment_is_refused() -> None:
    with pytest.raises(UserInputError, match="previous must list experiments or clients, got 3"):
        heat_generation_strategy(previous=[3])  # type: ignore[list-item]
    with pytest.raises(UserInputError, match="previous must be a list of experiments"):
        heat_generation_strategy(previous=Client())  # type: ignore[arg-type]


def test_what_is_stored_is_read_again(earlier: Client) -> None:
    text = write_previous([earlier])
    assert text is not None and text.isascii()
    (kept,) = read_previous(text)
    assert len(kept.arms) == len(kept.means) == 30
    assert kept.means[0].keys() == {"y"} and "rate" in kept.arms[0]
    assert write_previous([]) is None and read_previous(None) == []
    for spoilt in ("", "x", text[:-9]):
        with pytest.raises(ValueError, match="previous cannot be read"):
            read_previous(spoilt)
