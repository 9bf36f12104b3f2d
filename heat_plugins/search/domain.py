"""The search domain: the space, cut to a region, with some columns fixed.

Notation
    ===========  =====================================================================
    centre       (d,) the point the region is drawn around
    radius       how many discrete columns may differ from the centre (Hamming distance)
    half_width   how far a numeric column may be from the centre, in [0, 1]
    fixed         columns whose value is given from outside and never changes
    inactive     a column that does not exist at a point, NaN there: a parameter that is
                 asked for under some choices only
    ===========  =====================================================================

A column that is inactive at the centre or at a point does not count in the distance of the
two: what makes it so, the choice of a branch, has been counted already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.search.feasible_point import feasible_point
from heat_plugins.search.linear_constraints import LimitedBox, LinearLimits
from heat_plugins.search.listed_points import ListedPoints
from heat_plugins.space import Array, Bools, Float, Indices, Integer, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["Domain", "Region", "differing"]

# Tolerance of box membership.
SLACK = 1e-9
# How often points that break limits are drawn again, and how many at a time.
SAMPLE_ROUNDS = 5
SAMPLE_SIZE = 2000


@dataclass(frozen=True, eq=False)
class Region:
    """A Hamming ball on the discrete columns times a box on the numeric ones.

    On a grid the box reaches at least to the next values, as the ball has a radius of at
    least 1: a region is there to be searched.
    """

    centre: Array
    radius: int
    half_width: float


@dataclass(frozen=True, eq=False)
class Domain:
    """The set of points that a search may visit.

    Args:
        space: All points.
        region: The part around a centre to stay in; None for everywhere.
        fixed: Coordinates that are given, by column.
        conditions: When each column exists; None where all of them always do.
        limits: What the points of a search are moved to keep, as far as that can be done;
            None for nothing.
        listed: The points that exist, where parameters are choices and not all combinations do;
            None for all combinations.
    """

    space: Space
    region: Region | None = None
    fixed: Mapping[int, float] = field(default_factory=dict)
    conditions: Conditions | None = None
    limits: LinearLimits | None = None
    listed: ListedPoints | None = None

    @cached_property
    def free(self) -> Indices:
        """The columns that can change."""
        varies = (self.space.n_levels > 1) & ~np.isin(np.arange(len(self.space)), [*self.fixed])
        return np.flatnonzero(varies)

    @cached_property
    def free_discrete(self) -> Indices:
        """The free columns of codes."""
        return self.free[self.space.is_discrete[self.free]]

    @cached_property
    def free_numeric(self) -> Indices:
        """The free columns of numbers."""
        return self.free[~self.space.is_discrete[self.free]]

    @cached_property
    def free_continuous(self) -> Indices:
        """The free columns of numbers without a grid."""
        columns: Indices = self.free[np.isinf(self.space.n_levels[self.free])]
        return columns

    @cached_property
    def centre(self) -> Array | None:
        """The centre of the region, with the fixed columns as they are."""
        return None if self.region is None else self.apply_fixed(self.region.centre[None])[0]

    @cached_property
    def size(self) -> float:
        """The number of points, its region left out of account; of listed ones those inside."""
        if self.listed is not None:
            return len(self._listed_rows)
        levels = [self.space.parameters[column].n_levels for column in self.free]
        return math.inf if math.inf in levels else math.prod(levels)

    def free_continuous_at(self, point: Array) -> Indices:
        """Return the free columns of numbers without a grid that exist at a point (d,)."""
        columns: Indices = self.free_continuous[~np.isnan(point[self.free_continuous])]
        return columns

    def impute_conditionals(self, points: Array, rng: np.random.Generator) -> Array:
        """Impute conditional columns of points (n, d): NaN where inactive, values where active.

        A column that has just become active gets the value that it has at the centre, or a
        random one.
        """
        if self.conditions is None:
            return points
        values = self.space.sample(len(points), rng)
        if self.centre is not None:
            values = np.where(np.isnan(self.centre), values, self.centre)
        return self.conditions.fill(self.apply_fixed(points), self.apply_fixed(values))

    def decides_existence(self, columns: Indices) -> bool:
        """Whether other parameters exist or not because of the values of some columns (c,)."""
        return self.conditions is not None and bool(self.conditions.is_branching[columns].any())

    def apply_fixed(self, points: Array) -> Array:
        """Return points (n, d) with the fixed columns set."""
        if not self.fixed:
            return points
        points = points.copy()
        points[:, list(self.fixed)] = list(self.fixed.values())
        return points

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        """(d,) lowest and (d,) highest coordinates of the numeric columns, on their grids."""
        low, high = np.zeros(len(self.space)), np.ones(len(self.space))
        if self.centre is not None and self.region is not None:
            for column in self.free_numeric[~np.isnan(self.centre[self.free_numeric])]:
                parameter = self.space.parameters[column]
                assert isinstance(parameter, Integer | Float)
                low[column], high[column] = parameter.around(
                    float(self.centre[column]), self.region.half_width
                )
        return low, high

    def bounds(self, columns: Indices) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates of numeric columns."""
        low, high = self._box
        return low[columns], high[columns]

    def contains(self, points: Array) -> Bools:
        """(n,) whether points (n, d) lie in the region."""
        if self.centre is None or self.region is None:
            return np.ones(len(points), dtype=bool)
        differs = differing(points[:, self.free_discrete], self.centre[self.free_discrete])
        low, high = self.bounds(self.free_numeric)
        numbers = points[:, self.free_numeric]
        in_box = ~np.any((numbers < low - SLACK) | (numbers > high + SLACK), axis=1)
        inside: Bools = in_box & (differs.sum(axis=1) <= self.region.radius)
        return inside

    def project(self, points: Array, rng: np.random.Generator) -> Array:
        """Bring points (n, d) into the domain, changing as little as that takes.

        Where too many codes differ from the centre, randomly chosen ones go back to it.
        Numbers are clipped to the box and moved to their grid. Where limits are broken, the
        continuous ones are moved inside of the box; if that does not do, so are those on
        grids, and codes that stand for numbers, whatever their distance from the centre.
        """
        points = self.impute_conditionals(points, rng)
        points = points.copy()
        if self.centre is not None and self.region is not None:
            columns = self.free_discrete
            differs = differing(points[:, columns], self.centre[columns])
            far = np.flatnonzero(differs.sum(axis=1) > self.region.radius)
            if len(far):
                # Random ranks among the differing columns; the first `radius` may stay.
                ranks = np.where(differs[far], rng.random((len(far), len(columns))), 2.0)
                radius = self.region.radius
                stays = ranks < np.partition(ranks, radius, axis=1)[:, [radius]]
                rows = far[:, None]
                points[rows, columns] = np.where(
                    stays, points[rows, columns], self.centre[columns]
                )
                points = self.impute_conditionals(points, rng)
        low, high = self.bounds(self.free_numeric)
        points[:, self.free_numeric] = np.clip(points[:, self.free_numeric], low, high)
        for column in self.free_numeric:
            points[:, column] = self.space.parameters[column].snap(points[:, column])
        points = self.apply_fixed(points)
        if self.decides_existence(self.free_numeric):  # what moved may have brought others
            points = self.impute_conditionals(points, rng)
        elif self.conditions is not None:  # what is given need not exist
            points = self.conditions.deactivate(points)
        return self._limited(points, rng)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw points (n, d): uniform in the space, or at every distance up to the radius.

        Listed points are drawn evenly from those inside, or are the centre where there are none.
        """
        if self.listed is not None:
            return self._sample_listed(n, rng)
        points = self.apply_fixed(self.space.sample(n, rng))
        if self.centre is None or self.region is None:
            points = self.impute_conditionals(points, rng)
            return points if self.limits is None else self._sample_limited(points, rng)
        columns = self.free_discrete
        if len(columns):
            changes = rng.integers(1, max(self.region.radius, 1) + 1, size=(n, 1))
            keep = rng.random((n, len(columns))) >= changes / len(columns)
            keep &= ~np.isnan(self.centre[columns])
            points[:, columns] = np.where(keep, self.centre[columns], points[:, columns])
        low, high = self.bounds(self.free_numeric)
        points[:, self.free_numeric] = low + points[:, self.free_numeric] * (high - low)
        points = self.project(points, rng)
        if self._limited_box is not None:
            points = self._limited_box.hit_and_run(points, self.inside, rng)
        return points

    def middle(self, rng: np.random.Generator) -> Array:
        """Return a point (d,) whose numbers are in the middle of their ranges, codes random.

        Or as near to that as limits allow, and a random one where that cannot be found.
        """
        points = self.sample(1, rng)
        has_middle = self.free_numeric[self.space.n_levels[self.free_numeric] > 2]
        has_middle = has_middle[~np.isnan(points[0, has_middle])]
        moved = points.copy()
        moved[:, has_middle] = 0.5
        moved = self.project(moved, rng)
        point: Array = (moved if self.limits is None or self.limits.holds(moved)[0] else points)[0]
        return point

    @cached_property
    def _limited_box(self) -> LimitedBox | None:
        """Moves points to where they keep the limits."""
        if self.limits is None:
            return None
        movable = self.free
        if self.conditions is not None:  # what exists must not change
            movable = movable[~self.conditions.is_branching[movable]]
        return LimitedBox(self.limits, self.space, movable, *self._box)

    @cached_property
    def inside(self) -> Array | None:
        """(d,) a point that keeps the limits, NaN where they do not matter; None if none is known.

        The centre if it does; otherwise one for which every parameter is taken to exist.
        """
        assert self.limits is not None
        if self.centre is not None and self.limits.holds(self.centre[None])[0]:
            return self.centre
        return feasible_point(self.limits, self.space, self.fixed)

    def is_empty(self, known: Array) -> bool:
        """Whether no point keeps the limits, as far as can be told.

        Not asked for long where one of ``known`` (n, d) does. Where parameters need not exist,
        neither need limits.
        """
        if self.limits is None or self.conditions is not None:
            return False
        return not self.limits.holds(self.apply_fixed(known)).any() and self.inside is None

    def slopes_of_limits(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return weights (l, c) in some columns of limits on a point (d,), and room (l,) to them.

        Only of those l limits that count at the point and that the columns have a part in.
        """
        if self.limits is None:
            return np.empty((0, len(columns))), np.empty(0)
        weights, room = self.limits.weights[:, columns], -self.limits.excess(point[None])[0]
        counts = np.any(weights != 0.0, axis=1) & np.isfinite(room)
        return weights[counts], room[counts]

    def keep_limits(self, point: Array, start: Array) -> Array:
        """Return a point (d,), taken back on the way from its start (d,) if limits ask for it."""
        if self._limited_box is None:
            return point
        moved: Array = self._limited_box.shrink_to_interior(point[None], start)[0]
        return moved

    def _limited(self, points: Array, rng: np.random.Generator) -> Array:
        """Return points (n, d), moved where they break limits; a few may still do."""
        if self._limited_box is None or self.limits is None or self.limits.holds(points).all():
            return points
        return self._limited_box.repair(points, self.inside, rng)

    def _sample_limited(self, points: Array, rng: np.random.Generator) -> Array:
        """Return points (n, d) with others instead of those that break limits.

        Other random ones, for as long as that does not take too many; then such as are moved
        to keep the limits, and from there to anywhere inside of them.
        """
        assert self.limits is not None and self._limited_box is not None
        points = points.copy()
        for _ in range(SAMPLE_ROUNDS):
            rows = np.flatnonzero(~self.limits.holds(points))
            if not len(rows):
                return points
            drawn = self.impute_conditionals(
                self.apply_fixed(self.space.sample(SAMPLE_SIZE, rng)), rng
            )
            drawn = drawn[self.limits.holds(drawn)][: len(rows)]
            points[rows[: len(drawn)]] = drawn
        rows = np.flatnonzero(~self.limits.holds(points))
        moved = self._limited(points[rows], rng)
        points[rows] = self._limited_box.hit_and_run(moved, self.inside, rng)
        return points

    def enumerate(self) -> Array:
        """Return every point (N, d) of a finite domain, as many as its size."""
        if self.listed is not None:
            return self.listed.points(self._listed_rows)
        levels = [np.zeros(1)] * len(self.space)
        for column in self.free:
            levels[column] = self.space.parameters[column].levels()
        points = self.apply_fixed(np.array(list(itertools.product(*levels)), dtype=float))
        return points if self.conditions is None else self.conditions.deactivate(points)

    @cached_property
    def _listed_rows(self) -> Indices:
        """The listed points inside the region that have the fixed columns."""
        assert self.listed is not None
        if self.centre is None or self.region is None:
            return self.listed.rows_with(self.fixed)
        near = self.listed.rows_within(self.centre, self.region.radius)
        if self.fixed:
            near = np.intersect1d(near, self.listed.rows_with(self.fixed))
        return near

    def _sample_listed(self, n: int, rng: np.random.Generator) -> Array:
        """Draw listed points (n, d)."""
        assert self.listed is not None
        rows = self._listed_rows
        if len(rows):
            return self.listed.points(rows[rng.integers(len(rows), size=n)])
        nowhere = np.full(len(self.space), np.nan) if self.centre is None else self.centre
        return np.repeat(nowhere[None], n, axis=0)

    @cached_property
    def _code_changes(self) -> tuple[Indices, Indices]:
        """Column and shift of every single change of a code."""
        others = (self.space.n_levels[self.free_discrete] - 1).astype(np.int64)
        columns = np.repeat(self.free_discrete, others)
        shifts = np.concatenate([np.arange(1, k + 1) for k in others] or [np.zeros(0, np.int64)])
        return columns, shifts

    def changes(self, point: Array, numbers: Indices | None = None) -> tuple[Indices, Array]:
        """Return all single changes of a point inside the domain: columns and coordinates (N,).

        Every other code of a discrete column; for a number, steps of many lengths, in some
        numeric columns if they are given.
        """
        columns, shifts = self._code_changes
        if self.conditions is not None:
            exists = ~np.isnan(point[columns])
            columns, shifts = columns[exists], shifts[exists]
        coordinates = (point[columns] + shifts) % self.space.n_levels[columns]
        if self.centre is not None and self.region is not None:
            differs = differing(point, self.centre)
            n_differing = int(differs[self.free_discrete].sum())
            new = differing(coordinates, self.centre[columns])
            after = n_differing - differs[columns] + new
            inside = after <= self.region.radius
            columns, coordinates = columns[inside], coordinates[inside]
        all_columns, all_coordinates = [columns], [coordinates]
        numbers = self.free_numeric if numbers is None else numbers
        low, high = self.bounds(numbers)
        for column, lowest, highest in zip(numbers, low, high, strict=True):
            if np.isnan(point[column]):
                continue
            places = self.space.parameters[column].nearby(float(point[column]))
            places = places[(places >= lowest - SLACK) & (places <= highest + SLACK)]
            all_columns.append(np.full(len(places), column))
            all_coordinates.append(places)
        return np.concatenate(all_columns), np.concatenate(all_coordinates)


def differing(points: Array, centre: Array) -> Bools:
    """Return where coordinates differ, inactive ones never."""
    differs: Bools = (points != centre) & ~np.isnan(points) & ~np.isnan(centre)
    return differs
