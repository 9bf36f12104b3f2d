r"""Kernels that are functions of the Laplacian of a Hamming graph.

:class:`PhiKernel` and its siblings apply a function Phi to the eigenvalues of the product of
complete graphs. Phi(a + b) is in general not Phi(a) Phi(b), so these are not products over the
variables and have no ARD version.

Variables are grouped by their number of choices. With one l and one h per group, and the
eigenvalues lambda_l, multiplicities M_l and Krawtchouk numbers K_l(h) of
:mod:`heat_plugins.kernels.hamming_spectrum`, the kernel divided by its diagonal is

    k(h) = sum_l p_l prod_groups K_l(h) / M_l,   p_l = M_l Phi(lambda_l) / sum of the same,

where M_l and lambda_l are the product and the sum over the groups. It is a mean of numbers in
[-1, 1] under probabilities p, which are computed from logarithms, so that nothing overflows
however large the space is. A table of k over all h has prod_groups (m + 1) entries.

The Laplacian is the *unnormalised* one; the notation is that of
:mod:`heat_plugins.kernels.formulas`.

References:
    "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025 ("the paper" below), definition phi_kernel and theorem hamphi.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import torch
from gpytorch import settings
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.kernels.hamming_spectrum import hamming_spectrum
from heat_plugins.torch.codes import CodesKernel, constrained_parameter
from heat_plugins.torch.mismatches import weighted_mismatches

__all__ = ["GraphMaternKernel", "InversePolynomialKernel", "PhiKernel"]


class _SpectralKernel(CodesKernel):
    """Base of the Phi-kernels on a Hamming graph: everything but Phi."""

    def __init__(
        self,
        n_choices: int | Sequence[int],
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(n_choices, batch_shape=batch_shape, active_dims=active_dims)
        if self.n_variables is not None:
            # Refuses too large a space at once.
            hamming_spectrum(tuple(self.sizes(self.n_variables)))

    @abstractmethod
    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi.

        Args:
            eigenvalues: (t,) eigenvalues of the product graph, float64.

        Returns:
            (t,) or (*batch_shape, t) logarithms, -inf where Phi is 0.
        """

    def evaluate(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Correlations, looked up in the table of those at all Hamming distances."""
        sizes = self.sizes(x1.shape[-1])
        # The positions in the flat table are a weighted Hamming distance as well: the weight
        # of a variable is the stride of its group. Float64 holds them exactly.
        strides = torch.tensor([hamming_spectrum(tuple(sizes)).strides], dtype=torch.float64)
        where = weighted_mismatches(x1, x2, strides.to(x1.device), sizes, diag=diag).long()
        table = self.table(sizes).to(torch.promote_types(x1.dtype, self.dtype))
        return _look_up(table, where, 1 if diag else 2)

    def evaluate_each(self, x1: Tensor, x2: Tensor, diag: bool) -> Tensor:
        """Kernels of the graph of each variable alone.

        Their product is not the kernel, unless Phi is an exponential function.
        """
        sizes = self.sizes(x1.shape[-1])
        rho = torch.stack([self.table([g])[..., -1] for g in sizes], dim=-1)  # (..., d)
        prices = (1.0 - rho).unsqueeze(-2)  # (..., 1, d)
        each = 1.0 - weighted_mismatches(x1, x2, prices, sizes, diag=diag, each=True)
        return each.to(torch.promote_types(x1.dtype, self.dtype))

    def table(self, n_choices: Sequence[int]) -> Tensor:
        r"""Correlations k(h) on the Hamming graph of variables with the given sizes.

        Args:
            n_choices: number of choices of each variable.

        Returns:
            (*batch_shape, t) correlations, one for each combination of Hamming distances
            within the groups of variables with equally many choices; groups in the order of
            their number of choices, without one-choice variables, the last group fastest.
        """
        spectrum = hamming_spectrum(tuple(n_choices)).to(self.device)
        log_phi = self.log_phi(spectrum.eigenvalues)  # (..., t)
        if settings.debug.on():
            _check_log_phi(log_phi)
        values = torch.softmax(log_phi + spectrum.log_multiplicities, dim=-1)
        for krawtchouk in spectrum.krawtchouk:
            # Contract the first axis and put it last; after all axes the order is as before.
            values = values.reshape(*values.shape[:-1], len(krawtchouk), -1)
            values = (values.mT @ krawtchouk).flatten(-2)
        # The first entry is a sum of probabilities, one up to rounding.
        return values / values[..., :1]


class PhiKernel(_SpectralKernel):
    r"""Phi-kernel on a Hamming graph, for any function Phi.

    k(x, x') = sum_j Phi(lambda_j) f_j(x) f_j(x') / k(x, x)

    with the eigenpairs (lambda_j, f_j) of the unnormalised Laplacian of the product of complete
    graphs, evaluated as the module's docstring says. Phi >= 0 is all that it takes for k to be
    positive semi-definite. Phi(lambda) = e^{-beta lambda} gives the isotropic heat kernel.

    On variables with equally many choices the Phi-kernels are exactly the functions of the
    Hamming distance (theorem hamphi). On others neither class contains the other: a Phi-kernel
    can tell the distances within the groups apart, but has to treat alike eigenvectors that
    happen to share an eigenvalue.

    References:
        Smola and Kondor, "Kernels and regularization on graphs", COLT 2003. Borovitskiy et al.,
        "Isotropic Gaussian process priors on finite spaces of graphs", AISTATS 2023. Paper,
        definition phi_kernel.

    Attributes:
        n_choices: (*batch_shape, 1, d) integers, or (*batch_shape, 1, 1).
        phi: the function Phi.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        phi: Callable[[Tensor], Tensor],
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        """Create the kernel.

        Args:
            n_choices: number of choices of each variable, in the order of the columns the
                kernel sees (after ``active_dims``); one integer if all have equally many.
            phi: Phi, from a (t,) tensor of eigenvalues in float64 to (t,) values of at least 0
                that are not all 0. A ``torch.nn.Module`` brings its own parameters. For
                pickling it has to be a module or a named function.
            batch_shape: batch shape of the kernel.
            active_dims: columns of the input that hold the variables, None for all.
        """
        if not callable(phi):
            raise TypeError(f"phi must be callable, got {type(phi).__name__}")
        super().__init__(n_choices, batch_shape, active_dims)
        self.phi = phi

    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi, with gradient 0 where Phi is 0."""
        values = self.phi(eigenvalues)
        zero = values == 0.0
        return torch.where(zero, -torch.inf, torch.where(zero, 1.0, values).log())


class GraphMaternKernel(_SpectralKernel):
    r"""Matern kernel of a Hamming graph.

    Phi(lambda) = (2 nu / kappa^2 + lambda)^{-nu}

    with the smoothness nu fixed and the lengthscale kappa as parameter. As nu grows, the kernel
    tends to the heat kernel with beta = kappa^2 / 2.

    A power of lambda falls slowly, while the number of eigenvectors grows exponentially with
    the number of variables. On spaces of many variables most of the variance is therefore in
    the largest eigenvalues or, for a large kappa, in the constant: the kernel is close to a
    constant plus white noise for every kappa, unless nu grows with the number of variables.

    References:
        Borovitskiy et al., "Matern Gaussian processes on graphs", AISTATS 2021.

    Attributes:
        nu: smoothness.
        raw_kappa: (*batch_shape, 1, 1) unconstrained parameter.
    """

    raw_kappa: Tensor
    kappa = constrained_parameter("kappa", "Lengthscale kappa, (*batch_shape, 1, 1).")

    def __init__(
        self,
        n_choices: int | Sequence[int],
        nu: float = 2.5,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        kappa_prior: Prior | None = None,
        kappa_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; kappa starts at ln 2 unless the constraint says else.

        Args:
            n_choices: number of choices of each variable, or one integer for all.
            nu: smoothness, > 0.
            batch_shape: batch shape of kappa.
            active_dims: columns of the input that hold the variables, None for all.
            kappa_prior: prior on kappa.
            kappa_constraint: constraint on kappa, ``Positive()`` if None.
        """
        if not 0.0 < nu < math.inf:
            raise ValueError(f"nu must be positive and finite, got {nu}")
        super().__init__(n_choices, batch_shape, active_dims)
        self.nu = nu
        self.add_parameter("kappa", (1, 1), kappa_prior, kappa_constraint)

    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi, up to a constant."""
        kappa = self.kappa.squeeze(-1).to(eigenvalues.dtype)  # (..., 1)
        # Without the factor (2 nu / kappa^2)^{-nu}, which the normalisation takes away. That
        # keeps digits for large nu and allows kappa to underflow.
        return -self.nu * torch.log1p(kappa.square() * eigenvalues / (2.0 * self.nu))


class InversePolynomialKernel(_SpectralKernel):
    r"""Sum-of-inverse-polynomials kernel of a Hamming graph.

    Phi(lambda) = sum_{p=0}^{P-1} 1 / (b_p lambda^p + epsilon)

    with parameters b_p > 0 and epsilon > 0. The term p = 0 is the same for all eigenvalues: it
    is the share of white noise in the kernel. All parameters are free, epsilon too: a tiny
    constant in its place would give lambda = 0 a huge Phi and the kernel a dominating constant.
    The Laplacian is the unnormalised one, as everywhere here; in the reference it is the
    normalised one, with eigenvalues of at most 2. For many variables see
    :class:`GraphMaternKernel`.

    References:
        Wan et al., "Bayesian optimisation of functions on graphs", NeurIPS 2023.

    Attributes:
        raw_coefficients: (*batch_shape, 1, P) unconstrained parameter.
        raw_epsilon: (*batch_shape, 1, 1) unconstrained parameter.
    """

    raw_coefficients: Tensor
    raw_epsilon: Tensor
    coefficients = constrained_parameter("coefficients", "Coefficients b, (*batch_shape, 1, P).")
    epsilon = constrained_parameter("epsilon", "Offset epsilon, (*batch_shape, 1, 1).")

    def __init__(
        self,
        n_choices: int | Sequence[int],
        n_terms: int = 3,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        coefficients_prior: Prior | None = None,
        coefficients_constraint: Interval | None = None,
        epsilon_prior: Prior | None = None,
        epsilon_constraint: Interval | None = None,
    ) -> None:
        """Create the kernel; all parameters start at ln 2 unless the constraints say else.

        Args:
            n_choices: number of choices of each variable, or one integer for all.
            n_terms: number of terms P, at least 2; with one alone the kernel is white noise.
            batch_shape: batch shape of the parameters.
            active_dims: columns of the input that hold the variables, None for all.
            coefficients_prior: prior on the coefficients.
            coefficients_constraint: constraint on the coefficients, ``Positive()`` if None.
            epsilon_prior: prior on epsilon.
            epsilon_constraint: constraint on epsilon, ``Positive()`` if None.
        """
        if n_terms < 2:
            raise ValueError(f"n_terms must be at least 2, got {n_terms}")
        super().__init__(n_choices, batch_shape, active_dims)
        self.add_parameter(
            "coefficients", (1, n_terms), coefficients_prior, coefficients_constraint
        )
        self.add_parameter("epsilon", (1, 1), epsilon_prior, epsilon_constraint)

    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi."""
        # The floor leaves room for 1 / epsilon, and for its gradient, if epsilon underflowed.
        floor = math.sqrt(torch.finfo(self.epsilon.dtype).tiny)
        epsilon = self.epsilon.clamp_min(floor).to(eigenvalues.dtype)
        coefficients = self.coefficients.mT.to(eigenvalues.dtype)  # (..., P, 1)
        powers = torch.arange(coefficients.shape[-2], device=eigenvalues.device).unsqueeze(-1)
        # The logarithm of a sum of exponentials, because 1 / epsilon may be huge.
        return torch.logsumexp(-(coefficients * eigenvalues**powers + epsilon).log(), dim=-2)


def _check_log_phi(log_phi: Tensor) -> None:
    """Refuse a Phi with negative or infinite values, or zero everywhere."""
    wrong = log_phi.isnan() | (log_phi == torch.inf)
    if wrong.any() or (log_phi == -torch.inf).all(dim=-1).any():
        raise ValueError(
            "phi must be finite, at least 0 and not 0 at every eigenvalue, got the logarithms "
            f"{log_phi.detach().flatten()[:10].tolist()}"
        )


def _look_up(table: Tensor, positions: Tensor, n_trailing: int) -> Tensor:
    """Entries of a batch of tables: (*b1, t) at (*b2, ...) gives (*b, ...)."""
    trailing = positions.shape[positions.dim() - n_trailing :]
    batch = np.broadcast_shapes(table.shape[:-1], positions.shape[:-n_trailing])
    flat = positions.expand(*batch, *trailing).flatten(-n_trailing)
    return table.expand(*batch, -1).gather(-1, flat).reshape(*batch, *trailing)
