r"""The NumPy kernels as GPyTorch kernels: one formula each, with gradients.

Notation
    ===========  =====================================================================
    m, l         points on either side of a covariance matrix
    theta        (*batch_shape, p) hyperparameters of the kernel (kernels/base.py)
    ===========  =====================================================================

The gradient in theta is that of NumPy, exact but for kernels that are functions of one's
own. The gradient in the numbers of a point is exact where NumPy has it in closed form, a
central difference elsewhere; that in codes is zero, for between two codes nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gpytorch import settings
from gpytorch.constraints import Interval
from torch import Tensor
from torch.nn import Parameter

from heat_plugins.kernels.base import CrossCovariance, Kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Categorical, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.spec.model import Mixing, Model, Scale, Structures
from heat_plugins.spec.registry import KernelFunction
from heat_plugins.torch.autograd import Covariances, Variances, applied, to_numpy
from heat_plugins.torch.codes_kernel import (
    ColumnsKernel,
    check_codes,
    checked_choices,
    constrained_parameter,
    parameter_access,
)
from heat_plugins.torch.prior import KernelPrior, inside

__all__ = ["CombinatorialKernel", "NumpyKernel"]


class NumpyKernel(ColumnsKernel):
    r"""A NumPy kernel as a GPyTorch kernel; its subclasses say what theta is.

    k(x, x') of :class:`~heat_plugins.kernels.base.Kernel`, without a signal variance
    (that is ``ScaleKernel``). Codes are rounded and clipped to those that exist, and parameters
    that do not exist at a point count as missing, whatever number stands there.

    Points that occur in several batch elements, as observations do in all of them, are
    looked at once: b x q candidates and n observations cost one (b q, n) matrix.

    Args:
        numpy_kernel: The kernel, in NumPy.
        space: The parameters, one for each column that the kernel sees.
        conditions: When parameters exist, if not always.
        batch_shape: Batch shape of theta.
        active_dims: Columns of the input that hold the parameters, None for all.

    Attributes:
        theta: (*batch_shape, p) hyperparameters.
    """

    has_lengthscale = False
    theta: Tensor

    def __init__(
        self,
        numpy_kernel: Kernel,
        space: Space,
        conditions: Conditions | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(batch_shape=batch_shape, active_dims=active_dims)
        self.numpy_kernel = numpy_kernel
        self.space = space
        self.conditions = conditions
        self._numeric = np.flatnonzero(~space.is_discrete)
        self._ordered = self._numeric[:0]  # columns of codes that have slopes all the same

    @property
    def has_slopes(self) -> bool:
        """Whether there are columns in which covariances have slopes."""
        return len(self._numeric) + len(self._ordered) > 0

    def points(self, x: Tensor) -> Array:
        """Return encoded points (..., d): whole codes, NaN where nothing exists."""
        shape = x.shape
        points = to_numpy(x).reshape(-1, shape[-1]).copy()
        discrete = self.space.is_discrete
        last = self.space.n_levels[discrete] - 1.0
        points[:, discrete] = np.clip(np.rint(points[:, discrete]), 0.0, last)
        if self.conditions is not None:
            points = self.conditions.deactivate(points)
        return points.reshape(shape)

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Return covariances (..., m, l) of x1 (..., m, d) and x2 (..., l, d).

        With ``diag``, m = l and (..., m) covariances of pairs.
        """
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch must be False: the columns belong together")
        for x in (x1, x2):
            if x.shape[-1] != len(self.space):
                raise ValueError(
                    f"inputs must have {len(self.space)} columns, one for each parameter, "
                    f"got {x.shape[-1]}"
                )
        batch = torch.Size(
            np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2], self.theta.shape[:-1])
        )
        x1, x2 = (x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (x1, x2))
        thetas = self.theta.reshape(-1, self.theta.shape[-1])
        if len(thetas) == 1:
            found = self._evaluate(x1, x2, thetas[0], diag)
        else:
            member = torch.arange(len(thetas)).reshape(self.theta.shape[:-1])
            member = member.expand(batch).flatten()
            parts = [
                self._evaluate(x1[member == i], x2[member == i], theta, diag)
                for i, theta in enumerate(thetas)
            ]
            found = torch.cat(parts)[member.argsort(stable=True).argsort()]
        return found.reshape(*batch, *found.shape[1:])

    def _evaluate(self, x1: Tensor, x2: Tensor, theta: Tensor, diag: bool) -> Tensor:
        """Return covariances (b, m, l), or (b, m), of (b, m, d) and (b, l, d) for theta (p,)."""
        size, m, d = x1.shape
        # A matrix of one point is its variance: what acquisition functions ask for most.
        is_one = m == x2.shape[1] == 1 and torch.equal(x1, x2)
        if not diag and not is_one:
            return applied(Covariances, x1, x2, theta, self)
        x1, x2 = x1.reshape(-1, d), x2.reshape(-1, d)
        if torch.equal(x1, x2):
            own = applied(Variances, x1, x2, theta, self)
        else:  # so many matrices of one covariance
            own = applied(Covariances, x1[:, None], x2[:, None], theta, self)
        return own.reshape(size, m) if diag else own.reshape(size, 1, 1)

    def slopes(self, cross: CrossCovariance, point: Array, weights: Array) -> Array:
        """Return derivatives (k, d) of weighted sums of the covariances of a point (d,).

        Args:
            cross: Covariances with l points.
            point: The point; what does not exist there has the derivative 0, like codes.
            weights: (k, l) the weights of each sum.
        """
        columns = self._numeric[~np.isnan(point[self._numeric])]
        result = np.zeros((len(weights), len(point)))
        if len(columns) and weights.any():
            result[:, columns] = weights @ cross.slopes(point, columns)[1]
        ordered = self._ordered[~np.isnan(point[self._ordered])]
        if len(ordered) and weights.any():
            below = np.maximum(point[ordered] - 1.0, 0.0)
            above = np.minimum(point[ordered] + 1.0, self.space.n_levels[ordered] - 1.0)
            rises = cross.of_changes(point, ordered, above) - cross.of_changes(
                point, ordered, below
            )  # (c, l)
            result[:, ordered] = weights @ (rises / (above - below)[:, None]).T
        return result

    def own_slopes(self, cross: CrossCovariance, point: Array) -> Array:
        """Return the derivative (d,) of the variance of a point (d,)."""
        columns = self._numeric[~np.isnan(point[self._numeric])]
        result = np.zeros(len(point))
        if len(columns):
            result[columns] = cross.own_slopes(point, columns)[1]
        return result


class CombinatorialKernel(NumpyKernel):
    r"""Any kernel that ``HeatSampler`` has, with any structure, as a trainable GPyTorch kernel.

    The kernel is the one that the sampler models with, in NumPy; this class gives it gradients
    and batches. All hyperparameters are one parameter, ``raw_theta``, with their bounds as a
    constraint and, unless told otherwise, the prior of the sampler: mostly logarithms of weights,
    one for each parameter, around a common mean. What they are is in ``numpy_kernel``.

    k(x, x) = 1, or one on average for additive kernels of numbers; wrap the kernel in a
    ``ScaleKernel`` for a signal variance.

    Inputs are points of the space: integer codes 0, 1, ... in the columns of choices, numbers in
    [0, 1] in those of numbers. What is no code is an error, unless ``gpytorch.settings.debug`` is
    off, as in predictions of BoTorch: there it is rounded and clipped to codes that exist.

    Example:
        .. code-block:: python

            kernel = CombinatorialKernel([3, 3, 5], "matern")
            together = PermutationInvariant(["x0", "x1"])  # columns are x0, x1, ... by default
            kernel = CombinatorialKernel([3, 3, 5], structure=[together, Additive()])
            model = SingleTaskGP(train_X, train_Y, covar_module=ScaleKernel(kernel))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))

    The kernel ``"ssk"`` chooses one of seven pairs of decays, which no gradient can: set its
    ``theta`` to 0, 1, ..., 6.

    Args:
        space: The parameters, or the number of choices of each column.
        kernel: As in ``HeatSampler``: a name, or a function of sqrt(h) in NumPy; also any
            NumPy ``Kernel``, to which the arguments up to ``mixing`` do not apply. For
            pickling a function must have a name.
        ard: Like all up to ``mixing`` as in ``HeatSampler``, see
            :class:`~heat_plugins.spec.model.Model`: whether every parameter has a rate of its own.
        structure: What is known about the objective, but for ``"auto"``: data choose there.
        graphs: Graphs of choices.
        order: Choices in their order.
        quantitative: Parameters whose choices are numbers.
        mixing: How numbers come in.
        conditions: When parameters exist, if not always.
        prior: Whether hyperparameters have the prior of the NumPy kernel.
        batch_shape: Batch shape of the hyperparameters.
        active_dims: Columns of the input that hold the parameters, None for all.

    Attributes:
        numpy_kernel: The kernel, in NumPy.
        raw_theta: (*batch_shape, p) unconstrained parameter.
    """

    raw_theta: Tensor
    theta = constrained_parameter("theta", "Hyperparameters, (*batch_shape, p).")

    def __init__(
        self,
        space: Space | Sequence[int],
        kernel: str | KernelFunction | Kernel = "heat",
        *,
        ard: bool | None = None,
        structure: Structures = (),
        graphs: Mapping[str, Any] | None = None,
        order: Mapping[str, Sequence[Any]] | None = None,
        quantitative: Mapping[str, Scale] | Sequence[str] = (),
        mixing: Mixing = "product",
        conditions: Conditions | None = None,
        prior: bool = True,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        space = space if isinstance(space, Space) else _space_of(space)
        if not isinstance(kernel, Kernel):
            model = Model(kernel, ard, structure, graphs or {}, order or {}, quantitative, mixing)
            kernel = _numpy_kernel_of(space, model, conditions)
        if active_dims is not None and len(active_dims) != len(space):
            raise ValueError(
                f"active_dims must name {len(space)} columns, one for each parameter, got "
                f"{len(active_dims)}"
            )
        super().__init__(kernel, space, conditions, batch_shape, active_dims)
        constraint = Interval(*torch.from_numpy(kernel.bounds.T))
        start = torch.from_numpy(inside(kernel.start(1.0), kernel.bounds))
        raw = constraint.inverse_transform(start.to(constraint.lower_bound))
        self.register_parameter("raw_theta", Parameter(raw.repeat(*self.batch_shape, 1)))
        self.register_constraint("raw_theta", constraint)
        if prior:
            self.register_prior("theta_prior", KernelPrior(kernel), *parameter_access("theta"))

    def forward(self, x1: Tensor, x2: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Check the inputs, or round them (see the class), and evaluate the kernel."""
        if settings.debug.on():
            for x in (x1, x2):
                self._check(x)
        return super().forward(x1, x2, *args, **kwargs)

    def _check(self, x: Tensor) -> None:
        """Refuse (..., n, d) inputs that are no points of the space."""
        if self.conditions is not None or x.shape[-1] != len(self.space):
            return  # what does not exist may be any number; the columns are counted elsewhere
        columns = np.flatnonzero(self.space.is_discrete)
        sizes = self.space.n_levels[columns].astype(int).tolist()
        check_codes(x[..., columns], sizes, columns.tolist())
        if torch.isnan(x).any():
            column = int(torch.isnan(x).nonzero()[0, -1])
            raise ValueError(f"parameter {self.space.names[column]!r} must be a number, got nan")


def _space_of(n_choices: Any) -> Space:
    """Return a space of choices x0, x1, ... from their numbers."""
    if not hasattr(n_choices, "__len__"):
        raise TypeError(
            "space must be a Space or the number of choices of each column, such as [3] * 10, "
            f"got {n_choices!r}"
        )
    sizes = enumerate(checked_choices(n_choices))
    return Space(tuple(Categorical(f"x{i}", tuple(range(g))) for i, g in sizes))


def _numpy_kernel_of(space: Space, model: Model, conditions: Conditions | None) -> Kernel:
    """Return the kernel that a model says, all of which must be about the space."""
    if model.is_auto:
        raise ValueError("structure must not be 'auto': without data nothing can be chosen")
    unknown = [name for name in model.named if name not in space.column]
    if unknown:
        raise ValueError(f"parameters must be among {list(space.names)}, got {unknown}")
    return KernelBuilder(space, model, conditions).kernel(model.combination)
