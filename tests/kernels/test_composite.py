"""Products, sums and mixtures of kernels."""

import numpy as np
import pytest

from heat_plugins.kernels.base_kernels import ChoiceKernel, FixedDistance
from heat_plugins.kernels.composite import Combined, split
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import Columns, FeatureMap
from heat_plugins.space import Categorical, Float, Space

SPACE = Space((Categorical("a", range(3)), Categorical("b", range(4)), Float("f", 0, 1)))


def children():
    return [
        ChoiceKernel(0, FixedDistance.unordered(3)),
        DistanceKernel(FeatureMap([Columns(SPACE, np.array([1, 2]))])),
        ChoiceKernel(1, FixedDistance.of_places(np.array([0.0, 0.1, 0.6, 1.0]))),
    ]


THETA = np.array([0.3, -0.5, 1.0, 0.2, -1.0])
POINTS = SPACE.sample(12, np.random.default_rng(0))


def of_children():
    kernels = children()
    return [
        k.matrix(t, k.prepare(POINTS)) for k, t in zip(kernels, split(THETA, kernels), strict=True)
    ]


def test_split_follows_the_children():
    parts = split(np.arange(9.0), children())
    assert [part.tolist() for part in parts] == [[0.0], [1.0, 2.0, 3.0], [4.0]]


@pytest.mark.parametrize("how", ["product", "sum", "mixture"])
def test_children_are_combined(how):
    combined, kernels = Combined(children(), how), of_children()
    logit = np.array([0.7]) if how == "mixture" else np.zeros(0)
    theta = np.concatenate([THETA, logit])
    product, mean = np.prod(kernels, axis=0), np.mean(kernels, axis=0)
    share = {"product": 1.0, "sum": 0.0, "mixture": 1.0 / (1.0 + np.exp(-0.7))}[how]
    expected = share * product + (1.0 - share) * mean
    assert combined.n_hyperparameters == len(theta) == len(combined.bounds)
    matrix = combined.matrix(theta, combined.prepare(POINTS))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(
        combined.cross_covariance(theta, POINTS)(POINTS[:4]), expected[:4], rtol=0.0, atol=1e-14
    )


def test_mixture_has_sum_and_product_as_its_ends():
    mixture = Combined(children(), "mixture")
    (low, high), kernels = mixture.bounds[-1], of_children()
    for logit, expected in ((low, np.mean(kernels, axis=0)), (high, np.prod(kernels, axis=0))):
        matrix = mixture.matrix(np.append(THETA, logit), mixture.prepare(POINTS))
        np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=3e-3)


def test_prior_is_that_of_the_children_and_of_the_share():
    kernels = children()
    expected = sum(k.prior(t)[0] for k, t in zip(kernels, split(THETA, kernels), strict=True))
    assert Combined(children(), "product").prior(THETA)[0] == pytest.approx(expected)
    mixture = Combined(children(), "mixture")
    value, gradient = mixture.prior(np.append(THETA, 1.0))
    assert value == pytest.approx(expected + 0.5 * (1.0 / 2.0) ** 2)
    assert gradient[-1] == pytest.approx(1.0 / 4.0)


@pytest.mark.parametrize("how", ["product", "sum", "mixture"])
def test_total_is_divided_among_the_children(how):
    combined = Combined(children(), how)
    parts = split(combined.start(6.0), combined.children)
    for child, part in zip(combined.children, parts, strict=True):
        np.testing.assert_allclose(part, child.start(2.0))
    if how == "mixture":
        assert combined.start(6.0)[-1] == 0.0
