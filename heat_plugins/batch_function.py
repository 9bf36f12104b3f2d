"""Functions of many points at once: what acquisitions are, and what searches maximise."""

from __future__ import annotations

from typing import Protocol

from heat_plugins.space import Array, Indices

__all__ = ["BatchFunction"]


class BatchFunction(Protocol):
    """Values of many points, and a gradient at one."""

    def __call__(self, points: Array) -> Array:
        """Return values (n,) at points (n, d)."""

    def of_changes(self, point: Array, columns: Indices, coordinates: Array) -> Array:
        """Return values (N,) at a point (d,) after each of N single changes."""

    def value_and_gradient(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the value at a point (d,) and its derivative (c,) in numeric columns."""
