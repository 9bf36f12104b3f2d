"""Conditional parameters: when each one exists.

Notation
    ===========  =====================================================================
    n, d         points and columns (parameters)
    optional     column that does not exist everywhere, NaN where it does not
    active       whether a parameter is expected to exist at a point
    usable       active and not NaN: only such a coordinate can be tested
    ===========  =====================================================================

A parameter exists because others have certain values: ``gamma`` where ``kernel`` is "rbf",
``units_2`` where ``n_layers`` is at least 3. A decision tree says when. Trees are learnt from
trials (space/infer_conditions.py), or made where the conditions are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.categorical import ListedValues

__all__ = ["Conditions", "Cut", "Leaf", "Split", "Tree", "conditions_of"]


@dataclass(frozen=True, eq=False)
class Cut:
    """A split of points by a column: into pieces of the number line, and these into branches.

    Args:
        column: The column.
        edges: (e,) ascending, where one piece ends and the next begins.
        branch: (e + 1,) the branch of each piece.
    """

    column: int
    edges: Array
    branch: Indices

    def __call__(self, coordinates: Array) -> Indices:
        """(n,) the branch of each coordinate (n,); that of NaN means nothing."""
        pieces = np.searchsorted(self.edges, coordinates, side="right")
        return self.branch[pieces]


@dataclass(frozen=True, eq=False)
class Leaf:
    """The end of a tree: the parameter exists, or it does not."""

    is_present: bool

    @property
    def tested(self) -> set[int]:
        """The columns that are looked at: none."""
        return set()

    def present(self, points: Array, usable: Bools) -> Bools:
        """(n,) whether the parameter exists at points (n, d)."""
        return np.full(len(points), self.is_present)


@dataclass(frozen=True, eq=False)
class Split:
    """A test of one column; where that is not usable the parameter does not exist."""

    cut: Cut
    children: tuple[Tree, ...]

    @cached_property
    def _ends(self) -> Bools:
        """(c,) presence at the children that are leaves; False at the others."""
        return np.array([isinstance(c, Leaf) and c.is_present for c in self.children])

    @cached_property
    def _deeper(self) -> tuple[tuple[int, Split], ...]:
        """The other children, with their numbers."""
        return tuple((i, c) for i, c in enumerate(self.children) if isinstance(c, Split))

    @property
    def tested(self) -> set[int]:
        """The columns that are looked at."""
        return {self.cut.column}.union(*[child.tested for child in self.children])

    def present(self, points: Array, usable: Bools) -> Bools:
        """(n,) whether the parameter exists at points (n, d)."""
        branches = self.cut(points[:, self.cut.column])
        present: Bools = self._ends[branches]
        for i, child in self._deeper:
            present |= (branches == i) & child.present(points, usable)
        return present & usable[:, self.cut.column]


Tree = Leaf | Split


@dataclass(frozen=True, eq=False)
class Conditions:
    """When each parameter of a space exists, as far as the trials or the user tell.

    Args:
        order: (d,) the columns, each after all that its tree tests.
        trees: What decides about each optional column. Columns may share a tree.
    """

    order: Indices
    trees: Mapping[int, Tree]

    @cached_property
    def is_optional(self) -> Bools:
        """(d,) True where the parameter need not exist."""
        return np.isin(np.arange(len(self.order)), [*self.trees])

    @cached_property
    def is_branching(self) -> Bools:
        """(d,) True where the existence of some parameter depends on this one."""
        found: set[int] = set()
        for tree in self.trees.values():
            found |= tree.tested
        return np.isin(np.arange(len(self.order)), [*found])

    @cached_property
    def _steps(self) -> tuple[tuple[Tree, Indices], ...]:
        """The different trees in order, each with all columns that it decides about."""
        columns: dict[Tree, list[int]] = {}
        for column in self.order.tolist():
            if column in self.trees:
                columns.setdefault(self.trees[column], []).append(column)
        return tuple((tree, np.array(group)) for tree, group in columns.items())

    def active(self, points: Array) -> Bools:
        """(n, d) which parameters exist at points (n, d).

        What stands in an inactive column does not matter. A NaN in an active one is like an
        inactive column for those that depend on it.
        """
        active = np.ones(points.shape, dtype=bool)
        usable = ~np.isnan(points)
        for tree, columns in self._steps:
            present = tree.present(points, usable)[:, None]
            active[:, columns] = present
            usable[:, columns] &= present
        return active

    def deactivate(self, points: Array) -> Array:
        """Return points (n, d) with NaN in the columns that are inactive there."""
        return np.where(self.active(points), points, np.nan)

    def fill(self, points: Array, samples: Array) -> Array:
        """Complete points (n, d): numbers in all active columns, NaN in the others.

        What is missing comes from ``samples`` (n, d), full rows. It can be put in all at
        once: a number in a column that stays inactive decides nothing.
        """
        return self.deactivate(np.where(np.isnan(points), samples, points))


def conditions_of(space: Space, parents: Mapping[str, tuple[str, Sequence[Any]]]) -> Conditions:
    """Return the conditions that a user has declared.

    Args:
        space: The parameters.
        parents: For each parameter that need not exist, the one that decides about it, which
            must have listed choices, and the choices under which it exists. Where the parent
            does not exist, neither does the child. Empty if every parameter always exists;
            then there are no trees.
    """
    for name in [*parents, *[parent for parent, _ in parents.values()]]:
        if name not in space.column:
            raise ValueError(f"conditions must name parameters of the space, got {name!r}")
    depths = np.array([_depth(name, parents) for name in space.names], dtype=np.int64)
    known: dict[tuple[int, bytes], Tree] = {}
    trees: dict[int, Tree] = {}
    for name, (parent, choices) in parents.items():
        exists = _codes_among(space, name, parent, choices)
        key = (space.column[parent], exists.tobytes())
        # Siblings share one tree, which is then evaluated once.
        tree = known.setdefault(key, _tree_of(space.column[parent], exists))
        trees[space.column[name]] = tree
    return Conditions(np.argsort(depths, kind="stable"), trees)


def _depth(name: str, parents: Mapping[str, tuple[str, Sequence[Any]]]) -> int:
    """Return how many ancestors a parameter has."""
    line = [name]
    while line[-1] in parents:
        parent = parents[line[-1]][0]
        if parent in line:
            raise ValueError(f"conditions must not go round in a circle, got one at {parent!r}")
        line.append(parent)
    return len(line) - 1


def _codes_among(space: Space, name: str, parent: str, choices: Sequence[Any]) -> Bools:
    """(k,) which of the codes of a parent let its child exist."""
    parameter = space.parameters[space.column[parent]]
    if not isinstance(parameter, ListedValues):
        raise ValueError(
            f"parent {parent!r} of {name!r} must have listed choices, got {parameter!r}"
        )
    if not len(choices):
        raise ValueError(f"{name!r} must exist under at least 1 choice of {parent!r}, got 0")
    exists = np.zeros(len(parameter.choices), dtype=bool)
    exists[[int(parameter.encode(choice)) for choice in choices]] = True
    return exists


def _tree_of(column: int, exists: Bools) -> Tree:
    """Return the tree that looks up the code of one column."""
    cut = Cut(column, np.arange(0.5, len(exists) - 1.0, dtype=np.float64), exists.astype(np.int64))
    return Split(cut, (Leaf(is_present=False), Leaf(is_present=True)))
