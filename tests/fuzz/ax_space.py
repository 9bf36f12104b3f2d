"""Random search spaces of Ax."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

from ax.core.parameter import (
    ChoiceParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.search_space import SearchSpace
from draw import Draw
from watch import same_number

__all__ = ["AxSpace", "Params", "random_ax_space"]

Params = dict[str, Any]
TEXT, INT, FLOAT, BOOL = (
    ParameterType.STRING,
    ParameterType.INT,
    ParameterType.FLOAT,
    ParameterType.BOOL,
)
LETTERS = ["a", "b", "c", "d", "e", "ä→漢字", ""]
# Type, bounds, and what else is said of a range.
RANGES: list[tuple[ParameterType, float, float, dict[str, Any]]] = [
    (FLOAT, 0.0, 1.0, {}),
    (FLOAT, -5.0, 5.0, {}),
    (FLOAT, 1e-6, 1.0, {"log_scale": True}),
    (FLOAT, 1e-100, 1e100, {"log_scale": True}),
    (FLOAT, 0.0, 1.0, {"digits": 1}),
    (FLOAT, 0.05, 0.95, {"digits": 1}),
    (FLOAT, 0.001, 1.0, {"digits": 3, "log_scale": True}),
    (FLOAT, 0.01, 0.99, {"logit_scale": True}),
    (FLOAT, -1e30, 1e30, {}),
    (FLOAT, 1e-3, 2e-3, {}),
    (INT, 0, 1, {}),
    (INT, 1, 8, {}),
    (INT, -3, 3, {}),
    (INT, 1, 1024, {"log_scale": True}),
    (INT, 0, 10**9, {}),
    (INT, 2**53 - 4, 2**53 + 4, {}),
]
LONG_RANGE = 1_000_000


@dataclass(frozen=True)
class AxSpace:
    """Parameters and their constraints, as expressions that Ax reads."""

    parameters: tuple[Parameter, ...]
    inequalities: tuple[str, ...] = ()

    def make(self) -> SearchSpace:
        """Return a new search space."""
        return SearchSpace(
            [parameter.clone() for parameter in self.parameters],
            [ParameterConstraint(inequality=text) for text in self.inequalities],
        )

    @property
    def tunable(self) -> list[Parameter]:
        """The parameters that are not fixed."""
        return [p for p in self.parameters if not isinstance(p, FixedParameter)]

    @property
    def has_very_many_integers(self) -> bool:
        """Whether a range of integers is too long to be listed."""
        ranges = [p for p in self.parameters if isinstance(p, RangeParameter)]
        return any(p.parameter_type == INT and p.upper - p.lower > LONG_RANGE for p in ranges)

    def active(self, params: Params) -> set[str]:
        """Return the parameters that exist with these values."""
        dependent: set[str] = set()
        there: set[str] = set()
        for parameter in self.parameters:
            children = parameter.dependents if parameter.is_hierarchical else {}
            for value, names in children.items():
                dependent |= {*names}
                if params.get(parameter.name) == value:
                    there |= {*names}
        # One level only, so that a child of an absent parameter cannot be there.
        return {p.name for p in self.parameters} - dependent | there

    def same(self, left: Params, right: Params) -> bool:
        """Whether two parameterizations are the same, but for rounding."""
        if left.keys() != right.keys():
            return False
        return all(
            _is_same_value(p, left[p.name], right[p.name])
            for p in self.parameters
            if p.name in left
        )

    def points(self, most: int) -> list[Params] | None:
        """Return all parameterizations; None where there are more than so many."""
        lists = []
        for parameter in self.parameters:
            values = _values(parameter, most)
            if values is None:
                return None
            lists.append(values)
        size = 1
        for values in lists:
            size *= len(values)
            if size > 20 * most:
                return None
        names = [parameter.name for parameter in self.parameters]
        space = self.make()
        found: dict[str, Params] = {}
        for point in itertools.product(*lists):
            params = dict(zip(names, point, strict=True))
            active = self.active(params)
            params = {name: value for name, value in params.items() if name in active}
            if all(c.check(_numbers(params, c)) for c in space.parameter_constraints):
                found[repr(params)] = params
        return list(found.values()) if len(found) <= most else None

    def wrong_values(self, params: Params) -> list[str]:
        """Return what is wrong with a parameterization."""
        wrong = []
        if params.keys() != self.active(params):
            wrong.append(f"has {sorted(params)}, expected {sorted(self.active(params))}")
        for parameter in self.parameters:
            if parameter.name in params and not _is_value_of(parameter, params[parameter.name]):
                wrong.append(f"{parameter.name}={params[parameter.name]!r} is not of {parameter}")
        for constraint in self.make().parameter_constraints:
            numbers = _numbers(params, constraint)
            if numbers and not constraint.check(numbers):
                wrong.append(f"breaks {constraint}")
        return wrong


def _numbers(params: Params, constraint: ParameterConstraint) -> dict[str, float]:
    """Return the values that a constraint is about; none unless all exist."""
    names = constraint.constraint_dict
    return {n: params[n] for n in names} if names.keys() <= params.keys() else {}


def _is_value_of(parameter: Parameter, value: Any) -> bool:
    if isinstance(parameter, FixedParameter):
        return bool(value == parameter.value)
    if isinstance(parameter, ChoiceParameter):
        return any(type(v) is type(value) and v == value for v in parameter.values)
    assert isinstance(parameter, RangeParameter)
    expected = int if parameter.parameter_type == INT else float
    if type(value) is not expected or not parameter.lower <= value <= parameter.upper:
        return False
    return parameter.digits is None or value == round(value, parameter.digits)


def _is_same_value(parameter: Parameter, left: Any, right: Any) -> bool:
    if isinstance(parameter, RangeParameter) and parameter.parameter_type == INT:
        # Beyond 2^53 whole numbers are the same that floats do not tell apart.
        return type(left) is type(right) and float(left) == float(right)
    if not isinstance(parameter, RangeParameter):
        return bool(left == right and type(left) is type(right))
    return same_number(
        left, right, parameter.lower, parameter.upper, log=bool(parameter.log_scale)
    )


def _values(parameter: Parameter, most: int) -> list[Any] | None:
    if isinstance(parameter, FixedParameter):
        return [parameter.value]
    if isinstance(parameter, ChoiceParameter):
        return list(parameter.values)
    assert isinstance(parameter, RangeParameter)
    low, high, digits = parameter.lower, parameter.upper, parameter.digits
    if parameter.parameter_type == INT:
        # Beyond 2^53 floats have only some whole numbers: the range is searched as finely.
        largest = max(abs(low), abs(high))
        spacing = int(math.ulp(float(largest))) if largest > 2**53 else 1
        values = range(int(low), int(high) + 1)
        return [v for v in values if v % spacing == 0] if high - low < most else None
    if digits is None or parameter.log_scale or (high - low) * 10**digits > most:
        return None
    values = [round(i * 10**-digits, digits) for i in range(round(high * 10**digits) + 1)]
    return [value for value in values if low <= value <= high]


# ----------------------------------------------------------------------------- random ones


def random_ax_space(draw: Draw) -> AxSpace:
    """Return a search space."""
    count = draw.one_of(1, 2, 3, 3, 4, 5, 7)
    parameters = [_parameter(draw, f"p{i}") for i in range(count)]
    if draw.chance(0.25):
        parameters += _tree(draw)
    if draw.chance(0.2):
        parameters.append(FixedParameter("fixed", TEXT, "one"))
    if draw.chance(0.2):
        alike = [("q0", 0.0), ("q1", 0.0), ("q2", 0.0)]
        parameters += [RangeParameter(name, FLOAT, low, 1.0) for name, low in alike]
    inequalities: list[str] = []
    numbers = [p for p in parameters if _can_be_limited(p)]
    if len(numbers) > 1 and draw.chance(0.5):
        first, second = draw.sample(numbers, 2)
        middle = (first.lower + first.upper + second.lower + second.upper) / 2
        inequalities.append(
            draw.one_of(
                f"{first.name} + {second.name} <= {middle}",
                f"{first.name} + {second.name} >= {middle}",
                f"{first.name} - {second.name} <= {first.upper - second.lower}",
            )
        )
    return AxSpace(tuple(parameters), tuple(inequalities))


def _can_be_limited(parameter: Parameter) -> bool:
    return (
        isinstance(parameter, RangeParameter)
        and not parameter.log_scale
        and not parameter.logit_scale
        and abs(parameter.upper) < 1e6
        and parameter.upper - parameter.lower > 1e-3
        and parameter.digits is None
    )


def _parameter(draw: Draw, name: str) -> Parameter:
    kind = draw.one_of("letters", "letters", "range", "range", "numbers", "flag")
    if kind == "range":
        type_, low, high, more = draw.choice(RANGES)
        return RangeParameter(name, type_, low, high, **more)
    if kind == "flag":
        return ChoiceParameter(name, BOOL, [False, True], is_ordered=draw.chance(0.5))
    if kind == "numbers":
        values: list[Any] = draw.one_of([1, 2, 8, 64], [3, 7, 10], [-1, 0, 5])
        if draw.chance(0.3):
            return ChoiceParameter(
                name, FLOAT, [0.1, 1.5, 1e300], is_ordered=draw.chance(0.5), sort_values=True
            )
        return ChoiceParameter(name, INT, values, is_ordered=draw.chance(0.5), sort_values=True)
    values = LETTERS[: draw.randint(2, len(LETTERS))]
    return ChoiceParameter(name, TEXT, values, is_ordered=draw.chance(0.3), sort_values=False)


def _tree(draw: Draw) -> list[Parameter]:
    """Return a parameter that decides about others."""
    children = [_parameter(draw, f"t{i}") for i in range(draw.randint(1, 3))]
    values = ["one", "two", "three"]
    dependents: dict[Any, list[str]] = {}
    for child in children:
        dependents.setdefault(draw.choice(values[1:]), []).append(child.name)
    root = ChoiceParameter(
        "root", TEXT, values, is_ordered=False, sort_values=False, dependents=dependents
    )
    return [root, *children]
