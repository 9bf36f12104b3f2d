r"""The heat kernel of a Hamming graph as plain NumPy functions.

These are the definitions everything else is compared with: short, dense and free of
hyperparameter handling. Notation used here and in :mod:`heat_plugins.torch.heat`:

======  ==========================================================  =========
symbol  meaning                                                     shape
======  ==========================================================  =========
n, m    number of points
d       number of variables
g       number of choices of a variable                             ``(d,)``
beta    diffusion time of a variable, > 0                           ``(d,)``
rho     correlation of two points that differ in one variable       ``(d,)``
rate    gamma = -ln(rho), the price of one mismatch                 ``(d,)``
codes   choices written as integers 0, ..., g - 1                   ``(n, d)``
======  ==========================================================  =========

Convention. Each variable is a complete graph on its g choices and the space is the Cartesian
product of these graphs. With the *unnormalised* Laplacian L = D - A of one complete graph
(eigenvalues 0, and g repeated g - 1 times), the heat kernel exp(-beta L) has only two values,

    (1 + (g - 1) e^{-beta g}) / g   on the diagonal,
    (1 - e^{-beta g}) / g           elsewhere,

and the product over the variables, divided by its diagonal, is

    k(x, x') = prod_i rho_i^[x_i != x'_i] = exp(-sum_i rate_i [x_i != x'_i]).

The diagonal is always one; a signal variance belongs to whoever uses the kernel.

Time and rate are two views of one number. From 1/rho = 1 + g / (e^{beta g} - 1) follows

    rate   = ln(1 + g / (e^{beta g} - 1)),
    beta g = ln(1 + g / (e^{rate} - 1)),

the same function in both directions. It turns long diffusion into a small rate and back.

References:
    Kondor and Lafferty, "Diffusion kernels on graphs and other discrete input spaces",
    ICML 2002.
    "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025 (equation kondor_simple, with one beta or one per variable).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from heat_plugins.space import Array

__all__ = ["beta_from_rate", "heat_kernel", "mixed_kernel", "rate", "rate_from_time", "rho"]


def rho(beta: npt.ArrayLike, n_choices: npt.ArrayLike) -> Array:
    r"""Correlation of two points that differ in exactly one variable.

    rho = (1 - e^{-beta g}) / (1 + (g - 1) e^{-beta g})

    It rises from 0 (no diffusion, different choices are unrelated) to 1 (the variable has been
    forgotten). In floating point a long diffusion gives exactly 1.

    Args:
        beta: diffusion times, at least 0; any shape that broadcasts with ``n_choices``.
        n_choices: number of choices of each variable, at least 1.

    Returns:
        Correlations in [0, 1], of the broadcast shape. A variable with one choice can never
        mismatch; its correlation is 1 whatever its diffusion time.
    """
    time, g = _checked(beta, "beta"), _checked_choices(n_choices)
    # expm1 keeps the digits of 1 - e^{-t} when t is tiny.
    decay = np.exp(-time * g)
    correlation = -np.expm1(-time * g) / (1.0 + (g - 1.0) * decay)
    return np.where(g == 1.0, 1.0, correlation)


def rate(beta: npt.ArrayLike, n_choices: npt.ArrayLike) -> Array:
    r"""Price of one mismatch, gamma = -ln(rho).

    Accurate in relative terms at both ends, where taking the logarithm of :func:`rho` is not:
    about g e^{-beta g} for a long diffusion and about -ln(beta) for a short one.

    Args:
        beta: diffusion times, at least 0; any shape that broadcasts with ``n_choices``.
        n_choices: number of choices of each variable, at least 1.

    Returns:
        Rates in [0, inf], of the broadcast shape; 0 for a variable with one choice.
    """
    time, g = _checked(beta, "beta"), _checked_choices(n_choices)
    return np.where(g == 1.0, 0.0, rate_from_time(time * g, g))


def beta_from_rate(rate: npt.ArrayLike, n_choices: npt.ArrayLike) -> Array:
    r"""Diffusion time that gives a rate, the inverse of :func:`rate`.

    e^{-beta g} = (1 - rho) / (1 + (g - 1) rho)   with   rho = e^{-rate}

    Args:
        rate: rates, at least 0; any shape that broadcasts with ``n_choices``.
        n_choices: number of choices of each variable, at least 1.

    Returns:
        Diffusion times in [0, inf], of the broadcast shape. The rate of a variable with one
        choice is 0 for every diffusion time, so none can be recovered; the answer is inf, as
        for any other variable of rate 0.
    """
    gamma, g = _checked(rate, "rate"), _checked_choices(n_choices)
    return np.where(g == 1.0, np.inf, rate_from_time(gamma, g) / g)


def heat_kernel(codes1: npt.ArrayLike, codes2: npt.ArrayLike, rates: npt.ArrayLike) -> Array:
    r"""Heat kernel of the Hamming graph, normalised to k(x, x) = 1.

    k(x, x') = exp(-sum_i rates_i [x_i != x'_i])

    One number for all rates gives the isotropic kernel of variables with equally many choices;
    with unequal numbers the isotropic kernel has one beta and still one rate per variable.

    Args:
        codes1: (n, d) integer codes.
        codes2: (m, d) integer codes.
        rates: (d,) rates, see :func:`rate`.

    Returns:
        (n, m) kernel matrix.
    """
    x1, x2 = np.asarray(codes1), np.asarray(codes2)
    gamma = _checked(rates, "rates")
    _check_columns(x1, x2, rates=gamma)
    mismatch = x1[:, None, :] != x2[None, :, :]  # (n, m, d)
    # A selection, not a product: an infinite rate times "no mismatch" must be 0, not NaN.
    return np.asarray(np.exp(-np.where(mismatch, gamma, 0.0).sum(axis=-1)))


def mixed_kernel(
    points1: npt.ArrayLike,
    points2: npt.ArrayLike,
    weights: npt.ArrayLike,
    is_discrete: npt.ArrayLike,
) -> Array:
    r"""Heat kernel on the discrete columns times RBF kernel on the numeric ones.

    k(x, x') = exp(-sum_{i discrete} w_i [x_i != x'_i] - sum_{j numeric} w_j (x_j - x'_j)^2)

    Both factors are heat kernels, one of a Hamming graph and one of Euclidean space. On a
    discrete column the weight is the rate of :func:`rate`; on a numeric column
    w_j = 1 / (2 l_j^2) for the usual lengthscale l_j.

    Args:
        points1: (n, d) points; discrete columns hold integer codes.
        points2: (m, d) points.
        weights: (d,) weights, at least 0.
        is_discrete: (d,) true where a column holds codes.

    Returns:
        (n, m) kernel matrix with ones for equal points.
    """
    x1, x2 = np.asarray(points1, dtype=np.float64), np.asarray(points2, dtype=np.float64)
    w, discrete = _checked(weights, "weights"), np.asarray(is_discrete, dtype=np.bool_)
    _check_columns(x1, x2, weights=w, is_discrete=discrete)
    hamming = heat_kernel(x1[:, discrete], x2[:, discrete], w[discrete])
    gaps = x1[:, None, ~discrete] - x2[None, :, ~discrete]  # (n, m, number of numeric columns)
    return np.asarray(hamming * np.exp(-(w[~discrete] * gaps**2).sum(axis=-1)))


def rate_from_time(t: Array | float, g: Array | float) -> Array:
    """Return the rate ln(1 + g / (e^t - 1)) of a scaled diffusion time t = beta g.

    The same function turns rates back into times: it is its own inverse in t for every g.

    Written as ln(e^0 + e^{ln u}) with u = g e^{-t} / (1 - e^{-t}): nothing overflows for tiny
    or huge t, and no two nearly equal numbers are subtracted.
    """
    with np.errstate(divide="ignore"):  # t = 0 is allowed and gives infinity.
        log_u = np.log(g) - t - np.log(-np.expm1(-np.asarray(t)))
    return np.asarray(np.logaddexp(0.0, log_u))


def _checked(values: npt.ArrayLike, name: str) -> Array:
    """Return the values as floats; refuse negative numbers and NaN."""
    array = np.asarray(values, dtype=np.float64)
    if not np.all(array >= 0.0):
        raise ValueError(f"{name} must be at least 0, got {array.tolist()}")
    return array


def _checked_choices(n_choices: npt.ArrayLike) -> Array:
    """Return numbers of choices as floats; refuse fractions and numbers below one."""
    array = np.asarray(n_choices, dtype=np.float64)
    if not np.all((array >= 1.0) & (array == np.floor(array)) & np.isfinite(array)):
        raise ValueError(f"n_choices must be integers of at least 1, got {array.tolist()}")
    return array


def _check_columns(
    x1: npt.NDArray[Any], x2: npt.NDArray[Any], **vectors: npt.NDArray[Any]
) -> None:
    """Refuse points that are not (n, d) and (m, d), or vectors that are not (d,)."""
    if x1.ndim != 2 or x2.ndim != 2 or x1.shape[1] != x2.shape[1]:
        raise ValueError(f"points must have shapes (n, d) and (m, d), got {x1.shape}, {x2.shape}")
    for name, vector in vectors.items():
        if vector.shape != (x1.shape[1],):
            raise ValueError(f"{name} must have shape {(x1.shape[1],)}, got {vector.shape}")
