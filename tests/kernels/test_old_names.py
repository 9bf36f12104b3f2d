"""Names of GPyTorch kernels that the package had elsewhere, or under other names."""

import pytest

import heat_plugins.torch
from heat_plugins import kernels
from heat_plugins.spec.structures import (
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.torch import CombinatorialKernel


@pytest.mark.parametrize("name", ["GraphHeatKernel", "HeatKernel", "mixed_heat_kernel"])
def test_native_kernels_are_still_found(name):
    assert getattr(kernels, name) is getattr(heat_plugins.torch, name)


def test_the_kernel_of_the_botorch_model_is_still_found():
    botorch = pytest.importorskip("heat_plugins.botorch")
    assert botorch.CoreKernel is heat_plugins.torch.fitted_kernel.FittedKernel


@pytest.mark.parametrize("name", kernels._INSTEAD)
def test_kernels_that_are_gone_say_what_to_write(name):
    message = f"{name} is gone: write heat_plugins.torch.CombinatorialKernel"
    with pytest.raises(AttributeError, match=message):
        getattr(kernels, name)
    assert not hasattr(kernels, name)
    with pytest.raises(ImportError, match=message):
        exec(f"from heat_plugins.kernels import {name}")


def test_what_they_say_can_be_written():
    known = {
        "CombinatorialKernel": CombinatorialKernel,
        "InteractionOrders": InteractionOrders,
        "PermutationInvariant": PermutationInvariant,
        "RandomDecomposition": RandomDecomposition,
        "function": lambda r: 1.0 / (1.0 + r),
        "max_order": 2,
        "names": ["x0", "x1", "x2"],
    }
    for instead in kernels._INSTEAD.values():
        if "SpectralKernel" not in instead:  # see test_a_numpy_kernel_is_a_kernel_too
            written = instead.replace("permutations=...", "permutations=[[1, 2, 0]]")
            assert eval(f"CombinatorialKernel([3, 3, 3], {written})", known).theta.ndim == 1


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'HexKernel'"):
        _ = kernels.HexKernel
