"""``HeatSampler`` for choices that have neighbours, an order or distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

try:
    from heat_plugins import HeatSampler
except ModuleNotFoundError as error:
    if error.name != "heat_plugins":
        raise  # the package is there, but something that it needs itself is not
    raise ImportError(
        "samplers/heat_kernel_graphs needs the package 'heat_plugins', which is not installed; "
        "install it with: pip install heat-plugins"
    ) from error

__all__ = ["HeatSampler", "graph_of_distances"]


def graph_of_distances(
    choices: Sequence[Any], distance: Callable[[Any, Any], float]
) -> np.ndarray:
    """Return a graph of choices whose edges are the stronger the closer their ends are.

    The weight of an edge is exp(-d^2 / (2 s^2)), d the distance of its ends and s the median over
    the choices of the distance to the nearest other one (the similarity graph of Belkin and
    Niyogi, 2003). For ``HeatSampler(graphs={"name": graph_of_distances(choices, distance)})``.

    Args:
        choices: As they are given to ``suggest_categorical``, in the same order.
        distance: Of two choices; 0 for equal ones, otherwise positive.

    Returns:
        Symmetric weights (g, g) of the edges, for g choices.
    """
    if len(choices) < 2:
        raise ValueError(f"choices must have at least 2 values, got {len(choices)}")
    distances = np.array([[float(distance(a, b)) for b in choices] for a in choices])
    others = ~np.eye(len(choices), dtype=bool)
    if not (np.isfinite(distances).all() and (distances[others] > 0.0).all()):
        raise ValueError("distance must be positive and finite for any two different choices")
    if not np.allclose(distances, distances.T):
        raise ValueError("distance must not depend on the order of its arguments")
    nearest = np.where(others, distances, np.inf).min(axis=1)
    weights = np.exp(-0.5 * (distances / np.median(nearest)) ** 2)
    return np.where(others, 0.5 * (weights + weights.T), 0.0)
