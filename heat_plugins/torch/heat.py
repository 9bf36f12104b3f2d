r"""The heat kernel of a Hamming graph as a native GPyTorch kernel.

The formulas, the notation and the Laplacian convention are those of
:mod:`heat_plugins.kernels.formulas`; this module adds hyperparameters, batches and gradients.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch
from gpytorch import settings
from gpytorch.constraints import Interval, Positive
from gpytorch.kernels import Kernel, RBFKernel
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.torch.codes_kernel import (
    ColumnsKernel,
    check_codes,
    checked_choices,
    constrained_parameter,
    nearest_codes,
    one_hot,
    parameter_access,
)

__all__ = ["HeatKernel", "NumericKernel", "mixed_heat_kernel"]


class HeatKernel(ColumnsKernel):
    r"""Heat kernel on a product of complete graphs, in closed form.

    k(x, x') = prod_i [(1 - e^{-b_i g_i}) / (1 + (g_i - 1) e^{-b_i g_i})]^[x_i != x'_i]

    where g_i is the number of choices of variable i and b_i its diffusion time: one for all
    variables, or one each (automatic relevance determination). It equals exp(-sum_i b_i L_i)
    for the unnormalised graph Laplacians L_i, divided by its constant diagonal, so k(x, x) = 1;
    wrap it in a ``ScaleKernel`` for a signal variance.

    As a family of functions this is BoTorch's ``CategoricalKernel`` with lengthscales
    1 / (d rate_i). Here the parameter is the diffusion time, and the number of choices enters
    the kernel: with one shared time, variables with more choices get smaller rates.

    The kernel is piecewise constant in its inputs, so its gradient with respect to the codes
    carries no information. One evaluation costs n * m * sum(g_i) multiplications and no
    (n, m, d) tensor.

    References:
        Kondor and Lafferty, "Diffusion kernels on graphs and other discrete input spaces",
        ICML 2002. "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian
        Optimization", NeurIPS 2025, equation kondor_simple.

    Attributes:
        n_choices: (*batch_shape, 1, d) integers, or (*batch_shape, 1, 1) if one number was
            given for all variables. The same for every member of the batch.
        raw_beta: (*batch_shape, 1, d) or (*batch_shape, 1, 1) unconstrained parameter.
    """

    # True although there is no lengthscale: only whether x - x' is zero matters.
    is_stationary = True

    n_choices: Tensor
    raw_beta: Tensor
    beta = constrained_parameter(
        "beta", "Diffusion times, (*batch_shape, 1, d), or (*batch_shape, 1, 1) if shared."
    )

    def __init__(
        self,
        n_choices: int | Sequence[int],
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; every diffusion time starts at ln 2 unless the constraint says else.

        Args:
            n_choices: number of choices of each variable, in the order of the columns the
                kernel sees (after ``active_dims``); one integer if all have equally many.
            ard_num_dims: number of variables d for one diffusion time each, None for one in all.
            batch_shape: batch shape of the diffusion times.
            active_dims: columns of the input that hold the variables, None for all.
            beta_prior: prior on the diffusion times.
            beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
        """
        sizes = checked_choices(n_choices)
        is_shared = isinstance(n_choices, Integral)
        n_active = None if active_dims is None else len(active_dims)
        for name, given in (("ard_num_dims", ard_num_dims), ("len(active_dims)", n_active)):
            if not is_shared and given not in (None, len(sizes)):
                raise ValueError(f"{name} must be len(n_choices) = {len(sizes)}, got {given}")
        if beta_prior is not None and not isinstance(beta_prior, Prior):
            raise TypeError(
                f"beta_prior must be a gpytorch.priors.Prior, got {type(beta_prior).__name__}"
            )
        super().__init__(
            ard_num_dims=ard_num_dims, batch_shape=batch_shape, active_dims=active_dims
        )
        self._n_variables = None if is_shared else len(sizes)
        # With batch dimensions, because GPyTorch indexes and expands buffers too.
        counts = torch.tensor(sizes).expand(*self.batch_shape, 1, -1).clone()
        self.register_buffer("n_choices", counts)
        raw = torch.nn.Parameter(torch.zeros(*self.batch_shape, 1, ard_num_dims or 1))
        self.register_parameter("raw_beta", raw)
        if beta_prior is not None:
            self.register_prior("beta_prior", beta_prior, *parameter_access("beta"))
        self.register_constraint("raw_beta", beta_constraint or Positive())

    @property
    def rates(self) -> Tensor:
        """Prices of one mismatch, -ln(rho); (*batch_shape, 1, d).

        The last size is 1 if neither the diffusion times nor the numbers of choices tell the
        variables apart. Zero for a variable with one choice.
        """
        beta = self.beta
        g = self.n_choices.to(beta)
        # A diffusion time that underflowed to zero would give an infinite rate, and NaN where
        # it meets "no mismatch" (0 * inf).
        t = (beta * g).clamp_min(torch.finfo(beta.dtype).tiny)
        # ln(1 + g / (e^t - 1)) in the form of formulas.rate_from_time, stable for every t > 0 in
        # value and in the gradient.
        log_u = g.log() - t - (-torch.expm1(-t)).log()
        gamma = torch.logaddexp(log_u, torch.zeros_like(log_u))
        return torch.where(g == 1, torch.zeros_like(gamma), gamma)

    def sizes(self, n_columns: int) -> list[int]:
        """Number of choices of each of the d columns."""
        if self._n_variables not in (None, n_columns):
            raise ValueError(
                f"inputs must have {self._n_variables} columns, one for each of n_choices, "
                f"got {n_columns}"
            )
        # Read from the buffer, which is what a state dict restores. The members of a batch
        # agree, so the first speaks for all.
        sizes: list[int] = self.n_choices.reshape(-1, self.n_choices.shape[-1])[0].tolist()
        return sizes * n_columns if self._n_variables is None else sizes

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Check the codes (..., n, d) and (..., m, d), or round them, and evaluate the kernel.

        Returns (..., n, m), or with ``diag`` and n = m the covariances (..., n) of pairs.
        """
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False: the columns belong together")
        sizes = self.sizes(x1.shape[-1])
        if settings.debug.on():
            check_codes(x1, sizes)
            check_codes(x2, sizes)
        else:
            x1, x2 = nearest_codes(x1, sizes), nearest_codes(x2, sizes)
        return self.evaluate(x1, x2, diag)

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        r"""exp(-S) of checked inputs, with the distances S = sum_i rate_i [x_i != x'_i].

        With one-hot features Z these are one matrix product, S = Z diag(rates) (1 - Z')^T. All
        terms are non-negative, so equal points have distance exactly 0, which "sum of rates
        minus matches" would give only up to rounding.
        """
        rates = self.rates.to(torch.promote_types(x1.dtype, self.rates.dtype))
        if diag:
            return torch.exp(-(rates * (x1 != x2)).sum(dim=-1))
        sizes = self.sizes(x1.shape[-1])
        one, two = (one_hot(x, sizes, rates.dtype) for x in (x1, x2))  # (..., n, s), (..., m, s)
        each = rates.expand(*rates.shape[:-1], len(sizes))
        weights = each.repeat_interleave(torch.tensor(sizes, device=x1.device), dim=-1)
        return torch.exp(-(one * weights) @ (1.0 - two).mT)


class NumericKernel(ColumnsKernel, RBFKernel):
    """GPyTorch's RBF kernel, with a batch that can be indexed although it has active_dims."""


def mixed_heat_kernel(
    n_choices: int | Sequence[int],
    discrete_dims: Sequence[int],
    numeric_dims: Sequence[int],
    *,
    ard: bool = True,
    batch_shape: torch.Size | None = None,
    beta_prior: Prior | None = None,
    beta_constraint: Interval | None = None,
    lengthscale_prior: Prior | None = None,
    lengthscale_constraint: Interval | None = None,
) -> Kernel:
    r"""Heat kernel on discrete columns times RBF kernel on numeric columns.

    k(x, x') = exp(-sum_{i discrete} rate_i [x_i != x'_i]
                   - sum_{j numeric} (x_j - x'_j)^2 / (2 l_j^2))

    The heat kernel of the real line is the RBF kernel, so the product is again a heat kernel,
    that of the mixed space; :func:`heat_plugins.kernels.formulas.mixed_kernel` is the same
    function in NumPy.

    Args:
        n_choices: number of choices of each discrete column, or one integer for all.
        discrete_dims: columns that hold integer codes.
        numeric_dims: columns that hold numbers, usually scaled to [0, 1].
        ard: whether each column has a diffusion time or lengthscale of its own.
        batch_shape: batch shape of the hyperparameters.
        beta_prior: prior on the diffusion times.
        beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
        lengthscale_prior: prior on the lengthscales.
        lengthscale_constraint: constraint on the lengthscales, ``Positive()`` if None.

    Returns:
        The product kernel; with no columns of one kind, the kernel of the other kind alone.
    """
    columns = [*discrete_dims, *numeric_dims]
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(
            "discrete_dims and numeric_dims must name at least one column and none twice, "
            f"got {list(discrete_dims)} and {list(numeric_dims)}"
        )
    kernels: list[Kernel] = []
    if discrete_dims:
        kernels.append(
            HeatKernel(
                n_choices,
                ard_num_dims=len(discrete_dims) if ard else None,
                batch_shape=batch_shape,
                active_dims=tuple(discrete_dims),
                beta_prior=beta_prior,
                beta_constraint=beta_constraint,
            )
        )
    if numeric_dims:
        kernels.append(
            NumericKernel(
                ard_num_dims=len(numeric_dims) if ard else None,
                batch_shape=batch_shape,
                active_dims=tuple(numeric_dims),
                lengthscale_prior=lengthscale_prior,
                lengthscale_constraint=lengthscale_constraint,
            )
        )
    return kernels[0] if len(kernels) == 1 else kernels[0] * kernels[1]
