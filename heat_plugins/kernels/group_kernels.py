"""Kernels of parameters that belong together: groups, labelled graphs and anchors."""

from __future__ import annotations

import numpy as np

from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.column_kinds import ColumnKinds
from heat_plugins.kernels.composite import product_kernel
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import (
    AnchorDistances,
    Counts,
    FeatureMap,
    Frequencies,
    Part,
    SortedBlock,
)
from heat_plugins.kernels.group_average import (
    AllPermutations,
    GivenPermutations,
    GroupAverageKernel,
)
from heat_plugins.kernels.permutations import closure, orbits, sample
from heat_plugins.kernels.relabelling import RelabellingKernel
from heat_plugins.space import Indices
from heat_plugins.spec.structures import PermutationInvariant

__all__ = ["group_average_kernel", "group_features", "group_kernels"]


def group_features(kinds: ColumnKinds, invariance: PermutationInvariant, block: Indices) -> Part:
    """Return the features of interchangeable columns."""
    name = "/".join(kinds.space.names[column] for column in block[:2]) + "/..."
    if invariance.method == "sort":
        return SortedBlock(block, kinds.features_of(block), name)
    n_choices = int(max(kinds.space.n_levels[block]))
    if invariance.method == "padded-sort":
        return Counts(block, n_choices, name)
    found = [block]
    if invariance.permutations is not None:
        found = [block[list(orbit)] for orbit in orbits(invariance.permutations)]
    return Frequencies(found, n_choices, name)


def group_average_kernel(
    kinds: ColumnKinds, invariance: PermutationInvariant, block: Indices
) -> GroupAverageKernel:
    """Return the kernel of interchangeable columns that is an average over their group."""
    n_choices = int(max(kinds.space.n_levels[block]))
    if invariance.permutations is None:
        return GroupAverageKernel(block, AllPermutations(len(block), n_choices))
    try:
        elements = closure(invariance.permutations, invariance.n_samples)
        matches = GivenPermutations(elements, None, n_choices)
    except ValueError:  # too large for an exact average
        n = max(2, round(np.sqrt(invariance.n_samples)))
        drawn = sample(invariance.permutations, n, np.random.default_rng(0))
        matches = GivenPermutations(drawn, drawn, n_choices)
    return GroupAverageKernel(block, matches)


def group_kernels(kinds: ColumnKinds, columns: Indices) -> list[tuple[Kernel, Indices]]:
    """Return what belongs together among some columns as base kernels, each with its columns."""
    base_kernels: list[tuple[Kernel, Indices]] = []
    for invariance, block in kinds.groups:
        if np.isin(block, columns).all():
            if invariance.method == "sum":
                base_kernels.append((group_average_kernel(kinds, invariance, block), block))
            else:
                feature_map = FeatureMap([group_features(kinds, invariance, block)])
                base_kernels.append((DistanceKernel(feature_map), block))
    for graph, cells in kinds.labelled_graphs:
        if np.isin(graph.columns, columns).all():
            kernels: list[Kernel] = [RelabellingKernel(cells)]
            if cells.counts is not None:
                kernels.append(DistanceKernel(FeatureMap([cells.counts])))
            base_kernels.append((product_kernel(kernels), graph.columns))
    anchors = kinds.anchors(columns)
    if anchors is not None:
        counted = np.flatnonzero(~np.all(np.isnan(anchors), axis=0))
        base_kernels.append((DistanceKernel(FeatureMap([AnchorDistances(anchors)])), counted))
    return base_kernels
