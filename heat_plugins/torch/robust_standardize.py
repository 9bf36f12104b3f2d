"""The outcome transform of ``HeatGP``: values standardised as those that choose points are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
import torch
from botorch.models.transforms.outcome import Standardize
from torch import Tensor

from heat_plugins.gp.outcome_transform import scale_of, standardise, standardise_noise
from heat_plugins.space import Array
from heat_plugins.torch.autograd import to_numpy

__all__ = ["RobustStandardize"]

SMALLEST_SCALE = 1e-100  # below which variances are no numbers any more


class RobustStandardize(Standardize):
    """Standardises the values of one outcome; those far on the bad side are pulled in before.

        z = (min(y, limit) - mean) / deviation,    for values y that are minimised

    What was not pulled in comes back from the scale of z as it was. An outlier comes back as the
    limit, which is all that is learnt of it (gp/outcome_transform.py).

    Args:
        maximise: Whether large values are the good ones.
        boundary: Where bad values begin, if that is known.
    """

    def __init__(self, maximise: bool = True, boundary: float | None = None) -> None:
        super().__init__(m=1)
        self._sign = -1.0 if maximise else 1.0
        self._boundary = -np.inf if boundary is None else self._sign * boundary

    def forward(
        self,
        Y: Tensor,  # noqa: N803
        Yvar: Tensor | None = None,  # noqa: N803
        X: Tensor | None = None,  # noqa: N803
    ) -> tuple[Tensor, Tensor | None]:
        """Return values (n, 1) and their variances on the scale of z, learnt while training."""
        plainly: Callable[..., tuple[Tensor, Tensor | None]] = super().forward
        if not self.training:
            return plainly(Y, Yvar, X)
        self._validate_training_inputs(Y=Y, Yvar=Yvar)
        values = self._sign * to_numpy(Y)[:, 0]
        standardised = standardise(values, self._boundary)
        unit = scale_of(values, standardised) or 1.0
        if unit < SMALLEST_SCALE:
            return plainly(Y, Yvar, X)
        best = int(np.argmin(values))
        offset = values[best] - unit * standardised[best] if np.isfinite(values[best]) else 0.0

        def column(numbers: Array | list[float]) -> Tensor:
            return torch.as_tensor(np.asarray(numbers)[:, None]).to(Y)

        self.means, self.stdvs = column([self._sign * offset]), column([unit])
        self._stdvs_sq = self.stdvs.pow(2)
        self._is_trained = torch.tensor(True)
        noise = None
        if Yvar is not None:
            noise = column(standardise_noise(to_numpy(Yvar)[:, 0], values, standardised))
        return column(self._sign * standardised), noise

    def subset_output(self, idcs: Sequence[int]) -> RobustStandardize:
        """Return the transform of the only outcome."""
        return deepcopy(self)
