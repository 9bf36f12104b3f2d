"""Conversion of Optuna's distributions and trials to spaces and points."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.trial import FrozenTrial

from heat_plugins.space import Categorical, Float, Integer, Parameter, Space
from heat_plugins.space.stored_integer import LARGEST_EXACT, storable_integers

__all__ = [
    "ambiguous_choices",
    "as_given",
    "choice_key",
    "fixed_params",
    "has_same_choices",
    "is_modelled",
    "is_same_kind",
    "is_same_when_stored",
    "middle_of",
    "params_of",
    "positions_by_choice",
    "random_line",
    "space_of",
]

_FIXED_PARAMS_KEY = "fixed_params"  # where Study.enqueue_trial keeps what it was given
_PLAIN = (type(None), bool, int, float, str)  # types of choices that Optuna keeps as they are


def space_of(search_space: Mapping[str, BaseDistribution]) -> Space:
    """Return the space of a relative search space, columns in its order."""
    return Space(tuple(_parameter(name, dist) for name, dist in search_space.items()))


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, CategoricalDistribution):
        listed = Categorical(name, distribution.choices)
        # A choice that is listed twice would look untried for ever.
        return Categorical(
            name, tuple(c for i, c in enumerate(listed.choices) if listed.encode(c) == i)
        )
    if isinstance(distribution, IntDistribution):
        return storable_integers(
            name, distribution.low, distribution.high, distribution.step, distribution.log
        )
    if isinstance(distribution, FloatDistribution):
        return Float(
            name, distribution.low, distribution.high, distribution.step, distribution.log
        )
    raise TypeError(
        f"distribution of {name!r} must be categorical, int or float, got {distribution!r}"
    )


def is_modelled(distribution: BaseDistribution) -> bool:
    """Whether values of a distribution can be proposed.

    Not those of whole numbers beyond all floats, nor steps in a range of infinite length, with
    which Optuna's own check of a proposal overflows.
    """
    if type(distribution) is CategoricalDistribution:
        return True
    if isinstance(distribution, IntDistribution):
        low, high = distribution.low, distribution.high
        return max(-low, high, high - low) < sys.float_info.max
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        return math.isfinite(distribution.high - distribution.low)
    return True


def random_line(name: str, distribution: BaseDistribution) -> Float | Integer | None:
    """Return what to draw a random number from where Optuna's own draws fail; else None.

    They overflow in ranges of infinite length, and whole numbers beyond 2^53 come back from
    the storage as others, perhaps out of range.
    """
    if isinstance(distribution, FloatDistribution):
        is_easy = math.isfinite(distribution.high - distribution.low)
    elif isinstance(distribution, IntDistribution):
        largest = max(abs(distribution.low), abs(distribution.high))
        is_easy = largest <= LARGEST_EXACT or not is_modelled(distribution)
    else:
        return None
    line = None if is_easy else _parameter(name, distribution)
    assert line is None or isinstance(line, Float | Integer)
    return line


def middle_of(name: str, distribution: BaseDistribution) -> float | int | None:
    """Return the number in the middle of a range, on its scale; None where there is none."""
    if isinstance(distribution, CategoricalDistribution) or not is_modelled(distribution):
        return None
    parameter = _parameter(name, distribution)
    if parameter.n_levels <= 2:
        return None
    middle: float | int = parameter.decode(float(parameter.snap(np.array(0.5))))
    return middle


def fixed_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the values that ``enqueue_trial`` fixed for a trial."""
    fixed = trial.system_attrs.get(_FIXED_PARAMS_KEY)
    return dict(fixed) if isinstance(fixed, Mapping) else {}


def params_of(
    search_space: Mapping[str, BaseDistribution],
    trial: FrozenTrial,
    stored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the values of a trial, or those ``stored``, choices as the search space lists them.

    The values of the trial itself will not do. A storage may give tuples back as lists, so
    choices are found by their position; and it writes down the first choice that is equal,
    so 1.0 and True are found where they were noted when the trial got them. Where a trial had
    other choices (they were changed since, or it was added by hand) positions mean nothing,
    and its value is taken as it is.
    """
    # A copy: the thread that runs the trial may add to it.
    stored = dict(trial.params if stored is None else stored)
    params = dict(stored)
    fixed = fixed_params(trial)
    for name, value in stored.items():
        distribution, own = search_space.get(name), trial.distributions[name]
        if not isinstance(distribution, CategoricalDistribution):
            continue
        if name in fixed:
            params[name] = fixed[name]
        elif is_same_when_stored(distribution, own):
            position = int(own.to_internal_repr(value))
            noted = trial.system_attrs.get(choice_key(name))
            if type(noted) is int and 0 <= noted < len(distribution.choices):
                position = noted
            elif type(value) in _PLAIN and type(distribution.choices[position]) is not type(value):
                # Added by hand to a storage in memory, which keeps what it was given.
                choices = enumerate(distribution.choices)
                same = (i for i, c in choices if type(c) is type(value) and c == value)
                position = next(same, position)
            params[name] = distribution.choices[position]
    return params


def positions_by_choice(distribution: BaseDistribution) -> dict[Any, int] | None:
    """Return the position of each choice; None where looking one up could find another.

    That is where choices are equal (1, 1.0 and True), not equal to themselves (NaN), or of a
    type that a storage may give back as another one.
    """
    if not isinstance(distribution, CategoricalDistribution):
        return None
    choices = distribution.choices
    if any(type(choice) not in _PLAIN or choice != choice for choice in choices):
        return None
    positions = {choice: position for position, choice in enumerate(choices)}
    return positions if len(positions) == len(choices) else None


def ambiguous_choices(
    search_space: Mapping[str, BaseDistribution], params: Mapping[str, Any]
) -> dict[str, int]:
    """Return the positions of the choices that a storage will take for others.

    To Optuna 1, 1.0 and True are the same choice: it stores the first of them.
    """
    positions = {}
    for name, value in params.items():
        distribution = search_space[name]
        if not isinstance(distribution, CategoricalDistribution):
            continue
        stored = int(distribution.to_internal_repr(value))
        if type(value) in _PLAIN and type(distribution.choices[stored]) is type(value):
            continue  # without a table of the choices, which may be very many
        position = int(Categorical(name, distribution.choices).encode(value))
        if position != stored:
            positions[name] = position
    return positions


def choice_key(name: str) -> str:
    """Return the trial attribute that notes the position of an ambiguous choice."""
    return f"heat_plugins:choice:{name}"


def is_same_when_stored(left: BaseDistribution, right: BaseDistribution) -> bool:
    """Whether two distributions are equal, or become so when stored as JSON."""
    if has_same_choices(left, right) or left == right:
        return True
    try:
        return distribution_to_json(left) == distribution_to_json(right)
    except TypeError:  # objects as choices, which nothing but the memory can hold
        return False


def as_given(
    distribution: BaseDistribution, given: BaseDistribution | None, latest: BaseDistribution | None
) -> BaseDistribution | None:
    """Return a distribution of stored trials as the objective has it; None if it is not known.

    Tuples come back from a storage as lists, which Optuna then refuses as other choices. And
    trials that were added may have had the parameter in another form, or in another range
    to which settings do not apply.

    Args:
        distribution: As trials have it.
        given: As the objective has asked for it in this process, if it has.
        latest: As the last trial of this process had it, if settings name the parameter.
    """
    if given is not None and not is_same_kind(given, distribution):
        return given
    distribution = latest or distribution
    if not isinstance(distribution, CategoricalDistribution):
        return distribution
    if given is not None and is_same_when_stored(given, distribution):
        return given
    # What is a list or a dictionary now may have been something else before it was stored.
    has_containers = any(isinstance(choice, (list, dict)) for choice in distribution.choices)
    return None if has_containers else distribution


def has_same_choices(left: BaseDistribution, right: BaseDistribution) -> bool:
    """Whether the choices of two distributions are equal as tuples, which is quickly told.

    Optuna compares them one by one: milliseconds for each trial where choices are thousands.
    """
    if left is right:
        return True
    # Every parameter of every trial comes by, and isinstance is slow for abstract classes.
    if type(left) is not CategoricalDistribution or type(right) is not CategoricalDistribution:
        return False
    return bool(left.choices == right.choices)


def is_same_kind(left: BaseDistribution, right: BaseDistribution) -> bool:
    """Whether Optuna takes two distributions for ones of the same parameter.

    Ranges may change; choices and whether a scale is logarithmic may not.
    """
    if has_same_choices(left, right):
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, (FloatDistribution, IntDistribution)):
        assert isinstance(right, (FloatDistribution, IntDistribution))
        return left.log == right.log
    return is_same_when_stored(left, right)
