"""Optuna's distributions and trials in the words of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from heat_plugins.space import Array, Categorical, Float, Integer, Parameter, Space

__all__ = ["encode_params", "encode_trial", "space_of"]


def space_of(search_space: Mapping[str, BaseDistribution]) -> Space:
    """Return the space of a relative search space, columns in its order."""
    return Space(tuple(_parameter(name, dist) for name, dist in search_space.items()))


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(name, tuple(distribution.choices))
    if isinstance(distribution, IntDistribution):
        return Integer(
            name, distribution.low, distribution.high, distribution.step, distribution.log
        )
    if isinstance(distribution, FloatDistribution):
        return Float(
            name, distribution.low, distribution.high, distribution.step, distribution.log
        )
    raise TypeError(
        f"distribution of {name!r} must be categorical, int or float, got {distribution!r}"
    )


def encode_params(space: Space, params: Mapping[str, Any]) -> Array | None:
    """Return the point of parameter values; None where one is missing or out of range."""
    try:
        return space.encode(params)
    except ValueError:
        return None


def encode_trial(
    space: Space, search_space: Mapping[str, BaseDistribution], trial: FrozenTrial
) -> Array | None:
    """Return the point of a trial; None where it does not lie in the space.

    A choice is found among the choices that the trial itself was drawn from: a storage may
    give tuples back as lists, and then only the positions are the same.
    """
    params = dict(trial.params)
    for name, distribution in search_space.items():
        own = trial.distributions.get(name)
        if name not in params or own is None:
            return None
        if isinstance(own, CategoricalDistribution) and own.choices != getattr(
            distribution, "choices", None
        ):
            assert isinstance(distribution, CategoricalDistribution)
            code = Categorical(name, tuple(own.choices)).encode(params[name])
            params[name] = distribution.choices[int(code)]
    return encode_params(space, params)
