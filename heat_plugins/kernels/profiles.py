"""Kernels as functions of the weighted distance alone: k = profile(D), profile(0) = 1.

Notation
    ===========  =====================================================================
    D            (n, m) weighted squared distance; on choices, a Hamming distance
    r            sqrt(D), what the isotropic kernels of Euclidean space take
    shape        (q,) hyperparameters of the profile itself, q is 0 or 1
    ===========  =====================================================================

Any kernel of the Euclidean distance is a kernel of sqrt(h) (prop. isohamming of the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from heat_plugins.space import Array

__all__ = ["Exponential", "Matern52", "OfDistance", "Profile", "RationalQuadratic"]


class Profile(Protocol):
    """A function of the distance; most have no hyperparameters of their own."""

    n_shapes: int = 0

    def value(self, distances: Array, shape: Array) -> Array:
        """Return correlations in the place of the distances."""

    def value_and_slopes(self, distances: Array, shape: Array) -> tuple[Array, Array, list[Array]]:
        """Return correlations, their derivative in D, and those in the shape."""


class Exponential(Profile):
    """exp(-D): the heat kernel, and the RBF kernel on numbers."""

    def value(self, distances: Array, shape: Array) -> Array:
        """Return exp(-D) in the place of D."""
        np.negative(distances, out=distances)
        return np.exp(distances, out=distances)

    def value_and_slopes(self, distances: Array, shape: Array) -> tuple[Array, Array, list[Array]]:
        """Return exp(-D) and -exp(-D)."""
        correlations = self.value(distances, shape)
        return correlations, -correlations, []


class Matern52(Profile):
    """(1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r): the kernel of Bounce."""

    def value(self, distances: Array, shape: Array) -> Array:
        """Return the correlations."""
        scaled = np.sqrt(5.0 * distances)
        correlations: Array = (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
        return correlations

    def value_and_slopes(self, distances: Array, shape: Array) -> tuple[Array, Array, list[Array]]:
        """Return the correlations and -5/6 (1 + sqrt(5) r) exp(-sqrt(5) r)."""
        scaled = np.sqrt(5.0 * distances)
        decay = np.exp(-scaled)
        correlations: Array = (1.0 + scaled + scaled**2 / 3.0) * decay
        return correlations, (-5.0 / 6.0) * (1.0 + scaled) * decay, []


class RationalQuadratic(Profile):
    """(1 + D / alpha)^-alpha, whose limit for large alpha is exp(-D).

    The shape is log(alpha).
    """

    n_shapes = 1

    def value(self, distances: Array, shape: Array) -> Array:
        """Return the correlations."""
        alpha = np.exp(shape[0])
        correlations: Array = np.exp(-alpha * np.log1p(distances / alpha))
        return correlations

    def value_and_slopes(self, distances: Array, shape: Array) -> tuple[Array, Array, list[Array]]:
        """Return the correlations and their derivatives in D and log(alpha)."""
        alpha = np.exp(shape[0])
        share = distances / alpha
        logarithm = np.log1p(share)
        correlations: Array = np.exp(-alpha * logarithm)
        by_distance = -correlations / (1.0 + share)
        by_shape = correlations * alpha * (share / (1.0 + share) - logarithm)
        return correlations, by_distance, [by_shape]


class OfDistance(Profile):
    """A function of r that the user gives, divided by its value at 0."""

    _STEP = 1e-4  # relative, of central differences

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._at_zero = float(np.asarray(function(np.zeros(1)), dtype=float)[0])

    def value(self, distances: Array, shape: Array) -> Array:
        """Return the correlations."""
        # The square root would make much of a distance that is zero but for rounding.
        exact = np.where(distances < 1e-13, 0.0, distances)
        values = np.asarray(self._function(np.sqrt(exact)), dtype=float)
        return values / self._at_zero

    def value_and_slopes(self, distances: Array, shape: Array) -> tuple[Array, Array, list[Array]]:
        """Return the correlations and their derivative in D by central differences."""
        # Where D = 0 nothing that is fitted can move it, so any finite slope will do.
        step = self._STEP * np.maximum(distances, 1e-8)
        above = self.value(distances + step, shape)
        below = self.value(distances - np.minimum(step, distances), shape)
        return (
            self.value(distances, shape),
            (above - below) / (step + np.minimum(step, distances)),
            [],
        )
