"""The maximum of a sum over the edges of a tree, exactly (RDUCB, Ziomek and Bou Ammar, 2023).

Notation
    ===========  =====================================================================
    f            sum over components c of f_c, each a function of one or two columns
    g            number of places of a column: its choices, or a grid of numbers
    B            problems that are solved together: the same f with other forbidden places
    R            how many choices may differ from the centre of the region
    h            (B, g, R + 1) the most that a subtree can give, by the place of its root and
                 by how many choices in it differ from the centre
    ===========  =====================================================================

The components are the edges of a forest. From the leaves to the root every column tells its
parent the most that its subtree can give for each place of the parent,

    m(x_p, r) = max over x_c of f_c(x_c, x_p) + h(x_c, r),

and the places are read off on the way back (max-sum). A region is part of it: children share
what is left of the radius. Where the best point is one to avoid, the next best is found by
partition (Lawler, 1972): of all points but the best, those that agree with it up to column
i - 1 and differ in column i are one problem for each i, and these are solved at once.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from heat_plugins.batch_function import BatchFunction
from heat_plugins.search.ascent import ascended
from heat_plugins.search.domain import Domain
from heat_plugins.search.genetic import genetic
from heat_plugins.search.search_task import SearchTask
from heat_plugins.space import Array, Bools, Indices

__all__ = ["SumOverComponents", "message_passing"]

N_PLACES = 21  # of a number that has more
MOST_SOLUTIONS = 12  # the best, the next best, ..., until one of them is new


@runtime_checkable
class SumOverComponents(BatchFunction, Protocol):
    """A function that is a sum of functions of few columns each."""

    components: Sequence[Indices]

    def of_component(self, index: int, points: Array) -> Array:
        """Return the values (n,) of one component at points (n, d)."""


def message_passing(task: SearchTask) -> Array:
    """Return the best points (k, d); by the genetic search where the function is no such sum.

    That is so where constraints or failures are modelled, too, or limits have to be kept.
    """
    function, domain = task.function, task.domain
    is_plain = domain.conditions is None and domain.limits is None
    if not is_plain or not isinstance(function, SumOverComponents):
        return genetic(task)
    tree = _Tree.of(function, domain)
    if tree is None:
        return genetic(task)
    has_numbers = len(domain.free_numeric) > 0
    found = []
    for point in itertools.islice(tree.best_points(), MOST_SOLUTIONS):
        found.append(point)
        if not has_numbers and not task.avoid.contains(point[None])[0]:
            break
    points = np.array(found)
    values = task.score(points)
    if has_numbers:  # of which the tables have some places only
        points, values = ascended(task, points, values, points)
    best = task.ranked(points, values)
    return best if len(best) else genetic(task)


class _Tree:
    """A forest of columns, its places and the tables of its components."""

    def __init__(
        self,
        domain: Domain,
        places: list[Array],
        tables: dict[tuple[int, int], Array],
        own: list[Array],
    ) -> None:
        """Order the columns from the roots to the leaves."""
        self._domain, self._places, self._own = domain, places, own
        self._tables = tables  # (g_i, g_j) by columns i < j
        n = len(places)
        neighbours: list[list[int]] = [[] for _ in range(n)]
        for i, j in tables:
            neighbours[i].append(j)
            neighbours[j].append(i)
        self._parent = np.full(n, -1)
        self._order: list[int] = []
        self._roots: list[int] = []
        seen = np.zeros(n, dtype=bool)
        for root in range(n):
            if seen[root]:
                continue
            self._roots.append(root)
            stack = [root]
            seen[root] = True
            while stack:
                column = stack.pop()
                self._order.append(column)
                for other in neighbours[column]:
                    if not seen[other]:
                        seen[other], self._parent[other] = True, column
                        stack.append(other)
        self._children: list[list[int]] = [[] for _ in range(n)]
        for column in self._order:
            if self._parent[column] >= 0:
                self._children[self._parent[column]].append(column)
        region, centre = domain.region, domain.centre
        self._radius = 0 if region is None else region.radius
        self._differs = [np.zeros(len(its), dtype=bool) for its in places]
        if region is not None and centre is not None:
            for column in domain.free_discrete:
                self._differs[column] = places[column] != centre[column]

    @staticmethod
    def of(function: SumOverComponents, domain: Domain) -> _Tree | None:
        """Return the tree of a function; None where its components are none."""
        pairs = [c for c in function.components if len(c) > 1]
        if any(len(c) > 2 for c in pairs) or _has_cycle(pairs, len(domain.space)):
            return None
        places = [_places(domain, column) for column in range(len(domain.space))]
        own = [np.zeros(len(its)) for its in places]
        tables: dict[tuple[int, int], Array] = {}
        for index, columns in enumerate(function.components):
            sizes = [len(places[column]) for column in columns]
            points = np.zeros((int(np.prod(sizes)), len(domain.space)))
            grid = np.meshgrid(*[places[column] for column in columns], indexing="ij")
            for column, its in zip(columns, grid, strict=True):
                points[:, column] = its.ravel()
            values = function.of_component(index, points).reshape(sizes)
            if len(columns) == 1:
                own[columns[0]] = own[columns[0]] + values
            else:
                i, j = int(columns[0]), int(columns[1])
                tables[min(i, j), max(i, j)] = values if i < j else values.T
        return _Tree(domain, places, tables, own)

    def best_points(self) -> Iterator[Array]:
        """Yield all points (d,) of the domain, the best first."""
        count = itertools.count()
        allowed = [np.ones((1, len(its)), dtype=bool) for its in self._places]
        heap: list[tuple[float, int, _Solved, int]] = []

        def push(allowed: list[Bools]) -> None:
            solved = _Solved(self, allowed)
            for b, value in enumerate(solved.values):
                if value > -np.inf:
                    heapq.heappush(heap, (-value, next(count), solved, b))

        push(allowed)
        while heap:
            _, _, solved, b = heapq.heappop(heap)
            solution = solved.solution(b)
            yield np.array([its[i] for its, i in zip(self._places, solution, strict=True)])
            push(self._others(solved, b, solution))

    def _others(self, solved: _Solved, b: int, solution: Indices) -> list[Bools]:
        """Return what is allowed, (B, g) a column, in the problems without one solution (d,)."""
        columns = np.flatnonzero([len(its) > 1 for its in self._places])
        allowed = []
        for column, mine in enumerate(solved.allowed):
            rows = np.repeat(mine[[b]], len(columns), axis=0)
            place = np.searchsorted(columns, column)
            is_own = place < len(columns) and columns[place] == column
            if is_own:
                rows[place, solution[column]] = False
            # Problems of later columns agree with the solution here.
            rows[place + is_own :] = False
            rows[place + is_own :, solution[column]] = True
            allowed.append(rows)
        return allowed


class _Solved:
    """Problems on one tree, solved: messages from the leaves to the roots.

    Args:
        tree: The tree.
        allowed: (B, g) which places of each column each problem may use.
    """

    def __init__(self, tree: _Tree, allowed: list[Bools]) -> None:
        """Pass the messages."""
        self._tree, self.allowed = tree, allowed
        n = len(allowed)
        self._parts: list[list[Array]] = [[] for _ in range(n)]  # h after each child
        self._messages: list[Array] = [np.empty(0)] * n
        for column in reversed(tree._order):
            total = self._of_itself(column)
            self._parts[column].append(total)
            for child in tree._children[column]:
                total = _shared(total, self._messages[child])
                self._parts[column].append(total)
            parent = tree._parent[column]
            if parent >= 0:
                table = self._table(column, int(parent))  # (g, g of the parent)
                self._messages[column] = np.max(
                    total[:, :, None, :] + table[None, :, :, None], axis=1
                )
        # The trees of the forest share the radius as well.
        self._roots = [np.zeros((len(allowed[0]), 1, tree._radius + 1))]
        self._roots[0][:, :, 1:] = -np.inf
        for root in tree._roots:
            best = np.max(self._parts[root][-1], axis=1, keepdims=True)
            self._roots.append(_shared(self._roots[-1], best))
        self.values: list[float] = self._roots[-1].max(axis=(1, 2)).tolist()

    def _table(self, column: int, parent: int) -> Array:
        tables = self._tree._tables
        return tables[column, parent] if column < parent else tables[parent, column].T

    def _of_itself(self, column: int) -> Array:
        """Return h (B, g, R + 1) of a column without its children."""
        tree = self._tree
        own = np.where(self.allowed[column], tree._own[column], -np.inf)
        h = np.full((*own.shape, tree._radius + 1), -np.inf)
        same = ~tree._differs[column]
        h[:, same, 0] = own[:, same]
        if tree._radius:
            h[:, ~same, 1] = own[:, ~same]
        return h

    def solution(self, b: int) -> Indices:
        """Return which place (d,) each column has in the best point of a problem."""
        tree = self._tree
        chosen = np.zeros(len(self.allowed), dtype=np.int64)
        left = int(np.argmax(self._roots[-1][b, 0]))
        for i in reversed(range(len(tree._roots))):
            root = tree._roots[i]
            best = np.max(self._parts[root][-1][b], axis=0)  # (R + 1,)
            mine = int(np.argmax(self._roots[i][b, 0, left::-1] + best[: left + 1]))
            left -= mine
            place = int(np.argmax(self._parts[root][-1][b, :, mine]))
            self._read_off(b, root, place, mine, chosen)
        return chosen

    def _read_off(self, b: int, root: int, place: int, left: int, chosen: Indices) -> None:
        """Choose the places below a root that has its own, with so many differences to share."""
        tree = self._tree
        stack = [(root, place, left)]
        while stack:
            column, place, left = stack.pop()
            chosen[column] = place
            for i in reversed(range(len(tree._children[column]))):
                child = tree._children[column][i]
                before, message = self._parts[column][i][b, place], self._messages[child][b, place]
                mine = int(np.argmax(before[left::-1] + message[: left + 1]))
                left -= mine
                values = self._table(child, column)[:, place] + self._parts[child][-1][b, :, mine]
                stack.append((child, int(np.argmax(values)), mine))


def _shared(first: Array, second: Array) -> Array:
    """Return max over s of first (B, g, s) + second (B, g, r - s), for each r."""
    n = first.shape[-1]
    result = np.full(np.broadcast_shapes(first.shape, second.shape), -np.inf)
    for s in range(n):
        np.maximum(result[..., s:], first[..., [s]] + second[..., : n - s], out=result[..., s:])
    return result


def _places(domain: Domain, column: int) -> Array:
    """Return the coordinates (g,) that a column may have."""
    parameter = domain.space.parameters[column]
    if column in domain.fixed:
        return np.array([domain.fixed[column]])
    if column not in domain.free:
        return np.zeros(1)
    if domain.space.is_discrete[column]:
        return parameter.levels()
    (low,), (high,) = domain.bounds(np.array([column]))
    return np.unique(parameter.snap(np.linspace(low, high, N_PLACES)))


def _has_cycle(pairs: Sequence[Indices], n: int) -> bool:
    label = np.arange(n)
    for i, j in pairs:
        if label[i] == label[j]:
            return True
        label[label == label[i]] = label[j]
    return False
