"""Builds the kernel of the surrogate from a model specification.

space, model -> columns by kind (column_kinds.py) -> base kernels -> kernel: a product
(product_kernels.py), or a sum of base kernels (sum_kernels.py)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.column_kinds import LARGEST_GROUP, ColumnKinds
from heat_plugins.kernels.composite import Combined, product_kernel
from heat_plugins.kernels.product_kernels import ProductKernels
from heat_plugins.kernels.profiles import OfDistance, Profile
from heat_plugins.kernels.sum_kernels import (
    decomposition_kernel,
    orders_kernel,
    reference_points,
)
from heat_plugins.kernels.wide_columns import COST_OF_COMPARISON
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.symmetry import Symmetry
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    Combination,
    InteractionOrders,
    RandomDecomposition,
)

__all__ = ["KernelBuilder", "LARGEST_GROUP"]

# Pairs of observations times features that a step of a fit works on: 300 points with 500
# features, as many as the widest problem has whose results are published.
MOST_FIT_PRODUCTS = 300**2 * 500


class KernelBuilder:
    """Makes kernels for one space and model; the same ones every time.

    Args:
        space: The parameters.
        model: What the user chose and knows. Names that are not in the space do not matter
            here: the integrations know whether they will come.
        conditions: When parameters exist, if not always. Optional ones have a heat kernel of
            their own, times whatever the kernel of the others is; graphs, quantities and
            groups that name them have no effect.
    """

    @usual_errors
    def __init__(self, space: Space, model: Model, conditions: Conditions | None = None) -> None:
        """Sort the columns by kind, and check that what is said about them can be."""
        self.space = space
        self.model = model
        self._kinds = ColumnKinds(space, model, conditions)
        self._products = ProductKernels(self._kinds)

    @property
    def optional(self) -> Bools:
        """(d,) which parameters may be absent."""
        return self._kinds.optional

    def is_for(self, space: Space, model: Model, conditions: Conditions | None) -> bool:
        """Whether a builder made from these would make the same kernels."""
        if self.space != space or self.model != model:
            return False
        if conditions is None:
            return not self.optional.any()
        return np.array_equal(self.optional, conditions.is_optional) and np.array_equal(
            self._kinds.branching, conditions.is_branching
        )

    def fit_points(self, limit: int) -> int:
        """Return to how many observations hyperparameters are fitted at the most.

        Fewer than the limit where the space is so wide that a fit would take too long.
        """
        n_features = np.where(self.space.is_discrete, self.space.n_levels, 1.0)
        n_features[n_features == 2.0] = 1.0
        n_features[self._kinds.is_wide(np.arange(len(self.space)))] = COST_OF_COMPARISON
        n_products = n_features.sum() + sum(
            c.elements.size for _, c in self._kinds.labelled_graphs
        )
        return min(limit, int(np.sqrt(MOST_FIT_PRODUCTS / n_products)))

    def symmetry(self) -> Symmetry | None:
        """Return what makes points the same; None where every point is itself alone."""
        return self._kinds.symmetry

    @property
    def may_be_sum(self) -> bool:
        """Whether the kernel may be a sum though nobody has said so.

        Where most parameters are numbers. Of choices the product, whose log weights have a
        free mean, comes close to a sum by itself.
        """
        model, every = self.model, self._kinds.every[self.space.n_levels[self._kinds.every] > 1]
        n_numbers = int(np.sum(~self.space.is_discrete[every]))
        is_open = model.is_open and model.has_ard and model.mixing == "product"
        return is_open and n_numbers >= 2 and 2 * n_numbers >= len(every)

    def kernel(self, combination: Combination | None = None, n_observations: int = 0) -> Kernel:
        """Return the kernel.

        Args:
            combination: How its base kernels combine: by a product if None.
            n_observations: Random decompositions have other components for every number.
        """
        model = self.model
        is_product = model.is_product and model.has_ard and model.mixing == "product"
        if combination is None and is_product:  # in which any further parameter is a factor
            return self._product(np.arange(len(self.space)))
        optional = np.flatnonzero(self.optional)
        if not len(self._kinds.every):
            return self._heat(optional)
        kernel = self._kernel(combination, n_observations)
        return Combined([kernel, self._heat(optional)], "product") if len(optional) else kernel

    def _kernel(self, combination: Combination | None, n_observations: int) -> Kernel:
        if self._kinds.entry.kind == "whole":
            factory = self._kinds.entry.factory
            assert factory is not None
            if self._kinds.entry.is_of_graph:
                graphs = [graph for graph, _ in self._kinds.labelled_graphs]
                columns = np.array([c for graph in graphs for c in graph.columns], dtype=np.int64)
                return self._with_rest(lambda _: product_kernel(map(factory, graphs)), columns)
            columns = self._kinds.discrete()
            if not self._kinds.entry.is_for_ordered:
                columns = columns[self._kinds.is_unordered(columns)]
            return self._with_rest(lambda c: factory(self.space, c), columns)
        if isinstance(combination, RandomDecomposition):
            tree = combination
            return self._mixed(
                lambda c: decomposition_kernel(self._kinds, c, tree, n_observations)
            )
        if isinstance(combination, Additive):
            combination = InteractionOrders(1, remainder=combination.remainder)
        if isinstance(combination, InteractionOrders):
            orders = combination
            return self._mixed(lambda c: orders_kernel(self._kinds, c, orders))
        return self._mixed(self._product)

    def _with_rest(self, kernel: Callable[[Indices], Kernel], columns: Indices) -> Kernel:
        """Return a kernel of some columns, times or plus the default kernel of the others."""
        rest = np.setdiff1d(self._kinds.every, columns)
        if not len(columns):
            return self._heat(rest)
        if not len(rest):
            return kernel(columns)
        return Combined([kernel(columns), self._heat(rest)], self.model.mixing)

    def _mixed(self, kernel: Callable[[Indices], Kernel]) -> Kernel:
        """Return the kernel of all columns, or of choices and numbers apart."""
        every = self._kinds.every
        numeric = np.setdiff1d(every, self._kinds.discrete())
        # A profile is a function of the Hamming distance, so numbers stay outside.
        apart = self.model.mixing != "product" or self._profile() is not None
        if not apart or not len(numeric):
            return kernel(every)
        return self._with_rest(kernel, self._kinds.discrete())

    def _profile(self) -> Profile | None:
        entry = self._kinds.entry
        if entry.function is not None:
            return OfDistance(entry.function)
        if entry.kind != "profile" or entry.factory is None:
            return None
        profile: Profile = entry.factory()
        return profile

    def _product(self, columns: Indices) -> Kernel:
        return self._products.product(columns, self._profile(), self.model.has_ard)

    def _heat(self, columns: Indices) -> Kernel:
        """Return the heat kernel of some columns, whatever the kernel of the others is."""
        return self._products.product(columns, None, has_ard=True)

    @property
    def is_plain_product(self) -> bool:
        """Whether the kernel, if a product, has one factor for each parameter."""
        # Several numbers have one distance together.
        has_numbers = int(np.sum(~self.space.is_discrete)) > 1
        is_grouped = self._kinds.groups or self._kinds.labelled_graphs
        is_plain = not is_grouped and not self.model.anchors and self._profile() is None
        return is_plain and not has_numbers

    def own_variance(self, column: int, kernel: Kernel, theta: Array) -> float:
        """Return the mean of k~(x, x), a parameter's part of a product (additive.py).

        Where all other parameters agree, the product is this parameter's factor alone.
        """
        reference = reference_points(self.space, np.array([column]))
        factor = kernel.cross_covariance(theta, reference.points)(reference.points)
        means = factor @ reference.shares
        mean = float(reference.shares @ means)
        return float(1.0 / mean - reference.shares @ means**2 / mean**2)
