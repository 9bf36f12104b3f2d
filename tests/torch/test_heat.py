"""The GPyTorch kernels against other derivations and other libraries."""

import unittest
from functools import reduce

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models.kernels import CategoricalKernel
from gpytorch.constraints import Interval
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from heat_plugins.kernels import formulas
from heat_plugins.torch import HeatKernel, mixed_heat_kernel

from . import shared
from .shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
SIZES = (2, 5, 1, 3)
BETAS = (0.4, 0.03, 0.7, 0.2)


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def heat(sizes=SIZES, beta=BETAS, **kwargs):
    """Build a float64 kernel with the given diffusion times."""
    if "ard_num_dims" not in kwargs and not isinstance(beta, float):
        kwargs["ard_num_dims"] = len(sizes)
    kernel = HeatKernel(sizes, **kwargs).double()
    kernel.beta = beta
    return kernel


@pytest.mark.parametrize(("sizes", "beta"), [((2, 3, 4), 0.13), (SIZES, 0.5), (SIZES, BETAS)])
def test_kernel_is_the_kronecker_product_of_matrix_exponentials(sizes, beta):
    # L = g I - 1 1^T for a complete graph, and the exponential of a Kronecker sum is a
    # Kronecker product; its rows run through the vertices with the last variable fastest.
    betas = np.broadcast_to(beta, len(sizes))
    factors = [
        expm(-b * (g * np.eye(g) - np.ones((g, g)))) for b, g in zip(betas, sizes, strict=True)
    ]
    expected = reduce(np.kron, factors)
    np.testing.assert_allclose(
        dense(heat(sizes, beta), vertices(sizes)), expected / expected[0, 0], **TOLERANCE
    )


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_kernel_and_rates_agree_with_the_numpy_formulas(beta):
    x1, x2 = random_codes(12), random_codes(9, seed=1)
    kernel, rates = heat(beta=beta), formulas.rate(beta, SIZES)
    np.testing.assert_allclose(kernel.rates.detach().squeeze(), rates, **TOLERANCE)
    expected = formulas.heat_kernel(x1.numpy(), x2.numpy(), rates)
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)
    np.testing.assert_array_equal(np.diag(dense(kernel, x1)), 1.0)


def test_kernel_is_botorchs_categorical_kernel_with_lengthscale_from_the_rate():
    sizes, beta = (2, 5, 3), (0.4, 0.03, 0.2)  # Without g = 1, whose lengthscale is infinite.
    kernel, x = heat(sizes, beta), random_codes(15, sizes)
    categorical = CategoricalKernel(ard_num_dims=3).double()
    categorical.lengthscale = 1.0 / (3 * kernel.rates.detach())
    np.testing.assert_allclose(dense(kernel, x), dense(categorical, x), **TOLERANCE)


def test_isotropic_kernel_is_the_ard_kernel_with_equal_times():
    x = random_codes(15)
    np.testing.assert_allclose(
        dense(heat(beta=0.2), x), dense(heat(beta=(0.2,) * 4), x), **TOLERANCE
    )


def test_isotropic_kernel_of_equal_sizes_is_rbf_after_one_hot_encoding():
    # Two one-hot vectors of different choices are at squared distance 2, so 2 / (2 l^2) = rate.
    kernel, x = heat(3, 0.25), random_codes(10, (3,) * 6)
    rbf = RBFKernel().double()
    rbf.lengthscale = kernel.rates.detach().rsqrt()
    one_hot = torch.nn.functional.one_hot(x.long(), 3).flatten(-2).double()
    np.testing.assert_allclose(dense(kernel, x), dense(rbf, one_hot), **TOLERANCE)


def test_one_number_of_choices_stands_for_all_variables():
    x = random_codes(10, (3, 3))
    np.testing.assert_array_equal(dense(heat(3, 0.25), x), dense(heat((3, 3), 0.25), x))
    shared = heat(3, (0.1, 0.6), ard_num_dims=2)
    np.testing.assert_array_equal(dense(shared, x), dense(heat((3, 3), (0.1, 0.6)), x))


def test_a_variable_with_one_choice_collapses():
    x, kept = random_codes(10), [0, 1, 3]
    without = heat([SIZES[i] for i in kept], [BETAS[i] for i in kept])
    np.testing.assert_allclose(dense(heat(), x), dense(without, x[:, kept]), **TOLERANCE)
    kernel = heat()
    kernel(x).to_dense().sum().backward()
    assert kernel.raw_beta.grad[0, 2] == 0.0 and kernel.rates[0, 2] == 0.0


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_gradient_in_beta_is_right(beta):
    shared.check_gradients(heat(beta=beta), random_codes(5), random_codes(4, seed=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
def test_extreme_times_give_finite_values_and_gradients(raw, dtype):
    kernel = HeatKernel(SIZES, ard_num_dims=4).to(dtype)
    torch.nn.init.constant_(kernel.raw_beta, raw)
    matrix = shared.check_finite(kernel, random_codes(6).to(dtype))
    assert (matrix.diagonal() == 1.0).all()


def test_batched_times_and_batched_points_broadcast():
    x = random_codes(6, batch=(3, 2))
    kernel = HeatKernel(SIZES, ard_num_dims=4, batch_shape=torch.Size([2])).double()
    kernel.beta = torch.tensor([BETAS, BETAS[::-1]], dtype=torch.float64).unsqueeze(-2)
    assert kernel.beta.shape == kernel.rates.shape == kernel.n_choices.shape == (2, 1, 4)
    singles = [heat(beta=BETAS), heat(beta=BETAS[::-1])]
    shared.check_batch(kernel, singles, x, **TOLERANCE)


def test_integer_tensors_are_codes_too():
    x = random_codes(7)
    np.testing.assert_array_equal(dense(heat(), x.long()), dense(heat(), x))


def test_numbers_of_choices_may_come_from_arrays():
    x = random_codes(7)
    np.testing.assert_array_equal(dense(heat(np.array(SIZES), BETAS), x), dense(heat(), x))
    np.testing.assert_array_equal(dense(heat(torch.tensor(SIZES), BETAS), x), dense(heat(), x))
    np.testing.assert_array_equal(dense(heat(np.int64(5), 0.2), x), dense(heat(5, 0.2), x))


@given(seed=st.integers(0, 2**32 - 1), beta=st.floats(1e-6, 50.0))
@settings(deadline=None, max_examples=30)
def test_kernel_matrix_is_symmetric_and_positive_semidefinite(seed, beta):
    matrix = dense(heat(beta=beta), random_codes(20, seed=seed))
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-15)
    assert np.linalg.eigvalsh(matrix).min() > -1e-13


@pytest.mark.parametrize("ard", [True, False])
def test_mixed_kernel_agrees_with_the_numpy_formula(ard):
    discrete, numeric = [3, 0], [1, 2]
    points = torch.rand(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points[:, discrete] = random_codes(12, (5, 2))
    kernel = mixed_heat_kernel((5, 2), discrete, numeric, ard=ard).double()
    kernel.kernels[0].beta = torch.tensor([0.05, 0.3] if ard else 0.1, dtype=torch.float64)
    kernel.kernels[1].lengthscale = torch.tensor([0.3, 0.8] if ard else 0.4).double()
    weights = np.empty(4)
    weights[discrete] = kernel.kernels[0].rates.detach()
    weights[numeric] = 0.5 * kernel.kernels[1].lengthscale.detach() ** -2
    is_discrete = np.isin(np.arange(4), discrete)
    expected = formulas.mixed_kernel(points.numpy(), points.numpy(), weights, is_discrete)
    np.testing.assert_allclose(dense(kernel, points), expected, **TOLERANCE)
    np.testing.assert_allclose(dense(kernel, points, points[:3]), expected[:, :3], **TOLERANCE)


def test_mixed_kernel_without_one_kind_is_the_other_alone():
    assert isinstance(mixed_heat_kernel((2, 3), [0, 1], []), HeatKernel)
    assert isinstance(mixed_heat_kernel(2, [], [0, 1]), RBFKernel)


def test_exact_gp_trains_one_step():
    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y):
            super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
            self.mean_module = gpytorch.means.ConstantMean()
            prior = GammaPrior(2.0, 4.0)
            self.covar_module = ScaleKernel(HeatKernel(SIZES, ard_num_dims=4, beta_prior=prior))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    x = random_codes(25)
    y = (x[:, 1] == 2).double() - x[:, 0]
    model = Model(x, y).double()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        losses.append(-marginal(model(x), y))
        losses[-1].backward()
        optimizer.step()
    assert losses[1] < losses[0]
    model.eval()
    with torch.no_grad():
        posterior = model(random_codes(4, seed=5))
    assert torch.isfinite(posterior.mean).all() and (posterior.variance > 0).all()


def test_prior_can_be_sampled_into_the_parameter():
    kernel = HeatKernel(SIZES, beta_prior=GammaPrior(2.0, 4.0))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kernel.sample_from_prior("beta_prior")
        torch.manual_seed(0)
        expected = kernel.beta_prior.sample().item()
    assert kernel.beta.item() == pytest.approx(expected, rel=1e-5)  # The kernel is float32.


def test_prior_constraint_and_state_survive_copies():
    prior, constraint = GammaPrior(2.0, 4.0), Interval(0.01, 2.0)
    kernel = HeatKernel(SIZES, ard_num_dims=4, beta_prior=prior, beta_constraint=constraint)
    kernel.beta = 0.5
    assert [name for name, *_ in kernel.named_priors()] == ["beta_prior"]
    with pytest.raises(RuntimeError, match="out of bounds"):
        kernel.beta = 3.0
    restored = HeatKernel((2, 2, 2, 2), ard_num_dims=4, beta_constraint=Interval(0.01, 2.0))
    shared.check_copies(kernel, restored, random_codes(8))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_choices": (2, 0)}, ValueError, r"at least 1, got \[2.0, 0.0\]"),
        ({"n_choices": ()}, ValueError, r"at least 1, got \[\]"),
        ({"n_choices": (2, 2.5)}, ValueError, r"integers of at least 1, got \[2.0, 2.5\]"),
        ({"n_choices": (2, 3), "ard_num_dims": 3}, ValueError, r"len\(n_choices\) = 2, got 3"),
        (
            {"n_choices": (2, 3), "active_dims": (1,)},
            ValueError,
            r"len\(active_dims\) must be len\(n_choices\) = 2, got 1",
        ),
        ({"n_choices": (2, 3), "beta_prior": 1.0}, TypeError, "Prior, got float"),
    ],
)
def test_construction_errors_give_expected_and_actual(arguments, error, message):
    with pytest.raises(error, match=message):
        HeatKernel(**arguments)


def test_inputs_that_are_not_codes_are_refused():
    kernel = HeatKernel((2, 3))
    with pytest.raises(ValueError, match="must have 2 columns, one for each of n_choices, got 3"):
        kernel(torch.zeros(4, 3)).to_dense()
    for bad in (3.0, -1.0, 0.5, float("nan")):
        with pytest.raises(
            ValueError, match=f"variable 1 must be integers from 0 to 2, got {bad}"
        ):
            kernel(torch.tensor([[0.0, bad]])).to_dense()
    with pytest.raises(ValueError, match="none twice"):
        mixed_heat_kernel((2, 3), [0, 1], [1])


class TestGPyTorchContract(shared.CodesContract, unittest.TestCase):
    """GPyTorch's own kernel tests, on codes of variables with four choices."""

    def create_kernel_no_ard(self, **kwargs):
        return HeatKernel(4, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        return HeatKernel((4,) * num_dims, ard_num_dims=num_dims, **kwargs)
