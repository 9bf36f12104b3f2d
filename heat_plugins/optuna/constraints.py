"""Constraints that trials came with: ``Trial.set_constraint`` and ``constraints_func``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from heat_plugins.space import Array

__all__ = ["constraint_names", "constraints_in", "constraints_of"]

# Where Optuna keeps them: a list under the bare key (constraints_func, all versions), one
# number under each key with a name behind it (Trial.set_constraint, from 5.0 on).
_KEY = "constraints"

# Constraints that have a column of their own, those that most trials have. One trial of another
# programme may bring thousands.
MOST_COLUMNS = 100


def constraints_of(found: Sequence[Mapping[str, float]]) -> Array | None:
    """Return (n, C) the constraints of trials, NaN where a trial lacks one; None for none.

    Of very many, the rarest are one: the largest of them, which is above 0 where any of them is.
    """
    names = constraint_names(found)
    if not names:
        return None
    columns = {name: i for i, name in enumerate(names[:MOST_COLUMNS])}
    array = np.full((len(found), len(names)), np.nan)
    for row, constraints in zip(array, found, strict=True):
        for name, number in constraints.items():
            column = columns.get(name, MOST_COLUMNS)
            row[column] = np.fmax(row[column], number)
    return array


def constraint_names(found: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the names of the columns of :func:`constraints_of`."""
    counts = Counter(name for constraints in found for name in constraints)
    by_count = sorted(counts, key=lambda name: (-counts[name], name))
    return sorted(by_count[:MOST_COLUMNS]) + ["others"] * (len(counts) > MOST_COLUMNS)


def constraints_in(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial, by name."""
    attributes = trial.system_attrs
    listed = attributes.get(_KEY)
    constraints: dict[str, Any] = {}
    if isinstance(listed, (list, tuple)):
        constraints = {str(i): number for i, number in enumerate(listed)}
    for key, number in attributes.items():
        if key.startswith(f"{_KEY}:"):
            constraints[key[len(_KEY) + 1 :]] = number
    return {name: float(number) for name, number in constraints.items() if _is_number(number)}


def _is_number(number: Any) -> bool:
    """Whether anything that a trial came with is a number that a float can be."""
    if not isinstance(number, (int, float)) or number != number:
        return False
    return isinstance(number, float) or abs(number) < sys.float_info.max
