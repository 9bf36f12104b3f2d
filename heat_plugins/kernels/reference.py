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
from gpytorch import settings
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, MaternKernel
from gpytorch.priors import Prior
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from heat_plugins.kernels.additive import check_prior
from heat_plugins.kernels.dictionaries import diverse_dictionary
from heat_plugins.kernels.heat import _check_codes, _checked_sizes, _one_hot

__all__ = ["HEDKernel", "SubsequenceStringKernel"]

_CHUNK = 2**21  # Numbers in the largest intermediate tensor: 16 MiB in float64.


class HEDKernel(MaternKernel):
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
        super().__init__(nu=2.5, **kwargs)
        self._n_choices = _checked_sizes(n_choices)
        if anchors is None:
            rng = np.random.default_rng(seed)
            anchors = diverse_dictionary(self._n_choices, n_anchors, rng)
        codes = torch.as_tensor(np.asarray(anchors), dtype=torch.long)
        if codes.ndim != 2 or codes.shape[-1] != len(self._n_choices) or len(codes) == 0:
            raise ValueError(
                f"anchors must have shape (M, {len(self._n_choices)}) with M > 0, "
                f"got {tuple(codes.shape)}"
            )
        _check_codes(codes, self._n_choices)
        # With batch dimensions, because GPyTorch indexes and expands buffers too.
        self.register_buffer("anchors", codes.expand(*self.batch_shape, -1, -1).clone())

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel on (..., n, d) and (..., m, d) codes."""
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False for HEDKernel, got True")
        features1, features2 = self.embed(x1), self.embed(x2)
        matrix: Tensor = super().forward(features1, features2, diag=diag, **params)
        return matrix

    def embed(self, x: Tensor) -> Tensor:
        """Distances of (..., n, d) codes to the anchors, divided by d; (..., n, M)."""
        sizes = self._n_choices
        if x.shape[-1] != len(sizes):
            raise ValueError(
                f"inputs must have {len(sizes)} columns, one for each of n_choices, "
                f"got {x.shape[-1]}"
            )
        if settings.debug.on():
            _check_codes(x, sizes)
        dtype = torch.promote_types(x.dtype, self.lengthscale.dtype)
        # The members of a batch agree, so the first speaks for all.
        anchors = self.anchors.reshape(-1, *self.anchors.shape[-2:])[0]
        others = 1.0 - _one_hot(anchors, sizes, dtype)
        return _one_hot(x, sizes, dtype) @ others.mT / len(sizes)


class SubsequenceStringKernel(Kernel):
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

    raw_gap_decay: Tensor
    raw_match_decay: Tensor

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
        super().__init__(batch_shape=batch_shape, active_dims=active_dims)
        (self.alphabet_size,) = _checked_sizes(alphabet_size)
        self.max_order = max_order
        for name in ("raw_gap_decay", "raw_match_decay"):
            raw = torch.zeros(*self.batch_shape, 1, 1)
            self.register_parameter(name, torch.nn.Parameter(raw))
            self.register_constraint(name, Interval(0.0, 1.0))
        check_prior("gap_decay_prior", gap_decay_prior)
        check_prior("match_decay_prior", match_decay_prior)
        if gap_decay_prior is not None:
            self.register_prior("gap_decay_prior", gap_decay_prior, _get_gap, _set_gap)
        if match_decay_prior is not None:
            self.register_prior("match_decay_prior", match_decay_prior, _get_match, _set_match)

    @property
    def gap_decay(self) -> Tensor:
        """Price of a skipped position, (*batch_shape, 1, 1)."""
        constrained: Tensor = self.raw_gap_decay_constraint.transform(self.raw_gap_decay)
        return constrained

    @gap_decay.setter
    def gap_decay(self, value: Tensor | float) -> None:
        decay = torch.as_tensor(value, dtype=self.raw_gap_decay.dtype)
        raw = self.raw_gap_decay_constraint.inverse_transform(decay)
        self.initialize(raw_gap_decay=raw)

    @property
    def match_decay(self) -> Tensor:
        """Price of a symbol, (*batch_shape, 1, 1)."""
        constrained: Tensor = self.raw_match_decay_constraint.transform(self.raw_match_decay)
        return constrained

    @match_decay.setter
    def match_decay(self, value: Tensor | float) -> None:
        decay = torch.as_tensor(value, dtype=self.raw_match_decay.dtype)
        raw = self.raw_match_decay_constraint.inverse_transform(decay)
        self.initialize(raw_match_decay=raw)

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel on (..., n, d) and (..., m, d) codes."""
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False for strings, got True")
        if settings.debug.on():
            for x in (x1, x2):
                _check_codes(x, [self.alphabet_size] * x.shape[-1])
        norm1 = self._similarity(x1, x1, False).rsqrt()  # (..., n)
        norm2 = self._similarity(x2, x2, False).rsqrt()  # (..., m)
        if diag:
            return self._similarity(x1, x2, False) * norm1 * norm2
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2], self.batch_shape)
        n_numbers = math.prod(batch) * x1.shape[-2] * x2.shape[-2] * x1.shape[-1] * x2.shape[-1]
        rows = [
            # Without this, the gradient would keep the (n, m, d, d) tensors of all chunks.
            checkpoint(
                self._similarity, part, x2, True, use_reentrant=False, preserve_rng_state=False
            )
            for part in x1.chunk(max(1, math.ceil(n_numbers / _CHUNK)), dim=-2)
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


def _get_gap(kernel: SubsequenceStringKernel) -> Tensor:
    """Read the decay for a prior; a named function because lambdas do not pickle."""
    return kernel.gap_decay


def _set_gap(kernel: SubsequenceStringKernel, value: Tensor) -> None:
    """Write the decay for a prior."""
    kernel.gap_decay = value


def _get_match(kernel: SubsequenceStringKernel) -> Tensor:
    """Read the decay for a prior."""
    return kernel.match_decay


def _set_match(kernel: SubsequenceStringKernel, value: Tensor) -> None:
    """Write the decay for a prior."""
    kernel.match_decay = value
