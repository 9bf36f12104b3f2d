"""Feature map: weighted squared distances as one matrix product.

Notation
    ===========  =====================================================================
    s            number of feature columns
    F            (n, s) features of n points
    w            (W,) weights, each the rate of decay of one feature or group of them
    owner        (s,) the weight that each feature column belongs to
    D            (n, m) weighted squared distance, the exponent of the kernel
    ===========  =====================================================================

With one-hot features divided by the square root of two, the squared distance between the
features of two choices is 1 where they differ and 0 where they agree (eq. onehot of the
paper). So the heat kernel on categories times the RBF kernel on numbers is

    k(x, x') = exp(-D),   D = sum_i w_i ||F_i(x) - F_i(x')||^2,

and D for all pairs is one product of weighted features: no (n, m, d) array is ever made.
A categorical w_i is the rate gamma_i = -ln(rho_i) of the heat kernel. Numbers usually have a
distance of their own, of which the Matern kernel is a function (build.py).

Whatever else is a squared distance of features has its place here too: how often each
choice occurs among interchangeable parameters (padded sorting), choices that are numbers,
distances to anchors. Each is a part, and a map is a list of parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from heat_plugins.space import Array, Bools, Indices, Space

__all__ = [
    "AnchorDistances",
    "ChoicePlaces",
    "Columns",
    "Counts",
    "FeatureMap",
    "Frequencies",
    "Part",
    "SortedBlock",
    "squared_distances",
    "squared_norms",
]

# The mean squared difference of two uniform numbers is 1/6, that of two random
# categories close to 1: with this factor a number counts as much as a category.
NUMERIC_WEIGHT = 6.0
# Prior log weight of what the graph of choices does not explain.
LOG_REMAINDER = -2.0
# Prior log-weight bonus of gating parameters, on which the existence of others depends.
LOG_BRANCHING = np.log(3.0)


class Part(Protocol):
    """Some features of a point.

    Attributes:
        owner: (s,) which weight of the part each feature belongs to.
        log_scales: (W,) where the logarithms of its weights are expected, apart from
            the mean that all weights have in common.
        names: (W,) what each weight is about, for people.
    """

    owner: Indices
    log_scales: Array
    names: tuple[str, ...]

    def __call__(self, points: Array) -> Array:
        """Return features (n, s) of points (n, d)."""


class Columns:
    """Parameters by themselves: one-hot features of choices, places of numbers.

    Args:
        space: The parameters.
        columns: Which of them.
        quantities: (g,) places in [0, 1] of choices that are numbers, by column.
        remainders: Columns whose choices have a graph elsewhere. What the graph does not
            explain about them is expected to be little.
        branching: Columns on which the existence of others depends.
        unordered: Ordinal columns whose choices are as far apart as those of others.
    """

    def __init__(
        self,
        space: Space,
        columns: Indices,
        quantities: dict[int, Array] | None = None,
        remainders: Indices | None = None,
        branching: Indices | None = None,
        unordered: Indices | None = None,
    ) -> None:
        """Lay out the features: one for a number or a pair, k for k unordered choices."""
        self._quantities = quantities or {}
        is_quantity = np.isin(columns, [*self._quantities])
        is_remainder = np.isin(columns, [] if remainders is None else remainders)
        is_unordered = (space.is_categorical[columns] & ~is_quantity) | is_remainder
        is_unordered |= np.isin(columns, [] if unordered is None else unordered)
        is_one_hot = is_unordered & (space.n_levels[columns] > 2)
        widths = np.where(is_one_hot, space.n_levels[columns], 1).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64)
        self.columns = columns
        self.owner: Indices = np.repeat(np.arange(len(columns)), widths)
        self.names = tuple(space.names[column] for column in columns)
        self.is_one_hot: Bools = is_one_hot
        is_number = ~space.is_discrete[columns] | is_quantity
        self.log_scales: Array = np.where(is_number, np.log(NUMERIC_WEIGHT), 0.0)
        self.log_scales[is_remainder] = LOG_REMAINDER
        if branching is not None:
            self.log_scales[np.isin(columns, branching)] += LOG_BRANCHING
        # Codes of an ordered or a two-valued parameter are stretched to [0, 1].
        last = np.maximum(space.n_levels[columns] - 1.0, 1.0)
        self.divisor: Array = np.where(is_number, 1.0, last)
        self.first_feature: Indices = first
        self._one_hot, self._one_hot_first = columns[is_one_hot], first[is_one_hot]
        self._plain, self._plain_first = columns[~is_one_hot], first[~is_one_hot]
        self._plain_divisor = self.divisor[~is_one_hot]
        self._is_identity = not is_one_hot.any() and len(columns) == len(space)

    def __call__(self, points: Array) -> Array:
        """Return features (n, s) of points (n, d), zeros where a parameter does not exist.

        Zero is the middle of a range, and as far from every choice as from any other: a
        parameter that is there differs from one that is not by half of what two of its
        choices differ. What makes it exist or not is a parameter too, and differs as well.
        """
        is_missing = np.isnan(points[:, self.columns])
        if is_missing.any():
            features = self._of_existing(np.nan_to_num(points))
            features[is_missing[:, self.owner]] = 0.0
            return features
        return self._of_existing(points)

    def _of_existing(self, points: Array) -> Array:
        points = self.placed(points)
        # Centred on 1/2: smaller numbers cancel less in the squared distance.
        if self._is_identity:
            return points / self.divisor - 0.5
        features = np.zeros((len(points), len(self.owner)))
        hot = self._one_hot_first + points[:, self._one_hot].astype(np.int64)
        features[np.arange(len(points))[:, None], hot] = np.sqrt(0.5)
        features[:, self._plain_first] = points[:, self._plain] / self._plain_divisor - 0.5
        return features

    def placed(self, points: Array) -> Array:
        """Return points (n, d) with the places of quantities instead of their codes."""
        if not self._quantities:
            return points
        points = points.copy()
        for column, places in self._quantities.items():
            points[:, column] = places[points[:, column].astype(np.int64)]
        return points

    def placed_coordinates(self, columns: Indices, coordinates: Array) -> Array:
        """Return coordinates (N,) of columns (N,) in the same way."""
        if not self._quantities:
            return coordinates
        coordinates = coordinates.copy()
        for column, places in self._quantities.items():
            mine = columns == column
            coordinates[mine] = places[coordinates[mine].astype(np.int64)]
        return coordinates

    def distances(self, observed: Array, coordinates: Array, parts: Indices) -> Array:
        """Return squared feature distances (N, n) within single columns.

        Args:
            observed: (N, n) placed coordinates of n points, in one column a row.
            coordinates: (N,) the placed coordinate to compare them with.
            parts: (N,) which column each row is about, counted within this part.
        """
        difference = observed - coordinates[:, None]
        is_one_hot = self.is_one_hot[parts]
        if is_one_hot.all():
            differs: Array = (difference != 0.0).astype(float)
            return differs
        difference /= self.divisor[parts, None]
        difference *= difference
        if is_one_hot.any():
            difference[is_one_hot] = difference[is_one_hot] != 0.0
        return difference


class ChoicePlaces:
    """Places of choices that are numbers, next to the one-hot features of the same choices.

    The fit decides what counts: that two choices differ, how far apart they are, or both. Of each
    column, the places (g,) of its choices are in [0, 1].
    """

    def __init__(self, space: Space, places: dict[int, Array]) -> None:
        self.columns: Indices = np.array([*places], dtype=np.int64)
        self._table = np.zeros((len(places), max(map(len, places.values()))))  # (c, g)
        for row, own in zip(self._table, places.values(), strict=True):
            row[: len(own)] = own - 0.5
        self.owner: Indices = np.arange(len(places))
        # Two random choices differ by 1, as they do by their one-hot features.
        self.log_scales: Array = -np.log([_mean_square(own) for own in places.values()])
        self.names = tuple(f"{space.names[column]} as a number" for column in places)

    def __call__(self, points: Array) -> Array:
        """Return features (n, c) of points (n, d), zeros where a parameter does not exist."""
        codes = points[:, self.columns]
        features = self.of(self.owner, np.nan_to_num(codes))
        features[np.isnan(codes)] = 0.0
        return features

    def of(self, places: Indices, codes: Array) -> Array:
        """Return the features of codes, each of one of the columns, counted within this part."""
        return self._table[places, codes.astype(np.int64)]


def _mean_square(places: Array) -> float:
    """Return the mean squared difference of two different choices with places (g,)."""
    g = len(places)
    return float(2.0 * g * g * places.var() / (g * (g - 1)))


class Counts:
    """Counts of each choice among interchangeable parameters: padded sorting.

    In the padded sequence of the paper, place j of choice c holds c if c occurs at least j
    times and * otherwise. One indicator for each place makes the squared distance
    sum_c |n_c - n'_c|, the Hamming distance of the padded sequences.
    """

    def __init__(self, columns: Indices, n_choices: int, name: str) -> None:
        self._columns = columns
        self._n_choices = n_choices
        self.owner: Indices = np.repeat(np.arange(n_choices), len(columns))
        self.log_scales: Array = np.zeros(n_choices)
        self.names = tuple(f"{name}: choice {c}" for c in range(n_choices))

    def __call__(self, points: Array) -> Array:
        """Return indicators (n, g * block), thermometers of the counts."""
        counts = count_choices(points[:, self._columns], self._n_choices)  # (n, g)
        places = np.arange(1, len(self._columns) + 1)
        filled: Array = (counts[:, :, None] >= places).astype(float)
        return filled.reshape(len(points), self._n_choices * len(self._columns))


class Frequencies:
    """Counts of each choice in each orbit of a group of permutations.

    The product of the kernel over a group has the mean distance as its exponent; divided by
    its diagonal it is the RBF kernel on the one-hot features averaged over the group.
    """

    def __init__(self, orbits: Sequence[Indices], n_choices: int, name: str) -> None:
        self._orbits = orbits
        self._n_choices = n_choices
        self.owner: Indices = np.zeros(len(orbits) * n_choices, dtype=np.int64)
        self.log_scales: Array = np.zeros(1)
        self.names: tuple[str, ...] = (name,)

    def __call__(self, points: Array) -> Array:
        """Return scaled counts (n, orbits * g)."""
        # m members of an orbit, each with the features count / m / sqrt(2).
        return np.concatenate(
            [
                count_choices(points[:, orbit], self._n_choices) / np.sqrt(2.0 * len(orbit))
                for orbit in self._orbits
            ],
            axis=1,
        )


class SortedBlock:
    """Interchangeable parameters in sorted order, each place a parameter of its own."""

    def __init__(self, columns: Indices, places: Columns, name: str) -> None:
        self._columns = columns
        self._places = places
        self.owner: Indices = places.owner
        self.log_scales: Array = places.log_scales
        self.names = tuple(f"{name}: rank {i}" for i in range(len(columns)))

    def __call__(self, points: Array) -> Array:
        """Return the features (n, s) of the sorted columns."""
        points = points.copy()
        points[:, self._columns] = np.sort(points[:, self._columns], axis=1)
        return self._places(points)


class AnchorDistances:
    """Hamming distances to anchors, as a share of the longest one.

    Args:
        anchors: (M, d) codes; NaN where a column does not count.
        isotropic: Whether all anchors share a weight, or have one each.
    """

    def __init__(self, anchors: Array, isotropic: bool = False) -> None:
        counts = ~np.isnan(anchors)
        self._anchors = anchors
        self._columns = np.flatnonzero(counts.any(axis=0))
        self._lengths = counts.sum(axis=1)
        m = len(anchors)
        self.owner: Indices = np.zeros(m, np.int64) if isotropic else np.arange(m)
        n_weights = 1 if isotropic else m
        # Anchors that share a weight together count as much as one number.
        scale = NUMERIC_WEIGHT * n_weights / m
        self.log_scales: Array = np.full(n_weights, np.log(scale))
        self.names = tuple(f"distance to anchor {i}" for i in range(n_weights))

    def __call__(self, points: Array) -> Array:
        """Return distances (n, M) as shares of the number of columns that count."""
        distances = np.zeros((len(points), len(self._anchors)))
        for column in self._columns:
            anchor = self._anchors[:, column]
            differs = points[:, column, None] != anchor
            distances += np.where(np.isnan(anchor), False, differs)
        shares: Array = distances / self._lengths
        return shares


class FeatureMap:
    """All features of points, and which weight each belongs to.

    It remembers the last points that it was asked for: models of several objectives and
    constraints have a map in common, and ask for the features of each candidate in turn.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        sizes = [len(part.log_scales) for part in parts]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self.owner: Indices = np.concatenate(
            [part.owner + start for part, start in zip(parts, starts, strict=False)]
            or [np.zeros(0, np.int64)]
        )
        self.n_weights = int(starts[-1])
        self.log_scales: Array = np.concatenate(
            [part.log_scales for part in parts] or [np.zeros(0)]
        )
        self.names = tuple(name for part in parts for name in part.names)
        self._last: tuple[bytes, Array] | None = None

    @staticmethod
    def of(space: Space) -> FeatureMap:
        """Return the features of every parameter by itself."""
        return FeatureMap([Columns(space, np.arange(len(space)))])

    def __call__(self, points: Array) -> Array:
        """Return the features (n, s) of points (n, d), not to be written to."""
        key, last = points.tobytes(), self._last
        if last is not None and last[0] == key and len(last[1]) == len(points):
            return last[1]
        features = self._features(points)
        self._last = key, features
        return features

    def _features(self, points: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0](points)
        if not self.parts:
            return np.zeros((len(points), 0))
        return np.concatenate([part(points) for part in self.parts], axis=1)

    def weighted(self, features: Array, weights: Array) -> Array:
        """Return features (n, s) scaled so that plain distances are the weighted ones."""
        scaled: Array = features * np.sqrt(weights)[self.owner]
        return scaled

    def sum_by_weight(self, per_feature: Array) -> Array:
        """Add up numbers (s,) over the features of each weight: (W,)."""
        return np.bincount(self.owner, weights=per_feature, minlength=self.n_weights).astype(float)


def count_choices(codes: Array, n_choices: int) -> Array:
    """Return (n, g) how often each choice occurs in rows of codes (n, b)."""
    n = len(codes)
    cells = codes.astype(np.int64) + n_choices * np.arange(n)[:, None]
    counts = np.bincount(cells.ravel(), minlength=n * n_choices)
    return counts.reshape(n, n_choices).astype(float)


def squared_norms(rows: Array) -> Array:
    """Return the squared lengths (n,) of rows (n, s)."""
    norms: Array = np.einsum("ij,ij->i", rows, rows)
    return norms


def squared_distances(left: Array, right: Array, right_norms: Array | None = None) -> Array:
    """Return (n, m) squared distances between rows (n, s) and (m, s), never negative.

    Whoever asks for distances to the same rows again and again may give their squared norms.
    """
    product = left @ right.T
    product *= -2.0
    product += squared_norms(left)[:, None]
    product += squared_norms(right) if right_norms is None else right_norms
    return np.maximum(product, 0.0, out=product)
