"""Heat-kernel Bayesian optimisation for categorical and mixed search spaces.

A map of the package:

    space       parameters, and the arrays in which the core sees them
                (choices, numeric: the kinds of parameters)
    kernels     the heat kernel as a formula and as a GPyTorch kernel
    core        from a history of evaluations to the next point; knows no host
    optuna      ``HeatSampler``, the door for Optuna
    benchmarks  the comparison problems and what is measured on them

Importing this package loads none of PyTorch, Optuna and Ax; names are resolved on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heat_plugins._version import __version__

if TYPE_CHECKING:
    from heat_plugins.optuna import HeatSampler

__all__ = ["HeatSampler", "__version__"]

_HOMES = {"HeatSampler": "heat_plugins.optuna"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
