"""Products over parameters: one distance for as many of them as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.column_kinds import ColumnKinds
from heat_plugins.kernels.composite import product_kernel
from heat_plugins.kernels.distance import DistanceKernel, GraphColumn
from heat_plugins.kernels.features import AnchorDistances, ChoicePlaces, FeatureMap, Part
from heat_plugins.kernels.group_kernels import group_average_kernel, group_features
from heat_plugins.kernels.isotropic_rates import IsotropicRates, SharedDiffusionTime
from heat_plugins.kernels.profiles import Matern52, Profile
from heat_plugins.kernels.relabelling import RelabellingKernel
from heat_plugins.kernels.wide_columns import WideColumns
from heat_plugins.space import Indices

__all__ = ["ProductKernels"]


class ProductKernels:
    """Makes products over the columns of one space; the same ones every time."""

    def __init__(self, kinds: ColumnKinds) -> None:
        self._kinds = kinds
        self._feature_maps: dict[bytes, FeatureMap] = {}

    def product(self, columns: Indices, profile: Profile | None, has_ard: bool) -> Kernel:
        """Return the product of all factors; one distance of choices, as far as there is one.

        Args:
            columns: Those that the kernel looks at.
            profile: The function of the distance of choices; None for the heat kernel.
            has_ard: Whether each parameter has a rate of its own.
        """
        kinds = self._kinds
        is_number = np.isin(columns, kinds.single) & ~kinds.space.is_discrete[columns]
        numbers, choices = columns[is_number], columns[~is_number]
        graphs = [
            GraphColumn(int(column), kinds.graphs[column], kinds.space.names[column])
            for column in np.intersect1d(choices, kinds.single)
            if column in kinds.graphs
        ]
        # Graphs have heat kernels of their own, whatever the profile is.
        together, apart = (graphs, []) if profile is None else ([], graphs)
        factors = self._of_distance(choices, together, profile, has_ard)
        factors += self._averages(choices, has_ard)
        if apart:
            factors.append(DistanceKernel(FeatureMap([]), apart))
        if len(numbers):
            feature_map = self._feature_map(numbers, [kinds.features_of(numbers)])
            isotropic = None if has_ard else IsotropicRates(feature_map.log_scales)
            factors.append(DistanceKernel(feature_map, (), Matern52(), isotropic))
        return product_kernel(factors)

    def _of_distance(
        self,
        columns: Indices,
        graphs: Sequence[GraphColumn],
        profile: Profile | None,
        has_ard: bool,
    ) -> list[Kernel]:
        """Return the kernel of one distance of choices; none where there is nothing in it."""
        kinds = self._kinds
        plain = np.intersect1d(columns, kinds.single)
        if not kinds.has_remainders:
            plain = np.setdiff1d(plain, [*kinds.graphs])
        is_wide = kinds.is_wide(plain)
        wide = WideColumns(kinds.features_of(plain[is_wide])) if is_wide.any() else None
        plain = plain[~is_wide]
        parts: list[Part] = [kinds.features_of(plain)] if len(plain) else []
        if profile is None and has_ard:
            parts += self._places(columns)
        parts += self._parts(columns)
        if not parts and not graphs and wide is None:
            return []
        feature_map = self._feature_map(columns, parts)
        isotropic = None if has_ard else self._rates(feature_map, plain, wide, graphs)
        return [DistanceKernel(feature_map, graphs, profile, isotropic, wide)]

    def _places(self, columns: Indices) -> list[Part]:
        """Return the features of choices that may be numbers."""
        kinds = self._kinds
        single = np.intersect1d(columns, kinds.single)
        places = {column: places for column, places in kinds.numbers.items() if column in single}
        return [ChoicePlaces(kinds.space, places)] if places else []

    def _parts(self, columns: Indices) -> list[Part]:
        """Return the features of groups, labelled graphs and anchors."""
        kinds = self._kinds
        parts = [
            group_features(kinds, invariance, block)
            for invariance, block in kinds.groups
            if invariance.method != "sum" and np.isin(block, columns).all()
        ]
        for graph, cells in kinds.labelled_graphs:
            if cells.counts is not None and np.isin(graph.columns, columns).all():
                parts.append(cells.counts)
        anchors = kinds.anchors(columns)
        if anchors is not None:
            parts.append(AnchorDistances(anchors))
        return parts

    def _averages(self, columns: Indices, has_ard: bool) -> list[Kernel]:
        """Return the factors that are averages over a group."""
        kinds = self._kinds
        factors: list[Kernel] = [
            group_average_kernel(kinds, invariance, block)
            for invariance, block in kinds.groups
            if invariance.method == "sum" and np.isin(block, columns).all()
        ]
        return factors + [
            RelabellingKernel(cells, is_tied=not has_ard)
            for graph, cells in kinds.labelled_graphs
            if np.isin(graph.columns, columns).all()
        ]

    def _feature_map(self, columns: Indices, parts: list[Part]) -> FeatureMap:
        """Return the same map for the models of all objectives and constraints.

        It remembers what it did last, so that they share the work.
        """
        return self._feature_maps.setdefault(columns.tobytes(), FeatureMap(parts))

    def _rates(
        self,
        feature_map: FeatureMap,
        plain: Indices,
        wide: WideColumns | None,
        graphs: Sequence[GraphColumn],
    ) -> IsotropicRates:
        """Return how isotropic kernels tie their weights: to a rate, or to a diffusion time."""
        kinds = self._kinds
        scales = [feature_map.log_scales, np.zeros(0) if wide is None else wide.log_scales]
        log_scales = np.concatenate([*scales, np.zeros(len(graphs))])
        if not kinds.entry.has_diffusion_time:
            return IsotropicRates(log_scales)
        sizes = [np.zeros(len(log_scale)) for log_scale in scales]
        sizes[0][: len(plain)] = kinds.n_unordered(plain)
        if wide is not None:
            sizes[1] = kinds.n_unordered(wide.columns)
        return SharedDiffusionTime(
            log_scales, np.concatenate([*sizes, [g.distance.n_choices for g in graphs]])
        )
