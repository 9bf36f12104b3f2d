r"""Base class of GPyTorch kernels on integer codes.

A point is a row of codes x_1, ..., x_d, where x_i is one of 0, ..., g_i - 1 and g_i is the number
of choices of variable i; GPyTorch holds the codes as floats.

Inputs that are no codes are a mistake, and an error, unless ``gpytorch.settings.debug`` is off.
BoTorch switches it off for predictions, where an optimiser may ask between two codes: there
inputs are rounded and clipped to codes that exist, as in ``HeatGP``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Self

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

__all__ = [
    "ColumnsKernel",
    "check_codes",
    "checked_choices",
    "constrained_parameter",
    "nearest_codes",
    "one_hot",
    "parameter_access",
]


class ColumnsKernel(Kernel):
    """Base of kernels whose batch can be indexed and expanded although they have active_dims.

    GPyTorch indexes and expands all buffers of a batched kernel as if they had its batch
    dimensions. ``active_dims`` has none, so ``kernel[1]`` would see column ``active_dims[1]``
    only, and ``kernel.expand_batch(3, 2)`` would fail.
    """

    active_dims: Tensor | None

    def __getitem__(self, index: Any) -> Self:
        return self._with_same_columns(super().__getitem__, index)

    def expand_batch(self, *sizes: Any) -> Self:
        """Return a kernel with a larger batch shape, as in every GPyTorch kernel."""
        return self._with_same_columns(super().expand_batch, *sizes)

    def _with_same_columns(self, change: Callable[..., Any], *arguments: Any) -> Self:
        """Change the batch while active_dims are out of the way."""
        columns, self.active_dims = self.active_dims, None
        try:
            changed: Self = change(*arguments)
        finally:
            self.active_dims = columns
        changed.active_dims = columns
        return changed


def checked_choices(n_choices: Any) -> list[int]:
    """Return numbers of choices as Python integers, also from NumPy arrays and tensors."""
    given = [n_choices] if isinstance(n_choices, Integral) else n_choices
    values = [float(g) for g in given]
    if not values or not all(g >= 1 and g.is_integer() for g in values):
        raise ValueError(f"n_choices must be integers of at least 1, got {values}")
    return [int(g) for g in values]


def check_codes(codes: Tensor, sizes: list[int], columns: Sequence[int] | None = None) -> None:
    """Refuse (..., n, d) inputs that are not codes, such as choices scaled to [0, 1].

    Variables have ``sizes`` many choices, and are called by their ``columns`` if these are given.
    """
    wrong = (codes < 0) | (codes != codes.round())
    wrong |= codes >= torch.tensor(sizes, device=codes.device)
    if wrong.any():
        i = int(wrong.nonzero()[0, -1])
        raise ValueError(
            f"codes of variable {i if columns is None else columns[i]} must be integers from 0 to "
            f"{sizes[i] - 1}, got {codes[wrong][0].item()}"
        )


def nearest_codes(codes: Tensor, sizes: list[int]) -> Tensor:
    """Return the codes that exist nearest to (..., n, d) inputs."""
    last = torch.tensor(sizes, device=codes.device).to(codes) - 1.0
    return torch.minimum(codes.round().clamp_min(0.0), last)


def one_hot(codes: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """(..., n, d) codes as (..., n, sum(sizes)) indicators, one block of columns a variable."""
    counts = torch.tensor(sizes, device=codes.device)
    columns = codes.long() + (counts.cumsum(dim=0) - counts)
    zeros = torch.zeros(*codes.shape[:-1], sum(sizes), dtype=dtype, device=codes.device)
    return zeros.scatter_(-1, columns, 1.0)


def constrained_parameter(name: str, doc: str) -> property:
    """Property for a parameter whose unconstrained values are the torch parameter raw_<name>."""
    return property(*parameter_access(name), doc=doc)


def parameter_access(name: str) -> tuple[Callable[..., Tensor], Callable[..., None]]:
    """Return how a constrained parameter of a kernel is read, and how it is written.

    Partial applications of named functions, because lambdas do not pickle.
    """
    return partial(_read, name=name), partial(_write, name=name)


def _read(kernel: Kernel, *, name: str) -> Tensor:
    """Read a constrained parameter."""
    constraint = getattr(kernel, f"raw_{name}_constraint")
    value: Tensor = constraint.transform(getattr(kernel, f"raw_{name}"))
    return value


def _write(kernel: Kernel, value: Tensor | float | Sequence[float], *, name: str) -> None:
    """Write a constrained parameter."""
    raw = getattr(kernel, f"raw_{name}")
    # With the dtype given, a Python float does not pass through float32 on its way.
    values = torch.as_tensor(value, dtype=raw.dtype, device=raw.device)
    constraint = getattr(kernel, f"raw_{name}_constraint")
    kernel.initialize(**{f"raw_{name}": constraint.inverse_transform(values)})
