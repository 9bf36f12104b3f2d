"""Kernels on cells of networks, as the paper compares them: five evaluations at once."""

from __future__ import annotations

from heat_plugins.benchmarks.methods.method import Method, Solver
from heat_plugins.benchmarks.methods.optuna_solver import OptunaSolver
from heat_plugins.benchmarks.problems.cells import cell_graph
from heat_plugins.benchmarks.problems.tasks import Task
from heat_plugins.optuna import HeatSampler
from heat_plugins.spec.model import Model

__all__ = ["GRAPH_METHODS", "GRAPH_MODELS", "graph_model"]

# By method: the kernel, whether it knows of the graph, and whether counts are a factor of it.
GRAPH_MODELS: dict[str, tuple[str, bool, bool]] = {
    "cell-heat": ("heat", False, False),
    "cell-heat-sum": ("heat", True, False),
    "cell-graph": ("heat", True, True),
    "cell-wl": ("weisfeiler-lehman", True, False),
}
_DESCRIPTIONS = {
    "cell-heat": "heat kernel that knows nothing of the graph",
    "cell-heat-sum": "heat kernel averaged over relabellings: the paper's Heat (sum)",
    "cell-graph": "LabelledGraph as it comes: heat (sum) times counts of labels and edges",
    "cell-wl": "NASBOWL's Weisfeiler-Lehman kernel",
}


def graph_model(task: Task, method: str) -> Model:
    """Return the kernel of a method on the cells of a task."""
    kernel, has_graph, counts = GRAPH_MODELS[method]
    return Model(kernel, structure=cell_graph(task, counts=counts) if has_graph else None)


def _method(name: str) -> Method:
    def start(task: Task, seed: int) -> Solver:
        model = graph_model(task, name)
        sampler = HeatSampler(
            seed=seed,
            deterministic_objective=True,
            kernel=model.kernel,
            structure=model.structure,
        )
        return OptunaSolver(task, sampler)

    def why_not(task: Task) -> str | None:
        return None if cell_graph(task) is not None else "it is for cells of networks"

    return Method(f"{_DESCRIPTIONS[name]}, five at once", start, why_not, n_workers=5)


GRAPH_METHODS: dict[str, Method] = {name: _method(name) for name in GRAPH_MODELS}
