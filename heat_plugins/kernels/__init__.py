"""Kernels on combinatorial and mixed spaces.

======================  ==================================================  ========
module                  content                                             needs
======================  ==================================================  ========
``formulas``            the heat kernel of a Hamming graph as functions     NumPy
``decompositions``      random decompositions into components (RDUCB)       NumPy
``dictionaries``        anchor points of a Hamming embedding (BODi)         NumPy
``permutation_groups``  groups of permutations of the variables             NumPy
``heat``                the heat kernel, also with numeric variables        GPyTorch
``graph_heat``          the heat kernel of any graphs (COMBO)               GPyTorch
``hamming``             functions of a weighted Hamming distance            GPyTorch
``spectral``            functions of the Laplacian of a Hamming graph       GPyTorch
``additive``            sums over variables, components, interactions       GPyTorch
``invariant``           invariance by sorting and by products               GPyTorch
``group_sums``          invariance by means over a group                    GPyTorch
``reference``           kernels of other methods, for comparison only       GPyTorch
======================  ==================================================  ========

What the GPyTorch kernels share is in ``codes`` (base classes, checks, parameters),
``mismatches`` (weighted Hamming distances), ``hamming_spectrum`` and ``memory``.

The public names below are looked up when they are first used, so that importing this package,
or using only the NumPy functions, does not load PyTorch. What needs GPyTorch needs the extra
``torch`` of the installation. The functions of ``permutation_groups`` have short names and are
used with that of their module, ``permutation_groups.orbits``.
"""

from typing import TYPE_CHECKING, Any

from heat_plugins._extras import hide_missing, load_name

if TYPE_CHECKING:
    from heat_plugins.kernels.additive import (
        AdditiveKernel,
        DecompositionKernel,
        InteractionOrdersKernel,
    )
    from heat_plugins.kernels.decompositions import random_tree_components
    from heat_plugins.kernels.dictionaries import diverse_dictionary
    from heat_plugins.kernels.formulas import (
        beta_from_rate,
        heat_kernel,
        mixed_kernel,
        rate,
        rho,
    )
    from heat_plugins.kernels.group_sums import GroupSumKernel, SymmetricSumKernel
    from heat_plugins.kernels.hamming import (
        CasmopolitanKernel,
        HammingKernel,
        MaternHammingKernel,
        OneHotRBFKernel,
        RationalQuadraticHammingKernel,
    )
    from heat_plugins.kernels.invariant import GroupProductKernel, PermutationInvariantKernel
    from heat_plugins.kernels.reference import HEDKernel, SubsequenceStringKernel
    from heat_plugins.kernels.spectral import (
        GraphMaternKernel,
        InversePolynomialKernel,
        PhiKernel,
    )
    from heat_plugins.torch.graph_heat import GraphHeatKernel
    from heat_plugins.torch.heat import HeatKernel, mixed_heat_kernel

__all__ = [
    "AdditiveKernel",
    "CasmopolitanKernel",
    "DecompositionKernel",
    "GraphHeatKernel",
    "GraphMaternKernel",
    "GroupProductKernel",
    "GroupSumKernel",
    "HEDKernel",
    "HammingKernel",
    "HeatKernel",
    "InteractionOrdersKernel",
    "InversePolynomialKernel",
    "MaternHammingKernel",
    "OneHotRBFKernel",
    "PermutationInvariantKernel",
    "PhiKernel",
    "RationalQuadraticHammingKernel",
    "SubsequenceStringKernel",
    "SymmetricSumKernel",
    "beta_from_rate",
    "diverse_dictionary",
    "heat_kernel",
    "mixed_heat_kernel",
    "mixed_kernel",
    "random_tree_components",
    "rate",
    "rho",
]

_MODULE_OF = {
    "AdditiveKernel": "additive",
    "CasmopolitanKernel": "hamming",
    "DecompositionKernel": "additive",
    "GraphHeatKernel": "graph_heat",
    "GraphMaternKernel": "spectral",
    "GroupProductKernel": "invariant",
    "GroupSumKernel": "group_sums",
    "HEDKernel": "reference",
    "HammingKernel": "hamming",
    "HeatKernel": "heat",
    "InteractionOrdersKernel": "additive",
    "InversePolynomialKernel": "spectral",
    "MaternHammingKernel": "hamming",
    "OneHotRBFKernel": "hamming",
    "PermutationInvariantKernel": "invariant",
    "PhiKernel": "spectral",
    "RationalQuadraticHammingKernel": "hamming",
    "SubsequenceStringKernel": "reference",
    "SymmetricSumKernel": "group_sums",
    "beta_from_rate": "formulas",
    "diverse_dictionary": "dictionaries",
    "heat_kernel": "formulas",
    "mixed_heat_kernel": "heat",
    "mixed_kernel": "formulas",
    "random_tree_components": "decompositions",
    "rate": "formulas",
    "rho": "formulas",
}
_MOVED = ("GraphHeatKernel", "HeatKernel", "mixed_heat_kernel")
_HOMES = {
    name: f"{'heat_plugins.torch' if name in _MOVED else __name__}.{module}"
    for name, module in _MODULE_OF.items()
}

# A base installation lacks what the modules of GPyTorch kernels need.
_OF_NUMPY = {f"{__name__}.{module}" for module in ("decompositions", "dictionaries", "formulas")}
_NEEDS = {home: ("gpytorch", "torch") for home in _HOMES.values() if home not in _OF_NUMPY}
hide_missing(__all__, _HOMES, _NEEDS)


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use (PEP 562)."""
    value = load_name(__name__, name, _HOMES, _NEEDS)
    globals()[name] = value  # The next lookup finds it without coming here.
    return value


def __dir__() -> list[str]:
    """List the public names although they may not be loaded yet."""
    return sorted({*globals(), *__all__})
