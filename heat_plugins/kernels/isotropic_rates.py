"""One rate, or one diffusion time, for all weights of a distance: kernels without ARD.

Notation
    ===========  =====================================================================
    W            number of weights
    g            number of choices of a parameter
    beta         diffusion time; its rate for g choices is ``rate_from_time(beta * g, g)``
    ===========  =====================================================================
"""

from __future__ import annotations

import numpy as np

from heat_plugins.kernels.formulas import rate_from_time
from heat_plugins.kernels.graph_distance import rate_from_time_slope
from heat_plugins.space import Array

__all__ = ["IsotropicRates", "SharedDiffusionTime"]


class IsotropicRates:
    """One rate for all parameters: the isotropic kernel of the Hamming distance."""

    def __init__(self, log_scales: Array) -> None:
        self._log_scales = log_scales

    def log_weights(self, log_rate_mean: float) -> tuple[Array, Array]:
        """Return log weights (W,) and their slopes in the common log rate."""
        return self._log_scales + log_rate_mean, np.ones(len(self._log_scales))


class SharedDiffusionTime(IsotropicRates):
    """One diffusion time for all graphs of choices: the isotropic heat kernel.

    With unequal numbers of choices one time means different rates. The common log rate is that
    of a parameter with the mean number of choices. A graph that is not complete gets the rate of
    a complete one of its size.

    Args:
        log_scales: (W,) offsets of weights that are not rates.
        n_choices: (W,) numbers of choices; 0 where the weight is not a rate.
    """

    def __init__(self, log_scales: Array, n_choices: Array) -> None:
        super().__init__(log_scales)
        self._n_choices = n_choices
        sizes = n_choices[n_choices > 1]
        self._mean = float(sizes.mean()) if len(sizes) else 2.0

    def log_weights(self, log_rate_mean: float) -> tuple[Array, Array]:
        """Return log weights (W,) and their slopes in the common log rate."""
        log_weights, slopes = super().log_weights(log_rate_mean)
        rate = float(np.exp(log_rate_mean))
        beta = float(rate_from_time(rate, self._mean)) / self._mean
        by_log_rate = float(rate_from_time_slope(rate, self._mean)) * rate / self._mean
        for g in np.unique(self._n_choices[self._n_choices > 1]):
            mine = self._n_choices == g
            weight = float(rate_from_time(beta * g, g))
            log_weights[mine] = np.log(weight)
            slopes[mine] = rate_from_time_slope(beta * g, g) * g * by_log_rate / weight
        return log_weights, slopes
