"""Kernels on combinatorial and mixed spaces.

==============  ==========================================================  ===========
module          content                                                     needs
==============  ==========================================================  ===========
``formulas``    the heat kernel of a Hamming graph as pure functions        NumPy
``heat``        the same as GPyTorch kernels with hyperparameters           GPyTorch
==============  ==========================================================  ===========

The public names below are looked up when they are first used, so that importing this package,
or using only the NumPy functions, does not load PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heat_plugins.kernels.formulas import (
        beta_from_rate,
        heat_kernel,
        mixed_kernel,
        rate,
        rho,
    )
    from heat_plugins.kernels.heat import HeatKernel, mixed_heat_kernel

__all__ = [
    "HeatKernel",
    "beta_from_rate",
    "heat_kernel",
    "mixed_heat_kernel",
    "mixed_kernel",
    "rate",
    "rho",
]

_MODULE_OF = {
    "HeatKernel": "heat",
    "beta_from_rate": "formulas",
    "heat_kernel": "formulas",
    "mixed_heat_kernel": "heat",
    "mixed_kernel": "formulas",
    "rate": "formulas",
    "rho": "formulas",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # The next lookup finds it without coming here.
    return value


def __dir__() -> list[str]:
    """List the public names although they may not be loaded yet."""
    return sorted({*globals(), *__all__})
