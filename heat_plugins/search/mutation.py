"""Random mutation of points."""

from __future__ import annotations

import numpy as np

from heat_plugins.search.domain import Domain
from heat_plugins.space import Array, Indices

__all__ = ["mutate"]


def mutate(
    points: Array,
    domain: Domain,
    extra_changes: float,
    rng: np.random.Generator,
    among: Indices | None = None,
) -> Array:
    """Change one free column of each point, and ``extra_changes`` more on average.

    A code becomes any other one; a number moves by a step of a random size. Only some free columns
    ``among`` (c,) change if they are given.
    """
    n, columns = len(points), domain.free if among is None else among
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
