"""All methods by their names: our sampler with its kernels and structures, and its peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler

from heat_plugins._extras import require
from heat_plugins.benchmarks.methods.graph_methods import GRAPH_METHODS
from heat_plugins.benchmarks.methods.method import Method, Solver, only_one_objective
from heat_plugins.benchmarks.methods.optuna_solver import OptunaSolver, from_optuna
from heat_plugins.benchmarks.methods.peer_ax import start_default, start_heat, start_mixed
from heat_plugins.benchmarks.methods.peer_catcma import CatCmaSolver
from heat_plugins.benchmarks.methods.peer_hebo import HeboSolver
from heat_plugins.benchmarks.methods.peer_smac import SmacSolver
from heat_plugins.benchmarks.methods.peers import one_objective_without_conditions
from heat_plugins.benchmarks.problems.tasks import Task
from heat_plugins.optuna import HeatSampler
from heat_plugins.spec.pipelines import PIPELINES, pipeline
from heat_plugins.spec.registry import built_in_kernels
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

__all__ = [
    "HEAT_AND_HAMMING",
    "METHODS",
    "OTHER_KERNELS",
    "PIPELINE_METHODS",
    "STRUCTURES",
    "STRUCTURE_OF",
    "method_named",
]

# What is known about the objective, as a function of the names of its parameters.
STRUCTURE_OF: dict[str, Callable[[list[str]], Any]] = {
    "sort": lambda names: PermutationInvariant(names, "sort"),
    "padded-sort": PermutationInvariant,
    "sum-over-permutations": lambda names: PermutationInvariant(names, "sum"),
    "additive": lambda names: Additive(),
    "strictly-additive": lambda names: Additive(remainder=False),
    "interactions-2": lambda names: InteractionOrders(2),
    "interactions-3": lambda names: InteractionOrders(3),
    "random-decomposition": lambda names: RandomDecomposition(),
    "auto": lambda names: "auto",
}


OF_INTERCHANGEABLE = ("sort", "padded-sort", "sum-over-permutations")


def of_kernel(description: str, kernel: str = "heat", structure: str | None = None) -> Method:
    """Return a kernel and a structure under the fixed search: GA and trust region.

    As in the paper, all of these are told that the objective is deterministic.

    Raises:
        ValueError: If the kernel takes no such structure.
    """

    def sampler(names: list[str], seed: int, **arguments: Any) -> HeatSampler:
        known = None if structure is None else STRUCTURE_OF[structure](names)
        return HeatSampler(
            seed=seed, deterministic_objective=True, kernel=kernel, structure=known, **arguments
        )

    def start(task: Task, seed: int) -> Solver:
        names = [p.name for p in task.parameters]
        return OptunaSolver(task, sampler(names, seed, is_feasible=task.is_feasible))

    def why_not(task: Task) -> str | None:
        kinds = {repr(replace(parameter, name="")) for parameter in task.parameters}
        if structure in OF_INTERCHANGEABLE and len(kinds) > 1:
            return "its parameters must have the same choices to change places"
        return None

    sampler(["a", "b"], 0)  # says at once what does not go together
    return Method(description, start, why_not)


HEAT_AND_HAMMING = {
    "heat": of_kernel("heat kernel on the Hamming graph, a rate for each variable"),
    "casmopolitan": of_kernel("CASMOPOLITAN's kernel", "casmopolitan"),
    "combo": of_kernel("COMBO's kernel", "combo"),
    "one-hot-rbf": of_kernel("RBF after one-hot encoding, the paper's pipeline", "one-hot-rbf"),
    "matern": of_kernel("Matérn-5/2 after one-hot encoding: Bounce's kernel", "matern"),
    "rational-quadratic": of_kernel(
        "rational quadratic after one-hot encoding", "rational-quadratic"
    ),
    "graph-matern": of_kernel("graph Matérn kernel", "graph-matern"),
}
OTHER_KERNELS = {
    "hed": of_kernel("BODi's Hamming embedding by a dictionary", "hed"),
    "ssk": of_kernel("BOSS's subsequence string kernel", "ssk"),
    "cocabo": of_kernel(
        "CoCaBO's kernel: the sum of a kernel for each variable", structure="strictly-additive"
    ),
    "rducb": of_kernel("RDUCB's random trees of pairs", structure="random-decomposition"),
}


def of_pipeline(name: str) -> Method:
    """Return a published system, told that the objective is deterministic."""
    arguments = pipeline(name) | {"deterministic_objective": True}
    return replace(
        from_optuna(
            f"our {name}: the parts of {PIPELINES[name].reference}",
            HeatSampler,
            only_one_objective,
            knows_feasible=True,
            **arguments,
        ),
        # Bounce draws its few first points in its first subspace.
        takes_first_points="embedding" not in arguments,
    )


PIPELINE_METHODS = {f"pipeline-{name}": of_pipeline(name) for name in PIPELINES}
STRUCTURES = {
    "sort": of_kernel("heat kernel after sorting", structure="sort"),
    "padded-sort": of_kernel("heat kernel after padded sorting", structure="padded-sort"),
    "additive": of_kernel("sum of effects, with a remainder", structure="additive"),
    "interactions-2": of_kernel("orders of interaction up to 2", structure="interactions-2"),
    "auto": of_kernel("product, sum or interactions: the evidence chooses", structure="auto"),
}


def _gp_sampler(seed: int) -> BaseSampler:
    require("torch", extra="torch")
    return GPSampler(seed=seed, warn_independent_sampling=False)


PEERS = {
    "Random": from_optuna("Optuna's RandomSampler", RandomSampler),
    "TPE": from_optuna("Optuna's TPESampler as it comes", TPESampler),
    "TPE-univariate": from_optuna(
        "Optuna's TPESampler with multivariate=False, its default before Optuna 5",
        partial(TPESampler, multivariate=False),
    ),
    "NSGA-II": from_optuna(
        "Optuna's NSGAIISampler",
        NSGAIISampler,
        lambda task: None if task.n_objectives > 1 else "it is for several objectives",
    ),
    "GPSampler": replace(
        from_optuna("Optuna's GPSampler as it comes", _gp_sampler),
        package="torch",
        extra="pip install 'heat-plugins[torch]'",
    ),
}


def _four_at_once(name: str, method: Method) -> Method:
    return replace(method, description=f"{name}, four evaluations at once", n_workers=4)


AT_ONCE = {
    "HeatSampler": from_optuna("our sampler", HeatSampler, knows_feasible=True),
    "GPSampler": PEERS["GPSampler"],
}

METHODS: dict[str, Method] = {
    "HeatSampler": from_optuna("our sampler as it comes", HeatSampler, knows_feasible=True),
    "HeatSampler-deterministic": from_optuna(
        "our sampler, told that the objective is deterministic",
        HeatSampler,
        knows_feasible=True,
        deterministic_objective=True,
    ),
    **HEAT_AND_HAMMING,
    **OTHER_KERNELS,
    **STRUCTURES,
    **GRAPH_METHODS,
    **PIPELINE_METHODS,
    **PEERS,
    **{f"{name}-4-workers": _four_at_once(name, method) for name, method in AT_ONCE.items()},
    "CatCMAwM": Method(
        "cmaes: CatCMA with margin as it comes, which begins by itself",
        CatCmaSolver,
        one_objective_without_conditions,
        package="cmaes",
        extra="pip install 'heat-plugins[peers]'",
        takes_first_points=False,
    ),
    "SMAC3": Method(
        "SMAC3: facade for hyperparameters, told that the objective is deterministic",
        SmacSolver,
        only_one_objective,
        package="smac",
        extra="pip install 'heat-plugins[peers]'",
    ),
    "Ax-heat": Method(
        "Ax with our strategy as it comes, told that results are without noise",
        start_heat,
        one_objective_without_conditions,
        package="ax",
        extra="pip install 'heat-plugins[ax]'",
    ),
    "Ax-default": Method(
        "Ax: what its Client chooses by itself, told that results are without noise",
        start_default,
        one_objective_without_conditions,
        package="ax",
        extra="pip install 'heat-plugins[ax]'",
    ),
    "Ax-mixed": Method(
        "Ax: its generator BO_MIXED, told that results are without noise",
        start_mixed,
        one_objective_without_conditions,
        package="ax",
        extra="pip install 'heat-plugins[ax]'",
    ),
    "HEBO": Method(
        "HEBO as it comes",
        HeboSolver,
        one_objective_without_conditions,
        package="hebo",
        extra="make peers",
    ),
    "HEBO-adam": Method(
        "HEBO whose model is fitted by Adam: as it comes the fit fails with many choices",
        partial(HeboSolver, optimizer="adam"),
        one_objective_without_conditions,
        package="hebo",
        extra="make peers",
    ),
}


def method_named(name: str) -> Method:
    """Return a method of the list, or any kernel with any structure: ``"matern+sort"``.

    Raises:
        ValueError: If there is no such method, kernel or structure.
    """
    if name in METHODS:
        return METHODS[name]
    kernel, plus, structure = name.partition("+")
    if kernel in built_in_kernels() and (structure in STRUCTURE_OF if plus else True):
        return of_kernel(f"the kernel and the structure {name}", kernel, structure or None)
    raise ValueError(
        f"method must be one of {', '.join(METHODS)}, or KERNEL or KERNEL+STRUCTURE with a kernel "
        f"of {', '.join(built_in_kernels())} and a structure of {', '.join(STRUCTURE_OF)}; "
        f"got {name!r}"
    )
