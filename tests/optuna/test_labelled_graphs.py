"""Studies of labelled graphs: each graph once, whatever it is called."""

import pickle
from typing import Any

import numpy as np
import optuna
import pytest
from small_search import quick_sampler

from heat_plugins import HeatSampler, LabelledGraph

from ..oracles.labelled_graphs import classes_of, graph_of

CELL = LabelledGraph.nasbench101(2)
RING = LabelledGraph(
    ["a", "b", "c", "d"],
    {(x, y): x + y for x, y in ("ab", "ac", "ad", "bc", "bd", "cd")},
    unlabelled=["a", "b", "c", "d"],
)
NETWORK = LabelledGraph(
    ["n0", "n1", "n2"],
    {("n0", "n1"): "e01", ("n0", "n2"): "e02", ("n1", "n2"): "e12"},
    absent=["none"],
)
CHOICES: dict[int, Any] = {
    id(CELL): (("conv", "pool"), (0, 1)),
    id(RING): ((), (False, True)),
    id(NETWORK): (("C", "N", "none"), ("none", "bond")),
}


def ask(trial: optuna.Trial, graph: LabelledGraph) -> dict[str, Any]:
    labels, edges = CHOICES[id(graph)]
    return {
        name: trial.suggest_categorical(name, labels if name in graph.labels else edges)
        for name in graph.names
    }


def score(graph: LabelledGraph, values: dict[str, Any]) -> float:
    """Something that the graph alone decides."""
    found = graph_of(graph, values)
    degrees = sorted(degree for _, degree in found.degree)
    labels = [label for _, label in found.nodes(data="label")]
    return float(sum(degree**2 for degree in degrees) - 3 * labels.count("conv") - len(labels))


def all_graphs(graph: LabelledGraph) -> list[Any]:
    """All that the parameters can describe, by a grid of Optuna."""
    labels, edges = CHOICES[id(graph)]
    grid = {name: labels if name in graph.labels else edges for name in graph.names}
    study = optuna.create_study(sampler=optuna.samplers.GridSampler(grid, seed=0))
    study.optimize(lambda trial: float(bool(ask(trial, graph))))
    return [graph_of(graph, trial.params) for trial in study.trials]


@pytest.mark.parametrize(
    ("graph", "kernel"),
    [(CELL, "heat"), (RING, "heat"), (NETWORK, "heat"), (NETWORK, "weisfeiler-lehman")],
    ids=["cell", "ring", "network", "weisfeiler-lehman"],
)
def test_a_study_meets_every_graph_once_and_then_ends(graph: LabelledGraph, kernel: str) -> None:
    sampler = quick_sampler(
        seed=1, structure=graph, kernel=kernel, deterministic_objective=True, n_startup_trials=4
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: score(graph, ask(trial, graph)), n_trials=300)
    found = [graph_of(graph, trial.params) for trial in study.trials]
    everything = classes_of(all_graphs(graph))
    assert len(found) == len(set(classes_of(found))) == len(set(everything)) < 200


def test_workers_do_not_take_isomorphic_graphs_at_once() -> None:
    study = optuna.create_study(sampler=quick_sampler(seed=0, structure=CELL, n_startup_trials=3))
    study.optimize(lambda trial: score(CELL, ask(trial, CELL)), n_trials=6)
    running = [study.ask() for _ in range(8)]
    graphs = [graph_of(CELL, ask(trial, CELL)) for trial in running]
    graphs += [graph_of(CELL, trial.params) for trial in study.trials[:6]]
    assert len(set(classes_of(graphs))) == 14


def cell_with_others(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 6)
    return score(CELL, ask(trial, CELL)) + abs(np.log10(rate) + 1.0) + abs(depth - 2)


@pytest.mark.parametrize("arguments", [{}, {"kernel": "weisfeiler-lehman"}, {"mixing": "mixture"}])
def test_graphs_next_to_numbers_resume_as_they_were(arguments: dict[str, Any]) -> None:
    def sampler() -> HeatSampler:
        return quick_sampler(seed=2, structure=[CELL], n_startup_trials=5, **arguments)

    whole = optuna.create_study(sampler=sampler())
    whole.optimize(cell_with_others, n_trials=9)
    parts = optuna.create_study(sampler=sampler())
    for n_trials in (3, 3, 3):
        parts.optimize(cell_with_others, n_trials=n_trials)
        parts.sampler = pickle.loads(pickle.dumps(parts.sampler))
    assert [t.params for t in parts.trials] == [t.params for t in whole.trials]
    renewed = optuna.create_study()
    for _ in range(9):
        renewed.sampler = sampler()
        renewed.optimize(cell_with_others, n_trials=1)
    assert [t.params for t in renewed.trials] == [t.params for t in whole.trials]


def test_explanations_are_about_labels_and_edges() -> None:
    sampler = quick_sampler(seed=0, structure=CELL, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    study.optimize(cell_with_others, n_trials=15)
    explanation = sampler.explain(study)
    assert {*explanation.effects} == {*CELL.names, "rate", "depth"}
    assert "op1" in str(explanation)


def test_a_graph_that_cannot_be_is_said_so(optuna_log: pytest.LogCaptureFixture) -> None:
    graph = LabelledGraph(["a", "b"], {("a", "b"): "ab"})

    def objective(trial: optuna.Trial) -> float:
        value = float(trial.suggest_categorical("a", "xy") == "x")
        value += trial.suggest_categorical("b", "xy") == "x"
        return value + trial.suggest_categorical("ab", (1,))

    study = optuna.create_study(sampler=quick_sampler(structure=graph, n_startup_trials=2))
    study.optimize(objective, n_trials=3)
    assert "The LabelledGraph of 'ab' has no effect, because that parameter has one" in (
        optuna_log.text
    )


def test_labels_that_are_numbers_without_steps_are_refused() -> None:
    graph = LabelledGraph(["a", "b"], {("a", "b"): "ab"})

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("b", "xy")
        return trial.suggest_float("a", 0.0, 1.0) + trial.suggest_int("ab", 0, 1)

    study = optuna.create_study(sampler=quick_sampler(structure=graph, n_startup_trials=2))
    with pytest.raises(ValueError, match="parameter 'a' of a labelled graph must have listed"):
        study.optimize(objective, n_trials=3)
