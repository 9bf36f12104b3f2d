"""The kernels of the core as GPyTorch kernels: the same numbers, for any batch of points.

Notation
    ===========  =====================================================================
    b, q         batch elements, points that are predicted together
    m, l         points on either side of a covariance matrix
    u, v         distinct points among all batch elements
    theta        (p,) hyperparameters of the kernel (core/covariance.py)
    ===========  =====================================================================

The gradient in the numbers of a point is exact where the core has it in closed form, a central
difference elsewhere; that in the codes is zero. On request that in ordered codes is the mean
difference to the codes next to them, which tells in which direction a function goes, but is of
no use to an optimiser: between two codes nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from heat_plugins.conditions import Conditions
from heat_plugins.core.anchored import Anchored, leaves_of, with_leaves
from heat_plugins.core.covariance import Covariance, Cross
from heat_plugins.core.seen import PointSet
from heat_plugins.floating_point import usual_errors
from heat_plugins.space import Array, Ordinal, Space

__all__ = ["CoreKernel", "to_numpy"]

Indices = NDArray[np.int64]

N_REFERENCE = 16  # points whose mean variance is the unit of scales
SMALL_TABLE = 2**14  # covariances that cost no more than the call that finds them


class CoreKernel(Kernel):
    r"""A kernel of the core as a GPyTorch kernel.

    k(x, x') of :class:`~heat_plugins.core.covariance.Covariance`, without a signal variance
    (that is ``ScaleKernel``): the mean of k(x, x) over the observations is one. Codes are
    rounded and clipped to those that exist, and parameters that do not exist at a point count
    as missing, whatever number stands there.

    Points that occur in several batch elements, as observations do in all of them, are
    looked at once: b x q candidates and n observations cost one (b q, n) matrix.

    Args:
        covariance: The kernel.
        space: The parameters, one for each column.
        conditions: When parameters exist, if not always.
        theta: (p,) hyperparameters; where a fit would start if None.
        points: (n, d) observations, for the scale of a kernel without a constant diagonal;
            points from all over the space if None.
        slopes_of_codes: Whether ordered codes have slopes.

    Attributes:
        theta: (p,) hyperparameters. They are learnt by the core and have no gradient.
        scales: (c,) the scale of each kernel that this one is made of.
    """

    has_lengthscale = False
    theta: Tensor
    scales: Tensor

    def __init__(
        self,
        covariance: Covariance,
        space: Space,
        conditions: Conditions | None = None,
        theta: Array | None = None,
        points: Array | None = None,
        slopes_of_codes: bool = False,
    ) -> None:
        super().__init__()
        self.space = space
        self.conditions = conditions
        self._numeric = np.flatnonzero(~space.is_discrete)
        is_ordered = [isinstance(parameter, Ordinal) for parameter in space.parameters]
        self._ordered = np.flatnonzero(np.array(is_ordered) & (space.n_levels > 1))
        self._ordered = self._ordered[: None if slopes_of_codes else 0]
        self.has_slopes = len(self._numeric) + len(self._ordered) > 0
        reference = space.sample(N_REFERENCE, np.random.default_rng(0))
        self._reference = reference if conditions is None else conditions.deactivate(reference)
        self.register_parameter("theta", Parameter(torch.zeros(0), requires_grad=False))
        self.register_buffer("scales", torch.zeros(0))
        self.use(covariance, theta, points)

    def use(
        self, covariance: Covariance, theta: Array | None = None, points: Array | None = None
    ) -> None:
        """Exchange the kernel, its hyperparameters (p,) and the observations (n, d)."""
        theta = covariance.start(1.0) if theta is None else theta
        points = self._reference if points is None else points
        self.covariance = covariance
        scales = [
            Anchored(leaf, part, self._reference, 1.0).mean_variance(points)
            for leaf, part in leaves_of(covariance, theta)
        ]
        # A kernel that nothing varies in has no scale.
        scales = [scale if scale > 0.0 else 1.0 for scale in scales]
        device = self.theta.device
        self.theta = Parameter(torch.tensor(theta, device=device), requires_grad=False)
        self.scales = torch.tensor(scales, dtype=torch.float64, device=device)
        self._found: tuple[bytes, Covariance] | None = None

    def given(self, points: Array) -> Cross:
        """Return covariances with points (l, d), on one scale for all points."""
        theta = to_numpy(self.theta)
        scales = to_numpy(self.scales)
        key = theta.tobytes() + scales.tobytes()
        if self._found is None or self._found[0] != key:
            anchored = (
                Anchored(leaf, part, self._reference, float(scale))
                for (leaf, part), scale in zip(
                    leaves_of(self.covariance, theta), scales, strict=True
                )
            )
            self._found = key, with_leaves(self.covariance, anchored)
        return self._found[1].given(theta, points)

    def points(self, x: Tensor) -> Array:
        """Return points of the core (..., d): whole codes, NaN where nothing exists."""
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
        batch_shape = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        m, n, d = x1.shape[-2], x2.shape[-2], x1.shape[-1]
        # A matrix of one point is its variance: what acquisition functions ask for most.
        if diag or (m == n == 1 and x1.shape == x2.shape and torch.equal(x1, x2)):
            x1, x2 = (x.expand(*batch_shape, m, d).reshape(-1, d) for x in (x1, x2))
            if torch.equal(x1, x2):
                own = _applied(_Variances, x1, x2, self)
            else:  # so many matrices of one covariance
                own = _applied(_Covariances, x1[:, None], x2[:, None], self)
            return own.reshape(*batch_shape, m) if diag else own.reshape(*batch_shape, 1, 1)
        x1, x2 = (
            x.expand(*batch_shape, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (x1, x2)
        )
        return _applied(_Covariances, x1, x2, self).reshape(*batch_shape, m, n)

    def slopes(self, cross: Cross, point: Array, weights: Array) -> Array:
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

    def own_slopes(self, cross: Cross, point: Array) -> Array:
        """Return the derivative (d,) of the variance of a point (d,)."""
        columns = self._numeric[~np.isnan(point[self._numeric])]
        result = np.zeros(len(point))
        if len(columns):
            result[columns] = cross.own_slopes(point, columns)[1]
        return result


def _applied(function: Any, x1: Tensor, x2: Tensor, kernel: CoreKernel) -> Tensor:
    result: Tensor = function.apply(x1, x2, kernel)
    return result


def to_numpy(x: Tensor) -> Array:
    """Return a tensor as an array of doubles, without its gradient."""
    array: Array = x.detach().cpu().numpy().astype(np.float64, copy=False)
    return array


# ------------------------------------------------------------------- matrices of a batch


@dataclass(frozen=True, eq=False)
class _Block:
    """Some batch elements, with every point that occurs in them once.

    Args:
        elements: Which elements of the batch.
        rows: (u, d) distinct points on the left.
        at: (b or 1, m) which of them stand where; 1 if all elements have the same.
        others: (v, d) distinct points on the right.
        at_others: (b or 1, l) which of them stand where.
    """

    elements: slice
    rows: Array
    at: Indices
    others: Array
    at_others: Indices

    def turned(self) -> _Block:
        """Return the block with its sides exchanged."""
        return _Block(self.elements, self.others, self.at_others, self.rows, self.at)


def _batch(kernel: CoreKernel, x: Tensor) -> Array:
    """Return points (b, m, d), or (1, m, d) if all elements of the batch have the same."""
    is_shared = len(x) > 1 and (
        x.stride(0) == 0 or (torch.equal(x[0], x[-1]) and torch.equal(x, x[:1].expand_as(x)))
    )
    return kernel.points(x[:1] if is_shared else x)


def _distinct(points: Array) -> tuple[Array, Indices]:
    """Return distinct points (u, d) of a batch (b, m, d), and where they stand (b, m)."""
    n_elements, m, d = points.shape
    if n_elements == 1:
        return points[0], np.arange(m)[None]
    flat = points.reshape(-1, d)
    _, first, at = np.unique(
        PointSet(flat[:0]).fingerprint(flat), return_index=True, return_inverse=True
    )
    return flat[first], at.reshape(n_elements, m)


def _block(first: Array, second: Array, elements: slice) -> _Block:
    some = [points if len(points) == 1 else points[elements] for points in (first, second)]
    return _Block(elements, *_distinct(some[0]), *_distinct(some[1]))


def _blocks(first: Array, second: Array, size: int) -> Iterator[_Block]:
    """Divide a batch so that matrices of distinct points are not much larger than it."""
    if not size:
        return
    whole = _block(first, second, slice(0, size))
    n_wanted = first.shape[1] * second.shape[1]
    if size == 1 or len(whole.rows) * len(whole.others) <= max(2 * size * n_wanted, SMALL_TABLE):
        yield whole
        return
    step = max(1, int(np.sqrt(SMALL_TABLE / max(n_wanted, 1))))
    for start in range(0, size, step):
        yield _block(first, second, slice(start, min(start + step, size)))


class _Covariances(torch.autograd.Function):
    """Covariances (b, m, l) of x1 (b, m, d) and x2 (b, l, d)."""

    @staticmethod
    @usual_errors
    def forward(ctx: Any, x1: Tensor, x2: Tensor, kernel: CoreKernel) -> Tensor:
        """Find the covariances of distinct points, and put them where they belong."""
        is_same = x1.shape == x2.shape and torch.equal(x1, x2)
        first = _batch(kernel, x1)
        second = first if is_same else _batch(kernel, x2)
        result = np.empty((len(x1), x1.shape[1], x2.shape[1]))
        for block in _blocks(first, second, len(x1)):
            cross = kernel.given(block.others)
            table = cross(block.rows)
            if is_same:
                # To the last digit, as in the core: a root of a rounded zero is not zero.
                table = 0.5 * (table + table.T)
                np.fill_diagonal(table, cross.diagonal(block.rows))
            if len(block.at) == len(block.at_others) == 1:
                result[block.elements] = table  # whose order is that of the points
            else:
                places = block.at[:, :, None], block.at_others[:, None, :]
                result[block.elements] = table[places]
        ctx.kernel, ctx.points = kernel, (first, second)
        return torch.from_numpy(result).to(x1)

    @staticmethod
    @once_differentiable
    @usual_errors
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives in x1 and x2; covariances are symmetric."""
        kernel, (first, second) = ctx.kernel, ctx.points
        gradient = to_numpy(gradients[0])
        shape = (*gradient.shape[:2], first.shape[2]), (*gradient.shape[::2], first.shape[2])
        by_first, by_second = (np.zeros(its) for its in shape)
        if kernel.has_slopes:
            for block in _blocks(first, second, len(gradient)):
                some = gradient[block.elements]
                if ctx.needs_input_grad[0]:
                    by_first[block.elements] = _pull(kernel, block, some)
                if ctx.needs_input_grad[1]:
                    turned = some.transpose(0, 2, 1)
                    by_second[block.elements] = _pull(kernel, block.turned(), turned)
        return *(torch.from_numpy(by).to(gradients[0]) for by in (by_first, by_second)), None


def _pull(kernel: CoreKernel, block: _Block, gradient: Array) -> Array:
    """Return the derivative (b, m, d) in the points on the left from that in (b, m, l)."""
    size, m, n = gradient.shape
    v = len(block.others)
    at_others = np.broadcast_to(block.at_others, (size, n))
    # What falls on the same point on the right comes together: (b m, v).
    places = np.arange(size * m).reshape(size, m, 1) * v + at_others[:, None, :]
    sums = np.bincount(places.ravel(), weights=gradient.ravel(), minlength=size * m * v)
    weights = sums.astype(np.float64, copy=False).reshape(size * m, v)
    at = np.broadcast_to(block.at, (size, m)).ravel()
    cross = kernel.given(block.others)
    result = np.zeros((size * m, block.rows.shape[1]))
    ends = np.cumsum(np.bincount(at, minlength=len(block.rows)))[:-1]
    for point, mine in zip(block.rows, np.split(np.argsort(at, kind="stable"), ends), strict=True):
        result[mine] = kernel.slopes(cross, point, weights[mine])
    return result.reshape(size, m, -1)


class _Variances(torch.autograd.Function):
    """Covariances (m,) of points (m, d) with themselves, given twice."""

    @staticmethod
    @usual_errors
    def forward(ctx: Any, x1: Tensor, x2: Tensor, kernel: CoreKernel) -> Tensor:
        """Find the diagonal."""
        ctx.kernel, ctx.points = kernel, kernel.points(x1)
        if not len(x1):
            return x1.new_zeros(0)
        variances = kernel.given(ctx.points[:1]).diagonal(ctx.points)
        return torch.from_numpy(np.ascontiguousarray(variances)).to(x1)

    @staticmethod
    @once_differentiable
    @usual_errors
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivative, one half for either argument."""
        kernel, points = ctx.kernel, ctx.points
        slopes = np.zeros(points.shape)
        if len(points) and len(kernel._numeric):
            cross = kernel.given(points[:1])
            if not cross.has_unit_diagonal:
                slopes = np.array([kernel.own_slopes(cross, point) for point in points])
        half = 0.5 * gradients[0][:, None] * torch.from_numpy(slopes).to(gradients[0])
        return half, half, None
