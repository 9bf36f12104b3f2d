r"""Base classes and helpers of the GPyTorch kernels on integer codes.

A point is a row of codes x_1, ..., x_d, where x_i is one of 0, ..., g_i - 1 and g_i is the number
of choices of variable i; GPyTorch holds the codes as floats. Every kernel of this package that
reads codes is a :class:`CodesKernel`, which knows the numbers of choices, refuses inputs that
are no codes, and creates parameters with priors and constraints. The notation is that of
:mod:`heat_plugins.kernels.formulas`.

Inputs that are no codes are a mistake, and an error, unless ``gpytorch.settings.debug`` is off.
BoTorch switches it off for predictions, where an optimiser may ask between two codes: there
inputs are rounded and clipped to codes that exist, as in ``HeatGP``.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Self

import torch
from gpytorch import settings
from gpytorch.constraints import Interval, Positive
from gpytorch.kernels import Kernel
from gpytorch.priors import Prior
from torch import Tensor

__all__ = [
    "CodesKernel",
    "ColumnsKernel",
    "category_counts",
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


class CodesKernel(ColumnsKernel):
    r"""Base of kernels on integer codes: numbers of choices, checks and parameters.

    A subclass says in :meth:`evaluate` what the kernel is, and in :meth:`evaluate_each` what it
    is for each variable alone, if that makes sense.

    Attributes:
        n_choices: (*batch_shape, 1, d) integers, or (*batch_shape, 1, 1) if one number was
            given for all variables, or None if no numbers were given. The same for every member
            of the batch.
        n_variables: number of variables d, None if any number will do.
    """

    # True although some kernels have no lengthscale: only whether x - x' is zero matters.
    is_stationary = True

    n_choices: Tensor | None

    def __init__(
        self,
        n_choices: int | Sequence[int] | None,
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: number of choices of each variable, in the order of the columns the
                kernel sees (after ``active_dims``); one integer if all have equally many;
                None if unknown.
            ard_num_dims: number of variables d for one parameter each, None for one in all.
            batch_shape: batch shape of the parameters.
            active_dims: columns of the input that hold the variables, None for all.
            **kwargs: arguments of the next class, such as prior and constraint of the
                lengthscale for kernels with ``has_lengthscale``.
        """
        sizes = None if n_choices is None else checked_choices(n_choices)
        shared = n_choices is None or isinstance(n_choices, Integral)
        if sizes is not None and not shared:
            n_active = None if active_dims is None else len(active_dims)
            for name, given in (("ard_num_dims", ard_num_dims), ("len(active_dims)", n_active)):
                if given not in (None, len(sizes)):
                    raise ValueError(f"{name} must be len(n_choices) = {len(sizes)}, got {given}")
        super().__init__(
            ard_num_dims=ard_num_dims, batch_shape=batch_shape, active_dims=active_dims, **kwargs
        )
        self.n_variables = None if shared or sizes is None else len(sizes)
        counts = None
        if sizes is not None:
            # With batch dimensions, because GPyTorch indexes and expands buffers too.
            counts = torch.tensor(sizes).expand(*self.batch_shape, 1, -1).clone()
        self.register_buffer("n_choices", counts)

    @abstractmethod
    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Evaluate the kernel on checked inputs; arguments and shapes as in :meth:`forward`."""

    def evaluate_each(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Evaluate one kernel per variable, (..., d, n, m), or (..., d, n) if ``diag``."""
        raise ValueError(f"last_dim_is_batch must be False for {type(self).__name__}, got True")

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Check the inputs, or round them (see the module), and evaluate the kernel.

        Args:
            x1: (..., n, d) integer codes, held as floats.
            x2: (..., m, d) integer codes.
            diag: whether to compare the points pairwise, row by row (n = m).
            last_dim_is_batch: whether to return one kernel per variable.
            **params: ignored, for the kernels that GPyTorch combines.

        Returns:
            (..., n, m) kernel matrix, or (..., n) if ``diag``; with ``last_dim_is_batch``
            (..., d, n, m) or (..., d, n).
        """
        sizes = None if self.n_choices is None else self.sizes(x1.shape[-1])
        if settings.debug.on():
            check_codes(x1, sizes)
            check_codes(x2, sizes)
        else:
            x1, x2 = nearest_codes(x1, sizes), nearest_codes(x2, sizes)
        return (self.evaluate_each if last_dim_is_batch else self.evaluate)(x1, x2, diag)

    def sizes(self, n_columns: int) -> list[int]:
        """Number of choices of each of the d columns, for kernels that know them."""
        if self.n_variables not in (None, n_columns):
            raise ValueError(
                f"inputs must have {self.n_variables} columns, one for each of n_choices, "
                f"got {n_columns}"
            )
        assert self.n_choices is not None
        # Read from the buffer, which is what a state dict restores. The members of a batch
        # agree, so the first speaks for all.
        sizes: list[int] = self.n_choices.reshape(-1, self.n_choices.shape[-1])[0].tolist()
        return sizes * n_columns if self.n_variables is None else sizes

    def add_parameter(
        self,
        name: str,
        shape: tuple[int, ...],
        prior: Prior | None,
        constraint: Interval | None = None,
    ) -> None:
        """Register a parameter of shape (*batch_shape, *shape), ``Positive()`` by default.

        It starts at the value of its constraint for 0: ln 2 if positive, the middle of an
        interval. The class names it with :func:`constrained_parameter`; the unconstrained
        values are the torch parameter ``raw_<name>``, the prior is ``<name>_prior``.
        """
        if prior is not None and not isinstance(prior, Prior):
            raise TypeError(
                f"{name}_prior must be a gpytorch.priors.Prior, got {type(prior).__name__}"
            )
        raw = torch.nn.Parameter(torch.zeros(*self.batch_shape, *shape))
        self.register_parameter(f"raw_{name}", raw)
        if prior is not None:
            self.register_prior(f"{name}_prior", prior, *parameter_access(name))
        self.register_constraint(f"raw_{name}", Positive() if constraint is None else constraint)

    def _set_lengthscale(self, value: Tensor | float) -> None:
        # Unlike GPyTorch's, this does not send a Python float through float32.
        _write(self, value, name="lengthscale")


def constrained_parameter(name: str, doc: str) -> property:
    """Property for a parameter that :meth:`CodesKernel.add_parameter` creates."""
    return property(*parameter_access(name), doc=doc)


def parameter_access(name: str) -> tuple[Callable[..., Tensor], Callable[..., None]]:
    """Return how a constrained parameter of a kernel is read, and how it is written.

    Partial applications of named functions, because lambdas do not pickle.
    """
    return partial(_read, name=name), partial(_write, name=name)


def checked_choices(n_choices: Any) -> list[int]:
    """Return numbers of choices as Python integers, also from NumPy arrays and tensors."""
    given = [n_choices] if isinstance(n_choices, Integral) else n_choices
    values = [float(g) for g in given]
    if not values or not all(g >= 1 and g.is_integer() for g in values):
        raise ValueError(f"n_choices must be integers of at least 1, got {values}")
    return [int(g) for g in values]


def check_codes(codes: Tensor, sizes: list[int] | None, columns: Sequence[int] = ()) -> None:
    """Refuse (..., n, d) inputs that are not codes, such as choices scaled to [0, 1].

    Args:
        codes: the inputs.
        sizes: number of choices of each variable.
        columns: where each variable stands in the inputs, if not in this order.
    """
    wrong = (codes < 0) | (codes != codes.round())
    if sizes is not None:
        wrong |= codes >= torch.tensor(sizes, device=codes.device)
    if wrong.any():
        column = int(wrong.nonzero()[0, -1])
        last = "" if sizes is None else f" to {sizes[column] - 1}"
        names = columns or range(codes.shape[-1])
        raise ValueError(
            f"codes of variable {names[column]} must be integers from 0{last}, "
            f"got {codes[wrong][0].item()}"
        )


def nearest_codes(codes: Tensor, sizes: list[int] | None) -> Tensor:
    """Return the codes that exist nearest to (..., n, d) inputs."""
    rounded = codes.round().clamp_min(0.0)
    if sizes is None:
        return rounded
    last = torch.tensor(sizes, device=codes.device).to(codes) - 1.0
    return torch.minimum(rounded, last)


def one_hot(codes: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """(..., n, d) codes as (..., n, sum(sizes)) indicators, one block of columns a variable."""
    counts = torch.tensor(sizes, device=codes.device)
    columns = codes.long() + (counts.cumsum(dim=0) - counts)
    zeros = torch.zeros(*codes.shape[:-1], sum(sizes), dtype=dtype, device=codes.device)
    return zeros.scatter_(-1, columns, 1.0)


def category_counts(codes: Tensor, g: int) -> Tensor:
    """(..., l) codes of variables with g choices each as (..., g) numbers of occurrences."""
    return torch.nn.functional.one_hot(codes.long(), g).sum(dim=-2)


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
