"""The arguments of the sampler, checked when it is made rather than in the middle of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.samplers import BaseSampler

from heat_plugins.spec.checks import check_bool, check_whole

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
    check_whole("seed", given["seed"], optional=True)
    check_whole("n_startup_trials", given["n_startup_trials"], optional=True)
    timeout = given["pending_timeout"]
    if timeout is not None:
        is_number = isinstance(timeout, (int, float)) and timeout is not True
        if not is_number or not timeout > 0:
            raise ValueError(f"pending_timeout must be None or seconds > 0, got {timeout!r}")
    for name in _FLAGS:
        check_bool(name, given[name])
    for name in _FUNCTIONS:
        if given[name] is not None and not callable(given[name]):
            raise TypeError(f"{name} must be None or a function, got {given[name]!r}")
    sampler = given["independent_sampler"]
    if sampler is not None and not isinstance(sampler, BaseSampler):
        raise TypeError(
            "independent_sampler must be None or a sampler of Optuna such as RandomSampler(), "
            f"got {sampler!r}"
        )
