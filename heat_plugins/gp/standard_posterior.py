"""A posterior in units of its signal deviation, for processes that are built on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heat_plugins.kernels.base import CrossCovariance
from heat_plugins.space import Array

__all__ = ["StandardPosterior"]


@dataclass(frozen=True, eq=False)
class StandardPosterior:
    """A posterior in units of sigma, with covariances with some other points.

    Args:
        cross: Covariances with the observations that the kernel has.
        prior: Those with the other points.
        whitener: (n + p, n + p) of the observations.
        alpha: (n,) weights of the observations in the mean.
        of_others: (o, n + p) covariances of the other points with the observations, whitened.
    """

    cross: CrossCovariance
    prior: CrossCovariance
    whitener: Array
    alpha: Array
    of_others: Array

    def __call__(self, points: Array) -> tuple[Array, Array, Array]:
        """Return of points (m, d) means and variances (m,), covariances (m, o) with the others."""
        covariances, own = self.cross.with_diagonal(points)
        whitened = covariances @ self.whitener
        mean = covariances[:, : len(self.alpha)] @ self.alpha
        variance = np.maximum(own - np.einsum("ij,ij->i", whitened, whitened), 0.0)
        return mean, variance, self.prior(points) - whitened @ self.of_others.T
