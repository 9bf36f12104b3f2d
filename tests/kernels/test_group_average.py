"""Averages over groups of permutations against sums over all their elements."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels.group_average import (
    AllPermutations,
    GivenPermutations,
    GroupAverageKernel,
)
from heat_plugins.kernels.permutations import closure, sample

CHECKED = settings(deadline=None, max_examples=40)
RHOS = [0.0, 0.05, 0.5, 0.93, 1.0]
ROTATIONS = closure([[1, 2, 3, 0]], 100)
DIHEDRAL = closure([[1, 2, 3, 0], [3, 2, 1, 0]], 100)
TWO_SWAPS = closure([[1, 0, 2, 3], [0, 1, 3, 2]], 100)
GROUPS = {"rotations": ROTATIONS, "dihedral": DIHEDRAL, "two swaps": TWO_SWAPS}


def mean_over(elements, left, right, rho, both=True):
    """The definition: k_sum = mean over g, g' of rho^h(g x, g' x')."""
    firsts = elements if both else [np.arange(left.shape[1])]
    total = np.zeros((len(left), len(right)))
    for first in firsts:
        for second in elements:
            differs = left[:, None, first] != right[None, :, second]
            total += rho ** differs.sum(axis=2)
    return total / (len(firsts) * len(elements))


def codes(b, g, n=6, seed=0):
    return np.random.default_rng(seed).integers(g, size=(n, b)).astype(float)


@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from(RHOS), st.integers(0, 2**32))
@CHECKED
def test_rook_numbers_give_the_mean_over_all_permutations(b, g, rho, seed):
    left, right = codes(b, g, seed=seed), codes(b, g, n=4, seed=seed + 1)
    every = np.array(list(itertools.permutations(range(b))))
    matches = AllPermutations(b, g)
    found = matches.coefficients(left, right) @ matches.basis(rho)[0]
    np.testing.assert_allclose(
        found, mean_over(every, left, right, rho, both=False), rtol=0.0, atol=1e-13
    )
    own = matches.own_coefficients(left) @ matches.basis(rho)[0]
    diagonal = np.diagonal(mean_over(every, left, left, rho, both=False))
    np.testing.assert_allclose(own, diagonal, rtol=0.0, atol=1e-13)


def test_one_sum_over_all_permutations_is_both():
    left, right = codes(4, 3), codes(4, 3, seed=1)
    every = np.array(list(itertools.permutations(range(4))))
    np.testing.assert_allclose(
        mean_over(every, left, right, 0.4, both=False),
        mean_over(every, left, right, 0.4, both=True),
        atol=1e-13,
    )


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("rho", RHOS)
def test_given_group_is_the_mean_over_its_pairs(group, rho):
    left, right = codes(4, 3), codes(4, 3, n=5, seed=1)
    matches = GivenPermutations(group, None, 3)
    found = matches.coefficients(left, right) @ matches.basis(rho)[0]
    np.testing.assert_allclose(found, mean_over(group, left, right, rho), rtol=0.0, atol=1e-14)
    own = matches.own_coefficients(left) @ matches.basis(rho)[0]
    expected = np.diagonal(mean_over(group, left, left, rho))
    np.testing.assert_allclose(own, expected, rtol=0.0, atol=1e-14)


def test_all_permutations_are_a_given_group_too():
    left, right = codes(4, 3), codes(4, 3, seed=1)
    every = closure([[1, 2, 3, 0], [1, 0, 2, 3]], 24)
    assert len(every) == 24
    listed, rooks = GivenPermutations(every, None, 3), AllPermutations(4, 3)
    for rho in RHOS:
        np.testing.assert_allclose(
            listed.coefficients(left, right) @ listed.basis(rho)[0],
            rooks.coefficients(left, right) @ rooks.basis(rho)[0],
            rtol=0.0,
            atol=1e-14,
        )


def test_coefficients_of_a_given_group_are_shares():
    shares = GivenPermutations(DIHEDRAL, None, 3).coefficients(codes(4, 3), codes(4, 3, seed=1))
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, atol=1e-14)
    assert np.all(shares >= 0.0)


@pytest.mark.parametrize(
    "matches", [AllPermutations(4, 3), GivenPermutations(ROTATIONS, None, 3)], ids=["all", "given"]
)
def test_basis_and_its_derivative(matches):
    for rho in (0.1, 0.5, 0.9):
        step = 1e-6
        expected = matches.basis(rho + step)[0] - matches.basis(rho - step)[0]
        np.testing.assert_allclose(matches.basis(rho)[1], expected / (2.0 * step), atol=1e-8)
    for rho in (0.0, 1.0):
        value, slope = matches.basis(rho)
        assert np.all(np.isfinite(value)) and np.all(np.isfinite(slope))
    # at the ends, against one-sided differences
    step = 1e-7
    for rho, sign in ((0.0, 1.0), (1.0, -1.0)):
        expected = sign * (matches.basis(rho + sign * step)[0] - matches.basis(rho)[0]) / step
        np.testing.assert_allclose(matches.basis(rho)[1], expected, atol=1e-5)


def test_sampled_average_approaches_the_exact_one():
    left, right = codes(5, 3, n=8), codes(5, 3, n=8, seed=1)
    exact = AllPermutations(5, 3)
    truth = exact.coefficients(left, right) @ exact.basis(0.4)[0]
    generators = [[1, 2, 3, 4, 0], [1, 0, 2, 3, 4]]
    errors = []
    for n in (5, 40, 320):
        rng = np.random.default_rng(0)
        first, second = sample(generators, n, rng), sample(generators, n // 5, rng)
        drawn = GivenPermutations(second, first, 3)
        found = drawn.coefficients(left, right) @ drawn.basis(0.4)[0]
        errors.append(np.abs(found - truth).max())
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.02


def test_kernel_is_invariant_with_unit_diagonal():
    rng = np.random.default_rng(3)
    points = np.concatenate([codes(5, 3, n=9), np.zeros((1, 5))])
    theta = np.array([-0.5])
    kernel = GroupAverageKernel(np.arange(5), AllPermutations(5, 3))
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(np.diagonal(matrix), 1.0, rtol=0.0, atol=1e-14)
    permuted = kernel.cross_covariance(theta, points)(rng.permuted(points, axis=1))
    np.testing.assert_allclose(permuted, matrix, rtol=0.0, atol=1e-13)


def test_kernel_looks_at_its_own_columns_only():
    points = codes(6, 3, n=9)
    kernel = GroupAverageKernel(np.array([4, 1, 3]), AllPermutations(3, 3))
    moved = points.copy()
    moved[:, [0, 2, 5]] += 7.0
    theta = np.array([0.2])
    np.testing.assert_array_equal(
        kernel.matrix(theta, kernel.prepare(moved)), kernel.matrix(theta, kernel.prepare(points))
    )


@pytest.mark.parametrize("b", [20, 60, 120])
def test_many_parameters_lose_no_digits(b):
    """Rook numbers are huge, and what becomes of them is a correlation."""
    points = codes(b, 4, n=5)
    matches = AllPermutations(b, 4)
    for rho in (0.01, 0.5, 0.99):
        raw = matches.coefficients(points, points) @ matches.basis(rho)[0]
        assert np.all(np.isfinite(raw)) and np.all((raw > 0.0) & (raw <= 1.0 + 1e-12))
    kernel = GroupAverageKernel(np.arange(b), matches)
    matrix = kernel.matrix(np.array([-3.0]), kernel.prepare(points))
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12
    # equal points after sorting are the same point
    assert kernel.cross_covariance(np.array([-3.0]), points)(np.sort(points, axis=1))[
        0, 0
    ] == pytest.approx(1.0, abs=1e-10)
