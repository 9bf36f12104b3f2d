r"""Kernels that see two points only through the variables in which they differ.

The kernels of this module are functions of a weighted Hamming distance,

    S(x, x') = sum_i w_i [x_i != x'_i],

and differ in where the weights come from and in the function:

==================================  ====================  ==============================
kernel                              weight w_i            correlation
==================================  ====================  ==============================
``CasmopolitanKernel``              ell_i / d             exp(-S)
``OneHotRBFKernel``                 1 / l^2               exp(-S)
``MaternHammingKernel``             1 / l_i^2             Matern function of r = sqrt(S)
``RationalQuadraticHammingKernel``  1 / l_i^2             (1 + S / alpha)^{-alpha}
``HammingKernel``                   1 / l_i^2             any function of r = sqrt(S)
==================================  ====================  ==============================

With w_i = rate_i and exp(-S) it would be :class:`heat_plugins.torch.heat.HeatKernel`; the
notation is that of :mod:`heat_plugins.kernels.formulas`.

The square root of the Hamming distance is the Euclidean distance of one-hot vectors, up to a
factor of sqrt(2). So every kernel that is a positive semi-definite function of the Euclidean
distance stays one here (proposition isohamming), and ARD weights only stretch the one-hot axes.
The dimension that counts is that of the one-hot vectors, sum_i (g_i - 1), and not d: a function
that serves on the line alone, such as cos(r), may fail for one variable with three choices.

References:
    "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025, sections 3.2 to 3.4 ("the paper" below).
"""

import math
from collections.abc import Callable, Sequence

import torch
from gpytorch import settings
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.torch.codes import constrained_parameter
from heat_plugins.torch.mismatches import MismatchKernel

__all__ = [
    "CasmopolitanKernel",
    "HammingKernel",
    "MaternHammingKernel",
    "OneHotRBFKernel",
    "RationalQuadraticHammingKernel",
]


class CasmopolitanKernel(MismatchKernel):
    r"""CASMOPOLITAN's categorical kernel, divided by its diagonal.

    k(x, x') = exp((1/d) sum_i ell_i [x_i = x'_i]) / exp((1/d) sum_i ell_i)
             = exp(-(1/d) sum_i ell_i [x_i != x'_i])

    with one ell for all variables or one each. The paper calls ell_i a lengthscale, but it acts
    as an inverse one: a larger ell_i makes variable i matter more. The kernel is the heat kernel
    with rates ell_i / d (theorem cascom); unlike there, one shared ell gives all variables the
    same rate, whatever their numbers of choices.

    References:
        Wan et al., "Think global and act local: Bayesian optimisation over high-dimensional
        categorical and mixed search spaces", ICML 2021. Paper, equation cas_kernel.

    Attributes:
        raw_ell: (*batch_shape, 1, d) or (*batch_shape, 1, 1) unconstrained parameter.
    """

    raw_ell: Tensor
    ell = constrained_parameter(
        "ell", "Weights ell, (*batch_shape, 1, d) or (*batch_shape, 1, 1)."
    )

    def __init__(
        self,
        n_choices: int | Sequence[int] | None = None,
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        ell_prior: Prior | None = None,
        ell_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; every ell starts at ln 2 unless the constraint says else.

        Args:
            n_choices: number of choices of each variable, or one integer for all; None if
                unknown, at the price of an (n, m, d) tensor in each evaluation.
            ard_num_dims: number of variables d for one ell each, None for one in all.
            batch_shape: batch shape of ell.
            active_dims: columns of the input that hold the variables, None for all.
            ell_prior: prior on ell.
            ell_constraint: constraint on ell, ``Positive()`` if None.
        """
        super().__init__(n_choices, ard_num_dims, batch_shape, active_dims)
        self.add_parameter("ell", (1, ard_num_dims or 1), ell_prior, ell_constraint)

    def weights(self, n_variables: int) -> Tensor:
        """Rates ell / d of a mismatch."""
        rates: Tensor = self.ell / n_variables
        return rates


class _LengthscaleKernel(MismatchKernel):
    """Base of the kernels with weights 1 / l_i^2, that is of r = sqrt(sum_i [...] / l_i^2)."""

    has_lengthscale = True

    def weights(self, n_variables: int) -> Tensor:
        """Inverse squared lengthscales."""
        return _floored(self.lengthscale).pow(-2)


class HammingKernel(_LengthscaleKernel):
    r"""Any isotropic kernel, of the square root of the Hamming distance.

    k(x, x') = f(r) / f(0),   r = sqrt(sum_i [x_i != x'_i] / l_i^2)

    If f(||z - z'||) is positive semi-definite in Euclidean spaces of every dimension, such as
    exp(-r^2), exp(-r) or 1 / (1 + r^2), then so is k, for all numbers of choices and all
    lengthscales. Whether a given f is, the kernel cannot check. On variables with equally many
    choices and with one lengthscale these are exactly the Phi-kernels of
    :class:`heat_plugins.kernels.spectral.PhiKernel` (theorem hamphi).

    References:
        Paper, definition hammingclass, proposition isohamming.

    Attributes:
        function: the function f.
        raw_lengthscale: (*batch_shape, 1, d) or (*batch_shape, 1, 1) unconstrained parameter.
    """

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        n_choices: int | Sequence[int] | None = None,
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; every lengthscale starts at ln 2 unless the constraint says else.

        Args:
            function: f, from a tensor of distances r >= 0 to a tensor of the same shape, with
                f(0) > 0. For pickling it has to be a named function or a module.
            n_choices: number of choices of each variable, or one integer for all; None if
                unknown, at the price of an (n, m, d) tensor in each evaluation.
            ard_num_dims: number of variables d for one lengthscale each, None for one in all.
            batch_shape: batch shape of the lengthscales.
            active_dims: columns of the input that hold the variables, None for all.
            lengthscale_prior: prior on the lengthscales.
            lengthscale_constraint: constraint on the lengthscales, ``Positive()`` if None.
        """
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}")
        super().__init__(
            n_choices,
            ard_num_dims,
            batch_shape,
            active_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
        )
        self.function = function

    def correlation(self, mismatches: Tensor, n_trailing: int) -> Tensor:
        """f(sqrt(S)) / f(0)."""
        at_zero = self.function(mismatches.new_zeros(()))
        if settings.debug.on() and not at_zero > 0.0:
            raise ValueError(f"function must be positive at 0, got {at_zero.item()}")
        return self.function(_safe_sqrt(mismatches)) / at_zero


class OneHotRBFKernel(_LengthscaleKernel):
    r"""RBF kernel of one-hot encoded variables, with one lengthscale.

    k(x, x') = exp(-||z - z'||^2 / (2 l^2)) = exp(-h(x, x') / l^2)

    where z is the one-hot encoding of x and h the Hamming distance, because two one-hot vectors
    of different choices are at squared distance 2. On variables with equally many choices it is
    the isotropic heat kernel with rate 1 / l^2.

    References:
        Paper, equation onehot and section 3.3.2.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int] | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; the arguments are those of :class:`HammingKernel`."""
        super().__init__(
            n_choices,
            None,
            batch_shape,
            active_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
        )


class MaternHammingKernel(_LengthscaleKernel):
    r"""Matern kernel of the square root of the Hamming distance.

    k(x, x') = p(a) e^{-a},   a = sqrt(2 nu) r,   r = sqrt(sum_i [x_i != x'_i] / l_i^2)

    with p = 1 for nu = 1/2, p = 1 + a for nu = 3/2 and p = 1 + a + a^2 / 3 for nu = 5/2, the
    kernel of Bounce.

    References:
        Papenmeier, Nardi and Poloczek, "Bounce: reliable high-dimensional Bayesian optimization
        for combinatorial and mixed spaces", NeurIPS 2023. Paper, section 3.4.1.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int] | None = None,
        nu: float = 2.5,
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; ``nu`` is 0.5, 1.5 or 2.5, the rest as in :class:`HammingKernel`."""
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {nu}")
        super().__init__(
            n_choices,
            ard_num_dims,
            batch_shape,
            active_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
        )
        self.nu = nu

    def correlation(self, mismatches: Tensor, n_trailing: int) -> Tensor:
        """p(a) e^{-a}."""
        a = math.sqrt(2.0 * self.nu) * _safe_sqrt(mismatches)
        polynomial = torch.ones_like(a)
        if self.nu > 1.0:
            polynomial = polynomial + a
        if self.nu > 2.0:
            polynomial = polynomial + a.square() / 3.0
        return polynomial * torch.exp(-a)


class RationalQuadraticHammingKernel(_LengthscaleKernel):
    r"""Rational quadratic kernel of the square root of the Hamming distance.

    k(x, x') = (1 + r^2 / alpha)^{-alpha},   r^2 = sum_i [x_i != x'_i] / l_i^2

    As alpha grows the kernel tends to exp(-r^2), the heat kernel with rates 1 / l_i^2 and the
    :class:`OneHotRBFKernel` with the same lengthscale; that is why alpha stands here without
    the usual factor of 2. With a small alpha, points that differ in everything stay correlated.

    References:
        Rasmussen and Williams, "Gaussian processes for machine learning", 2006, section 4.2.
        Paper, section 3.4.1.

    Attributes:
        raw_alpha: (*batch_shape, 1, 1) unconstrained parameter.
    """

    raw_alpha: Tensor
    alpha = constrained_parameter("alpha", "Exponent alpha, (*batch_shape, 1, 1).")

    def __init__(
        self,
        n_choices: int | Sequence[int] | None = None,
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
        alpha_prior: Prior | None = None,
        alpha_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel.

        The arguments are those of :class:`HammingKernel`, with a prior on alpha and a
        constraint on it, ``Positive()`` if None.
        """
        super().__init__(
            n_choices,
            ard_num_dims,
            batch_shape,
            active_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
        )
        self.add_parameter("alpha", (1, 1), alpha_prior, alpha_constraint)

    def correlation(self, mismatches: Tensor, n_trailing: int) -> Tensor:
        """(1 + S / alpha)^{-alpha}."""
        alpha = _floored(self.alpha).reshape(*self.batch_shape, *[1] * n_trailing)
        return torch.exp(-alpha * torch.log1p(mismatches / alpha))


def _floored(parameter: Tensor) -> Tensor:
    """Keep a parameter that underflowed from giving infinite weights, and NaN as 0 * inf."""
    return parameter.clamp_min(torch.finfo(parameter.dtype).eps)


def _safe_sqrt(squares: Tensor) -> Tensor:
    """Square root with gradient 0 at 0: equal points stay equal under every lengthscale."""
    positive = squares > 0.0
    # The inner selection keeps the infinite slope at 0 out of the backward pass.
    return torch.where(positive, torch.where(positive, squares, 1.0).sqrt(), 0.0)
