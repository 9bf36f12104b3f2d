"""The map that turns the kernel into one matrix product.

Notation
    ===========  =====================================================================
    s            number of feature columns
    F            (n, s) features of n points
    w            (d,) weight of each parameter, its rate of decay
    D            (n, m) weighted squared distance, the exponent of the kernel
    ===========  =====================================================================

With one-hot features divided by the square root of two, the squared distance between the
features of two choices is 1 where they differ and 0 where they agree (eq. onehot of the
paper). So the heat kernel on categories times the RBF kernel on numbers is

    k(x, x') = exp(-D),   D = sum_i w_i ||F_i(x) - F_i(x')||^2,

and D for all pairs is one product of weighted features: no (n, m, d) array is ever made.
A categorical w_i is the rate gamma_i = -ln(rho_i) of the heat kernel, a numeric one is
1 / (2 l_i^2) of the RBF kernel on [0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.space import Array, Space

__all__ = ["FeatureMap"]


class FeatureMap:
    """Features of the points of a space, and weighted distances between them."""

    def __init__(self, space: Space) -> None:
        """Lay out the columns: one for a number or a pair, k for k unordered choices."""
        is_one_hot = space.is_categorical & (space.n_levels > 2)
        widths = np.where(is_one_hot, space.n_levels, 1).astype(int)
        first = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(int)
        self.owner: NDArray[np.int64] = np.repeat(np.arange(len(space)), widths)
        self.n_features = int(widths.sum())
        self.first_feature: NDArray[np.int64] = first
        self._one_hot = np.flatnonzero(is_one_hot)
        self._one_hot_first = first[self._one_hot]
        self._plain = np.flatnonzero(~is_one_hot)
        self._plain_first = first[self._plain]
        # Codes of an ordered or a two-valued parameter are stretched to [0, 1].
        last = np.where(space.is_discrete, np.maximum(space.n_levels - 1, 1), 1.0)
        self._divisor = last
        self._is_one_hot = is_one_hot
        self.is_numeric: NDArray[np.bool_] = ~space.is_discrete

    def __call__(self, points: Array) -> Array:
        """Return the features (n, s) of points (n, d)."""
        if not len(self._one_hot):  # columns and features are the same
            plain: Array = points / self._divisor - 0.5
            return plain
        features = np.zeros((len(points), self.n_features))
        columns = self._one_hot_first + points[:, self._one_hot].astype(np.int64)
        features[np.arange(len(points))[:, None], columns] = np.sqrt(0.5)
        # Centred on 1/2: smaller numbers cancel less in the squared distance.
        features[:, self._plain_first] = points[:, self._plain] / self._divisor[self._plain] - 0.5
        return features

    def column_distances(
        self, observed: Array, coordinates: Array, columns: NDArray[np.int64]
    ) -> Array:
        """Return squared feature distances within single columns.

        Args:
            observed: (N, n) coordinates of n points, in one column a row.
            coordinates: (N,) the coordinate to compare them with.
            columns: (N,) which column each row is about.
        """
        difference = observed - coordinates[:, None]
        is_one_hot = self._is_one_hot[columns]
        if is_one_hot.all():
            differs: Array = (difference != 0.0).astype(float)
            return differs
        difference /= self._divisor[columns, None]
        difference *= difference
        if is_one_hot.any():
            difference[is_one_hot] = difference[is_one_hot] != 0.0
        return difference

    def weighted(self, features: Array, weights: Array) -> Array:
        """Return features (n, s) scaled so that plain distances are the weighted ones."""
        scaled: Array = features * np.sqrt(weights)[self.owner]
        return scaled

    def sum_by_parameter(self, per_feature: Array) -> Array:
        """Add up numbers (s,) over the columns of each parameter: (d,)."""
        return np.add.reduceat(per_feature, self.first_feature)


def squared_distances(left: Array, right: Array) -> Array:
    """Return (n, m) squared distances between rows (n, s) and (m, s), never negative."""
    product = left @ right.T
    product *= -2.0
    product += np.einsum("ij,ij->i", left, left)[:, None]
    product += np.einsum("ij,ij->i", right, right)[None, :]
    return np.maximum(product, 0.0, out=product)
