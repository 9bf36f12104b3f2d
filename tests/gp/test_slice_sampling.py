"""Samples have the distribution that they should have."""

import numpy as np
import pytest
from scipy import stats

from heat_plugins.gp.slice_sampling import slice_samples

WIDE = np.array([[-50.0, 50.0], [-50.0, 50.0]])


def test_samples_of_a_normal_distribution_have_its_moments() -> None:
    covariance = np.array([[1.0, 0.8], [0.8, 2.0]])
    target = stats.multivariate_normal([1.0, -3.0], covariance)
    rng = np.random.default_rng(0)
    samples = slice_samples(target.logpdf, np.zeros(2), WIDE, 4000, 50, rng)
    np.testing.assert_allclose(samples.mean(axis=0), [1.0, -3.0], atol=0.15)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.3)


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_samples_keep_their_bounds_and_fill_them(low: float) -> None:
    """Of a distribution that is cut off; compared with that of the same density."""
    bounds = np.array([[low, 2.0]])
    rng = np.random.default_rng(1)
    samples = slice_samples(lambda x: -0.5 * float(x[0] ** 2), np.ones(1), bounds, 4000, 20, rng)
    assert samples.min() >= low
    assert samples.max() <= 2.0
    thinned = samples[::4, 0]
    assert stats.kstest(thinned, stats.truncnorm(low, 2.0).cdf).pvalue > 1e-3


def test_what_has_one_value_keeps_it() -> None:
    bounds = np.array([[3.0, 3.0], [-5.0, 5.0]])
    samples = slice_samples(
        lambda x: -float(x @ x), np.array([3.0, 0.0]), bounds, 20, 0, np.random.default_rng(2)
    )
    assert np.all(samples[:, 0] == 3.0)
    assert len(np.unique(samples[:, 1])) == 20


def test_the_same_seed_gives_the_same_samples() -> None:
    def sample() -> np.ndarray:
        rng = np.random.default_rng(3)
        return slice_samples(lambda x: -float(x @ x), np.zeros(2), WIDE, 5, 1, rng)

    np.testing.assert_array_equal(sample(), sample())
