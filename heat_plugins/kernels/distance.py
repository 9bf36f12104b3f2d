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

from heat_plugins.kernels.base import CrossCovariance, Kernel, Prior, Pullback, normal_prior
from heat_plugins.kernels.distance_cross import DistanceCrossCovariance, block_diagonal
from heat_plugins.kernels.features import FeatureMap, squared_distances
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.kernels.isotropic_rates import IsotropicRates
from heat_plugins.kernels.profiles import Exponential, Profile
from heat_plugins.kernels.wide_columns import WideColumns
from heat_plugins.space import Array

__all__ = ["DistanceKernel", "GraphColumn"]

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
        self.n_plain = feature_map.n_weights
        self.n_without_graphs = self.n_plain + (0 if wide is None else len(wide))
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

    def profile_shape(self, theta: Array) -> Array:
        """Return the shapes of the profile."""
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
        shape_value, by_shape = normal_prior(self.profile_shape(theta), 1.0, LOG_SHAPE_SPREAD)
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
        return _Prepared(features, features**2, self.indicators(points), codes)

    def indicators(self, points: Array) -> Array:
        """Return (n, sum of g) 1 where a graph column has a choice."""
        sizes = [graph.distance.n_choices for graph in self.graphs]
        columns = np.array([graph.column for graph in self.graphs], dtype=np.int64)
        first = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)
        indicators = np.zeros((len(points), sum(sizes)))
        places = first + points[:, columns].astype(np.int64)
        indicators[np.arange(len(points))[:, None], places] = 1.0
        return indicators

    def tables(self, weights: Array) -> list[tuple[Array, Array]]:
        """Return distances (g, g) of the choices of each graph, and their slopes."""
        weights = weights[self.n_without_graphs :]
        tables: list[tuple[Array, Array]] = [(weights, weights)] * len(self.graphs)
        for distance, places in self._same_graphs:
            found = zip(*distance.tables(weights[places]), strict=True)
            for place, table in zip(places, found, strict=True):
                tables[place] = table
        return tables

    def _distances(
        self, weights: Array, tables: list[tuple[Array, Array]], prepared: _Prepared
    ) -> Array:
        weighted = self.feature_map.weighted(prepared.features, weights[: self.n_plain])
        distances = squared_distances(weighted, weighted)
        if self.wide is not None and prepared.codes is not None:
            of_wide = weights[self.n_plain : self.n_without_graphs]
            self.wide.add_own_distances(of_wide, prepared.codes, to=distances)
        if self.graphs:
            table = block_diagonal([table for table, _ in tables])
            distances += prepared.indicators @ (table @ prepared.indicators.T)
        distances.flat[:: len(distances) + 1] = 0.0  # exactly, whatever rounding says
        return distances

    def matrix(self, theta: Array, prepared: _Prepared) -> Array:
        """Return the kernel matrix (n, n)."""
        weights = np.exp(self.log_weights(theta))
        distances = self._distances(weights, self.tables(weights), prepared)
        return self.profile.value(distances, self.profile_shape(theta))

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        weights = np.exp(self.log_weights(theta))
        tables = self.tables(weights)
        distances = self._distances(weights, tables, prepared)
        kernel, by_distance, by_shape = self.profile.value_and_slopes(
            distances, self.profile_shape(theta)
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
        return DistanceCrossCovariance(self, theta, points)


@dataclass(frozen=True, eq=False)
class _Prepared:
    features: Array
    squared_features: Array
    indicators: Array
    codes: NDArray[np.int32] | None
