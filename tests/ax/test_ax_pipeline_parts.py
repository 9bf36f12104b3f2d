"""Parts of the pipeline that can be chosen, in Ax: stored with the strategy, refused if unfit."""

from pathlib import Path
from typing import Any

import pytest
from ax.api.client import Client
from ax.exceptions.core import UserInputError

from heat_plugins import NestedEmbedding, RandomDecomposition
from heat_plugins.ax import heat_generation_strategy

PARTS: list[dict[str, Any]] = [
    {"search": "hill-climbing"},
    {"search": "message-passing", "acquisition": "ucb", "structure": RandomDecomposition()},
    {"search": "bandit"},
    {"embedding": NestedEmbedding(1, n_trials=30), "trust_region": "bounce"},
]


def value_of(params: dict[str, Any]) -> float:
    return sum("abc".index(params[name]) for name in "cd") + (params["x"] - 0.3) ** 2


@pytest.mark.parametrize("settings", PARTS, ids=str)
def test_parts_are_stored_with_the_strategy(
    settings: dict[str, Any], choice: Any, number: Any, run: Any, tmp_path: Path
) -> None:
    client = Client()
    client.configure_experiment(parameters=[choice("c"), choice("d"), number("x")])
    client.configure_optimization(objective="-y")
    client.set_generation_strategy(
        heat_generation_strategy(seed=1, n_startup_trials=4, **settings)
    )
    run(client, value_of, 6)
    path = str(tmp_path / "client.json")
    client.save_to_json_file(path)
    loaded = Client.load_from_json_file(path)
    (expected,), (found,) = (
        list(each.get_next_trials(max_trials=1).values()) for each in (client, loaded)
    )
    assert (found["c"], found["d"]) == (expected["c"], expected["d"])
    assert found["x"] == pytest.approx(expected["x"], rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "ga"}, "search must be one of"),
        ({"search": "message-passing"}, "needs acquisition='ucb'"),
        ({"search": "message-passing", "acquisition": "ucb"}, "RandomDecomposition"),
        ({"embedding": "bins"}, "embedding must be None, 'nested' or"),
        ({"trust_region": "turbo"}, "trust_region must be True or False, or one of"),
        ({"acquisition": "ei"}, "acquisition must be one of"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserInputError, match=message):
        heat_generation_strategy(**settings)
