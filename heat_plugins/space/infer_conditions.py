"""Inference, from trials, of when each parameter exists.

Notation
    ===========  =====================================================================
    n, d         rows (trials, in order of time) and columns (parameters)
    absent       NaN: the trial did not ask for the parameter
    optional     column that is absent in some row
    pattern      (n,) in which rows a column is present; g different ones
    bits         length of a description; of two explanations the shorter one is better
    ===========  =====================================================================

A decision tree says when a parameter exists (conditions.py), grown until its leaves are pure. A
node divides the rows by

    code        a branch for each code of a discrete column,
    number      below or above a threshold of a numeric column,
    existence   whether another optional parameter exists at all.

Where the column of a test is absent so is the parameter, always. So a column can be tested
only by nodes in whose rows it is present whenever the parameter is.

The test with the shortest description is taken: the presence in each branch as a
Beta-Bernoulli sequence, and the threshold if there is one. Unlike information gain this
does not fall for columns of many codes, which tell rows apart and explain nothing.

Not all is explained by values. Objectives are edited while a study runs: a parameter is
dropped, or appears late. Trials end before they have asked for everything. A tree can learn
such rows by heart, so every node may also end in a leaf that gives no reason, "so since
some moment" or "mostly so", and lists the rows that differ. It takes the place of a tree
that is longer by ``SPARE_TESTS`` tests, and predicts the objective as it is now: what the
latest row shows, or most rows where they came in no order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.conditions import Conditions, Cut, Leaf, Split, Tree

__all__ = ["learn_conditions"]

# Rows imagined on either side before any is seen. Far below 1: conditions are strict.
PSEUDO_COUNT = 0.1
# How much less likely than a choice a number is to decide what exists, in bits.
STEPPED_BITS = 2.0
CONTINUOUS_BITS = 6.0
# A number with more values than this counts as continuous.
MANY_LEVELS = 100
# How many tests more an explanation may have than none. Without any, a change would be
# seen wherever a search settles: presence does not vary there, for values do not.
SPARE_TESTS = 4
# No programme nests conditions so deep, but rows that follow no rule would.
MAX_DEPTH = 30
# A value halfway between two others goes up, whatever its last bit says: mostly that is
# where more parameters exist, and one that nobody asks for does no harm.
SLACK = 1e-9


def learn_conditions(space: Space, points: Array) -> Conditions | None:
    """Learn when parameters exist from trials (n, d), the latest last; None if all always do."""
    is_present = ~np.isnan(points)
    if is_present.all():
        return None
    patterns, owner = np.unique(is_present, axis=1, return_inverse=True)  # (n, g), (d,)
    owner = owner.reshape(-1)
    trees, ancestors = _explain(_Rows(space, points), patterns, owner)
    n_rows = is_present.sum(axis=0)
    # A child has all ancestors of its parent and the parent itself: more than the parent.
    order = np.lexsort((-n_rows, ancestors.sum(axis=1)[owner]))
    optional = np.flatnonzero(n_rows < len(points)).tolist()
    return Conditions(order, {column: trees[owner[column]] for column in optional})


def _explain(rows: _Rows, patterns: Bools, owner: Indices) -> tuple[list[Tree], Bools]:
    """Return the tree of each pattern (n, g), and (g, g) which ones each depends on.

    A parent is present in more rows than its child, which keeps circles out. Not so where
    a name is used in several branches: ``rate`` exists for one model always, for another
    if its ``solver`` is "sgd", and so in more rows than ``solver``. What has no short
    explanation may therefore depend on everything that does not depend on it.
    """
    n_rows = patterns.sum(axis=0)
    trees: list[Tree] = []
    bits = np.zeros(len(n_rows))
    parents = np.zeros((len(n_rows), len(n_rows)), dtype=bool)
    for i in range(len(n_rows)):
        tree, bits[i] = _Grower(rows, patterns[:, i], (n_rows > n_rows[i])[owner]).grow()
        trees.append(tree)
        parents[i, owner[[*tree.tested]]] = True
    ancestors = _closure(parents)
    for i in np.flatnonzero(bits > SPARE_TESTS * _test_bits(len(owner))):
        is_independent = ~ancestors[:, i] & (np.arange(len(n_rows)) != i)
        tree, shorter = _Grower(rows, patterns[:, i], is_independent[owner]).grow(bits[i])
        if shorter < bits[i]:
            trees[i], parents[i] = tree, False
            parents[i, owner[[*tree.tested]]] = True
            ancestors = _closure(parents)
    return trees, ancestors


def _closure(parents: Bools) -> Bools:
    """Return ancestors (g, g): the parents, their parents and so on."""
    ancestors = parents
    while (more := ancestors | (ancestors @ ancestors)).sum() > ancestors.sum():
        ancestors = more
    return ancestors


def _test_bits(n_columns: int) -> float:
    """Return the usual length of a test: the name of its column, and two pure branches."""
    return float(np.log2(n_columns)) + 2.0


class _Bits:
    """The length of a presence: n rows, n_present of them True, in some sequence.

    That is -log2 of B(n_present + a, n - n_present + a) / B(a, a), the probability of the
    sequence if its rate has a Beta prior with ``PSEUDO_COUNT`` a on both sides.
    """

    def __init__(self, n_max: int) -> None:
        counts = np.arange(n_max + 1.0)
        one, both = gammaln(counts + PSEUDO_COUNT), gammaln(counts + 2 * PSEUDO_COUNT)
        self._one, self._both = (one - one[0]) / np.log(2), (both - both[0]) / np.log(2)

    def __call__(self, n: Indices | int, n_present: Indices | int) -> Array:
        """Return the bits of presences, of any shape."""
        bits: Array = self._both[n] - self._one[n_present] - self._one[n - n_present]
        return bits

    def pure(self, n: Indices | int) -> Array:
        """Return the bits where all rows agree."""
        bits: Array = self._both[n] - self._one[n]
        return bits


class _Test(NamedTuple):
    """A way to divide rows, and how long it takes to tell."""

    cut: Cut
    own_bits: float  # of the test, and of the rows in which its column is absent
    bits: float  # the same together with the presence in every branch
    is_pure: bool  # whether it explains everything: the rows of each branch agree


def _shortest(*tests: _Test | None) -> _Test | None:
    """Return the test with the fewest bits, the first one where several have."""
    found = [test for test in tests if test is not None]
    return min(found, key=lambda test: round(test.bits, 6), default=None)


class _Grower:
    """Grows the tree that explains a pattern (n,) of all rows by the allowed columns (d,)."""

    def __init__(self, rows: _Rows, pattern: Bools, is_allowed: Bools) -> None:
        self._rows = rows
        self._pattern = pattern
        self._is_allowed = is_allowed
        self._name_bits = float(np.log2(len(is_allowed)))
        self._spare_bits = SPARE_TESTS * _test_bits(len(is_allowed))

    def grow(self, budget: float = np.inf) -> tuple[Tree, float]:
        """Return the tree and its length in bits; a leaf where that reaches the budget."""
        return self._grow(np.arange(len(self._pattern)), budget, MAX_DEPTH)

    def _grow(self, chosen: Indices, budget: float, depth: int) -> tuple[Tree, float]:
        """Return the tree of chosen rows, at most so deep."""
        is_present = self._pattern[chosen]
        if np.all(is_present == is_present[0]):
            return Leaf(bool(is_present[0])), float(self._rows.bits.pure(len(chosen)))
        leaf, leaf_bits = self._without_reason(is_present)
        test = self._rows.best_test(chosen, is_present, self._is_allowed) if depth else None
        if test is None:
            return leaf, leaf_bits
        # A single test that explains everything is no accident, however long it is.
        limit = np.inf if test.is_pure else min(budget, leaf_bits)
        own_bits = self._name_bits + test.own_bits
        children, bits = self._children(self._divide(chosen, test.cut), limit - own_bits, depth)
        if own_bits + bits >= limit:
            return leaf, leaf_bits
        return Split(test.cut, tuple(children)), own_bits + bits

    def _without_reason(self, is_present: Bools) -> tuple[Leaf, float]:
        """Return the leaf for rows (m,) that differ, and its length.

        Either the latest rows agree since some moment, and what was before does not count
        any more; or there is no such moment, and the majority counts.
        """
        bits, n = self._rows.bits, len(is_present)
        differs = np.flatnonzero(is_present != is_present[-1])
        n_before = int(differs[-1]) + 1
        since = np.log2(n) + bits(n_before, len(differs)) + bits.pure(n - n_before)
        mostly = bits(n, len(differs))
        prediction = is_present[-1] if since <= mostly else is_present.mean() >= 0.5
        return Leaf(bool(prediction)), float(min(since, mostly)) + self._spare_bits

    def _divide(self, chosen: Indices, cut: Cut) -> list[Indices]:
        """Return the rows of each branch; those in which the column is absent have none."""
        coordinates = self._rows.points[chosen, cut.column]
        branches = np.where(np.isnan(coordinates), -1, cut(coordinates))
        return [chosen[branches == i] for i in range(cut.branch.max() + 1)]

    def _children(
        self, parts: list[Indices], budget: float, depth: int
    ) -> tuple[list[Tree], float]:
        """Return the trees of the branches and their bits; only some where it is too much."""
        children: list[Tree] = []
        least = [self._least_bits(part) for part in parts]
        total = sum(least)
        for part, expected in zip(parts, least, strict=True):
            if total >= budget:
                break
            if len(part):
                child, bits = self._grow(part, budget - total + expected, depth - 1)
                children.append(child)
                total += bits - expected
            else:
                # Codes not seen go with the majority; in doubt, a value that nobody asks for.
                share = self._pattern[np.concatenate(parts)].mean()
                children.append(Leaf(bool(share >= 0.5)))
        return children, total

    def _least_bits(self, chosen: Indices) -> float:
        """Return what it takes at least to explain some rows: a test unless they agree."""
        n_present = np.count_nonzero(self._pattern[chosen])
        sides = np.array([n_present, len(chosen) - n_present])
        return float(self._rows.bits.pure(sides).sum() + self._name_bits * sides.all())


def _is_pure(n: Indices, n_present: Indices) -> bool:
    """Return whether no branch has both: rows with the parameter and rows without."""
    return bool(np.all((n_present == 0) | (n_present == n)))


class _Rows:
    """The rows of a study, laid out to be counted.

    Each column has a slot for every coordinate in it, ascending, and a last one for NaN.
    """

    def __init__(self, space: Space, points: Array) -> None:
        self.points = points
        self.bits = _Bits(len(points))
        self.is_listed = space.is_discrete
        self.is_many = ~space.is_discrete & (space.n_levels > MANY_LEVELS)
        self.number_bits = np.where(self.is_many, CONTINUOUS_BITS, STEPPED_BITS)
        self.coordinates: list[Array] = []  # by column, of each slot
        self.slots = np.empty(points.shape[::-1], dtype=np.int64)  # (d, n)
        for column in range(len(space)):
            with_nan = np.append(points[:, column], np.nan)
            coordinates, slots = np.unique(with_nan, return_inverse=True)
            self.coordinates.append(coordinates)
            self.slots[column] = slots[:-1]
        self.n_slots = np.array([len(coordinates) for coordinates in self.coordinates])
        self._is_absent = np.isnan(points.T, order="C")  # (d, n)
        self._often_first = np.argsort(self._is_absent.sum(axis=1), kind="stable")

    def best_test(self, chosen: Indices, is_present: Bools, is_allowed: Bools) -> _Test | None:
        """Return the shortest test of an allowed column (d,) that divides chosen rows."""
        parents = self._parents(chosen[is_present], is_allowed)
        is_many = self.is_many[parents]
        best = _Counts(self, parents[~is_many], chosen, is_present).best_test()
        if best is not None and best.is_pure:
            return best
        # Continuous columns last: they explain seldom, and take long to count.
        return _shortest(best, _Counts(self, parents[is_many], chosen, is_present).best_test())

    def _parents(self, present: Indices, is_allowed: Bools) -> Indices:
        """Return the allowed columns (d,) that are present wherever the parameter is.

        Those present most often come first, and so win where tests tie.
        """
        columns = self._often_first[is_allowed[self._often_first]]
        is_missing = self._is_absent[columns][:, present].any(axis=1)
        return columns[~is_missing]


class _Counts:
    """Counts of each slot of some columns (c,) in chosen rows: all tests in one pass.

    The rows (m,) are those to be divided, in some of which the parameter is present.
    """

    def __init__(self, rows: _Rows, columns: Indices, chosen: Indices, is_present: Bools) -> None:
        self._rows, self._columns = rows, columns
        sizes = rows.n_slots[columns]
        self._last = np.cumsum(sizes) - 1  # (c,) the slot of NaN
        self._first = self._last - sizes + 1
        self._owner = np.repeat(np.arange(len(columns)), sizes)  # (s,)
        slots = rows.slots[columns][:, chosen] + self._first[:, None]  # (c, m)
        total = int(sizes.sum())
        self._n = np.bincount(slots.ravel(), minlength=total)  # (s,)
        self._n_present = np.bincount(slots[:, is_present].ravel(), minlength=total)  # (s,)
        self._n_absent = self._n[self._last]  # (c,)
        self._absent_bits = rows.bits.pure(self._n_absent)
        # In rows without a parent there is no parameter either.
        self._n_active = len(chosen) - self._n_absent
        self._n_active_present = np.full(len(columns), np.count_nonzero(is_present))

    def best_test(self) -> _Test | None:
        """Return the shortest test that divides the rows, if there is any."""
        if not len(self._columns):
            return None
        return _shortest(self._by_code(), self._by_number(), self._by_existence())

    def _by_code(self) -> _Test | None:
        """Return the shortest test of which code it is."""
        n_branches = np.add.reduceat((self._n > 0).astype(np.int64), self._first)
        lengths = np.add.reduceat(self._rows.bits(self._n, self._n_present), self._first)
        is_listed = self._rows.is_listed[self._columns]
        i = _argmin_where(is_listed & (n_branches > 1), lengths)
        if i is None:
            return None
        column, slots = int(self._columns[i]), slice(self._first[i], self._last[i])
        n, n_present = self._n[slots], self._n_present[slots]
        codes = self._rows.coordinates[column][:-1][n > 0]
        edges = np.add.outer(codes, [-0.5, 0.5]).reshape(-1)
        branch = np.full(len(edges) + 1, len(codes))  # the last one is for all other codes
        branch[1::2] = np.arange(len(codes))
        cut = Cut(column, edges, branch)
        own_bits = float(self._absent_bits[i])
        return _Test(cut, own_bits, float(lengths[i]), _is_pure(n, n_present))

    def _by_number(self) -> _Test | None:
        """Return the shortest test of whether a number is above a threshold."""
        rows = self._rows
        is_seen = (self._n > 0) & ~rows.is_listed[self._columns][self._owner]
        is_seen[self._last] = False
        slots = np.flatnonzero(is_seen)  # (t,) each one as the last below a threshold
        owner = self._owner[slots]
        below, below_present = self._up_to(slots, self._n), self._up_to(slots, self._n_present)
        above = self._n_active[owner] - below
        above_present = self._n_active_present[owner] - below_present
        n_thresholds = np.maximum(np.bincount(owner)[owner] - 1, 1)
        own_bits = rows.number_bits[self._columns][owner] + np.log2(n_thresholds)
        own_bits += self._absent_bits[owner]
        lengths = own_bits + rows.bits(below, below_present) + rows.bits(above, above_present)
        i = _argmin_where(above > 0, lengths)
        if i is None:
            return None
        column = int(self._columns[owner[i]])
        low, high = rows.coordinates[column][slots[i : i + 2] - self._first[owner[i]]]
        cut = Cut(column, np.array([_middle(low, high)]), np.arange(2))
        sides = np.array([[below[i], above[i]], [below_present[i], above_present[i]]])
        return _Test(cut, float(own_bits[i]), float(lengths[i]), _is_pure(*sides))

    def _up_to(self, slots: Indices, counts: Indices) -> Indices:
        """Return the counts (s,) of a column added up to given slots (t,), these included."""
        total = np.cumsum(counts)
        first = self._first[self._owner[slots]]
        sums: Indices = total[slots] - total[first] + counts[first]
        return sums

    def _by_existence(self) -> _Test | None:
        """Return the shortest test of whether a parameter exists."""
        lengths = self._absent_bits + self._rows.bits(self._n_active, self._n_active_present)
        i = _argmin_where(self._n_absent > 0, lengths)
        if i is None:
            return None
        cut = Cut(int(self._columns[i]), np.zeros(0), np.zeros(1, dtype=np.int64))
        is_pure = _is_pure(self._n_active[i], self._n_active_present[i])
        return _Test(cut, float(self._absent_bits[i]), float(lengths[i]), is_pure)


def _argmin_where(is_valid: Bools, lengths: Array) -> int | None:
    """Return where the least valid length is, None where none is valid."""
    return int(np.argmin(np.where(is_valid, lengths, np.inf))) if is_valid.any() else None


def _middle(low: float, high: float) -> float:
    """Return a threshold between two numbers, just below the middle."""
    return float(np.clip((0.5 - SLACK) * (high - low) + low, np.nextafter(low, high), high))
