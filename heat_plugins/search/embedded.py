"""Search in an embedded subspace, in the coordinates of its bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heat_plugins.batch_function import BatchFunction
from heat_plugins.search.domain import Domain
from heat_plugins.search.nested_bins import Subspace
from heat_plugins.search.search_task import Avoided, SearchTask
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.space import Array, Bools, Indices, apply_changes

__all__ = ["Embedded"]


class Embedded:
    """A subspace of a domain, cut to a region around the point next to its centre.

    Args:
        subspace: Which parameters move together.
        whole: All points; what is fixed there stays so, and what does not exist is taken away.
        region: The trust region, whose size is a share of the bins here.
    """

    def __init__(self, subspace: Subspace, whole: Domain, region: TrustRegion) -> None:
        self.subspace, self._whole = subspace, whole
        if region.centre is not None:
            region = replace(region, centre=subspace.down(region.centre[None])[0])
        self.domain = Domain(subspace.space, region.as_region(subspace.space))

    def up(self, points: Array) -> Array:
        """Return points (n, d) of the whole domain from points (n, b) of the subspace."""
        whole = self._whole.apply_fixed(self.subspace.up(points))
        conditions = self._whole.conditions
        return whole if conditions is None else conditions.deactivate(whole)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw points (n, d) of the whole domain that lie in the subspace and the region."""
        return self.up(self.domain.sample(n, rng))

    def searched(self, task: SearchTask, search: Callable[[SearchTask], Array]) -> Array:
        """Return the best points (k, d) of a task that a search finds in the subspace."""
        starts = np.unique(self.subspace.down(task.starts), axis=0)
        return self.up(
            search(
                replace(
                    task,
                    function=_OfBins(task.function, self),
                    domain=self.domain,
                    avoid=_AvoidedBelow(task.avoid, self.up),
                    starts=starts,
                )
            )
        )

    def numbers_of(self, point: Array, column: int) -> tuple[Indices, Array]:
        """Return which numbers of a bin move at a point (d,): their columns and signs."""
        columns = self.subspace.bins[column]
        moves = ~np.isnan(point[columns]) & np.isin(columns, self._whole.free_continuous)
        return columns[moves], self.subspace.signs(column)[moves]


class _OfBins:
    """A function of the coordinates of bins."""

    def __init__(self, function: BatchFunction, embedded: Embedded) -> None:
        self._function, self._embedded = function, embedded

    def __call__(self, points: Array) -> Array:
        return self._function(self._embedded.up(points))

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value and the sum of the slopes of the numbers of each bin."""
        whole = self._embedded.up(point[None])[0]
        members = [self._embedded.numbers_of(whole, int(column)) for column in columns]
        every = np.concatenate([its for its, _ in members]).astype(np.int64)
        value, slopes = self._function.value_and_gradient(whole, every)
        gradient, first = np.zeros(len(columns)), 0
        for i, (its, signs) in enumerate(members):
            gradient[i] = signs @ slopes[first : first + len(its)]
            first += len(its)
        return value, gradient


class _AvoidedBelow:
    """Points to avoid, seen from the subspace."""

    def __init__(self, avoid: Avoided, up: Callable[[Array], Array]) -> None:
        self._avoid, self._up = avoid, up

    def contains(self, points: Array) -> Bools:
        return self._avoid.contains(self._up(points))

    def fingerprint(self, points: Array) -> NDArray[np.uint64]:
        return self._avoid.fingerprint(self._up(points))
