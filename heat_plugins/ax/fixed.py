"""Parameters that a user fixes for some arms (``fixed_parameters`` of the client)."""

from __future__ import annotations

from typing import Any

from ax.adapter.transforms.base import Transform
from ax.core.observation import ObservationFeatures
from ax.core.parameter import (
    ChoiceParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.core.search_space import SearchSpace
from ax.core.types import TParameterization
from ax.exceptions.core import UserInputError

__all__ = ["FIXED_KEY", "HeatFixed", "fixed_values"]

# Where the fixed values of an arm are kept on the way back from a suggestion.
FIXED_KEY = "heat_plugins:fixed"


class HeatFixed(Transform):
    """Puts back the values that were fixed, as they were given.

    On the way to a coordinate and back a number may lose its last digit.
    """

    no_op_for_experiment_data = True

    def untransform_observation_features(
        self, observation_features: list[ObservationFeatures]
    ) -> list[ObservationFeatures]:
        """Take the fixed values from the metadata of each arm."""
        for features in observation_features:
            features.parameters.update((features.metadata or {}).pop(FIXED_KEY, {}))
        return observation_features


def fixed_values(
    search_space: SearchSpace, fixed_features: ObservationFeatures | None
) -> TParameterization:
    """Return the values that are fixed, by the user or because a parameter is disabled.

    Raises:
        UserInputError: If a value is none of its parameter, or if there is no such parameter.
    """
    for name, value in (fixed_features.parameters if fixed_features else {}).items():
        if name not in search_space.parameters:
            known = ", ".join(f"`{other}`" for other in search_space.parameters)
            raise UserInputError(f"Parameter `{name}` is fixed, but the parameters are {known}.")
        _check(search_space.parameters[name], value)
    fixed = search_space.get_disabled_parameter_fixed_features(
        fixed_features_to_overlay_on=fixed_features
    )
    return {} if fixed is None else dict(fixed.parameters)


def _check(parameter: Parameter, value: Any) -> None:
    if isinstance(parameter, RangeParameter):
        is_whole = parameter.parameter_type == ParameterType.INT
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_right = is_number and parameter.lower <= value <= parameter.upper
        is_right = is_right and (not is_whole or float(value).is_integer())
        kind = "a whole number" if is_whole else "a number"
        wanted = f"{kind} in [{parameter.lower}, {parameter.upper}]"
    elif isinstance(parameter, ChoiceParameter):
        is_right, wanted = value in parameter.values, f"one of {parameter.values}"
    elif isinstance(parameter, FixedParameter):
        is_right = value == parameter.value
        wanted = f"{parameter.value!r}, which it has in the search space"
    else:
        return
    if not is_right:
        raise UserInputError(
            f"Fixed value of parameter `{parameter.name}` must be {wanted}, got {value!r}."
        )
