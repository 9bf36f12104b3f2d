"""What the tests of several kernels do alike."""

import copy
import pickle
from itertools import product

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.test.base_kernel_test_case import BaseKernelTestCase
from linear_operator import to_dense


def codes(n, sizes, seed=0, batch=()):
    """Draw (*batch, n, d) random codes."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(sizes, size=(*batch, n, len(sizes))).astype(float))


def vertices(sizes):
    """All points of a space, the last variable fastest."""
    return torch.tensor(list(product(*map(range, sizes))), dtype=torch.float64)


def dense(kernel, *inputs):
    """Kernel matrix without gradients."""
    with torch.no_grad():
        return kernel(*inputs).to_dense().numpy()


def with_parameters(kernel, parameters, x1, x2, diag=False):
    """Return covariances for other parameters, by name."""
    # A lazy matrix would be evaluated after the kernel has got its own parameters back.
    with gpytorch.settings.lazily_evaluate_kernels(False):
        found = torch.func.functional_call(kernel, parameters, (x1, x2), {"diag": diag})
        return to_dense(found)


def check_gradients(kernel, x1, x2):
    """Compare the gradients in all parameters with finite differences."""
    names, values = zip(*kernel.named_parameters(), strict=True)

    def matrix(*parameters):
        return with_parameters(kernel, dict(zip(names, parameters, strict=True)), x1, x2)

    leaves = tuple(value.detach().clone().requires_grad_() for value in values)
    assert all(slope.any() for slope in torch.autograd.grad(matrix(*leaves).sum(), leaves))
    # gradcheck compares with central finite differences, hence its own looser tolerance.
    assert torch.autograd.gradcheck(matrix, leaves, rtol=1e-6, atol=1e-8)


def check_finite(kernel, x):
    """Evaluate a kernel; its matrix, and the gradients in all parameters, must be finite."""
    matrix = kernel(x).to_dense()
    matrix.sum().backward()
    assert torch.isfinite(matrix).all()
    assert all(torch.isfinite(parameter.grad).all() for parameter in kernel.parameters())
    return matrix.detach()


def check_batch(kernel, singles, x, **tolerance):
    """Compare a kernel of batch shape (2,) with its two members, on (3, 2, 6, d) points."""
    batched = dense(kernel, x, x[..., :4, :])
    assert batched.shape == (3, 2, 6, 4)
    for i, j in product(range(3), range(2)):
        expected = dense(singles[j], x[i, j], x[i, j, :4])
        np.testing.assert_allclose(batched[i, j], expected, **tolerance)
    pairs = kernel(x, x.flip(-2), diag=True).detach()
    expected = np.diagonal(dense(kernel, x, x.flip(-2)), axis1=-2, axis2=-1)
    np.testing.assert_allclose(pairs, expected, **tolerance)
    second = dense(singles[1], x[0, 0])
    np.testing.assert_allclose(dense(kernel[1], x[0, 0]), second, **tolerance)
    expanded = dense(kernel.expand_batch(3, 2), x[0, 0])
    np.testing.assert_allclose(expanded[2, 1], second, **tolerance)
    part = kernel(x[0, 0])[1, 2:, :3].to_dense().detach()  # Of the lazily evaluated matrix.
    np.testing.assert_allclose(part, second[2:, :3], **tolerance)


def check_copies(kernel, restored, x):
    """Compare a kernel with a new one that gets its state, and with copies of it."""
    restored.load_state_dict(kernel.state_dict(), strict=False)
    for other in (restored, copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(dense(other, x), dense(kernel, x))


def check_botorch(kernel, x, y, candidates):
    """Fit a Gaussian process and evaluate an acquisition function, (n, q, d) to (n,)."""
    pytest.importorskip("botorch")
    from botorch import fit_gpytorch_mll
    from botorch import settings as botorch_settings
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.models import SingleTaskGP
    from botorch.sampling import SobolQMCNormalSampler

    kernel = kernel.double()
    before = [parameter.detach().clone() for parameter in kernel.parameters()]
    with botorch_settings.validate_input_scaling(False):  # Codes are not in [0, 1].
        model = SingleTaskGP(x, y, covar_module=ScaleKernel(kernel))
    fit_gpytorch_mll(
        ExactMarginalLogLikelihood(model.likelihood, model),
        optimizer_kwargs={"options": {"maxiter": 20}, "timeout_sec": None},
        max_attempts=1,
        warning_handler=lambda warning: True,  # Stopping after 20 steps is what was asked for.
    )
    assert any(not torch.equal(a, b) for a, b in zip(before, kernel.parameters(), strict=True))
    sampler = SobolQMCNormalSampler(torch.Size([32]), seed=0)
    acquisition = qLogExpectedImprovement(model, best_f=y.max(), sampler=sampler)
    values = acquisition(candidates).detach()
    assert values.shape == candidates.shape[:1] and torch.isfinite(values).all()


class CodesContract(BaseKernelTestCase):
    """GPyTorch's own kernel tests, on codes of variables with four choices."""

    def create_data_no_batch(self):
        return codes(50, (4,) * 10).float()

    def create_data_single_batch(self):
        return codes(3, (4, 4), batch=(2,)).float()

    def create_data_double_batch(self):
        return codes(50, (4, 4), batch=(3, 2)).float()


class TwoColumnsContract(CodesContract):
    """The same for kernels of a fixed number of columns, which need other tests of active_dims."""

    def test_active_dims_list(self):
        x = self.create_data_no_batch()
        kernel, basic = self.create_kernel_no_ard(active_dims=[4, 7]), self.create_kernel_no_ard()
        np.testing.assert_array_equal(dense(kernel, x), dense(basic, x[:, [4, 7]]))

    def test_active_dims_range(self):
        x = self.create_data_no_batch()
        kernel = self.create_kernel_no_ard(active_dims=list(range(3, 5)))
        np.testing.assert_array_equal(
            dense(kernel, x), dense(self.create_kernel_no_ard(), x[:, 3:5])
        )
