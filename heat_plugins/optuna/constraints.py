"""Constraints that trials came with: ``Trial.set_constraint`` and ``constraints_func``."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from heat_plugins.space import Array

__all__ = ["constraints_of"]

# Where Optuna keeps them: a list under the bare key (constraints_func, all versions), one
# number under each key with a name behind it (Trial.set_constraint, from 5.0 on).
_KEY = "constraints"


def constraints_of(trials: Sequence[FrozenTrial]) -> Array | None:
    """Return (n, C) the constraints of trials, NaN where a trial lacks one; None for none."""
    found = [_constraints(trial) for trial in trials]
    names = sorted({name for constraints in found for name in constraints})
    if not names:
        return None
    return np.array([[row.get(name, math.nan) for name in names] for row in found], dtype=float)


def _constraints(trial: FrozenTrial) -> dict[str, float]:
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
