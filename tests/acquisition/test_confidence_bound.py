"""The confidence bound, and acquisitions averaged over models, against their definitions."""

import math
from typing import Any

import numpy as np
import pytest

from heat_plugins.acquisition.average import LogMean
from heat_plugins.acquisition.confidence_bound import ConfidenceBound, exploration
from heat_plugins.acquisition.log_ei import LogExpectedImprovement
from heat_plugins.batch_function import BatchFunction
from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Integer, Space, apply_changes

SPACE = Space((Float("x", -1, 1), Categorical("c", "abcd"), Integer("i", 0, 9), Float("y", 0, 1)))
NUMERIC = np.flatnonzero(~SPACE.is_discrete)
POINTS = SPACE.sample(12, np.random.default_rng(1))


def surrogate_with(total: float) -> Surrogate:
    points = SPACE.sample(20, np.random.default_rng(0))
    values = np.sin(5.0 * points[:, 0]) + 0.5 * points[:, 1]
    values = (values - values.mean()) / values.std()
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    return Surrogate(kernel, Hyperparameters(kernel.start(total), math.log(1e-2)), points, values)


SURROGATES = [surrogate_with(total) for total in (0.5, 2.0, 8.0)]
FUNCTIONS: dict[str, BatchFunction] = {
    "bound": ConfidenceBound(SURROGATES[1], 1.7),
    "mean": LogMean([LogExpectedImprovement(surrogate, -1.0) for surrogate in SURROGATES]),
}


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_bound_is_deviations_below_the_mean(weight: float) -> None:
    mean, variance = SURROGATES[0].posterior(POINTS)
    bound = ConfidenceBound(SURROGATES[0], weight)(POINTS)
    np.testing.assert_allclose(bound, -(mean - weight * np.sqrt(variance)))


def test_more_trials_make_the_bound_wider() -> None:
    assert exploration(1) == pytest.approx(math.sqrt(0.5 * math.log(2.0)))
    assert 1.6 < exploration(100) < 1.7
    assert np.all(np.diff([exploration(n) for n in range(1, 50)]) > 0.0)


def test_the_mean_of_acquisitions_is_the_log_of_the_mean_of_improvements() -> None:
    improvements = [np.exp(LogExpectedImprovement(s, -1.0)(POINTS)) for s in SURROGATES]
    np.testing.assert_allclose(FUNCTIONS["mean"](POINTS), np.log(np.mean(improvements, axis=0)))


def test_the_mean_over_one_model_is_its_own_acquisition() -> None:
    single = LogExpectedImprovement(SURROGATES[0], -1.0)
    np.testing.assert_allclose(LogMean([single])(POINTS), single(POINTS))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_changes_have_the_values_of_changed_points(name: str) -> None:
    columns, coordinates = np.array([1, 1, 0, 2]), np.array([0.0, 3.0, 0.3, 0.5])
    ours = FUNCTIONS[name].of_changes(POINTS[0], columns, coordinates)
    expected = FUNCTIONS[name](apply_changes(POINTS[0], columns, coordinates))
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("point", POINTS[:4])
def test_gradients_are_those_of_the_values(name: str, point: Any) -> None:
    function, step = FUNCTIONS[name], 1e-5
    value, gradient = function.value_and_gradient(point, NUMERIC)
    assert value == pytest.approx(function(point[None])[0])
    for column, slope in zip(NUMERIC, gradient, strict=True):
        ends = np.repeat(point[None], 2, axis=0)
        ends[:, column] += [step, -step]
        up, down = function(ends)
        assert slope == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-5)
