"""Effects of single values and of pairs of them, with what is not known about them.

Notation
    ===========  =====================================================================
    P, P_v       (B, d) background; the same after a parameter got the value v
    effect       of v: mean of f(P_v) - mean of f(P), with f the function of the surrogate
    T            (r, s) mean of f with two parameters set, the others being anything
    interaction  of two parameters: what T has beyond the sum of its rows and columns,
                 T_ab - T_a. - T_.b + T_..
    ===========  =====================================================================

An effect is a sum of values of f, so its posterior is Gaussian, and what points have in common is
not counted as uncertain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.insight.sobol import even_points
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Bools, Parameter, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["Effect", "PairShare", "effects_of", "pair_shares", "pair_table", "places_of"]

N_BACKGROUND = 64
N_PAIR_BACKGROUND = 32
N_PLACES = 5  # of a parameter, where pairs are compared


class Effect(NamedTuple):
    """The effect of a value, in standardised units.

    Args:
        place: The coordinate of the value.
        mean: The expected effect.
        deviation: Of its posterior, the sampling error of the background included.
    """

    place: float
    mean: float
    deviation: float


class PairShare(NamedTuple):
    """The share of two columns' interaction in the variance of a function."""

    first: int
    second: int
    share: float


def places_of(parameter: Parameter, most: int) -> Array:
    """Return coordinates (r,) that stand for the values of a parameter, all if they are few."""
    if parameter.n_levels <= most:
        return parameter.levels()
    # Of a number, evenly spread; of listed values, some.
    if hasattr(parameter, "choices"):
        return np.unique(np.rint(np.linspace(0.0, parameter.n_levels - 1.0, most)))
    return np.unique(parameter.snap(np.linspace(0.0, 1.0, most)))


@usual_errors
def effects_of(
    space: Space,
    surrogate: Surrogate,
    column: int,
    places: Array,
    conditions: Conditions | None = None,
) -> list[Effect]:
    """Return the effect of setting one column to each of some places (r,).

    That of a parameter that exists under some conditions is its effect where it does.
    """
    background, moved = _settled(space, conditions, {column: places}, N_BACKGROUND)
    if not len(background):
        return []
    n = len(background)
    weights = np.repeat([1.0 / n, -1.0 / n], n)
    found = []
    for place, points in zip(places.tolist(), moved, strict=True):
        mean, variance = surrogate.of_sum(np.concatenate([points, background]), weights)
        differences = surrogate.mean(points) - surrogate.mean(background)
        found.append(Effect(place, mean, float(np.sqrt(variance + differences.var() / n))))
    return found


@usual_errors
def pair_table(
    space: Space,
    function: Callable[[Array], Array],
    columns: tuple[int, int],
    places: tuple[Array, Array],
    conditions: Conditions | None = None,
    n_background: int = N_PAIR_BACKGROUND,
) -> Array:
    """Return T (r, s) of a function of points; NaN where one of the parameters does not exist."""
    first, second = np.meshgrid(*places, indexing="ij")
    changes = {columns[0]: first.ravel(), columns[1]: second.ravel()}
    _, moved = _settled(space, conditions, changes, n_background)
    table = np.full(first.size, np.nan)
    if moved.size:
        both = moved[:, :, list(columns)]
        exists: Bools = np.all(~np.isnan(both), axis=2)  # (r s, B)
        values = np.zeros(exists.shape)
        values[exists] = function(moved[exists])
        counts = exists.sum(axis=1)
        some = counts > 0
        table[some] = values[some].sum(axis=1) / counts[some]
    return table.reshape(first.shape)


@usual_errors
def pair_shares(
    space: Space,
    function: Callable[[Array], Array],
    columns: Sequence[int],
    conditions: Conditions | None = None,
) -> list[PairShare]:
    """Return the shares of all pairs of columns, the largest first.

    What two do together counts where both exist. Pairs that exist together nowhere, or not with
    all of their values, have no share.
    """
    everywhere = even_points(space, 4 * N_BACKGROUND, np.random.default_rng(0))
    if conditions is not None:
        everywhere = conditions.deactivate(everywhere)
    variance = float(function(everywhere).var())
    found = []
    for first, second in combinations(columns, 2):
        places = tuple(_typical(space.parameters[i]) for i in (first, second))
        table = pair_table(space, function, (first, second), (places[0], places[1]), conditions)
        rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        together = np.mean(~np.isnan(everywhere[:, [first, second]]).any(axis=1))
        share = float(np.mean(rest**2) * together) / variance if variance > 0.0 else 0.0
        found.append(PairShare(first, second, 0.0 if np.isnan(share) else share))
    return sorted(found, key=lambda pair: -pair.share)


def _typical(parameter: Parameter) -> Array:
    """Return some places (r,) that stand for the same share of the space each."""
    if parameter.n_levels <= N_PLACES:
        return parameter.levels()
    middles = (np.arange(N_PLACES) + 0.5) / N_PLACES
    return np.unique(parameter.from_uniform(middles))


def _settled(
    space: Space, conditions: Conditions | None, changes: dict[int, Array], n: int
) -> tuple[Array, Array]:
    """Return the background (B, d), and (r, B, d) the same after each of r changes.

    The background are those of n points where all columns exist that change; failing that, all.
    """
    background = even_points(space, n, np.random.default_rng(0))
    spare = even_points(space, n, np.random.default_rng(1))
    if conditions is not None:
        background = conditions.deactivate(background)
        exists = ~np.isnan(background[:, list(changes)]).any(axis=1)
        background = background[exists] if exists.any() or len(changes) == 1 else background
    n_changes = len(next(iter(changes.values())))
    moved = np.repeat(background[None], n_changes, axis=0)
    for column, places in changes.items():
        moved[:, :, column] = places[:, None]
    if conditions is not None:
        flat = moved.reshape(-1, len(space))
        flat = conditions.fill(flat, np.tile(spare[: len(background)], (n_changes, 1)))
        moved = flat.reshape(moved.shape)
    return background, moved
