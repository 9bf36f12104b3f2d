"""The optimisation problem, the task that its history makes of it, and the suggestion.

A task is a problem whose history has been read: when parameters exist, which points are the same,
and which need not be proposed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from heat_plugins.gp.fit import FitCache, KernelFit
from heat_plugins.history import NO_REGION, History, canonical
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.branches import outside_ended_regions
from heat_plugins.search.domain import Domain
from heat_plugins.search.embedded import Embedded
from heat_plugins.search.linear_constraints import LinearLimits
from heat_plugins.search.listed_points import ListedPoints
from heat_plugins.search.nested_bins import Subspace
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.search.unseen import unseen_point
from heat_plugins.settings import Settings
from heat_plugins.space import Allowed, Array, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.space.point_set import PointSet, both
from heat_plugins.space.trial_conditions import avoid_known_failures, conditions_from

__all__ = ["NoFeasiblePoint", "Problem", "Suggestion", "Task"]

N_EMBEDDED = 200  # random points of a subspace, of which one may be new
N_DENIED = 200  # points with parameters that later trials lack, of which one may be new


class NoFeasiblePoint(ValueError):
    """No feasible point was found."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The optimisation problem: space, constraints and reference point.

    Args:
        space: The parameters.
        fixed: Coordinates that are given, by column; the rest is optimised for them.
        allowed: Tells which of points (n, d) may be proposed at all; None for all of them.
        limits: Linear limits that the point must keep; None for none.
        conditions: When each parameter exists, where that is known; None learns it from the
            history.
        reference: (M,) the worst value of each of several objectives that is of interest, NaN
            where none is; None for none at all.
        listed: The only points there are, of choices alone; None for all combinations.
    """

    space: Space
    fixed: Mapping[int, float] = field(default_factory=dict)
    allowed: Allowed | None = None
    limits: LinearLimits | None = None
    conditions: Conditions | None = None
    reference: Array | None = None
    listed: ListedPoints | None = None


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The next point.

    Args:
        point: (d,) where to evaluate; NaN where a parameter will not be asked for.
        region_id: Index of the trust region, to be remembered with the trial.
        is_new: False only where every point of the space is in the history already.
        kernel_fit: The kernel of the first objective; None for a random point.
        region: The trust region that was searched.
        acquisition: Log of the expected improvement there, or what else was maximised; NaN for a
            random point.
        alternatives: (k, d) other new points that the search found good, the best first; None
            where there was no search.
        leaves_out_constraints: Whether trials break constraints that are not modelled.
        optional: The columns of parameters that do not exist at every point.
    """

    point: Array
    region_id: int
    is_new: bool
    kernel_fit: KernelFit | None = None
    region: TrustRegion | None = None
    acquisition: float = math.nan
    alternatives: Array | None = None
    leaves_out_constraints: bool = False
    optional: tuple[int, ...] = ()

    @property
    def candidates(self) -> Array:
        """(1 + k, d) the point, and what to take where somebody else has taken it."""
        if self.alternatives is None:
            return self.point[None]
        return np.concatenate([self.point[None], self.alternatives])


@dataclass(frozen=True, eq=False)
class Task:
    """A problem, with what its history says about it.

    Args:
        builder: Makes the kernels.
        history: What is known, with one point for all that are the same.
        whole: Where the next point may be.
        avoid: Where it must not be.
        allowed: Tells which points may be proposed at all; None for all of them.
    """

    builder: KernelBuilder
    history: History
    whole: Domain
    avoid: PointSet
    allowed: Allowed | None

    @staticmethod
    def of(problem: Problem, history: History, settings: Settings, cache: FitCache) -> Task:
        """Learn when parameters exist, and which points need not be proposed again."""
        space, fixed, limits = problem.space, problem.fixed, problem.limits
        conditions, allowed, listed = problem.conditions, problem.allowed, problem.listed
        if conditions is None:
            conditions = conditions_from(space, *_with_earlier(history))
        else:
            history = _as_declared(space, history, conditions)
            conditions = conditions if conditions.trees else None
        builder = cache.builder_for(space, settings.model, conditions)
        unlike_failures = avoid_known_failures(space, history.points, history.failed, conditions)
        history = canonical(history.drop_incomplete(builder.optional), builder.symmetry())
        known = np.concatenate([history.points, history.without_value])
        if conditions is not None:
            # A known point that has more than its conditions say is one that lacks it, to them.
            known = np.concatenate([known, conditions.deactivate(known)])
        if limits is not None:
            allowed = both(limits.holds, allowed)
        if listed is not None:
            allowed = both(listed.allows, allowed)
        avoid = PointSet(known, builder.symmetry(), allowed, space.resolution)
        if unlike_failures is not None and not fixed:
            avoid = avoid.restricted_to(unlike_failures)
        whole = Domain(space, fixed=fixed, conditions=conditions, limits=limits, listed=listed)
        return Task(builder, history, whole, avoid, allowed)

    @property
    def optional(self) -> tuple[int, ...]:
        """The columns of parameters that do not exist at every point."""
        return tuple(np.flatnonzero(self.builder.optional).tolist())

    @property
    def is_plain(self) -> bool:
        """Whether every parameter exists at every point, and no limit joins them."""
        return self.whole.conditions is None and self.whole.limits is None

    @property
    def nothing(self) -> PointSet:
        """The points to avoid where all that are allowed have been tried."""
        return PointSet(np.empty((0, len(self.whole.space))), None, self.allowed)

    def exclude_ended_regions(self, region: TrustRegion) -> PointSet:
        """Return what a region should avoid: also what belongs to ended regions."""
        if not region.ended:
            return self.avoid
        ended, space = self.history.points[list(region.ended)], self.whole.space
        return self.avoid.restricted_to(
            lambda points: outside_ended_regions(points, region.centre, ended, space)
        )

    def unseen_point(self, rng: np.random.Generator) -> Array | None:
        """Return any new point (d,); None where there is none.

        Where trials contradict each other about what exists, the latest are believed. If by
        those nothing is new, other values are tried of what earlier ones had.
        """
        points, conditions = self.history.points, self.whole.conditions
        found = unseen_point(self.whole, self.avoid, rng, points)
        if found is not None or conditions is None:
            return found
        is_denied = ~np.isnan(points) & ~conditions.active(points)
        if not is_denied.any():
            return None
        rows = rng.choice(np.flatnonzero(is_denied.any(axis=1)), N_DENIED)
        others = self.whole.space.sample(len(rows), rng)
        others = self.whole.apply_fixed(np.where(is_denied[rows], others, points[rows]))
        fresh = others[~self.avoid.contains(others)]
        return fresh[0] if len(fresh) else None

    @property
    def _knows_nothing(self) -> bool:
        """Whether no trial has finished or is under way."""
        history = self.history
        return not (len(history.points) or len(history.failed) or len(history.pending))

    def random_suggestion(
        self, rng: np.random.Generator, subspace: Subspace | None = None
    ) -> Suggestion:
        """Return a random new point, in a subspace if one is given, or a random old one.

        The numbers of the first one are in the middle of their ranges, where people expect
        something good.
        """
        point = None
        if subspace is not None:
            points = Embedded(subspace, self.whole, TrustRegion()).sample(N_EMBEDDED, rng)
            point = next(iter(points[~self.avoid.contains(points)]), None)
        if point is None and self._knows_nothing and len(self.whole.free_numeric):
            middle = self.whole.middle(rng)
            point = None if self.avoid.contains(middle[None])[0] else middle
        if point is None:
            point = self.unseen_point(rng)
        is_new = point is not None
        if point is None and self.allowed is None:
            point = self.whole.sample(1, rng)[0]
        elif point is None:
            point = unseen_point(self.whole, self.nothing, rng, self.history.points)
        if point is None:
            raise NoFeasiblePoint("no point was found that is allowed")
        return Suggestion(point, NO_REGION, is_new, optional=self.optional)


def _with_earlier(history: History) -> tuple[Array, Array]:
    """Return complete and failed points, first those of earlier studies with all parameters.

    What a parameter depends on that a study did not have at all, it does not tell.
    """
    whole = [study for study in history.earlier if not study.lacking.any()]
    points = np.concatenate([*[study.points for study in whole], history.points])
    return points, np.concatenate([*[study.failed for study in whole], history.failed])


def _as_declared(space: Space, history: History, conditions: Conditions) -> History:
    """Return the history with nothing where, by its conditions, a parameter does not exist."""
    lacks = np.isnan(history.points).any(axis=0) & ~conditions.is_optional
    if lacks.any():
        name = space.names[int(np.argmax(lacks))]
        raise ValueError(
            f"parameter {name!r} always exists by its conditions, but some trial lacks it"
        )
    return replace(
        history,
        points=conditions.deactivate(history.points),
        pending=conditions.deactivate(history.pending),
        failed=conditions.deactivate(history.failed),
        earlier=tuple(study.with_points(conditions.deactivate) for study in history.earlier),
    )
