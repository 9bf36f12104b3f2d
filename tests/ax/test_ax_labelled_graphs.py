"""Labelled graphs in Ax: the same settings, stored with the experiment."""

from pathlib import Path
from typing import Any

import pytest
from ax.api.client import Client
from ax.exceptions.core import UserInputError

from heat_plugins import LabelledGraph
from heat_plugins.ax import heat_generation_strategy

from ..oracles.labelled_graphs import classes_of, graph_of

CELL = LabelledGraph.nasbench101(2)
Params = dict[str, Any]


def value_of(params: Params) -> float:
    found = graph_of(CELL, params)
    return found.number_of_edges() - 2.0 * params["rate"] + len(found)


def client_of(choice: Any, number: Any, **settings: Any) -> Client:
    labels = [choice(name, ["conv", "pool"]) for name in CELL.labels]
    edges = [number(name, 0, 1) for name in CELL.names if name not in CELL.labels]
    client = Client()
    client.configure_experiment(parameters=[*labels, *edges, number("rate", 0.0, 1.0)])
    client.configure_optimization(objective="-y")
    client.set_generation_strategy(
        heat_generation_strategy(seed=0, n_startup_trials=4, **settings)
    )
    return client


def run(client: Client, n_trials: int) -> list[Params]:
    found = []
    for _ in range(n_trials):
        for index, params in client.get_next_trials(1).items():
            client.complete_trial(index, raw_data={"y": value_of(params)})
            found.append(params)
    return found


@pytest.mark.parametrize("kernel", ["heat", "weisfeiler-lehman"])
def test_stored_experiments_go_on_as_they_were(
    choice: Any, number: Any, kernel: str, tmp_path: Path
) -> None:
    client = client_of(choice, number, structure=CELL, kernel=kernel)
    run(client, 6)
    path = tmp_path / "experiment.json"
    client.save_to_json_file(str(path))
    again = Client.load_from_json_file(str(path))
    assert run(again, 2) == run(client, 2)


def test_a_batch_has_no_graph_twice(choice: Any, number: Any) -> None:
    client = client_of(choice, number, structure=CELL)
    client.get_next_trials(1)  # the middle of the space
    params = [*run(client, 5), *client.get_next_trials(4).values()]
    # The same graph at another rate is another point.
    classes = classes_of([graph_of(CELL, p) for p in params])
    points = [(number, p["rate"]) for number, p in zip(classes, params, strict=True)]
    assert len(set(points)) == len(points)


def test_parameters_that_are_not_there_are_named(choice: Any, number: Any) -> None:
    with pytest.raises(UserInputError, match="`missing`"):
        graph = LabelledGraph(["op1", "op2"], {("op1", "op2"): "missing"})
        client_of(choice, number, structure=graph).get_next_trials(1)
