"""Maximise any batch function over the points of a domain.

A genetic algorithm finds good regions, an ascent over all single changes (sweep.py: the
promising ones where there are very many) finishes its best few, and a gradient climbs the
continuous columns in between. Everything works on whole populations: a Python loop runs over
generations, never over points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from heat_plugins.batch_function import BatchFunction
from heat_plugins.search.domain import Domain
from heat_plugins.search.sweep import Sweep
from heat_plugins.space import Array, apply_changes
from heat_plugins.space.point_set import PointSet

__all__ = ["SearchBudget", "maximise", "unseen_point"]

Columns = NDArray[np.int64]

MOST_CANDIDATES = 100  # that a search returns
MANY_POINTS = 20_000  # to look for a new one among, where most are permutations of old ones
FIRST_ASKED = 4  # single changes, the best, about which it is asked first whether they are new
SAME_HILL = 0.1  # numbers closer than this, as a share of their range, count as equal


@dataclass(frozen=True)
class SearchBudget:
    """How much work one search may do.

    Args:
        population: Points in a generation.
        generations: Rounds of crossover and mutation.
        parents: The best points, which survive and have the children.
        ascents: The best few different points that the ascent starts from.
        ascent_steps: Longest way of the ascent, in single changes.
        all_changes: Up to so many single changes are all looked at in each step.
        some_changes: How many are looked at where there are more.
        some_steps: Steps of that kind in all ascents together.
        enumerate_up_to: Finite domains up to this size are searched completely instead.
    """

    population: int = 100
    generations: int = 10
    parents: int = 30
    ascents: int = 4
    ascent_steps: int = 30
    all_changes: int = 500
    some_changes: int = 200
    some_steps: int = 60
    enumerate_up_to: int = 2000


def maximise(
    function: BatchFunction,
    domain: Domain,
    avoid: PointSet,
    starts: Array,
    rng: np.random.Generator,
    budget: SearchBudget,
) -> Array:
    """Return the best points (k, d) found, the best first; k is 0 where all met are to be avoided.

    The first is the result. The others are what to fall back on without another search where
    somebody else has taken it in the meantime.

    Args:
        function: What to maximise.
        domain: Where to look.
        avoid: Points that must not be returned.
        starts: (p, d) points worth varying, for instance the best ones observed.
        rng: Source of randomness.
        budget: How much work to do.
    """

    def score(points: Array) -> Array:
        values = function(points)
        # Inside the search, not after it: the population must not gather on old points.
        return np.where(avoid.contains(points), -np.inf, values)

    if domain.size <= budget.enumerate_up_to:
        points = domain.enumerate()
        inside = domain.contains(points)
        # A region without a new point is left rather than searched again.
        for candidates in (points[inside], points[~inside]):
            if len(candidates):
                ranked = _ranked(candidates, score(candidates), avoid)
                if len(ranked):
                    return ranked
        return points[:0]

    population, fitness = _evolve(score, domain, starts, rng, budget)
    good = np.concatenate([starts, population])
    limits = budget.all_changes, budget.some_changes, budget.some_steps
    sweep = Sweep(domain, good, rng, *limits)
    top = _best_different(population, fitness, domain, budget.ascents)
    points, values = population[top], fitness[top]
    if len(domain.free_continuous):
        points, values = _climb(function, score, domain, points, values, rng)
    for i in range(len(points)):
        points[i], values[i] = _ascend(
            function, sweep, avoid, points[i], values[i], budget.ascent_steps, rng
        )
    if len(domain.free_continuous):
        points, values = _climb(function, score, domain, points, values, rng)
    return _ranked(np.concatenate([points, population]), np.concatenate([values, fitness]), avoid)


def _ranked(points: Array, values: Array, avoid: PointSet) -> Array:
    """Return the best of points (n, d) by their values (n,), each once and none to be avoided."""
    order = np.argsort(-values, kind="stable")
    points = points[order[values[order] > -np.inf]]
    _, first = np.unique(avoid.fingerprint(points), return_index=True)
    ranked: Array = points[np.sort(first)[:MOST_CANDIDATES]]
    return ranked


def _evolve(
    score: Callable[[Array], Array],
    domain: Domain,
    starts: Array,
    rng: np.random.Generator,
    budget: SearchBudget,
) -> tuple[Array, Array]:
    """Run the genetic algorithm; return the last population, the best of all among it."""
    size = budget.population
    if not len(starts):
        starts = domain.sample(1, rng)
    varied = _mutate(starts[rng.integers(len(starts), size=size // 2)], domain, 1.0, rng)
    points = np.concatenate([starts, varied, domain.sample(size - size // 2, rng)])
    points = domain.project(points, rng)
    values = score(points)
    for _ in range(budget.generations):
        best = np.argsort(-values, kind="stable")[: budget.parents]
        parents, kept = points[best], values[best]
        mothers, fathers = rng.integers(len(parents), size=(2, size))
        from_mother = rng.random((size, points.shape[1])) < 0.5
        children = np.where(from_mother, parents[mothers], parents[fathers])
        children = domain.project(_mutate(children, domain, 0.5, rng), rng)
        points = np.concatenate([parents, children])
        values = np.concatenate([kept, score(children)])
    return points, values


def _mutate(
    points: Array, domain: Domain, extra_changes: float, rng: np.random.Generator
) -> Array:
    """Change one free column of each point, and ``extra_changes`` more on average.

    A code becomes any other one; a number moves by a step of a random size.
    """
    n, columns = len(points), domain.free
    if not len(columns):
        return points
    chosen = rng.random((n, len(columns))) < extra_changes / len(columns)
    if domain.conditions is None:
        always = rng.integers(len(columns), size=n)
    else:  # one that exists
        exists = ~np.isnan(points[:, columns])
        always = np.argmax(rng.random((n, len(columns))) * exists, axis=1)
    chosen[np.arange(n), always] = True
    is_code = domain.space.is_discrete[columns]
    mutated = points.copy()
    rows, places = np.nonzero(chosen[:, is_code])
    codes = columns[is_code][places]
    n_levels = domain.space.n_levels[codes]
    uniform = rng.random((n, int(is_code.sum())))[rows, places]
    shifts = 1 + np.floor(uniform * (n_levels - 1))
    mutated[rows, codes] = (points[rows, codes] + shifts) % n_levels
    n_numbers = int((~is_code).sum())
    if n_numbers:
        sizes = 10.0 ** rng.uniform(-2.0, -0.3, size=(n, n_numbers))
        steps = sizes * rng.standard_normal((n, n_numbers))
        rows, places = np.nonzero(chosen[:, ~is_code])
        mutated[rows, columns[~is_code][places]] += steps[rows, places]
    return mutated


def _best_different(points: Array, values: Array, domain: Domain, n: int) -> list[int]:
    """Return the rows of the ``n`` best points in different places.

    Numbers are hardly ever equal. Points with the same codes and numbers close together
    lead up the same hill, so one of them is enough.
    """
    tolerance = np.where(domain.space.is_discrete, 0.0, SAME_HILL)
    rows: list[int] = []
    for row in np.argsort(-values, kind="stable"):
        if len(rows) == n:
            break
        distances = np.abs(points[rows] - points[row])
        # Columns that do not exist at one of two points follow from another that differs.
        if not np.any(np.all((distances <= tolerance) | np.isnan(distances), axis=1)):
            rows.append(int(row))
    return rows


def _ascend(
    function: BatchFunction,
    sweep: Sweep,
    avoid: PointSet,
    point: Array,
    value: float,
    max_steps: int,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Make the best single change again and again until none is better."""
    point, domain = point.copy(), sweep.domain
    changed: Callable[[Columns], Array]
    for _ in range(max_steps):
        columns, coordinates = sweep.changes(point)
        if not len(columns):
            break
        if domain.conditions is None:
            values = function.of_changes(point, columns, coordinates)
            changed = partial(_changed, point, columns, coordinates)
        else:  # one change may bring others with it
            settled = domain.settle(apply_changes(point, columns, coordinates), rng)
            values, changed = function(settled), settled.__getitem__
        best = _best_new(changed, values, value, avoid)
        sweep.note(columns, coordinates, values, value)
        if best is None:
            break
        point, value = changed(np.array([best]))[0], float(values[best])
    return point, value


def _changed(point: Array, columns: Columns, coordinates: Array, rows: Columns) -> Array:
    """Return points (n, d) after some of the single changes of a point (d,)."""
    return apply_changes(point, columns[rows], coordinates[rows])


def _best_new(
    points: Callable[[Columns], Array], values: Array, least: float, avoid: PointSet
) -> int | None:
    """Return which of N points has the largest value above a least and is not to be avoided.

    The best are asked about first, for a rule of the user's takes its time. Values (N,) of
    those that turn out to be old become -inf.
    """
    order = np.argsort(-values, kind="stable")[: int((values > least).sum())]
    first, n = 0, FIRST_ASKED
    while first < len(order):
        rows = order[first : first + n]
        is_old = avoid.contains(points(rows))
        values[rows[is_old]] = -np.inf
        if not is_old.all():
            return int(rows[np.argmin(is_old)])
        first, n = first + n, 2 * n
    return None


def _climb(
    function: BatchFunction,
    score: Callable[[Array], Array],
    domain: Domain,
    points: Array,
    values: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Move the continuous columns of each point along the gradient, inside the box."""
    points, values = points.copy(), values.copy()
    for i in range(len(points)):
        columns = domain.free_continuous_at(points[i])
        if not len(columns):
            continue

        def minus(
            place: Array, base: Array = points[i], columns: Columns = columns
        ) -> tuple[float, Array]:
            moved = base.copy()
            moved[columns] = place
            value, gradient = function.value_and_gradient(moved, columns)
            return -value, -gradient

        moved = points[i].copy()
        moved[columns] = _descend(minus, domain, points[i], columns)
        moved = domain.keep_limits(moved, points[i])
        if domain.decides_existence(columns):
            # Before it is compared with old points: what is elsewhere may lack parameters.
            moved = domain.settle(moved[None], rng)[0]
        value = score(moved[None])[0]
        if value > values[i]:
            points[i], values[i] = moved, value
    return points, values


def _descend(
    function: Callable[[Array], tuple[float, Array]],
    domain: Domain,
    point: Array,
    columns: Columns,
) -> Array:
    """Return where in the box a function of some columns (c,) is less than at a point (d,)."""
    low, high = domain.bounds(columns)
    weights, room = domain.slopes_of_limits(point, columns)
    if not len(room):
        result = optimize.minimize(
            function,
            point[columns],
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxiter": 30},
        )
        return np.clip(result.x, low, high)

    def inside(place: Array) -> tuple[float, Array]:
        return function(np.clip(place, low, high))

    # The sides of the box are limits as well: W x <= b.
    one = np.eye(len(columns))
    sides = np.concatenate([weights, one, -one])
    ends = np.concatenate([weights @ point[columns] + room, high, -low])
    result = optimize.minimize(
        inside,
        point[columns],
        jac=True,
        method="SLSQP",
        constraints=optimize.LinearConstraint(sides, -np.inf, ends),
        options={"maxiter": 30},
    )
    place: Array = np.clip(result.x, low, high)
    return place if np.isfinite(place).all() else point[columns]


def unseen_point(
    domain: Domain, avoid: PointSet, rng: np.random.Generator, near: Array | None = None
) -> Array | None:
    """Return any point of the domain that is not to be avoided; None if none is found.

    Random points first; then, because at most ``len(avoid)`` points can be in the way, the
    points in counting order from a random start, of which one more than that is enough.
    Where more points than were seen are in the way, because of a symmetry or of a rule of
    the user's, all or very many are looked at, and those around points ``near`` (n, d).
    """
    points = domain.sample(200, rng)
    fresh = points[~avoid.contains(points)]
    if len(fresh):
        found: Array = fresh[0]
        return found
    if avoid.symmetry is None and domain.conditions is None and not avoid.has_rule:
        if domain.size == math.inf:
            return None
        points = _count_from_random(domain, len(avoid) + 1, rng)
    elif domain.size <= MANY_POINTS:
        points = rng.permutation(domain.enumerate())
    else:
        points = domain.sample(MANY_POINTS, rng)
        if avoid.symmetry is not None:
            points = avoid.symmetry.spread(points, domain.space, rng)
            points = domain.settle(domain.hold(points), rng)
        if near is not None and len(near):
            around = near[rng.integers(len(near), size=MANY_POINTS // 10)]
            around = domain.project(_mutate(around, domain, 1.0, rng), rng)
            points = np.concatenate([around, points])
    # In parts: to ask a rule about all of them takes its time.
    for part in np.array_split(points, max(1, len(points) // 500)):
        fresh = part[~avoid.contains(part)]
        if len(fresh):
            found = fresh[0]
            return found
    return None


def _count_from_random(domain: Domain, n: int, rng: np.random.Generator) -> Array:
    """Return ``n`` different points of a finite domain, or all if there are fewer."""
    size = int(domain.size)
    # Python's whole numbers: there can be far more points than 2^64.
    first = int(rng.integers(min(size, 2**62)))
    remainders = [(first + offset) % size for offset in range(min(size, n))]
    points = np.repeat(domain.sample(1, rng), len(remainders), axis=0)
    for column in domain.free:
        levels = domain.space.parameters[column].levels()
        points[:, column] = levels[[remainder % len(levels) for remainder in remainders]]
        remainders = [remainder // len(levels) for remainder in remainders]
    return points
