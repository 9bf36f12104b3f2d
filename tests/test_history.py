"""What is known when a point is asked for: shapes, and one point for all that are the same."""

import numpy as np
import pytest

from heat_plugins.history import NO_REGION, History, canonical
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.symmetry import Block, Symmetry

SPACE = Space((Categorical("a", "xyz"), Categorical("b", "xyz"), Float("f", 0, 1)))


def test_what_is_not_given_is_empty():
    points = SPACE.sample(4, np.random.default_rng(0))
    history = History.of(SPACE, points, np.arange(4.0))
    assert history.region_ids.tolist() == [NO_REGION] * 4
    assert history.pending.shape == history.failed.shape == history.without_value.shape == (0, 3)
    assert history.constraints is None
    assert history.constraint_values.shape == (4, 0)


@pytest.mark.parametrize("n", [0, 3])
def test_one_objective_is_a_column(n):
    points, values = SPACE.sample(n, np.random.default_rng(0)), np.arange(float(n))
    one = History.of(SPACE, points, values)
    np.testing.assert_array_equal(one.objectives, values[:, None])
    several = History.of(SPACE, points, np.column_stack([values, -values]))
    assert several.objectives is several.values
    assert several.objectives.shape == (n, 2)


def test_points_without_a_value_are_failed_and_pending_ones():
    rng = np.random.default_rng(1)
    points, pending, failed = (SPACE.sample(n, rng) for n in (2, 3, 1))
    constraints = np.array([[1.0, np.nan], [0.0, -1.0]])
    history = History.of(SPACE, points, np.zeros(2), None, pending, failed, constraints)
    assert sorted(history.without_value.tolist()) == sorted([*failed.tolist(), *pending.tolist()])
    assert history.constraint_values is constraints


def test_points_that_are_the_same_become_one():
    points = np.array([[2.0, 0.0, 0.1], [0.0, 2.0, 0.1]])
    history = History.of(SPACE, points, np.arange(2.0), None, points[:1], points[1:])
    assert canonical(history, None) is history
    found = canonical(history, Symmetry([Block(np.array([0, 1]))]))
    same = [[0.0, 2.0, 0.1]]
    np.testing.assert_array_equal(found.points, same * 2)
    np.testing.assert_array_equal(found.pending, same)
    np.testing.assert_array_equal(found.failed, same)
    assert found.values is history.values
    np.testing.assert_array_equal(history.points[0], [2.0, 0.0, 0.1])  # as it was
