"""The kernel of ``HeatGP``: hyperparameters come from the fit of the core."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from heat_plugins.conditions import Conditions
from heat_plugins.core.anchored import Anchored, anchored, leaves_of
from heat_plugins.core.covariance import Covariance
from heat_plugins.space import Array, Ordinal, Space
from heat_plugins.torch.functions import to_numpy
from heat_plugins.torch.kernel import CoreKernel

__all__ = ["FittedKernel"]


class FittedKernel(CoreKernel):
    r"""A kernel of the core whose hyperparameters the core has learnt.

    The mean of k(x, x) over the observations is one, as in the core.

    On request the gradient in ordered codes is the mean difference to the codes next to them,
    which tells in which direction a function goes, but is of no use to an optimiser.

    Args:
        covariance: The kernel.
        space: The parameters, one for each column.
        conditions: When parameters exist, if not always.
        theta: (p,) hyperparameters; where a fit would start if None.
        points: (n, d) observations, for the scale of a kernel without a constant diagonal;
            points from all over the space if None.
        slopes_of_codes: Whether ordered codes have slopes.

    Attributes:
        theta: (p,) hyperparameters, without a gradient.
        scales: (c,) the scale of each kernel that this one is made of.
    """

    scales: Tensor

    def __init__(
        self,
        covariance: Covariance,
        space: Space,
        conditions: Conditions | None = None,
        theta: Array | None = None,
        points: Array | None = None,
        slopes_of_codes: bool = False,
    ) -> None:
        super().__init__(covariance, space, conditions)
        if slopes_of_codes:
            is_ordered = [isinstance(parameter, Ordinal) for parameter in space.parameters]
            self._ordered = np.flatnonzero(np.array(is_ordered) & (space.n_levels > 1))
        self.register_parameter("theta", Parameter(torch.zeros(0), requires_grad=False))
        self.register_buffer("scales", torch.zeros(0))
        self.use(covariance, theta, points)

    def use(
        self, covariance: Covariance, theta: Array | None = None, points: Array | None = None
    ) -> None:
        """Exchange the kernel, its hyperparameters (p,) and the observations (n, d)."""
        theta = covariance.start(1.0) if theta is None else theta
        points = self._reference if points is None else points
        self.covariance = covariance
        scales = [
            Anchored(leaf, part, self._reference, 1.0).mean_variance(points)
            for leaf, part in leaves_of(covariance, theta)
        ]
        # A kernel that nothing varies in has no scale.
        scales = [scale if scale > 0.0 else 1.0 for scale in scales]
        device = self.theta.device
        self.theta = Parameter(torch.tensor(theta, device=device), requires_grad=False)
        self.scales = torch.tensor(scales, dtype=torch.float64, device=device)
        self._found = None

    def at(self, theta: Array) -> Covariance:
        """Return the kernel for hyperparameters (p,), on the scale of the observations."""
        scales = to_numpy(self.scales)
        key = theta.tobytes() + scales.tobytes()
        if self._found is None or self._found[0] != key:
            self._found = key, anchored(self.covariance, theta, self._reference, scales.tolist())
        return self._found[1]
