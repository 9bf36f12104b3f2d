"""The kernels of the paper: one entry each.

Notation
    ===========  =====================================================================
    h            weighted Hamming distance: the sum of w_i over the variables that differ
    lambda       eigenvalues of the Laplacian of the Hamming graph
    ===========  =====================================================================

``docs/kernels.md`` shows the summaries.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.baselines.dictionary import diverse_dictionary
from heat_plugins.kernels.baselines.spectral import GraphMatern, InversePolynomials, SpectralKernel
from heat_plugins.kernels.baselines.string import StringKernel
from heat_plugins.kernels.baselines.weisfeiler_lehman import WeisfeilerLehmanKernel
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import AnchorDistances, FeatureMap
from heat_plugins.kernels.isotropic_rates import IsotropicRates
from heat_plugins.kernels.profiles import Matern52, RationalQuadratic
from heat_plugins.space import Indices, Space
from heat_plugins.spec.registry import KernelEntry

__all__ = ["BUILT_IN"]


N_ANCHORS = 128  # of the kernel "hed", as many as BODi has


def _graph_matern(space: Space, columns: Indices) -> Kernel:
    return SpectralKernel(space, columns, GraphMatern(len(columns)))


def _inverse_polynomial(space: Space, columns: Indices) -> Kernel:
    return SpectralKernel(space, columns, InversePolynomials(len(columns)))


def _hed(space: Space, columns: Indices) -> Kernel:
    sizes = space.n_levels[columns].astype(np.int64)
    anchors = np.full((N_ANCHORS, len(space)), np.nan)
    rng = np.random.default_rng(0)
    anchors[:, columns] = diverse_dictionary(sizes.tolist(), N_ANCHORS, rng)
    feature_map = FeatureMap([AnchorDistances(anchors, isotropic=True)])
    return DistanceKernel(feature_map, (), Matern52(), IsotropicRates(feature_map.log_scales))


def _ssk(space: Space, columns: Indices) -> Kernel:
    return StringKernel(columns, int(max(space.n_levels[columns])))


BUILT_IN = (
    KernelEntry(
        "heat",
        "heat kernel on the graph of choices",
        "product",
        has_ard=True,
        has_remainder=True,
        has_diffusion_time=True,
    ),
    KernelEntry(
        "casmopolitan",
        "the same function, its own parametrisation",
        "product",
        has_ard=True,
    ),
    KernelEntry(
        "combo",
        "heat kernel on graphs by eigenvectors; closed form on complete graphs",
        "product",
        has_ard=True,
        has_diffusion_time=True,
    ),
    KernelEntry("one-hot-rbf", "RBF on one-hot vectors", "product"),
    KernelEntry("matern", "Matérn-5/2 of sqrt(h), Bounce's", "profile", Matern52, has_ard=True),
    KernelEntry(
        "rational-quadratic",
        "(1 + h/alpha)^-alpha",
        "profile",
        RationalQuadratic,
        has_ard=True,
    ),
    KernelEntry(
        "graph-matern",
        "spectral, Phi = (2 nu/kappa^2 + lambda)^-nu",
        factory=_graph_matern,
        is_for_ordered=False,
    ),
    KernelEntry(
        "inverse-polynomial",
        "spectral, sum of 1/(1 + b_p lambda^p)",
        factory=_inverse_polynomial,
        is_for_ordered=False,
    ),
    KernelEntry("hed", "BODi's embedding by 128 anchors", factory=_hed, takes_graphs=False),
    KernelEntry("ssk", "BOSS's subsequences", factory=_ssk, takes_graphs=False),
    KernelEntry(
        "weisfeiler-lehman",
        "NASBOWL's counts of refined labels, of a LabelledGraph",
        factory=WeisfeilerLehmanKernel,
        is_of_graph=True,
        takes_graphs=False,
    ),
)
