"""Attributes that the sampler writes to trials.

Other workers read the reservation (``reservation_record``) and the positions of ambiguous choices
(``distributions``), as system attributes. What people may want to read is a user attribute.
"""

from __future__ import annotations

import math
import os
import platform
import threading
from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from heat_plugins.gp.transfer_kernel import similarities
from heat_plugins.optuna.distributions import ambiguous_choices, choice_key
from heat_plugins.optuna.reservation_record import RESERVATION_KEY, reservation
from heat_plugins.space import Space
from heat_plugins.suggest import Suggestion

__all__ = ["record_of", "write_ambiguous_choices", "write_record", "write_reservation"]

_RECORD_KEY = "heat_plugins"


def write_reservation(
    study: Study,
    trial: FrozenTrial,
    region: int,
    search_space: Mapping[str, BaseDistribution],
    params: Mapping[str, Any],
) -> None:
    """Tell other workers where a trial will be, before its objective asks for it."""
    _write(study, trial, RESERVATION_KEY, reservation(region, search_space, params))


def write_ambiguous_choices(
    study: Study,
    trial: FrozenTrial,
    search_space: Mapping[str, BaseDistribution],
    params: Mapping[str, Any],
) -> None:
    """Write down the positions of choices that a storage will take for others."""
    for name, position in ambiguous_choices(search_space, params).items():
        _write(study, trial, choice_key(name), position)


def write_record(
    study: Study,
    trial: FrozenTrial,
    suggestion: Suggestion,
    space: Space,
    seconds: float,
    earlier: Mapping[str, int],
) -> None:
    """Write down how a suggestion came about, for people.

    Args:
        study: The study of the trial.
        trial: Where to write.
        suggestion: What was suggested.
        space: Its parameters.
        seconds: How long it took.
        earlier: The studies that this one goes on from, with how many of their trials were read.
    """
    record = _record_of(suggestion, space, seconds)
    if earlier:
        record["previous"] = _record_of_earlier(suggestion, earlier)
    study._storage.set_trial_user_attr(trial._trial_id, _RECORD_KEY, record)


def record_of(trial: FrozenTrial) -> Mapping[str, Any]:
    """Return what ``write_record`` wrote to a trial; nothing where that is something else."""
    record = trial.user_attrs.get(_RECORD_KEY)
    return record if isinstance(record, Mapping) else {}


def _worker() -> str:
    """Return who works on a trial: the machine, the process, and the thread if it is another."""
    thread = threading.current_thread()
    name = "" if thread is threading.main_thread() else f" {thread.name}"
    return f"{platform.node()} {os.getpid()}{name}"


def _record_of(suggestion: Suggestion, space: Space, seconds: float) -> dict[str, Any]:
    """Return how a suggestion came about, as JSON can have it."""
    region = suggestion.region
    part = None if region is None else region.as_region(space)
    kernel_fit = suggestion.kernel_fit
    return {
        "region": None if region is None else region.index,
        "scale": None if region is None else region.scale,
        "radius": None if part is None else part.radius,
        "structure": None if kernel_fit is None else kernel_fit.name,
        "evidence": {} if kernel_fit is None else dict(kernel_fit.evidence),
        "acquisition": suggestion.acquisition if math.isfinite(suggestion.acquisition) else None,
        "seconds": seconds,
        "worker": _worker(),
    }


def _record_of_earlier(suggestion: Suggestion, earlier: Mapping[str, int]) -> dict[str, Any]:
    """Return how many trials each earlier study had, and how alike it was found to be."""
    fit = suggestion.kernel_fit
    similar = {} if fit is None else similarities(fit.kernel, fit.hyperparameters)
    return {name: {"trials": n, "similarity": similar.get(name)} for name, n in earlier.items()}


def _write(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write an attribute of a trial. Optuna has no public way for what users need not see."""
    study._storage.set_trial_system_attr(trial._trial_id, key, value)
