"""The transform between values of parameters in Ax and encoded points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from ax.adapter.data_utils import ExperimentData
from ax.adapter.transforms.base import Transform
from ax.adapter.transforms.utils import construct_new_search_space
from ax.core.observation import ObservationFeatures
from ax.core.parameter import ChoiceParameter, ParameterType, RangeParameter
from ax.core.parameter import Parameter as AxParameter
from ax.core.search_space import SearchSpace
from ax.core.types import TParameterization
from ax.exceptions.core import UserInputError
from ax.generators.types import TConfig

from heat_plugins.ax.search_space import parents_of, space_of
from heat_plugins.space import Array
from heat_plugins.space.categorical import ListedValues
from heat_plugins.space.conditions import conditions_of

if TYPE_CHECKING:
    from ax.adapter.base import Adapter

__all__ = ["HeatCodes"]


class HeatCodes(Transform):
    """Turns every parameter into its column of a point: a code, or a number in [0, 1].

    One transform in place of Ax's for choices, logarithms and units, so that both integrations
    have the same encoded points. Parameter constraints are not carried over: the adapter reads
    them as they are. Parameters that exist under some choices only have been filled in by
    ``Cast`` before and are emptied by it again; ``conditions`` tells which those are.

    Attributes:
        space: The parameters.
        conditions: When each of them exists; None where all always do.
    """

    def __init__(
        self,
        search_space: SearchSpace | None = None,
        experiment_data: ExperimentData | None = None,
        adapter: Adapter | None = None,
        config: TConfig | None = None,
    ) -> None:
        assert search_space is not None, "HeatCodes requires a search space"
        super().__init__(search_space, experiment_data, adapter, config)
        self.space = space_of(search_space)
        # ``Cast`` has flattened this one; the adapter still has the tree.
        parents = parents_of(search_space if adapter is None else adapter.model_space)
        self.conditions = conditions_of(self.space, parents) if parents else None

    def encode(self, name: str, value: Any) -> float:
        """Return the coordinate of a value."""
        parameter = self.space.parameters[self.space.column[name]]
        if isinstance(parameter, ListedValues):
            try:
                return parameter.encode(value)
            except ValueError:
                raise UserInputError(
                    f"Value of parameter `{name}` must be one of {list(parameter.choices)}, "
                    f"got {value!r}."
                ) from None
        unit_value = parameter.normalize(value)
        if math.isnan(unit_value):
            raise UserInputError(
                f"Value of parameter `{name}` must be a number in [{parameter.low}, "
                f"{parameter.high}], got {value!r}."
            )
        return unit_value

    def point(self, coordinates: Mapping[str, Any]) -> Array:
        """Return the point (d,) of transformed parameters, NaN where one does not exist."""
        point = np.array([float(coordinates.get(name, math.nan)) for name in self.space.names])
        return point if self.conditions is None else self.conditions.deactivate(point[None])[0]

    def coordinates(self, point: Array) -> TParameterization:
        """Undo :meth:`point`, with some number where a parameter does not exist."""
        return dict(zip(self.space.names, np.nan_to_num(point).tolist(), strict=True))

    def transform_observation_features(
        self, observation_features: list[ObservationFeatures]
    ) -> list[ObservationFeatures]:
        """Encode all parameters that are there."""
        for features in observation_features:
            for name in self.space.names:
                if name in features.parameters:
                    features.parameters[name] = self.encode(name, features.parameters[name])
        return observation_features

    def untransform_observation_features(
        self, observation_features: list[ObservationFeatures]
    ) -> list[ObservationFeatures]:
        """Decode all parameters that are there."""
        for features in observation_features:
            for parameter in self.space.parameters:
                coordinate = features.parameters.get(parameter.name)
                if coordinate is not None:
                    nearest = parameter.snap(np.array([float(coordinate)]))
                    features.parameters[parameter.name] = parameter.decode(float(nearest[0]))
        return observation_features

    def transform_experiment_data(self, experiment_data: ExperimentData) -> ExperimentData:
        """Encode the columns of all arms."""
        arm_data = experiment_data.arm_data
        encoded: dict[str, list[float]] = {}
        for name in self.space.names:
            values = arm_data[name].tolist()
            codes = {value: self.encode(name, value) for value in set(values)}
            encoded[name] = [codes[value] for value in values]
        return ExperimentData(arm_data.assign(**encoded), experiment_data.observation_data)

    def transform_search_space(self, search_space: SearchSpace) -> SearchSpace:
        """Return a search space of codes and of numbers in [0, 1], without constraints."""
        return construct_new_search_space(
            search_space=search_space,
            parameters=[self._transformed(p) for p in search_space.parameters.values()],
            parameter_constraints=[],
        )

    def _transformed(self, parameter: AxParameter) -> AxParameter:
        name = parameter.name
        if isinstance(parameter, ChoiceParameter):
            return ChoiceParameter(
                name=name,
                parameter_type=ParameterType.INT,
                values=[int(self.encode(name, value)) for value in parameter.values],
                is_ordered=parameter.is_ordered,
                sort_values=True,
            )
        assert isinstance(parameter, RangeParameter)
        # Bounds that Ax would round lie outside.
        return RangeParameter(
            name=name,
            parameter_type=ParameterType.FLOAT,
            lower=max(self.encode(name, parameter.lower), 0.0),
            upper=min(self.encode(name, parameter.upper), 1.0),
        )
