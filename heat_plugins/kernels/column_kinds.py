"""Kinds of columns: what a model says about each parameter of a space.

A column is a number, or choices: unordered ones, ones on a graph, or ones with places on a line.
Some belong to a group of interchangeable parameters, or to a labelled graph; all others are
single.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.kernels.features import Columns
from heat_plugins.kernels.graph_cells import GraphCells
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.kernels.permutations import closure, orbits
from heat_plugins.kernels.wide_columns import WIDE
from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.categorical import ListedValues, Ordinal
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.graph_columns import GraphColumns
from heat_plugins.space.graphs import adjacency, is_complete
from heat_plugins.space.symmetry import Block, GraphBlock, SymmetricColumns, Symmetry
from heat_plugins.spec.declared import kind_of, number_places, places_of, positions_of
from heat_plugins.spec.graph_layout import layout_of
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import PermutationInvariant

__all__ = ["LARGEST_GROUP", "ColumnKinds"]

LARGEST_GROUP = 20_000  # permutations that are listed, to tell points apart


class ColumnKinds:
    """The columns of one space by kind, after a check that what is said about them can be.

    Attributes:
        optional: (d,) whether a column may be absent.
        branching: (d,) whether the existence of others depends on it.
        every: Columns that always exist.
        graphs: Of choices on a graph, distances by column.
        quantities: Of choices that are said to be numbers, places in [0, 1] by column.
        numbers: The same of choices that may be numbers, which the evidence decides.
        groups: Interchangeable columns, with what is said about them.
        labelled_graphs: Columns of labelled graphs, with their cells.
        single: Columns that are in no group and no labelled graph.
        symmetry: What makes points the same; None where every point is itself alone.

    Args:
        space: The parameters.
        model: What the user chose and knows.
        conditions: When parameters exist, if not always.
    """

    def __init__(self, space: Space, model: Model, conditions: Conditions | None = None) -> None:
        """Sort the columns by kind."""
        self.space = space
        self.model = model
        self.entry = model.entry
        nowhere = np.zeros(len(space), dtype=bool)
        self.optional = nowhere if conditions is None else conditions.is_optional
        self.branching = nowhere if conditions is None else conditions.is_branching
        self.every = np.flatnonzero(~self.optional)
        self.graphs: dict[int, GraphDistance] = {}
        self._known_graphs: dict[tuple[int, bytes], GraphDistance] = {}
        self.quantities: dict[int, Array] = {}
        self.numbers: dict[int, Array] = {}
        for column, parameter in enumerate(space.parameters):
            if isinstance(parameter, ListedValues):
                if not self.optional[column]:
                    self._sort_choice(column, parameter)
            elif parameter.name in (*model.graphs, *model.order, *model.scales):
                raise ValueError(
                    f"parameter {parameter.name!r} must have listed choices to have a graph, "
                    f"an order or quantities, got {parameter!r}"
                )
        self.groups = [
            (invariance, self._columns_of(group))
            for invariance in model.invariances
            for group in invariance.groups
            if all(self._is_always_there(name) for name in group)
        ]
        for invariance, columns in self.groups:
            self._check_group(invariance, columns)
        self._check_anchors()
        self.labelled_graphs = self._find_labelled_graphs()
        grouped = [column for _, columns in self.groups for column in columns]
        grouped += [column for graph, _ in self.labelled_graphs for column in graph.columns]
        if model.numeric_choices == "auto" and self.has_remainders and model.has_ard:
            for column in np.setdiff1d(np.arange(len(space)), grouped):
                self._look_for_numbers(int(column))
        every = np.arange(len(space))
        self.single = every[~np.isin(every, grouped)]
        # Once: to list the elements of a group can take a while.
        self.symmetry: Symmetry | None = self._find_symmetry()

    def _is_always_there(self, name: str) -> bool:
        return name in self.space.column and not self.optional[self.space.column[name]]

    def _columns_of(self, names: Sequence[str]) -> Indices:
        return np.array([self.space.column[name] for name in names], dtype=np.int64)

    def _sort_choice(self, column: int, parameter: ListedValues) -> None:
        """Note the graph or the places of a parameter with listed values."""
        model, name, g = self.model, parameter.name, len(parameter.choices)
        if name in model.scales:
            self.quantities[column] = places_of(parameter, model.scales[name])
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
            self.graphs[column] = self._known_graphs[key]

    def _look_for_numbers(self, column: int) -> None:
        """Note the places of choices that are numbers, of which nothing has been said."""
        parameter = self.space.parameters[column]
        said = (*self.model.graphs, *self.model.order, *self.model.scales)
        if not isinstance(parameter, ListedValues) or column in self.graphs:
            return
        places = None if parameter.name in said else number_places(parameter)
        if places is not None:
            self.numbers[column] = places

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
        if invariance.method != "sort" and not np.all(self.is_unordered(columns)):
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

    def _find_symmetry(self) -> Symmetry | None:
        blocks: list[SymmetricColumns] = [GraphBlock(g) for g, _ in self.labelled_graphs]
        for invariance, columns in self.groups:
            if invariance.permutations is None:
                blocks.append(Block(columns))
                continue
            try:
                elements = closure(invariance.permutations, LARGEST_GROUP)
            except ValueError:
                continue  # too many to compare all of them: the kernel alone knows the group
            blocks.append(Block(columns, elements, int(self.space.n_levels[columns].max())))
        return Symmetry(blocks) if blocks else None

    @property
    def has_remainders(self) -> bool:
        """Whether choices on a graph may also differ in ways that the graph does not say.

        COMBO's kernel is the graph's heat kernel alone. It is as smooth as an RBF kernel, and
        a search that trusts it misses the one choice that is better than its neighbours.
        """
        return self.entry.has_remainder

    def is_unordered(self, columns: Indices) -> Bools:
        """Return which columns are choices of which nothing is said."""
        special = np.isin(columns, [*self.graphs, *self.quantities])
        return self.space.is_discrete[columns] & ~special

    def is_wide(self, columns: Indices) -> Bools:
        """Return which columns have too many choices for features."""
        is_one_hot = self.is_unordered(columns)
        if self.has_remainders:
            is_one_hot |= np.isin(columns, [*self.graphs])
        return is_one_hot & (self.space.n_levels[columns] > WIDE)

    def n_unordered(self, columns: Indices) -> Array:
        """Return the numbers of choices of columns, 0 where they are not unordered."""
        return np.where(self.is_unordered(columns), self.space.n_levels[columns], 0.0)

    def discrete(self) -> Indices:
        """Return the columns of choices, and of labelled graphs, that always exist."""
        is_choice = self.space.is_discrete.copy()
        for graph, _ in self.labelled_graphs:
            is_choice[graph.columns] = True
        return self.every[is_choice[self.every]]

    def features_of(self, columns: Indices) -> Columns:
        """Return the features of some columns by themselves."""
        mine = {c: places for c, places in self.quantities.items() if c in columns}
        graphs = np.array([*self.graphs], dtype=np.int64)
        # An ordinal parameter may have been given a complete graph.
        given = columns[[self.space.names[column] in self.model.graphs for column in columns]]
        return Columns(
            self.space,
            columns,
            mine,
            graphs if self.has_remainders else None,
            np.flatnonzero(self.branching),
            given[self.is_unordered(given) & ~self.optional[given]],
        )

    def anchors(self, columns: Indices) -> Array | None:
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
