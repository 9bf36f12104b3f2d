"""The arguments of the sampler, checked when it is made rather than in the middle of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler

__all__ = ["check_arguments"]

_FLAGS = (
    "deterministic_objective",
    "warn_independent_sampling",
    "consider_pruned_trials",
    "consider_failed_trials",
    "record",
)
_FUNCTIONS = ("constraints_func", "is_feasible")


def check_arguments(given: Mapping[str, Any]) -> None:
    """Refuse arguments, by their names, that are not what they should be.

    Those of the model check themselves.
    """
    seed, n_startup_trials = given["seed"], given["n_startup_trials"]
    if seed is not None and not _is_count(seed):
        raise ValueError(f"seed must be None or a non-negative integer, got {seed!r}")
    if n_startup_trials is not None and not _is_count(n_startup_trials):
        raise ValueError(
            f"n_startup_trials must be None or a non-negative integer, got {n_startup_trials!r}"
        )
    timeout = given["pending_timeout"]
    if timeout is not None:
        is_number = isinstance(timeout, (int, float)) and timeout is not True
        if not is_number or not timeout > 0:
            raise ValueError(f"pending_timeout must be None or seconds > 0, got {timeout!r}")
    for name in _FLAGS:
        if not isinstance(given[name], (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {given[name]!r}")
    for name in _FUNCTIONS:
        if given[name] is not None and not callable(given[name]):
            raise TypeError(f"{name} must be None or a function, got {given[name]!r}")
    sampler = given["independent_sampler"]
    if sampler is not None and not isinstance(sampler, BaseSampler):
        raise TypeError(
            "independent_sampler must be None or a sampler of Optuna such as RandomSampler(), "
            f"got {sampler!r}"
        )


def _is_count(value: Any) -> bool:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_whole and bool(value >= 0)
