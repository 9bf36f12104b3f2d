"""Kernels of other methods against their definitions."""

import math
import unittest
from itertools import combinations

import numpy as np
import pytest
import torch
from gpytorch.priors import GammaPrior, UniformPrior

from heat_plugins.kernels import memory, reference
from heat_plugins.kernels.dictionaries import diverse_dictionary
from heat_plugins.kernels.reference import HEDKernel, SubsequenceStringKernel

from ..torch import shared
from ..torch.shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
SIZES = (3, 3, 3, 3)


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def hed(**kwargs):
    return HEDKernel(SIZES, n_anchors=16, **kwargs)


def ssk(**kwargs):
    return SubsequenceStringKernel(3, **kwargs)


KERNELS = [hed, ssk]


def test_dictionary_holds_codes_and_repeats_categories():
    sizes = (2, 5, 1, 5, 3)
    anchors = diverse_dictionary(sizes, 400, np.random.default_rng(0))
    assert anchors.shape == (400, 5) and anchors.dtype == np.int64
    assert (anchors >= 0).all() and (anchors < np.array(sizes)).all()
    assert all(set(anchors[:, i]) == set(range(g)) for i, g in enumerate(sizes))
    np.testing.assert_array_equal(
        anchors, diverse_dictionary(sizes, 400, np.random.default_rng(0))
    )
    # Two entries agree with probability E[sum theta^2] = 2 / (g + 1), uniform points with 1 / g.
    anchors = diverse_dictionary((4,) * 30, 2000, np.random.default_rng(1))
    agreement = np.mean([anchors[:, i] == anchors[:, j] for i, j in combinations(range(30), 2)])
    assert abs(agreement - 2 / 5) < 0.02
    # Over all anchors no category is preferred.
    assert np.abs(np.bincount(anchors.ravel()) / anchors.size - 0.25).max() < 0.02


def test_hed_is_matern_on_distances_to_anchors():
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    kernel = hed().double()
    kernel.lengthscale = torch.tensor(0.4, dtype=torch.float64)
    anchors = kernel.anchors.double()
    phi1, phi2 = ((x[:, None, :] != anchors).double().mean(dim=-1) for x in (x1, x2))
    r = math.sqrt(5) * torch.cdist(phi1, phi2).numpy() / 0.4
    expected = (1 + r + r**2 / 3) * np.exp(-r)
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.diag(dense(kernel, x1)), 1.0, rtol=0.0, atol=1e-14)


def test_hed_is_not_a_function_of_the_hamming_distance():
    # The paper's proof that BODi is no Hamming kernel, with categories 1, 2, 3 written 0, 1, 2.
    kernel = HEDKernel((3, 3, 3), anchors=[[0, 0, 0]]).double()
    x = torch.tensor([[0, 0, 0], [0, 0, 1], [0, 0, 2]], dtype=torch.float64)
    matrix = dense(kernel, x)
    assert matrix[0, 1] < 0.95  # h = 1
    assert matrix[1, 2] == pytest.approx(1.0, abs=1e-14)  # h = 1 as well


def features(string, max_order, gap, match):
    """Enumerate the sub-sequences of a string."""
    values = {}
    for p in range(1, max_order + 1):
        for places in combinations(range(len(string)), p):
            key = tuple(string[i] for i in places)
            skipped = places[-1] - places[0] + 1 - p
            values[key] = values.get(key, 0.0) + match**p * gap**skipped
    return values


@pytest.mark.parametrize("max_order", [1, 2, 3, 5])
@pytest.mark.parametrize(("gap", "match"), [(0.3, 0.8), (0.9, 0.2)])
def test_string_kernel_is_the_inner_product_of_subsequences(max_order, gap, match):
    x1, x2 = random_codes(6, (3,) * 6), random_codes(5, (3,) * 6, seed=1)
    kernel = SubsequenceStringKernel(3, max_order).double()
    kernel.gap_decay, kernel.match_decay = gap, match
    phi1, phi2 = ([features(s, max_order, gap, match) for s in x.tolist()] for x in (x1, x2))

    def inner(a, b):
        return sum(value * b.get(key, 0.0) for key, value in a.items())

    expected = [[inner(a, b) / math.sqrt(inner(a, a) * inner(b, b)) for b in phi2] for a in phi1]
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)
    np.testing.assert_allclose(np.diag(dense(kernel, x1)), 1.0, **TOLERANCE)


def test_strings_with_repeated_symbols_have_more_matches():
    # The paper's example: [1, 1] occurs six times in [1, 1, 1, 1], [1, 2] once in [2, 1, 2, 1].
    one = torch.ones(1, 1, dtype=torch.float64)

    def occurrences(short, long):
        arguments = (torch.tensor(short), torch.tensor(long), one, one)
        orders = [reference._common_subsequences(*arguments, p).item() for p in (1, 2)]
        return orders[1] - orders[0]

    assert occurrences([1, 1], [1, 1, 1, 1]) == 6
    assert occurrences([1, 2], [2, 1, 2, 1]) == 1


def test_strings_in_chunks_are_the_same(monkeypatch):
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    results = []
    for chunk in (2**21, 200):
        monkeypatch.setattr(memory, "MAX_NUMBERS", chunk)
        kernel = ssk().double()
        matrix = kernel(x1, x2).to_dense()
        matrix.sin().sum().backward()
        results.append((matrix.detach(), kernel.raw_gap_decay.grad, kernel.raw_match_decay.grad))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, **TOLERANCE)


@pytest.mark.parametrize("create", KERNELS)
def test_kernels_are_positive_semidefinite_on_all_points(create):
    matrix = dense(create().double(), vertices(SIZES))
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


@pytest.mark.parametrize("create", KERNELS)
def test_gradients_are_right(create):
    shared.check_gradients(create().double(), random_codes(5), random_codes(4, seed=1))


@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
def test_extreme_decays_give_finite_values_and_gradients(raw):
    kernel = ssk().double()
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, raw)
    shared.check_finite(kernel, random_codes(6))


@pytest.mark.parametrize("create", KERNELS)
def test_batched_parameters_and_batched_points_broadcast(create):
    x = random_codes(6, batch=(3, 2))
    kernel = create(batch_shape=torch.Size([2])).double()
    for parameter in kernel.parameters():
        parameter.data = torch.tensor([0.5, -0.7], dtype=torch.float64).reshape(2, 1, 1)
    shared.check_batch(kernel, [kernel[0], kernel[1]], x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("create", KERNELS)
def test_state_survives_copies(create):
    kernel = create()
    for parameter in kernel.parameters():
        parameter.data.fill_(0.4)
    restored = hed(seed=5) if create is hed else create()
    shared.check_copies(kernel, restored, random_codes(8))


def test_priors_are_registered_and_can_be_sampled():
    names = ("gap_decay_prior", "match_decay_prior")
    kernel = ssk(**{name: UniformPrior(0.2, 0.6) for name in names})
    with torch.random.fork_rng(devices=[]):
        for name in names:
            kernel.sample_from_prior(name)
    assert 0.2 <= kernel.gap_decay.item() <= 0.6 and 0.2 <= kernel.match_decay.item() <= 0.6
    named = list(hed(lengthscale_prior=GammaPrior(2.0, 4.0)).named_priors())
    assert [name for name, *_ in named] == ["lengthscale_prior"]


@pytest.mark.parametrize("create", KERNELS)
def test_botorch_fits_and_acquires(create):
    x = random_codes(15)
    y = (x[:, :1] == 1).double() - 0.3 * x[:, 1:2] + 0.1 * torch.sin(7.0 * x.sum(-1, True))
    shared.check_botorch(create(), x, y, random_codes(2, seed=3, batch=(5,)))


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: HEDKernel((3, 3), anchors=[[0, 1, 2]]), r"shape \(M, 2\) with M > 0, got \(1, 3"),
        (lambda: HEDKernel((3, 3), anchors=[[0, 3]]), "variable 1 must be .* 0 to 2, got 3"),
        (lambda: HEDKernel((3, 3), n_anchors=0), "n_anchors must be at least 1, got 0"),
        (lambda: diverse_dictionary((), 2, np.random.default_rng(0)), r"at least 1, got \[\]"),
        (lambda: SubsequenceStringKernel(3, 0), "max_order must be at least 1, got 0"),
        (lambda: SubsequenceStringKernel(0), "at least 1, got"),
        (lambda: hed()(torch.zeros(2, 3)).to_dense(), "must have 4 columns.*got 3"),
        (lambda: hed().embed(torch.zeros(2, 1)), "must have 4 columns.*got 1"),
        (lambda: hed()(torch.full((2, 4), 0.5)).to_dense(), "0 to 2, got 0.5"),
        (lambda: ssk()(torch.full((2, 4), 3.0)).to_dense(), "0 to 2, got 3.0"),
    ],
)
def test_errors_give_expected_and_actual(create, message):
    with pytest.raises(ValueError, match=message):
        create()


@pytest.mark.parametrize("create", KERNELS)
def test_last_dim_is_batch_is_refused(create):
    with pytest.raises(ValueError, match="last_dim_is_batch must be False"):
        create().forward(torch.zeros(3, 4), torch.zeros(3, 4), last_dim_is_batch=True)


class TestStringContract(shared.CodesContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return SubsequenceStringKernel(4, **kwargs)


class TestHEDContract(shared.TwoColumnsContract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return HEDKernel((4, 4), n_anchors=16, **kwargs)
