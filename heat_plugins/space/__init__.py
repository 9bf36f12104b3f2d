"""What the parameters are, and the points that they make."""

from heat_plugins.space.space import (
    Allowed,
    Array,
    Categorical,
    Float,
    Integer,
    Ordinal,
    Parameter,
    Space,
    apply_changes,
)

__all__ = [
    "Allowed",
    "Array",
    "Categorical",
    "Float",
    "Integer",
    "Ordinal",
    "Parameter",
    "Space",
    "apply_changes",
]
