r"""The heat kernel on a product of any graphs as a GPyTorch kernel.

Each variable is a graph on its choices and the space is the Cartesian product of these graphs.
Eigenvectors of the product are products of one eigenvector per variable, and its eigenvalues
are sums of one per variable, so the kernel never looks at all the vertices. Laplacians are
*unnormalised*; the notation is that of :mod:`heat_plugins.kernels.formulas`.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.space.graphs import Graph, adjacency, is_complete, laplacian
from heat_plugins.torch.codes_kernel import checked_choices, one_hot
from heat_plugins.torch.heat import HeatKernel

__all__ = ["GraphHeatKernel"]


class _Eigenpairs(NamedTuple):
    """Spectrum of one variable's Laplacian, in float64 whatever the kernel's type is."""

    values: Tensor  # (g,)
    vectors: Tensor  # (g, g), one eigenvector a column


class GraphHeatKernel(HeatKernel):
    r"""Heat kernel on a product of any graphs, the kernel of COMBO.

    k(x, x') = prod_i sum_j e^{-b_i lambda_ij} f_ij(x_i) f_ij(x'_i)

    with the eigenpairs (lambda_ij, f_ij) of the unnormalised Laplacian L_i of variable i's
    graph and its diffusion time b_i: one for all variables, or one each. Factor i is the entry
    of exp(-b_i L_i) at the two choices. Complete graphs take the closed form of
    :class:`heat_plugins.torch.heat.HeatKernel` and need no eigenpairs; those of other graphs
    are computed once, when the kernel is created. The graphs are part of the kernel's
    definition and not of its state dict.

    By default each factor is divided by sqrt(k_i(x_i, x_i) k_i(x'_i, x'_i)), so that
    k(x, x) = 1. On a complete graph or a cycle this is a constant. On a path it is not: heat
    leaves an end in one direction only, so the plain heat kernel gives the ends up to twice the
    variance of the middle, and over d variables up to 2^d times. A Gaussian process would then
    look for extreme values in the corners for no reason that lies in the data.

    References:
        Oh et al., "Combinatorial Bayesian optimization using the graph Cartesian product",
        NeurIPS 2019. "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian
        Optimization", NeurIPS 2025, equation combo_kernel.

    Attributes:
        n_choices: see :class:`heat_plugins.torch.heat.HeatKernel`.
        raw_beta: (*batch_shape, 1, d) or (*batch_shape, 1, 1) unconstrained parameter.
        normalize: whether k(x, x) = 1.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        graphs: Graph | Sequence[Graph] = "complete",
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
        *,
        normalize: bool = True,
        spectral: bool = False,
    ) -> None:
        """Create the kernel; every diffusion time starts at ln 2 unless the constraint says else.

        Args:
            n_choices: number of choices of each variable, in the order of the columns the
                kernel sees (after ``active_dims``); one integer if all have equally many.
            graphs: a name, ``"complete"``, ``"path"`` or ``"cycle"``, for all variables. If
                ``n_choices`` is a sequence, otherwise a sequence with one graph a variable;
                if it is one integer, otherwise one graph for all variables. A graph is
                anything :func:`heat_plugins.space.graphs.adjacency` takes: a name, an adjacency
                matrix or a networkx graph.
            ard_num_dims: number of variables d for one diffusion time each, None for one in all.
            batch_shape: batch shape of the diffusion times.
            active_dims: columns of the input that hold the variables, None for all.
            beta_prior: prior on the diffusion times.
            beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
            normalize: whether to divide by the diagonal; False for the plain heat kernel.
            spectral: whether to use numerical eigenpairs for complete graphs too, as COMBO's
                implementations do; for comparisons.
        """
        super().__init__(
            n_choices, ard_num_dims, batch_shape, active_dims, beta_prior, beta_constraint
        )
        self.normalize = normalize
        # One entry a variable, or one for all; None where the closed form serves.
        self._eigenpairs = [
            _eigenpairs(graph, g, f"variable {i}", spectral)
            for i, (graph, g) in enumerate(_one_graph_each(graphs, n_choices))
        ]
        # On other graphs than complete ones, more matters than whether x - x' is zero.
        self.is_stationary = all(pair is None for pair in self._eigenpairs)

    @property
    def rates(self) -> Tensor:
        """Prices of one mismatch, as in ``HeatKernel``; 0 for variables with eigenpairs."""
        closed = torch.tensor([pair is None for pair in self._eigenpairs])
        rates = super().rates
        return torch.where(closed.to(rates.device), rates, torch.zeros_like(rates))

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Closed form of the complete graphs, times one factor for each other graph."""
        # The variables with other graphs have rate 0 and factor 1 here.
        product = super().evaluate(x1, x2, diag)
        for i in range(x1.shape[-1]):
            if self._pair(i) is not None or not self.normalize:
                product = product * self._factor(i, x1, x2, product.dtype, diag)
        return product

    def _factor(self, i: int, x1: Tensor, x2: Tensor, dtype: torch.dtype, diag: bool) -> Tensor:
        """Correction of the closed form for variable i, broadcast to (..., n, m) or (..., n)."""
        g = self.sizes(x1.shape[-1])[i]
        beta = self.beta[..., i % self.beta.shape[-1]].unsqueeze(-1)  # (..., 1, 1)
        pair = self._pair(i)
        if pair is None:
            scale = torch.ones_like(beta) if self.normalize else _variance(beta, g)
            return (scale.squeeze(-1) if diag else scale).to(dtype)
        features = _heat_features(pair, beta, self.normalize).to(dtype)  # (..., g, g)
        one = one_hot(x1[..., i : i + 1], [g], dtype) @ features  # (..., n, g)
        two = one_hot(x2[..., i : i + 1], [g], dtype) @ features  # (..., m, g)
        return (one * two).sum(dim=-1) if diag else one @ two.mT

    def _pair(self, i: int) -> _Eigenpairs | None:
        """Eigenpairs of variable i; all variables share them if n_choices is one number."""
        return self._eigenpairs[i % len(self._eigenpairs)]


def _one_graph_each(
    graphs: Graph | Sequence[Graph], n_choices: int | Sequence[int]
) -> list[tuple[Graph, int]]:
    """Pair graphs with numbers of choices, one pair if these are one number for all."""
    sizes = checked_choices(n_choices)
    if isinstance(graphs, str) or isinstance(n_choices, Integral):
        return [(graphs, g) for g in sizes]
    given = list(graphs)
    if len(given) != len(sizes):
        raise ValueError(
            f"graphs must be a name or have len(n_choices) = {len(sizes)} entries, "
            f"got {len(given)}"
        )
    return list(zip(given, sizes, strict=True))


def _eigenpairs(graph: Graph, g: int, name: str, spectral: bool) -> _Eigenpairs | None:
    """Eigenpairs of a graph's Laplacian, or None for the closed form."""
    matrix = adjacency(graph, g, name)
    if is_complete(matrix) and not spectral:
        return None
    values, vectors = np.linalg.eigh(laplacian(matrix))
    # Rounding may turn the smallest eigenvalue, 0, negative.
    return _Eigenpairs(torch.from_numpy(values.clip(min=0.0)), torch.from_numpy(vectors))


def _heat_features(pair: _Eigenpairs, beta: Tensor, normalize: bool) -> Tensor:
    """(..., g, g) matrix A with A A^T = exp(-beta L), or with unit rows if ``normalize``."""
    values, vectors = pair.values.to(beta.device), pair.vectors.to(beta.device)
    features = vectors * torch.exp(-0.5 * beta * values)
    return features / features.norm(dim=-1, keepdim=True) if normalize else features


def _variance(beta: Tensor, g: int) -> Tensor:
    """Diagonal of exp(-beta L) on a complete graph, (1 + (g - 1) e^{-beta g}) / g."""
    return (1.0 + (g - 1.0) * torch.exp(-beta * g)) / g
