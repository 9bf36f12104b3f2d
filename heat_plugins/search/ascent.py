"""Local search: from a point upwards, by single changes and along the gradient.

An ascent makes the best of all single changes again and again (sweep.py: the promising ones where
there are very many), and a gradient climbs the continuous columns before and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import optimize

from heat_plugins.search.domain import Domain
from heat_plugins.search.search_task import Avoided, SearchTask
from heat_plugins.search.sweep import Sweep
from heat_plugins.space import Array, Indices, apply_changes

__all__ = ["ascended", "best_different", "climb"]

FIRST_ASKED = 4  # single changes, the best, about which it is asked first whether they are new
SAME_HILL = 0.1  # numbers closer than this, as a share of their range, count as equal


def ascended(task: SearchTask, points: Array, values: Array, good: Array) -> tuple[Array, Array]:
    """Return points (k, d) and values (k,) from where no single change leads up any more.

    Args:
        task: What is maximised, and where.
        points: (k, d) where to begin, the best first.
        values: (k,) their values.
        good: (p, d) points whose codes are worth trying elsewhere.
    """
    budget = task.budget
    limits = budget.all_changes, budget.some_changes, budget.some_steps
    sweep = Sweep(task.domain, good, task.rng, *limits)
    points, values = climb(task, points, values)
    for i in range(len(points)):
        points[i], values[i] = _ascend(task, sweep, points[i], values[i])
    return climb(task, points, values)


def best_different(points: Array, values: Array, domain: Domain, n: int) -> list[int]:
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


def _ascend(task: SearchTask, sweep: Sweep, point: Array, value: float) -> tuple[Array, float]:
    """Make the best single change again and again until none is better."""
    point, domain, function = point.copy(), task.domain, task.function
    changed: Callable[[Indices], Array]
    for _ in range(task.budget.ascent_steps):
        columns, coordinates = sweep.changes(point)
        if not len(columns):
            break
        if domain.conditions is None:
            values = function.of_changes(point, columns, coordinates)
            changed = partial(_changed, point, columns, coordinates)
        else:  # one change may bring others with it
            settled = domain.impute_conditionals(
                apply_changes(point, columns, coordinates), task.rng
            )
            values, changed = function(settled), settled.__getitem__
        best = _best_new(changed, values, value, task.avoid)
        sweep.note(columns, coordinates, values, value)
        if best is None:
            break
        point, value = changed(np.array([best]))[0], float(values[best])
    return point, value


def _changed(point: Array, columns: Indices, coordinates: Array, rows: Indices) -> Array:
    """Return points (n, d) after some of the single changes of a point (d,)."""
    return apply_changes(point, columns[rows], coordinates[rows])


def _best_new(
    points: Callable[[Indices], Array], values: Array, least: float, avoid: Avoided
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


def climb(task: SearchTask, points: Array, values: Array) -> tuple[Array, Array]:
    """Move the continuous columns of each point along the gradient, inside the box."""
    points, values, domain = points.copy(), values.copy(), task.domain
    if not len(domain.free_continuous):
        return points, values
    for i in range(len(points)):
        columns = domain.free_continuous_at(points[i])
        if not len(columns):
            continue

        def minus(
            place: Array, base: Array = points[i], columns: Indices = columns
        ) -> tuple[float, Array]:
            moved = base.copy()
            moved[columns] = place
            value, gradient = task.function.value_and_gradient(moved, columns)
            return -value, -gradient

        moved = points[i].copy()
        moved[columns] = _descend(minus, domain, points[i], columns)
        moved = domain.keep_limits(moved, points[i])
        if domain.decides_existence(columns):
            # Before it is compared with old points: what is elsewhere may lack parameters.
            moved = domain.impute_conditionals(moved[None], task.rng)[0]
        value = task.score(moved[None])[0]
        if value > values[i]:
            points[i], values[i] = moved, value
    return points, values


def _descend(
    function: Callable[[Array], tuple[float, Array]],
    domain: Domain,
    point: Array,
    columns: Indices,
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
