"""The sub-sequence string kernel of BOSS, for comparison.

Notation
    ===========  =====================================================================
    L            length of the strings
    A            size of the alphabet
    gap, match   decays in (0, 1] of a gap and of a matched symbol
    R            longest sub-sequence that counts
    phi_u(x)     sum over the places i_1 < ... < i_r where x spells the word u
    ===========  =====================================================================

The kernel counts common sub-sequences of up to R = 3 symbols, each match worth match^2 and each
gap gap^(its length) (Lodhi et al., 2002; Moss et al., 2020). What a word u of r symbols is worth
in a string does not depend on the other string,

    phi_u(x) = sum match^r gap^(i_r - i_1 + 1 - r),    k(x, x') = sum_u phi_u(x) phi_u(x'),

then divided by the square roots of k(x, x) and k(x', x'). So with a feature for each of the
A + A^2 + A^3 words the kernel is one matrix product, and the features of a string take one pass
along it: at each place the words that end before it, gaps included, grow by its symbol.

A large alphabet has too many words. There the sums run over pairs of places: with M the (L, L)
matrix that is 1 where two symbols agree, and E that of gap^(j - i - 1) for i < j,

    S_1 = match^2 M,   S_r = match^2 M * (E^T S_{r-1} E),   k = sum_r sum_ij S_r.

The choices of all parameters are taken for one alphabet, which is what makes this kernel
prefer repeated values.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.kernels.base import CrossCovariance, CrossFunction
from heat_plugins.kernels.baselines.listed_settings import ListedSettingsKernel
from heat_plugins.space import Array, Indices

__all__ = ["StringKernel"]

LONGEST = 3
LARGEST_ALPHABET = 16  # whose words are features
PAIRS_AT_ONCE = 2000
# (gap, match) decays to choose among: the likelihood is costly and flat in both.
DECAYS = ((0.2, 0.5), (0.5, 0.5), (0.8, 0.5), (0.2, 0.8), (0.5, 0.8), (0.8, 0.8), (0.95, 0.9))


class StringKernel(ListedSettingsKernel):
    """Common sub-sequences of the discrete columns, read as a string of codes below ``n_symbols``.

    The only hyperparameter is the number of a pair of decays.
    """

    def __init__(self, columns: Indices, n_symbols: int) -> None:
        super().__init__(len(DECAYS))
        self._columns = columns
        self._n_symbols = n_symbols

    def prepare(self, points: Array) -> Array:
        """Return the strings (n, L); NaN where there is no symbol."""
        return points[:, self._columns]

    def matrix(self, theta: Array, prepared: Array) -> Array:
        """Return the kernel matrix (n, n)."""
        decays = DECAYS[self.setting(theta)]
        if self._n_symbols <= LARGEST_ALPHABET:
            words = _words(prepared, self._n_symbols, *decays)
            return words @ words.T
        n = len(prepared)
        rows, columns = np.triu_indices(n)
        kernel = np.empty((n, n))
        kernel[rows, columns] = _similarities(prepared[rows], prepared[columns], *decays)
        kernel[columns, rows] = kernel[rows, columns]
        scale = np.sqrt(np.diagonal(kernel))
        return kernel / np.outer(scale, scale)

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        decays = DECAYS[self.setting(theta)]
        strings = self.prepare(points)
        if self._n_symbols <= LARGEST_ALPHABET:
            words = np.ascontiguousarray(_words(strings, self._n_symbols, *decays).T)
            return CrossFunction(
                lambda others: _words(self.prepare(others), self._n_symbols, *decays) @ words
            )
        scale = np.sqrt(_similarities(strings, strings, *decays))

        def covariances(others: Array) -> Array:
            given = self.prepare(others)
            m, n = len(given), len(strings)
            pairs = np.repeat(given, n, axis=0), np.tile(strings, (m, 1))
            raw = _similarities(*pairs, *decays).reshape(m, n)
            own = np.sqrt(_similarities(given, given, *decays))
            return raw / np.outer(own, scale)

        return CrossFunction(covariances)


def _words(strings: Array, n_symbols: int, gap: float, match: float) -> Array:
    """Return features (m, A + A^2 + A^3) of strings (m, L), each row of length one."""
    m, length = strings.shape
    exists = ~np.isnan(strings)
    symbols = np.where(exists, strings, 0.0).astype(np.int64)
    worth = match * exists
    # What words of one and two symbols that end before a place are worth there, and how much
    # all words so far are; the last symbol of a word is the first index after the string's.
    ones_before = np.zeros((m, n_symbols))
    twos_before = np.zeros((m, n_symbols, n_symbols))
    ones, twos = np.zeros_like(ones_before), np.zeros_like(twos_before)
    threes = np.zeros((m, n_symbols, n_symbols, n_symbols))
    rows = np.arange(m)
    for place in range(length):
        here = (rows, symbols[:, place])
        one = worth[:, place]
        two = one[:, None] * ones_before
        threes[here] += one[:, None, None] * twos_before
        twos[here] += two
        ones[here] += one
        twos_before *= gap
        twos_before[here] += two
        ones_before *= gap
        ones_before[here] += one
    parts = (ones, twos, threes)
    words = np.concatenate([p.reshape(m, n_symbols ** (p.ndim - 1)) for p in parts], axis=1)
    words /= np.sqrt(np.einsum("ij,ij->i", words, words))[:, None]
    return words


def _similarities(left: Array, right: Array, gap: float, match: float) -> Array:
    """Return (pairs,) the kernel of strings (pairs, L), before normalisation."""
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
