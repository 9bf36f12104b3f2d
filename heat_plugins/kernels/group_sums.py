r"""Means of a kernel over a group of permutations of the variables, as GPyTorch kernels.

A group G of permutations acts on the points by (g x)_i = x_{g[i]}, see
:mod:`heat_plugins.kernels.permutation_groups`. The mean of k(g x, g' x') over all pairs of
elements does not change if either point is permuted. :class:`GroupSumKernel` takes it over any
group and any kernel, exactly or by sampling; :class:`SymmetricSumKernel` takes it over all
permutations in closed form. Other invariant kernels: :mod:`heat_plugins.kernels.invariant`.

References:
    Duvenaud, "Automatic model construction with Gaussian processes", 2014 (the construction).
    Borovitskiy et al., "Isotropic Gaussian processes on finite spaces of graphs", AISTATS 2023
    (Monte-Carlo sums). "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian
    Optimization", NeurIPS 2025, appendix "Incorporating (permutation) invariance".
"""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.priors import Prior
from linear_operator import to_dense
from torch import Tensor

from heat_plugins.kernels import permutation_groups
from heat_plugins.kernels.additive import AdditiveKernel, InteractionOrdersKernel
from heat_plugins.kernels.memory import recomputed, row_chunks
from heat_plugins.torch.codes import ColumnsKernel, category_counts
from heat_plugins.torch.heat import DiffusionTimesKernel, HeatKernel

__all__ = ["GroupSumKernel", "SymmetricSumKernel"]


class SymmetricSumKernel(DiffusionTimesKernel):
    r"""Mean of the isotropic heat kernel over all permutations of the variables, exactly.

    k(x, x') = (1/d!) sum_p rho^h(x, p x')

    with the Hamming distance h. It depends only on how often each category occurs, n_c in x and
    n'_c in x'. The number of ways to place j non-attacking rooks on the board of matching
    positions of category c is C(n_c, j) C(n'_c, j) j!; with the rook polynomials

        R_c(z) = sum_j C(n_c, j) C(n'_c, j) j! z^j,    prod_c R_c(z) = sum_j r_j z^j,

    r_j (d-j)! / d! is the expected number of sets of j positions that match after a random
    permutation, and expanding prod_i (rho + (1 - rho) [match]) gives

        k(x, x') = sum_j r_j (d-j)!/d! (1 - rho)^j rho^(d-j).

    All terms are non-negative, so no digits are lost. It equals the double mean over both
    arguments, because the heat kernel does not change if both points are permuted alike.
    k(x, x) < 1 unless x repeats one category: a point far from its own permutations has a
    smaller prior variance.

    Parameters are those of ``HeatKernel`` with one number of choices and one diffusion time; use
    ``active_dims`` and products of kernels for several blocks.
    """

    is_stationary = False

    def __init__(
        self,
        n_choices: int,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; arguments as for ``HeatKernel``."""
        if not isinstance(n_choices, Integral):
            raise ValueError(f"n_choices must be one integer for all variables, got {n_choices}")
        super().__init__(
            int(n_choices),
            batch_shape=batch_shape,
            active_dims=active_dims,
            beta_prior=beta_prior,
            beta_constraint=beta_constraint,
        )

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Sum over the numbers of matching positions."""
        d, rates = x1.shape[-1], self.rates
        (g,) = self.sizes(1)
        counts1, counts2 = (category_counts(x, g) for x in (x1, x2))
        # In float64 whatever the parameters are: binomial coefficients leave float32 early.
        j = torch.arange(d + 1, dtype=torch.float64, device=rates.device)
        # (*batch, 1, d + 1): pow keeps 0^0 = 1 at both ends of rho, and its gradient.
        rate = rates.double()
        powers = torch.pow(-torch.expm1(-rate), j) * torch.pow(torch.exp(-rate), d - j)
        dtype = torch.promote_types(x1.dtype, rates.dtype)
        if diag:
            return (_expected_matches(counts1, counts2, d) * powers).sum(dim=-1).to(dtype)
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        per_row = math.prod(batch) * x2.shape[-2] * (d + 1)
        parts = [
            _expected_matches(part.unsqueeze(-2), counts2.unsqueeze(-3), d)  # (..., n, m, d + 1)
            @ powers.unsqueeze(-1)
            for part in row_chunks(counts1, per_row)
        ]
        return torch.cat(parts, dim=-3).squeeze(-1).to(dtype)


class GroupSumKernel(ColumnsKernel):
    r"""Mean of a kernel over a group of permutations of the variables.

    k_sum(x, x') = (1/|G|^2) sum_{g in G} sum_{g' in G} k(g x, g' x')

    It is evaluated in one of three ways, by the attribute ``mode``:

    * "one-sided": if the base kernel does not change when both points are permuted alike (one
      diffusion time, equal numbers of choices within each orbit), the double mean equals
      (1/|G|) sum_g k(x, g x'). Exact; used up to |G| = n_samples^2.
    * "two-sided": the double mean as written, for other base kernels. Exact; used up to
      |G| = n_samples.
    * "monte-carlo": for larger groups the double mean over a sample S instead of G,

          k_S(x, x') = (1/|S|^2) sum_{g in S} sum_{g' in S} k(g x, g' x'),   |S| = n_samples,

      as in the paper's experiments. S is drawn once, when the kernel is created, independently
      and uniformly (:func:`heat_plugins.kernels.permutation_groups.sample`).

    So n_samples is the number of group elements, |S|, and not the number of pairs: one entry of
    the matrix never takes more than n_samples^2 base kernels, in each of the three ways.

    Because the same S acts on both points, k_S is positive semi-definite for every S: its
    features are those of k, averaged over S. The price is a bias: in |S| of the |S|^2 pairs an
    element meets itself, as if g and g' were always equal. Over the draws of S

        E[k_S] = (1 - 1/|S|) k_sum + (1/|S|) k_same,   k_same = mean over g of k(g x, g x'),

    and k_same is the base kernel itself if that treats permuted points alike. k_S is thus on
    average too large by up to 1/|S| where x and x' are close as they stand, first of all on the
    diagonal x = x', and too small by as much where only their images are close. Around this
    mean, k_S varies by the order of 1 / sqrt(|S|), and it is invariant only up to both errors.

    The evaluation goes in chunks that bound the memory; gradients recompute the chunks. For all
    permutations of one block, :class:`SymmetricSumKernel` is exact and needs none of this.
    k_sum(x, x) is at most 1 if the base kernel is, and smaller for points that are far from
    their own images.

    Attributes:
        base_kernel: the kernel that is averaged.
        mode: which of the three ways is used.
        left: (*batch_shape, l, d) elements that act on x; the identity if one-sided.
        right: (*batch_shape, r, d) elements that act on x'.
    """

    left: Tensor
    right: Tensor

    def __init__(
        self,
        base_kernel: Kernel,
        permutations: permutation_groups.Permutations,
        n_variables: int | None = None,
        block: Sequence[int] | None = None,
        n_samples: int = 200,
        seed: int = 0,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        """Create the kernel and, if the group is too large, draw its sample.

        Args:
            base_kernel: kernel on the d columns.
            permutations: (k, d) generators of the group, among them or being all its elements,
                or ``"symmetric"``.
            n_variables: number of columns d, needed for ``"symmetric"``.
            block: columns that ``"symmetric"`` permutes, None for all.
            n_samples: number of group elements |S| of the Monte-Carlo double mean, which takes
                |S|^2 pairs of them; groups that need no more pairs than that are not sampled.
            seed: seed of their draw.
            active_dims: columns of the input that the kernel sees, None for all.
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}")
        super().__init__(active_dims=active_dims)
        self.base_kernel = base_kernel
        self.mode, left, right = _group_elements(
            base_kernel, permutations, n_variables, block, n_samples, seed
        )
        for name, elements in (("left", left), ("right", right)):
            # With batch dimensions, because GPyTorch indexes and expands buffers too.
            rows = torch.as_tensor(elements).expand(*base_kernel.batch_shape, -1, -1)
            self.register_buffer(name, rows.clone())

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel; arguments and shapes as in ``CodesKernel.forward``."""
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False for GroupSumKernel, got True")
        d = x1.shape[-1]
        if self.left.shape[-1] != d:
            raise ValueError(f"inputs must have {self.left.shape[-1]} columns, got {d}")
        # The members of a batch agree, so the first speaks for all.
        left, right = (e.reshape(-1, *e.shape[-2:])[0] for e in (self.left, self.right))
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2], self.batch_shape)
        per_pair = math.prod(batch) * x1.shape[-2] * (1 if diag else x2.shape[-2])
        rights = row_chunks(right, per_pair)
        lefts = row_chunks(left, per_pair * len(rights[0]))
        sums = [recomputed(self._chunk_sum, x1, x2, g, h, diag) for g in lefts for h in rights]
        total: Tensor = sum(sums[1:], start=sums[0])
        return total / (len(left) * len(right))

    def _chunk_sum(
        self, x1: Tensor, x2: Tensor, left: Tensor, right: Tensor, diag: bool
    ) -> Tensor:
        """Sum of k(g x, g' x') over some of the pairs (g, g')."""
        images1, images2 = x1[..., left], x2[..., right]  # (..., n, l, d) and (..., m, r, d)
        if diag:
            shape = (x1.shape[-2], len(left), len(right), x1.shape[-1])
            images1 = images1.unsqueeze(-2).expand(*x1.shape[:-2], *shape)
            images2 = images2.unsqueeze(-3).expand(*x2.shape[:-2], *shape)
            values: Tensor = self.base_kernel(
                images1.flatten(-4, -2), images2.flatten(-4, -2), diag=True
            )
            return values.reshape(*values.shape[:-1], *shape[:-1]).sum(dim=(-2, -1))
        shape = (x1.shape[-2], len(left), x2.shape[-2], len(right))
        matrix: Tensor = to_dense(
            self.base_kernel(images1.flatten(-3, -2), images2.flatten(-3, -2))
        )
        return matrix.reshape(*matrix.shape[:-2], *shape).sum(dim=(-3, -1))


def _group_elements(
    base_kernel: Kernel,
    permutations: permutation_groups.Permutations,
    n_variables: int | None,
    block: Sequence[int] | None,
    n_samples: int,
    seed: int,
) -> tuple[str, permutation_groups.IntArray, permutation_groups.IntArray]:
    """Choose how to average, and the elements that act on the first and second argument."""
    generators = permutation_groups.generators_of(permutations, n_variables, block)
    d = generators.shape[1]
    alike = _treats_alike(base_kernel, permutation_groups.orbits(generators, d))
    limit = n_samples**2 if alike else n_samples
    try:
        elements = permutation_groups.closure(generators, limit)
    except ValueError:  # Larger than the limit.
        rng = np.random.default_rng(seed)
        elements = permutation_groups.sample(permutations, n_samples, rng, d, block)
        return "monte-carlo", elements, elements
    return ("one-sided", elements[:1], elements) if alike else ("two-sided", elements, elements)


def _treats_alike(kernel: Kernel, orbits: Sequence[Sequence[int]]) -> bool:
    """Whether k(g x, g x') = k(x, x') is certain for all permutations g within the orbits."""
    while isinstance(kernel, ScaleKernel) and kernel.active_dims is None:
        kernel = kernel.base_kernel
    isotropic = (HeatKernel, AdditiveKernel, InteractionOrdersKernel)
    if type(kernel) not in isotropic or kernel.active_dims is not None:
        return False
    if kernel.raw_beta.shape[-1] > 1:
        return False
    sizes = kernel.sizes(sum(map(len, orbits)))
    return all(len({sizes[i] for i in orbit}) == 1 for orbit in orbits)


def _expected_matches(counts1: Tensor, counts2: Tensor, d: int) -> Tensor:
    """Expected numbers of sets of j matching positions, r_j (d-j)!/d!, for j = 0, ..., d.

    Args:
        counts1: (..., g) occurrences of the categories in x.
        counts2: (..., g) occurrences of the categories in x'; the leading dimensions broadcast.
        d: number of variables.

    Returns:
        (..., d + 1) coefficients in float64.
    """
    scaled, log_scale = _rook_numbers(d, counts1.device)
    product = scaled[counts1[..., 0]] * scaled[counts2[..., 0]]  # R_0, (..., d + 1)
    for c in range(1, counts1.shape[-1]):
        factor = scaled[counts1[..., c]] * scaled[counts2[..., c]]
        degree = int(torch.minimum(counts1[..., c].max(), counts2[..., c].max()))
        convolved = product * factor[..., :1]
        for j in range(1, degree + 1):
            convolved[..., j:] += factor[..., j : j + 1] * product[..., : d + 1 - j]
        product = convolved
    return product * log_scale.exp()


def _rook_numbers(d: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rook numbers in a form that does not overflow for some hundreds of variables.

    Returns:
        (d + 1, d + 1) table of C(a, j) sqrt(j! / d^j): the product of rows a and b is the rook
        polynomial of a category that occurs a and b times, with z replaced by z / d; and
        (d + 1,) logarithms of d^j (d-j)! / d!, which undo the scale and count the permutations.
    """
    j = torch.arange(d + 1, dtype=torch.float64, device=device)
    log_factorial = torch.lgamma(j + 1.0)
    left = j.unsqueeze(-1) - j  # a - j, (d + 1, d + 1)
    log_choose = log_factorial.unsqueeze(-1) - log_factorial - torch.lgamma(left.clamp_min(0) + 1)
    log_choose = torch.where(left < 0.0, -torch.inf, log_choose)
    log_power = j * math.log(d)
    table = torch.exp(log_choose + 0.5 * (log_factorial - log_power))
    return table, log_power + log_factorial.flip(0) - log_factorial[-1]
