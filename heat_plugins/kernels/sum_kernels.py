"""Sums over parameters: their base kernels, and what combines these."""

from __future__ import annotations

import numpy as np

from heat_plugins.kernels.additive import OrdersKernel
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.base_kernels import (
    ChoiceDistance,
    ChoiceKernel,
    FixedDistance,
    NumberKernel,
    WithRemainder,
)
from heat_plugins.kernels.baselines.decomposition import DecompositionKernel
from heat_plugins.kernels.baselines.random_trees import random_tree_components
from heat_plugins.kernels.column_kinds import ColumnKinds
from heat_plugins.kernels.features import Columns, FeatureMap
from heat_plugins.kernels.group_kernels import group_kernels
from heat_plugins.kernels.order_terms import loses_digits
from heat_plugins.kernels.orthogonal import Reference, quadrature
from heat_plugins.space import Indices, Space
from heat_plugins.spec.structures import InteractionOrders, RandomDecomposition

__all__ = ["decomposition_kernel", "orders_kernel", "reference_points"]

N_BLOCK_SAMPLES = 64  # points that stand for all values of a group of parameters


def kernel_of_column(kinds: ColumnKinds, column: int) -> Kernel:
    """Return one column as a kernel of its own."""
    if not kinds.space.is_discrete[column]:
        return NumberKernel(column)
    distance: ChoiceDistance
    if column in kinds.graphs:
        distance = kinds.graphs[column]
        if kinds.has_remainders:
            distance = WithRemainder(distance)
    elif column in kinds.quantities:
        distance = FixedDistance.of_places(kinds.quantities[column])
    else:
        distance = FixedDistance.unordered(int(kinds.space.n_levels[column]))
    return ChoiceKernel(column, distance)


def decomposition_kernel(
    kinds: ColumnKinds, columns: Indices, tree: RandomDecomposition, n_observations: int
) -> Kernel:
    """Return a sum over random pairs of parameters, others for every number of observations."""
    single = [kernel_of_column(kinds, int(c)) for c in np.intersect1d(columns, kinds.single)]
    base_kernels = [*single, *[base for base, _ in group_kernels(kinds, columns)]]
    n_edges = None if tree.n_edges is None else min(tree.n_edges, len(base_kernels) - 1)
    rng = np.random.default_rng([tree.seed, n_observations])
    return DecompositionKernel(
        base_kernels, random_tree_components(len(base_kernels), rng, n_edges)
    )


def orders_kernel(kinds: ColumnKinds, columns: Indices, orders: InteractionOrders) -> Kernel:
    """Return the sum over main effects, pairs, ... of some columns."""
    single = np.intersect1d(columns, kinds.single)
    groups = group_kernels(kinds, columns)
    unordered = kinds.is_unordered(single)
    if loses_digits(len(single) + len(groups), orders.max_order):
        unordered[:] = False  # as base kernels, which are added one by one
    choices = single[unordered]
    # Numbers first, as the kernel wants them.
    rest = single[~unordered]
    rest = rest[np.argsort(kinds.space.is_discrete[rest], kind="stable")]
    others = [(kernel_of_column(kinds, int(c)), np.array([c])) for c in rest]
    base_kernels = [*others, *groups]
    return OrdersKernel(
        FeatureMap([Columns(kinds.space, choices, unordered=choices)]),
        kinds.space.n_levels[choices],
        [base for base, _ in base_kernels],
        [reference_points(kinds.space, block) for _, block in base_kernels],
        orders.max_order,
        orders.orthogonal,
        orders.remainder,
    )


def reference_points(space: Space, columns: Indices) -> Reference:
    """Return points that stand for all values of some columns."""
    if len(columns) > 1:
        points = space.sample(N_BLOCK_SAMPLES, np.random.default_rng(0))
        return Reference(points, np.full(len(points), 1.0 / len(points)))
    column = int(columns[0])
    if space.is_discrete[column]:
        places = np.arange(space.n_levels[column])
        shares = np.full(len(places), 1.0 / len(places))
    else:
        places, shares = quadrature()
    points = np.zeros((len(places), len(space)))
    points[:, column] = places
    return Reference(points, shares)
