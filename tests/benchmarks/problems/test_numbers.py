"""Functions of numbers: their optima are where the literature has them."""

import numpy as np
import pytest

from heat_plugins.benchmarks.problems.catalogue import task_named
from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.tasks import first_points

OPTIMA = {
    "branin": [(-np.pi, 12.275), (np.pi, 2.275), (9.42478, 2.475)],
    "hartmann6": [(0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)],
    "levy10": [(1.0,) * 10],
    "levy10-noisy": [(1.0,) * 10],
    "sphere20": [(1.234,) * 20],
    "rosenbrock5": [(1.0,) * 5],
    "ackley5": [(3.21,) * 5],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_smallest_value_is_zero_where_it_is_known_to_be(name):
    task = task_named(name)
    for optimum in OPTIMA[name]:
        place = dict(zip([p.name for p in task.parameters], optimum, strict=True))
        assert task.score([task.evaluate(place)]) == pytest.approx(0.0, abs=1e-6)
    results = [task.evaluate(params) for params in first_points(task, 500, seed=0)]
    assert task.score(results) > 0.0


def test_noise_is_normal_and_the_same_for_the_same_point():
    task = task_named("levy10-noisy")
    points = first_points(task, 400, seed=1)
    results = [task.evaluate(params) for params in points]
    assert results == [task.evaluate(params) for params in points]
    noise = np.array([result.values[0] - result.truth[0] for result in results])
    assert noise.std() == pytest.approx(2.0, rel=0.15)
    assert abs(noise.mean()) < 0.4
    exact = task_named("levy10")
    truths = [result.truth for result in results]
    assert truths == [exact.evaluate(params).values for params in points]
