"""Kernels of the spectrum against the eigenvectors of the whole product graph."""

import itertools
from math import comb

import numpy as np
import pytest

from heat_plugins.kernels.baselines import spectral
from heat_plugins.kernels.baselines.spectral import (
    GraphMatern,
    InversePolynomials,
    SpectralKernel,
    krawtchouk,
)
from heat_plugins.space import Categorical, Space

SPACES = {
    "equal": (3, 3, 3),
    "unequal": (2, 3, 2, 4),
    "one choice": (3, 1, 2),
    "single": (5,),
}


def space_of(sizes):
    return Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(sizes)))


def all_points(sizes):
    return np.array(list(itertools.product(*map(range, sizes))), dtype=float)


def kernel_of(sizes, phi):
    return SpectralKernel(space_of(sizes), np.arange(len(sizes)), phi(len(sizes)))


def eigenpairs(sizes):
    """Of the Laplacian of the product of complete graphs, all vertices listed."""
    points = all_points(sizes)
    neighbours = (points[:, None, :] != points[None, :, :]).sum(axis=2) == 1
    return np.linalg.eigh(np.diag(neighbours.sum(axis=1)) - neighbours.astype(float))


def graph_matern(eigenvalues, theta):
    kappa, nu = np.exp(theta)
    return (2.0 * nu / kappa**2 + eigenvalues) ** -nu


def inverse_polynomials(eigenvalues, theta):
    return sum(1.0 / (b * eigenvalues**p + 1.0) for p, b in enumerate(np.exp(theta)))


PHIS = {
    "matern": (GraphMatern, graph_matern, [[-0.5, 0.9], [0.4, 2.0], [1.0, -0.5]]),
    "inverse": (InversePolynomials, inverse_polynomials, [[4.0, 0.0, -1.0], [1.0, 2.0, 1.0]]),
}


@pytest.mark.parametrize("sizes", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(("phi", "by_definition", "thetas"), PHIS.values(), ids=PHIS)
def test_kernel_is_that_of_the_eigenvectors(sizes, phi, by_definition, thetas):
    kernel, points = kernel_of(sizes, phi), all_points(sizes)
    values, vectors = eigenpairs(sizes)
    for theta in map(np.array, thetas):
        expected = (vectors * by_definition(np.maximum(values, 0.0), theta)) @ vectors.T
        expected /= expected[0, 0]
        matrix = kernel.matrix(theta, kernel.prepare(points))
        np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(
            kernel.cross_covariance(theta, points)(points[::2]),
            expected[::2],
            rtol=0.0,
            atol=1e-12,
        )


@pytest.mark.parametrize("phi", [GraphMatern(4), InversePolynomials(4)], ids=["matern", "inverse"])
def test_derivatives_of_phi(phi):
    theta, eigenvalues = phi.start(0.3) + 0.2, np.array([0.0, 2.0, 3.0, 17.0, 200.0])
    _, slopes = phi(theta, eigenvalues)
    assert len(slopes) == len(theta) == len(phi.centre)
    for slope, move in zip(slopes, 1e-6 * np.eye(len(theta)), strict=True):
        expected = (phi(theta + move, eigenvalues)[0] - phi(theta - move, eigenvalues)[0]) / 2e-6
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("m", "g"), [(1, 4), (3, 2), (4, 3), (5, 1)])
def test_krawtchouk_numbers_are_coefficients_of_their_generating_function(m, g):
    table = krawtchouk(m, g)
    for h in range(m + 1):
        product = np.polynomial.Polynomial([1.0, -1.0]) ** h
        product *= np.polynomial.Polynomial([1.0, g - 1.0]) ** (m - h)
        expected = np.zeros(m + 1)
        expected[: len(product.coef)] = product.coef
        np.testing.assert_allclose(table[:, h], expected / g**m, rtol=0.0, atol=1e-13)
    multiplicities = [comb(m, level) * (g - 1) ** level / g**m for level in range(m + 1)]
    np.testing.assert_allclose(table[:, 0], multiplicities, rtol=1e-14)


def test_matern_of_great_smoothness_is_the_heat_kernel():
    sizes, log_kappa = (3, 2, 4), 0.1
    kernel, points = kernel_of(sizes, GraphMatern), all_points(sizes)
    values, vectors = eigenpairs(sizes)
    heat = (vectors * np.exp(-0.5 * np.exp(2.0 * log_kappa) * values)) @ vectors.T
    matrix = kernel.matrix(np.array([log_kappa, 12.0]), kernel.prepare(points))
    np.testing.assert_allclose(matrix, heat / heat[0, 0], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("total", [0.5, 1.0, 2.0, 4.0])
def test_start_prices_a_mismatch_as_a_heat_kernel_does(total):
    sizes = (4,) * 10
    kernel = kernel_of(sizes, GraphMatern)
    points = np.zeros((2, 10))
    points[1, 0] = 1.0
    correlation = kernel.matrix(kernel.start(total), kernel.prepare(points))[0, 1]
    # as near as the times that are tried come
    assert correlation == pytest.approx(np.exp(-total / 10), abs=0.1)


@pytest.mark.parametrize("phi", [GraphMatern, InversePolynomials])
def test_large_spaces_lose_no_digits(phi):
    """3^60 times 2^40 vertices, none of which is listed."""
    sizes = (3,) * 60 + (2,) * 40
    kernel = kernel_of(sizes, phi)
    points = space_of(sizes).sample(12, np.random.default_rng(0))
    points = np.concatenate([points, points[:3]])
    points[12:, 0] = (points[12:, 0] + 1) % 3
    for total in (0.5, 4.0, 20.0):
        matrix = kernel.matrix(kernel.start(total), kernel.prepare(points))
        assert np.all(np.isfinite(matrix)) and np.all(np.abs(matrix) <= 1.0 + 1e-12)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-12


def test_graphs_with_more_vertices_than_there_are_floating_point_numbers(monkeypatch):
    """20^440: neither their number nor its inverse is one. The heat kernel knows the answer."""
    kernel = kernel_of((20,) * 440, GraphMatern)
    for kappa2 in (0.05, 0.3, 1.2):
        theta = np.array([0.5 * np.log(kappa2), 25.0])  # so smooth that it is the heat kernel
        rho = -np.expm1(-10.0 * kappa2) / (1.0 + 19.0 * np.exp(-10.0 * kappa2))
        table, slopes = kernel._table(theta)
        np.testing.assert_allclose(table, rho ** np.arange(441), rtol=1e-5, atol=1e-12)
        assert np.all(np.isfinite(slopes))
    # In a small graph both ways are the same.
    for phi, _, thetas in PHIS.values():
        plain = kernel_of((2, 3, 2, 4), phi)
        monkeypatch.setattr(spectral, "LARGEST_LOG_SIZE", 0.0)
        relative = kernel_of((2, 3, 2, 4), phi)
        monkeypatch.undo()
        assert relative._log_multiplicities is not None
        for theta in thetas:
            found, expected = (its._table(np.array(theta)) for its in (relative, plain))
            np.testing.assert_allclose(found[0], expected[0], rtol=0.0, atol=1e-13)
            np.testing.assert_allclose(found[1], expected[1], rtol=0.0, atol=1e-12)


def test_too_many_kinds_of_sizes_are_refused():
    sizes = tuple(range(2, 20))  # 18 groups of one: 2^18 combinations of distances
    with pytest.raises(ValueError, match=r"table of 262144 entries .* 18 different numbers"):
        kernel_of(sizes, GraphMatern)
    kernel_of(sizes[:10], GraphMatern)
