r"""Kernels of other methods on categorical spaces, for comparison only.

Neither is a heat kernel. The paper shows that both owe part of their results to a preference for
points that repeat categories; recommend heat kernels instead.

References:
    Deshwal et al., "Bayesian optimization over high-dimensional combinatorial spaces via
    dictionary-based embeddings", AISTATS 2023 (BODi). Lodhi et al., "Text classification using
    string kernels", JMLR 2002. Moss et al., "BOSS: Bayesian optimization over string spaces",
    NeurIPS 2020. Beck and Cohn, "Learning kernels over strings using Gaussian processes",
    IJCNLP 2017 (the recursion as matrix products). "Omnipresent Yet Overlooked: Heat Kernels in
    Combinatorial Bayesian Optimization", NeurIPS 2025, appendices on BODi and on
    permutation-invariant functions.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.kernels.dictionaries import diverse_dictionary
from heat_plugins.kernels.memory import recomputed, row_chunks
from heat_plugins.torch.codes import (
    CodesKernel,
    check_codes,
    checked_choices,
    constrained_parameter,
)
from heat_plugins.torch.mismatches import weighted_mismatches

__all__ = ["HEDKernel", "SubsequenceStringKernel"]


class HEDKernel(CodesKernel, MaternKernel):
    r"""Hamming embedding of BODi: a Matern-5/2 kernel on the distances to anchor points.

    k(x, x') = matern(|phi(x) - phi(x')| / lengthscale),    phi_m(x) = h(a_m, x) / d

    with the Hamming distance h to anchor point a_m. Each feature is divided by the number of
    variables, as in BODi's implementation, so it lies in [0, 1]; the number of anchors M is not
    divided out, and distances grow with its square root. One lengthscale serves all features.

    Attributes:
        anchors: (*batch_shape, M, d) codes, the same for every member of the batch.
        lengthscale: (*batch_shape, 1, 1), with ``lengthscale_prior`` and
            ``lengthscale_constraint`` as in every GPyTorch kernel.
    """

    is_stationary = False

    anchors: Tensor

    def __init__(
        self,
        n_choices: Sequence[int],
        anchors: npt.ArrayLike | None = None,
        n_anchors: int = 128,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: number of choices of each column after ``active_dims``.
            anchors: (M, d) codes of the anchor points, None to draw them
                (:func:`heat_plugins.kernels.dictionaries.diverse_dictionary`).
            n_anchors: number of anchor points to draw.
            seed: seed of their draw.
            **kwargs: ``batch_shape``, ``active_dims``, ``lengthscale_prior`` and
                ``lengthscale_constraint`` of a GPyTorch kernel.
        """
        sizes = checked_choices(n_choices)
        super().__init__(sizes, nu=2.5, **kwargs)
        if anchors is None:
            anchors = diverse_dictionary(sizes, n_anchors, np.random.default_rng(seed))
        codes = torch.as_tensor(np.asarray(anchors), dtype=torch.long)
        if codes.ndim != 2 or codes.shape[-1] != len(sizes) or len(codes) == 0:
            raise ValueError(
                f"anchors must have shape (M, {len(sizes)}) with M > 0, got {tuple(codes.shape)}"
            )
        check_codes(codes, sizes)
        # With batch dimensions, because GPyTorch indexes and expands buffers too.
        self.register_buffer("anchors", codes.expand(*self.batch_shape, -1, -1).clone())

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Matern kernel of the embedded points."""
        # Not super().forward, which checks codes and comes back here.
        matrix: Tensor = MaternKernel.forward(self, self.embed(x1), self.embed(x2), diag=diag)
        return matrix

    def embed(self, x: Tensor) -> Tensor:
        """Distances of (..., n, d) codes to the anchors, divided by d; (..., n, M)."""
        d = x.shape[-1]
        # The members of a batch agree, so the first speaks for all.
        anchors = self.anchors.reshape(-1, *self.anchors.shape[-2:])[0]
        unit = torch.ones(1, 1, dtype=self.lengthscale.dtype, device=x.device)
        return weighted_mismatches(x, anchors, unit, self.sizes(d)) / d


class SubsequenceStringKernel(CodesKernel):
    r"""Sub-sequence string kernel, normalised to k(x, x) = 1.

    A string of length p is a feature; its value for x is the sum over all places where it occurs
    in x as a sub-sequence, gaps allowed, of

        match_decay^p gap_decay^(positions skipped between first and last symbol),

    and the kernel is the inner product over all strings of lengths 1, ..., max_order, divided by
    the norms. With S_p[i, j] the part of sub-sequences of length p that end at position i of x
    and at position j of x', and T[i, j] = gap_decay^(j - i - 1) for i < j, else 0,

        S_1 = match_decay^2 M,    S_{p+1} = match_decay^2 M * (T^T S_p T),   M = [x_i = x'_j],

    where * multiplies entries. One pair of points costs max_order products of (d, d) matrices.

    Attributes:
        max_order: longest sub-sequence.
        raw_gap_decay: (*batch_shape, 1, 1) unconstrained parameter.
        raw_match_decay: (*batch_shape, 1, 1) unconstrained parameter.
    """

    is_stationary = False

    raw_gap_decay: Tensor
    raw_match_decay: Tensor
    gap_decay = constrained_parameter(
        "gap_decay", "Price of a skipped position, (*batch_shape, 1, 1)."
    )
    match_decay = constrained_parameter("match_decay", "Price of a symbol, (*batch_shape, 1, 1).")

    def __init__(
        self,
        alphabet_size: int,
        max_order: int = 3,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        gap_decay_prior: Prior | None = None,
        match_decay_prior: Prior | None = None,
    ) -> None:
        """Create the kernel; both decays lie in (0, 1) and start at 1/2.

        Args:
            alphabet_size: number of symbols; all columns share them.
            max_order: longest sub-sequence, at least 1.
            batch_shape: batch shape of the decays.
            active_dims: columns of the input that hold the string, None for all.
            gap_decay_prior: prior on the price of a skipped position.
            match_decay_prior: prior on the price of a symbol.
        """
        if max_order < 1:
            raise ValueError(f"max_order must be at least 1, got {max_order}")
        (size,) = checked_choices(alphabet_size)
        super().__init__(size, batch_shape=batch_shape, active_dims=active_dims)
        self.alphabet_size, self.max_order = size, max_order
        self.add_parameter("gap_decay", (1, 1), gap_decay_prior, Interval(0.0, 1.0))
        self.add_parameter("match_decay", (1, 1), match_decay_prior, Interval(0.0, 1.0))

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Inner products of the sub-sequences, divided by the norms."""
        norm1 = self._similarity(x1, x1, False).rsqrt()  # (..., n)
        norm2 = self._similarity(x2, x2, False).rsqrt()  # (..., m)
        if diag:
            return self._similarity(x1, x2, False) * norm1 * norm2
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2], self.batch_shape)
        per_row = math.prod(batch) * x2.shape[-2] * x1.shape[-1] * x2.shape[-1]
        rows = [
            recomputed(self._similarity, part, x2, True)  # (..., rows, m, d, d) inside.
            for part in row_chunks(x1, per_row)
        ]
        return torch.cat(rows, dim=-2) * norm1.unsqueeze(-1) * norm2.unsqueeze(-2)

    def _similarity(self, x1: Tensor, x2: Tensor, all_pairs: bool) -> Tensor:
        """Unnormalised kernel, (..., n, m) of all pairs or (..., n) row by row."""
        gap, match = self.gap_decay.unsqueeze(-1), self.match_decay.unsqueeze(-1)
        if all_pairs:
            x1, x2 = x1.unsqueeze(-2), x2.unsqueeze(-3)
            gap, match = gap.unsqueeze(-1), match.unsqueeze(-1)
        return _common_subsequences(x1, x2, gap, match, self.max_order)


def _common_subsequences(
    x1: Tensor, x2: Tensor, gap_decay: Tensor, match_decay: Tensor, max_order: int
) -> Tensor:
    """Weighted number of common sub-sequences, divided by match_decay^2.

    The normalised kernel does not feel the factor, and without it cannot become 0 / 0.

    Args:
        x1: (..., d1) strings.
        x2: (..., d2) strings; the leading dimensions broadcast.
        gap_decay: (..., 1, 1) prices of a skipped position.
        match_decay: (..., 1, 1) prices of a symbol.
        max_order: longest sub-sequence.
    """
    matches = (x1.unsqueeze(-1) == x2.unsqueeze(-2)).to(gap_decay)  # (..., d1, d2)
    after1, after2 = _gap_weights(x1.shape[-1], gap_decay), _gap_weights(x2.shape[-1], gap_decay)
    ending = matches  # S_p, up to the factor.
    total = ending.sum(dim=(-2, -1))
    for _ in range(1, max_order):
        ending = match_decay**2 * matches * (after1.mT @ ending @ after2)
        total = total + ending.sum(dim=(-2, -1))
    return total


def _gap_weights(d: int, gap_decay: Tensor) -> Tensor:
    """(..., d, d) matrix T of gap_decay^(j - i - 1) for i < j, else 0."""
    positions = torch.arange(d, dtype=gap_decay.dtype, device=gap_decay.device)
    skipped = positions - positions.unsqueeze(-1) - 1.0
    return torch.pow(gap_decay, skipped.clamp_min(0.0)) * (skipped >= 0.0)
