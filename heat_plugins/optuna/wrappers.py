"""Parameters that samplers around this one fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.samplers import BaseSampler, PartialFixedSampler

__all__ = ["fixed_by"]


def fixed_by(sampler: BaseSampler) -> Mapping[str, Any]:
    """Return the parameters that a study's sampler keeps fixed, with their values.

    ``PartialFixedSampler`` takes them out of the search space and has no public way to tell
    their values. Around another of its kind the outer one decides.
    """
    fixed: dict[str, Any] = {}
    while isinstance(sampler, PartialFixedSampler):
        fixed = {**sampler._fixed_params, **fixed}
        sampler = sampler._base_sampler
    return fixed
