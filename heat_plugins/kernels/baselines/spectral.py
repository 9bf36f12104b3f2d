r"""Kernels of the spectrum of a Hamming graph: graph Matern and inverse polynomials.

Notation
    ===========  =====================================================================
    lambda       eigenvalue of the Laplacian of the whole product graph
    Phi          (any) non-negative function of lambda (def. phi_kernel of the paper)
    size group   parameters with the same number of choices: m of them with g choices
    l, h         how many of a group an eigenfunction varies in; in how many points differ
    ===========  =====================================================================

An eigenfunction of the product varies in l parameters of a size group and has the
eigenvalue g l there. Those with the same l add up to a function of h alone, a Krawtchouk
polynomial, so that

    k(h_1, ...) = sum_{l_1, ...} Phi(g_1 l_1 + ...) prod_groups K_l(h; m, g) / g^m :

a table with one entry for each combination of distances within the size groups. No vertex
is ever enumerated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import comb, log

import numpy as np

from heat_plugins.kernels.base import (
    CrossCovariance,
    CrossFunction,
    Kernel,
    Prior,
    Pullback,
    normal_prior,
)
from heat_plugins.kernels.features import Columns, squared_distances
from heat_plugins.space import Array, Indices, Space

__all__ = ["GraphMatern", "InversePolynomials", "Phi", "SpectralKernel", "krawtchouk"]

LARGEST_TABLE = 200_000
LARGEST_LOG_SIZE = 690.0  # of a graph whose number of vertices is a floating-point number
TRIED_TIMES = np.logspace(-3.0, 5.0, 50)


def krawtchouk(m: int, g: int, relative: bool = False) -> Array:
    """Return (m + 1, m + 1) K_l(h) / g^m, row l, column h, in exact whole numbers first.

    If ``relative``, divided by K_l(0) instead, of which none is larger.

    K_l(h) is the coefficient of z^l in (1 - z)^h (1 + (g - 1) z)^(m - h), so from one h to the
    next K_l(h + 1) = K_l(h) - K_{l-1}(h) - (g - 1) K_{l-1}(h + 1).
    """
    column = [comb(m, degree) * (g - 1) ** degree for degree in range(m + 1)]
    divisors = column if relative else [g**m] * (m + 1)
    table = np.empty((m + 1, m + 1))
    for h in range(m + 1):
        table[:, h] = [k / divisor for k, divisor in zip(column, divisors, strict=True)]
        following = [1]
        for degree in range(1, m + 1):
            before = column[degree] - column[degree - 1]
            following.append(before - (g - 1) * following[degree - 1])
        column = following
    return table


class Phi(ABC):
    """A family of functions of the eigenvalue, logarithms of positive numbers its theta."""

    centre: Array
    spread = 4.0
    bounds = (-12.0, 12.0)

    @abstractmethod
    def start(self, beta: float) -> Array:
        """Return theta for which Phi falls about as exp(-beta lambda) does."""

    @abstractmethod
    def __call__(self, theta: Array, eigenvalues: Array) -> tuple[Array, list[Array]]:
        """Return Phi at eigenvalues and its derivatives in theta."""

    def logarithm(self, theta: Array, eigenvalues: Array) -> tuple[Array, list[Array]]:
        """Return log Phi and its derivatives; to be overridden where Phi underflows."""
        value, slopes = self(theta, eigenvalues)
        return np.log(value), [slope / value for slope in slopes]


class GraphMatern(Phi):
    """(2 nu / kappa^2 + lambda)^-nu (Borovitskiy et al., 2021).

    The smoothness nu is learnt. With a small nu, such as the usual 5/2, the kernel on a
    product of many graphs is a constant plus white noise whatever kappa is, because nearly
    all of the eigenvalues are large; the limit of a large nu is the heat kernel. So nu is
    expected near the number of parameters.
    """

    def __init__(self, n_parameters: int) -> None:
        self.centre = np.array([0.0, np.log(max(n_parameters, 3))])

    def start(self, beta: float) -> Array:
        """Return log kappa with kappa^2 = 2 beta, and log nu."""
        return np.array([0.5 * np.log(2.0 * beta), self.centre[1]])

    def __call__(self, theta: Array, eigenvalues: Array) -> tuple[Array, list[Array]]:
        """Return Phi and its derivatives in log kappa and log nu."""
        nu = np.exp(theta[1])
        # Relative to the eigenvalue 0, so that nothing over- or underflows.
        ratio = eigenvalues * np.exp(2.0 * theta[0]) / (2.0 * nu)
        logarithm = np.log1p(ratio)
        value = np.exp(-nu * logarithm)
        by_kappa = -2.0 * nu * value * ratio / (1.0 + ratio)
        by_nu = nu * value * (ratio / (1.0 + ratio) - logarithm)
        return value, [by_kappa, by_nu]

    def logarithm(self, theta: Array, eigenvalues: Array) -> tuple[Array, list[Array]]:
        """Return log Phi and its derivatives in log kappa and log nu."""
        nu = np.exp(theta[1])
        ratio = eigenvalues * np.exp(2.0 * theta[0]) / (2.0 * nu)
        share, logarithm = ratio / (1.0 + ratio), np.log1p(ratio)
        return -nu * logarithm, [-2.0 * nu * share, nu * (share - logarithm)]


class InversePolynomials(Phi):
    """sum_p 1 / (1 + b_p lambda^p), p = 0, 1, 2 (sum-of-inverse polynomials, Wan et al., 2023).

    Their constant eps is one here: it can be divided out of everything but the scale of the
    kernel, which belongs to the surrogate.
    """

    def __init__(self, n_parameters: int) -> None:
        self.centre = np.array([4.0, 0.0, 0.0])

    def start(self, beta: float) -> Array:
        """Return log b_p for which each term falls with the time beta."""
        return np.array([4.0, np.log(beta), 2.0 * np.log(beta)])

    def __call__(self, theta: Array, eigenvalues: Array) -> tuple[Array, list[Array]]:
        """Return Phi and its derivatives in log b_p."""
        grown = [np.exp(log_b) * eigenvalues**p for p, log_b in enumerate(theta)]
        terms = [1.0 / (1.0 + term) for term in grown]
        slopes = [-term * inverse**2 for term, inverse in zip(grown, terms, strict=True)]
        return np.sum(terms, axis=0), slopes


def _sums(values: Sequence[Array]) -> Array:
    """Return the sums of one value of each list, one axis a list."""
    grids = np.meshgrid(*values, indexing="ij")
    return np.asarray(np.sum(grids, axis=0), dtype=np.float64)


class SpectralKernel(Kernel):
    """The Phi-kernel of the Hamming graph of some unordered choices, k(x, x) = 1."""

    def __init__(self, space: Space, columns: Indices, phi: Phi) -> None:
        self._phi = phi
        self._sizes = np.unique(space.n_levels[columns]).astype(np.int64)
        self._groups = [columns[space.n_levels[columns] == size] for size in self._sizes]
        shape = [len(group) + 1 for group in self._groups]
        if np.prod(shape, dtype=float) > LARGEST_TABLE:
            raise ValueError(
                f"this kernel needs a table of {np.prod(shape, dtype=float):.0f} entries for "
                f"parameters with {len(shape)} different numbers of choices, more than "
                f"{LARGEST_TABLE}; the kernel 'heat' has no such limit"
            )
        self._n_parameters = len(columns)
        self._parts = [Columns(space, group) for group in self._groups]
        groups = [(len(group), int(g)) for group, g in zip(self._groups, self._sizes, strict=True)]
        # In a larger graph the shares of most eigenvalues are no floating-point numbers.
        is_huge = sum(m * np.log(g) for m, g in groups) > LARGEST_LOG_SIZE
        self._transforms = [krawtchouk(m, g, relative=is_huge) for m, g in groups]
        self._eigenvalues = _sums([g * np.arange(m + 1, dtype=np.float64) for m, g in groups])
        self._log_multiplicities = None
        if is_huge:
            # math.log takes whole numbers of any length.
            logs = [[log(comb(m, j) * (g - 1) ** j) for j in range(m + 1)] for m, g in groups]
            self._log_multiplicities = _sums([np.array(some) for some in logs])
        self._strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        self.bounds = np.full((len(phi.centre), 2), phi.bounds)

    def start(self, total: float) -> Array:
        """Return theta for which one mismatch costs what it does in a heat kernel."""
        # In a large product graph nearly all eigenvalues are large, so the time that a heat
        # kernel would take tells little about other functions: they are tried out.
        wanted = np.exp(-total / self._n_parameters)
        thetas = [self._phi.start(beta) for beta in TRIED_TIMES]
        one_mismatch = [self._table(theta)[0][self._strides] for theta in thetas]
        misses = [abs(float(np.mean(found)) - wanted) for found in one_mismatch]
        return thetas[int(np.argmin(misses))]

    def prior(self, theta: Array) -> Prior:
        """Return a wide normal prior."""
        return normal_prior(theta, self._phi.centre, self._phi.spread)

    def _table(self, theta: Array) -> tuple[Array, list[Array]]:
        """Return correlations by flattened distances, and their derivatives in theta."""
        if self._log_multiplicities is None:
            phi, slopes = self._phi(theta, self._eigenvalues)
        else:
            log_phi, log_slopes = self._phi.logarithm(theta, self._eigenvalues)
            log_phi = log_phi + self._log_multiplicities
            phi = np.exp(log_phi - log_phi.max())
            slopes = [phi * slope for slope in log_slopes]
        table = self._transform(phi)
        correlations = table / table[0]
        by_theta = []
        for slope in slopes:
            moved = self._transform(slope)
            by_theta.append(moved / table[0] - correlations * (moved[0] / table[0]))
        return correlations, by_theta

    def _transform(self, spectrum: Array) -> Array:
        for axis, transform in enumerate(self._transforms):
            moved = np.tensordot(spectrum, transform, axes=(axis, 0))
            spectrum = np.moveaxis(np.asarray(moved, dtype=np.float64), -1, axis)
        return spectrum.ravel()

    def features(self, points: Array) -> list[Array]:
        """Return one-hot features (n, s) of each size group."""
        return [part(points) for part in self._parts]

    def places(self, left: list[Array], right: list[Array]) -> Indices:
        """Return (n, m) where in the table each pair of points is."""
        total = np.zeros((len(left[0]), len(right[0])))
        for stride, a, b in zip(self._strides, left, right, strict=True):
            total += stride * np.rint(squared_distances(a, b))
        return total.astype(np.int64)

    def prepare(self, points: Array) -> Indices:
        """Return the places (n, n) in the table."""
        features = self.features(points)
        return self.places(features, features)

    def matrix_and_pullback(self, theta: Array, prepared: Indices) -> tuple[Array, Pullback]:
        """Return the kernel matrix (n, n) and its pullback."""
        table, slopes = self._table(theta)

        def pullback(by_kernel: Array) -> Array:
            by_table = np.bincount(
                prepared.ravel(), weights=by_kernel.ravel(), minlength=len(table)
            )
            return np.array([by_table @ slope for slope in slopes])

        return table[prepared], pullback

    def cross_covariance(self, theta: Array, points: Array) -> CrossCovariance:
        """Return the cross-covariance with observations (n, d)."""
        table, observed = self._table(theta)[0], self.features(points)
        return CrossFunction(lambda others: table[self.places(self.features(others), observed)])
