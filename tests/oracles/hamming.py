"""Kernels of Hamming distances, pair by pair of points."""

import numpy as np


def differs(left, right):
    """(m, l, d) whether points (m, d) and (l, d) differ in each variable."""
    return left[:, None] != right[None, :]


def distances(left, right, weights):
    """(m, l) weighted Hamming distances."""
    return (differs(left, right) * weights).sum(axis=-1)


def one_hot(points, sizes):
    """(n, sum of sizes) indicators of codes (n, d)."""
    return np.concatenate(
        [points[:, [i]] == np.arange(g) for i, g in enumerate(sizes)], axis=1
    ).astype(float)


def squared_distances(left, right):
    """(m, l) squared Euclidean distances."""
    return ((left[:, None] - right[None, :]) ** 2).sum(axis=-1)


def matern52(r):
    """Matern function of smoothness 5/2."""
    return (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r)


def hed(left, right, anchors, lengthscale):
    """BODi: a Matern kernel of the mean mismatches with each anchor."""
    embedded = [differs(x, anchors).mean(axis=-1) for x in (left, right)]
    return matern52(np.sqrt(squared_distances(*embedded)) / lengthscale)
