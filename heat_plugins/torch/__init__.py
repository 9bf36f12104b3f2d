"""The kernels as GPyTorch kernels, for models of GPyTorch and BoTorch.

===========================  ==================================================================
``CombinatorialKernel``      any kernel and structure of ``HeatSampler``, by NumPy, with gradients
``HeatKernel``               the heat kernel of a Hamming graph, native
``GraphHeatKernel``          the heat kernel of any graphs (COMBO), native
``mixed_heat_kernel``        heat kernel on choices times RBF kernel on numbers, native
===========================  ==================================================================

A heat kernel is the same function in both forms. The native ones have diffusion times for
parameters, with any GPyTorch prior, and run wherever PyTorch does.
"""

from heat_plugins._extras import require

require("gpytorch", extra="torch")

from heat_plugins.torch.graph_heat import GraphHeatKernel
from heat_plugins.torch.heat import HeatKernel, mixed_heat_kernel
from heat_plugins.torch.kernel import CombinatorialKernel

__all__ = ["CombinatorialKernel", "GraphHeatKernel", "HeatKernel", "mixed_heat_kernel"]
