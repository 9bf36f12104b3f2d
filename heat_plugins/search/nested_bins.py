"""Nested subspaces: parameters in bins that move together and are split (Bounce).

Notation
    ===========  =====================================================================
    d            number of parameters that vary
    bin          parameters of one kind that move together
    z            (b,) a point of a subspace, one coordinate for each bin
    level        a number of bins; those of the next level are parts of these
    d_0, s       number of bins at first, and new bins that a bin is split into
    m_i          trials that level i has
    ===========  =====================================================================

Bounce (Papenmeier et al., 2023) begins with few bins: a good point of a small space is found
soon, and is a good start in a larger one. Every parameter has a random map of its own from the
coordinate of its bin to its values, a permutation of choices or a direction of numbers, so that no
point is preferred. A bin is split when the budget of its level,

    m_i = round(s N d_i / (d_0 ((s + 1)^(l + 1) - 1))),  d_i = d_0 (s + 1)^i,  at most 2^(d_i),

has been spent, N trials in all for l splits. Parts keep their maps: what has been observed in a
subspace lies in all that come after it. Everything follows from the names of the parameters, a
seed and the number of trials that have ended.

References:
    Papenmeier, Nardi and Poloczek, "Bounce: reliable high-dimensional Bayesian optimization for
    combinatorial and mixed spaces", NeurIPS 2023.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heat_plugins.runtime.lazy import cached_property
from heat_plugins.search.budgeted_region import Stage
from heat_plugins.space import Array, Categorical, Float, Indices, Integer, Ordinal, Space
from heat_plugins.space.space import Parameter
from heat_plugins.spec.checks import check_whole

__all__ = ["Embedding", "NestedEmbedding", "Subspace", "subspaces"]

MOST_NEW_BINS = 6  # that a bin is split into, where their number is chosen


@dataclass(frozen=True)
class NestedEmbedding:
    """A search that begins in a subspace of few bins of parameters, and splits them.

    Args:
        first_bins: Number of bins at first; at least one for each kind of parameter.
        new_bins: How many bins more a bin becomes; None for the number for which repeated splits
            come closest to the number of parameters.
        n_trials: Number of trials for which the budgets of all levels are made, start-up included.
        seed: Seed of the bins; None for that of the sampler.
    """

    first_bins: int = 5
    new_bins: int | None = None
    n_trials: int = 100
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("first_bins", 1), ("new_bins", 1), ("n_trials", 1), ("seed", 0)):
            value = getattr(self, name)
            check_whole(name, value, least, optional=name in ("new_bins", "seed"))
            object.__setattr__(self, name, None if value is None else int(value))

    @staticmethod
    def of(given: Embedding, seed: int) -> NestedEmbedding | None:
        """Return what a user asked for, with a seed where none was given.

        Raises:
            ValueError: If it is neither an embedding, nor ``"nested"``, nor None.
        """
        if given is None:
            return None
        embedding = NestedEmbedding() if isinstance(given, str) and given == "nested" else given
        if not isinstance(embedding, NestedEmbedding):
            raise ValueError(f"embedding must be None, 'nested' or NestedEmbedding, got {given!r}")
        return embedding if embedding.seed is not None else replace(embedding, seed=seed)


Embedding = NestedEmbedding | Literal["nested"] | None  # as a user gives it


class Subspace:
    """The points in which the parameters of each bin move together.

    Args:
        space: All parameters.
        bins: Columns of each bin. What is in none has one value only.
        seed: Seed of the maps.
    """

    def __init__(self, space: Space, bins: Sequence[Indices], seed: int) -> None:
        self.whole, self.bins, self._seed = space, list(bins), seed

    @cached_property
    def space(self) -> Space:
        """One parameter for each bin."""
        return Space(tuple(self._parameter(i, columns) for i, columns in enumerate(self.bins)))

    def _parameter(self, number: int, columns: Indices) -> Parameter:
        members = [self.whole.parameters[column] for column in columns]
        name, first = f"bin {number}", members[0]
        if isinstance(first, Categorical | Ordinal):
            return type(first)(name, tuple(range(len(first.choices))))
        levels = max(float(member.n_levels) for member in members)
        return Float(name, 0.0, 1.0) if math.isinf(levels) else Integer(name, 0, int(levels) - 1)

    @cached_property
    def _maps(self) -> list[Array]:
        """Of each column: (k,) the code for each of its bin, or (1,) the sign of a number."""
        maps = []
        for parameter in self.whole.parameters:
            rng = _rng_of(parameter.name, self._seed)
            rng.random()  # its place among the others
            if isinstance(parameter, Categorical):
                maps.append(rng.permutation(len(parameter.choices)).astype(float))
            elif isinstance(parameter, Ordinal):
                maps.append(parameter.levels()[:: int(rng.choice([-1, 1]))])
            else:
                maps.append(rng.choice([-1.0, 1.0], size=1))
        return maps

    def up(self, points: Array) -> Array:
        """Return points (n, d) of the whole space from points (n, b) of this one."""
        whole = np.zeros((len(points), len(self.whole)))
        for i, columns in enumerate(self.bins):
            for column in columns:
                given, parameter = self._maps[column], self.whole.parameters[column]
                if self.whole.is_discrete[column]:
                    whole[:, column] = given[points[:, i].astype(np.int64)]
                else:
                    place = points[:, i] if given[0] > 0.0 else 1.0 - points[:, i]
                    whole[:, column] = parameter.snap(place)
        return whole

    def down(self, points: Array) -> Array:
        """Return the points (n, b) of this space next to points (n, d) of the whole one.

        That is what most parameters of a bin ask for, or the mean of their numbers. Parameters
        that do not exist are not asked.
        """
        below = np.zeros((len(points), len(self.bins)))
        for i, columns in enumerate(self.bins):
            parameter = self.space.parameters[i]
            asked = points[:, columns]
            if self.space.is_discrete[i]:
                wanted = [np.argsort(self._maps[column]) for column in columns]
                votes = np.zeros((len(points), int(parameter.n_levels)))
                for column, places in zip(asked.T, wanted, strict=True):
                    rows = np.flatnonzero(~np.isnan(column))
                    votes[rows, places[column[rows].astype(np.int64)]] += 1.0
                below[:, i] = np.argmax(votes, axis=1)
            else:
                signs = np.array([self._maps[column][0] for column in columns])
                places = np.where(signs > 0.0, asked, 1.0 - asked)
                known = ~np.isnan(places)
                sums = np.where(known, places, 0.0).sum(axis=1)
                means = np.where(known.any(axis=1), sums / np.maximum(known.sum(axis=1), 1), 0.5)
                below[:, i] = parameter.snap(np.clip(means, 0.0, 1.0))
        return below

    def signs(self, column: int) -> Array:
        """(n,) of the numbers of a bin, whether each goes with it or against it."""
        return np.array([self._maps[member][0] for member in self.bins[column]])


def subspaces(
    space: Space, rules: NestedEmbedding, n_startup: int
) -> tuple[list[Subspace], list[Stage]]:
    """Return the subspaces before the whole space, and when each of them is left.

    Args:
        space: All parameters.
        rules: How many bins there are, and for how long.
        n_startup: Random trials at first.
    """
    kinds = _kinds(space, rules.seed or 0)
    d = sum(len(columns) for columns in kinds)
    n_bins = max(rules.first_bins, len(kinds))
    if n_bins >= d:
        return [], []
    bins = [
        part
        for columns, n in zip(kinds, _shares(kinds, n_bins), strict=True)
        for part in np.array_split(columns, n)
    ]
    n_new = rules.new_bins or _best_split(n_bins, d)
    budgets = _budgets(n_bins, n_new, d, max(rules.n_trials - n_startup, 1))
    found, stages, end = list[Subspace](), list[Stage](), n_startup
    for budget in budgets:
        if len(bins) == d:
            break
        end += budget
        found.append(Subspace(space, bins, rules.seed or 0))
        stages.append(Stage(len(bins), end))
        bins = [
            part
            for columns in bins
            for part in np.array_split(columns, min(n_new + 1, len(columns)))
        ]
    return found, stages


def _kinds(space: Space, seed: int) -> list[Indices]:
    """Return the columns of each kind, in random order; those with one value are left out."""
    kinds: dict[tuple[str, float], list[tuple[float, int]]] = {}
    for column, parameter in enumerate(space.parameters):
        n_levels = float(space.n_levels[column])
        if n_levels > 1.0:
            is_number = not space.is_discrete[column]
            size = float(math.isinf(n_levels)) if is_number else n_levels
            place = float(_rng_of(parameter.name, seed).random())
            kinds.setdefault((type(parameter).__name__ if not is_number else "", size), []).append(
                (place, column)
            )
    return [np.array([column for _, column in sorted(its)]) for its in kinds.values()]


def _shares(kinds: Sequence[Indices], n_bins: int) -> list[int]:
    """Return how many bins each kind has: one at least, else in proportion to its size."""
    shares = np.ones(len(kinds), dtype=np.int64)
    sizes = np.array([len(columns) for columns in kinds])
    for _ in range(n_bins - len(kinds)):
        load = np.where(shares < sizes, sizes / shares, 0.0)
        shares[np.argmax(load)] += 1
    return [int(share) for share in shares]


def _n_splits(n_bins: int, n_new: int, d: int) -> int:
    return max(1, math.ceil(math.log(d / n_bins) / math.log(n_new + 1) - 1e-9))


def _best_split(n_bins: int, d: int) -> int:
    """Return how many new bins a bin gets, as Bounce chooses it: from 2, by as many splits."""
    n_splits = _n_splits(n_bins, 2, d)
    most = max(1, min(MOST_NEW_BINS, math.floor(math.log2(d)) - 1))
    return min(range(1, most + 1), key=lambda n: abs(n_bins * (1 + n) ** n_splits - d))


def _budgets(n_bins: int, n_new: int, d: int, n_trials: int) -> list[int]:
    """Return the budget of each level before the whole space."""
    n_splits = _n_splits(n_bins, n_new, d)
    unit = n_new * n_trials / ((n_new + 1) ** (n_splits + 1) - 1)
    budgets = []
    for level in range(n_splits):
        expected = n_bins * (n_new + 1) ** level
        most = 2**expected if expected < 20 else n_trials
        budgets.append(max(1, min(round(unit * (n_new + 1) ** level), most)))
    return budgets


def _rng_of(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
