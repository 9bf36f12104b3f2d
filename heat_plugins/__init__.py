"""Heat-kernel Bayesian optimisation for categorical and mixed search spaces.

A map of the package:

    space       parameters, and the arrays in which the core sees them
                (choices, numeric: the kinds of parameters; conditions: when they exist)
    structures  what a user knows about the objective: symmetries, effects that add up
    model       the kernel of the surrogate and all that is said about it
                (graphs: which choices are next to each other; kernel_registry: kernels by name)
    kernels     formulas and helpers of the kernels of the paper
    core        from a history of evaluations to the next point; knows no host
    optuna      ``HeatSampler``, the door for Optuna
    ax          ``heat_generation_strategy``, the door for Ax
    torch       ``CombinatorialKernel``, every kernel of the core for GPyTorch
    botorch     ``HeatGP``, the surrogate alone, for loops of one's own
    benchmarks  the comparison problems and what is measured on them

Importing this package loads none of PyTorch, Optuna and Ax; names are resolved on first use.
"""

from typing import TYPE_CHECKING, Any

from heat_plugins import _moved  # noqa: F401  (modules by their old names)
from heat_plugins._extras import hide_missing, load_name
from heat_plugins._version import __version__

if TYPE_CHECKING:
    from heat_plugins.ax import heat_generation_strategy
    from heat_plugins.botorch import HeatGP
    from heat_plugins.optuna import HeatSampler
    from heat_plugins.optuna.importance import HeatImportanceEvaluator
    from heat_plugins.spec.model import register_kernel
    from heat_plugins.spec.structures import (
        Additive,
        Anchors,
        InteractionOrders,
        PermutationInvariant,
        RandomDecomposition,
    )

__all__ = [
    "Additive",
    "Anchors",
    "HeatGP",
    "HeatImportanceEvaluator",
    "HeatSampler",
    "InteractionOrders",
    "PermutationInvariant",
    "RandomDecomposition",
    "__version__",
    "heat_generation_strategy",
    "register_kernel",
]

_HOMES = {
    "Additive": "heat_plugins.spec.structures",
    "Anchors": "heat_plugins.spec.structures",
    "HeatGP": "heat_plugins.botorch",
    "HeatImportanceEvaluator": "heat_plugins.optuna.importance",
    "HeatSampler": "heat_plugins.optuna",
    "InteractionOrders": "heat_plugins.spec.structures",
    "PermutationInvariant": "heat_plugins.spec.structures",
    "RandomDecomposition": "heat_plugins.spec.structures",
    "heat_generation_strategy": "heat_plugins.ax",
    "register_kernel": "heat_plugins.spec.model",
}

# What a base installation lacks.
_NEEDS = {"heat_plugins.botorch": ("botorch", "ax"), "heat_plugins.ax": ("ax", "ax")}
hide_missing(__all__, _HOMES, _NEEDS)


def __getattr__(name: str) -> Any:
    return load_name(__name__, name, _HOMES, _NEEDS)


def __dir__() -> list[str]:
    return sorted(__all__)
