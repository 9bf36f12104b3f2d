r"""Kernels that come from the spectrum of graphs of choices.

Each variable is a graph on its choices, the space is the Cartesian product of these graphs, and
a kernel is a function of the product's *unnormalised* Laplacian. Eigenvectors of the product are
products of one eigenvector per variable, and its eigenvalues are sums of one per variable, so no
kernel here ever looks at all the vertices.

* :class:`GraphHeatKernel` is COMBO's kernel: exp(-beta L) of any graphs, a product over the
  variables, with one diffusion time each if wanted.
* :class:`PhiKernel` and its siblings apply a function Phi to the eigenvalues of the product of
  complete graphs, the Hamming graph. Phi(a + b) is in general not Phi(a) Phi(b), so these are
  not products over the variables and have no ARD version.

Phi-kernels on a Hamming graph. Among m variables with g choices the eigenvalue with l
non-constant factors is g l, its multiplicity is M_l = C(m, l) (g - 1)^l, and its eigenvectors
contribute K_l(h) / g^m to points at Hamming distance h, with the Krawtchouk number

    K_l(h) = sum_j (-1)^j (g - 1)^{l - j} C(h, j) C(m - h, l - j),   K_l(0) = M_l >= |K_l(h)|.

Variables are grouped by their number of choices; with one l and one h per group, the kernel
divided by its diagonal is

    k(h) = sum_l p_l prod_groups K_l(h) / M_l,   p_l = M_l Phi(lambda_l) / sum of the same,

where M_l and lambda_l are the product and the sum over the groups. It is a mean of numbers in
[-1, 1] under probabilities p, which are computed from logarithms, so that nothing overflows
however large the space is. A table of k over all h has prod_groups (m + 1) entries.

The notation is that of :mod:`heat_plugins.kernels.formulas`.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from gpytorch import settings
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from heat_plugins.graphs import Graph, adjacency, is_complete, laplacian
from heat_plugins.kernels.hamming import CodesKernel, positive_parameter, weighted_mismatches
from heat_plugins.kernels.heat import HeatKernel, _checked_sizes, _one_hot

__all__ = [
    "MAX_TABLE_ENTRIES",
    "GraphHeatKernel",
    "GraphMaternKernel",
    "InversePolynomialKernel",
    "PhiKernel",
]

# Largest table of a Phi-kernel, and largest matrix of Krawtchouk numbers of one group.
MAX_TABLE_ENTRIES = 200_000


class _Eigenpairs(NamedTuple):
    """Spectrum of one variable's Laplacian, in float64 whatever the kernel's type is."""

    values: Tensor  # (g,)
    vectors: Tensor  # (g, g), one eigenvector a column


class GraphHeatKernel(HeatKernel):
    r"""Heat kernel on a product of any graphs, the kernel of COMBO.

    k(x, x') = prod_i sum_j e^{-b_i lambda_ij} f_ij(x_i) f_ij(x'_i)

    with the eigenpairs (lambda_ij, f_ij) of the unnormalised Laplacian L_i of variable i's
    graph and its diffusion time b_i: one for all variables, or one each. Factor i is the entry
    of exp(-b_i L_i) at the two choices. Complete graphs take the closed form of
    :class:`heat_plugins.kernels.heat.HeatKernel` and need no eigenpairs; those of other graphs
    are computed once, when the kernel is created. The graphs are part of the kernel's
    definition and not of its state dict.

    By default each factor is divided by sqrt(k_i(x_i, x_i) k_i(x'_i, x'_i)), so that
    k(x, x) = 1. On a complete graph or a cycle this is a constant. On a path it is not: heat
    leaves an end in one direction only, so the plain heat kernel gives the ends up to twice the
    variance of the middle, and over d variables up to 2^d times. A Gaussian process would then
    look for extreme values in the corners for no reason that lies in the data.

    References:
        Oh et al., "Combinatorial Bayesian optimization using the graph Cartesian product",
        NeurIPS 2019. "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian
        Optimization", NeurIPS 2025, equation combo_kernel.

    Attributes:
        n_choices: see :class:`heat_plugins.kernels.heat.HeatKernel`.
        raw_beta: (*batch_shape, 1, d) or (*batch_shape, 1, 1) unconstrained parameter.
        normalize: whether k(x, x) = 1.
    """

    def __init__(
        self,
        n_choices: int | Sequence[int],
        graphs: Graph | Sequence[Graph] = "complete",
        ard_num_dims: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        beta_prior: Prior | None = None,
        beta_constraint: Interval | None = None,
        *,
        normalize: bool = True,
        spectral: bool = False,
    ) -> None:
        """Create the kernel; every diffusion time starts at ln 2 unless the constraint says else.

        Args:
            n_choices: number of choices of each variable, in the order of the columns the
                kernel sees (after ``active_dims``); one integer if all have equally many.
            graphs: a name, ``"complete"``, ``"path"`` or ``"cycle"``, for all variables. If
                ``n_choices`` is a sequence, otherwise a sequence with one graph a variable;
                if it is one integer, otherwise one graph for all variables. A graph is
                anything :func:`heat_plugins.graphs.adjacency` takes: a name, an adjacency
                matrix or a networkx graph.
            ard_num_dims: number of variables d for one diffusion time each, None for one in all.
            batch_shape: batch shape of the diffusion times.
            active_dims: columns of the input that hold the variables, None for all.
            beta_prior: prior on the diffusion times.
            beta_constraint: constraint on the diffusion times, ``Positive()`` if None.
            normalize: whether to divide by the diagonal; False for the plain heat kernel.
            spectral: whether to use numerical eigenpairs for complete graphs too, as COMBO's
                implementations do; for comparisons.
        """
        super().__init__(
            n_choices, ard_num_dims, batch_shape, active_dims, beta_prior, beta_constraint
        )
        self.normalize = normalize
        # One entry a variable, or one for all; None where the closed form serves.
        self._eigenpairs = [
            _eigenpairs(graph, g, f"variable {i}", spectral)
            for i, (graph, g) in enumerate(_one_graph_each(graphs, n_choices))
        ]
        # On other graphs than complete ones, more matters than whether x - x' is zero.
        self.is_stationary = all(pair is None for pair in self._eigenpairs)

    @property
    def rates(self) -> Tensor:
        """Prices of one mismatch, as in ``HeatKernel``; 0 for variables with eigenpairs."""
        closed = torch.tensor([pair is None for pair in self._eigenpairs])
        rates = super().rates
        return torch.where(closed.to(rates.device), rates, torch.zeros_like(rates))

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel; arguments and shapes are those of ``HeatKernel.forward``."""
        # The variables with complete graphs; the others have rate 0 and factor 1.
        product = super().forward(x1, x2, diag=diag, last_dim_is_batch=last_dim_is_batch)
        variables = range(x1.shape[-1])
        if last_dim_is_batch:
            axis = -2 if diag else -3  # Of the variables.
            shape = product.select(axis, 0).shape
            factors = [self._factor(i, x1, x2, product.dtype, diag) for i in variables]
            return product * torch.stack([factor.expand(shape) for factor in factors], axis)
        for i in variables:
            if self._pair(i) is not None or not self.normalize:
                product = product * self._factor(i, x1, x2, product.dtype, diag)
        return product

    def _factor(self, i: int, x1: Tensor, x2: Tensor, dtype: torch.dtype, diag: bool) -> Tensor:
        """What the closed form lacks of variable i, broadcasting with (..., n, m) or (..., n)."""
        g = self._sizes(x1.shape[-1])[i]
        beta = self.beta[..., i % self.beta.shape[-1]].unsqueeze(-1)  # (..., 1, 1)
        pair = self._pair(i)
        if pair is None:
            scale = torch.ones_like(beta) if self.normalize else _variance(beta, g)
            return (scale.squeeze(-1) if diag else scale).to(dtype)
        features = _heat_features(pair, beta, self.normalize).to(dtype)  # (..., g, g)
        one = _one_hot(x1[..., i : i + 1], [g], dtype) @ features  # (..., n, g)
        two = _one_hot(x2[..., i : i + 1], [g], dtype) @ features  # (..., m, g)
        return (one * two).sum(dim=-1) if diag else one @ two.mT

    def _pair(self, i: int) -> _Eigenpairs | None:
        """Eigenpairs of variable i; all variables share them if n_choices is one number."""
        return self._eigenpairs[i % len(self._eigenpairs)]


class _SpectralKernel(CodesKernel):
    """Base of the Phi-kernels on a Hamming graph: everything but Phi."""

    def __init__(
        self,
        n_choices: int | Sequence[int],
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        sizes = _checked_sizes(n_choices)
        super().__init__(n_choices, batch_shape=batch_shape, active_dims=active_dims)
        if self._n_variables is not None:
            _spectrum(tuple(sizes))  # Refuses too large a space at once.

    @abstractmethod
    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi.

        Args:
            eigenvalues: (t,) eigenvalues of the product graph, float64.

        Returns:
            (t,) or (*batch_shape, t) logarithms, -inf where Phi is 0.
        """

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Tensor:
        """Evaluate the kernel.

        Args:
            x1: (..., n, d) integer codes, held as floats.
            x2: (..., m, d) integer codes.
            diag: whether to compare the points pairwise, row by row (n = m).
            last_dim_is_batch: whether to return one kernel per variable, that of its graph
                alone. Their product is not the kernel, unless Phi is an exponential function.
            **params: ignored, for the kernels that GPyTorch combines.

        Returns:
            (..., n, m) kernel matrix, or (..., n) if ``diag``; with ``last_dim_is_batch``
            (..., d, n, m) or (..., d, n).
        """
        sizes = self.checked_sizes(x1, x2)
        assert sizes is not None  # n_choices is not optional here.
        dtype = torch.promote_types(x1.dtype, self.dtype)
        if last_dim_is_batch:
            rho = torch.stack([self.table([g])[..., -1] for g in sizes], dim=-1)  # (..., d)
            prices = weighted_mismatches(
                x1, x2, (1.0 - rho).unsqueeze(-2), sizes, diag=diag, last_dim_is_batch=True
            )
            return (1.0 - prices).to(dtype)
        # The positions in the flat table are a weighted Hamming distance as well: the weight
        # of a variable is the stride of its group. Float64 holds them exactly.
        strides = torch.tensor([_spectrum(tuple(sizes)).strides], dtype=torch.float64)  # (1, d)
        where = weighted_mismatches(x1, x2, strides.to(x1.device), sizes, diag=diag).long()
        return _look_up(self.table(sizes).to(dtype), where, 1 if diag else 2)

    def table(self, n_choices: Sequence[int]) -> Tensor:
        r"""Correlations k(h) on the Hamming graph of variables with the given sizes.

        Args:
            n_choices: number of choices of each variable.

        Returns:
            (*batch_shape, t) correlations, one for each combination of Hamming distances
            within the groups of variables with equally many choices; groups in the order of
            their number of choices, without one-choice variables, the last group fastest.
        """
        spectrum = _spectrum(tuple(n_choices)).to(self.device)
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
    kappa = positive_parameter("kappa", "Lengthscale kappa, (*batch_shape, 1, 1).")

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
        self.add_parameter("kappa", 1, kappa_prior, kappa_constraint)

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
    coefficients = positive_parameter("coefficients", "Coefficients b, (*batch_shape, 1, P).")
    epsilon = positive_parameter("epsilon", "Offset epsilon, (*batch_shape, 1, 1).")

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
        self.add_parameter("coefficients", n_terms, coefficients_prior, coefficients_constraint)
        self.add_parameter("epsilon", 1, epsilon_prior, epsilon_constraint)

    def log_phi(self, eigenvalues: Tensor) -> Tensor:
        """Logarithm of Phi."""
        # The floor leaves room for 1 / epsilon, and for its gradient, if epsilon underflowed.
        floor = math.sqrt(torch.finfo(self.epsilon.dtype).tiny)
        epsilon = self.epsilon.clamp_min(floor).to(eigenvalues.dtype)
        coefficients = self.coefficients.mT.to(eigenvalues.dtype)  # (..., P, 1)
        powers = torch.arange(coefficients.shape[-2], device=eigenvalues.device).unsqueeze(-1)
        # The logarithm of a sum of exponentials, because 1 / epsilon may be huge.
        return torch.logsumexp(-(coefficients * eigenvalues**powers + epsilon).log(), dim=-2)


class _Spectrum(NamedTuple):
    """What Phi-kernels need of a Hamming graph; t entries, the last group fastest."""

    eigenvalues: Tensor  # (t,) of the product graph
    log_multiplicities: Tensor  # (t,)
    krawtchouk: tuple[Tensor, ...]  # One (m + 1, m + 1) matrix K_l(h) / K_l(0) per group.
    strides: tuple[int, ...]  # (d,) steps in the table for a mismatch in each variable

    def to(self, device: torch.device | None) -> "_Spectrum":
        """Move the tensors."""
        return _Spectrum(
            self.eigenvalues.to(device),
            self.log_multiplicities.to(device),
            tuple(matrix.to(device) for matrix in self.krawtchouk),
            self.strides,
        )


# Kept here and not in the kernels: it is not small, and the same for all that share a space.
@lru_cache(maxsize=32)
def _spectrum(sizes: tuple[int, ...]) -> _Spectrum:
    """Eigenvalues of the Hamming graph and their contributions, grouped by size."""
    groups = sorted(Counter(g for g in sizes if g > 1).items())  # (g, m)
    _check_table(groups)
    eigenvalues, log_multiplicities = torch.zeros(1).double(), torch.zeros(1).double()
    for g, m in groups:
        counts = [math.comb(m, level) * (g - 1) ** level for level in range(m + 1)]
        # math.log takes integers of any length.
        logs = torch.tensor([math.log(count) for count in counts], dtype=torch.float64)
        levels = g * torch.arange(m + 1, dtype=torch.float64)
        eigenvalues = (eigenvalues.unsqueeze(-1) + levels).flatten()
        log_multiplicities = (log_multiplicities.unsqueeze(-1) + logs).flatten()
    stride_of, stride = {1: 0}, 1  # A variable with one choice never mismatches.
    for g, m in reversed(groups):
        stride_of[g], stride = stride, stride * (m + 1)
    return _Spectrum(
        eigenvalues,
        log_multiplicities,
        tuple(_krawtchouk(m, g) for g, m in groups),
        tuple(stride_of[g] for g in sizes),
    )


def _krawtchouk(m: int, g: int) -> Tensor:
    r"""(m + 1, m + 1) ratios K_l(h) / K_l(0), rows l and columns h, each correctly rounded.

    K_l(h) is the coefficient of z^l in (1 - z)^h (1 + (g - 1) z)^{m - h}, so from one h to the
    next K_l(h + 1) = K_l(h) - K_{l-1}(h) - (g - 1) K_{l-1}(h + 1). Python's integers are exact,
    and so is the rounding of their quotients.
    """
    first = [math.comb(m, level) * (g - 1) ** level for level in range(m + 1)]
    columns = [first]
    for _ in range(m):
        old, new = columns[-1], [1]
        for level in range(1, m + 1):
            new.append(old[level] - old[level - 1] - (g - 1) * new[level - 1])
        columns.append(new)
    ratios = [[k / k0 for k, k0 in zip(column, first, strict=True)] for column in columns]
    return torch.tensor(ratios, dtype=torch.float64).T.contiguous()


def _check_table(groups: list[tuple[int, int]]) -> None:
    """Refuse spaces with more combinations of distances than a table should hold."""
    entries = math.prod(m + 1 for _, m in groups)
    largest = max([entries, *((m + 1) ** 2 for _, m in groups)])
    if largest > MAX_TABLE_ENTRIES:
        raise ValueError(
            f"tables of a Phi-kernel must have at most {MAX_TABLE_ENTRIES} entries, got {largest} "
            f"for groups of {[m for _, m in groups]} variables with {[g for g, _ in groups]} "
            "choices"
        )


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


def _one_graph_each(
    graphs: Graph | Sequence[Graph], n_choices: int | Sequence[int]
) -> list[tuple[Graph, int]]:
    """Pair graphs with numbers of choices, one pair if these are one number for all."""
    sizes = _checked_sizes(n_choices)
    if isinstance(graphs, str) or isinstance(n_choices, Integral):
        return [(graphs, g) for g in sizes]
    given = list(graphs)
    if len(given) != len(sizes):
        raise ValueError(
            f"graphs must be a name or have len(n_choices) = {len(sizes)} entries, "
            f"got {len(given)}"
        )
    return list(zip(given, sizes, strict=True))


def _eigenpairs(graph: Graph, g: int, name: str, spectral: bool) -> _Eigenpairs | None:
    """Eigenpairs of a graph's Laplacian, or None for the closed form."""
    matrix = adjacency(graph, g, name)
    if is_complete(matrix) and not spectral:
        return None
    values, vectors = np.linalg.eigh(laplacian(matrix))
    # Rounding may turn the smallest eigenvalue, 0, negative.
    return _Eigenpairs(torch.from_numpy(values.clip(min=0.0)), torch.from_numpy(vectors))


def _heat_features(pair: _Eigenpairs, beta: Tensor, normalize: bool) -> Tensor:
    """(..., g, g) matrix A with A A^T = exp(-beta L), or with unit rows if ``normalize``."""
    values, vectors = pair.values.to(beta.device), pair.vectors.to(beta.device)
    features = vectors * torch.exp(-0.5 * beta * values)
    return features / features.norm(dim=-1, keepdim=True) if normalize else features


def _variance(beta: Tensor, g: int) -> Tensor:
    """Diagonal of exp(-beta L) on a complete graph, (1 + (g - 1) e^{-beta g}) / g."""
    return (1.0 + (g - 1.0) * torch.exp(-beta * g)) / g
