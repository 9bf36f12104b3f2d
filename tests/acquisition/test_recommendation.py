"""What earlier studies recommend to a study without values."""

import numpy as np
import pytest
from scipy import stats

from heat_plugins.acquisition.recommendation import Recommendation
from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.gp.transfer_kernel import EarlierModel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space, apply_changes
from heat_plugins.spec.model import Model

SPACE = Space((Categorical("c", "abc"), Float("x", 0, 1), Float("y", 0, 1)))
NOTHING = np.zeros(3, dtype=bool)


def model(seed, limit=0.0, weight=1.0):
    rng = np.random.default_rng(seed)
    kernel = KernelBuilder(SPACE, Model()).kernel()
    hyperparameters = Hyperparameters(kernel.start(1.0), np.log(1e-3))
    points, values = SPACE.sample(8, rng), rng.standard_normal(8)
    return EarlierModel(
        str(seed), Surrogate(kernel, hyperparameters, points, values), NOTHING, limit, weight
    )


def test_values_are_expectations_and_the_probability_to_keep_limits():
    objectives, limited = [model(0), model(1, weight=0.3)], [model(2, limit=0.4)]
    points = SPACE.sample(5, np.random.default_rng(9))
    found = Recommendation(objectives, limited)(points)
    for i, point in enumerate(points):
        value = 0.0
        for each in objectives:
            surrogate = each.surrogate
            value -= each.weight * surrogate.mean(point[None])[0] / np.sqrt(surrogate.variance)
        mean, variance = limited[0].surrogate.posterior(point[None])
        value += stats.norm.logcdf(0.4, mean[0], np.sqrt(variance[0]))
        assert found[i] == pytest.approx(value, abs=1e-10)


def test_changes_and_gradient_are_those_of_the_values():
    recommendation = Recommendation([model(0)], [model(2, limit=0.4)])
    point, columns = np.array([1.0, 0.3, 0.6]), np.array([1, 2])
    changed = apply_changes(point, np.array([0, 2]), np.array([2.0, 0.1]))
    found = recommendation.of_changes(point, np.array([0, 2]), np.array([2.0, 0.1]))
    np.testing.assert_allclose(found, recommendation(changed), atol=1e-12)
    value, gradient = recommendation.value_and_gradient(point, columns)
    assert value == pytest.approx(recommendation(point[None])[0])
    for slope, column in zip(gradient, columns, strict=True):
        around = np.repeat(point[None], 2, axis=0)
        around[:, column] += [1e-4, -1e-4]
        above, below = recommendation(around)
        assert slope == pytest.approx((above - below) / 2e-4, rel=1e-4, abs=1e-6)
