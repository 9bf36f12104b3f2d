"""Covariances of NumPy kernels as differentiable functions of points and hyperparameters.

Notation as in ``blocks.py``; theta (p,) are the hyperparameters of a NumPy kernel. Values and
derivatives are those of NumPy: ``Kernel.cross_covariance`` forwards,
``CrossCovariance.slopes`` and ``Kernel.matrix_and_pullback`` backwards. They can be differentiated
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heat_plugins.kernels.base import Kernel
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array
from heat_plugins.torch.blocks import Block, blocks, distinct

if TYPE_CHECKING:
    from heat_plugins.torch.kernel import NumpyKernel

__all__ = ["Covariances", "MinusLogPrior", "Variances", "applied", "to_numpy"]

POINTS_AT_ONCE = 128  # whose matrix is found for the derivative of its diagonal


def to_numpy(x: Tensor) -> Array:
    """Return a tensor as an array of doubles, without its gradient."""
    return x.detach().cpu().numpy().astype(np.float64, copy=False)


def applied(function: Any, *arguments: Any) -> Tensor:
    """Call one of the functions below, which to mypy have no type."""
    result: Tensor = function.apply(*arguments)
    return result


def _to_tensor(values: Array, x: Tensor, theta: Tensor) -> Tensor:
    dtype = torch.promote_types(x.dtype, theta.dtype)
    return torch.from_numpy(np.ascontiguousarray(values)).to(x.device, dtype)


def _points_of(kernel: NumpyKernel, x: Tensor) -> Array:
    """Return points (b, m, d), or (1, m, d) if all elements of the batch have the same."""
    is_shared = len(x) > 1 and (
        x.stride(0) == 0 or (torch.equal(x[0], x[-1]) and torch.equal(x, x[:1].expand_as(x)))
    )
    return kernel.points(x[:1] if is_shared else x)


class Covariances(torch.autograd.Function):
    """Covariances (b, m, l) of x1 (b, m, d) and x2 (b, l, d) for theta (p,)."""

    @staticmethod
    @usual_errors
    def forward(ctx: Any, x1: Tensor, x2: Tensor, theta: Tensor, kernel: NumpyKernel) -> Tensor:
        """Find the covariances of distinct points, and put them where they belong."""
        is_same = x1.shape == x2.shape and torch.equal(x1, x2)
        first = _points_of(kernel, x1)
        second = first if is_same else _points_of(kernel, x2)
        ctx.kernel, ctx.points, ctx.theta = kernel, (first, second), to_numpy(theta)
        result = np.empty((len(x1), x1.shape[1], x2.shape[1]))
        for block in blocks(first, second, len(x1)):
            cross = kernel.numpy_kernel.cross_covariance(ctx.theta, block.others)
            table = cross(block.rows)
            if is_same:
                # To the last digit, as in NumPy: a root of a rounded zero is not zero.
                table = 0.5 * (table + table.T)
                np.fill_diagonal(table, cross.diagonal(block.rows))
            if len(block.at) == len(block.at_others) == 1:
                result[block.elements] = table  # whose order is that of the points
            else:
                places = block.at[:, :, None], block.at_others[:, None, :]
                result[block.elements] = table[places]
        return _to_tensor(result, x1, theta)

    @staticmethod
    @once_differentiable
    @usual_errors
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives in x1, x2 and theta; covariances are symmetric."""
        kernel, (first, second), theta = ctx.kernel, ctx.points, ctx.theta
        gradient = to_numpy(gradients[0])
        size, m, n = gradient.shape
        by_first, by_second = (np.zeros((size, k, first.shape[2])) for k in (m, n))
        by_theta = np.zeros(len(theta))
        needs_first, needs_second, needs_theta, _ = ctx.needs_input_grad
        for block in blocks(first, second, size):
            some = gradient[block.elements]
            if needs_first and kernel.has_slopes:
                by_first[block.elements] = _pull(kernel, theta, block, some)
            if needs_second and kernel.has_slopes:
                turned = some.transpose(0, 2, 1)
                by_second[block.elements] = _pull(kernel, theta, block.turned(), turned)
            if needs_theta:
                by_theta += _pull_to_theta(kernel.numpy_kernel, theta, block, some)
        return *(
            torch.from_numpy(by).to(gradients[0]) for by in (by_first, by_second, by_theta)
        ), None


def _pull(kernel: NumpyKernel, theta: Array, block: Block, gradient: Array) -> Array:
    """Return the derivative (b, m, d) in the points on the left from that in (b, m, l)."""
    size, m, n = gradient.shape
    v = len(block.others)
    at_others = np.broadcast_to(block.at_others, (size, n))
    # What falls on the same point on the right comes together: (b m, v).
    places = np.arange(size * m).reshape(size, m, 1) * v + at_others[:, None, :]
    sums = np.bincount(places.ravel(), weights=gradient.ravel(), minlength=size * m * v)
    weights = sums.astype(np.float64, copy=False).reshape(size * m, v)
    at = np.broadcast_to(block.at, (size, m)).ravel()
    cross = kernel.numpy_kernel.cross_covariance(theta, block.others)
    result = np.zeros((size * m, block.rows.shape[1]))
    ends = np.cumsum(np.bincount(at, minlength=len(block.rows)))[:-1]
    for point, mine in zip(block.rows, np.split(np.argsort(at, kind="stable"), ends), strict=True):
        result[mine] = kernel.slopes(cross, point, weights[mine])
    return result.reshape(size, m, -1)


def _pull_to_theta(numpy_kernel: Kernel, theta: Array, block: Block, gradient: Array) -> Array:
    """Return the derivative (p,) from that in (b, m, l).

    The pullback in NumPy is that of the matrix of one set of points, so both sides become
    one set, in which a point that stands on both sides is the same.
    """
    points, at = distinct(np.concatenate([block.rows, block.others]))
    left, right = at[: len(block.rows)][block.at], at[len(block.rows) :][block.at_others]
    n = len(points)
    places = np.broadcast_to(left[:, :, None] * n + right[:, None, :], gradient.shape)
    sums = np.bincount(places.ravel(), weights=gradient.ravel(), minlength=n**2)
    by_matrix = sums.astype(np.float64, copy=False).reshape(n, n)
    _, pullback = numpy_kernel.matrix_and_pullback(theta, numpy_kernel.prepare(points))
    # Half above and half below the diagonal: pullbacks take symmetric arguments.
    return pullback(0.5 * (by_matrix + by_matrix.T))


class Variances(torch.autograd.Function):
    """Covariances (m,) of points (m, d) with themselves, given twice, for theta (p,)."""

    @staticmethod
    @usual_errors
    def forward(ctx: Any, x1: Tensor, x2: Tensor, theta: Tensor, kernel: NumpyKernel) -> Tensor:
        """Find the diagonal."""
        ctx.kernel, ctx.points, ctx.theta = kernel, kernel.points(x1), to_numpy(theta)
        variances = np.zeros(0)
        if len(x1):
            cross = kernel.numpy_kernel.cross_covariance(ctx.theta, ctx.points[:1])
            variances = cross.diagonal(ctx.points)
        return _to_tensor(variances, x1, theta)

    @staticmethod
    @once_differentiable
    @usual_errors
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives, one half for either of the equal arguments."""
        kernel, points, theta = ctx.kernel, ctx.points, ctx.theta
        numpy_kernel: Kernel = kernel.numpy_kernel
        gradient = to_numpy(gradients[0])
        by_points, by_theta = np.zeros(points.shape), np.zeros(len(theta))
        cross = numpy_kernel.cross_covariance(theta, points[:1]) if len(points) else None
        if cross is not None and not cross.has_unit_diagonal:
            if any(ctx.needs_input_grad[:2]):
                slopes = np.array([kernel.own_slopes(cross, point) for point in points])
                by_points = 0.5 * gradient[:, None] * slopes
            if ctx.needs_input_grad[2]:
                for start in range(0, len(points), POINTS_AT_ONCE):
                    some = slice(start, start + POINTS_AT_ONCE)
                    prepared = numpy_kernel.prepare(points[some])
                    _, pullback = numpy_kernel.matrix_and_pullback(theta, prepared)
                    by_theta += pullback(np.diag(gradient[some]))
        half, whole = (torch.from_numpy(by).to(gradients[0]) for by in (by_points, by_theta))
        return half, half, whole, None


class MinusLogPrior(torch.autograd.Function):
    """Minus the log density (n,) of hyperparameters (n, p) under the kernel's prior."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, numpy_kernel: Kernel) -> Tensor:
        """Find the densities, and their derivatives with them."""
        found = [numpy_kernel.prior(row) for row in to_numpy(theta)]
        ctx.slopes = torch.from_numpy(np.array([slope for _, slope in found])).to(theta)
        return theta.new_tensor([value for value, _ in found])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivative in theta."""
        return gradients[0][:, None] * ctx.slopes, None
