r"""Spectrum of a Hamming graph, grouped by the variables' numbers of choices.

Among m variables with g choices the eigenvalue with l non-constant factors is g l, its
multiplicity is M_l = C(m, l) (g - 1)^l, and its eigenvectors contribute K_l(h) / g^m to points
at Hamming distance h, with the Krawtchouk number

    K_l(h) = sum_j (-1)^j (g - 1)^{l - j} C(h, j) C(m - h, l - j),   K_l(0) = M_l >= |K_l(h)|.

The Laplacian is the *unnormalised* one; the notation is that of
:mod:`heat_plugins.kernels.formulas`.

References:
    Borovitskiy et al., "Isotropic Gaussian process priors on finite spaces of graphs",
    AISTATS 2023.
"""

import math
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["MAX_TABLE_ENTRIES", "Spectrum", "hamming_spectrum", "krawtchouk_ratios"]

# Largest table of a Phi-kernel, and largest matrix of Krawtchouk numbers of one group.
MAX_TABLE_ENTRIES = 200_000


class Spectrum(NamedTuple):
    """What Phi-kernels need of a Hamming graph; t entries, the last group fastest."""

    eigenvalues: Tensor  # (t,) of the product graph
    log_multiplicities: Tensor  # (t,)
    krawtchouk: tuple[Tensor, ...]  # One (m + 1, m + 1) matrix K_l(h) / K_l(0) per group.
    strides: tuple[int, ...]  # (d,) steps in the table for a mismatch in each variable

    def to(self, device: torch.device | None) -> "Spectrum":
        """Move the tensors."""
        return Spectrum(
            self.eigenvalues.to(device),
            self.log_multiplicities.to(device),
            tuple(matrix.to(device) for matrix in self.krawtchouk),
            self.strides,
        )


# Kept here and not in the kernels: it is not small, and the same for all that share a space.
@lru_cache(maxsize=32)
def hamming_spectrum(sizes: tuple[int, ...]) -> Spectrum:
    """Eigenvalues of the Hamming graph and their contributions, grouped by size."""
    groups = sorted(Counter(g for g in sizes if g > 1).items())  # (g, m)
    _check_table(groups)
    eigenvalues, log_multiplicities = torch.zeros(1).double(), torch.zeros(1).double()
    for g, m in groups:
        counts = [math.comb(m, level) * (g - 1) ** level for level in range(m + 1)]
        # math.log takes integers of any length.
        logs = torch.tensor([math.log(count) for count in counts], dtype=torch.float64)
        levels = g * torch.arange(m + 1, dtype=torch.float64)
        eigenvalues = (eigenvalues.unsqueeze(-1) + levels).flatten()
        log_multiplicities = (log_multiplicities.unsqueeze(-1) + logs).flatten()
    stride_of, stride = {1: 0}, 1  # A variable with one choice never mismatches.
    for g, m in reversed(groups):
        stride_of[g], stride = stride, stride * (m + 1)
    return Spectrum(
        eigenvalues,
        log_multiplicities,
        tuple(krawtchouk_ratios(m, g) for g, m in groups),
        tuple(stride_of[g] for g in sizes),
    )


def krawtchouk_ratios(m: int, g: int) -> Tensor:
    r"""(m + 1, m + 1) ratios K_l(h) / K_l(0), rows l and columns h, each correctly rounded.

    K_l(h) is the coefficient of z^l in (1 - z)^h (1 + (g - 1) z)^{m - h}, so from one h to the
    next K_l(h + 1) = K_l(h) - K_{l-1}(h) - (g - 1) K_{l-1}(h + 1). Python's integers are exact,
    and so is the rounding of their quotients.
    """
    first = [math.comb(m, level) * (g - 1) ** level for level in range(m + 1)]
    columns = [first]
    for _ in range(m):
        old, new = columns[-1], [1]
        for level in range(1, m + 1):
            new.append(old[level] - old[level - 1] - (g - 1) * new[level - 1])
        columns.append(new)
    ratios = [[k / k0 for k, k0 in zip(column, first, strict=True)] for column in columns]
    return torch.tensor(ratios, dtype=torch.float64).T.contiguous()


def _check_table(groups: list[tuple[int, int]]) -> None:
    """Refuse spaces with more combinations of distances than a table should hold."""
    entries = math.prod(m + 1 for _, m in groups)
    largest = max([entries, *((m + 1) ** 2 for _, m in groups)])
    if largest > MAX_TABLE_ENTRIES:
        raise ValueError(
            f"tables of a Phi-kernel must have at most {MAX_TABLE_ENTRIES} entries, got {largest} "
            f"for groups of {[m for _, m in groups]} variables with {[g for g, _ in groups]} "
            "choices"
        )
