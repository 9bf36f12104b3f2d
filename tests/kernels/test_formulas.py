"""The NumPy formulas against the definitions they shorten."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from heat_plugins.kernels.formulas import beta_from_rate, heat_kernel, mixed_kernel, rate, rho

TOLERANCE = 1e-10
SPACES = [(2,), (4,), (2, 2, 2), (2, 3, 4), (5, 1, 3), (3, 3, 2, 2)]


def all_vertices(sizes):
    return np.array(list(product(*map(range, sizes))))


def heat_by_definition(sizes, betas):
    """Normalised expm(-sum_i beta_i L_i), each L_i from the edges that change variable i."""
    vertices = all_vertices(sizes)
    differs = vertices[:, None, :] != vertices[None, :, :]
    generator = np.zeros((len(vertices), len(vertices)))
    for i, beta in enumerate(betas):
        adjacency = (differs.sum(axis=-1) == 1) & differs[:, :, i]
        generator += beta * (np.diag(adjacency.sum(axis=1)) - adjacency)
    kernel = expm(-generator)
    # The graph looks the same from every vertex, so the diagonal is one number.
    np.testing.assert_allclose(np.diag(kernel), kernel[0, 0], rtol=TOLERANCE)
    return kernel / kernel[0, 0]


@pytest.mark.parametrize("sizes", SPACES)
@pytest.mark.parametrize("beta", [0.01, 0.3, 2.0])
def test_isotropic_kernel_is_the_matrix_exponential(sizes, beta):
    vertices = all_vertices(sizes)
    closed = heat_kernel(vertices, vertices, rate(beta, sizes))
    slow = heat_by_definition(sizes, [beta] * len(sizes))
    np.testing.assert_allclose(closed, slow, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("sizes", SPACES)
def test_ard_kernel_is_the_matrix_exponential(sizes):
    betas = np.random.default_rng(3).uniform(0.02, 1.0, len(sizes))
    vertices = all_vertices(sizes)
    closed = heat_kernel(vertices, vertices, rate(betas, sizes))
    slow = heat_by_definition(sizes, betas)
    np.testing.assert_allclose(closed, slow, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(("dim", "n_cat"), [(1, 3), (3, 2), (3, 4), (6, 5)])
def test_equal_sizes_agree_with_geometric_kernels(dim, n_cat):
    """Its Laplacian is divided by the degree d (q - 1) and its spectrum is e^{-l^2 lambda / 2}.

    Level j of the Hamming graph has eigenvalue q j in our convention, so
    beta q j = l^2 q j / (2 d (q - 1)), that is l = sqrt(2 d (q - 1) beta).
    """
    from geometric_kernels.kernels import MaternGeometricKernel
    from geometric_kernels.spaces import HammingGraph

    beta = 0.17
    codes = np.random.default_rng(0).integers(n_cat, size=(20, dim))
    kernel = MaternGeometricKernel(HammingGraph(dim, n_cat))
    lengthscale = np.array([np.sqrt(2 * dim * (n_cat - 1) * beta)])
    theirs = kernel.K({"nu": np.array([np.inf]), "lengthscale": lengthscale}, codes)
    ours = heat_kernel(codes, codes, np.full(dim, rate(beta, n_cat)))
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE)


def test_unequal_sizes_agree_with_a_product_of_geometric_kernels():
    """One graph per variable, so the relation above holds with d = 1: l = sqrt(2 (q - 1) beta)."""
    from geometric_kernels.kernels import MaternGeometricKernel, ProductGeometricKernel
    from geometric_kernels.spaces import HammingGraph

    rng = np.random.default_rng(1)
    sizes, betas = np.array([2, 3, 5]), np.array([0.05, 0.4, 0.2])
    codes = rng.integers(sizes, size=(20, 3))
    factors = [MaternGeometricKernel(HammingGraph(1, int(g))) for g in sizes]
    params = {"nu": np.full(3, np.inf), "lengthscale": np.sqrt(2 * (sizes - 1) * betas)}
    theirs = ProductGeometricKernel(*factors).K(params, codes)
    np.testing.assert_allclose(heat_kernel(codes, codes, rate(betas, sizes)), theirs, rtol=1e-10)


def test_rate_is_minus_log_rho_and_both_broadcast():
    betas, sizes = np.array([[0.01], [0.2], [3.0]]), np.array([2, 3, 11])
    assert rho(betas, sizes).shape == rate(betas, sizes).shape == (3, 3)
    np.testing.assert_allclose(np.exp(-rate(betas, sizes)), rho(betas, sizes), rtol=TOLERANCE)


def test_rates_keep_their_digits_at_both_ends():
    # Leading terms of the expansions; the next ones are far below the tolerance.
    np.testing.assert_allclose(rate(100.0, 5), 5 * np.exp(-500.0), rtol=TOLERANCE)
    np.testing.assert_allclose(rate(1e-200, 5), 200 * np.log(10.0), rtol=TOLERANCE)
    np.testing.assert_allclose(rho(1e-200, 5), 1e-200, rtol=TOLERANCE)


def test_no_and_endless_diffusion_are_limits():
    assert rho(0.0, 3) == 0.0 and rho(np.inf, 3) == 1.0
    assert rate(0.0, 3) == np.inf and rate(np.inf, 3) == 0.0
    assert beta_from_rate(np.inf, 3) == 0.0 and beta_from_rate(0.0, 3) == np.inf
    codes = np.array([[0, 1], [0, 2]])
    np.testing.assert_array_equal(heat_kernel(codes, codes, [np.inf, np.inf]), np.eye(2))


def test_a_variable_with_one_choice_has_no_effect():
    assert rho(0.4, 1) == 1.0 and rate(0.4, 1) == 0.0 and beta_from_rate(0.4, 1) == np.inf
    codes = np.array([[0, 0, 1], [2, 0, 1], [1, 0, 0]])
    with_constant = heat_kernel(codes, codes, rate(0.4, [3, 1, 2]))
    without = heat_kernel(codes[:, [0, 2]], codes[:, [0, 2]], rate(0.4, [3, 2]))
    np.testing.assert_array_equal(with_constant, without)


def test_mixed_kernel_is_the_product_of_its_parts():
    rng = np.random.default_rng(2)
    codes, numbers = rng.integers(3, size=(7, 2)), rng.uniform(size=(7, 2))
    rates, lengthscales = np.array([0.3, 1.2]), np.array([0.2, 0.7])
    points = np.column_stack([numbers[:, 0], codes, numbers[:, 1]])
    weights = np.array([0.5 / 0.2**2, *rates, 0.5 / 0.7**2])
    scaled = (numbers[:, None] - numbers[None, :4]) / lengthscales
    expected = heat_kernel(codes, codes[:4], rates) * np.exp(-0.5 * (scaled**2).sum(axis=-1))
    mixed = mixed_kernel(points, points[:4], weights, [False, True, True, False])
    np.testing.assert_allclose(mixed, expected, rtol=TOLERANCE)


def test_mixed_kernel_of_discrete_columns_is_the_heat_kernel():
    codes = all_vertices((2, 3))
    np.testing.assert_array_equal(
        mixed_kernel(codes, codes, [0.2, 0.9], [True, True]), heat_kernel(codes, codes, [0.2, 0.9])
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rho(-1.0, 2), "beta must be at least 0, got -1.0"),
        (lambda: rate(np.nan, 2), "beta must be at least 0, got nan"),
        (lambda: beta_from_rate(-0.5, 2), "rate must be at least 0, got -0.5"),
        (lambda: rate(1.0, [2, 0]), r"n_choices must be integers of at least 1, got \[2.0, 0.0\]"),
        (lambda: rate(1.0, 2.5), "n_choices must be integers of at least 1, got 2.5"),
        (
            lambda: heat_kernel(np.zeros((2, 3)), np.zeros((2, 3)), [1.0]),
            r"rates must have shape \(3,\), got \(1,\)",
        ),
        (
            lambda: heat_kernel(np.zeros((2, 3)), np.zeros((2, 4)), np.ones(3)),
            r"got \(2, 3\), \(2, 4\)",
        ),
        (
            lambda: mixed_kernel(np.zeros((1, 2)), np.zeros((1, 2)), [1.0, 1.0], [True]),
            r"is_discrete must have shape \(2,\), got \(1,\)",
        ),
    ],
)
def test_errors_name_the_argument_and_its_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Up to beta g = 700 the rate is a normal number; beyond about 708 digits are lost to underflow.
times = st.floats(min_value=1e-300, max_value=700.0)
choices = st.integers(min_value=2, max_value=1000)


@given(t=times, g=choices)
@settings(deadline=None)
def test_beta_survives_the_round_trip_through_its_rate(t, g):
    beta = t / g
    np.testing.assert_allclose(beta_from_rate(rate(beta, g), g), beta, rtol=TOLERANCE)


@given(gamma=times, g=choices)
@settings(deadline=None)
def test_rate_survives_the_round_trip_through_its_beta(gamma, g):
    np.testing.assert_allclose(rate(beta_from_rate(gamma, g), g), gamma, rtol=TOLERANCE)


@given(t=st.floats(min_value=1e-300, max_value=30.0), g=choices)
@settings(deadline=None)
def test_rho_lies_strictly_between_zero_and_one(t, g):
    # Beyond beta g of about 37 the nearest double is 1 itself.
    assert 0.0 < rho(t / g, g) < 1.0
    assert 0.0 < rate(t / g, g) < np.inf


@given(
    codes=arrays(np.int64, (8, 4), elements=st.integers(0, 2)),
    rates=arrays(np.float64, (4,), elements=st.floats(1e-3, 1e3)),
)
@settings(deadline=None, max_examples=50)
def test_kernel_matrix_is_symmetric_and_positive_semidefinite(codes, rates):
    # Duplicate points make the matrix singular, and then its smallest eigenvalue is zero only
    # to the accuracy of the eigensolver, some multiples of 1e-16 for a trace of 8.
    kernel = heat_kernel(codes, codes, rates)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(np.diag(kernel), 1.0)
    assert np.linalg.eigvalsh(kernel).min() > -1e-13


def test_names_are_public_and_the_package_does_not_load_torch():
    script = (
        "import sys, heat_plugins.kernels as kernels\n"
        "assert kernels.rate(0.3, 2) > 0.0\n"
        "assert callable(kernels.random_tree_components)\n"
        "assert callable(kernels.diverse_dictionary)\n"
        "assert all(hasattr(kernels, name) for name in kernels.__all__)\n"
        "assert 'torch' not in sys.modules and 'gpytorch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
