"""The history of a study, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from heat_plugins.space import Array, Bools, Indices, Space
from heat_plugins.space.symmetry import Symmetry

__all__ = ["NO_REGION", "EarlierStudy", "History", "canonical"]

NO_REGION = -1  # the tag of a trial that no region asked for: start-up, enqueued, added


@dataclass(frozen=True, eq=False)
class EarlierStudy:
    """The trials of an earlier study, as points of the present space.

    Args:
        name: Of the study, for people.
        points: (n, d) evaluated points in order of completion; NaN where a parameter was not
            asked for, in a whole column where the study did not have it.
        values: (n, M) their values, to be minimised; NaN where one is not known.
        failed: (q, d) points of trials that ended without a value.
        constraints: (n, C) those of the present study, NaN where they are not known; None for no
            constraints.
        failed_after: (q,) after how many of the points each of the failed ended, ascending.
    """

    name: str
    points: Array
    values: Array
    failed: Array
    constraints: Array | None = None
    failed_after: Indices | None = None

    @property
    def lacking(self) -> Bools:
        """(d,) parameters that no trial has."""
        lacking: Bools = np.isnan(np.concatenate([self.points, self.failed])).all(axis=0)
        return lacking

    @property
    def has_values(self) -> bool:
        """Whether some value is known."""
        return not bool(np.isnan(self.values).all())

    @property
    def outcomes(self) -> Array:
        """(n, M + C) values and constraints."""
        if self.constraints is None:
            return self.values
        return np.column_stack([self.values, self.constraints])

    @property
    def fingerprint(self) -> tuple[str, int, int, int]:
        """What tells the study from others."""
        parts = (self.points, self.outcomes, self.failed)
        points, outcomes, failed = (crc32(part.tobytes()) for part in parts)
        return self.name, points, outcomes, failed

    def with_points(self, change: Callable[[Array], Array]) -> EarlierStudy:
        """Return the study with other points."""
        return replace(self, points=change(self.points), failed=change(self.failed))


@dataclass(frozen=True, eq=False)
class History:
    """The trials of a study as arrays.

    Args:
        points: (n, d) evaluated points in order of completion; NaN where a parameter was not
            asked for.
        values: (n,) their values, to be minimised, or (n, M) of M objectives; infinities are
            allowed, NaN is not.
        region_ids: (n,) index of the trust region each was suggested in, or ``NO_REGION``.
        pending: (p, d) points under evaluation.
        failed: (q, d) points of trials that ended without a value. They need not be proposed
            again.
        constraints: (n, C) numbers that are at most 0 where a trial is feasible, NaN where
            they are not known; None for no constraints.
        noise: (n, M + C) variances of the measurements: of the objectives, then of the
            constraints, in their units squared; NaN where they are not known. None for
            nothing known.
        failed_after: (q,) after how many of the points each of the failed ended, ascending; None
            where that is not known.
        failed_region_ids: (q,) index of the trust region each of the failed was suggested in, or
            ``NO_REGION``; None for none of them.
        earlier: Studies that this one goes on from.
    """

    points: Array
    values: Array
    region_ids: Indices
    pending: Array
    failed: Array
    constraints: Array | None = None
    noise: Array | None = None
    failed_after: Indices | None = None
    failed_region_ids: Indices | None = None
    earlier: tuple[EarlierStudy, ...] = ()

    def __post_init__(self) -> None:
        if self.noise is None:
            return
        expected = (len(self.points), self.objectives.shape[1] + self.constraint_values.shape[1])
        if self.noise.shape != expected:
            raise ValueError(f"noise must have shape {expected}, got {self.noise.shape}")
        if np.any(self.noise < 0.0):
            raise ValueError(f"noise must be at least 0, got {np.nanmin(self.noise)}")

    @staticmethod
    def of(
        space: Space,
        points: Array,
        values: Array,
        region_ids: Indices | None = None,
        pending: Array | None = None,
        failed: Array | None = None,
        constraints: Array | None = None,
        noise: Array | None = None,
    ) -> History:
        """Return a history with whatever is not given empty."""
        nothing = np.empty((0, len(space)))
        if region_ids is None:
            region_ids = np.full(len(points), NO_REGION, dtype=np.int64)
        return History(
            points,
            values,
            region_ids,
            nothing if pending is None else pending,
            nothing if failed is None else failed,
            constraints,
            noise,
        )

    @property
    def objectives(self) -> Array:
        """(n, M) the values, also of one objective."""
        return self.values[:, None] if self.values.ndim == 1 else self.values

    @property
    def constraint_values(self) -> Array:
        """(n, C) the constraints, also if there are none."""
        return np.empty((len(self.points), 0)) if self.constraints is None else self.constraints

    def noise_of(self, index: int) -> Array | None:
        """(n,) known variances of one objective or, after those, constraint; None if none is."""
        if self.noise is None or np.isnan(self.noise[:, index]).all():
            return None
        return self.noise[:, index]

    @property
    def without_value(self) -> Array:
        """(p + q, d) points that need not be proposed again though no value is known."""
        return np.concatenate([self.failed, self.pending])

    def drop_incomplete(self, optional: Bools) -> History:
        """Return the history without incomplete points, which lack more than ``optional`` (d,).

        Trials that failed before they had asked for everything are nowhere in particular.
        """

        def is_complete(points: Array) -> Bools:
            complete: Bools = np.all(~np.isnan(points[:, ~optional]), axis=1)
            return complete

        kept, after, regions = is_complete(self.failed), self.failed_after, self.failed_region_ids
        return replace(
            self,
            pending=self.pending[is_complete(self.pending)],
            failed=self.failed[kept],
            failed_after=None if after is None else after[kept],
            failed_region_ids=None if regions is None else regions[kept],
        )

    def in_order_of_ending(self) -> tuple[Array, Bools]:
        """Return all points (n + q, d) as they ended, and (n + q,) which have no value."""
        n, q = len(self.points), len(self.failed)
        after = np.full(q, n) if self.failed_after is None else self.failed_after
        places = after + np.arange(q)  # of the failed among all
        has_no_value = np.zeros(n + q, dtype=bool)
        has_no_value[places] = True
        points = np.empty((n + q, self.points.shape[1]))
        points[has_no_value], points[~has_no_value] = self.failed, self.points
        return points, has_no_value


def canonical(history: History, symmetry: Symmetry | None) -> History:
    """Return the history with one point for all that are the same to the objective."""
    if symmetry is None:
        return history
    return replace(
        history,
        points=symmetry.canonical(history.points),
        pending=symmetry.canonical(history.pending),
        failed=symmetry.canonical(history.failed),
        earlier=tuple(
            study if study.lacking.any() else study.with_points(symmetry.canonical)
            for study in history.earlier
        ),
    )
