"""The kernel of ``HeatGP``, whose hyperparameters are fitted in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import Parameter

from heat_plugins.kernels.base import Kernel
from heat_plugins.space import Array, Ordinal, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.torch.kernel import NumpyKernel

__all__ = ["FittedKernel"]


class FittedKernel(NumpyKernel):
    r"""A NumPy kernel as a GPyTorch kernel, with hyperparameters that are fitted in NumPy.

    On request the gradient in ordered codes is the mean difference to the codes next to them,
    which tells in which direction a function goes, but is of no use to an optimiser.

    Args:
        numpy_kernel: The kernel, in NumPy.
        space: The parameters, one for each column.
        conditions: When parameters exist, if not always.
        theta: (p,) hyperparameters; where a fit would start if None.
        slopes_of_codes: Whether ordered codes have slopes.

    Attributes:
        theta: (p,) hyperparameters, without a gradient.
    """

    def __init__(
        self,
        numpy_kernel: Kernel,
        space: Space,
        conditions: Conditions | None = None,
        theta: Array | None = None,
        slopes_of_codes: bool = False,
    ) -> None:
        super().__init__(numpy_kernel, space, conditions)
        if slopes_of_codes:
            is_ordered = [isinstance(parameter, Ordinal) for parameter in space.parameters]
            self._ordered = np.flatnonzero(np.array(is_ordered) & (space.n_levels > 1))
        self.register_parameter("theta", Parameter(torch.zeros(0), requires_grad=False))
        self.set_kernel(numpy_kernel, theta)

    def set_kernel(self, numpy_kernel: Kernel, theta: Array | None = None) -> None:
        """Set the kernel and its hyperparameters (p,)."""
        theta = numpy_kernel.start(1.0) if theta is None else theta
        self.numpy_kernel = numpy_kernel
        self.theta = Parameter(torch.tensor(theta, device=self.theta.device), requires_grad=False)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Load theta; kernels of older versions had scales, too, which these do not need."""
        state_dict.pop(f"{prefix}scales", None)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
