r"""The heat kernel of labelled graphs, averaged over the relabellings of their free nodes.

Notation
    ===========  =====================================================================
    h_t(x, x')   how many cells of kind t differ between two graphs (graph_cells.py)
    w_t          weight of a cell of kind t, the rate of the heat kernel
    G            the relabellings
    U            number of different images of the observations
    F            (m, s) features of graphs: equal cells have the same
    ===========  =====================================================================

    k_sum(x, x') = (1 / |G|^2) sum_{g, g'} exp(-sum_t w_t h_t(g x, g' x'))

(the paper's Heat (sum), appendix "Incorporating (permutation) invariance"). Relabellings take a
cell to others of its kind, so h_t(g x, g' x') = h_t(x, g^-1 g' x') and one sum is enough. Graphs
with symmetries have fewer different images, which are looked at once each. As in
``group_average.py`` the kernel is divided by the square root of its diagonal on both sides.

The space of the heat kernel is that of all graphs with N nodes, in which absent nodes have a
label of their own and no edges. What the parameters of a point say does not count but for the
graph that they describe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heat_plugins.kernels.base import (
    CrossCovariance,
    CrossFunction,
    Kernel,
    Prior,
    Pullback,
    normal_prior,
)
from heat_plugins.kernels.distance import (
    LOG_RATE_MEAN_BOUNDS,
    LOG_WEIGHT_BOUNDS,
    LOG_WEIGHT_SPREAD,
    SMALLEST_TOTAL,
)
from heat_plugins.kernels.graph_cells import GraphCells, Images
from heat_plugins.space import Array, Indices

__all__ = ["RelabellingKernel"]

AT_ONCE = 400_000  # numbers in memory at once: those of covariances with images stay in the cache


class RelabellingKernel(Kernel):
    """k_sum on the columns of one graph, with unit diagonal.

    Args:
        cells: The graphs as rows of cells.
        is_tied: Whether all kinds of cells have one weight.
    """

    def __init__(self, cells: GraphCells, is_tied: bool = False) -> None:
        """Lay out the hyperparameters: log weights unless tied, then their mean."""
        self.cells = cells
        n_kinds = len(cells.names)
        self._n_free = 0 if is_tied else n_kinds
        self._n_kinds = n_kinds
        self.log_rate_mean = self._n_free
        lowest = float(np.log(SMALLEST_TOTAL / cells.n_parameters))
        self.bounds = np.array(
            [LOG_WEIGHT_BOUNDS] * self._n_free + [(lowest, LOG_RATE_MEAN_BOUNDS[1])], dtype=float
        )
        # One feature for a cell with two codes, one for each code of others.
        is_binary = cells.n_codes == 2
        widths = np.where(is_binary, 1, cells.n_codes)
        self._first = np.cumsum(widths) - widths
        self._is_binary = is_binary
        self._kind_of_feature: Indices = np.repeat(cells.kinds, widths)
        self._own_products = np.where(is_binary, 0.5, 1.0)  # (C,) of the features of a cell

    def weights(self, theta: Array) -> Array:
        """Return the weights (T,) of a cell of each kind."""
        log_weights = theta[: self._n_free] if self._n_free else np.repeat(theta, self._n_kinds)
        weights: Array = np.exp(log_weights)
        return weights

    def start(self, total: float) -> Array:
        """Return equal weights that add up to ``total`` over the parameters."""
        log_rate_mean = np.log(max(total, SMALLEST_TOTAL) / self.cells.n_parameters)
        return np.full(self._n_free + 1, log_rate_mean)

    def prior(self, theta: Array) -> Prior:
        """Return minus the log density: log weights around a free mean."""
        value, by_weights = normal_prior(theta[: self._n_free], theta[-1], LOG_WEIGHT_SPREAD)
        return value, np.append(by_weights, -by_weights.sum())

    # -------------------------------------------------------------------- observations

    def _features(self, codes: Indices) -> Array:
        """Return features (m, s) of cells (m, C), whose products count cells that agree.

        The features of a cell with two codes are +-sqrt(1/2), with products +-1/2; those of
        another are 0 and 1.
        """
        features = np.zeros((len(codes), len(self._kind_of_feature)))
        binary, others = self._is_binary, ~self._is_binary
        features[:, self._first[binary]] = (codes[:, binary] - 0.5) * np.sqrt(2.0)
        hot = self._first[others] + codes[:, others]
        features[np.arange(len(codes))[:, None], hot] = 1.0
        return features

    def _weigh(self, features: Array, weights: Array) -> Array:
        return features * weights[self._kind_of_feature]

    def _total(self, weights: Array) -> float:
        """Return the exponent of two graphs with the same cells, without its features."""
        return float(self._own_products @ weights[self.cells.kinds])

    def prepare(self, points: Array) -> _Prepared:
        """Return the features of the observations (n, d) and of their images."""
        codes = self.cells.codes(points)
        images = self.cells.images(codes)
        return _Prepared(self._features(codes), images, self._features(images.codes))

    def matrix(self, theta: Array, prepared: _Prepared) -> Array:
        """Return the kernel matrix (n, n)."""
        return self._normalised(self._terms(self.weights(theta), prepared), prepared)[0]

    def _terms(self, weights: Array, prepared: _Prepared) -> Array:
        """Return (n, U) what each image of an observation contributes."""
        exponents = self._weigh(prepared.features, weights) @ prepared.image_features.T
        exponents += prepared.images.log_shares - self._total(weights)
        terms: Array = np.exp(exponents, out=exponents)
        return terms

    def _normalised(self, terms: Array, prepared: _Prepared) -> tuple[Array, Array]:
        """Return the kernel matrix (n, n), and the (n,) diagonal that it has been divided by."""
        raw = np.add.reduceat(terms, prepared.images.first, axis=1)
        raw = 0.5 * (raw + raw.T)  # as it is but for rounding
        scale = np.sqrt(np.diagonal(raw))
        kernel: Array = raw / np.outer(scale, scale)
        return kernel, scale**2

    def matrix_and_pullback(self, theta: Array, prepared: _Prepared) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        weights = self.weights(theta)
        terms = self._terms(weights, prepared)
        kernel, diagonal = self._normalised(terms, prepared)
        scale = np.sqrt(diagonal)

        def pullback(by_kernel: Array) -> Array:
            by_raw = by_kernel / np.outer(scale, scale)
            by_raw.flat[:: len(by_raw) + 1] -= (by_kernel * kernel).sum(axis=1) / diagonal
            n_images = np.diff(prepared.images.first, append=len(prepared.images.codes))
            by_terms = np.repeat(by_raw, n_images, axis=1) * terms
            # h_t is the number of cells of kind t, in products, minus those of the features.
            agreeing = np.einsum("is,is->s", prepared.features, by_terms @ prepared.image_features)
            by_weights = np.bincount(self._kind_of_feature, agreeing, self._n_kinds)
            cells = np.bincount(self.cells.kinds, self._own_products, self._n_kinds)
            by_log_weights = (by_weights - by_terms.sum() * cells) * weights
            if not self._n_free:
                return np.array([by_log_weights.sum()])
            return np.append(by_log_weights, 0.0)

        return kernel, pullback

    # ---------------------------------------------------------------------- prediction

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        weights = self.weights(theta)
        codes = self.cells.codes(points)
        images = self.cells.images(codes)
        features = self._weigh(self._features(images.codes), weights).T.copy()
        constant = images.log_shares - self._total(weights)
        scale = self._own_scale(codes, weights)

        def covariances(others: Array) -> Array:
            codes = self.cells.codes(others)
            raw = np.empty((len(codes), len(points)))
            n_rows = max(1, AT_ONCE // max(len(constant), 1))
            for start in range(0, len(codes), n_rows):
                rows = slice(start, start + n_rows)
                terms = self._features(codes[rows]) @ features
                terms += constant
                np.exp(terms, out=terms)
                raw[rows] = np.add.reduceat(terms, images.first, axis=1)
            return raw / np.outer(self._own_scale(codes, weights), scale)

        return CrossFunction(covariances)

    def _own_scale(self, codes: Indices, weights: Array) -> Array:
        """Return (m,) the square root of k_sum of graphs with cells (m, C) with themselves."""
        elements, of_cells = self.cells.elements, weights[self.cells.kinds]
        own = np.empty(len(codes))
        n_rows = max(1, AT_ONCE // elements.size)
        for start in range(0, len(codes), n_rows):
            some = codes[start : start + n_rows]
            differs = some[:, None, :] != some[:, elements]  # (rows, q, C)
            own[start : start + n_rows] = np.exp(-(differs @ of_cells)) @ self.cells.shares
        scale: Array = np.sqrt(own)
        return scale


@dataclass(frozen=True, eq=False)
class _Prepared:
    features: Array  # (n, s)
    images: Images
    image_features: Array  # (U, s)
