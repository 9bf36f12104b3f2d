r"""Heat kernels that ignore permutations of variables, as GPyTorch kernels.

A group G of permutations acts on the points by (g x)_i = x_{g[i]}, see
:mod:`heat_plugins.kernels.permutation_groups`. Three constructions make a kernel invariant,
k(g x, g' x') = k(x, x') for all g, g' in G:

=================================  ===========================================================
class                              kernel
=================================  ===========================================================
``PermutationInvariantKernel``     projection, k(A(x), A(x')) with A = sorting or padded sorting
``GroupProductKernel``             product over g, g' of k(g x, g' x'), normalised, closed form
``GroupSumKernel``                 mean over g, g' of k(g x, g' x'), for any base kernel
``SymmetricSumKernel``             the same for all permutations of all variables, closed form
=================================  ===========================================================

The last two are in :mod:`heat_plugins.kernels.group_sums`.

References:
    Duvenaud, "Automatic model construction with Gaussian processes", 2014 (the constructions).
    "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025, appendix "Incorporating (permutation) invariance".
"""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral

import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.kernels import permutation_groups
from heat_plugins.torch.codes import CodesKernel, category_counts, checked_choices
from heat_plugins.torch.heat import HeatKernel
from heat_plugins.torch.mismatches import weighted_mismatches

__all__ = ["GroupProductKernel", "PermutationInvariantKernel"]


class _BlockKernel(CodesKernel):
    """Columns in blocks whose order does not matter, next to ordinary columns.

    The diffusion times live in ``base_kernel``, a ``HeatKernel`` on what the points become when
    the order is forgotten: the ordinary columns first, then the variables of each block.
    """

    is_stationary = False

    def __init__(
        self,
        n_choices: int | Sequence[int],
        blocks: Sequence[Sequence[int]] | None,
        ard: bool,
        batch_shape: torch.Size | None,
        active_dims: Sequence[int] | None,
        beta_prior: Prior | None,
        beta_constraint: Interval | None,
    ) -> None:
        super().__init__(n_choices, batch_shape=batch_shape, active_dims=active_dims)
        shared = self.n_variables is None
        if shared and (ard or blocks is not None):
            raise ValueError(
                "blocks, permutations and ard need n_choices of each column; one integer stands "
                f"for one block of any number of columns, got {n_choices}"
            )
        columns = self.sizes(self.n_variables or 1)
        if blocks is None and not shared:
            blocks = [range(len(columns))]
        self._blocks = None if blocks is None else _checked_blocks(blocks, columns)
        ordinary, found = self._layout(len(columns))
        sizes = [columns[i] for i in ordinary]
        for block in found:
            sizes += self._block_sizes(len(block), columns[block[0]])
        self.base_kernel = HeatKernel(
            sizes[0] if shared else sizes,
            ard_num_dims=len(sizes) if ard else None,
            batch_shape=batch_shape,
            beta_prior=beta_prior,
            beta_constraint=beta_constraint,
        )

    @abstractmethod
    def _block_sizes(self, length: int, g: int) -> list[int]:
        """Numbers of choices of the variables that a block becomes in the base kernel."""

    def _layout(self, d: int) -> tuple[list[int], list[list[int]]]:
        """Columns in no block, and columns of each block."""
        blocks = [list(range(d))] if self._blocks is None else self._blocks
        taken = {i for block in blocks for i in block}
        return [i for i in range(d) if i not in taken], blocks


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
            n_choices, blocks, ard, batch_shape, active_dims, beta_prior, beta_constraint
        )
        self.method = method

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Heat kernel of the projected points."""
        sizes = self.sizes(x1.shape[-1])
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
        return torch.exp(-weighted_mismatches(codes1, codes2, rates, new_sizes, diag=diag))

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
            sizes = checked_choices(n_choices)
            orbits = permutation_groups.orbits(permutations, len(sizes), block)
            blocks = [orbit for orbit in orbits if len(orbit) > 1]
        super().__init__(
            n_choices, blocks, ard, batch_shape, active_dims, beta_prior, beta_constraint
        )

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Gaussian kernel of the frequencies."""
        sizes = self.sizes(x1.shape[-1])
        ordinary, blocks = self._layout(len(sizes))
        orbits = [*([i] for i in ordinary), *blocks]
        rates = self.base_kernel.rates
        rates = rates.expand(*rates.shape[:-1], len(orbits))
        repeats = torch.tensor([sizes[orbit[0]] for orbit in orbits], device=rates.device)
        lengths = torch.tensor([len(orbit) for orbit in orbits], device=rates.device)
        weights = (0.5 * lengths * rates).repeat_interleave(repeats, dim=-1)
        dtype = torch.promote_types(x1.dtype, rates.dtype)
        features1, features2 = (
            torch.cat(
                [category_counts(x[..., o], sizes[o[0]]).to(dtype) / len(o) for o in orbits],
                dim=-1,
            )
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


def _padded_codes(codes: Tensor, g: int) -> Tensor:
    """(..., l) codes as (..., g l) binary codes: category c fills its first n_c positions."""
    length = codes.shape[-1]
    positions = torch.arange(length, device=codes.device)
    return (category_counts(codes, g).unsqueeze(-1) > positions).flatten(-2).to(codes)
