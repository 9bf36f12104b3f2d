r"""Weighted Hamming distances, and the base of the kernels that are functions of one.

    S(x, x') = sum_i w_i [x_i != x'_i]

With one-hot features Z (one column per variable and choice, s = sum of the g_i columns) these
distances are one matrix product,

    S = Z diag(w_i repeated g_i times) (1 - Z')^T,

because within the columns of one variable z . (1 - z') is 0 for equal choices and 1 for
different ones. All terms are non-negative, so equal points have distance exactly 0, which
"sum of weights minus matches" would give only up to rounding. One product costs n * m * s
multiplications and no (n, m, d) tensor.
"""

from abc import abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from heat_plugins.torch.codes import CodesKernel, one_hot

__all__ = ["MismatchKernel", "mismatch_counter", "weighted_mismatches"]


class MismatchKernel(CodesKernel):
    """Base of kernels that are functions of one weighted Hamming distance S."""

    @abstractmethod
    def weights(self, n_variables: int) -> Tensor:
        """Prices of one mismatch, (*batch_shape, 1, d), or (*batch_shape, 1, 1) if shared."""

    def correlation(self, mismatches: Tensor, n_trailing: int) -> Tensor:
        """Correlations of points at weighted Hamming distances S, elementwise; here exp(-S).

        Args:
            mismatches: (*batch, ...) distances S.
            n_trailing: number of dimensions after the batch dimensions, 1 to 3.

        Returns:
            The correlations, of the same shape.
        """
        return torch.exp(-mismatches)

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Correlations of the distances over all variables."""
        return self.correlation(self._mismatches(x1, x2, diag, each=False), 2 - diag)

    def evaluate_each(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Correlations per variable, each with the weight that its variable has among all d."""
        return self.correlation(self._mismatches(x1, x2, diag, each=True), 3 - diag)

    def _mismatches(self, x1: Tensor, x2: Tensor, diag: bool, each: bool) -> Tensor:
        d = x1.shape[-1]
        sizes = None if self.n_choices is None else self.sizes(d)
        return weighted_mismatches(x1, x2, self.weights(d), sizes, diag=diag, each=each)


def weighted_mismatches(
    x1: Tensor,
    x2: Tensor,
    weights: Tensor,
    sizes: list[int] | None,
    *,
    diag: bool = False,
    each: bool = False,
) -> Tensor:
    r"""Weighted Hamming distances S(x, x') = sum_i w_i [x_i != x'_i].

    Args:
        x1: (..., n, d) codes.
        x2: (..., m, d) codes.
        weights: (..., 1, d) weights, finite, or (..., 1, 1) if shared.
        sizes: number of choices of each variable, None if unknown.
        diag: whether to compare the points pairwise, row by row (n = m).
        each: whether to return the summands, one per variable.

    Returns:
        (..., n, m) distances, or (..., n) if ``diag``; if ``each``, (..., d, n, m) or
        (..., d, n). Exactly 0 for equal points.
    """
    if not each:
        return mismatch_counter(x1, x2, sizes, weights.dtype, diag=diag)(weights)
    per_variable = weights.to(torch.promote_types(x1.dtype, weights.dtype)).mT  # (..., d, 1)
    if diag:
        return per_variable * (x1 != x2).mT
    mismatch = x1.mT.unsqueeze(-1) != x2.mT.unsqueeze(-2)  # (..., d, n, m)
    return per_variable.unsqueeze(-1) * mismatch


def mismatch_counter(
    x1: Tensor, x2: Tensor, sizes: list[int] | None, dtype: torch.dtype, *, diag: bool
) -> Callable[[Tensor], Tensor]:
    """Encode the points once, for several weighted Hamming distances between them.

    Args:
        x1: (..., n, d) codes.
        x2: (..., m, d) codes.
        sizes: number of choices of each variable; None if unknown, at the price of an
            (n, m, d) tensor.
        dtype: type of the weights.
        diag: whether to compare row by row.

    Returns:
        A function from (..., 1, d) or (..., 1, 1) weights to (..., n, m) distances, or (..., n)
        if ``diag``.
    """
    dtype = torch.promote_types(x1.dtype, dtype)
    if diag:
        unequal = x1 != x2
        return lambda weights: (weights.to(dtype) * unequal).sum(dim=-1)
    if sizes is None:
        differ = x1.unsqueeze(-2) != x2.unsqueeze(-3)  # (..., n, m, d)
        return lambda weights: (weights.to(dtype).unsqueeze(-2) * differ).sum(dim=-1)
    repeats = torch.tensor(sizes, device=x1.device)
    one = one_hot(x1, sizes, dtype)  # (..., n, s)
    other = (1.0 - one_hot(x2, sizes, dtype)).mT  # (..., s, m)

    def count(weights: Tensor) -> Tensor:
        per_variable = weights.expand(*weights.shape[:-1], len(repeats)).to(dtype)
        return (one * per_variable.repeat_interleave(repeats, dim=-1)) @ other

    return count
