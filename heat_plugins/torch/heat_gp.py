"""``HeatGP``: the surrogate as a BoTorch model, for loops of one's own.

Notation
    ===========  =====================================================================
    n, d         observations, parameters
    theta        (p,) hyperparameters of the kernel (kernels/base.py)
    lam          noise variance as a share of the signal variance
    sigma2       signal variance, of standardised values
    ===========  =====================================================================

    gp = HeatGP(train_X, train_Y, space=space).fit()

X holds points as arrays (space.py): an integer code in the column of a choice, a number in
[0, 1] in that of a number. The kernels and the fit are in NumPy; GPyTorch
makes predictions of them, and BoTorch everything else. BoTorch maximises, and to the model
both directions are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heat_plugins._extras import require

require("botorch", extra="ax")

import botorch.fit
import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.utils.types import DEFAULT
from gpytorch.constraints import Positive
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

from heat_plugins.gp.exact_gp import (
    DETERMINISTIC_NOISE,
    LEAST_NOISE_SHARE,
    LOG_NOISE_PRIOR,
    Hyperparameters,
    signal_variance,
    variance_and_rest,
)
from heat_plugins.gp.fit import Candidates, FitCache, KernelFit, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.spec.model import Model
from heat_plugins.torch.autograd import to_numpy
from heat_plugins.torch.fitted_kernel import FittedKernel
from heat_plugins.torch.robust_standardize import RobustStandardize

__all__ = ["HeatGP"]


class HeatGP(SingleTaskGP):
    r"""The Gaussian process of suggestions as a BoTorch model of one outcome.

    Zero mean on standardised values, kernel sigma2 k(x, x'), noise of the variance lam sigma2.

    A new model has the hyperparameters that a fit starts from; :meth:`fit` learns them, and so
    does ``fit_gpytorch_mll``. All of them are in the state dict, also which kernel was chosen
    by ``structure="auto"`` and which trees a ``RandomDecomposition`` drew, so that a model of
    other observations can take them over.

    Args:
        train_X: (n, d) encoded points; integer codes and numbers in [0, 1]. What stands in
            a column that does not exist at a point does not matter, NaN included.
        train_Y: (n, 1) their values.
        train_Yvar: (n, 1) known variances of the values. They are taken as they are, but for
            the small one of deterministic values at least, and no other noise is learnt, unless
            repeated measurements disagree by more than they allow (``has_more_noise``).
        space: The parameters, one for each column.
        model: The kernel, its structure, and what is known about the choices; the heat kernel
            if None.
        conditions: When parameters exist, if not always.
        deterministic: Whether equal points always have equal values. Observations that say
            otherwise are believed.
        outcome_transform: As in BoTorch; :class:`RobustStandardize` unless given, which is how a
            sampler sees the values, none if None. The priors are made for standardised values.
        input_transform: As in BoTorch, but there is none: it would turn codes into other ones.
        maximise: Whether large values are the good ones, as for BoTorch's acquisition functions.
            Outliers on the other side are pulled in: all that is learnt of them is that they are
            bad.
        boundary: Where bad values begin, if that is known: the bound of a constraint.
        cache: Where the last fit is kept, for models of ever more observations. It saves time
            and changes nothing else.
        slopes_of_codes: Whether the gradient in ordered codes is the mean difference to their
            neighbours rather than zero; Ax takes the signs of sensitivities from it.
    """

    _supports_batched_models = False  # Ax then makes a list of such models
    _clear_cache: Callable[[], None]
    selection: Tensor
    kernel_fit: KernelFit | None = None  # what the observations say; None before a fit

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
        maximise: bool = True,
        boundary: float | None = None,
        outcome_transform: OutcomeTransform | Any | None = DEFAULT,
        input_transform: None = None,
        cache: FitCache | None = None,
        slopes_of_codes: bool = False,
    ) -> None:
        if input_transform is not None:
            raise ValueError(
                "input_transform must be None: HeatGP takes points of its space as they are, "
                f"codes and numbers in [0, 1], got {input_transform!r}"
            )
        _check_observations(train_X, train_Y, train_Yvar, space, conditions)
        cache = FitCache() if cache is None else cache
        builder = cache.builder_for(space, Model() if model is None else model, conditions)
        n = len(train_X)
        combinations, preferred = Candidates.of(builder)
        chosen = [*combinations].index(preferred)
        if outcome_transform is DEFAULT:
            outcome_transform = RobustStandardize(maximise, boundary)
        kernel = FittedKernel(
            _numpy_kernel(builder, chosen, n), space, conditions, slopes_of_codes=slopes_of_codes
        )
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
            self.likelihood = _KnownNoiseLikelihood(
                self._standardised_noise(train_X, train_Y, train_Yvar)
            )
        self.space = space
        self.deterministic, self.maximise, self.boundary = deterministic, maximise, boundary
        self._builder, self._cache = builder, cache
        variances = None if train_Yvar is None else to_numpy(train_Yvar)[:, 0]
        self._given = to_numpy(train_Y)[:, 0], variances
        self._subset_batch_dict: dict[str, int] = {}  # there is one output to choose from
        # As floating-point numbers: load_state_dict(assign=True) takes the first for a model.
        self.register_buffer("selection", torch.zeros(2, dtype=torch.float64))
        start = Hyperparameters(kernel.numpy_kernel.start(1.0), LOG_NOISE_PRIOR[0])
        self._set_hyperparameters(chosen, kernel.numpy_kernel, start, 1.0, LEAST_NOISE_SHARE)

    @property
    def has_more_noise(self) -> bool:
        """Whether there is more noise than ``train_Yvar`` says."""
        return self.kernel_fit is not None and self.kernel_fit.learns_extra_noise

    @property
    def kernel(self) -> FittedKernel:
        """The kernel, without the signal variance."""
        kernel: FittedKernel = self.covar_module.base_kernel
        return kernel

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Hyperparameters of the kernel, and the log noise share; -inf if all noise is known."""
        likelihood = self.likelihood
        noise = likelihood.rest if self._has_known_noise else likelihood.noise
        share = float(noise) / float(self.covar_module.outputscale)
        log_noise = float(np.log(share)) if share > 0.0 else -np.inf
        return Hyperparameters(to_numpy(self.kernel.theta), log_noise)

    @property
    def _has_known_noise(self) -> bool:
        return isinstance(self.likelihood, FixedNoiseGaussianLikelihood)

    @usual_errors
    def fit(self) -> HeatGP:
        """Learn the hyperparameters from the observations; return the model itself."""
        if self.train_targets.ndim != 1:
            raise ValueError(
                "only a model of plain observations can be fitted, got one conditioned on a "
                f"batch of shape {tuple(self.train_targets.shape[:-1])}"
            )
        points, values, noise = self._observations()
        boundary, sign = -np.inf, -1.0 if self.maximise else 1.0
        if len(self._given[0]) == len(values):
            # As they came: those of fewer observations are then the same, and so is their fit.
            values, noise = self._given
            boundary = -np.inf if self.boundary is None else sign * self.boundary
        data = OutcomeData(points, sign * values, noise, self.deterministic, boundary=boundary)
        data = data.with_inferred_noise(self.space)
        limit = self._builder.fit_points(ModelBudget.fit_points)
        self.kernel_fit = kernel_fit = select_model(self._builder, data, limit, self._cache)
        candidate = [*Candidates.of(self._builder).combinations].index(kernel_fit.name)
        kernel, learnt = kernel_fit.kernel, kernel_fit.hyperparameters
        if not self._has_known_noise:
            learnt = _with_enough_noise(learnt)
        self._set_hyperparameters(
            candidate, kernel, learnt, *self._variance_and_rest(kernel, learnt)
        )
        return self

    def _variance_and_rest(
        self, kernel: Kernel, hyperparameters: Hyperparameters
    ) -> tuple[float, float]:
        """Return the signal variance, and the variance that is added to known noise."""
        points, values, noise = self._observations()
        if noise is not None:
            extra = self.has_more_noise
            return variance_and_rest(
                kernel, hyperparameters, points, values, noise, learns_extra_noise=extra
            )
        matrix = kernel.matrix(hyperparameters.theta, kernel.prepare(points))
        shares = np.full(len(points), hyperparameters.noise)
        return signal_variance(matrix, shares, values), 0.0

    def custom_fit(self, mll: Any, **kwargs: Any) -> Any:
        """Fit for ``botorch.fit.fit_gpytorch_mll``; options of its optimisers do not apply."""
        ignored = sorted(name for name, value in kwargs.items() if value is not None)
        if ignored:
            warnings.warn(
                f"HeatGP learns its hyperparameters by a fit of its own: {', '.join(ignored)} of "
                "fit_gpytorch_mll have no effect",
                stacklevel=3,
            )
        self.fit()
        return mll.eval()

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return the posterior at X (..., q, d), see BoTorch."""
        _check_columns("X", X, self.space)
        if torch.isnan(X).any():
            _check_nan("X", to_numpy(X), self.space, self.kernel.conditions)
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
        own = self.covar_module(x)  # evaluated only as far as it is needed
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
        if self._has_known_noise:
            noise = to_numpy(self.likelihood.noise)
        points = self.kernel.points(self.train_inputs[0])
        return points, to_numpy(self.train_targets), noise

    def _set_hyperparameters(
        self,
        candidate: int,
        kernel: Kernel,
        hyperparameters: Hyperparameters,
        variance: float,
        rest: float,
    ) -> None:
        """Make these the hyperparameters, with the signal variance that suits them."""
        selection = [candidate, len(self.train_inputs[0])]
        self.selection = torch.tensor(selection).to(self.selection)
        self.kernel.set_kernel(kernel, hyperparameters.theta)
        # As a tensor: GPyTorch takes plain numbers for single precision.
        sigma2 = torch.tensor(variance, dtype=torch.float64).to(self.train_targets)
        self.covar_module.outputscale = sigma2
        if self._has_known_noise:
            self.likelihood.rest = torch.tensor(rest, dtype=torch.float64).to(sigma2)
        else:
            self.likelihood.noise = sigma2[None] * hyperparameters.noise
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
            self.kernel.set_kernel(_numpy_kernel(self._builder, chosen, n_observations))
            self.kernel.to(self.train_targets)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._clear_cache()


class _KnownNoiseLikelihood(FixedNoiseGaussianLikelihood):
    """Known noise (n,), and the rest: a variance that every measurement has besides.

    GPyTorch has such a second noise, too, but takes noise that is given for both.
    """

    rest: Tensor

    def __init__(self, noise: Tensor) -> None:
        super().__init__(noise)
        self.register_buffer("rest", torch.zeros_like(noise[0]))

    def _shaped_noise_covar(self, base_shape: torch.Size, *params: Any, **kwargs: Any) -> Any:
        known = super()._shaped_noise_covar(base_shape, *params, **kwargs)
        return known + DiagLinearOperator(self.rest.expand(known.shape[:-1]))


def _with_enough_noise(hyperparameters: Hyperparameters) -> Hyperparameters:
    """Return hyperparameters with as much noise as GPyTorch's algebra needs, more than ours."""
    log_noise = max(hyperparameters.log_noise, float(np.log(LEAST_NOISE_SHARE)))
    return Hyperparameters(hyperparameters.theta, log_noise)


def _numpy_kernel(builder: KernelBuilder, candidate: int, n_observations: int) -> Kernel:
    """Return the kernel that the user asked for, or one that the evidence may choose."""
    combinations = [*Candidates.of(builder).combinations.values()]
    return builder.kernel(combinations[candidate], n_observations)


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
    points = to_numpy(train_X)
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
