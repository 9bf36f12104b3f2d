"""The probability of feasibility: against scipy, and its gradient against differences."""

import numpy as np
import pytest
from scipy import stats

from heat_plugins.acquisition.feasibility import LogFeasibility, Sum
from heat_plugins.acquisition.log_ei import LogExpectedImprovement
from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes

SPACE = Space(
    (
        Float("x", -1, 1),
        Categorical("c", "abcd"),
        Float("lr", 1e-3, 1.0, log=True),
        Ordinal("o", range(5)),
        Integer("i", 0, 9),
    )
)
NUMERIC = np.flatnonzero(~SPACE.is_discrete)
FUNCTIONS = (
    lambda p: np.sin(5.0 * p[:, 0]) + 0.5 * p[:, 1] + p[:, 2] ** 2,
    lambda p: np.cos(4.0 * p[:, 0]) - 0.3 * p[:, 1] + p[:, 4],
    lambda p: (p[:, 2] - 0.4) ** 2 + 0.2 * p[:, 3],
)
# From nearly certain over possible to hopeless, where the probability itself is 0.
SHIFTS = pytest.mark.parametrize("shift", [5.0, 0.0, -5.0, -60.0])


@pytest.fixture(scope="module")
def surrogates():
    rng = np.random.default_rng(0)
    points = SPACE.sample(25, rng)
    pending = SPACE.sample(2, rng)
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    made = []
    for function in FUNCTIONS:
        values = function(points)
        values = (values - values.mean()) / values.std()
        found = fit(kernel, points, values, deterministic=False)
        made.append(Surrogate(kernel, found.hyperparameters, points, values, pending))
    return made


def limits_of(shift, n):
    return [0.3 + shift, -0.2 + shift, shift][:n]


@pytest.mark.parametrize("n", [1, 2, 3])
@SHIFTS
def test_it_is_the_log_of_the_product_of_probabilities(surrogates, n, shift):
    points = SPACE.sample(30, np.random.default_rng(1))
    limits = limits_of(shift, n)
    expected = np.zeros(30)
    for surrogate, limit in zip(surrogates, limits, strict=False):
        mean, variance = surrogate.posterior(points)
        expected += stats.norm.logcdf(limit, loc=mean, scale=np.sqrt(variance))
    found = LogFeasibility(surrogates[:n], limits)(points)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert np.all(found <= 0.0) and np.all(np.isfinite(found))


def differences(function, point):
    step = 1e-5
    ends = np.repeat(point[None], 2 * len(NUMERIC), axis=0)
    for i, column in enumerate(NUMERIC):
        ends[2 * i, column] += step
        ends[2 * i + 1, column] -= step
    values = function(ends)
    return (values[::2] - values[1::2]) / (2.0 * step)


@pytest.mark.parametrize("n", [1, 3])
@SHIFTS
def test_gradient_is_that_of_the_values(surrogates, n, shift):
    function = LogFeasibility(surrogates[:n], limits_of(shift, n))
    for point in SPACE.sample(10, np.random.default_rng(2)):
        value, gradient = function.value_and_gradient(point, NUMERIC)
        assert value == pytest.approx(function(point[None])[0], rel=1e-9, abs=1e-12)
        scale = max(abs(value), 1e-3)
        expected = differences(function, point)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5 * scale)


@SHIFTS
def test_gradient_is_finite_where_everything_is_known(surrogates, shift):
    function = LogFeasibility(surrogates, limits_of(shift, 3))
    for point in surrogates[0].points:
        value, gradient = function.value_and_gradient(point, NUMERIC)
        assert np.isfinite(value) and np.all(np.isfinite(gradient))


def test_gradient_of_no_columns_is_empty(surrogates):
    point, none = surrogates[0].points[0], np.empty(0, dtype=np.int64)
    value, gradient = LogFeasibility(surrogates, [0.0] * 3).value_and_gradient(point, none)
    assert value == pytest.approx(LogFeasibility(surrogates, [0.0] * 3)(point[None])[0])
    assert gradient.shape == (0,)


def test_values_of_changes_are_those_of_the_changed_points(surrogates):
    function = LogFeasibility(surrogates, limits_of(0.0, 3))
    rng = np.random.default_rng(3)
    for point in SPACE.sample(5, rng):
        columns = rng.integers(len(SPACE), size=30)
        coordinates = SPACE.sample(30, rng)[np.arange(30), columns]
        np.testing.assert_allclose(
            function.of_changes(point, columns, coordinates),
            function(apply_changes(point, columns, coordinates)),
            rtol=1e-8,
            atol=1e-8,
        )


def test_a_higher_limit_is_more_probable(surrogates):
    points = SPACE.sample(20, np.random.default_rng(4))
    limits = np.linspace(-30.0, 3.0, 40)
    values = np.array([LogFeasibility(surrogates[:1], [limit])(points) for limit in limits])
    assert np.all((np.diff(values, axis=0) > 0.0) | (values[1:] > -1e-12))


def test_a_sum_is_the_sum_of_its_terms(surrogates):
    terms = [
        LogExpectedImprovement(surrogates[0], -1.0),
        LogFeasibility(surrogates[1:], [0.2, -0.1]),
        LogFeasibility(surrogates[:1], [0.5]),
    ]
    weights = [1.0, 0.5, 3.0]
    total = Sum(terms, weights)

    def summed(values):
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    rng = np.random.default_rng(5)
    points = SPACE.sample(12, rng)
    expected = summed(term(points) for term in terms)
    np.testing.assert_allclose(total(points), expected, rtol=1e-12)
    columns = rng.integers(len(SPACE), size=12)
    coordinates = points[np.arange(12), columns]
    np.testing.assert_allclose(
        total.of_changes(points[0], columns, coordinates),
        summed(term.of_changes(points[0], columns, coordinates) for term in terms),
        rtol=1e-12,
    )
    value, gradient = total.value_and_gradient(points[0], NUMERIC)
    each = [term.value_and_gradient(points[0], NUMERIC) for term in terms]
    assert value == pytest.approx(summed(v for v, _ in each))
    np.testing.assert_allclose(gradient, summed(g for _, g in each), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(total, points[0]), rtol=1e-4, atol=1e-4)
