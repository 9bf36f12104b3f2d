r"""Additive structures over heat kernels, as GPyTorch kernels.

Each variable i has the heat kernel of its complete graph as base kernel,

    k_i(x_i, x'_i) = 1 if x_i = x'_i, else rho_i(beta_i, g_i),

and the kernels here combine them by sums instead of one product; the notation is that of
:mod:`heat_plugins.kernels.formulas`. All take the parameters of
:class:`heat_plugins.torch.heat.HeatKernel`, which is the product.

=============================  ================================================  ==============
class                          kernel                                            known from
=============================  ================================================  ==============
``AdditiveKernel``             (1/d) sum_i k_i                                   CoCaBO
``DecompositionKernel``        (1/|C|) sum_{c in C} prod_{i in c} k_i            RDUCB
``InteractionOrdersKernel``    sum_q sigma_q (sum_{|c| = q} prod_{i in c} k_i)   additive GPs,
                               normalised per order                              OAK
=============================  ================================================  ==============

References:
    Ru et al., "Bayesian optimisation over multiple continuous and categorical inputs", ICML 2020
    (CoCaBO). Ziomek and Bou-Ammar, ICML 2023 (RDUCB). Duvenaud, Nickisch and Rasmussen,
    "Additive Gaussian processes", NeurIPS 2011. Lu, Boukouvalas and Hensman, "Additive Gaussian
    processes revisited", ICML 2022 (OAK). "Omnipresent Yet Overlooked: Heat Kernels in
    Combinatorial Bayesian Optimization", NeurIPS 2025, appendix "Incorporating additive
    structure".
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.torch.codes import constrained_parameter
from heat_plugins.torch.heat import DiffusionTimesKernel
from heat_plugins.torch.mismatches import mismatch_counter, weighted_mismatches

__all__ = [
    "AdditiveKernel",
    "DecompositionKernel",
    "InteractionOrdersKernel",
    "polynomials_by_power_sums",
    "polynomials_by_recursion",
]

# Newton's identities are used while they lose at most this factor in accuracy.
_AMPLIFICATION = 1e4


class AdditiveKernel(DiffusionTimesKernel):
    r"""First-order sum of heat kernels, k(x, x') = (1/d) sum_i k_i(x_i, x'_i).

    The categorical kernel of CoCaBO, divided by the number of variables so that k(x, x) = 1. It
    models no interactions: the Gaussian process is a sum of functions of single variables.
    Parameters and costs are those of :class:`~heat_plugins.torch.heat.HeatKernel`.
    """

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Mean of the base kernels."""
        sizes = self.sizes(x1.shape[-1])
        rates = self.rates
        # 1 - (1/d) sum_i (1 - rho_i) [x_i != x'_i] is exactly 1 for equal points.
        losses = weighted_mismatches(x1, x2, torch.expm1(-rates), sizes, diag=diag)
        return 1.0 + losses / len(sizes)


class DecompositionKernel(DiffusionTimesKernel):
    r"""Sum over components of products of heat kernels.

    k(x, x') = (1/|C|) sum_{c in C} prod_{i in c} k_i(x_i, x'_i)

    Variables interact only within a component; variables in no component are ignored. With the
    edges of a random tree (:func:`heat_plugins.kernels.decompositions.random_tree_components`)
    this is the kernel of RDUCB, divided by the number of components so that k(x, x) = 1. With
    one component of all variables it is the heat kernel, with single variables the
    :class:`AdditiveKernel`.

    Attributes:
        components: the components, ascending. Part of the structure, not of the state dict.
    """

    def __init__(
        self, n_choices: int | Sequence[int], components: Iterable[Iterable[int]], **kwargs: Any
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: as for ``HeatKernel``.
            components: columns of each component, counted after ``active_dims``.
            **kwargs: the other arguments of ``HeatKernel``.
        """
        super().__init__(n_choices, **kwargs)
        self.components = _checked_components(components, self.n_variables)

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Mean of the products over the components."""
        sizes = self.sizes(x1.shape[-1])
        _checked_components(self.components, len(sizes))
        rates = self.rates
        rates = rates.expand(*rates.shape[:-1], len(sizes))
        terms = []
        for component in map(list, self.components):
            distance = weighted_mismatches(
                x1[..., component],
                x2[..., component],
                rates[..., component],
                [sizes[i] for i in component],
                diag=diag,
            )
            terms.append(torch.exp(-distance))
        total: Tensor = sum(terms[1:], start=terms[0])
        return total / len(terms)


class InteractionOrdersKernel(DiffusionTimesKernel):
    r"""Sum over the orders of interaction, with one variance per order.

    k(x, x') = sum_q sigma_q e_q(k_1, ..., k_d) / C(d, q),    q = 1, ..., max_order

    where e_q = sum_{|c| = q} prod_{i in c} k_i is the q-th elementary symmetric polynomial: all
    interactions of exactly q variables. The fitted sigma_q say how much of the function is of
    which order. k(x, x) = sum_q sigma_q, so no ``ScaleKernel`` is needed.

    ``orthogonal=True`` makes the orders tell different things (OAK, Lu et al. 2022), with the
    uniform measure on the choices. The base kernels become

        k^_i(x, x') = (1 - rho_i) ([x = x'] - 1/g_i) / rhobar_i,
        rhobar_i = rho_i + (1 - rho_i) / g_i,

    whose functions have mean zero over the g_i choices, so that effects of different variable
    sets are orthogonal, and there is an order 0, the constant. Each order is divided by its
    diagonal e_q(s), s_i = k^_i(x, x); sigma_q is the prior variance of the order-q part.
    Because 1 + k^_i = k_i / rhobar_i, all orders with sigma_q proportional to e_q(s) give the
    product of the k_i, which is the heat kernel.

    No subset is enumerated. Newton's identities (Newton-Girard),

        q e_q = sum_{s=1}^q (-1)^{s-1} e_{q-s} p_s,   p_s = sum_i k_i^s,

    need one matrix product of one-hot features per power sum. Their signs alternate, which
    multiplies rounding errors by at most h_q / e_q on the diagonal (h_q: the same recursion
    without signs); for the plain orders this is C(d+q-1, q) / C(d, q). The recursion
    e_q <- e_q + k_i e_{q-1} over the variables has no such loss, but keeps d matrices per order
    for the gradient. The kernel uses Newton's identities while the factor is at most 1e4: plain
    orders up to d for d <= 8, up to 10 for d >= 12, up to 20 for d >= 50, measured to be within
    3e-14 of the exact value in float64. Beyond, and for orthogonal kernels with very unequal
    diffusion times, it uses the recursion over the variables.

    Attributes:
        max_order: largest order of interaction.
        orthogonal: whether base kernels are orthogonal to constants.
        raw_order_variance: (*batch_shape, number of orders) unconstrained parameter.
    """

    raw_order_variance: Tensor
    order_variance = constrained_parameter(
        "order_variance",
        "Variances of orders 1, 2, ..., or 0, 1, ... if orthogonal; (*batch_shape, orders).",
    )

    def __init__(
        self,
        n_choices: int | Sequence[int],
        max_order: int,
        orthogonal: bool = False,
        order_variance_prior: Prior | None = None,
        order_variance_constraint: Interval | None = None,
        **kwargs: Any,
    ) -> None:
        """Create the kernel; every variance starts at ln 2 unless its constraint says else.

        Args:
            n_choices: as for ``HeatKernel``.
            max_order: largest order of interaction, from 1 to the number of variables (if
                ``orthogonal``, of variables with at least two choices).
            orthogonal: whether to use base kernels that are orthogonal to constants.
            order_variance_prior: prior on the variances of the orders.
            order_variance_constraint: constraint on these variances, ``Positive()`` if None.
            **kwargs: the other arguments of ``HeatKernel``.
        """
        super().__init__(n_choices, **kwargs)
        self.max_order, self.orthogonal = int(max_order), orthogonal
        self._check_order(self.n_variables)
        n_orders = self.max_order + int(orthogonal)
        self.add_parameter(
            "order_variance", (n_orders,), order_variance_prior, order_variance_constraint
        )

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Sum of the orders of interaction."""
        sizes = self.sizes(x1.shape[-1])
        self._check_order(len(sizes))
        equal, different = self._base_values(sizes)
        powers = range(1, self.max_order + 1)
        totals = [(equal**s).sum(dim=-1) for s in powers]  # p_s on the diagonal, (*batch, 1)
        normalisers = polynomials_by_recursion(equal.unbind(dim=-1), self.max_order)
        if _amplification(totals, normalisers) <= _AMPLIFICATION:
            count = mismatch_counter(x1, x2, sizes, equal.dtype, diag=diag)
            pad = (...,) if diag else (..., None)
            sums = [
                total[pad] + count(different**s - equal**s)
                for s, total in zip(powers, totals, strict=True)
            ]
            orders = polynomials_by_power_sums(sums, sign=-1.0)
        else:
            factors = _factors(x1, x2, equal, different, diag)
            orders = polynomials_by_recursion(factors, self.max_order)
        first = 0 if self.orthogonal else 1
        variances: Tensor = self.order_variance  # (*batch, orders)
        weights = variances / torch.cat(normalisers[first:], dim=-1)
        weights = weights.unsqueeze(-2) if diag else weights.unsqueeze(-2).unsqueeze(-2)
        return (torch.stack(orders[first:], dim=-1) * weights).sum(dim=-1)

    def _base_values(self, sizes: list[int]) -> tuple[Tensor, Tensor]:
        """Values of the base kernels for equal and for different choices, (*batch, 1, d) each.

        The orthogonal ones up to a common factor, which the normalisation of each order cancels:
        the largest (1 - rho_i) / rhobar_i is 1. The smallest are kept away from zero, so that a
        product of ``max_order`` of them is no zero to divide by.
        """
        rates = self.rates
        rates = rates.expand(*rates.shape[:-1], len(sizes))
        correlations = torch.exp(-rates)
        if not self.orthogonal:
            return torch.ones_like(correlations), correlations
        g = torch.tensor(sizes, dtype=rates.dtype, device=rates.device)
        tiny = torch.finfo(rates.dtype).tiny
        complement = -torch.expm1(-rates)
        strength = complement / (correlations + complement / g)
        strength = strength / strength.amax(dim=-1, keepdim=True).clamp_min(tiny)
        strength = strength.clamp_min(tiny ** (1.0 / (self.max_order + 1)))
        return strength * (1.0 - 1.0 / g), -strength / g

    def _check_order(self, n_variables: int | None) -> None:
        """Refuse orders that no set of variables can have."""
        largest = n_variables
        if self.orthogonal and self.n_variables is not None:
            largest = sum(g > 1 for g in self.sizes(self.n_variables))
        if self.max_order < 1 or (largest is not None and self.max_order > largest):
            limit = "at least 1" if largest is None else f"from 1 to {largest}"
            raise ValueError(f"max_order must be {limit}, got {self.max_order}")


def polynomials_by_power_sums(power_sums: Sequence[Tensor], sign: float) -> list[Tensor]:
    r"""Symmetric polynomials of orders 0, 1, ..., from power sums, by Newton's identities.

    q e_q = sum_{s=1}^q sign^{s-1} e_{q-s} p_s

    Args:
        power_sums: p_1, p_2, ..., of equal shapes.
        sign: -1 for the elementary symmetric polynomials e_q, 1 for the complete ones h_q.
    """
    found = [torch.ones_like(power_sums[0])]
    for q in range(1, len(power_sums) + 1):
        terms = [sign ** (s - 1) * found[q - s] * power_sums[s - 1] for s in range(1, q + 1)]
        found.append(sum(terms[1:], start=terms[0]) / q)
    return found


def polynomials_by_recursion(values: Iterable[Tensor], max_order: int) -> list[Tensor]:
    """Elementary symmetric polynomials of orders 0, ..., max_order; adds one value at a time."""
    found: list[Tensor] = []
    for value in values:
        if not found:
            found = [torch.ones_like(value)] + [torch.zeros_like(value)] * max_order
        added = [found[q] + value * found[q - 1] for q in range(1, max_order + 1)]
        found = [found[0], *added]
    return found


def _factors(
    x1: Tensor, x2: Tensor, equal: Tensor, different: Tensor, diag: bool
) -> Iterable[Tensor]:
    """Base kernels of one variable after the other, (..., n, m) or (..., n) each."""
    for i in range(x1.shape[-1]):
        column1, column2 = x1[..., i], x2[..., i]
        same, other = equal[..., i], different[..., i]  # (*batch, 1)
        if not diag:
            column1, column2 = column1.unsqueeze(-1), column2.unsqueeze(-2)
            same, other = same.unsqueeze(-1), other.unsqueeze(-1)
        yield torch.where(column1 == column2, same, other)


def _amplification(totals: list[Tensor], normalisers: list[Tensor]) -> float:
    """Largest factor by which Newton's identities multiply rounding errors, h_q / e_q."""
    with torch.no_grad():
        complete = torch.stack(polynomials_by_power_sums(totals, sign=1.0))
        return float((complete / torch.stack(normalisers)).max())


def _checked_components(
    components: Iterable[Iterable[int]], n_variables: int | None
) -> tuple[tuple[int, ...], ...]:
    """Return components with ascending columns; refuse empty, repeated and unknown ones."""
    found = [tuple(sorted(int(i) for i in component)) for component in components]
    if not found or not all(found):
        raise ValueError(f"components must be at least one and none empty, got {found}")
    if len(set(found)) < len(found) or any(len(set(c)) < len(c) for c in found):
        raise ValueError(f"components must not repeat, nor hold a column twice, got {found}")
    columns = [i for component in found for i in component]
    limit = max(columns) + 1 if n_variables is None else n_variables
    if min(columns) < 0 or max(columns) >= limit:
        raise ValueError(f"components must hold columns from 0 to {limit - 1}, got {found}")
    return tuple(found)
