"""What a tuning run has found out so far, as a history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heat_plugins.history import History
from heat_plugins.space import Array, Space

__all__ = ["TuningRecord"]


class TuningRecord:
    """The configurations that have been evaluated, in order.

    Attributes:
        n_evaluated: How many there are, failed ones included.

    Args:
        space: The space of their points.
        n_objectives: How many objectives there are.
    """

    def __init__(self, space: Space, n_objectives: int) -> None:
        self._space = space
        self._n_objectives = n_objectives
        self._points: list[Array] = []
        self._costs: list[list[float]] = []
        self._region_ids: list[int] = []
        self._failed: list[Array] = []
        self._failed_after: list[int] = []
        self._failed_region_ids: list[int] = []

    @property
    def n_evaluated(self) -> int:
        """How many configurations have been evaluated."""
        return len(self._points) + len(self._failed)

    def add(
        self, point: Array, region_id: int, result: Mapping[str, Any], costs: Sequence[float]
    ) -> bool:
        """Note what came of a configuration, and return whether it failed.

        A configuration that could not be compiled or run, or whose objective is not a number, has
        failed; Kernel Tuner gives the first two the largest number as their cost.

        Args:
            point: (d,) the configuration.
            region_id: The trust region that asked for it.
            result: What Kernel Tuner says of it.
            costs: (M,) the objectives, minimised.
        """
        failed = "__error__" in result or any(math.isnan(cost) for cost in costs)
        if failed:
            self._failed.append(point)
            self._failed_after.append(len(self._points))
            self._failed_region_ids.append(region_id)
        else:
            self._points.append(point)
            self._costs.append([float(cost) for cost in costs])
            self._region_ids.append(region_id)
        return failed

    def history(self, pending: Sequence[Array]) -> History:
        """Return all of it, with points (d,) that are asked for in the same batch."""
        costs = np.array(self._costs, dtype=float).reshape(-1, self._n_objectives)
        stack = self._space.stack
        return History(
            stack(self._points),
            costs[:, 0] if self._n_objectives == 1 else costs,
            np.array(self._region_ids, dtype=np.int64),
            stack(pending),
            stack(self._failed),
            failed_after=np.array(self._failed_after, dtype=np.int64),
            failed_region_ids=np.array(self._failed_region_ids, dtype=np.int64),
        )
