r"""The heat kernel averaged over a group that permutes parameters.

Notation
    ===========  =====================================================================
    b            number of parameters in the group, all with the same choices
    rho          correlation of two points that differ in one of them, e^-w
    G            the permutations
    c_k          (n, m, b + 1) coefficients that depend on the points alone
    ===========  =====================================================================

    k_sum(x, x') = (1 / |G|^2) sum_{g, g'} rho^h(g x, g' x')

With one weight for the whole group, h(g x, g' x') = h(x, g^-1 g' x'), so one sum over the
group is enough, and all that the points contribute is how often each number of matches
occurs. That does not depend on rho and is found once.

For *all* permutations of b parameters no sum is needed at all. Let n_c and n'_c count the
choice c in x and x'. The ways to place k matches are the rook numbers of the boards
n_c x n'_c, the coefficients of prod_c sum_j C(n_c, j) C(n'_c, j) j! z^j, and

    k_sum = sum_k r_k (b - k)! / b! (1 - rho)^k rho^(b - k).

Points with repeated choices are fixed by more permutations and would have more prior
variance than others, so the kernel is divided by the square root of its diagonal on both
sides.
"""

from __future__ import annotations

from math import comb, factorial

import numpy as np

from heat_plugins.kernels.base import CrossCovariance, CrossFunction, Pullback
from heat_plugins.kernels.base_kernels import OneWeight
from heat_plugins.kernels.distance import LOG_WEIGHT_BOUNDS
from heat_plugins.kernels.features import count_choices
from heat_plugins.space import Array, Indices

__all__ = ["AllPermutations", "GivenPermutations", "GroupAverageKernel"]


MOST_PARAMETERS = 150  # whose factorial a float can hold


class AllPermutations:
    """The full symmetric group on b parameters, by rook numbers."""

    def __init__(self, n_parameters: int, n_choices: int) -> None:
        if n_parameters > MOST_PARAMETERS:
            raise ValueError(
                f"method 'sum' over all permutations takes at most {MOST_PARAMETERS} "
                f"parameters, got {n_parameters}; use 'padded-sort'"
            )
        self._b = n_parameters
        self._g = n_choices
        size = n_parameters + 1
        orders = np.array([factorial(j) for j in range(size)], dtype=float)
        ways = np.array([[comb(p, j) for j in range(size)] for p in range(size)], dtype=float)
        # (b + 1, b + 1, b + 1): C(p, j) C(q, j) j! for counts p and q
        self._rooks = ways[:, None, :] * ways[None, :, :] * orders
        self._arrangements = orders[::-1] / orders[-1]  # (b - k)! / b!

    def coefficients(self, left: Array, right: Array) -> Array:
        """Return the rook numbers, times (b - k)! / b!: (n, m, b + 1) for codes (n, b), (m, b)."""
        p, q = count_choices(left, self._g), count_choices(right, self._g)
        return self._from_counts(p[:, None, :], q[None, :, :])

    def own_coefficients(self, codes: Array) -> Array:
        """Return the same (n, b + 1) for pairs of equal points."""
        counts = count_choices(codes, self._g)
        return self._from_counts(counts, counts)

    def _from_counts(self, p: Array, q: Array) -> Array:
        """Multiply the polynomials of the choices, all pairs at once."""
        shape = np.broadcast_shapes(p.shape[:-1], q.shape[:-1])
        p, q = np.broadcast_to(p, (*shape, self._g)), np.broadcast_to(q, (*shape, self._g))
        product = np.zeros((*shape, self._b + 1))
        product[..., 0] = 1.0
        for c in range(self._g):
            rooks = self._rooks[p[..., c].astype(np.int64), q[..., c].astype(np.int64)]
            longest = int(np.minimum(p[..., c], q[..., c]).max(initial=0.0))
            grown = product.copy()  # the term j = 0 is one
            for j in range(1, longest + 1):
                grown[..., j:] += rooks[..., j, None] * product[..., : self._b + 1 - j]
            product = grown
        product *= self._arrangements
        return product

    def basis(self, rho: float) -> tuple[Array, Array]:
        """Return (1 - rho)^k rho^(b - k), the weights (b + 1,) of these, and the derivative."""
        k = np.arange(self._b + 1.0)
        rest = self._b - k
        value = (1.0 - rho) ** k * rho**rest
        with np.errstate(divide="ignore", invalid="ignore"):
            grows = np.where(rest > 0, rest * (1.0 - rho) ** k * rho ** (rest - 1.0), 0.0)
            falls = np.where(k > 0, k * (1.0 - rho) ** (k - 1.0) * rho**rest, 0.0)
        return value, grows - falls


class GivenPermutations:
    """Average over given permutations of the second point, and perhaps of the first.

    Args:
        second: (q, b) permutations of the second point.
        first: (p, b) permutations of the first one; None for the identity alone, which is
            enough where ``second`` is a whole group.
        n_choices: Largest number of choices.
    """

    def __init__(self, second: Indices, first: Indices | None, n_choices: int) -> None:
        self._b = second.shape[1]
        self._g = n_choices
        self._firsts = [np.arange(self._b)] if first is None else list(first)
        self._second = second

    def _one_hot(self, codes: Array) -> Array:
        features = np.zeros((len(codes), self._b, self._g))
        rows, places = np.indices(codes.shape)
        features[rows, places, codes.astype(np.int64)] = 1.0
        return features

    def coefficients(self, left: Array, right: Array) -> Array:
        """Return how often each number of matches occurs, as shares (n, m, b + 1)."""
        a, b = self._one_hot(left), self._one_hot(right)
        shares = np.zeros((len(left), len(right), self._b + 1))
        for first in self._firsts:
            rows = a[:, first].reshape(len(left), -1)
            for second in self._second:
                matches = np.rint(rows @ b[:, second].reshape(len(right), -1).T)
                for k in range(self._b + 1):
                    shares[..., k] += matches == k
        shares /= len(self._firsts) * len(self._second)
        return shares

    def own_coefficients(self, codes: Array) -> Array:
        """Return the same (n, b + 1) for pairs of equal points."""
        shares = np.zeros((len(codes), self._b + 1))
        for first in self._firsts:
            for second in self._second:
                matches = (codes[:, first] == codes[:, second]).sum(axis=1)
                shares[np.arange(len(codes)), matches] += 1.0
        shares /= len(self._firsts) * len(self._second)
        return shares

    def basis(self, rho: float) -> tuple[Array, Array]:
        """Return rho^(b - k), the weights (b + 1,) of the shares, and the derivative."""
        mismatches = self._b - np.arange(self._b + 1.0)
        slope = np.where(mismatches > 0, mismatches * rho ** np.maximum(mismatches - 1.0, 0.0), 0)
        return rho**mismatches, slope


class GroupAverageKernel(OneWeight):
    """Heat kernel averaged over a permutation group, k_sum, with unit diagonal and one weight."""

    def __init__(self, columns: Indices, matches: AllPermutations | GivenPermutations) -> None:
        self.columns = columns
        self.matches = matches
        self.bounds = np.array([LOG_WEIGHT_BOUNDS])

    def start(self, total: float) -> Array:
        """Return the log of the weight of a column."""
        return np.array([np.log(total / len(self.columns))])

    def prepare(self, points: Array) -> Array:
        """Return the coefficients (n, n, b + 1)."""
        codes = points[:, self.columns]
        coefficients = self.matches.coefficients(codes, codes)
        # A Monte-Carlo average is symmetric only once it is made so.
        return 0.5 * (coefficients + coefficients.transpose(1, 0, 2))

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        rho = _rho(theta)
        basis, slope = self.matches.basis(rho)
        raw = prepared @ basis
        scale = np.sqrt(np.diagonal(raw))
        kernel = raw / np.outer(scale, scale)

        def pullback(by_kernel: Array) -> Array:
            by_rho = prepared @ slope
            own = 0.5 * np.diagonal(by_rho) / np.diagonal(raw)
            relative = by_rho / np.outer(scale, scale) - kernel * (own[:, None] + own[None, :])
            by_log_weight = -np.exp(theta[0]) * rho
            return np.array([np.vdot(by_kernel, relative) * by_log_weight])

        return kernel, pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        basis = self.matches.basis(_rho(theta))[0]
        observed = points[:, self.columns]

        def own_scale(codes: Array) -> Array:
            return np.sqrt(self.matches.own_coefficients(codes) @ basis)

        scale = own_scale(observed)

        def covariances(others: Array) -> Array:
            codes = others[:, self.columns]
            raw = self.matches.coefficients(codes, observed) @ basis
            return raw / np.outer(own_scale(codes), scale)

        return CrossFunction(covariances)


def _rho(theta: Array) -> float:
    return float(np.exp(-np.exp(theta[0])))
