"""The surrogate alone, as a BoTorch model: for those who write their own loop.

Notation
    ===========  =====================================================================
    n, d         observations, parameters
    b, q         batch elements, points that are predicted together
    m, l         points on either side of a covariance matrix
    u, v         distinct points among all batch elements
    theta        (p,) hyperparameters of the kernel (core/covariance.py)
    lam          noise variance as a share of the signal variance
    sigma2       signal variance, of standardised values
    ===========  =====================================================================

    gp = HeatGP(train_X, train_Y, space=space).fit()

X holds points of the core (space.py): an integer code in the column of a choice, a number in
[0, 1] in that of a number. The kernels and the fit are those of the core, in NumPy; GPyTorch
makes predictions of them, and BoTorch everything else. The gradient in the numbers of X is
exact where the core has it in closed form, a central difference elsewhere; that in the codes
is zero. BoTorch maximises, and to the model both directions are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import botorch.fit
import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.utils.types import DEFAULT
from gpytorch.constraints import Positive
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from heat_plugins.conditions import Conditions
from heat_plugins.core.build import Builder
from heat_plugins.core.combined import Combined, split
from heat_plugins.core.covariance import Covariance, Cross, Prior, Pullback
from heat_plugins.core.learn import CANDIDATES, CLEAR_EVIDENCE, PREFERRED
from heat_plugins.core.outputs import has_conflicts
from heat_plugins.core.seen import PointSet
from heat_plugins.core.surrogate import (
    DETERMINISTIC_NOISE,
    LOG_NOISE_PRIOR,
    Fit,
    Hyperparameters,
    Surrogate,
    fit,
)
from heat_plugins.model import Model
from heat_plugins.space import Array, Space
from heat_plugins.structures import Combination

__all__ = ["CoreKernel", "HeatGP"]

Indices = NDArray[np.int64]

N_REFERENCE = 16  # points whose mean variance is the unit of scales
SMALL_TABLE = 2**14  # covariances that cost no more than the call that finds them
VARIANCE_ROUNDS = 10  # of the signal variance next to noise that is known


# ------------------------------------------------------------------------ one scale for all


class _Anchored(Covariance):
    """A kernel whose scale does not depend on the points that it is asked about.

    Some kernels of the core have no constant diagonal and are divided by the mean of that of
    the points given. Two sets of points then have two scales, and their matrices are no blocks
    of one covariance. With r(x) the variance of x in units of the mean of fixed reference
    points, which is the same whatever the points, given(X) times mean r(X) / scale is one
    function; the scale is mean r over the observations, as in the core.

    Args:
        inner: The kernel, made of no others.
        theta: (p,) its hyperparameters.
        reference: (r, d) the reference points.
        scale: Mean of r over the observations.
    """

    def __init__(self, inner: Covariance, theta: Array, reference: Array, scale: float) -> None:
        self.inner, self.scale = inner, scale
        self.bounds = inner.bounds
        self._unit = inner.given(theta, reference)

    def mean_variance(self, points: Array) -> float:
        """Return the mean of r over points (n, d)."""
        return 1.0 if self._unit.has_unit_diagonal else float(self._unit.diagonal(points).mean())

    def given(self, theta: Array, points: Array) -> Cross:
        """Return covariances with points (n, d)."""
        cross = self.inner.given(theta, points)
        if cross.has_unit_diagonal:
            return cross
        return _ScaledCross(cross, self.mean_variance(points) / self.scale)

    def start(self, total: float) -> Array:
        """Return what the kernel itself does."""
        return self.inner.start(total)

    def prior(self, theta: Array) -> Prior:
        """Return what the kernel itself does."""
        return self.inner.prior(theta)

    def prepare(self, points: Array) -> Array:
        """Return the points."""
        return points

    def matrix(self, theta: Array, prepared: Array) -> Array:
        """Return the kernel matrix (n, n)."""
        return self.given(theta, prepared)(prepared)

    def matrix_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        """Say that hyperparameters are not learnt here."""
        raise NotImplementedError("fit the kernel itself")


class _ScaledCross(Cross):
    """Covariances times a number."""

    has_unit_diagonal = False

    def __init__(self, inner: Cross, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def __call__(self, points: Array) -> Array:
        """Return covariances (m, l) of points (m, d)."""
        return self._factor * self._inner(points)

    def diagonal(self, points: Array) -> Array:
        """Return covariances (m,) of points (m, d) with themselves."""
        return self._factor * self._inner.diagonal(points)

    def slopes(self, point: Array, columns: Indices) -> tuple[Array, Array]:
        """Return covariances (l,) of a point (d,) and their slopes (l, c) in some columns."""
        covariances, slopes = self._inner.slopes(point, columns)
        return self._factor * covariances, self._factor * slopes

    def own_slopes(self, point: Array, columns: Indices) -> tuple[float, Array]:
        """Return the covariance of a point (d,) with itself, and its slopes (c,)."""
        own, slopes = self._inner.own_slopes(point, columns)
        return self._factor * own, self._factor * slopes


def _leaves(covariance: Covariance, theta: Array) -> Iterator[tuple[Covariance, Array]]:
    """Yield the kernels that a kernel is made of, with their hyperparameters."""
    if not isinstance(covariance, Combined):
        yield covariance, theta
        return
    for child, part in zip(covariance.children, split(theta, covariance.children), strict=True):
        yield from _leaves(child, part)


def _with_leaves(covariance: Covariance, leaves: Iterator[_Anchored]) -> Covariance:
    """Return the same kernel made of other leaves."""
    if not isinstance(covariance, Combined):
        return next(leaves)
    children = [_with_leaves(child, leaves) for child in covariance.children]
    return Combined(children, covariance.how)


# ---------------------------------------------------------------------------- the kernel


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
    ) -> None:
        super().__init__()
        self.space = space
        self.conditions = conditions
        self._numeric = np.flatnonzero(~space.is_discrete)
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
            _Anchored(leaf, part, self._reference, 1.0).mean_variance(points)
            for leaf, part in _leaves(covariance, theta)
        ]
        # A kernel that nothing varies in has no scale.
        scales = [scale if scale > 0.0 else 1.0 for scale in scales]
        device = self.theta.device
        self.theta = Parameter(torch.tensor(theta, device=device), requires_grad=False)
        self.scales = torch.tensor(scales, dtype=torch.float64, device=device)
        self._found: tuple[bytes, Covariance] | None = None

    def given(self, points: Array) -> Cross:
        """Return covariances with points (l, d), on one scale for all points."""
        theta = _to_numpy(self.theta)
        scales = _to_numpy(self.scales)
        key = theta.tobytes() + scales.tobytes()
        if self._found is None or self._found[0] != key:
            anchored = (
                _Anchored(leaf, part, self._reference, float(scale))
                for (leaf, part), scale in zip(
                    _leaves(self.covariance, theta), scales, strict=True
                )
            )
            self._found = key, _with_leaves(self.covariance, anchored)
        return self._found[1].given(theta, points)

    def points(self, x: Tensor) -> Array:
        """Return points of the core (..., d): whole codes, NaN where nothing exists."""
        shape = x.shape
        points = _to_numpy(x).reshape(-1, shape[-1]).copy()
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


def _to_numpy(x: Tensor) -> Array:
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
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives in x1 and x2; covariances are symmetric."""
        kernel, (first, second) = ctx.kernel, ctx.points
        gradient = _to_numpy(gradients[0])
        shape = (*gradient.shape[:2], first.shape[2]), (*gradient.shape[::2], first.shape[2])
        by_first, by_second = (np.zeros(its) for its in shape)
        if len(kernel._numeric):
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
    def forward(ctx: Any, x1: Tensor, x2: Tensor, kernel: CoreKernel) -> Tensor:
        """Find the diagonal."""
        ctx.kernel, ctx.points = kernel, kernel.points(x1)
        if not len(x1):
            return x1.new_zeros(0)
        variances = kernel.given(ctx.points[:1]).diagonal(ctx.points)
        return torch.from_numpy(np.ascontiguousarray(variances)).to(x1)

    @staticmethod
    @once_differentiable
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


# ------------------------------------------------------------------------------ the model


class HeatGP(SingleTaskGP):
    r"""The Gaussian process of the core as a BoTorch model of one outcome.

    Zero mean on standardised values, kernel sigma2 k(x, x'), noise of the variance lam sigma2.
    Unlike in a suggestion for Optuna, bad values are fitted as closely as good ones.

    A new model has the hyperparameters that a fit starts from; :meth:`fit` learns them, and so
    does ``fit_gpytorch_mll``. All of them are in the state dict, also which kernel was chosen
    by ``structure="auto"`` and which trees a ``RandomDecomposition`` drew, so that a model of
    other observations can take them over.

    Args:
        train_X: (n, d) points of the core; integer codes and numbers in [0, 1]. What stands in
            a column that does not exist at a point does not matter, NaN included.
        train_Y: (n, 1) their values.
        train_Yvar: (n, 1) known variances of the values. They are taken as they are, but for
            the small one of deterministic values at least, and no other noise is learnt.
        space: The parameters, one for each column.
        model: The kernel, its structure, and what is known about the choices; the heat kernel
            if None.
        conditions: When parameters exist, if not always.
        deterministic: Whether equal points always have equal values. Observations that say
            otherwise are believed.
        outcome_transform: As in BoTorch: ``Standardize(m=1)`` unless given, none if None. The
            priors are made for standardised values.
    """

    _supports_batched_models = False  # Ax then makes a list of such models
    _clear_cache: Callable[[], None]
    selection: Tensor

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        train_Yvar: Tensor | None = None,
        *,
        space: Space,
        model: Model | None = None,
        conditions: Conditions | None = None,
        deterministic: bool = False,
        outcome_transform: OutcomeTransform | Any | None = DEFAULT,
    ) -> None:
        _check_observations(train_X, train_Y, train_Yvar, space, conditions)
        builder = Builder(space, Model() if model is None else model, conditions)
        n = len(train_X)
        names = [*CANDIDATES]
        chosen = names.index(PREFERRED) if builder.model.is_auto else 0
        kernel = CoreKernel(_covariance(builder, chosen, n), space, conditions)
        super().__init__(
            # Where NaN is allowed it means nothing, and BoTorch refuses it.
            train_X=torch.nan_to_num(train_X),
            train_Y=train_Y,
            likelihood=GaussianLikelihood(noise_constraint=Positive()),
            covar_module=ScaleKernel(kernel),
            mean_module=ZeroMean(),
            outcome_transform=outcome_transform,
        )
        if train_Yvar is not None:
            self.likelihood = FixedNoiseGaussianLikelihood(
                self._standardised_noise(train_X, train_Y, train_Yvar)
            )
        self.space = space
        self.deterministic = deterministic
        self._builder = builder
        self._subset_batch_dict: dict[str, int] = {}  # there is one output to choose from
        # As floating-point numbers: load_state_dict(assign=True) takes the first for a model.
        self.register_buffer("selection", torch.zeros(2, dtype=torch.float64))
        start = Hyperparameters(kernel.covariance.start(1.0), LOG_NOISE_PRIOR[0])
        self._take(chosen, n, kernel.covariance, start)

    @property
    def kernel(self) -> CoreKernel:
        """The kernel, without the signal variance."""
        kernel: CoreKernel = self.covar_module.base_kernel
        return kernel

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Hyperparameters of the kernel, and the log noise share; -inf if all noise is known."""
        log_noise = -np.inf
        if not isinstance(self.likelihood, FixedNoiseGaussianLikelihood):
            share = float(self.likelihood.noise) / float(self.covar_module.outputscale)
            log_noise = float(np.log(share))
        return Hyperparameters(_to_numpy(self.kernel.theta), log_noise)

    def fit(self) -> HeatGP:
        """Learn the hyperparameters from the observations; return the model itself."""
        if self.train_targets.ndim != 1:
            raise ValueError(
                "only a model of plain observations can be fitted, got one conditioned on a "
                f"batch of shape {tuple(self.train_targets.shape[:-1])}"
            )
        points, values, noise = self._observations()
        n = len(points)
        deterministic = self.deterministic and not has_conflicts(points, values)
        fits: dict[int, tuple[Covariance, Fit]] = {}
        for candidate in range(len(CANDIDATES) if self._builder.model.is_auto else 1):
            covariance = _covariance(self._builder, candidate, n)
            result = fit(
                covariance, points, values, deterministic=deterministic, known_noise=noise
            )
            fits[candidate] = covariance, result
        chosen = _choose({i: result.negative_log_density for i, (_, result) in fits.items()})
        covariance, result = fits[chosen]
        self._take(chosen, n, covariance, result.hyperparameters)
        return self

    def custom_fit(self, mll: Any, **kwargs: Any) -> Any:
        """Fit for ``botorch.fit.fit_gpytorch_mll``; options of its optimisers do not apply."""
        self.fit()
        return mll.eval()

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return the posterior at X (..., q, d), see BoTorch."""
        _check_columns("X", X, self.space)
        if torch.isnan(X).any():
            _check_nan("X", _to_numpy(X), self.space, self.kernel.conditions)
        return super().posterior(X, *args, **kwargs)

    def _get_test_prior_mean_and_covariances(
        self, train_inputs: Sequence[Tensor], test_inputs: Sequence[Tensor], **kwargs: Any
    ) -> tuple[Any, ...]:
        """Return what GPyTorch wants to know of candidates, see there.

        Its own way is to put the observations before the q candidates of each of b elements,
        which copies them b times. Versions that do not ask here predict the same, slower.
        """
        (train_x,), (x,) = train_inputs, test_inputs
        batch_shape = torch.Size(np.broadcast_shapes(train_x.shape[:-2], x.shape[:-2]))
        x = x.expand(*batch_shape, *x.shape[-2:])
        own = self.covar_module(x).evaluate_kernel()
        cross = self.covar_module(x, train_x).evaluate_kernel()
        mean = self.mean_module(x)
        return mean, own, cross, batch_shape, x.shape[-2:-1], MultivariateNormal

    def _standardised_noise(self, train_X: Tensor, train_Y: Tensor, train_Yvar: Tensor) -> Tensor:
        """Return known variances (n,) of the standardised values, none of them zero."""
        if hasattr(self, "outcome_transform"):
            train_Yvar = self.outcome_transform(train_Y, train_Yvar, X=train_X)[1]
        return train_Yvar[:, 0].clamp_min(DETERMINISTIC_NOISE)

    def _observations(self) -> tuple[Array, Array, Array | None]:
        """Return points (n, d), standardised values (n,), and their known variances (n,)."""
        noise = None
        if isinstance(self.likelihood, FixedNoiseGaussianLikelihood):
            noise = _to_numpy(self.likelihood.noise_covar.noise)
        points = self.kernel.points(self.train_inputs[0])
        return points, _to_numpy(self.train_targets), noise

    def _take(
        self,
        chosen: int,
        n_observations: int,
        covariance: Covariance,
        hyperparameters: Hyperparameters,
    ) -> None:
        """Make these the hyperparameters, with the signal variance that suits them."""
        points, values, noise = self._observations()
        if noise is not None:
            hyperparameters = Hyperparameters(hyperparameters.theta, -np.inf)
        # To the core known noise is a share of the signal variance, which in turn depends on
        # it: smaller shares make it larger, up to that without any noise, so this converges.
        variance = 1.0
        for _ in range(1 if noise is None else VARIANCE_ROUNDS):
            shares = None if noise is None else noise / variance
            variance = Surrogate(
                covariance, hyperparameters, points, values, known_noise=shares
            ).variance
        self.selection = torch.tensor([chosen, n_observations]).to(self.selection)
        self.kernel.use(covariance, hyperparameters.theta, points)
        # As a tensor: GPyTorch takes plain numbers for single precision.
        sigma2 = torch.tensor(variance, dtype=torch.float64).to(self.train_targets)
        self.covar_module.outputscale = sigma2
        if noise is None:
            self.likelihood.noise = sigma2[None] * float(np.exp(hyperparameters.log_noise))
        self.to(self.train_targets)
        self.requires_grad_(False)
        self._clear_cache()

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Make the kernel that the hyperparameters belong to, before they come."""
        selection = state_dict.get(f"{prefix}selection")
        if selection is not None:
            chosen, n_observations = (int(number) for number in selection)
            self.kernel.use(_covariance(self._builder, chosen, n_observations))
            self.kernel.to(self.train_targets)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._clear_cache()


def _covariance(builder: Builder, candidate: int, n_observations: int) -> Covariance:
    """Return the kernel that the user asked for, or one that the evidence may choose."""
    combination: Combination | None = builder.model.combination
    if builder.model.is_auto:
        combination = [*CANDIDATES.values()][candidate]
    covariance = builder.kernel(combination, n_observations)
    covariance.blur = 0.0  # a BoTorch model does not know which values are bad
    return covariance


def _choose(losses: Mapping[int, float]) -> int:
    """Return the most likely candidate; the preferred one unless another clearly is."""
    if len(losses) == 1:
        return 0
    known = {i: float(np.nan_to_num(loss, nan=np.inf)) for i, loss in losses.items()}
    preferred = [*CANDIDATES].index(PREFERRED)
    best = min(known, key=known.__getitem__)
    return best if known[preferred] - known[best] > CLEAR_EVIDENCE else preferred


def _fit_heat_gp(mll: Any, _: type, __: type, **kwargs: Any) -> Any:
    return mll.model.custom_fit(mll, **kwargs)


# Older versions of BoTorch ask a table of functions instead of the model.
if hasattr(botorch.fit, "FitGPyTorchMLL"):
    botorch.fit.FitGPyTorchMLL.register(ExactMarginalLogLikelihood, HeatGP)(_fit_heat_gp)


# ------------------------------------------------------------------------------- checks


def _check_observations(
    train_X: Tensor,
    train_Y: Tensor,
    train_Yvar: Tensor | None,
    space: Space,
    conditions: Conditions | None,
) -> None:
    """Refuse what is no set of observations of a space."""
    if train_X.ndim != 2 or not len(train_X):
        raise ValueError(
            f"train_X must have the shape (n, d) with n > 0, got {tuple(train_X.shape)}"
        )
    _check_columns("train_X", train_X, space)
    for name, values in (("train_Y", train_Y), ("train_Yvar", train_Yvar)):
        if values is None:
            continue
        if values.shape != (len(train_X), 1):
            raise ValueError(
                f"{name} must have the shape ({len(train_X)}, 1), got {tuple(values.shape)}; "
                "several outcomes need a ModelListGP of one model each"
            )
        if not torch.isfinite(values).all():
            raise ValueError(f"{name} must be finite, got {values[~torch.isfinite(values)][0]}")
    if train_Yvar is not None and (train_Yvar < 0.0).any():
        raise ValueError(f"train_Yvar must not be negative, got {float(train_Yvar.min())}")
    if torch.isinf(train_X).any():
        raise ValueError(f"train_X must be finite, got {float(train_X[torch.isinf(train_X)][0])}")
    points = _to_numpy(train_X)
    _check_nan("train_X", points, space, conditions)
    if conditions is not None:
        points = conditions.deactivate(points)
    for column, parameter in enumerate(space.parameters):
        if not space.is_discrete[column]:
            continue
        codes = points[:, column][~np.isnan(points[:, column])]
        last = int(space.n_levels[column]) - 1
        wrong = codes[(codes != np.rint(codes)) | (codes < 0.0) | (codes > last)]
        if len(wrong):
            raise ValueError(
                f"train_X must have codes 0 to {last} in column {column}, parameter "
                f"{parameter.name!r}, got {wrong[0]}"
            )


def _check_columns(name: str, x: Tensor, space: Space) -> None:
    if x.ndim == 0 or x.shape[-1] != len(space):
        raise ValueError(
            f"{name} must have {len(space)} columns, one for each parameter of the space, got "
            f"the shape {tuple(x.shape)}"
        )


def _check_nan(name: str, points: Array, space: Space, conditions: Conditions | None) -> None:
    """Refuse NaN in a column that exists."""
    flat = points.reshape(-1, len(space))
    wrong = np.isnan(flat)
    if conditions is not None:
        wrong &= conditions.active(flat)
    if wrong.any():
        parameter = space.parameters[int(np.flatnonzero(wrong.any(axis=0))[0])]
        raise ValueError(
            f"{name} must have a number for every parameter that exists at a point, got NaN for "
            f"{parameter.name!r}"
        )
