"""The string kernel against a count of common sub-sequences."""

import numpy as np
import pytest

from heat_plugins.kernels.base import STARTING_TOTALS
from heat_plugins.kernels.baselines.string import DECAYS, LARGEST_ALPHABET, LONGEST, StringKernel

from ...oracles.strings import subsequences


@pytest.mark.parametrize("n_symbols", [3, LARGEST_ALPHABET + 1])  # by words, by pairs
@pytest.mark.parametrize("length", [1, 2, 3, 6])
@pytest.mark.parametrize("pair", range(len(DECAYS)))
def test_kernel_counts_common_subsequences(pair, length, n_symbols):
    rng = np.random.default_rng(length)
    points = rng.integers(3, size=(9, length + 2)).astype(float)
    columns = np.arange(1, length + 1)
    kernel, theta = StringKernel(columns, n_symbols), np.array([float(pair)])
    expected = subsequences(points[:, columns], points[:, columns], *DECAYS[pair], LONGEST)
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-12)
    others = rng.integers(3, size=(4, length + 2)).astype(float)
    crossed = subsequences(others[:, columns], points[:, columns], *DECAYS[pair], LONGEST)
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, points)(others), crossed, rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("n_symbols", [3, LARGEST_ALPHABET + 1])
def test_no_points_have_no_covariances(n_symbols):
    """A search may have none left to look at."""
    points = np.zeros((5, 4))
    cross = StringKernel(np.arange(4), n_symbols).cross_covariance(np.array([0.0]), points)
    assert cross(points[:0]).shape == (0, 5)


def test_many_pairs_are_the_same_in_pieces(monkeypatch):
    points = np.random.default_rng(0).integers(4, size=(20, 7)).astype(float)
    kernel = StringKernel(np.arange(7), LARGEST_ALPHABET + 1)
    whole = kernel.matrix(np.array([2.0]), kernel.prepare(points))
    monkeypatch.setattr("heat_plugins.kernels.baselines.string.PAIRS_AT_ONCE", 7)
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
