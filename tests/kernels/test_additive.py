"""Additive kernels against enumeration of subsets, and the reductions between them."""

import math
import unittest
from itertools import combinations

import numpy as np
import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.priors import GammaPrior

from heat_plugins.kernels import HeatKernel, formulas
from heat_plugins.kernels.additive import (
    AdditiveKernel,
    DecompositionKernel,
    InteractionOrdersKernel,
    polynomials_by_power_sums,
    polynomials_by_recursion,
)

from ..torch import shared
from ..torch.shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
SIZES = (2, 5, 3, 3)
BETAS = (0.4, 0.03, 0.7, 0.2)
COMPONENTS = ((0, 1), (1, 3), (2,))


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def additive(**kwargs):
    return AdditiveKernel(SIZES, **kwargs)


def decomposition(**kwargs):
    return DecompositionKernel(SIZES, COMPONENTS, **kwargs)


def orders(**kwargs):
    return InteractionOrdersKernel(SIZES, 3, **kwargs)


def orthogonal(**kwargs):
    return InteractionOrdersKernel(SIZES, 3, orthogonal=True, **kwargs)


KERNELS = [additive, decomposition, orders, orthogonal]


def with_times(create, beta=BETAS, variances=None, **kwargs):
    """Build a float64 kernel with the given parameters."""
    ard = None if isinstance(beta, float) else len(beta)
    kernel = create(ard_num_dims=ard, **kwargs).double()
    kernel.beta = beta
    if variances is not None:
        kernel.order_variance = variances
    return kernel


def base_matrices(x1, x2, beta=BETAS, sizes=SIZES):
    """(d, n, m) base kernels k_i."""
    rho = np.broadcast_to(formulas.rho(beta, sizes), len(sizes))
    equal = x1.numpy().T[:, :, None] == x2.numpy().T[:, None, :]
    return np.where(equal, 1.0, rho[:, None, None])


def centred_matrices(x1, x2, beta=BETAS, sizes=SIZES):
    """(d, n, m) base kernels orthogonal to constants, and their values on the diagonal."""
    rho, g = np.broadcast_to(formulas.rho(beta, sizes), len(sizes)), np.asarray(sizes, float)
    equal = x1.numpy().T[:, :, None] == x2.numpy().T[:, None, :]
    complement = -np.expm1(-formulas.rate(beta, sizes))  # 1 - rho, also for rho close to 1.
    strength = complement / (rho + complement / g)
    return strength[:, None, None] * (equal - 1 / g[:, None, None]), strength * (1 - 1 / g)


def subsets(values, order):
    """Elementary symmetric polynomial by enumeration."""
    return sum(
        math.prod((values[i] for i in c), start=np.ones_like(values[0]))
        for c in combinations(range(len(values)), order)
    )


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_additive_kernel_is_the_mean_of_the_base_kernels(beta):
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    kernel = with_times(additive, beta)
    np.testing.assert_allclose(
        dense(kernel, x1, x2), base_matrices(x1, x2, beta).mean(axis=0), **TOLERANCE
    )
    np.testing.assert_array_equal(np.diag(dense(kernel, x1)), 1.0)


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_decomposition_kernel_is_the_mean_of_products(beta):
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    base = base_matrices(x1, x2, beta)
    expected = np.mean([base[list(c)].prod(axis=0) for c in COMPONENTS], axis=0)
    kernel = with_times(decomposition, beta)
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)
    np.testing.assert_array_equal(np.diag(dense(kernel, x1)), 1.0)


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_decompositions_reduce_to_the_product_and_to_the_sum(beta):
    x = random_codes(9)
    whole = with_times(lambda **k: DecompositionKernel(SIZES, [range(4)], **k), beta)
    heat = with_times(lambda **k: HeatKernel(SIZES, **k), beta)
    np.testing.assert_allclose(dense(whole, x), dense(heat, x), **TOLERANCE)
    single = with_times(lambda **k: DecompositionKernel(SIZES, [[3], [1], [0], [2]], **k), beta)
    np.testing.assert_allclose(dense(single, x), dense(with_times(additive, beta), x), **TOLERANCE)


@pytest.mark.parametrize("beta", [0.3, BETAS])
@pytest.mark.parametrize("max_order", [1, 2, 3, 4])
def test_plain_orders_are_sums_over_subsets(beta, max_order):
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    variances = np.arange(1.0, max_order + 1)
    kernel = with_times(
        lambda **k: InteractionOrdersKernel(SIZES, max_order, **k), beta, variances
    )
    base = base_matrices(x1, x2, beta)
    expected = sum(v * subsets(base, q) / math.comb(4, q) for q, v in enumerate(variances, 1))
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)
    np.testing.assert_allclose(np.diag(dense(kernel, x1)), variances.sum(), **TOLERANCE)


def test_first_order_is_the_additive_kernel():
    kernel = with_times(lambda **k: InteractionOrdersKernel(SIZES, 1, **k), variances=[1.0])
    x = random_codes(9)
    np.testing.assert_allclose(dense(kernel, x), dense(with_times(additive), x), **TOLERANCE)


def test_all_plain_orders_are_the_expanded_product():
    # sum_{q >= 1} e_q(k) = prod_i (1 + k_i) - 1.
    kernel = with_times(
        lambda **k: InteractionOrdersKernel(SIZES, 4, **k),
        variances=[float(math.comb(4, q)) for q in range(1, 5)],
    )
    x = random_codes(9)
    expected = (1.0 + base_matrices(x, x)).prod(axis=0) - 1.0
    np.testing.assert_allclose(dense(kernel, x), expected, **TOLERANCE)


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_orthogonal_orders_are_normalised_sums_over_subsets(beta):
    x1, x2 = random_codes(9), random_codes(7, seed=1)
    variances = np.array([0.5, 1.0, 2.0, 3.0])
    kernel = with_times(orthogonal, beta, variances)
    centred, diagonal = centred_matrices(x1, x2, beta)
    expected = sum(v * subsets(centred, q) / subsets(diagonal, q) for q, v in enumerate(variances))
    np.testing.assert_allclose(dense(kernel, x1, x2), expected, **TOLERANCE)
    np.testing.assert_allclose(np.diag(dense(kernel, x1)), variances.sum(), **TOLERANCE)


@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_all_orthogonal_orders_with_the_right_variances_are_the_heat_kernel(beta):
    x = random_codes(9)
    _, diagonal = centred_matrices(x, x, beta)
    variances = np.array([subsets(diagonal, q) for q in range(5)])
    kernel = with_times(
        lambda **k: InteractionOrdersKernel(SIZES, 4, orthogonal=True, **k),
        beta,
        variances / variances.sum(),
    )
    heat = with_times(lambda **k: HeatKernel(SIZES, **k), beta)
    np.testing.assert_allclose(dense(kernel, x), dense(heat, x), **TOLERANCE)


def test_effects_have_mean_zero_and_orders_are_orthogonal():
    sizes, x = (2, 3, 4), vertices((2, 3, 4))
    parts = []
    for q in range(4):
        variances = np.full(4, 1e-300)  # Positive, and nothing.
        variances[q] = 1.0
        kernel = with_times(
            lambda **k: InteractionOrdersKernel(sizes, 3, orthogonal=True, **k),
            BETAS[:3],
            variances,
        )
        parts.append(dense(kernel, x))
    np.testing.assert_allclose(parts[0], 1.0, **TOLERANCE)
    for q in range(1, 4):
        # The mean over one variable of an effect that involves it is zero; order q has none
        # without variables, so its mean over all points is.
        np.testing.assert_allclose(parts[q].mean(axis=0), 0.0, **TOLERANCE)
    for q, r in combinations(range(4), 2):
        np.testing.assert_allclose(parts[q] @ parts[r], 0.0, rtol=0.0, atol=1e-11)
    # Order 3 of three variables: zero mean over each variable alone.
    effects = parts[3].reshape(2, 3, 4, -1)
    for axis in range(3):
        np.testing.assert_allclose(effects.mean(axis=axis), 0.0, **TOLERANCE)


@pytest.mark.parametrize(("d", "max_order"), [(8, 8), (12, 10), (30, 15), (50, 20)])
def test_newton_identities_keep_the_digits_that_are_claimed(d, max_order):
    rng = np.random.default_rng(0)
    values = torch.from_numpy(np.where(rng.random((d, 500)) < 0.5, 1.0, rng.random((d, 1))))
    values[:, 0] = 1.0
    exact = polynomials_by_recursion(values, max_order)
    sums = [(values**s).sum(dim=0) for s in range(1, max_order + 1)]
    newton = polynomials_by_power_sums(sums, sign=-1.0)
    for q in range(max_order + 1):
        error = (newton[q] - exact[q]).abs().max() / math.comb(d, q)
        assert error < 3e-14, q
    if d == 8:
        enumerated = [subsets(values.numpy(), q) for q in range(9)]
        np.testing.assert_allclose(torch.stack(exact), enumerated, rtol=1e-13)


def test_the_recursion_takes_over_where_newton_identities_fail():
    d = 24
    values = torch.linspace(0.1, 1.0, d, dtype=torch.float64).unsqueeze(-1)
    sums = [(values**s).sum(dim=0) for s in range(1, d + 1)]
    newton = polynomials_by_power_sums(sums, sign=-1.0)
    assert abs(newton[d].item() / values.prod().item() - 1.0) > 1e-6  # Useless.
    sizes, x = (3,) * d, random_codes(6, (3,) * d)
    variances = [float(math.comb(d, q)) for q in range(1, d + 1)]
    kernel = with_times(
        lambda **k: InteractionOrdersKernel(sizes, d, **k),
        tuple(np.linspace(0.1, 1, d)),
        variances,
    )
    base = base_matrices(x, x, np.linspace(0.1, 1, d), sizes)
    np.testing.assert_allclose(dense(kernel, x), (1.0 + base).prod(axis=0) - 1.0, rtol=1e-11)


def test_orthogonal_kernel_with_irrelevant_variables_keeps_its_digits():
    beta = (0.1, 0.2, 9.0, 8.0)  # Strengths differ by ten orders of magnitude.
    x = random_codes(9)
    centred, diagonal = centred_matrices(x, x, beta)
    kernel = with_times(orthogonal, beta, [1e-300, 1e-300, 1e-300, 1.0])
    expected = subsets(centred, 3) / subsets(diagonal, 3)
    np.testing.assert_allclose(dense(kernel, x), expected, **TOLERANCE)


@pytest.mark.parametrize("beta", [(0.4, 0.1, 0.7, 0.2), (0.4, 0.1, 0.7, 9.0)])  # Both recursions.
def test_orthogonal_kernel_ignores_a_variable_with_one_choice(beta):
    x, kept = random_codes(9, (2, 5, 1, 3)), [0, 1, 3]
    variances = [0.1, 0.2, 0.3, 0.4]
    orders_of = InteractionOrdersKernel
    kernel = with_times(lambda **k: orders_of((2, 5, 1, 3), 3, True, **k), beta, variances)
    without = with_times(
        lambda **k: orders_of((2, 5, 3), 3, True, **k), [beta[i] for i in kept], variances
    )
    np.testing.assert_allclose(dense(kernel, x), dense(without, x[:, kept]), **TOLERANCE)
    kernel(x).to_dense().sin().sum().backward()
    assert torch.isfinite(kernel.raw_beta.grad).all() and kernel.raw_beta.grad[0, 2] == 0.0


@pytest.mark.parametrize("create", KERNELS)
@pytest.mark.parametrize("beta", [0.02, 3.0, BETAS])
def test_kernels_are_positive_semidefinite_on_all_points(create, beta):
    matrix = dense(with_times(create, beta), vertices(SIZES))
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


@pytest.mark.parametrize("create", KERNELS)
@pytest.mark.parametrize("beta", [0.3, BETAS, (0.1, 0.2, 5.0, 6.0)])
def test_gradients_are_right(create, beta):
    shared.check_gradients(with_times(create, beta), random_codes(5), random_codes(4, seed=1))


@pytest.mark.parametrize("create", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
def test_extreme_times_give_finite_values_and_gradients(create, raw, dtype):
    kernel = create(ard_num_dims=4).to(dtype)
    torch.nn.init.constant_(kernel.raw_beta, raw)
    kernel.raw_beta.data[0, 0] = 0.3
    shared.check_finite(kernel, random_codes(6).to(dtype))


@pytest.mark.parametrize("create", KERNELS)
def test_batched_times_and_batched_points_broadcast(create):
    x = random_codes(6, batch=(3, 2))
    kernel = create(ard_num_dims=4, batch_shape=torch.Size([2])).double()
    kernel.beta = torch.tensor([BETAS, BETAS[::-1]], dtype=torch.float64).unsqueeze(-2)
    singles = [with_times(create, BETAS), with_times(create, BETAS[::-1])]
    shared.check_batch(kernel, singles, x, **TOLERANCE)


@pytest.mark.parametrize("create", KERNELS)
def test_state_priors_and_constraints_survive_copies(create):
    kernel = create(beta_prior=GammaPrior(2.0, 4.0), beta_constraint=Interval(0.01, 2.0))
    kernel.beta = 0.5
    restored = create(beta_constraint=Interval(0.01, 2.0))
    shared.check_copies(kernel, restored, random_codes(8))


def test_order_variances_have_a_prior():
    with pytest.raises(TypeError, match="order_variance_prior must be .* got float"):
        orders(order_variance_prior=1.0)
    kernel = orders(order_variance_prior=GammaPrior(2.0, 4.0))
    with torch.random.fork_rng(devices=[]):
        kernel.sample_from_prior("order_variance_prior")
    assert kernel.order_variance.shape == (3,)
    [(_, module, prior, closure, _)] = list(kernel.named_priors())
    assert torch.isfinite(prior.log_prob(closure(module))).all()


@pytest.mark.parametrize("create", KERNELS)
def test_botorch_fits_and_acquires(create):
    x = random_codes(15)
    y = (x[:, :1] == 1).double() - 0.3 * x[:, 1:2] + 0.1 * torch.sin(7.0 * x.sum(-1, True))
    shared.check_botorch(create(ard_num_dims=4), x, y, random_codes(2, seed=3, batch=(5,)))


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: DecompositionKernel((2, 3), [(0, 2)]), r"from 0 to 1, got \[\(0, 2\)\]"),
        (lambda: DecompositionKernel((2, 3), []), r"at least one and none empty, got \[\]"),
        (lambda: DecompositionKernel((2, 3), [(0,), ()]), "none empty"),
        (lambda: DecompositionKernel((2, 3), [(0, 1), (1, 0)]), "must not repeat"),
        (lambda: DecompositionKernel((2, 3), [(1, 1)]), "column twice"),
        (lambda: InteractionOrdersKernel((2, 3), 0), "from 1 to 2, got 0"),
        (lambda: InteractionOrdersKernel((2, 3), 3), "from 1 to 2, got 3"),
        (lambda: InteractionOrdersKernel(2, 0), "at least 1, got 0"),
        (lambda: InteractionOrdersKernel((2, 1), 2, True), "from 1 to 1, got 2"),
    ],
)
def test_construction_errors_give_expected_and_actual(create, message):
    with pytest.raises(ValueError, match=message):
        create()


@pytest.mark.parametrize("create", KERNELS)
def test_inputs_that_are_not_codes_are_refused(create):
    with pytest.raises(ValueError, match="must have 4 columns, one for each of n_choices, got 3"):
        create()(torch.zeros(4, 3)).to_dense()
    with pytest.raises(ValueError, match="variable 1 must be integers from 0 to 4, got 0.5"):
        create()(torch.tensor([[0.0, 0.5, 0.0, 0.0]])).to_dense()
    with pytest.raises(ValueError, match="last_dim_is_batch must be False"):
        create().forward(torch.zeros(4, 4), torch.zeros(4, 4), last_dim_is_batch=True)


def test_shared_number_of_choices_meets_the_inputs_late():
    with pytest.raises(ValueError, match=r"from 0 to 1, got \[\(0, 2\)\]"):
        DecompositionKernel(2, [(0, 2)])(torch.zeros(3, 2)).to_dense()
    with pytest.raises(ValueError, match="from 1 to 2, got 3"):
        InteractionOrdersKernel(2, 3)(torch.zeros(3, 2)).to_dense()


class Contract(shared.CodesContract):
    def create_kernel_ard(self, num_dims, **kwargs):
        return self.create_kernel_no_ard(ard_num_dims=num_dims, **kwargs)


class TestAdditiveContract(Contract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return AdditiveKernel(4, **kwargs)


class TestDecompositionContract(Contract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return DecompositionKernel(4, [(0, 1), (1,)], **kwargs)


class TestOrdersContract(Contract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return InteractionOrdersKernel(4, 2, **kwargs)


class TestOrthogonalOrdersContract(Contract, unittest.TestCase):
    def create_kernel_no_ard(self, **kwargs):
        return InteractionOrdersKernel(4, 2, orthogonal=True, **kwargs)
