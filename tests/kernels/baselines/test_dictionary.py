"""Anchor points of a Hamming embedding."""

from itertools import combinations

import numpy as np

from heat_plugins.kernels.baselines.dictionary import diverse_dictionary


def test_dictionary_holds_codes_and_repeats_categories():
    sizes = (2, 5, 1, 5, 3)
    anchors = diverse_dictionary(sizes, 400, np.random.default_rng(0))
    assert anchors.shape == (400, 5) and anchors.dtype == np.int64
    assert (anchors >= 0).all() and (anchors < np.array(sizes)).all()
    assert all(set(anchors[:, i]) == set(range(g)) for i, g in enumerate(sizes))
    np.testing.assert_array_equal(
        anchors, diverse_dictionary(sizes, 400, np.random.default_rng(0))
    )
    # Two entries agree with probability E[sum theta^2] = 2 / (g + 1), uniform points with 1 / g.
    anchors = diverse_dictionary((4,) * 30, 2000, np.random.default_rng(1))
    agreement = np.mean([anchors[:, i] == anchors[:, j] for i, j in combinations(range(30), 2)])
    assert abs(agreement - 2 / 5) < 0.02
    # Over all anchors no category is preferred.
    assert np.abs(np.bincount(anchors.ravel()) / anchors.size - 0.25).max() < 0.02
