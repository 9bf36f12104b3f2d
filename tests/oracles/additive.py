"""Sums over all sets of variables."""

import itertools

import numpy as np


def elementary_symmetric(values, q):
    """Sum over all sets of q of some arrays (U, ...) of their product."""
    sets = itertools.combinations(range(len(values)), q)
    return sum(np.prod(np.asarray(values)[list(some)], axis=0) for some in sets)


def factors(left, right, rates):
    """(d, m, l) heat kernels of single variables."""
    return np.exp(-np.asarray(rates) * (left[:, None] != right[None, :])).transpose(2, 0, 1)


def orthogonal_factors(left, right, rates, sizes):
    """(d, m, l) the same without their means over all choices: k / M - m m' / M^2."""
    factors = []
    for i, (rate, g) in enumerate(zip(rates, sizes, strict=True)):
        choices = np.arange(g)
        table = np.exp(-rate * (choices[:, None] != choices))
        means, mean = table.mean(axis=1), table.mean()
        table = table / mean - np.outer(means, means) / mean**2
        factors.append(table[np.ix_(left[:, i].astype(int), right[:, i].astype(int))])
    return np.array(factors)


def plain_orders(left, right, rates, variances):
    """sum_q v_q (mean over all sets of q variables of their product), q = 1, 2, ..."""
    base_kernels = factors(left, right, rates)
    ones = np.ones(len(base_kernels))
    return sum(
        v * elementary_symmetric(base_kernels, q) / elementary_symmetric(ones, q)
        for q, v in enumerate(variances, start=1)
    )


def orthogonal_orders(left, right, rates, sizes, order_variances):
    """sum_q tau_q e_q of orthogonal factors, q = 0, 1, ..., over the variance of any point."""
    point = left[:1]
    total, own = (
        sum(tau * elementary_symmetric(base_kernels, q) for q, tau in enumerate(order_variances))
        for base_kernels in (
            orthogonal_factors(left, right, rates, sizes),
            orthogonal_factors(point, point, rates, sizes),
        )
    )
    return total / own


def decomposition(left, right, rates, components):
    """Mean over the components of the product of their variables."""
    base_kernels = factors(left, right, rates)
    return np.mean(
        [base_kernels[list(component)].prod(axis=0) for component in components], axis=0
    )
