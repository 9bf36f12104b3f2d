"""Builds the kernel of the surrogate from a model specification.

space, model -> columns by kind -> base kernels -> kernel
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
from heat_plugins.kernels.composite import Combined
from heat_plugins.kernels.distance import (
    DistanceKernel,
    GraphColumn,
    IsotropicRates,
    SharedDiffusionTime,
)
from heat_plugins.kernels.features import (
    AnchorDistances,
    ChoicePlaces,
    Columns,
    Counts,
    FeatureMap,
    Frequencies,
    Part,
    SortedBlock,
)
from heat_plugins.kernels.graph_cells import GraphCells
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.kernels.group_average import (
    AllPermutations,
    GivenPermutations,
    GroupAverageKernel,
)
from heat_plugins.kernels.order_terms import loses_digits
from heat_plugins.kernels.orthogonal import Reference
from heat_plugins.kernels.permutations import closure, orbits, sample
from heat_plugins.kernels.profiles import Matern52, OfDistance, Profile
from heat_plugins.kernels.relabelling import RelabellingKernel
from heat_plugins.kernels.wide_columns import COST_OF_COMPARISON, WIDE, WideColumns
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.categorical import ListedValues, Ordinal
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.graph_columns import GraphColumns
from heat_plugins.space.graphs import adjacency, is_complete
from heat_plugins.space.symmetry import Block, GraphBlock, SymmetricColumns, Symmetry
from heat_plugins.spec.declared import kind_of, number_places, places_of, positions_of
from heat_plugins.spec.graph_layout import layout_of
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    Combination,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

__all__ = ["KernelBuilder", "LARGEST_GROUP"]


LARGEST_GROUP = 20_000  # permutations that are listed, to tell points apart
N_NODES = 16  # of the quadrature over a number
# Pairs of observations times features that a step of a fit works on: 300 points with 500
# features, as many as the widest problem has whose results are published.
MOST_FIT_PRODUCTS = 300**2 * 500
N_BLOCK_SAMPLES = 64  # points that stand for all values of a group of parameters


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
        self._entry = model.entry
        nowhere = np.zeros(len(space), dtype=bool)
        self.optional = nowhere if conditions is None else conditions.is_optional
        self._branching = nowhere if conditions is None else conditions.is_branching
        self._every = np.flatnonzero(~self.optional)
        self._graphs: dict[int, GraphDistance] = {}
        self._known_graphs: dict[tuple[int, bytes], GraphDistance] = {}
        self._quantities: dict[int, Array] = {}
        self._numbers: dict[int, Array] = {}
        self._feature_maps: dict[bytes, FeatureMap] = {}
        for column, parameter in enumerate(space.parameters):
            if isinstance(parameter, ListedValues):
                if not self.optional[column]:
                    self._sort_choice(column, parameter)
            elif parameter.name in (*model.graphs, *model.order, *model.scales):
                raise ValueError(
                    f"parameter {parameter.name!r} must have listed choices to have a graph, "
                    f"an order or quantities, got {parameter!r}"
                )
        self._groups = [
            (invariance, self._columns_of(group))
            for invariance in model.invariances
            for group in invariance.groups
            if all(self._is_always_there(name) for name in group)
        ]
        for invariance, columns in self._groups:
            self._check_group(invariance, columns)
        self._check_anchors()
        self._labelled_graphs = self._find_labelled_graphs()
        grouped = [column for _, columns in self._groups for column in columns]
        grouped += [column for graph, _ in self._labelled_graphs for column in graph.columns]
        if model.numeric_choices == "auto" and self._has_remainders and model.has_ard:
            for column in np.setdiff1d(np.arange(len(space)), grouped):
                self._look_for_numbers(int(column))
        every = np.arange(len(space))
        self._single = every[~np.isin(every, grouped)]
        # Once: to list the elements of a group can take a while.
        self._symmetry = self._find_symmetry()

    def is_for(self, space: Space, model: Model, conditions: Conditions | None) -> bool:
        """Whether a builder made from these would make the same kernels."""
        if self.space != space or self.model != model:
            return False
        if conditions is None:
            return not self.optional.any()
        return np.array_equal(self.optional, conditions.is_optional) and np.array_equal(
            self._branching, conditions.is_branching
        )

    def fit_points(self, limit: int) -> int:
        """Return to how many observations hyperparameters are fitted at the most.

        Fewer than the limit where the space is so wide that a fit would take too long.
        """
        n_features = np.where(self.space.is_discrete, self.space.n_levels, 1.0)
        n_features[n_features == 2.0] = 1.0
        n_features[self._is_wide(np.arange(len(self.space)))] = COST_OF_COMPARISON
        n_products = n_features.sum() + sum(c.elements.size for _, c in self._labelled_graphs)
        return min(limit, int(np.sqrt(MOST_FIT_PRODUCTS / n_products)))

    def _is_always_there(self, name: str) -> bool:
        return name in self.space.column and not self.optional[self.space.column[name]]

    def _columns_of(self, names: Sequence[str]) -> Indices:
        return np.array([self.space.column[name] for name in names], dtype=np.int64)

    # ------------------------------------------------------------------ kinds of columns

    def _sort_choice(self, column: int, parameter: ListedValues) -> None:
        """Note the graph or the places of a parameter with listed values."""
        model, name, g = self.model, parameter.name, len(parameter.choices)
        if name in model.scales:
            self._quantities[column] = places_of(parameter, model.scales[name])
            return
        if name in model.order:
            positions = positions_of(parameter, model.order[name])
            matrix = np.zeros((g, g))
            matrix[positions[1:], positions[:-1]] = matrix[positions[:-1], positions[1:]] = 1.0
        elif name in model.graphs:
            matrix = adjacency(model.graphs[name], g, name, parameter.choices)
        elif isinstance(parameter, Ordinal):
            matrix = adjacency("path", g, name)
        else:
            return
        # Complete graphs have a closed form; so has one edge, which is a complete graph.
        if g > 1 and not is_complete(matrix):
            # One object for all that are equal: their tables are then found together.
            key = (g, matrix.tobytes())
            if key not in self._known_graphs:
                self._known_graphs[key] = GraphDistance(matrix)
            self._graphs[column] = self._known_graphs[key]

    def _look_for_numbers(self, column: int) -> None:
        """Note the places of choices that are numbers, of which nothing has been said."""
        parameter = self.space.parameters[column]
        said = (*self.model.graphs, *self.model.order, *self.model.scales)
        if not isinstance(parameter, ListedValues) or column in self._graphs:
            return
        places = None if parameter.name in said else number_places(parameter)
        if places is not None:
            self._numbers[column] = places

    @property
    def _has_remainders(self) -> bool:
        """Whether choices on a graph may also differ in ways that the graph does not say.

        COMBO's kernel is the graph's heat kernel alone. It is as smooth as an RBF kernel, and
        a search that trusts it misses the one choice that is better than its neighbours.
        """
        return self._entry.has_remainder

    def _is_unordered(self, columns: Indices) -> Bools:
        special = np.isin(columns, [*self._graphs, *self._quantities])
        return self.space.is_discrete[columns] & ~special

    def _check_group(self, invariance: PermutationInvariant, columns: Indices) -> None:
        parameters = [self.space.parameters[column] for column in columns]
        if invariance.permutations is None:
            exchanged = [tuple(range(len(columns)))]
        else:
            exchanged = list(orbits(invariance.permutations))
        for orbit in exchanged:
            first = parameters[orbit[0]]
            for other in (parameters[i] for i in orbit[1:]):
                if kind_of(other) != kind_of(first):
                    raise ValueError(
                        f"interchangeable parameters must have the same choices or range: "
                        f"{first.name!r} has {kind_of(first)}, {other.name!r} has {kind_of(other)}"
                    )
        names = [self.space.names[column] for column in columns]
        special = [name for name in names if name in (*self.model.graphs, *self.model.order)]
        if special:
            raise ValueError(
                f"interchangeable parameters must have neither graphs nor orders, {special} have"
            )
        if invariance.method != "sort" and not np.all(self._is_unordered(columns)):
            raise ValueError(
                f"method {invariance.method!r} needs unordered choices, which not all of "
                f"{names} have; use the method 'sort'"
            )

    def _find_labelled_graphs(self) -> list[tuple[GraphColumns, GraphCells]]:
        """Return the graphs whose parameters are all there, with their cells."""
        found = []
        for graph in self.model.labelled_graphs:
            if all(self._is_always_there(name) for name in graph.names):
                special = (*self.model.graphs, *self.model.order, *self.model.scales)
                both = [name for name in graph.names if name in special]
                if both:
                    raise ValueError(
                        "parameters of a labelled graph must have neither graphs, orders nor "
                        f"quantities of their own, {both} have"
                    )
                columns = GraphColumns(self.space, layout_of(graph))
                found.append((columns, GraphCells(columns, graph.n_samples, graph.counts)))
        return found

    def _check_anchors(self) -> None:
        for name, value in (item for point in self.model.anchors for item in point.items()):
            if name not in self.space.column:
                continue
            column = self.space.column[name]
            parameter = self.space.parameters[column]
            if not self.space.is_discrete[column]:
                raise ValueError(
                    f"points of Anchors must name parameters with listed choices, {name!r} is "
                    f"{parameter!r}"
                )
            try:
                parameter.encode(value)
            except ValueError as error:
                raise ValueError(f"points of Anchors must hold possible values: {error}") from None

    # ----------------------------------------------------------------------- symmetry

    def symmetry(self) -> Symmetry | None:
        """Return what makes points the same; None where every point is itself alone."""
        return self._symmetry

    def _find_symmetry(self) -> Symmetry | None:
        blocks: list[SymmetricColumns] = [GraphBlock(g) for g, _ in self._labelled_graphs]
        for invariance, columns in self._groups:
            if invariance.permutations is None:
                blocks.append(Block(columns))
                continue
            try:
                elements = closure(invariance.permutations, LARGEST_GROUP)
            except ValueError:
                continue  # too many to compare all of them: the kernel alone knows the group
            blocks.append(Block(columns, elements, int(self.space.n_levels[columns].max())))
        return Symmetry(blocks) if blocks else None

    # ------------------------------------------------------------------------- kernels

    @property
    def may_be_sum(self) -> bool:
        """Whether the kernel may be a sum though nobody has said so.

        Where most parameters are numbers. Of choices the product, whose log weights have a
        free mean, comes close to a sum by itself.
        """
        model, every = self.model, self._every[self.space.n_levels[self._every] > 1]
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
        if not len(self._every):
            return self._heat(optional)
        kernel = self._kernel(combination, n_observations)
        return Combined([kernel, self._heat(optional)], "product") if len(optional) else kernel

    def _kernel(self, combination: Combination | None, n_observations: int) -> Kernel:
        if self._entry.kind == "whole":
            factory = self._entry.factory
            assert factory is not None
            if self._entry.is_of_graph:
                graphs = [graph for graph, _ in self._labelled_graphs]
                columns = np.array([c for graph in graphs for c in graph.columns], dtype=np.int64)
                return self._with_rest(lambda _: _product_of(map(factory, graphs)), columns)
            columns = self._discrete()
            if not self._entry.is_for_ordered:
                columns = columns[self._is_unordered(columns)]
            return self._with_rest(lambda c: factory(self.space, c), columns)
        if isinstance(combination, RandomDecomposition):
            tree = combination
            return self._mixed(lambda c: self._decomposition(c, tree, n_observations))
        if isinstance(combination, Additive):
            combination = InteractionOrders(1, remainder=combination.remainder)
        if isinstance(combination, InteractionOrders):
            orders = combination
            return self._mixed(lambda c: self._orders(c, orders))
        return self._mixed(self._product)

    def _discrete(self) -> Indices:
        return self._every[self._is_choice()[self._every]]

    def _is_choice(self) -> Bools:
        """Return which columns are choices, or part of a graph."""
        is_choice = self.space.is_discrete.copy()
        for graph, _ in self._labelled_graphs:
            is_choice[graph.columns] = True
        return is_choice

    def _with_rest(self, kernel: Callable[[Indices], Kernel], columns: Indices) -> Kernel:
        """Return a kernel of some columns, times or plus the default kernel of the others."""
        rest = np.setdiff1d(self._every, columns)
        if not len(columns):
            return self._heat(rest)
        if not len(rest):
            return kernel(columns)
        return Combined([kernel(columns), self._heat(rest)], self.model.mixing)

    def _mixed(self, kernel: Callable[[Indices], Kernel]) -> Kernel:
        """Return the kernel of all columns, or of choices and numbers apart."""
        every = self._every
        numeric = np.setdiff1d(every, self._discrete())
        # A profile is a function of the Hamming distance, so numbers stay outside.
        apart = self.model.mixing != "product" or self._profile() is not None
        if not apart or not len(numeric):
            return kernel(every)
        return self._with_rest(kernel, self._discrete())

    def _profile(self) -> Profile | None:
        entry = self._entry
        if entry.function is not None:
            return OfDistance(entry.function)
        if entry.kind != "profile" or entry.factory is None:
            return None
        profile: Profile = entry.factory()
        return profile

    def _product(self, columns: Indices) -> Kernel:
        return self._factors(columns, self._profile(), self.model.has_ard)

    def _heat(self, columns: Indices) -> Kernel:
        """Return the heat kernel of some columns, whatever the kernel of the others is."""
        return self._factors(columns, None, has_ard=True)

    def _factors(self, columns: Indices, profile: Profile | None, has_ard: bool) -> Kernel:
        """Return the product of all factors; one distance of choices, as far as there is one."""
        parts: list[Part] = []
        factors: list[Kernel] = []
        is_number = np.isin(columns, self._single) & ~self.space.is_discrete[columns]
        numbers, columns = columns[is_number], columns[~is_number]
        single = np.intersect1d(columns, self._single)
        graphs = [column for column in single if column in self._graphs]
        plain = single if self._has_remainders else np.setdiff1d(single, graphs)
        is_wide = self._is_wide(plain)
        wide = WideColumns(self._columns(plain[is_wide])) if is_wide.any() else None
        if not is_wide.all():
            parts.append(self._columns(plain[~is_wide]))
        places = {column: places for column, places in self._numbers.items() if column in single}
        if places and profile is None and has_ard:
            parts.append(ChoicePlaces(self.space, places))
        for invariance, block in self._groups:
            if np.isin(block, columns).all():
                if invariance.method == "sum":
                    factors.append(self._group_average_kernel(invariance, block))
                else:
                    parts.append(self._part(invariance, block))
        for graph, cells in self._labelled_graphs:
            if np.isin(graph.columns, columns).all():
                factors.append(RelabellingKernel(cells, is_tied=not has_ard))
                if cells.counts is not None:
                    parts.append(cells.counts)
        anchors = self._anchors(columns)
        if anchors is not None:
            parts.append(AnchorDistances(anchors))
        graph_columns = [self._graph_column(column) for column in graphs]
        # Graphs have heat kernels of their own, whatever the profile is.
        if profile is not None and graph_columns:
            factors.append(DistanceKernel(FeatureMap([]), graph_columns))
            graph_columns = []
        if parts or graph_columns or wide is not None:
            feature_map = self._feature_map(columns, parts)
            isotropic = (
                None
                if has_ard
                else self._isotropic_rates(feature_map, plain[~is_wide], wide, graph_columns)
            )
            factors.insert(0, DistanceKernel(feature_map, graph_columns, profile, isotropic, wide))
        if len(numbers):
            feature_map = self._feature_map(numbers, [self._columns(numbers)])
            isotropic = None if has_ard else IsotropicRates(feature_map.log_scales)
            factors.append(DistanceKernel(feature_map, (), Matern52(), isotropic))
        return _product_of(factors)

    def _feature_map(self, columns: Indices, parts: list[Part]) -> FeatureMap:
        """Return the same map for the models of all objectives and constraints.

        It remembers what it did last, so that they share the work.
        """
        return self._feature_maps.setdefault(columns.tobytes(), FeatureMap(parts))

    def _columns(self, columns: Indices) -> Columns:
        mine = {c: places for c, places in self._quantities.items() if c in columns}
        graphs = np.array([*self._graphs], dtype=np.int64)
        # An ordinal parameter may have been given a complete graph.
        given = columns[[self.space.names[column] in self.model.graphs for column in columns]]
        return Columns(
            self.space,
            columns,
            mine,
            graphs if self._has_remainders else None,
            np.flatnonzero(self._branching),
            given[self._is_unordered(given) & ~self.optional[given]],
        )

    def _graph_column(self, column: int) -> GraphColumn:
        return GraphColumn(int(column), self._graphs[column], self.space.names[column])

    def _is_wide(self, columns: Indices) -> Bools:
        """Return which columns have too many choices for features."""
        is_one_hot = self._is_unordered(columns)
        if self._has_remainders:
            is_one_hot |= np.isin(columns, [*self._graphs])
        return is_one_hot & (self.space.n_levels[columns] > WIDE)

    def _isotropic_rates(
        self,
        feature_map: FeatureMap,
        plain: Indices,
        wide: WideColumns | None,
        graphs: Sequence[GraphColumn],
    ) -> IsotropicRates:
        """Return how isotropic kernels tie their weights: to a rate, or to a diffusion time."""
        scales = [feature_map.log_scales, np.zeros(0) if wide is None else wide.log_scales]
        log_scales = np.concatenate([*scales, np.zeros(len(graphs))])
        if not self._entry.has_diffusion_time:
            return IsotropicRates(log_scales)
        sizes = [np.zeros(len(log_scale)) for log_scale in scales]
        sizes[0][: len(plain)] = self._n_unordered(plain)
        if wide is not None:
            sizes[1] = self._n_unordered(wide.columns)
        return SharedDiffusionTime(
            log_scales, np.concatenate([*sizes, [g.distance.n_choices for g in graphs]])
        )

    def _n_unordered(self, columns: Indices) -> Array:
        """Return the numbers of choices of columns, 0 where they are not unordered."""
        return np.where(self._is_unordered(columns), self.space.n_levels[columns], 0.0)

    # -------------------------------------------------------------------- base kernels

    def _part(self, invariance: PermutationInvariant, block: Indices) -> Part:
        """Return the features of interchangeable columns."""
        name = "/".join(self.space.names[column] for column in block[:2]) + "/..."
        if invariance.method == "sort":
            return SortedBlock(block, self._columns(block), name)
        n_choices = int(max(self.space.n_levels[block]))
        if invariance.method == "padded-sort":
            return Counts(block, n_choices, name)
        found = [block]
        if invariance.permutations is not None:
            found = [block[list(orbit)] for orbit in orbits(invariance.permutations)]
        return Frequencies(found, n_choices, name)

    def _group_average_kernel(
        self, invariance: PermutationInvariant, block: Indices
    ) -> GroupAverageKernel:
        n_choices = int(max(self.space.n_levels[block]))
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

    def _anchors(self, columns: Indices) -> Array | None:
        """Return anchors (M, d) as codes of some columns, NaN where a column does not count."""
        rows = []
        for point in self.model.anchors:
            row = np.full(len(self.space), np.nan)
            for name, value in point.items():
                column = self.space.column.get(name, -1)
                if column in columns:
                    row[column] = self.space.parameters[column].encode(value)
            if not np.all(np.isnan(row)):
                rows.append(row)
        return np.array(rows) if rows else None

    def _group_kernels(self, columns: Indices) -> list[tuple[Kernel, Indices]]:
        """Return groups of interchangeable columns, and anchors, as base kernels."""
        base_kernels: list[tuple[Kernel, Indices]] = []
        for invariance, block in self._groups:
            if np.isin(block, columns).all():
                if invariance.method == "sum":
                    base_kernels.append((self._group_average_kernel(invariance, block), block))
                else:
                    feature_map = FeatureMap([self._part(invariance, block)])
                    base_kernels.append((DistanceKernel(feature_map), block))
        for graph, cells in self._labelled_graphs:
            if np.isin(graph.columns, columns).all():
                kernels: list[Kernel] = [RelabellingKernel(cells)]
                if cells.counts is not None:
                    kernels.append(DistanceKernel(FeatureMap([cells.counts])))
                base_kernels.append((_product_of(kernels), graph.columns))
        anchors = self._anchors(columns)
        if anchors is not None:
            counted = np.flatnonzero(~np.all(np.isnan(anchors), axis=0))
            base_kernels.append((DistanceKernel(FeatureMap([AnchorDistances(anchors)])), counted))
        return base_kernels

    def _kernel_of_column(self, column: int) -> Kernel:
        """Return one column as a kernel of its own."""
        if self.space.is_discrete[column]:
            distance: ChoiceDistance
            if column in self._graphs:
                distance = self._graphs[column]
                if self._has_remainders:
                    distance = WithRemainder(distance)
            elif column in self._quantities:
                distance = FixedDistance.of_places(self._quantities[column])
            else:
                distance = FixedDistance.unordered(int(self.space.n_levels[column]))
            return ChoiceKernel(column, distance)
        return NumberKernel(column)

    def _base_kernels(self, columns: Indices) -> list[Kernel]:
        single = [self._kernel_of_column(int(c)) for c in np.intersect1d(columns, self._single)]
        return [*single, *[base for base, _ in self._group_kernels(columns)]]

    def _decomposition(
        self, columns: Indices, tree: RandomDecomposition, n_observations: int
    ) -> Kernel:
        base_kernels = self._base_kernels(columns)
        n_edges = None if tree.n_edges is None else min(tree.n_edges, len(base_kernels) - 1)
        rng = np.random.default_rng([tree.seed, n_observations])
        return DecompositionKernel(
            base_kernels, random_tree_components(len(base_kernels), rng, n_edges)
        )

    def _orders(self, columns: Indices, orders: InteractionOrders) -> Kernel:
        single = np.intersect1d(columns, self._single)
        groups = self._group_kernels(columns)
        unordered = self._is_unordered(single)
        if loses_digits(len(single) + len(groups), orders.max_order):
            unordered[:] = False  # as base kernels, which are added one by one
        choices = single[unordered]
        # Numbers first, as the kernel wants them.
        rest = single[~unordered]
        rest = rest[np.argsort(self.space.is_discrete[rest], kind="stable")]
        others = [(self._kernel_of_column(int(c)), np.array([c])) for c in rest]
        base_kernels = [*others, *groups]
        return OrdersKernel(
            FeatureMap([Columns(self.space, choices, unordered=choices)]),
            self.space.n_levels[choices],
            [base for base, _ in base_kernels],
            [self._reference(block) for _, block in base_kernels],
            orders.max_order,
            orders.orthogonal,
            orders.remainder,
        )

    @property
    def is_plain_product(self) -> bool:
        """Whether the kernel, if a product, has one factor for each parameter."""
        # Several numbers have one distance together.
        has_numbers = int(np.sum(~self.space.is_discrete)) > 1
        is_grouped = self._groups or self._labelled_graphs
        is_plain = not is_grouped and not self.model.anchors and self._profile() is None
        return is_plain and not has_numbers

    def own_variance(self, column: int, kernel: Kernel, theta: Array) -> float:
        """Return the mean of k~(x, x), a parameter's part of a product (additive.py).

        Where all other parameters agree, the product is this parameter's factor alone.
        """
        reference = self._reference(np.array([column]))
        factor = kernel.cross_covariance(theta, reference.points)(reference.points)
        means = factor @ reference.shares
        mean = float(reference.shares @ means)
        return float(1.0 / mean - reference.shares @ means**2 / mean**2)

    def _reference(self, columns: Indices) -> Reference:
        """Return points that stand for all values of some columns."""
        if len(columns) > 1:
            points = self.space.sample(N_BLOCK_SAMPLES, np.random.default_rng(0))
            return Reference(points, np.full(len(points), 1.0 / len(points)))
        column = int(columns[0])
        if self.space.is_discrete[column]:
            places = np.arange(self.space.n_levels[column])
            shares = np.full(len(places), 1.0 / len(places))
        else:
            nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
            places, shares = 0.5 * (nodes + 1.0), 0.5 * weights
        points = np.zeros((len(places), len(self.space)))
        points[:, column] = places
        return Reference(points, shares)


def _product_of(factors: Iterable[Kernel]) -> Kernel:
    factors = list(factors)
    return factors[0] if len(factors) == 1 else Combined(factors, "product")
