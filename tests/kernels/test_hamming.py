"""The kernels of weighted Hamming distances against other derivations and other libraries."""

import unittest
from itertools import product

import numpy as np
import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel
from gpytorch.priors import GammaPrior

from heat_plugins.kernels.hamming import (
    CasmopolitanKernel,
    HammingKernel,
    MaternHammingKernel,
    OneHotRBFKernel,
    RationalQuadraticHammingKernel,
)
from heat_plugins.torch.mismatches import weighted_mismatches

from ..torch import shared
from ..torch.shared import codes, dense

TOLERANCE = {"rtol": 1e-12, "atol": 1e-14}
SIZES = (2, 5, 1, 3)
SCALES = (0.6, 1.7, 0.9, 2.2)


def laplace(r):
    """Correlations of the Ornstein-Uhlenbeck process, times 3: f(0) need not be 1."""
    return 3.0 * torch.exp(-r)


# Each kernel with ARD where it has any, and the name of the parameter that ARD multiplies.
KERNELS = {
    "casmopolitan": (CasmopolitanKernel, {}, "ell"),
    "one_hot": (OneHotRBFKernel, {}, "lengthscale"),
    "any": (HammingKernel, {"function": laplace}, "lengthscale"),
    "matern12": (MaternHammingKernel, {"nu": 0.5}, "lengthscale"),
    "matern32": (MaternHammingKernel, {"nu": 1.5}, "lengthscale"),
    "matern52": (MaternHammingKernel, {"nu": 2.5}, "lengthscale"),
    "rational": (RationalQuadraticHammingKernel, {}, "lengthscale"),
}
HAS_ARD = [name for name in KERNELS if name != "one_hot"]


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def build(name, n_choices=SIZES, scales=None, **kwargs):
    """Build a float64 kernel; one scale, or a sequence of them for ARD."""
    cls, arguments, parameter = KERNELS[name]
    if isinstance(scales, tuple):
        kwargs["ard_num_dims"] = len(scales)
    kernel = cls(n_choices=n_choices, **arguments, **kwargs).double()
    if scales is not None:
        setattr(kernel, parameter, scales)
    return kernel


def mismatches(x1, x2):
    return (x1.numpy()[:, None] != x2.numpy()[None, :]).astype(float)  # (n, m, d)


def test_casmopolitan_is_its_definition_over_its_diagonal():
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    matches = 1.0 - mismatches(x1, x2)
    expected = np.exp((matches * SCALES).sum(-1) / 4) / np.exp(np.sum(SCALES) / 4)
    kernel = build("casmopolitan", scales=SCALES)
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)


def one_hot(x, sizes=SIZES):
    parts = [torch.nn.functional.one_hot(x[:, i].long(), g) for i, g in enumerate(sizes)]
    return torch.cat(parts, dim=-1).double()


@pytest.mark.parametrize(
    ("name", "euclidean"),
    [
        ("one_hot", RBFKernel()),
        ("matern12", MaternKernel(0.5)),
        ("matern32", MaternKernel(1.5)),
        ("matern52", MaternKernel(2.5)),
        ("any", MaternKernel(0.5)),
    ],
)
def test_kernels_are_those_of_gpytorch_after_one_hot_encoding(name, euclidean):
    # Different choices are at Euclidean distance sqrt(2), and exp(-||z - z'||^2 / (2 l^2)) has
    # this factor in its definition; the other functions take r = ||z - z'|| / (sqrt(2) l).
    x = random_codes(12)
    euclidean = euclidean.double()
    factor = 1.0 if name == "one_hot" else 2.0**0.5
    euclidean.lengthscale = torch.tensor(1.3 * factor, dtype=torch.float64)
    np.testing.assert_allclose(
        dense(build(name, scales=1.3), x), dense(euclidean, one_hot(x)), rtol=1e-7, atol=1e-7
    )  # GPyTorch's distances of equal points are not exactly 0, and it takes their root.


def test_rational_quadratic_is_gpytorchs_after_one_hot_encoding():
    # GPyTorch: (1 + ||z - z'||^2 / (2 alpha l^2))^-alpha, and ||z - z'||^2 = 2 h.
    x, euclidean = random_codes(12), RQKernel().double()
    euclidean.lengthscale = torch.tensor(1.3, dtype=torch.float64)
    euclidean.alpha = torch.tensor(0.4, dtype=torch.float64)
    kernel = build("rational", scales=1.3)
    kernel.alpha = 0.4
    np.testing.assert_allclose(dense(kernel, x), dense(euclidean, one_hot(x)), **TOLERANCE)


def test_bounces_kernel_is_the_papers_formula():
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    d, ell = np.sqrt(mismatches(x1, x2).sum(-1)), 1.3
    a = np.sqrt(5) * d / ell
    expected = (1 + a + 5 * d**2 / (3 * ell**2)) * np.exp(-a)
    np.testing.assert_allclose(dense(build("matern52", scales=ell), x1, x2), expected, **TOLERANCE)


@pytest.mark.parametrize("name", HAS_ARD)
def test_equal_scales_give_the_isotropic_kernel(name):
    x = random_codes(10)
    np.testing.assert_allclose(
        dense(build(name, scales=1.1), x), dense(build(name, scales=(1.1,) * 4), x), **TOLERANCE
    )


@pytest.mark.parametrize("name", KERNELS)
def test_numbers_of_choices_change_the_computation_and_not_the_values(name):
    x1, x2 = random_codes(10, (3, 3)), random_codes(8, (3, 3), seed=1)
    scales = 1.1 if name == "one_hot" else (0.8, 1.9)
    expected = dense(build(name, None, scales), x1, x2)
    for n_choices in (3, (3, 3), np.array([3, 3])):
        actual = dense(build(name, n_choices, scales), x1, x2)
        np.testing.assert_allclose(actual, expected, **TOLERANCE)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_choices", [SIZES, None])
def test_equal_points_have_correlation_one_exactly(name, n_choices):
    kernel, x = build(name, n_choices), random_codes(10)
    np.testing.assert_array_equal(np.diag(dense(kernel, x)), 1.0)
    np.testing.assert_array_equal(kernel(x, diag=True).detach(), 1.0)


@pytest.mark.parametrize(("name", "ard"), [*product(KERNELS, [False]), *product(HAS_ARD, [True])])
def test_gradients_in_all_parameters_are_right(name, ard):
    x1, x2 = random_codes(4), random_codes(3, seed=1)
    x2[0] = x1[0]  # A pair of equal points, where the root has no slope.
    kernel = build(name, scales=SCALES if ard else 1.2)
    shared.check_gradients(kernel, x1, x2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
@pytest.mark.parametrize("name", KERNELS)
def test_extreme_parameters_give_finite_values_and_gradients(name, raw, dtype):
    kernel = build(name).to(dtype)
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, raw)
    matrix = shared.check_finite(kernel, random_codes(6).to(dtype))
    assert matrix.dtype == dtype and (matrix.diagonal() == 1.0).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_choices", [SIZES, None])
def test_batched_parameters_and_batched_points_broadcast(name, n_choices):
    x = random_codes(6, batch=(3, 2))
    kernel = build(name, n_choices, batch_shape=torch.Size([2]))
    singles = [build(name, n_choices) for _ in range(2)]
    for raw, *each in zip(*(k.parameters() for k in (kernel, *singles)), strict=True):
        raw.data = torch.linspace(-0.5, 0.7, 2).double().reshape(raw.shape)
        for j in range(2):
            each[j].data = raw.data[j].clone()
    shared.check_batch(kernel, singles, x, **TOLERANCE)
    with pytest.warns(DeprecationWarning, match="last_dim_is_batch"):
        per_variable = kernel(x, last_dim_is_batch=True).to_dense()
    assert per_variable.shape == (3, 2, 4, 6, 6)


@pytest.mark.parametrize("name", KERNELS)
def test_last_dim_as_batch_gives_one_kernel_per_variable(name):
    x, scales = random_codes(7), 1.2 if name == "one_hot" else SCALES
    kernel = build(name, scales=scales)
    factors = kernel.forward(x, x[:5], last_dim_is_batch=True).detach()
    assert factors.shape == (4, 7, 5)
    weights = kernel.weights(4).detach().expand(1, 4)[0]
    for i in range(4):
        distances = weights[i] * (x[:, None, i] != x[None, :5, i])
        expected = kernel.correlation(distances, 2).detach()
        np.testing.assert_allclose(factors[i], expected, **TOLERANCE)
    pairs = kernel.forward(x[:5], x[2:], diag=True, last_dim_is_batch=True).detach()
    expected = kernel.forward(x[:5], x[2:], last_dim_is_batch=True).detach()
    np.testing.assert_allclose(pairs, expected.diagonal(dim1=-2, dim2=-1), **TOLERANCE)
    if name in ("casmopolitan", "one_hot"):
        np.testing.assert_allclose(factors.prod(dim=0), dense(kernel, x, x[:5]), **TOLERANCE)


@pytest.mark.parametrize("name", KERNELS)
def test_integer_tensors_are_codes_too(name):
    x = random_codes(7)
    np.testing.assert_array_equal(dense(build(name), x.long()), dense(build(name), x))


def test_weighted_mismatches_of_equal_points_are_exactly_zero():
    x, weights = random_codes(20), torch.tensor([[0.1, 0.2, 0.3, 0.7]], dtype=torch.float64)
    for sizes in (list(SIZES), None):
        distances = weighted_mismatches(x, x, weights, sizes)
        np.testing.assert_array_equal(distances.diagonal(), 0.0)
        expected = (mismatches(x, x) * weights.numpy()[0]).sum(-1)
        np.testing.assert_allclose(distances, expected, **TOLERANCE)


@pytest.mark.parametrize("name", KERNELS)
def test_priors_constraints_and_state_survive_copies(name):
    cls, arguments, parameter = KERNELS[name]

    def create(**kwargs):
        constraint = {f"{parameter}_constraint": Interval(0.01, 2.0)}
        return cls(n_choices=SIZES, **arguments, **constraint, **kwargs)

    kernel = create(**{f"{parameter}_prior": GammaPrior(2.0, 4.0)})
    setattr(kernel, parameter, 0.5)
    assert getattr(kernel, parameter).item() == pytest.approx(0.5, rel=1e-6)
    assert [prior for prior, *_ in kernel.named_priors()] == [f"{parameter}_prior"]
    with pytest.raises(RuntimeError, match="out of bounds"):
        setattr(kernel, parameter, 3.0)
    restored = create()
    shared.check_copies(kernel, restored, random_codes(8))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        kernel.sample_from_prior(f"{parameter}_prior")
    assert getattr(kernel, parameter).item() != 0.5


def test_prior_and_constraint_of_alpha():
    kernel = RationalQuadraticHammingKernel(
        alpha_prior=GammaPrior(2.0, 4.0), alpha_constraint=Interval(0.1, 5.0)
    )
    kernel.initialize(alpha=2.0)
    assert kernel.alpha.item() == pytest.approx(2.0)
    assert [name for name, *_ in kernel.named_priors()] == ["alpha_prior"]


def test_a_python_float_does_not_lose_digits():
    for name in KERNELS:
        kernel = build(name, scales=0.3)
        value = getattr(kernel, KERNELS[name][2])
        assert value.item() == pytest.approx(0.3, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("cls", "arguments", "error", "message"),
    [
        (CasmopolitanKernel, {"n_choices": (2, 0)}, ValueError, r"at least 1, got \[2.0, 0.0\]"),
        (
            CasmopolitanKernel,
            {"n_choices": (2, 3), "ard_num_dims": 3},
            ValueError,
            r"ard_num_dims must be len\(n_choices\) = 2, got 3",
        ),
        (
            MaternHammingKernel,
            {"n_choices": (2, 3), "active_dims": (1,)},
            ValueError,
            r"len\(active_dims\) must be len\(n_choices\) = 2, got 1",
        ),
        (
            CasmopolitanKernel,
            {"ell_prior": 1.0},
            TypeError,
            "ell_prior must .*Prior, got float",
        ),
        (OneHotRBFKernel, {"lengthscale_prior": 1.0}, TypeError, "Prior but got float"),
        (HammingKernel, {"function": 2.0}, TypeError, "must be callable, got float"),
        (MaternHammingKernel, {"nu": 2.0}, ValueError, "0.5, 1.5 or 2.5, got 2.0"),
    ],
)
def test_construction_errors_give_expected_and_actual(cls, arguments, error, message):
    with pytest.raises(error, match=message):
        cls(**arguments)


def test_inputs_that_are_not_codes_are_refused():
    kernel = MaternHammingKernel((2, 3))
    with pytest.raises(ValueError, match="must have 2 columns, one for each of n_choices, got 3"):
        kernel(torch.zeros(4, 3)).to_dense()
    with pytest.raises(ValueError, match="variable 1 must be integers from 0 to 2, got 3"):
        kernel(torch.tensor([[0.0, 3.0]])).to_dense()
    with pytest.raises(ValueError, match="function must be positive at 0, got 0.0"):
        HammingKernel(torch.sin)(torch.zeros(4, 3)).to_dense()


@pytest.mark.parametrize("name", KERNELS)
def test_botorch_fits_and_optimises_with_it(name):
    x = random_codes(14)
    y = ((x[:, 1] == 2).double() - x[:, 0] + 0.1 * x[:, 3]).unsqueeze(-1)
    kernel = build(name, **({} if name == "one_hot" else {"ard_num_dims": 4}))
    shared.check_botorch(kernel, x, y, random_codes(2, seed=5, batch=(10,)))


class _Contract(shared.CodesContract):
    name = ""

    def create_kernel_no_ard(self, **kwargs):
        cls, arguments, _ = KERNELS[self.name]
        return cls(n_choices=4, **arguments, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        if self.name not in HAS_ARD:
            raise NotImplementedError
        cls, arguments, _ = KERNELS[self.name]
        return cls(n_choices=(4,) * num_dims, ard_num_dims=num_dims, **arguments, **kwargs)


class TestCasmopolitanContract(_Contract, unittest.TestCase):
    name = "casmopolitan"


class TestOneHotContract(_Contract, unittest.TestCase):
    name = "one_hot"


class TestHammingContract(_Contract, unittest.TestCase):
    name = "any"


class TestMaternContract(_Contract, unittest.TestCase):
    name = "matern52"


class TestRationalQuadraticContract(_Contract, unittest.TestCase):
    name = "rational"
