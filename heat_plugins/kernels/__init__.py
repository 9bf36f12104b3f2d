"""The kernels, each written once, with NumPy alone.

===================  =================================================================
``base``             what a kernel is: a function of two points, with its derivatives
``distance``         functions of one weighted distance: the default and its relatives
                     (``features``, ``profiles``, ``graph_distance``, ``wide_columns``)
``additive``         main effects, interactions of pairs, ... (``order_terms``,
                     ``orthogonal``, ``orthogonal_numbers``)
``group_average``    averages over groups of permutations (``permutations``)
``composite``        products, sums and mixtures of kernels
``base_kernels``     one parameter as a kernel
``baselines``        kernels of other methods
``function``         a kernel of one's own from a formula
``builtin``          the entries of the registry; ``build``: from a model to its kernel
``formulas``         the heat kernel of a Hamming graph as plain functions
===================  =================================================================

GPyTorch kernels are in :mod:`heat_plugins.torch`; those that were here are found there, or an
error says what to write instead.
"""

import sys
from typing import Any

from heat_plugins._extras import load_name
from heat_plugins.kernels.baselines.dictionary import diverse_dictionary
from heat_plugins.kernels.baselines.random_trees import random_tree_components
from heat_plugins.kernels.formulas import beta_from_rate, heat_kernel, mixed_kernel, rate, rho

__all__ = [
    "beta_from_rate",
    "diverse_dictionary",
    "heat_kernel",
    "mixed_kernel",
    "random_tree_components",
    "rate",
    "rho",
]

_MOVED = dict.fromkeys(
    ("GraphHeatKernel", "HeatKernel", "mixed_heat_kernel"), "heat_plugins.torch"
)
_NEEDS = {"heat_plugins.torch": ("gpytorch", "torch")}

# What to write after ``CombinatorialKernel(n_choices, `` for kernels that had classes.
_INSTEAD = {
    "AdditiveKernel": "structure=InteractionOrders(1, orthogonal=False)",
    "CasmopolitanKernel": "kernel='casmopolitan'",
    "DecompositionKernel": "structure=RandomDecomposition()",
    "GraphMaternKernel": "kernel='graph-matern'",
    "GroupProductKernel": "structure=PermutationInvariant(names, 'product')",
    "GroupSumKernel": "structure=PermutationInvariant(names, 'sum', permutations=...)",
    "HEDKernel": "kernel='hed'",
    "HammingKernel": "kernel=function",
    "InteractionOrdersKernel": "structure=InteractionOrders(max_order)",
    "InversePolynomialKernel": "kernel='inverse-polynomial'",
    "MaternHammingKernel": "kernel='matern'",
    "OneHotRBFKernel": "kernel='one-hot-rbf'",
    "PermutationInvariantKernel": "structure=PermutationInvariant(names)",
    "PhiKernel": "kernel=SpectralKernel(space, columns, phi)",
    "RationalQuadraticHammingKernel": "kernel='rational-quadratic'",
    "SubsequenceStringKernel": "kernel='ssk'",
    "SymmetricSumKernel": "structure=PermutationInvariant(names, 'sum')",
}


def __getattr__(name: str) -> Any:
    """Find kernels that have moved, and say what to write for those that are gone (PEP 562)."""
    if name not in _INSTEAD:
        return load_name(__name__, name, _MOVED, _NEEDS)
    message = (
        f"{name} is gone: write heat_plugins.torch.CombinatorialKernel(n_choices, "
        f"{_INSTEAD[name]})"
    )
    # Python drops the message of an AttributeError from an import of the name.
    is_import = sys._getframe(1).f_code.co_name == "_handle_fromlist"
    raise ImportError(message) if is_import else AttributeError(message)
