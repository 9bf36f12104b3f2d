"""Kernels of one weighted distance: the default, and most others.

Notation
    ===========  =====================================================================
    F            (n, s) features of the observations (features.py)
    w            (W,) weights: of the features first, then of wide columns and of graphs
    D            (n, m) distances: weighted features, comparisons and tables of graphs
    mu           prior mean of the log weights, a hyperparameter (``log_rate_mean``)
    ===========  =====================================================================

Prior: log w_i ~ N(mu, spread^2) with mu itself free. A smooth problem has a low mu (two random
points are still correlated), a rugged one a high mu (only near neighbours are); the marginal
likelihood tells them apart, so nobody has to choose. The spread says how much more one parameter
may matter than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.kernels.features import (
    ChoicePlaces,
    Columns,
    FeatureMap,
    squared_distances,
    squared_norms,
)
from heat_plugins.kernels.formulas import rate_from_time
from heat_plugins.kernels.graph_distance import GraphDistance, rate_from_time_slope
from heat_plugins.kernels.profiles import Exponential, Profile
from heat_plugins.kernels.wide_columns import WideColumns
from heat_plugins.space import Array, Bools, Indices

__all__ = ["DistanceKernel", "GraphColumn", "SharedDiffusionTime", "IsotropicRates"]

LOG_WEIGHT_SPREAD = 1.0
LOG_WEIGHT_BOUNDS = (-16.0, 5.0)
LOG_RATE_MEAN_BOUNDS = (-12.0, 3.0)
# Sum of the weights at the lowest mean log rate. With less, no two points differ by more than the
# noise of deterministic values, which then stands for anything that the model does not fit.
SMALLEST_TOTAL = 0.1
LOG_SHAPE_BOUNDS = (-3.0, 6.0)
LOG_SHAPE_SPREAD = 2.0


@dataclass(frozen=True, eq=False)
class GraphColumn:
    """A column of choices on a graph."""

    column: int
    distance: GraphDistance
    name: str


class IsotropicRates:
    """One rate for all parameters: the isotropic kernel of the Hamming distance."""

    def __init__(self, log_scales: Array) -> None:
        self._log_scales = log_scales

    def log_weights(self, log_rate_mean: float) -> tuple[Array, Array]:
        """Return log weights (W,) and their slopes in the common log rate."""
        return self._log_scales + log_rate_mean, np.ones(len(self._log_scales))


class SharedDiffusionTime(IsotropicRates):
    """One diffusion time for all graphs of choices: the isotropic heat kernel.

    With unequal numbers of choices one time means different rates. The common log rate is that
    of a parameter with the mean number of choices. A graph that is not complete gets the rate of
    a complete one of its size.

    Args:
        log_scales: (W,) offsets of weights that are not rates.
        n_choices: (W,) numbers of choices; 0 where the weight is not a rate.
    """

    def __init__(self, log_scales: Array, n_choices: Array) -> None:
        super().__init__(log_scales)
        self._n_choices = n_choices
        sizes = n_choices[n_choices > 1]
        self._mean = float(sizes.mean()) if len(sizes) else 2.0

    def log_weights(self, log_rate_mean: float) -> tuple[Array, Array]:
        """Return log weights (W,) and their slopes in the common log rate."""
        log_weights, slopes = super().log_weights(log_rate_mean)
        rate = float(np.exp(log_rate_mean))
        beta = float(rate_from_time(rate, self._mean)) / self._mean
        by_log_rate = float(rate_from_time_slope(rate, self._mean)) * rate / self._mean
        for g in np.unique(self._n_choices[self._n_choices > 1]):
            mine = self._n_choices == g
            weight = float(rate_from_time(beta * g, g))
            log_weights[mine] = np.log(weight)
            slopes[mine] = rate_from_time_slope(beta * g, g) * g * by_log_rate / weight
        return log_weights, slopes


class DistanceKernel(Kernel):
    """k(x, x') = profile(D(x, x')).

    Args:
        feature_map: Features whose weighted squared distances make up D.
        graphs: Columns with graphs of choices, which add their tables to D.
        profile: The function of the distance.
        isotropic: Ties all weights to one rate or diffusion time; None for ARD.
        wide: Columns of very many choices, which have no features; None for none.
    """

    def __init__(
        self,
        feature_map: FeatureMap,
        graphs: Sequence[GraphColumn] = (),
        profile: Profile | None = None,
        isotropic: IsotropicRates | None = None,
        wide: WideColumns | None = None,
    ) -> None:
        """Lay out the hyperparameters: log weights with ARD, their mean, the shape."""
        self.feature_map = feature_map
        self.graphs = tuple(graphs)
        self.wide = wide
        self._n_plain = feature_map.n_weights
        self._n_without_graphs = self._n_plain + (0 if wide is None else len(wide))
        same: dict[int, list[int]] = {}
        for place, graph in enumerate(graphs):
            same.setdefault(id(graph.distance), []).append(place)
        self._same_graphs = [(graphs[places[0]].distance, places) for places in same.values()]
        self.profile: Profile = Exponential() if profile is None else profile
        self.isotropic = isotropic
        wide_scales = np.zeros(0) if wide is None else wide.log_scales
        self.log_scales = np.concatenate(
            [feature_map.log_scales, wide_scales, np.zeros(len(graphs))]
        )
        self.n_weights = len(self.log_scales)
        self._n_free = self.n_weights if isotropic is None else 0
        self.log_rate_mean = self._n_free
        lowest_mean = np.log(SMALLEST_TOTAL / max(self.n_weights, 1))
        self.bounds = np.array(
            [LOG_WEIGHT_BOUNDS] * self._n_free
            + [(lowest_mean, LOG_RATE_MEAN_BOUNDS[1])]
            + [LOG_SHAPE_BOUNDS] * self.profile.n_shapes
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each weight."""
        wide = () if self.wide is None else self.wide.names
        return (*self.feature_map.names, *wide, *(graph.name for graph in self.graphs))

    # ---------------------------------------------------------------- hyperparameters

    def log_weights(self, theta: Array) -> Array:
        """Return the log weights (W,)."""
        if self.isotropic is None:
            return theta[: self.n_weights]
        return self.isotropic.log_weights(float(theta[0]))[0]

    def _shape(self, theta: Array) -> Array:
        return theta[self._n_free + 1 :]

    def start(self, total: float) -> Array:
        """Return equal weights that add up to ``total``."""
        log_rate_mean = float(np.log(max(total, SMALLEST_TOTAL) / max(self.n_weights, 1)))
        free = self.log_scales + log_rate_mean if self.isotropic is None else np.zeros(0)
        return np.concatenate([free, [log_rate_mean], np.ones(self.profile.n_shapes)])

    def prior(self, theta: Array) -> Prior:
        """Return minus the log density: log weights around a free mean."""
        gradient = np.zeros(len(theta))
        value = 0.0
        if self.isotropic is None:
            log_rate_mean = theta[self._n_free]
            value, by_weights = normal_prior(
                theta[: self._n_free] - self.log_scales, log_rate_mean, LOG_WEIGHT_SPREAD
            )
            gradient[: self._n_free] = by_weights
            gradient[self._n_free] = -by_weights.sum()
        shape_value, by_shape = normal_prior(self._shape(theta), 1.0, LOG_SHAPE_SPREAD)
        gradient[self._n_free + 1 :] = by_shape
        return value + shape_value, gradient

    def _chain(self, theta: Array, by_log_weights: Array, by_shape: list[float]) -> Array:
        """Return the derivative in theta from that in the log weights and the shape."""
        if self.isotropic is None:
            return np.concatenate([by_log_weights, [0.0], by_shape])
        slopes = self.isotropic.log_weights(float(theta[0]))[1]
        return np.concatenate([[by_log_weights @ slopes], by_shape])

    # -------------------------------------------------------------------- observations

    def prepare(self, points: Array) -> _Prepared:
        """Return features and codes of the observations."""
        features = self.feature_map(points)
        codes = None if self.wide is None else self.wide.codes(points)
        return _Prepared(features, features**2, self._indicators(points), codes)

    def _indicators(self, points: Array) -> Array:
        """Return (n, sum of g) 1 where a graph column has a choice."""
        sizes = [graph.distance.n_choices for graph in self.graphs]
        columns = np.array([graph.column for graph in self.graphs], dtype=np.int64)
        first = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)
        indicators = np.zeros((len(points), sum(sizes)))
        places = first + points[:, columns].astype(np.int64)
        indicators[np.arange(len(points))[:, None], places] = 1.0
        return indicators

    def _tables(self, weights: Array) -> list[tuple[Array, Array]]:
        """Return distances (g, g) of the choices of each graph, and their slopes."""
        weights = weights[self._n_without_graphs :]
        tables: list[tuple[Array, Array]] = [(weights, weights)] * len(self.graphs)
        for distance, places in self._same_graphs:
            found = zip(*distance.tables(weights[places]), strict=True)
            for place, table in zip(places, found, strict=True):
                tables[place] = table
        return tables

    def _distances(
        self, weights: Array, tables: list[tuple[Array, Array]], prepared: _Prepared
    ) -> Array:
        weighted = self.feature_map.weighted(prepared.features, weights[: self._n_plain])
        distances = squared_distances(weighted, weighted)
        if self.wide is not None and prepared.codes is not None:
            of_wide = weights[self._n_plain : self._n_without_graphs]
            self.wide.add_own_distances(of_wide, prepared.codes, to=distances)
        if self.graphs:
            table = _block_diagonal([table for table, _ in tables])
            distances += prepared.indicators @ (table @ prepared.indicators.T)
        distances.flat[:: len(distances) + 1] = 0.0  # exactly, whatever rounding says
        return distances

    def matrix(self, theta: Array, prepared: _Prepared) -> Array:
        """Return the kernel matrix (n, n)."""
        weights = np.exp(self.log_weights(theta))
        distances = self._distances(weights, self._tables(weights), prepared)
        return self.profile.value(distances, self._shape(theta))

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        weights = np.exp(self.log_weights(theta))
        tables = self._tables(weights)
        distances = self._distances(weights, tables, prepared)
        kernel, by_distance, by_shape = self.profile.value_and_slopes(
            distances, self._shape(theta)
        )

        def pullback(by_kernel: Array) -> Array:
            shape = [float(np.vdot(by_kernel, slope)) for slope in by_shape]
            by_weights = self._by_weights(by_kernel * by_distance, tables, prepared)
            return self._chain(theta, by_weights * weights, shape)

        return kernel, pullback

    def _by_weights(
        self, by_distance: Array, tables: list[tuple[Array, Array]], prepared: _Prepared
    ) -> Array:
        """Return the derivative in the weights (W,) from that in the distances (n, n)."""
        features = prepared.features
        # sum_ab B_ab (F_as - F_bs)^2 = 2 (sum_a F_as^2 B_a. - sum_ab F_as B_ab F_bs)
        per_feature = by_distance.sum(axis=1) @ prepared.squared_features
        per_feature -= np.einsum("as,as->s", features, by_distance @ features)
        plain = 2.0 * self.feature_map.sum_by_weight(per_feature)
        if self.wide is not None and prepared.codes is not None:
            by_wide = self.wide.by_weights(by_distance, prepared.codes)
            plain = np.concatenate([plain, by_wide])
        if not self.graphs:
            return plain
        by_choices = prepared.indicators.T @ (by_distance @ prepared.indicators)
        by_graphs, first = [], 0
        for _, slope in tables:
            mine = slice(first, first + len(slope))
            by_graphs.append(float(np.vdot(by_choices[mine, mine], slope)))
            first += len(slope)
        return np.concatenate([plain, by_graphs])

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        return _DistanceCrossCovariance(self, theta, points)


def _block_diagonal(tables: list[Array]) -> Array:
    return np.asarray(linalg.block_diag(np.zeros((0, 0)), *tables), dtype=float)


@dataclass(frozen=True, eq=False)
class _Prepared:
    features: Array
    squared_features: Array
    indicators: Array
    codes: NDArray[np.int32] | None


class _DistanceCrossCovariance(CrossCovariance):
    """Profiles of distances to the observations."""

    def __init__(self, kernel: DistanceKernel, theta: Array, points: Array) -> None:
        self._feature_map = kernel.feature_map
        self._profile = kernel.profile
        self._shape = kernel._shape(theta)
        weights = np.exp(kernel.log_weights(theta))
        self._weights = weights[: kernel._n_plain]
        self._features = self._weigh(points)
        self._norms = squared_norms(self._features)
        self._kernel = kernel
        self._wide = kernel.wide
        self._wide_weights = weights[kernel._n_plain : kernel._n_without_graphs]
        self._wide_of = np.full(points.shape[1], -1)
        if self._wide is not None:
            self._wide_codes = self._wide.codes(points)
            self._wide_of[self._wide.columns] = np.arange(len(self._wide))
        # (sum of g, n) distances of each choice to the observations
        tables = [table for table, _ in kernel._tables(weights)]
        self._rows = _block_diagonal(tables) @ kernel._indicators(points).T
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
            distances += self._kernel._indicators(points) @ self._rows
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
