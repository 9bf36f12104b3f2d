"""Invariant kernels against enumeration of the group."""

import math
import unittest
from itertools import permutations

import numpy as np
import pytest
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.priors import GammaPrior
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels import HeatKernel, formulas, memory, permutation_groups
from heat_plugins.kernels.additive import AdditiveKernel, DecompositionKernel
from heat_plugins.kernels.group_sums import GroupSumKernel, SymmetricSumKernel
from heat_plugins.kernels.invariant import GroupProductKernel, PermutationInvariantKernel

from ..torch import shared
from ..torch.shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
SIZES = (3, 2, 3, 2, 3)  # Columns 0, 2, 4 are a block, and so are 1 and 3.
BLOCKS = ((0, 2, 4), (1, 3))
GENERATORS = ((2, 1, 0, 3, 4), (2, 1, 4, 3, 0), (0, 3, 2, 1, 4))  # 3! * 2! = 12 elements.


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def padded(batch_shape=None, **kwargs):
    return PermutationInvariantKernel(SIZES, BLOCKS, batch_shape=batch_shape, **kwargs)


def padded_ard(**kwargs):
    return padded(ard=True, **kwargs)


def plain_sort(**kwargs):
    return padded(method="sort", **kwargs)


def sort_ard(**kwargs):
    return padded(method="sort", ard=True, **kwargs)


def group_product(**kwargs):
    return GroupProductKernel(SIZES, GENERATORS, **kwargs)


def group_product_ard(**kwargs):
    return group_product(ard=True, **kwargs)


def one_sided(batch_shape=None, **kwargs):
    return GroupSumKernel(HeatKernel(SIZES, batch_shape=batch_shape, **kwargs), GENERATORS)


def two_sided(batch_shape=None, **kwargs):
    base = HeatKernel(SIZES, ard_num_dims=5, batch_shape=batch_shape, **kwargs)
    return GroupSumKernel(base, GENERATORS, n_samples=12)


def monte_carlo(batch_shape=None, **kwargs):
    base = HeatKernel(SIZES, ard_num_dims=5, batch_shape=batch_shape, **kwargs)
    return GroupSumKernel(base, GENERATORS, n_samples=4)


def symmetric_sum(**kwargs):
    return SymmetricSumKernel(3, **kwargs)


EXACT = [
    padded,
    padded_ard,
    plain_sort,
    sort_ard,
    group_product,
    group_product_ard,
    one_sided,
    two_sided,
    symmetric_sum,
]
KERNELS = [*EXACT, monte_carlo]


def float64(create, seed=0, **kwargs):
    """Build a float64 kernel with random parameters."""
    kernel = create(**kwargs).double()
    generator = torch.Generator().manual_seed(seed)
    for parameter in kernel.parameters():
        values = torch.rand(parameter.shape, dtype=torch.float64, generator=generator)
        parameter.data = 2.0 * values - 2.5  # Diffusion times from 0.08 to 0.5.
    return kernel


def test_worked_example_of_the_paper():
    x = torch.tensor(
        [[0, 0, 0, 1, 1, 2, 3, 3, 4, 4], [4, 4, 0, 1, 1, 2, 3, 3, 4, 4]], dtype=torch.float64
    )
    for method, g, distance in (("padded-sort", 2, 4), ("sort", 5, 7)):
        kernel = PermutationInvariantKernel(5, method=method).double()
        kernel.base_kernel.beta = 0.3
        expected = formulas.rho(0.3, g) ** distance
        assert dense(kernel, x)[0, 1] == pytest.approx(expected, rel=1e-13)


def test_padded_sorting_prices_differences_of_counts():
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    kernel = float64(padded_ard)
    rates = kernel.base_kernel.rates.detach().numpy()[0]
    assert rates.shape == (3 + 2,)  # One per category of each block, no ordinary columns.
    distance = np.zeros((9, 7))
    categories = [(block, c) for block in BLOCKS for c in range(SIZES[block[0]])]
    for rate, (block, c) in zip(rates, categories, strict=True):
        count1, count2 = ((x[:, list(block)] == c).sum(dim=-1).numpy() for x in (x1, x2))
        distance += rate * np.abs(count1[:, None] - count2)
    np.testing.assert_allclose(dense(kernel, x1, x2), np.exp(-distance), **TOLERANCE)
    np.testing.assert_array_equal(np.diag(dense(kernel, x1)), 1.0)


@pytest.mark.parametrize("method", ["sort", "padded-sort"])
@pytest.mark.parametrize("ard", [False, True])
def test_ordinary_columns_keep_their_heat_kernel(method, ard):
    sizes, x = (4, 3, 3, 5), random_codes(9, (4, 3, 3, 5))
    kernel = float64(lambda: PermutationInvariantKernel(sizes, [(1, 2)], method=method, ard=ard))
    beta = kernel.base_kernel.beta.detach().squeeze(0)
    ordinary = HeatKernel((4, 5), ard_num_dims=2 if ard else None).double()
    ordinary.beta = beta[:2] if ard else beta
    n_block = {"sort": 2, "padded-sort": 3}[method]
    block = PermutationInvariantKernel((3, 3), method=method, ard=ard).double()
    block.base_kernel.beta = beta[2 : 2 + n_block] if ard else beta
    expected = dense(ordinary, x[:, [0, 3]]) * dense(block, x[:, [1, 2]])
    np.testing.assert_allclose(dense(kernel, x), expected, **TOLERANCE)


def test_blocks_of_one_column_or_none_are_the_heat_kernel():
    x = random_codes(9)
    heat = HeatKernel(SIZES).double()
    for kernel in (
        PermutationInvariantKernel(SIZES, [[i] for i in range(5)], method="sort"),
        PermutationInvariantKernel(SIZES, []),
        GroupProductKernel(SIZES, [range(5)]),
        GroupSumKernel(HeatKernel(SIZES), [range(5)]),
        GroupSumKernel(HeatKernel(SIZES, ard_num_dims=5), [range(5)]),
    ):
        np.testing.assert_allclose(dense(kernel.double(), x), dense(heat, x), **TOLERANCE)


@pytest.mark.parametrize("create", EXACT)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=10)
def test_kernels_are_invariant_under_group_elements(create, seed):
    rng = np.random.default_rng(seed)
    kernel, x = float64(create, seed % 1000), random_codes(6, seed=seed % 1000)
    x[:, [1, 3]] = x[:, [1, 3]].clamp_max(1)
    moved = x.clone()
    for i, g in enumerate(permutation_groups.sample(GENERATORS, len(x), rng)):
        moved[i] = x[i, g]
    np.testing.assert_allclose(dense(kernel, x), dense(kernel, moved), **TOLERANCE)
    np.testing.assert_allclose(dense(kernel, x), dense(kernel, x, moved), **TOLERANCE)


def images(x):
    elements = permutation_groups.closure(GENERATORS, 12)
    return [x[:, g] for g in elements]


@pytest.mark.parametrize("create", [one_sided, two_sided])
def test_group_sum_is_the_double_mean_over_the_group(create):
    kernel, x1, x2 = float64(create), random_codes(5), random_codes(4, seed=1)
    assert kernel.mode == create.__name__.replace("_", "-")
    terms = [dense(kernel.base_kernel, a, b) for a in images(x1) for b in images(x2)]
    np.testing.assert_allclose(dense(kernel, x1, x2), np.mean(terms, axis=0), **TOLERANCE)


def test_monte_carlo_converges_to_the_group_sum():
    x = random_codes(6, (3,) * 6)
    base = HeatKernel(3, ard_num_dims=6).double()
    base.beta = (0.1, 0.2, 0.3, 0.1, 0.5, 0.2)
    exact = dense(GroupSumKernel(base, "symmetric", n_variables=6, n_samples=720), x[:3])
    errors = []
    for n_samples in (10, 40, 160):
        draws = [
            dense(GroupSumKernel(base, "symmetric", 6, n_samples=n_samples, seed=seed), x[:3])
            for seed in range(6)
        ]
        errors.append(np.sqrt(np.mean((np.array(draws) - exact) ** 2)))
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2]  # Halves in theory.
    kernel = GroupSumKernel(base, "symmetric", 6, n_samples=20)
    assert kernel.mode == "monte-carlo"
    assert np.linalg.eigvalsh(dense(kernel, x)).min() > -1e-14


def test_monte_carlo_with_one_sample_on_both_sides_has_the_documented_bias():
    x1, x2, n_samples = random_codes(4), random_codes(4, seed=1), 3
    base = float64(two_sided).base_kernel
    exact = dense(GroupSumKernel(base, GENERATORS, n_samples=12), x1, x2)
    same = np.mean([dense(base, a, b) for a, b in zip(images(x1), images(x2), strict=True)], 0)
    draws = [
        dense(GroupSumKernel(base, GENERATORS, n_samples=n_samples, seed=seed), x1, x2)
        for seed in range(400)
    ]
    expected = (1 - 1 / n_samples) * exact + same / n_samples
    error = np.std(draws, axis=0) / math.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - expected) < 5 * error).all()
    assert (np.abs(exact - expected) > 5 * error).any()  # The test can see the bias.


def test_only_kernels_that_treat_columns_alike_are_averaged_on_one_side():
    def mode(base, n_samples=12):
        return GroupSumKernel(base, GENERATORS, n_samples=n_samples).mode

    assert mode(ScaleKernel(HeatKernel(SIZES))) == "one-sided"
    assert mode(AdditiveKernel(SIZES), n_samples=4) == "one-sided"  # 12 <= 4^2.
    assert mode(HeatKernel(SIZES), n_samples=3) == "monte-carlo"
    assert mode(HeatKernel((3, 2, 4, 2, 3))) == "two-sided"  # Unequal within an orbit.
    assert mode(HeatKernel(SIZES, ard_num_dims=5)) == "two-sided"
    assert mode(HeatKernel(SIZES, active_dims=range(5))) == "two-sided"
    assert mode(DecompositionKernel(SIZES, [(0, 1)])) == "two-sided"
    assert mode(HeatKernel(SIZES, ard_num_dims=5), n_samples=11) == "monte-carlo"


@pytest.mark.parametrize("create", [one_sided, two_sided, monte_carlo, symmetric_sum])
def test_chunks_do_not_change_values_or_gradients(create, monkeypatch):
    x1, x2 = random_codes(5), random_codes(4, seed=1)
    results = []
    for chunk in (2**21, 50):
        monkeypatch.setattr(memory, "MAX_NUMBERS", chunk)
        kernel = float64(create)
        matrix, pairs = kernel(x1, x2).to_dense(), kernel(x1[:4], x2, diag=True)
        (matrix.sin().sum() + pairs.sum()).backward()
        gradient = torch.cat([p.grad.flatten() for p in kernel.parameters()])
        results.append((matrix.detach(), pairs.detach(), gradient))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, **TOLERANCE)


@pytest.mark.parametrize(("g", "d"), [(2, 5), (3, 4), (4, 6), (1, 3), (3, 1)])
def test_symmetric_sum_is_the_mean_over_all_permutations(g, d):
    kernel, x1, x2 = (
        float64(lambda: SymmetricSumKernel(g)),
        random_codes(5, (g,) * d),
        random_codes(4, (g,) * d, seed=1),
    )
    heat = HeatKernel(g).double()
    heat.beta = kernel.beta.item()
    terms = [dense(heat, x1, x2[:, list(p)]) for p in permutations(range(d))]
    np.testing.assert_allclose(dense(kernel, x1, x2), np.mean(terms, axis=0), **TOLERANCE)


def test_symmetric_sum_of_long_strings_agrees_with_monte_carlo():
    x = random_codes(4, (4,) * 30)
    kernel = SymmetricSumKernel(4).double()
    kernel.beta = 0.3
    heat = HeatKernel(4).double()
    heat.beta = 0.3
    exact = dense(kernel, x)
    rng = np.random.default_rng(0)
    draws = permutation_groups.sample("symmetric", 20_000, rng, n_variables=30)
    for i, j in ((0, 0), (0, 1), (2, 3)):
        values = dense(heat, x[i : i + 1], x[j][draws])[0]
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - exact[i, j]) < 4 * error


def test_symmetric_sum_of_very_long_strings_does_not_overflow():
    x = random_codes(5, (3,) * 500)
    x[4] = 1.0
    kernel = SymmetricSumKernel(3).double()
    kernel.beta = 2.0  # rho = 0.993
    matrix = dense(kernel, x)
    assert matrix[4, 4] == pytest.approx(1.0, rel=1e-11)
    assert np.isfinite(matrix).all() and (matrix > 0.0).all() and (matrix <= 1.0 + 1e-11).all()
    # Against a point of one category every permutation is the same.
    mismatches = (x[0] != 1.0).sum().item()
    assert matrix[0, 4] == pytest.approx(formulas.rho(2.0, 3) ** mismatches, rel=1e-11)
    single = SymmetricSumKernel(3)
    single.beta = 0.5
    assert torch.isfinite(single(x[:, :200].float()).to_dense()).all()


@pytest.mark.parametrize("create", [group_product, group_product_ard])
def test_group_product_is_the_normalised_product_over_the_group(create):
    kernel, x = float64(create), random_codes(6)
    beta = kernel.base_kernel.beta.detach().flatten()
    # Orbits in the order of their first column: (0, 2, 4), (1, 3).
    times = beta[[0, 1, 0, 1, 0]] if len(beta) > 1 else beta
    heat = HeatKernel(SIZES, ard_num_dims=5).double()
    heat.beta = times
    terms = [dense(heat, a, b) for a in images(x) for b in images(x)]
    product_kernel = np.prod(np.array(terms) ** (1 / len(terms)), axis=0)
    norm = np.sqrt(np.diag(product_kernel))
    np.testing.assert_allclose(
        dense(kernel, x), product_kernel / np.outer(norm, norm), **TOLERANCE
    )


def test_group_product_is_gaussian_in_the_frequencies():
    x = random_codes(6, (4,) * 7)
    kernel = GroupProductKernel(4).double()
    kernel.base_kernel.beta = 0.2
    frequencies = torch.nn.functional.one_hot(x.long(), 4).double().mean(dim=-2)
    squares = torch.cdist(frequencies, frequencies).numpy() ** 2
    expected = np.exp(-0.5 * 7 * formulas.rate(0.2, 4) * squares)
    np.testing.assert_allclose(dense(kernel, x), expected, **TOLERANCE)
    rotations = GroupProductKernel((4,) * 7, [np.roll(range(7), 1)]).double()
    rotations.base_kernel.beta = 0.2
    np.testing.assert_allclose(dense(rotations, x), expected, **TOLERANCE)


@pytest.mark.parametrize("create", KERNELS)
def test_kernels_are_positive_semidefinite_on_all_points(create):
    points = vertices((3, 2, 3, 2, 3))
    matrix = dense(float64(create), points)
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


@pytest.mark.parametrize("create", KERNELS)
def test_gradients_are_right(create):
    shared.check_gradients(float64(create), random_codes(5), random_codes(4, seed=1))


@pytest.mark.parametrize("create", KERNELS)
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
def test_extreme_times_give_finite_values_and_gradients(create, raw):
    kernel = create().double()
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, raw)
    shared.check_finite(kernel, random_codes(6))


@pytest.mark.parametrize("create", KERNELS)
def test_batched_times_and_batched_points_broadcast(create):
    x = random_codes(6, batch=(3, 2))
    kernel = float64(create, batch_shape=torch.Size([2]))
    shared.check_batch(kernel, [kernel[0], kernel[1]], x, **TOLERANCE)


@pytest.mark.parametrize("create", KERNELS)
def test_state_and_priors_survive_copies(create):
    kernel = float64(create, beta_prior=GammaPrior(2.0, 4.0))
    assert len(list(kernel.named_priors())) == 1
    restored = create().double()
    shared.check_copies(kernel, restored, random_codes(8))


@pytest.mark.parametrize("create", KERNELS)
def test_botorch_fits_and_acquires(create):
    x = random_codes(15)
    y = torch.sin(2.0 * x[:, [0, 2, 4]].sum(-1, True)) + 0.3 * x[:, [1, 3]].sum(-1, True)
    shared.check_botorch(create(), x, y, random_codes(1, seed=3, batch=(5,)))


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: PermutationInvariantKernel(3, method="max"), "'sort', got 'max'"),
        (lambda: PermutationInvariantKernel(3, [(0, 1)]), "need n_choices of each column"),
        (lambda: PermutationInvariantKernel(3, ard=True), "need n_choices of each column"),
        (lambda: PermutationInvariantKernel((3, 2), [(0, 1)]), r"n_choices, got \[3, 2\]"),
        (lambda: PermutationInvariantKernel((3, 2)), r"n_choices, got \[3, 2\]"),
        (lambda: PermutationInvariantKernel((3, 3), [(0, 2)]), r"0 to 1, got \[\[0, 2\]\]"),
        (lambda: PermutationInvariantKernel((3, 3), [(0, 1), (1,)]), "share columns"),
        (lambda: PermutationInvariantKernel((3, 3), [()]), "must not be empty"),
        (lambda: GroupProductKernel((3, 2), [(1, 0)]), r"n_choices, got \[3, 2\]"),
        (lambda: GroupProductKernel((3, 3), [(1, 0, 2)]), "of 2 variables, got 3"),
        (lambda: GroupProductKernel(3, [(1, 0, 2)]), "need n_choices of each column"),
        (lambda: GroupProductKernel(3, "cyclic"), "need n_choices of each column"),
        (lambda: GroupProductKernel(3, block=(0, 1)), "need n_choices of each column"),
        (lambda: SymmetricSumKernel((3, 3)), r"one integer for all variables, got \(3, 3\)"),
        (lambda: GroupSumKernel(HeatKernel(3), "symmetric"), "at least 1, got None"),
        (lambda: GroupSumKernel(HeatKernel((3, 3)), [(1, 0, 2)]), "must have 2 columns.*got 3"),
        (lambda: GroupSumKernel(HeatKernel(3), [(0, 0)]), r"got \[0, 0\]"),
        (lambda: GroupSumKernel(HeatKernel(3), [(1, 0)], n_samples=0), "at least 1, got 0"),
    ],
)
def test_construction_errors_give_expected_and_actual(create, message):
    with pytest.raises(ValueError, match=message):
        create()


@pytest.mark.parametrize("create", KERNELS)
def test_inputs_that_are_not_codes_are_refused(create):
    if create is not symmetric_sum:
        with pytest.raises(ValueError, match="must have 5 columns.*got 4"):
            create()(torch.zeros(3, 4)).to_dense()
    with pytest.raises(ValueError, match="must be integers from 0 to 2, got 0.5"):
        create()(torch.tensor([[0.5, 0.0, 0.5, 0.0, 0.5]])).to_dense()
    with pytest.raises(ValueError, match="last_dim_is_batch must be False"):
        create().forward(torch.zeros(3, 5), torch.zeros(3, 5), last_dim_is_batch=True)


class TestPaddedSortContract(shared.CodesContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return PermutationInvariantKernel(4, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        return PermutationInvariantKernel((4,) * num_dims, ard=True, **kwargs)


class TestSortContract(shared.CodesContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return PermutationInvariantKernel(4, method="sort", **kwargs)


class TestGroupProductContract(shared.CodesContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return GroupProductKernel(4, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        return GroupProductKernel((4,) * num_dims, ard=True, **kwargs)


class TestSymmetricSumContract(shared.CodesContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return SymmetricSumKernel(4, **kwargs)


class TestGroupSumContract(shared.TwoColumnsContract, unittest.TestCase):
    def create_kernel_no_ard(self, batch_shape=None, active_dims=None):
        base = HeatKernel(4, batch_shape=batch_shape)
        return GroupSumKernel(base, [(1, 0)], active_dims=active_dims)
