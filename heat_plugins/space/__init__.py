"""Search spaces: parameters, points, conditions and symmetries."""

from heat_plugins.space.arrays import Array, Bools, Indices
from heat_plugins.space.categorical import Categorical, Ordinal
from heat_plugins.space.numeric import Float, Integer
from heat_plugins.space.space import Allowed, Parameter, Space, apply_changes

__all__ = [
    "Allowed",
    "Array",
    "Bools",
    "Categorical",
    "Float",
    "Indices",
    "Integer",
    "Ordinal",
    "Parameter",
    "Space",
    "apply_changes",
]
