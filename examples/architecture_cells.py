"""Cells of neural networks: graphs, whose nodes can be called anything.

A cell has up to four operations between its input and its output, and a bit for each of the
edges that may join them. What counts is the graph: which operation comes after which, and not
which of them is called the first. ``LabelledGraph`` says so. The sampler then learns from every
cell about all others that are drawn alike, and tries none of them twice.

The score is made up, so that the example runs in seconds: it is that of the best way through the
cell, with a price for every part.

    python examples/architecture_cells.py [--trials 60]
"""

import networkx as nx
import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import HeatSampler, LabelledGraph

CELL = LabelledGraph.nasbench101(4)  # parameters op1 ... op4, edge_0_1 ... edge_4_5
OPERATIONS = ("conv3x3", "conv1x1", "maxpool")
WORTH = {
    ("input", "conv1x1"): 2.0,
    ("conv1x1", "conv3x3"): 3.0,
    ("conv3x3", "conv3x3"): 1.0,
    ("conv3x3", "maxpool"): 2.0,
    ("maxpool", "conv1x1"): 1.5,
    ("maxpool", "output"): -1.0,
}
PRICE = 0.4  # of an edge


def ask(trial: optuna.Trial) -> nx.DiGraph:
    """Return the cell of a trial, without what is on no way from the input to the output."""
    cell = nx.DiGraph()
    cell.add_node("input", operation="input")
    cell.add_node("output", operation="output")
    for name in CELL.labels:
        cell.add_node(name, operation=trial.suggest_categorical(name, OPERATIONS))
    for first, second, name in CELL.edges:
        if trial.suggest_int(name, 0, 1):
            cell.add_edge(first, second)
    on_a_way = nx.descendants(cell, "input") & nx.ancestors(cell, "output")
    return cell.subgraph({"input", *on_a_way, "output"})


def objective(trial: optuna.Trial) -> float:
    """Return the price of the edges less the worth of the best way through the cell."""
    cell = ask(trial)
    kind = cell.nodes(data="operation")
    worth = [
        sum(WORTH.get((kind[a], kind[b]), 0.0) for a, b in zip(way, way[1:], strict=False))
        for way in nx.all_simple_paths(cell, "input", "output")
    ]
    return PRICE * cell.number_of_edges() - max(worth, default=0.0)


def n_different(study: optuna.Study) -> int:
    """Return how many different cells were tried."""
    cells: list[nx.DiGraph] = []
    for trial in study.trials:
        cell = ask(optuna.trial.FixedTrial(trial.params))
        if not any(
            nx.is_isomorphic(cell, other, node_match=lambda a, b: a == b) for other in cells
        ):
            cells.append(cell)
    return len(cells)


def main() -> None:
    arguments = parse_arguments(__doc__, 60, 3, "architecture_cells.png")
    samplers = {
        "with the graph": lambda seed: HeatSampler(
            seed=seed, deterministic_objective=True, structure=CELL
        ),
        "without": lambda seed: HeatSampler(seed=seed, deterministic_objective=True),
        "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    }
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print("\nprice less worth of the best cell, smaller is better")
    print_table(results, at=(20, 40))
    for name, result in results.items():
        n_trials = len(result.last_study.trials)
        print(f"{name}: {n_different(result.last_study)} of {n_trials} cells are different")

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, None, "Cells of four operations")
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
