"""Observations of one outcome, an objective or a constraint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from heat_plugins.gp.outcome_transform import standardise, standardise_noise
from heat_plugins.gp.replicates import has_conflicts, noise_is_underreported
from heat_plugins.runtime.lazy import cached_property
from heat_plugins.space import Array, Indices, Space

__all__ = ["ModelBudget", "OutcomeData", "Standardised"]


@dataclass(frozen=True)
class ModelBudget:
    """Largest numbers of observations of a model.

    Args:
        fit_points: That hyperparameters are fitted to.
        model_points: That the posterior uses.
    """

    fit_points: int = 300
    model_points: int = 500


class Standardised(NamedTuple):
    """Observations as a Gaussian process wants them: (n, d), (n,), and (n,) or None."""

    points: Array
    values: Array
    noise: Array | None


@dataclass(frozen=True, eq=False)
class OutcomeData:
    """Observations of one outcome, as they came; minimised.

    Args:
        points: (n, d) the points.
        values: (n,) their values.
        noise: (n,) known variances of the values, NaN where they are not known; None for nothing
            known.
        deterministic: Whether equal points always have equal values; None to find out.
        learns_extra_noise: Whether noise is learnt on top of what is known.
        boundary: Where bad values begin, if that is known: 0 for constraints.
    """

    points: Array
    values: Array
    noise: Array | None = None
    deterministic: bool | None = None
    learns_extra_noise: bool = False
    boundary: float = -np.inf

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self.points)

    def at(self, rows: slice | Indices) -> OutcomeData:
        """Return some of the observations."""
        noise = None if self.noise is None else self.noise[rows]
        return replace(self, points=self.points[rows], values=self.values[rows], noise=noise)

    def with_inferred_noise(self, space: Space) -> OutcomeData:
        """Return the observations with their noise inferred from repeated measurements.

        ``deterministic`` is what the user says: values of one point, or of close ones, that are
        too far apart are noise, whatever was said. Exact values (all variances 0) are
        deterministic ones, too.
        """
        noise, conflict = self.noise, has_conflicts(self.points, self.values)
        is_known = noise is not None and bool(np.any(noise > 0.0))
        is_exact = noise is not None and bool(np.all(noise == 0.0))
        is_too_small = noise is not None and noise_is_underreported(
            space, self.points, self.values, noise
        )
        conflict |= is_exact and is_too_small and not self.deterministic
        is_deterministic = (self.deterministic or is_exact) and not is_known and not conflict
        return replace(
            self,
            noise=noise if is_known else None,
            deterministic=True if is_deterministic else False if conflict else None,
            learns_extra_noise=is_too_small and (is_known or conflict),
        )

    @cached_property
    def standardised(self) -> Standardised:
        """The observations, standardised."""
        values = standardise(self.values, self.boundary)
        noise = self.noise
        if noise is not None:
            noise = standardise_noise(noise, self.values, values)
        return Standardised(self.points, values, noise)

    def to_fit(self, limit: int) -> Standardised:
        """Return standardised observations: of more than a limit, the best and the latest."""
        points, values, noise = self.standardised
        n = len(self)
        if n <= limit:
            return self.standardised
        best = np.argsort(values, kind="stable")[: limit // 2]
        some = np.union1d(best, np.arange(n - limit // 2, n))
        return Standardised(points[some], values[some], None if noise is None else noise[some])
