"""The string kernel against a count of common sub-sequences."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from heat_plugins.core.covariance import STARTING_TOTALS
from heat_plugins.core.string_kernel import DECAYS, LARGEST_ALPHABET, LONGEST, StringKernel


def features_of(string, gap, match):
    """All sub-sequences with what each is worth: match for a symbol, gap for a skipped one."""
    features = defaultdict(float)
    for length in range(1, LONGEST + 1):
        for places in itertools.combinations(range(len(string)), length):
            skipped = places[-1] - places[0] + 1 - length
            features[tuple(string[list(places)])] += match**length * gap**skipped
    return features


def by_counting(left, right, gap, match):
    def product(a, b):
        return sum(value * b[key] for key, value in a.items() if key in b)

    ours = [features_of(string, gap, match) for string in left]
    others = [features_of(string, gap, match) for string in right]
    return np.array(
        [[product(a, b) / np.sqrt(product(a, a) * product(b, b)) for b in others] for a in ours]
    )


@pytest.mark.parametrize("n_symbols", [3, LARGEST_ALPHABET + 1])  # by words, by pairs
@pytest.mark.parametrize("length", [1, 2, 3, 6])
@pytest.mark.parametrize("pair", range(len(DECAYS)))
def test_kernel_counts_common_subsequences(pair, length, n_symbols):
    rng = np.random.default_rng(length)
    points = rng.integers(3, size=(9, length + 2)).astype(float)
    columns = np.arange(1, length + 1)
    kernel, theta = StringKernel(columns, n_symbols), np.array([float(pair)])
    expected = by_counting(points[:, columns], points[:, columns], *DECAYS[pair])
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-12)
    others = rng.integers(3, size=(4, length + 2)).astype(float)
    crossed = by_counting(others[:, columns], points[:, columns], *DECAYS[pair])
    np.testing.assert_allclose(kernel.given(theta, points)(others), crossed, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("n_symbols", [3, LARGEST_ALPHABET + 1])
def test_no_points_have_no_covariances(n_symbols):
    """A search may have none left to look at."""
    points = np.zeros((5, 4))
    cross = StringKernel(np.arange(4), n_symbols).given(np.array([0.0]), points)
    assert cross(points[:0]).shape == (0, 5)


def test_many_pairs_are_the_same_in_pieces(monkeypatch):
    points = np.random.default_rng(0).integers(4, size=(20, 7)).astype(float)
    kernel = StringKernel(np.arange(7), LARGEST_ALPHABET + 1)
    whole = kernel.matrix(np.array([2.0]), kernel.prepare(points))
    monkeypatch.setattr("heat_plugins.core.string_kernel.PAIRS_AT_ONCE", 7)
    np.testing.assert_array_equal(kernel.matrix(np.array([2.0]), kernel.prepare(points)), whole)


def test_words_and_pairs_agree_where_symbols_are_missing():
    """A parameter that does not exist is a gap."""
    rng = np.random.default_rng(1)
    points = rng.integers(3, size=(12, 6)).astype(float)
    points[rng.random(points.shape) < 0.2] = np.nan
    by_words, by_pairs = (StringKernel(np.arange(6), n) for n in (3, LARGEST_ALPHABET + 1))
    theta = np.array([1.0])
    np.testing.assert_allclose(
        by_words.matrix(theta, by_words.prepare(points)),
        by_pairs.matrix(theta, by_pairs.prepare(points)),
        rtol=0.0,
        atol=1e-12,
    )


def test_a_shifted_string_is_more_alike_than_another():
    kernel = StringKernel(np.arange(6), 3)
    strings = np.array([[0, 1, 2, 0, 1, 2], [1, 2, 0, 1, 2, 0], [0, 0, 0, 0, 0, 0]], dtype=float)
    matrix = kernel.matrix(np.array([0.0]), kernel.prepare(strings))
    assert matrix[0, 1] > 2.0 * matrix[0, 2]


def test_every_pair_of_decays_is_tried():
    kernel = StringKernel(np.arange(3), 2)
    starts = [kernel.start(total)[0] for total in STARTING_TOTALS]
    assert starts == list(range(len(DECAYS)))
    assert kernel.bounds.tolist() == [[0.0, len(DECAYS) - 1.0]]
    value, gradient = kernel.prior(np.array([3.0]))
    assert value == 0.0 and gradient.tolist() == [0.0]
