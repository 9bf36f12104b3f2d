"""Published optimisers by name, as arguments of this one.

``docs/pipelines.md`` says of each what it stands for and what differs from the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_plugins.spec.structures import Additive, RandomDecomposition

__all__ = ["PIPELINES", "Pipeline", "pipeline"]

# What all of them have in common: they know no choices that are numbers, and begin with as many
# random points as in the paper.
_COMMON: dict[str, Any] = {
    "numeric_choices": "unordered",
    "n_startup_trials": 20,
    "acquisition": "log-ei",
    "hyperparameters": "maximum-likelihood",
    "trust_region": False,
}


@dataclass(frozen=True)
class Pipeline:
    """A published system.

    Args:
        reference: Who published it.
        parts: The arguments that differ from what all have in common.
    """

    reference: str
    parts: Mapping[str, Any]


PIPELINES: dict[str, Pipeline] = {
    "heat": Pipeline(
        "Doumont et al., 2025",
        {"kernel": "heat", "search": "genetic", "trust_region": "casmopolitan"},
    ),
    "combo": Pipeline(
        "Oh et al., 2019",
        {
            "kernel": "combo",
            "hyperparameters": "slice-sampling",
            "search": "hill-climbing",
        },
    ),
    "casmopolitan": Pipeline(
        "Wan et al., 2021",
        {
            "kernel": "casmopolitan",
            "search": "interleaved",
            "trust_region": "casmopolitan",
        },
    ),
    "boss": Pipeline("Moss et al., 2020", {"kernel": "ssk", "search": "genetic"}),
    "cocabo": Pipeline(
        "Ru et al., 2020",
        {
            "structure": Additive(remainder=False),
            "mixing": "mixture",
            "acquisition": "ucb",
            "search": "bandit",
        },
    ),
    "rducb": Pipeline(
        "Ziomek and Bou Ammar, 2023",
        {
            "structure": RandomDecomposition(),
            "acquisition": "ucb",
            "search": "message-passing",
        },
    ),
    "bodi": Pipeline("Deshwal et al., 2023", {"kernel": "hed", "search": "hill-climbing"}),
    "bounce": Pipeline(
        "Papenmeier et al., 2023",
        {
            "kernel": "matern",
            "ard": False,
            "hyperparameters": "map",
            "n_startup_trials": 5,
            "search": "hill-climbing",
            "embedding": "nested",
            "trust_region": "bounce",
        },
    ),
    "nasbowl": Pipeline("Ru et al., 2021", {"search": "pool", "n_startup_trials": 10}),
}


def pipeline(name: str) -> dict[str, Any]:
    """Return the arguments that make a published system of a sampler.

    Example:
        .. code-block:: python

            HeatSampler(seed=0, **pipeline("bounce"))
            heat_generation_strategy(seed=0, **pipeline("bounce"))
            HeatSampler(**pipeline("combo") | {"kernel": "heat"})  # one part exchanged

    Args:
        name: ``"heat"``, the paper's own, ``"combo"``, ``"casmopolitan"``, ``"boss"``,
            ``"cocabo"``, ``"rducb"``, ``"bodi"``, ``"bounce"`` or ``"nasbowl"``.

    Raises:
        ValueError: If there is no such system.
    """
    if name not in PIPELINES:
        raise ValueError(f"name must be one of {tuple(PIPELINES)}, got {name!r}")
    return {**_COMMON, **PIPELINES[name].parts}
