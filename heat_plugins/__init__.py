"""Heat-kernel Bayesian optimisation for categorical and mixed search spaces.

A map of the package (``docs/architecture.md`` has the whole of it):

    suggest      the pipeline, from what is known (``history``) to the next point
    space        parameters, and the arrays in which everything else sees them
    spec         what a user says: the kernel, structures, what is known about choices
    kernels      the kernels of the paper
    gp           the Gaussian process; acquisition, search: how the next point is chosen
    insight      what was learnt, for people
    optuna       ``HeatSampler``, the integration with Optuna
    ax           ``heat_generation_strategy``, the integration with Ax
    kernel_tuner ``HeatStrategy``, the integration with Kernel Tuner
    torch        the kernels for GPyTorch, and ``HeatGP`` for BoTorch
    benchmarks   the comparison problems and what is measured on them

Importing this package loads none of PyTorch, Optuna, Ax and Kernel Tuner; names are resolved on
first use.
"""

from typing import TYPE_CHECKING, Any

from heat_plugins import _moved  # noqa: F401  (modules by their old names)
from heat_plugins._extras import hide_missing, load_name
from heat_plugins._version import __version__

if TYPE_CHECKING:
    from heat_plugins.ax import heat_generation_strategy
    from heat_plugins.botorch import HeatGP
    from heat_plugins.kernel_tuner import HeatStrategy
    from heat_plugins.optuna import HeatSampler
    from heat_plugins.optuna.importance import HeatImportanceEvaluator
    from heat_plugins.search.nested_bins import NestedEmbedding
    from heat_plugins.spec.model import register_kernel
    from heat_plugins.spec.pipelines import pipeline
    from heat_plugins.spec.structures import (
        Additive,
        Anchors,
        InteractionOrders,
        LabelledGraph,
        PermutationInvariant,
        RandomDecomposition,
    )

__all__ = [
    "Additive",
    "Anchors",
    "HeatGP",
    "HeatImportanceEvaluator",
    "HeatSampler",
    "HeatStrategy",
    "InteractionOrders",
    "LabelledGraph",
    "NestedEmbedding",
    "PermutationInvariant",
    "RandomDecomposition",
    "__version__",
    "heat_generation_strategy",
    "pipeline",
    "register_kernel",
]

_HOMES = {
    "Additive": "heat_plugins.spec.structures",
    "Anchors": "heat_plugins.spec.structures",
    "HeatGP": "heat_plugins.botorch",
    "HeatImportanceEvaluator": "heat_plugins.optuna.importance",
    "HeatSampler": "heat_plugins.optuna",
    "HeatStrategy": "heat_plugins.kernel_tuner",
    "InteractionOrders": "heat_plugins.spec.structures",
    "LabelledGraph": "heat_plugins.spec.structures",
    "NestedEmbedding": "heat_plugins.search.nested_bins",
    "PermutationInvariant": "heat_plugins.spec.structures",
    "RandomDecomposition": "heat_plugins.spec.structures",
    "heat_generation_strategy": "heat_plugins.ax",
    "pipeline": "heat_plugins.spec.pipelines",
    "register_kernel": "heat_plugins.spec.model",
}

# What a base installation lacks.
_NEEDS = {
    "heat_plugins.botorch": ("botorch", "ax"),
    "heat_plugins.ax": ("ax", "ax"),
    "heat_plugins.kernel_tuner": ("kernel_tuner", "kernel-tuner"),
}
hide_missing(__all__, _HOMES, _NEEDS)


def __getattr__(name: str) -> Any:
    return load_name(__name__, name, _HOMES, _NEEDS)


def __dir__() -> list[str]:
    return sorted(__all__)
