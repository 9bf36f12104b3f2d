"""Evaluation of large tensors in chunks, so that the memory they need is bounded."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["MAX_NUMBERS", "recomputed", "row_chunks"]

MAX_NUMBERS = 2**21  # In the largest intermediate tensor: 16 MiB in float64.


def row_chunks(x: Tensor, numbers_per_row: int) -> tuple[Tensor, ...]:
    """Split (..., n, d) rows so that what a chunk turns into has about MAX_NUMBERS at the most.

    Args:
        x: the rows.
        numbers_per_row: size of what one row turns into.

    Returns:
        At least one chunk, of at least one row if there are any.
    """
    return x.chunk(max(1, math.ceil(x.shape[-2] * numbers_per_row / MAX_NUMBERS)), dim=-2)


def recomputed(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Call a function whose gradient computes it again instead of keeping what is inside.

    Without this, the gradient would keep the intermediate tensors of all chunks.
    """
    value: Tensor = checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False)
    return value
