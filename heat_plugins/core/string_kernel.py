"""The sub-sequence string kernel of BOSS, for comparison.

Notation
    ===========  =====================================================================
    L            length of the strings
    M            (pairs, L, L) 1 where two symbols agree
    gap, match   decays in (0, 1] of a gap and of a matched symbol
    R            longest sub-sequence that counts
    ===========  =====================================================================

The kernel counts common sub-sequences of up to R symbols, each match worth match^2 and each
gap gap^(its length) (Lodhi et al., 2002; Moss et al., 2020). With E the (L, L) matrix of
gap^(j - i - 1) for i < j, the sums over all earlier places are two matrix products, and

    S_1 = match^2 M,   S_r = match^2 M * (E^T S_{r-1} E),   k = sum_r sum_ij S_r,

then divided by the square roots of k(x, x) and k(x', x'). The choices of all parameters are
taken for one alphabet, which is what makes this kernel prefer repeated values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_plugins.core.covariance import STARTING_TOTALS, Covariance, Cross, Prior, Pullback
from heat_plugins.space import Array

__all__ = ["StringKernel"]

LONGEST = 3
PAIRS_AT_ONCE = 2000
# (gap, match) decays to choose among: the likelihood is costly and flat in both.
DECAYS = ((0.2, 0.5), (0.5, 0.5), (0.8, 0.5), (0.2, 0.8), (0.5, 0.8), (0.8, 0.8), (0.95, 0.9))


class StringKernel(Covariance):
    """Common sub-sequences of the discrete columns, read as a string."""

    def __init__(self, columns: NDArray[np.int64]) -> None:
        """Hold the columns; the hyperparameter is the number of a pair of decays."""
        self._columns = columns
        self.bounds = np.array([(0.0, len(DECAYS) - 1.0)])

    def start(self, total: float) -> Array:
        """Return a pair of decays; those for small totals find strings more alike."""
        place = np.interp(np.log(total), np.log(STARTING_TOTALS), np.arange(len(DECAYS)))
        return np.array([np.round(place)])

    def prior(self, theta: Array) -> Prior:
        """Return nothing: all decays are equally likely."""
        return 0.0, np.zeros(1)

    def prepare(self, points: Array) -> Array:
        """Return the strings (n, L)."""
        return points[:, self._columns]

    def matrix(self, theta: Array, prepared: Array) -> Array:
        """Return the kernel matrix (n, n)."""
        n = len(prepared)
        rows, columns = np.triu_indices(n)
        kernel = np.empty((n, n))
        kernel[rows, columns] = self._similarities(theta, prepared[rows], prepared[columns])
        kernel[columns, rows] = kernel[rows, columns]
        scale = np.sqrt(np.diagonal(kernel))
        return kernel / np.outer(scale, scale)

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Return the kernel matrix; its decays are chosen, not climbed."""
        return self.matrix(theta, prepared), lambda by_kernel: np.zeros(1)

    def _similarities(self, theta: Array, left: Array, right: Array) -> Array:
        """Return (pairs,) the kernel of strings (pairs, L), before normalisation."""
        gap, match = DECAYS[round(float(theta[0]))]
        length = left.shape[1]
        lag = np.arange(length)[None, :] - np.arange(length)[:, None]
        earlier = np.where(lag > 0, gap ** np.maximum(lag - 1.0, 0.0), 0.0)  # (L, L)
        total = np.empty(len(left))
        for first in range(0, len(left), PAIRS_AT_ONCE):
            some = slice(first, first + PAIRS_AT_ONCE)
            agree = (left[some, :, None] == right[some, None, :]) * match**2
            matched = agree
            total[some] = matched.sum(axis=(1, 2))
            for _ in range(LONGEST - 1):
                matched = agree * (earlier.T @ (matched @ earlier))
                total[some] += matched.sum(axis=(1, 2))
        return total

    def given(self, theta: Array, points: Array) -> Cross:
        """Return covariances with observations (n, d)."""
        return _StringCross(self, theta, self.prepare(points))


class _StringCross(Cross):
    """Similarities with the observed strings."""

    def __init__(self, kernel: StringKernel, theta: Array, strings: Array) -> None:
        self._kernel, self._theta, self._strings = kernel, theta, strings
        self._scale = np.sqrt(kernel._similarities(theta, strings, strings))

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, n) of points (m, d) with the observations."""
        strings = self._kernel.prepare(points)
        m, n = len(strings), len(self._strings)
        raw = self._kernel._similarities(
            self._theta, np.repeat(strings, n, axis=0), np.tile(self._strings, (m, 1))
        ).reshape(m, n)
        own = np.sqrt(self._kernel._similarities(self._theta, strings, strings))
        covariances: Array = raw / np.outer(own, self._scale)
        return covariances
