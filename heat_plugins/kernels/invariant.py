r"""Heat kernels that ignore permutations of variables, as GPyTorch kernels.

A group G of permutations acts on the points by (g x)_i = x_{g[i]}, see
:mod:`heat_plugins.kernels.permutation_groups`. Three constructions make a kernel invariant,
k(g x, g' x') = k(x, x') for all g, g' in G:

=================================  ===========================================================
class                              kernel
=================================  ===========================================================
``PermutationInvariantKernel``     projection, k(A(x), A(x')) with A = sorting or padded sorting
``GroupSumKernel``                 mean over g, g' of k(g x, g' x'), for any base kernel
``SymmetricSumKernel``             the same for all permutations of all variables, closed form
``GroupProductKernel``             product over g, g' of k(g x, g' x'), normalised, closed form
=================================  ===========================================================

References:
    Duvenaud, "Automatic model construction with Gaussian processes", 2014 (the constructions).
    Borovitskiy et al., "Isotropic Gaussian processes on finite spaces of graphs", AISTATS 2023
    (Monte-Carlo sums). "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian
    Optimization", NeurIPS 2025, appendix "Incorporating (permutation) invariance".
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
import torch
from gpytorch import settings
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.priors import Prior
from linear_operator import to_dense
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from heat_plugins.kernels import permutation_groups
from heat_plugins.kernels.additive import (
    AdditiveKernel,
    InteractionOrdersKernel,
    column_sizes,
    mismatch_counter,
)
from heat_plugins.kernels.heat import HeatKernel, _check_codes, _checked_sizes

__all__ = [
    "GroupProductKernel",
    "GroupSumKernel",
    "PermutationInvariantKernel",
    "SymmetricSumKernel",
]

_CHUNK = 2**21  # Numbers in the largest intermediate tensor: 16 MiB in float64.


class _BlockKernel(Kernel):
    """Columns in blocks whose order does not matter, next to ordinary columns.

    The diffusion times live in ``base_kernel``, a ``HeatKernel`` on what the points become when
    the order is forgotten: the ordinary columns first, then the variables of each block.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        blocks: Sequence[Sequence[int]] | None,
        ard: bool,
        active_dims: Sequence[int] | None,
        **heat_arguments: Any,
    ) -> None:
        super().__init__(active_dims=active_dims)
        shared = isinstance(n_choices, Integral)
        if shared and (ard or blocks is not None):
            raise ValueError(
                "blocks, permutations and ard need n_choices of each column; one integer stands "
                f"for one block of any number of columns, got {n_choices}"
            )
        self._n_choices = _checked_sizes(n_choices)
        self._n_variables = None if shared else len(self._n_choices)
        if not shared:
            blocks = [range(len(self._n_choices))] if blocks is None else blocks
        self._blocks = None if blocks is None else _checked_blocks(blocks, self._n_choices)
        ordinary, blocks = self._layout(len(self._n_choices))
        sizes = [self._n_choices[i] for i in ordinary]
        for block in blocks:
            sizes += self._block_sizes(len(block), self._n_choices[block[0]])
        self.base_kernel = HeatKernel(
            sizes[0] if shared else sizes,
            ard_num_dims=len(sizes) if ard else None,
            **heat_arguments,
        )

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of the diffusion times, the only parameters."""
        shape: torch.Size = self.base_kernel.batch_shape
        return shape

    def __getitem__(self, index: Any) -> "_BlockKernel":
        # GPyTorch would index active_dims, a buffer without batch dimensions, as well.
        member = deepcopy(self)
        member.base_kernel = self.base_kernel[index]
        return member

    def _block_sizes(self, length: int, g: int) -> list[int]:
        """Numbers of choices of the variables that a block becomes in the base kernel."""
        raise NotImplementedError

    def _layout(self, d: int) -> tuple[list[int], list[list[int]]]:
        """Columns in no block, and columns of each block."""
        blocks = [list(range(d))] if self._blocks is None else self._blocks
        taken = {i for block in blocks for i in block}
        return [i for i in range(d) if i not in taken], blocks

    def _checked_inputs(self, x1: Tensor, x2: Tensor, last_dim_is_batch: bool) -> list[int]:
        """Number of choices of each column, after checking the inputs."""
        d = x1.shape[-1]
        if last_dim_is_batch:
            raise ValueError(
                f"last_dim_is_batch must be False for {type(self).__name__}, got True"
            )
        if self._n_variables not in (None, d):
            raise ValueError(
                f"inputs must have {self._n_variables} columns, one for each of n_choices, got {d}"
            )
        sizes = self._n_choices * d if self._n_variables is None else self._n_choices
        if settings.debug.on():
            _check_codes(x1, sizes)
            _check_codes(x2, sizes)
        return sizes


class PermutationInvariantKernel(_BlockKernel):
    r"""Heat kernel after forgetting the order within blocks of variables (projection).

    ``"sort"`` sorts the codes of each block and compares position by position; one change can
    shift, and so change, many positions. ``"padded-sort"``, proposed in the paper, gives each
    category c of a block of length l a stretch of l positions: the first n_c of them hold c,
    where n_c is how often c occurs in the block, and the others a padding "*". Each position is
    thus a binary variable, and with the rate w_c of the positions of category c

        k(x, x') = exp(-sum_c w_c |n_c(x) - n_c(x')|)

    times the heat kernel of the columns in no block.

    Attributes:
        method: ``"padded-sort"`` or ``"sort"``.
        base_kernel: the ``HeatKernel`` that holds the diffusion times: of the ordinary columns
            first, then of each block its categories (padded) or its positions (sorted).
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        blocks: Sequence[Sequence[int]] | None = None,
        method: str = "padded-sort",
        ard: bool = False,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: number of choices of each column after ``active_dims``, equal within a
                block; one integer for one block of any number of columns.
            blocks: columns of each block, None for one block of all columns.
            method: ``"padded-sort"`` or ``"sort"``.
            ard: whether each ordinary column and each category of a block has a diffusion time
                of its own (if sorted: each position of a block).
            batch_shape: batch shape of the diffusion times.
            active_dims: columns of the input that the kernel sees, None for all.
            beta_prior: prior on the diffusion times.
            beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
        """
        if method not in ("padded-sort", "sort"):
            raise ValueError(f"method must be 'padded-sort' or 'sort', got {method!r}")
        self._padded = method == "padded-sort"
        super().__init__(
            n_choices,
            blocks,
            ard,
            active_dims,
            batch_shape=batch_shape,
            beta_prior=beta_prior,
            beta_constraint=beta_constraint,
        )
        self.method = method

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel; arguments and shapes as in ``HeatKernel.forward``."""
        sizes = self._checked_inputs(x1, x2, last_dim_is_batch)
        ordinary, blocks = self._layout(len(sizes))
        rates = self.base_kernel.rates
        new_sizes = [sizes[i] for i in ordinary]
        repeats = [1] * len(ordinary)
        for block in blocks:
            length, g = len(block), sizes[block[0]]
            # One variable of the base kernel stands for all positions of a category.
            new_sizes += [2] * (g * length) if self._padded else [g] * length
            repeats += [length] * g if self._padded else [1] * length
        if rates.shape[-1] > 1:
            rates = rates.repeat_interleave(torch.tensor(repeats, device=rates.device), dim=-1)
        codes1, codes2 = (self._project(x, ordinary, blocks, sizes) for x in (x1, x2))
        distance = mismatch_counter(codes1, codes2, new_sizes, rates.dtype, diag)
        return torch.exp(-distance(rates))

    def _block_sizes(self, length: int, g: int) -> list[int]:
        return [2] * g if self._padded else [g] * length

    def _project(
        self, x: Tensor, ordinary: list[int], blocks: list[list[int]], sizes: list[int]
    ) -> Tensor:
        """Codes of the ordinary columns, then of the sorted or padded blocks."""
        parts = [x[..., ordinary]]
        for block in blocks:
            codes = x[..., block]
            parts.append(
                _padded_codes(codes, sizes[block[0]]) if self._padded else codes.sort(-1).values
            )
        return torch.cat(parts, dim=-1)


class GroupProductKernel(_BlockKernel):
    r"""Product of the heat kernel over a group, normalised to k(x, x) = 1.

    The product over all pairs of elements, to the power 1/|G|^2, is exp(-mean distance). An
    element drawn uniformly moves each variable of an orbit O (variables that G can exchange)
    onto any other equally often, so the mean needs only the frequencies f_O(x) of the categories
    among the variables of O. Dividing by the square root of both diagonals leaves

        k(x, x') = exp(-1/2 sum_O |O| rate_O |f_O(x) - f_O(x')|^2),

    a Gaussian kernel on the frequencies. For the trivial group it is the heat kernel. Groups
    with equal orbits give equal kernels: all permutations of a block, or only its rotations.

    Attributes:
        base_kernel: the ``HeatKernel`` that holds the diffusion times: of the variables that are
            an orbit of their own, then of the other orbits.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        permutations: permutation_groups.Permutations = "symmetric",
        block: Sequence[int] | None = None,
        ard: bool = False,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: number of choices of each column after ``active_dims``, equal within an
                orbit; one integer for all permutations of any number of columns.
            permutations: (k, d) generators of the group, or ``"symmetric"``.
            block: columns that ``"symmetric"`` permutes, None for all.
            ard: whether each orbit has a diffusion time of its own.
            batch_shape: batch shape of the diffusion times.
            active_dims: columns of the input that the kernel sees, None for all.
            beta_prior: prior on the diffusion times.
            beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
        """
        blocks: list[Sequence[int]] | None
        if isinstance(n_choices, Integral):
            # One block of all columns, or an error about what an integer cannot say.
            every = isinstance(permutations, str) and permutations == "symmetric"
            blocks = None if every and block is None else []
        else:
            sizes = _checked_sizes(n_choices)
            orbits = permutation_groups.orbits(permutations, len(sizes), block)
            blocks = [orbit for orbit in orbits if len(orbit) > 1]
        super().__init__(
            n_choices,
            blocks,
            ard,
            active_dims,
            batch_shape=batch_shape,
            beta_prior=beta_prior,
            beta_constraint=beta_constraint,
        )

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel; arguments and shapes as in ``HeatKernel.forward``."""
        sizes = self._checked_inputs(x1, x2, last_dim_is_batch)
        ordinary, blocks = self._layout(len(sizes))
        orbits = [*([i] for i in ordinary), *blocks]
        rates = self.base_kernel.rates
        rates = rates.expand(*rates.shape[:-1], len(orbits))
        repeats = torch.tensor([sizes[orbit[0]] for orbit in orbits], device=rates.device)
        lengths = torch.tensor([len(orbit) for orbit in orbits], device=rates.device)
        weights = (0.5 * lengths * rates).repeat_interleave(repeats, dim=-1)
        dtype = torch.promote_types(x1.dtype, rates.dtype)
        features1, features2 = (
            torch.cat([_counts(x[..., o], sizes[o[0]]).to(dtype) / len(o) for o in orbits], dim=-1)
            for x in (x1, x2)
        )
        if diag:
            return torch.exp(-(weights * (features1 - features2) ** 2).sum(dim=-1))
        # |f - f'|^2 = |f|^2 + |f'|^2 - 2 f.f', linear in the weights: where a rate is zero, a
        # square root of it would have no gradient.
        scaled = weights * features1
        squares = (scaled * features1).sum(dim=-1, keepdim=True)  # (..., n, 1)
        squares = squares + (weights * features2**2).sum(dim=-1, keepdim=True).mT
        return torch.exp(-(squares - 2.0 * scaled @ features2.mT).clamp_min(0.0))

    def _block_sizes(self, length: int, g: int) -> list[int]:
        return [g]


class SymmetricSumKernel(HeatKernel):
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

    Parameters as for ``HeatKernel`` with one number of choices and one diffusion time; use
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

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel; arguments and shapes as in ``HeatKernel.forward``."""
        sizes = column_sizes(self, x1, x2, last_dim_is_batch)
        d, rates = len(sizes), self.rates
        counts1, counts2 = (_counts(x, sizes[0]) for x in (x1, x2))
        # In float64 whatever the parameters are: binomial coefficients leave float32 early.
        j = torch.arange(d + 1, dtype=torch.float64, device=rates.device)
        # (*batch, 1, d + 1): pow keeps 0^0 = 1 at both ends of rho, and its gradient.
        rate = rates.double()
        powers = torch.pow(-torch.expm1(-rate), j) * torch.pow(torch.exp(-rate), d - j)
        dtype = torch.promote_types(x1.dtype, rates.dtype)
        if diag:
            return (_expected_matches(counts1, counts2, d) * powers).sum(dim=-1).to(dtype)
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        n_numbers = math.prod(batch) * x1.shape[-2] * x2.shape[-2] * (d + 1)
        parts = [
            _expected_matches(part.unsqueeze(-2), counts2.unsqueeze(-3), d)  # (..., n, m, d + 1)
            @ powers.unsqueeze(-1)
            for part in counts1.chunk(max(1, math.ceil(n_numbers / _CHUNK)), dim=-2)
        ]
        return torch.cat(parts, dim=-3).squeeze(-1).to(dtype)


class GroupSumKernel(Kernel):
    r"""Mean of a kernel over a group of permutations of the variables.

    k_sum(x, x') = (1/|G|^2) sum_{g in G} sum_{g' in G} k(g x, g' x')

    It is evaluated in one of three ways:

    * "one-sided": if the base kernel does not change when both points are permuted alike (one
      diffusion time, equal numbers of choices within each orbit), the double mean equals
      (1/|G|) sum_g k(x, g x'). Used up to |G| = n_samples^2.
    * "two-sided": the double mean as written, for other base kernels and |G| <= n_samples.
    * "monte-carlo": otherwise the double mean over n_samples elements drawn uniformly from G, as
      in the paper's experiments. It is positive semi-definite, but invariant only up to the
      error of the sample, of order 1 / sqrt(n_samples); and because pairs g = g' occur once in
      n_samples, points close to each other, not only to the other's images, get up to
      1 / n_samples too much.

    Every evaluation costs as many base kernels as there are pairs of elements, in chunks that
    bound the memory; gradients recompute the chunks. For all permutations of one block,
    :class:`SymmetricSumKernel` is exact and needs none of this. k_sum(x, x) is at most 1, and
    smaller for points that are far from their own images.

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
            n_samples: number of elements in the Monte-Carlo mean.
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
        """Evaluate the kernel; arguments and shapes as in ``HeatKernel.forward``."""
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False for GroupSumKernel, got True")
        d = x1.shape[-1]
        if self.left.shape[-1] != d:
            raise ValueError(f"inputs must have {self.left.shape[-1]} columns, got {d}")
        # The members of a batch agree, so the first speaks for all.
        left, right = (e.reshape(-1, *e.shape[-2:])[0] for e in (self.left, self.right))
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2], self.batch_shape)
        per_pair = math.prod(batch) * x1.shape[-2] * (1 if diag else x2.shape[-2])
        n_right = min(len(right), max(1, _CHUNK // max(1, per_pair)))
        n_left = max(1, _CHUNK // max(1, per_pair * n_right))
        sums = [
            # Without this, the gradient would keep all chunks in memory.
            checkpoint(
                self._chunk_sum, x1, x2, g, h, diag, use_reentrant=False, preserve_rng_state=False
            )
            for g in left.chunk(math.ceil(len(left) / n_left))
            for h in right.chunk(math.ceil(len(right) / n_right))
        ]
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
    sizes = kernel._sizes(sum(map(len, orbits)))
    return all(len({sizes[i] for i in orbit}) == 1 for orbit in orbits)


def _checked_blocks(blocks: Sequence[Sequence[int]], sizes: list[int]) -> list[list[int]]:
    """Return blocks as lists; refuse overlaps, unknown columns and unequal numbers of choices."""
    found = [[int(i) for i in block] for block in blocks]
    columns = [i for block in found for i in block]
    if not all(found) or len(set(columns)) < len(columns):
        raise ValueError(f"blocks must not be empty nor share columns, got {found}")
    if any(not 0 <= i < len(sizes) for i in columns):
        raise ValueError(f"blocks must hold columns from 0 to {len(sizes) - 1}, got {found}")
    for block in found:
        choices = [sizes[i] for i in block]
        if len(set(choices)) > 1:
            raise ValueError(f"columns of block {block} must have equal n_choices, got {choices}")
    return found


def _counts(codes: Tensor, g: int) -> Tensor:
    """(..., l) codes of one block as (..., g) numbers of occurrences."""
    one_hot = torch.nn.functional.one_hot(codes.long(), g)
    return one_hot.sum(dim=-2)


def _padded_codes(codes: Tensor, g: int) -> Tensor:
    """(..., l) codes as (..., g l) binary codes: category c fills its first n_c positions."""
    length = codes.shape[-1]
    positions = torch.arange(length, device=codes.device)
    return (_counts(codes, g).unsqueeze(-1) > positions).flatten(-2).to(codes)


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
