"""Linear constraints: which points are feasible, and how others are made so.

Notation
    ===========  =====================================================================
    n, d, L      points, columns, limits
    v            (d,) what is summed: coordinates, or the values of codes (tables)
    W, b         (L, d) weights and (L,) bounds: a point keeps the limits if W v <= b
    excess       (n, L) W v - b: above 0 where a limit is broken
    c            columns that may be moved
    inside       (d,) a point that keeps the limits
    ===========  =====================================================================

A limit on a parameter that does not exist at a point is none: it holds.

Filtering alone finds nothing where limits are tight: of six numbers in [0, 1] one in a million
has a sum of at most 0.3. So points are moved (:class:`LimitedBox`), continuous columns before
others, each by no more than it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Bools, Indices, Space

__all__ = ["LimitedBox", "LinearLimits"]


# By how much a limit may be broken by rounding, as a share of the largest sum there can be.
SLACK = 1e-12
# Rounds of projections onto one limit after another.
ROUNDS = 6
# Turns of moving what is not continuous and then what is.
TURNS = 5
# Steps of a random walk, for each column.
STEPS_PER_COLUMN = 10


@dataclass(frozen=True, eq=False)
class LinearLimits:
    """Weighted sums that must not be above bounds.

    Args:
        weights: (L, d) one row a limit; 0 for columns that it has nothing to do with.
        bounds: (L,) what each sum may be at the most.
        tables: For columns of codes, by column, the number (k,) that each code stands for. The
            other columns stand for their coordinates.
    """

    weights: Array
    bounds: Array
    tables: Mapping[int, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bounds.shape != self.weights.shape[:1]:
            raise ValueError(
                "limits must have weights (L, d) and bounds (L,), got shapes "
                f"{self.weights.shape} and {self.bounds.shape}"
            )
        numbers = [self.weights, self.bounds, *self.tables.values()]
        if not all(np.isfinite(array).all() for array in numbers):
            raise ValueError("weights, bounds and tables of limits must be finite")

    @cached_property
    def involved(self) -> Bools:
        """(d,) the columns that some limit is about."""
        involved: Bools = np.any(self.weights != 0.0, axis=0)
        return involved

    @cached_property
    def scales(self) -> Array:
        """(L,) how large the sums and bounds can be."""
        largest = np.ones(self.weights.shape[1])
        for column, table in self.tables.items():
            largest[column] = np.max(np.abs(table))
        return np.abs(self.bounds) + np.abs(self.weights) @ largest

    def values(self, points: Array) -> Array:
        """(n, d) what points (n, d) stand for: the numbers of codes instead of these."""
        if not self.tables:
            return points
        values = points.copy()
        for column, table in self.tables.items():
            codes = np.nan_to_num(points[:, column]).astype(np.int64)
            values[:, column] = np.where(np.isnan(points[:, column]), np.nan, table[codes])
        return values

    def excess(self, points: Array) -> Array:
        """(n, L) by how much points (n, d) break each limit; minus infinity where it is none."""
        values = self.values(points)
        is_absent = np.isnan(values)
        excess: Array = np.where(is_absent, 0.0, values) @ self.weights.T - self.bounds
        if is_absent.any():
            excess[is_absent @ (self.weights.T != 0.0)] = -np.inf
        return excess

    def holds(self, points: Array) -> Bools:
        """(n,) whether points (n, d) keep all limits."""
        holds: Bools = np.all(self.excess(points) <= SLACK * self.scales, axis=1)
        return holds


class LimitedBox:
    """The points of a box that keep limits, and the ways into it.

    Args:
        limits: The limits.
        space: All parameters.
        columns: The columns that may be moved.
        low: (d,) lowest coordinates of the box; of numeric columns only.
        high: (d,) highest coordinates.
    """

    def __init__(
        self, limits: LinearLimits, space: Space, columns: Indices, low: Array, high: Array
    ) -> None:
        self._limits, self._space, self._low, self._high = limits, space, low, high
        columns = columns[limits.involved[columns]]
        is_listed = space.is_discrete[columns]
        is_continuous = np.isinf(space.n_levels[columns])
        self._numeric = columns[~is_listed]
        self._continuous = columns[is_continuous]
        self._grid = columns[~is_listed & ~is_continuous]
        self._stepped = columns[~is_continuous]

    def repair(self, points: Array, inside: Array | None, rng: np.random.Generator) -> Array:
        """Return points (n, d) of which nearly all keep the limits; those that do stay.

        Continuous columns give way first. Where that does not do, numbers on grids follow, as
        if they had none, and are brought back to them; then single columns, in random order,
        take the steps that are still needed. At last all columns go to a point ``inside``
        (d,), if one is known.
        """
        points = self.project(points, inside)
        for turn in range(TURNS if len(self._stepped) else 0):
            rows = np.flatnonzero(~self._limits.holds(points))
            if not len(rows):
                return points
            moved = points[rows]
            if turn == 0:
                moved = self._snap(self._alternating_projections(moved, self._numeric))
            points[rows] = self.project(self._step(moved, rng), inside)
        rows = np.flatnonzero(~self._limits.holds(points))
        if inside is not None and len(rows):
            moved, columns = points[rows], self._stepped
            known = ~np.isnan(moved[:, columns]) & ~np.isnan(inside[columns])
            moved[:, columns] = np.where(known, inside[columns], moved[:, columns])
            points[rows] = self.project(moved, inside)
        return points

    def project(self, points: Array, inside: Array | None) -> Array:
        """Project points (n, d) onto the limits, moving continuous columns.

        Onto one limit after another. Where these meet at a sharp angle that comes close and no
        closer, so the last bit is towards an interior point ``inside`` (d,), if one is known.
        """
        points = self._alternating_projections(points, self._continuous)
        rows = np.flatnonzero(~self._limits.holds(points))
        if inside is not None and len(rows):
            points[rows] = self.shrink_to_interior(points[rows], inside)
        return points

    def shrink_to_interior(self, points: Array, inside: Array) -> Array:
        """Shrink points (n, d) towards the interior point ``inside`` (d,), if that can help.

        Only continuous columns are moved.

        With e the excess at a point and e' the one at the end, where it is not above 0, a
        limit is met after e / (e - e') of the way.
        """
        is_broken = ~self._limits.holds(points)[:, None]
        excess = self._limits.excess(points)
        end_excess = np.minimum(self._limits.excess(self._towards(points, inside, 1.0)), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(excess > 0.0, excess / (excess - end_excess), 0.0)
        share = np.minimum(shares.max(axis=1, initial=0.0), 1.0)[:, None]
        moved = self._towards(points, inside, np.minimum(share * (1.0 + 1e-9) + 1e-15, 1.0))
        helps = is_broken & self._limits.holds(moved)[:, None]
        return np.where(helps, moved, points)

    def _towards(self, points: Array, inside: Array, share: Array | float) -> Array:
        """Move continuous columns of points (n, d) by shares (n, 1) of the way to ``inside``."""
        columns = self._continuous[~np.isnan(inside[self._continuous])]
        low, high = self._low[columns], self._high[columns]
        points = points.copy()
        x = points[:, columns]
        points[:, columns] = np.clip(x + share * (inside[columns] - x), low, high)
        return points

    def hit_and_run(self, points: Array, inside: Array | None, rng: np.random.Generator) -> Array:
        """Return points (n, d) after a hit-and-run walk through the continuous columns.

        Points that keep the limits go on keeping them, and wherever they came from they end
        up anywhere: each step leads to a random place on a random line. From a
        corner few lines lead away, so all begin halfway to a point ``inside`` (d,).
        """
        columns = self._continuous
        if inside is not None:
            halfway = self._towards(points, inside, 0.5)
            points = np.where(self._limits.holds(halfway)[:, None], halfway, points)
        start, weights = points[:, columns], self._limits.weights[:, columns]
        exists = ~np.isnan(start)
        x, low, high = np.where(exists, start, 0.0), self._low[columns], self._high[columns]
        room = np.maximum(-self._limits.excess(points), 0.0)  # (n, L)
        for _ in range(STEPS_PER_COLUMN * len(columns)):
            line = rng.standard_normal(x.shape) * exists  # (n, c)
            slope = line @ weights.T  # (n, L)
            # How far one may go each way: as far as the nearest side of the box or limit.
            gaps = np.concatenate([high - x, x - low, room], axis=1)
            speeds = np.concatenate([line, -line, slope], axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                times = np.maximum(gaps, 0.0) / speeds
                ahead = np.where(speeds > 0.0, times, np.inf).min(axis=1)
                behind = np.where(speeds < 0.0, times, -np.inf).max(axis=1)
                # Infinite where none of the columns exists.
                way = behind + rng.random(len(x)) * (ahead - behind)
            way = np.where(np.isfinite(way), way, 0.0)[:, None]
            x, room = x + way * line, room - way * slope
        walked = points.copy()
        walked[:, columns] = np.where(exists, np.clip(x, low, high), np.nan)
        holds = self._limits.holds(walked)[:, None]
        return np.where(holds, walked, points)

    def _alternating_projections(self, points: Array, columns: Indices) -> Array:
        """Project points (n, d) onto one limit after another, moving numeric columns (c,)."""
        points, weights = points.copy(), self._limits.weights[:, columns]
        limits = np.flatnonzero(np.any(weights != 0.0, axis=1))
        excess = self._limits.excess(points)  # (n, L), kept up to date
        rows = np.flatnonzero(np.any(excess > SLACK * self._limits.scales, axis=1))
        for _ in range(ROUNDS):
            if not len(rows):
                break
            for limit in limits:
                broken = rows[excess[rows, limit] > 0.0]
                if not len(broken):
                    continue
                before = points[np.ix_(broken, columns)]
                after = self._onto(before, excess[broken, limit], columns, weights[limit])
                points[np.ix_(broken, columns)] = after
                excess[broken] += (
                    np.nan_to_num(after - before) @ weights.T
                )  # NaN stays where it is
            rows = rows[np.any(excess[rows] > SLACK * self._limits.scales, axis=1)]
        return points

    def _onto(self, x: Array, excess: Array, columns: Indices, weights: Array) -> Array:
        """Return the nearest x (n, c) in the box at which a sum is less by excess (n,).

        These are x - t w, cut to the box. Column j stops at t_j, where it meets its side, so
        the sum falls by sum_j w_j^2 min(t, t_j): straight between the sorted t_j.
        """
        some = np.flatnonzero(weights)
        side = np.where(weights > 0.0, self._low[columns], self._high[columns])[some]
        stops = np.maximum((x[:, some] - side) / weights[some], 0.0)  # (n, s)
        order = np.argsort(stops, axis=1)
        sorted_stops = np.take_along_axis(stops, order, axis=1)
        squares = (weights[some] ** 2)[order]
        moving = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]  # of those that have not stopped
        stopped = np.cumsum(squares * sorted_stops, axis=1) - squares * sorted_stops
        falls = stopped + sorted_stops * moving  # (n, s) the fall at each stop
        first = np.minimum((falls < excess[:, None]).sum(axis=1), len(some) - 1)[:, None]
        taken = [np.take_along_axis(array, first, axis=1) for array in (stopped, moving)]
        t = np.maximum((excess[:, None] - taken[0]) / taken[1], 0.0)
        moved = x.copy()
        moved[:, some] -= weights[some] * np.minimum(t, stops)
        return np.clip(moved, self._low[columns], self._high[columns])

    def _snap(self, points: Array) -> Array:
        for column in self._grid:
            points[:, column] = self._space.parameters[column].snap(points[:, column])
        return points

    def _step(self, points: Array, rng: np.random.Generator) -> Array:
        """Let single columns without a continuum reduce the largest excess of each point."""
        for column in rng.permutation(self._stepped):
            excess = self._limits.excess(points) - SLACK * self._limits.scales
            worst = np.argmax(excess, axis=1) if excess.shape[1] else np.zeros(len(points), int)
            weights = self._limits.weights[worst, column]
            needed = np.take_along_axis(excess, worst[:, None], axis=1)[:, 0]
            rows = np.flatnonzero((needed > 0.0) & (weights != 0.0))
            move = self._other_code if self._space.is_discrete[column] else self._other_number
            points[rows, column] = move(column, points[rows, column], needed[rows] / weights[rows])
        return points

    def _other_number(self, column: int, x: Array, needed: Array) -> Array:
        """Return the next places (n,) on a grid that are at least ``needed`` (n,) less."""
        steps = max(self._space.n_levels[column] - 1.0, 1.0)
        less = np.sign(needed) * np.ceil(np.abs(needed) * steps - 1e-6) / steps
        places = np.clip(x - less, self._low[column], self._high[column])
        return self._space.parameters[column].snap(places)

    def _other_code(self, column: int, codes: Array, needed: Array) -> Array:
        """Return the codes (n,) whose numbers are at least ``needed`` (n,) less, and next to it.

        Where none is that much less, the one that is least. (Less than nothing is more.)
        """
        table = self._limits.tables.get(column, self._space.parameters[column].levels())
        change = (table[codes.astype(np.int64)][:, None] - table) * np.sign(needed)[:, None]
        beyond = change - np.abs(needed)[:, None]  # (n, k)
        enough = np.argmin(np.where(beyond >= 0.0, beyond, np.inf), axis=1)
        most = np.argmax(change, axis=1)
        return np.where(np.any(beyond >= 0.0, axis=1), enough, most).astype(float)
