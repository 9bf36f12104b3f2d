"""Random define-by-run spaces with odd choices and ranges."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import optuna
from draw import Draw
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from watch import same_number

__all__ = ["Parameter", "Space", "Stubborn", "is_value_of", "position_of", "random_space"]

HUGE = 1.7e308
NAN = float("nan")


class Stubborn:
    """A choice that cannot be hashed, and that JSON does not know."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stubborn) and self.name == other.name

    def __repr__(self) -> str:
        return f"Stubborn({self.name})"


PLAIN = ["a", "b", "c", "d", "e", "f", "g"]
ODD = [None, True, False, 1, 1.0, 0, 0.0, -1, NAN, "", " ", "None", "nan", "ä→漢字\n", "a'\"%s"]
ODD += [0.1, 1e300, 5e-324, math.inf, -math.inf, 2**70, "x" * 300]
CONTAINERS = [(1, 2), (), ("a", (1, 2.5)), (None,), ((),)]

FLOATS = [
    FloatDistribution(0.0, 1.0),
    FloatDistribution(-5.0, 5.0),
    FloatDistribution(-1000.0, -1e-3),
    FloatDistribution(1e-8, 1.0, log=True),
    FloatDistribution(1e-300, 1e300, log=True),
    FloatDistribution(5e-324, 1.0, log=True),
    FloatDistribution(0.0, 1.0, step=0.1),
    FloatDistribution(-1.0, 1.0, step=0.25),
    FloatDistribution(0.0, 1e-6, step=1e-9),
    FloatDistribution(0.1, 0.7, step=0.2),
    FloatDistribution(1e-300, 2e-300),
    FloatDistribution(1.0, 1.0 + 1e-12),
    FloatDistribution(1e15, 1e15 + 1.0),
    FloatDistribution(-1e300, 1e300),
    FloatDistribution(0.0, HUGE),
    FloatDistribution(3.5, 3.5),
    FloatDistribution(-0.0, 0.0),
]
INTEGERS = [
    IntDistribution(0, 1),
    IntDistribution(1, 10),
    IntDistribution(-7, 7),
    IntDistribution(0, 20, step=5),
    IntDistribution(1, 1024, log=True),
    IntDistribution(1, 2, log=True),
    IntDistribution(0, 1_000_000),
    IntDistribution(0, 10**9, step=1000),
    IntDistribution(5, 5),
    IntDistribution(2**53 - 3, 2**53 + 2000),
    IntDistribution(-(2**62), 2**62),
    IntDistribution(10**17, 10**17 + 3200, step=160),  # floats are 16 apart there
    IntDistribution(1, 2**60, log=True),
]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an objective.

    Attributes:
        name: Its name.
        stages: Its distributions, each with the trial from which on it is asked for.
        parent: The parameter on which its existence depends, if any.
        positions: The choices of the parent under which it exists, or the lower half of a
            number where this is empty.
        begins: The first trial that asks for it.
        ends: The first trial that no longer does.
    """

    name: str
    stages: tuple[tuple[int, BaseDistribution], ...]
    parent: str = ""
    positions: frozenset[int] = frozenset()
    begins: int = 0
    ends: int = 10**9

    def at(self, number: int) -> BaseDistribution:
        """Return the distribution in a trial."""
        return [dist for first, dist in self.stages if first <= number][-1]

    @property
    def first(self) -> BaseDistribution:
        """The distribution that it begins with."""
        return self.stages[0][1]

    @property
    def is_static(self) -> bool:
        """Whether it is the same in every trial that has it."""
        return len(self.stages) == 1 and self.begins == 0 and self.ends == 10**9


@dataclass(frozen=True)
class Space:
    """The parameters of an objective, parents first."""

    parameters: tuple[Parameter, ...]

    @property
    def is_static(self) -> bool:
        """Whether it is the same in every trial."""
        return all(parameter.is_static for parameter in self.parameters)

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters need not exist."""
        return any(parameter.parent for parameter in self.parameters)

    def by_name(self, name: str) -> Parameter:
        """Return the parameter with a name."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    def ask(self, trial: optuna.Trial) -> Iterator[tuple[str, Any]]:
        """Ask for the values of a trial, as an objective does: yield each as it comes."""
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            if not parameter.begins <= trial.number < parameter.ends:
                continue
            if parameter.parent and not self._is_there(parameter, values, trial.number):
                continue
            values[parameter.name] = _suggest(trial, parameter.name, parameter.at(trial.number))
            yield parameter.name, values[parameter.name]

    def _is_there(self, parameter: Parameter, values: dict[str, Any], number: int) -> bool:
        if parameter.parent not in values:
            return False
        distribution = self.by_name(parameter.parent).at(number)
        value = values[parameter.parent]
        if isinstance(distribution, CategoricalDistribution):
            return position_of(distribution, value) in parameter.positions
        assert isinstance(distribution, (FloatDistribution, IntDistribution))
        return bool(value <= (distribution.low / 2 + distribution.high / 2))

    def points(self, most: int) -> list[dict[str, Any]] | None:
        """Return all points of a static space; None where there are more than so many."""
        found: list[dict[str, Any]] = [{}]
        for parameter in self.parameters:
            values = _values(parameter.first, most)
            longer: list[dict[str, Any]] = []
            for point in found:
                if parameter.parent and not self._is_there(parameter, point, 0):
                    longer.append(point)
                elif values is None:
                    return None
                else:
                    longer += [{**point, parameter.name: value} for value in values]
            if len(longer) > most:
                return None
            found = longer
        return found


def _values(distribution: BaseDistribution, most: int) -> list[Any] | None:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if distribution.single():
        return [distribution.low]
    if distribution.step is None:
        return _floats(distribution.low, distribution.high, most)
    n_steps = (distribution.high - distribution.low) / distribution.step
    if n_steps > most:
        return None
    return [distribution.low + i * distribution.step for i in range(round(n_steps) + 1)]


def _floats(low: float, high: float, most: int) -> list[float] | None:
    """Return all floats of a range; None where there are more than so many."""
    found = [low]
    while found[-1] < high and len(found) <= most:
        found.append(math.nextafter(found[-1], math.inf))
    return found if len(found) <= most else None


def _suggest(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    step, log = distribution.step, distribution.log  # type: ignore[attr-defined]
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(name, low, high, step=step, log=log)
    return trial.suggest_float(name, low, high, step=step, log=log)


def position_of(distribution: CategoricalDistribution, value: Any) -> int | None:
    """Return which choice a value is: 1, 1.0 and True are three."""
    for position, choice in enumerate(distribution.choices):
        if choice is value or (type(choice) is type(value) and repr(choice) == repr(value)):
            return position
    return None


def is_value_of(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value is one that an objective may get for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return position_of(distribution, value) is not None
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    if isinstance(distribution, IntDistribution):
        is_step = type(value) is int and (value - low) % distribution.step == 0
        return is_step and low <= value <= high
    if type(value) is not float or not low <= value <= high:
        return False
    step = distribution.step  # type: ignore[attr-defined]
    if step is None:
        return True
    n_steps = (value - low) / step
    return same_number(n_steps, round(n_steps), 0.0, 1e3 * max(1.0, (high - low) / step))


# ----------------------------------------------------------------------------- random ones


def random_space(draw: Draw, *, in_memory: bool, n_trials: int) -> Space:
    """Return a space; what only the memory can hold is not in it for other storages."""
    n_parameters = draw.one_of(1, 2, 3, 3, 4, 5, 6, 8, 12)
    style = draw.one_of("plain", "odd", "numbers", "mixed", "mixed")
    is_tree, is_moving = draw.chance(0.3), draw.chance(0.2)
    parameters: list[Parameter] = []
    for i in range(n_parameters):
        name = f"p{i}" if draw.chance(0.9) else f"p {i} ä"
        parameter = Parameter(name, ((0, _distribution(draw, style, in_memory)),))
        if is_tree and parameters and draw.chance(0.6):
            parameter = _below(draw, parameter, draw.choice(parameters))
        if is_moving and draw.chance(0.4):
            parameter = _moving(draw, parameter, n_trials)
        parameters.append(parameter)
    if style != "odd" and len(parameters) > 2 and draw.chance(0.3):
        # Some that are alike, for structures that let parameters change places.
        parameters[1] = replace(parameters[1], stages=parameters[0].stages)
        parameters[2] = replace(parameters[2], stages=parameters[0].stages)
        parameters = [replace(p, parent="") if i < 3 else p for i, p in enumerate(parameters)]
    return Space(tuple(parameters))


def _distribution(draw: Draw, style: str, in_memory: bool) -> BaseDistribution:
    kind = {"plain": "plain", "odd": "odd", "numbers": "number"}.get(style)
    kind = kind or draw.one_of("plain", "plain", "odd", "number", "number")
    if kind == "number":
        if draw.chance(0.01):
            return FloatDistribution(-HUGE, HUGE)
        return draw.choice([*FLOATS, *INTEGERS])
    if draw.chance(0.03):
        return CategoricalDistribution([f"choice {i}" for i in range(draw.one_of(60, 300))])
    if draw.chance(0.03):
        return CategoricalDistribution([draw.choice(ODD)])
    if kind == "plain":
        return CategoricalDistribution(PLAIN[: draw.randint(2, len(PLAIN))])
    if draw.chance(0.1):
        return CategoricalDistribution([True, 1, 1.0])
    choices = ODD + (CONTAINERS if draw.chance(0.3) else [])
    if in_memory and draw.chance(0.3):
        choices = [*choices, [1, 2], {"k": 1}, Stubborn("x"), Stubborn("y"), print]
    return CategoricalDistribution(draw.some(choices, 2, 6))


def _below(draw: Draw, parameter: Parameter, parent: Parameter) -> Parameter:
    positions: frozenset[int] = frozenset()
    if isinstance(parent.first, CategoricalDistribution):
        n_choices = len(parent.first.choices)
        positions = frozenset(draw.some(range(n_choices), 1, max(1, n_choices - 1)))
    return replace(parameter, parent=parent.name, positions=positions)


def _moving(draw: Draw, parameter: Parameter, n_trials: int) -> Parameter:
    when = draw.randint(1, n_trials)
    kind = draw.one_of("late", "dropped", "range", "range", "choices", "kind")
    distribution = parameter.first
    if kind == "late":
        return replace(parameter, begins=when)
    if kind == "dropped":
        return replace(parameter, ends=when)
    if kind == "range" and not isinstance(distribution, CategoricalDistribution):
        other: BaseDistribution = draw.choice(
            [d for d in (*FLOATS, *INTEGERS) if type(d) is type(distribution)]
        )
    elif kind == "kind":
        other = draw.one_of(
            FloatDistribution(0.0, 1.0), IntDistribution(0, 9), CategoricalDistribution(["k", "l"])
        )
    else:
        other = CategoricalDistribution([*PLAIN[: draw.randint(1, 3)], "new"])
    return replace(parameter, stages=(*parameter.stages, (when, other)))
