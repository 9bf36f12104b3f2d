"""Kernels that ignore permutations, by listing these."""

import itertools

import numpy as np

from heat_plugins.kernels.permutations import closure

from .hamming import distances


def group_of(generators, d, block=None):
    """All permutations (G, d) that generators make; of a block of columns, if None."""
    if generators is not None:
        return closure(generators, 10_000)
    block = list(range(d)) if block is None else block
    elements = []
    for images in itertools.permutations(block):
        element = np.arange(d)
        element[block] = images
        elements.append(element)
    return np.array(elements)


def _over_all_pairs(left, right, rates, group):
    """(G^2, m, l) heat kernels of all images of both points."""
    return np.array(
        [
            np.exp(-distances(left[:, g], right[:, h], rates))
            for g, h in itertools.product(group, group)
        ]
    )


def group_mean(left, right, rates, group):
    """Mean over both points' images of the heat kernel."""
    return _over_all_pairs(left, right, rates, group).mean(axis=0)


def group_product(left, right, rates, group):
    """Geometric mean over both points' images of the heat kernel."""
    return np.exp(np.log(_over_all_pairs(left, right, rates, group)).mean(axis=0))


def normalised(kernel):
    """The kernel over the square roots of its diagonals."""

    def divided(left, right, *arguments):
        scales = [np.sqrt(np.diagonal(kernel(x, x, *arguments))) for x in (left, right)]
        return kernel(left, right, *arguments) / np.outer(*scales)

    return divided


def sorted_block(points, block):
    """Points with the codes of a block in ascending order."""
    result = points.copy()
    result[:, block] = np.sort(points[:, block], axis=1)
    return result


def padded_block(points, block, g):
    """(n, g l) binary codes: each category of a block fills as many positions as it occurs."""
    counts = (points[:, block][:, :, None] == np.arange(g)).sum(axis=1)  # (n, g)
    return (counts[:, :, None] > np.arange(len(block))).reshape(len(points), -1).astype(float)
