"""The Gaussian process alone, as a BoTorch model, for loops of one's own."""

from heat_plugins._extras import require

require("botorch", extra="ax")

from heat_plugins.torch.fitted_kernel import FittedKernel as CoreKernel  # its name in 0.1.0
from heat_plugins.torch.heat_gp import HeatGP

__all__ = ["CoreKernel", "HeatGP"]
