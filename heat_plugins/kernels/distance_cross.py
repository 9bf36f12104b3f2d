"""Covariances of candidates with the observations, for kernels of one weighted distance.

Notation
    ===========  =====================================================================
    F            (n, s) weighted features of the observations
    D            (m, n) distances of points to the observations
    rows         (sum of g, n) distances of each choice of a graph to the observations
    ===========  =====================================================================

A search changes one parameter of a point at a time, so that one term of the distance is exchanged
for another: every kind of column has a table, or a formula, of what such an exchange does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from heat_plugins.kernels.base import CrossCovariance
from heat_plugins.kernels.features import ChoicePlaces, Columns, squared_distances, squared_norms
from heat_plugins.space import Array, Bools, Indices

if TYPE_CHECKING:
    from heat_plugins.kernels.distance import DistanceKernel

__all__ = ["DistanceCrossCovariance", "block_diagonal"]


def block_diagonal(tables: list[Array]) -> Array:
    """Return the block-diagonal matrix of some tables, (0, 0) where there are none."""
    return np.asarray(linalg.block_diag(np.zeros((0, 0)), *tables), dtype=float)


class DistanceCrossCovariance(CrossCovariance):
    """Profiles of distances to the observations."""

    def __init__(self, kernel: DistanceKernel, theta: Array, points: Array) -> None:
        self._feature_map = kernel.feature_map
        self._profile = kernel.profile
        self._shape = kernel.profile_shape(theta)
        weights = np.exp(kernel.log_weights(theta))
        self._weights = weights[: kernel.n_plain]
        self._features = self._weigh(points)
        self._norms = squared_norms(self._features)
        self._kernel = kernel
        self._wide = kernel.wide
        self._wide_weights = weights[kernel.n_plain : kernel.n_without_graphs]
        self._wide_of = np.full(points.shape[1], -1)
        if self._wide is not None:
            self._wide_codes = self._wide.codes(points)
            self._wide_of[self._wide.columns] = np.arange(len(self._wide))
        # (sum of g, n) distances of each choice to the observations
        tables = [table for table, _ in kernel.tables(weights)]
        self._rows = block_diagonal(tables) @ kernel.indicators(points).T
        self._columns: Columns | None = None
        self._places: ChoicePlaces | None = None
        self._part_of = np.full(points.shape[1], -1)
        self._place_of = np.full(points.shape[1], -1)
        self._is_by_column = True
        first = 0
        for part in kernel.feature_map.parts:
            mine = slice(first, first + len(part.log_scales))
            if isinstance(part, Columns) and first == 0:
                self._columns = part
                placed = part.placed(points)[:, part.columns]
                self._observed = np.ascontiguousarray(placed.T)  # (c, n)
                self._part_of[part.columns] = np.arange(len(part.columns))
            elif isinstance(part, ChoicePlaces):
                self._places = part
                self._place_weights = self._weights[mine]
                self._observed_places = np.ascontiguousarray(part(points).T)  # (c, n)
                self._place_of[part.columns] = np.arange(len(part.columns))
            else:
                self._is_by_column = False
            first = mine.stop
        self._first_row = np.full(points.shape[1], -1)  # of each column's choices in the rows
        first = 0
        for graph in kernel.graphs:
            self._first_row[graph.column] = first
            first += graph.distance.n_choices

    def _weigh(self, points: Array) -> Array:
        return self._feature_map.weighted(self._feature_map(points), self._weights)

    def _distances(self, points: Array, weighted: Array | None = None) -> Array:
        """Return distances (m, n) of points (m, d), whose features may be weighted already."""
        weighted = self._weigh(points) if weighted is None else weighted
        distances = squared_distances(weighted, self._features, self._norms)
        if self._wide is not None:
            codes = self._wide.codes(points)
            self._wide.add_distances(self._wide_weights, codes, self._wide_codes, to=distances)
        if len(self._rows):
            distances += self._kernel.indicators(points) @ self._rows
        return distances

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        return self._profile.value(self._distances(points), self._shape)

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return covariances (N, n) after single changes.

        The distance is a sum over the parameters, so one term of it is exchanged: far
        cheaper than N new rows of features.
        """
        if not self._is_by_column:
            return super().of_changes(point, columns, coordinates)
        is_mine = self._is_mine(columns)
        if not is_mine.all():  # nothing changes where the kernel does not look
            covariances = np.repeat(self(point[None]), len(columns), axis=0)
            if is_mine.any():
                mine = self.of_changes(point, columns[is_mine], coordinates[is_mine])
                covariances[is_mine] = mine
            return covariances
        kinds = (  # of which a column may have several
            (self._part_of, self._exchanged_features),
            (self._wide_of, self._exchanged_wide),
            (self._first_row, self._exchanged_graphs),
            (self._place_of, self._exchanged_places),
        )
        change: Array | None = None
        for place_of, exchanged in kinds:
            places = place_of[columns]
            rows = places >= 0
            if change is None and rows.all():  # mostly
                change = exchanged(places, columns, point[columns], coordinates)
                continue
            if change is None:
                change = np.zeros((len(columns), len(self._features)))
            if rows.any():
                changed = columns[rows]
                change[rows] += exchanged(places[rows], changed, point[changed], coordinates[rows])
        assert change is not None
        change += self._distances(point[None])
        return self._profile.value(np.maximum(change, 0.0, out=change), self._shape)

    # By how much the distances (N, n) change where a column (N,) goes from an old coordinate (N,)
    # to a new one, for columns that all exist and their places (N,) among those of their kind.

    def _exchanged_features(
        self, parts: Indices, columns: Indices, old: Array, new: Array
    ) -> Array:
        assert self._columns is not None
        observed = self._observed[parts]  # (N, n)
        new = self._columns.placed_coordinates(columns, new)
        old = self._columns.placed_coordinates(columns, old)
        change = self._columns.distances(observed, new, parts)
        change -= self._columns.distances(observed, old, parts)
        change *= self._weights[parts, None]
        return change

    def _exchanged_wide(self, wide: Indices, _: Indices, old: Array, new: Array) -> Array:
        observed = self._wide_codes[wide]
        change: Array = (observed != new[:, None]).astype(float)
        change -= observed != old[:, None]
        change *= self._wide_weights[wide, None]
        return change

    def _exchanged_graphs(self, first: Indices, _: Indices, old: Array, new: Array) -> Array:
        return self._rows[first + new.astype(np.int64)] - self._rows[first + old.astype(np.int64)]

    def _exchanged_places(self, places: Indices, _: Indices, old: Array, new: Array) -> Array:
        """With observed places p, (p - new)^2 - (p - old)^2 = (new - old) (new + old - 2 p)."""
        assert self._places is not None
        before, after = self._places.of(places, old), self._places.of(places, new)
        change: Array = self._observed_places[places]
        change *= -2.0
        change += (after + before)[:, None]
        change *= (self._place_weights[places] * (after - before))[:, None]
        return change

    def _is_mine(self, columns: Indices) -> Bools:
        """Return which columns (N,) the kernel looks at."""
        kinds = self._part_of, self._place_of, self._wide_of, self._first_row
        mine: Bools = np.any([kind[columns] >= 0 for kind in kinds], axis=0)
        return mine

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (n,) of a point (d,) and their slopes (n, c) in numbers."""
        if self._is_by_column and not self._is_mine(columns).any():
            return self(point[None])[0], np.zeros((len(self._features), len(columns)))
        if self._columns is None or np.any(self._part_of[columns] < 0):
            return super().slopes(point, columns)
        features = self._columns.first_feature[self._part_of[columns]]
        weighted = self._weigh(point[None])
        covariances, by_distance, _ = self._profile.value_and_slopes(
            self._distances(point[None], weighted), self._shape
        )
        difference = weighted[0, features] - self._features[:, features]  # (n, c)
        scale = np.sqrt(self._weights[self._part_of[columns]])
        return covariances[0], 2.0 * scale * difference * by_distance[0][:, None]
