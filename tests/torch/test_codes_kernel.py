"""What all kernels on codes have from their base classes, and the helpers next to these."""

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP

from heat_plugins.botorch import HeatGP
from heat_plugins.space import Categorical, Space
from heat_plugins.spec.structures import Additive
from heat_plugins.torch import (
    CombinatorialKernel,
    GraphHeatKernel,
    HeatKernel,
    mixed_heat_kernel,
)
from heat_plugins.torch.codes_kernel import one_hot

from .shared import codes, dense

TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}
COLUMNS = [4, 1, 2]


def mixed(batch_shape, active_dims):
    return mixed_heat_kernel((3, 3), active_dims[:2], active_dims[2:], batch_shape=batch_shape)


CREATE = {
    "heat": lambda **k: HeatKernel((3, 3, 3), ard_num_dims=3, **k),
    # With one number for all columns, wrong columns would go unnoticed.
    "heat shared": lambda **k: HeatKernel(3, **k),
    "mixed": mixed,
    "path": lambda **k: GraphHeatKernel(3, "path", **k),
    "in NumPy": lambda **k: CombinatorialKernel([3, 3, 3], "matern", **k),
}


def batched(name, active_dims):
    """Build a float64 kernel of batch shape (2,), with parameters that differ in the batch."""
    kernel = CREATE[name](batch_shape=torch.Size([2]), active_dims=active_dims).double()
    for parameter in kernel.parameters():
        values = torch.linspace(-1.0, 0.5, parameter.numel(), dtype=torch.float64)
        parameter.data = values.reshape(parameter.shape)
    return kernel


@pytest.mark.parametrize("name", CREATE)
def test_members_of_a_batch_keep_their_active_columns(name):
    x, kernel = codes(7, (3,) * 6), batched(name, COLUMNS)
    matrices = dense(kernel, x)
    assert matrices.shape == (2, 7, 7) and not np.allclose(matrices[0], matrices[1])
    every_column = batched(name, [0, 1, 2])
    np.testing.assert_allclose(matrices, dense(every_column, x[:, COLUMNS]), **TOLERANCE)
    mask = torch.tensor([False, True])
    for index in (0, 1, -1, slice(1, 2), slice(None), [1, 0], None, mask, (0,)):
        expected = matrices[mask.numpy() if index is mask else index]
        np.testing.assert_allclose(dense(kernel[index], x), expected, **TOLERANCE)
    lazy = kernel(x)[1, 2:, :3].to_dense().detach()
    np.testing.assert_allclose(lazy, matrices[1, 2:, :3], **TOLERANCE)
    if name != "mixed":  # GPyTorch's ProductKernel does not expand its factors.
        expanded = dense(kernel.expand_batch(3, 2), x)
        np.testing.assert_allclose(expanded, np.stack([matrices] * 3), **TOLERANCE)
    np.testing.assert_array_equal(dense(kernel, x), matrices)  # It has not changed itself.


def test_active_columns_survive_an_index_that_fails():
    kernel = batched("heat", COLUMNS)
    with pytest.raises(IndexError):
        kernel[5]
    assert kernel.active_dims.tolist() == COLUMNS


def test_a_kernel_without_batch_is_its_only_member():
    kernel = HeatKernel(3, active_dims=COLUMNS)
    assert kernel[0] is kernel and kernel.active_dims.tolist() == COLUMNS


@pytest.mark.parametrize("name", [name for name in CREATE if name != "mixed"])
def test_inputs_between_codes_are_rounded_in_predictions_and_refused_elsewhere(name):
    kernel = CREATE[name](batch_shape=torch.Size(), active_dims=[0, 1, 2]).double()
    x = codes(6, (3, 3, 3))
    between = x + torch.linspace(-0.45, 0.45, x.numel(), dtype=torch.float64).reshape(x.shape)
    with pytest.raises(ValueError, match="must be integers from 0"):
        dense(kernel, between)
    with pytest.raises(ValueError, match="must be integers from 0"):
        dense(kernel, -x - 1.0)
    expected = dense(kernel, x)
    with gpytorch.settings.debug(False):
        np.testing.assert_allclose(dense(kernel, between), expected, **TOLERANCE)
        beyond = torch.where(x == 2.0, 7.0, torch.where(x == 0.0, -3.0, x))
        np.testing.assert_allclose(dense(kernel, beyond), expected, **TOLERANCE)


def test_a_prediction_between_codes_is_that_of_heat_gp():
    space = Space(tuple(Categorical(f"c{i}", "abcd") for i in range(3)))
    x = codes(12, (4, 4, 4), seed=1)
    y = (x == 2.0).sum(dim=-1, keepdim=True).double()
    of_numpy_kernel = CombinatorialKernel(space, structure=Additive())
    plain, numpy_kernel = (
        SingleTaskGP(x, y, covar_module=gpytorch.kernels.ScaleKernel(kernel))
        for kernel in (HeatKernel(4, ard_num_dims=3), of_numpy_kernel)
    )
    ours = HeatGP(x, y, space=space).fit()
    between = x[:5] + 0.4 * torch.tensor([[1.0, -1.0, 1.0]], dtype=torch.float64)
    for gp in (plain, numpy_kernel, ours):
        np.testing.assert_allclose(
            gp.posterior(between).mean.detach(), gp.posterior(x[:5]).mean.detach()
        )


def test_one_hot_features():
    x = codes(5, (2, 4, 1), batch=(3,))
    features = one_hot(x, [2, 4, 1], torch.float64)
    parts = [torch.nn.functional.one_hot(x[..., i].long(), g) for i, g in enumerate((2, 4, 1))]
    np.testing.assert_array_equal(features, torch.cat(parts, dim=-1))
