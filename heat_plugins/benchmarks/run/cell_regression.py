"""How well kernels predict the errors of cells (the paper's figure of NAS regression).

Trained on 25 to 200 random cells of a table, tested on 200 others, by Spearman's rank correlation:
a search needs to know which cells are better, not by how much. Errors are taken as logarithms and
standardised by those of the training cells, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from scipy.stats import spearmanr

from heat_plugins.benchmarks.methods.graph_methods import GRAPH_MODELS, graph_model
from heat_plugins.benchmarks.problems.cells import CELLS, cell_of
from heat_plugins.benchmarks.problems.tasks import Choice, Params, Task, first_points
from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Categorical, Space

__all__ = ["SIZES", "cell_regression", "correlation"]

SIZES = (25, 50, 100, 200)
N_TEST = 200
N_SEEDS = 20
N_DRAWN = 4000  # cells, most of which are small or occur twice
LEAST_OPERATIONS = 4  # of generated cells, as random bits make many small ones
SMALLEST_ERROR = 0.1  # in % above the best cell of a table, whose logarithm would not be finite


def cell_regression(
    problems: Sequence[str] = tuple(CELLS), seeds: Sequence[int] = range(N_SEEDS)
) -> Iterator[dict[str, float | str]]:
    """Yield the rank correlation for each problem, seed, number of cells and kernel."""
    for seed in seeds:
        for problem in problems:
            for n in SIZES:
                for method in GRAPH_MODELS:
                    yield {
                        "kind": "cells",
                        "problem": problem,
                        "method": method,
                        "cells": n,
                        "seed": seed,
                        "correlation": correlation(problem, method, n, seed),
                    }


def correlation(problem: str, method: str, n: int, seed: int) -> float:
    """Return the rank correlation of predicted and true errors of cells not trained on."""
    task, space, points, values = _sample(problem, seed)
    train, test = slice(n), slice(SIZES[-1], SIZES[-1] + N_TEST)
    mean, spread = values[train].mean(), values[train].std()
    known = (values[train] - mean) / spread
    kernel = KernelBuilder(space, graph_model(task, method)).kernel()
    found = fit(kernel, points[train], known, deterministic=False).hyperparameters
    predicted = Surrogate(kernel, found, points[train], known).mean(points[test])
    return float(spearmanr(predicted, values[test]).statistic)


@cache
def _task(problem: str) -> Task:
    return CELLS[problem]()


@cache
def _sample(problem: str, seed: int) -> tuple[Task, Space, Array, Array]:
    """Return a task with different random cells (n, d) and the logarithms of their errors (n,)."""
    task = _task(problem)
    choices = [p for p in task.parameters if isinstance(p, Choice)]
    space = Space(tuple(Categorical(p.name, p.choices) for p in choices))
    drawn = first_points(task, N_DRAWN, seed)
    cells = [params for params in drawn if _is_cell(task, params)]
    points = np.unique(space.stack([space.encode(params) for params in cells]), axis=0)
    points = np.random.default_rng(seed).permutation(points)[: SIZES[-1] + N_TEST]
    values = [task.evaluate(space.decode(point)).values[0] for point in points]
    return task, space, points, np.log(np.maximum(values, 0.0) + SMALLEST_ERROR)


def _is_cell(task: Task, params: Params) -> bool:
    """Whether a cell is as large as nearly all of a table are."""
    if task.name != "cells101":
        return True
    cell = cell_of(params)
    return cell is not None and len(cell.operations) >= LEAST_OPERATIONS
