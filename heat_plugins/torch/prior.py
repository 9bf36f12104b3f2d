"""The priors of NumPy kernels as GPyTorch priors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gpytorch.priors import Prior
from torch import Tensor
from torch.distributions import Distribution

from heat_plugins.kernels.base import STARTING_TOTALS, Kernel
from heat_plugins.space import Array
from heat_plugins.torch.autograd import MinusLogPrior, applied

__all__ = ["KernelPrior", "inside"]

MARGIN = 1e-3  # how far from its bounds a start is, as a share of their distance
SAMPLE_SPREAD = 0.5  # of samples around the starts of a fit


class KernelPrior(Prior):
    """The prior of a NumPy kernel on its hyperparameters.

    It is improper: all hyperparameters may rise together at no cost. Samples are therefore
    drawn around the points that a fit starts from.
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(self, numpy_kernel: Kernel) -> None:
        torch.nn.Module.__init__(self)
        shape = torch.Size([numpy_kernel.n_hyperparameters])
        Distribution.__init__(self, torch.Size(), shape, validate_args=False)
        self.numpy_kernel = numpy_kernel

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density (...) of hyperparameters (..., p), up to a constant."""
        rows = value.reshape(-1, value.shape[-1])
        return -applied(MinusLogPrior, rows, self.numpy_kernel).reshape(value.shape[:-1])

    def sample(self, sample_shape: torch.Size | None = None) -> Tensor:
        """Draw hyperparameters (*sample_shape, p)."""
        shape = torch.Size() if sample_shape is None else sample_shape
        starts = np.array([self.numpy_kernel.start(total) for total in STARTING_TOTALS])
        drawn = torch.from_numpy(starts)[torch.randint(len(starts), shape)]
        drawn = drawn + SAMPLE_SPREAD * torch.randn(drawn.shape, dtype=drawn.dtype)
        return torch.from_numpy(inside(drawn.numpy(), self.numpy_kernel.bounds))


def inside(theta: Array, bounds: Array) -> Array:
    """Return hyperparameters (..., p) a little inside their bounds (p, 2)."""
    low, high = bounds.T
    margin = MARGIN * (high - low)
    return np.clip(theta, low + margin, high - margin)
