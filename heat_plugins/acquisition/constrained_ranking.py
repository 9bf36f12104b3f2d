"""Constrained ranking of trials: feasible before infeasible, then by objectives or violation.

Notation
    ===========  =====================================================================
    n, M, C      observations, objectives, constraints
    values       (n, M) objectives, minimised
    constraints  (n, C) feasible where all are at most 0; NaN where not known
    violation    (n,) by how much constraints are broken, in units of their spreads; 0 for
                 feasible trials
    ===========  =====================================================================
"""

from __future__ import annotations

import numpy as np

from heat_plugins.space import Array

__all__ = ["constrained_ranking", "violations"]


def violations(constraints: Array) -> Array:
    """Return the total constraint violation (n,) of trials with constraint values (n, C).

    A constraint that is not known is not broken, as in Optuna.
    """
    broken = np.maximum(np.nan_to_num(constraints, nan=0.0, posinf=np.inf), 0.0)
    finite = np.where(np.isfinite(broken), broken, 0.0)
    # In units of the largest violation seen: constraints need not be comparable.
    largest = finite.max(axis=0, initial=0.0)
    scaled = finite / np.where(largest > 0.0, largest, 1.0)
    scaled[np.isposinf(broken)] = 2.0
    total: Array = scaled.sum(axis=1)
    return total


def constrained_ranking(values: Array, violation: Array) -> Array:
    """Return a ranking (n, M), minimised: the objectives, infeasible trials behind feasible ones.

    Among infeasible trials the one that breaks less is better, whatever its values are.
    """
    is_broken = violation > 0.0
    if not is_broken.any():
        return values
    # Ranks instead of the values themselves: there is always room behind the worst.
    ranks = np.empty_like(values)
    for j in range(values.shape[1]):
        ranks[:, j] = np.unique(values[:, j], return_inverse=True)[1]
    ranks[is_broken] = len(values) + violation[is_broken, None]
    return ranks
