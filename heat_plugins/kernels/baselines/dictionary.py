"""Dictionaries of anchor points for the Hamming embedding of BODi, the kernel "hed".

References:
    Deshwal et al., "Bayesian optimization over high-dimensional combinatorial spaces via
    dictionary-based embeddings", AISTATS 2023 (BODi), section 4.
    Papenmeier, Nardi and Poloczek, "Bounce", NeurIPS 2023, on what this sampling favours.
"""

from collections.abc import Sequence

import numpy as np

from heat_plugins.space import Indices

__all__ = ["diverse_dictionary"]


def diverse_dictionary(
    n_choices: Sequence[int], n_anchors: int, rng: np.random.Generator
) -> Indices:
    """Draw anchor points, each from category probabilities of its own.

    For each anchor, probabilities of the categories are drawn uniformly from the simplex (a flat
    Dirichlet distribution) and all entries of the anchor are drawn from them. Such anchors
    repeat few categories more often than uniform points do, and the same code in all variables
    most of all: this is why BODi prefers optima of repeated categories.

    A variable with fewer choices than the largest one uses a random subset of the probabilities,
    rescaled to sum to one.

    Args:
        n_choices: number of choices of each variable.
        n_anchors: number of anchor points M.
        rng: source of randomness.

    Returns:
        (M, d) integer codes.
    """
    sizes = np.asarray(n_choices, dtype=np.int64)
    if sizes.ndim != 1 or sizes.size == 0 or (sizes < 1).any():
        raise ValueError(f"n_choices must be integers of at least 1, got {list(n_choices)}")
    if n_anchors < 1:
        raise ValueError(f"n_anchors must be at least 1, got {n_anchors}")
    largest, d = int(sizes.max()), len(sizes)
    theta = rng.dirichlet(np.ones(largest), size=n_anchors)  # (M, largest)
    # A random order of the probabilities per anchor and variable; its first g_i entries are the
    # subset. Variables of the largest size keep the common order.
    order = rng.random((n_anchors, d, largest)).argsort(axis=-1)
    order[:, sizes == largest] = np.arange(largest)
    weights = np.take_along_axis(np.broadcast_to(theta[:, None], order.shape), order, axis=-1)
    weights = np.where(np.arange(largest) < sizes[:, None], weights, 0.0)
    # Inverse of the cumulative distribution; the minimum guards against rounding of its end.
    cumulative = weights.cumsum(axis=-1)
    draws = rng.random((n_anchors, d, 1)) * cumulative[..., -1:]
    codes = np.minimum((draws >= cumulative).sum(axis=-1), sizes - 1)
    return np.asarray(codes, dtype=np.int64)
