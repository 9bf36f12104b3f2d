"""The one attribute that this sampler writes to a trial: what it was asked to be.

    {"region": 0, "point": {"optimizer": 2, "lr": 0.01}}

``region`` is the trust region that asked for it. ``point`` is there while nobody else can
know it: a storage has the parameters of a trial only when the objective has come to ask for
them. Choices are positions, which any storage keeps as they are. Anyone may write anything to
a trial, so whatever is not as expected is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.history import NO_REGION
from heat_plugins.space.categorical import Categorical

__all__ = [
    "RESERVATION_KEY",
    "reservation",
    "reserved_params",
    "reserved_region",
    "doubtful_params",
]

RESERVATION_KEY = "heat_plugins:asked"


def reservation(
    region: int, search_space: Mapping[str, BaseDistribution], params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attribute of a trial."""
    point: dict[str, Any] = {}
    for name, value in params.items():
        distribution = search_space[name]
        if isinstance(distribution, CategoricalDistribution):
            point[name] = int(Categorical(name, distribution.choices).encode(value))
        else:
            point[name] = value
    return {"region": region, "point": point}


def reserved_region(trial: FrozenTrial) -> int:
    """Return the trust region that asked for a trial."""
    region = _attribute(trial).get("region")
    if isinstance(region, int) and not isinstance(region, bool) and 0 <= region < 2**31:
        return region
    return NO_REGION


def reserved_params(
    trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Return the values that a trial was given, as far as the search space has them."""
    point = _attribute(trial).get("point")
    if not isinstance(point, Mapping):
        return {}
    params: dict[str, Any] = {}
    for name, value in point.items():
        distribution = search_space.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if isinstance(distribution, CategoricalDistribution):
            if isinstance(value, int) and 0 <= value < len(distribution.choices):
                params[name] = distribution.choices[value]
        elif isinstance(distribution, (FloatDistribution, IntDistribution)):
            if distribution.low <= value <= distribution.high:
                params[name] = value
    return params


def doubtful_params(trials: Sequence[FrozenTrial], current: FrozenTrial) -> set[str]:
    """Return parameters that only trials from elsewhere have, where one of ours has just failed.

    Optuna raises an error where an objective asks for a parameter in another form than the
    trials have that were added to its study. The sampler is not told: after a trial that failed
    without such a parameter it must let the objective show in what form it asks for it.
    """
    ended = (t for t in reversed(trials) if t.state.is_finished() and t.number != current.number)
    last = next(ended, None)
    if last is None or last.state != TrialState.FAIL or not _is_ours(last):
        return set()
    known = {name for trial in trials if _is_ours(trial) for name in dict(trial.params)}
    return {name for trial in trials for name in dict(trial.params)} - known


def _is_ours(trial: FrozenTrial) -> bool:
    return isinstance(_attribute(trial).get("point"), Mapping)


def _attribute(trial: FrozenTrial) -> Mapping[str, Any]:
    found = trial.system_attrs.get(RESERVATION_KEY)
    return found if isinstance(found, Mapping) else {}
