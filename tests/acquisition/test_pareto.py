"""Fronts, hypervolumes and free boxes against their definitions, exactly on integer grids."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from heat_plugins.acquisition.pareto import (
    free_boxes,
    hypervolume,
    non_dominated,
    reference_point,
)

CHECKED = settings(deadline=None, max_examples=100)

SIDE = 4  # of the grid that is the region below the reference

OBJECTIVES = pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])


def grids(max_points=8, elements=None):
    """Few points on few levels, so that ties, duplicates and dominated points are common."""
    elements = st.integers(-1, SIDE + 1).map(float) if elements is None else elements
    shapes = st.tuples(st.integers(0, max_points), st.integers(1, 4))
    return shapes.flatmap(lambda shape: st_numpy.arrays(float, shape, elements=elements))


def curved_front(n, n_objectives, rng, sign=1.0):
    """Points on a sphere, on the side where no one dominates another."""
    points = np.abs(rng.standard_normal((n, n_objectives)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points if sign > 0 else 1.0 - points


def dominates(better, worse):
    return np.all(better <= worse) and np.any(better < worse)


def cells(n_objectives):
    """Lower corners of all unit cells from -1 to the reference at ``SIDE``."""
    levels = np.arange(-1.0, SIDE)
    return np.array(list(itertools.product(levels, repeat=n_objectives)))


def is_dominated(points, front):
    """(n,) whether some point of the front is nowhere worse."""
    return np.all(front[None] <= points[:, None], axis=2).any(axis=1)


def n_boxes_around(points, boxes):
    """(n,) how many boxes hold each point."""
    inside = (boxes.lower <= points[:, None]) & (points[:, None] < boxes.upper)
    return np.all(inside, axis=2).sum(axis=1)


def by_inclusion_and_exclusion(front, reference):
    total = 0.0
    for n in range(1, len(front) + 1):
        for some in itertools.combinations(front, n):
            common = np.maximum(reference - np.max(some, axis=0), 0.0)
            total -= (-1.0) ** n * np.prod(common)
    return total


# ------------------------------------------------------------------------- the front
@given(grids(elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf])))
@CHECKED
def test_front_by_its_definition(values):
    expected = [
        not any(dominates(other, value) for other in values)
        and not any(np.array_equal(other, value) for other in values[:i])
        for i, value in enumerate(values)
    ]
    np.testing.assert_array_equal(non_dominated(values), np.array(expected, dtype=bool))


def test_front_of_equal_rows_is_the_first():
    values = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [0.0, 3.0], [1.0, 3.0]])
    np.testing.assert_array_equal(non_dominated(values), [True, True, False, False, False])


def test_front_of_one_objective_is_the_smallest_value():
    values = np.random.default_rng(0).standard_normal((50, 1))
    np.testing.assert_array_equal(np.flatnonzero(non_dominated(values)), [values.argmin()])


@OBJECTIVES
def test_front_of_many_points(n_objectives):
    values = np.random.default_rng(1).standard_normal((2000, n_objectives))
    on_front = non_dominated(values)
    assert is_dominated(values[~on_front], values[on_front]).all()
    for i in np.flatnonzero(on_front)[:100]:
        assert not is_dominated(values[[i]], np.delete(values, i, axis=0))[0]


# ------------------------------------------------------------------------- hypervolume
@given(grids())
@CHECKED
def test_hypervolume_counts_dominated_cells(values):
    m = values.shape[1]
    reference = np.full(m, float(SIDE))
    assert hypervolume(values, reference) == is_dominated(cells(m), values).sum()


@given(st.integers(1, 4), st.integers(0, 7), st.integers(0, 2**32 - 1))
@CHECKED
def test_hypervolume_is_inclusion_and_exclusion(n_objectives, n, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n_objectives))
    reference = rng.uniform(-0.5, 2.0, n_objectives)
    expected = by_inclusion_and_exclusion(values, reference)
    assert hypervolume(values, reference) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@OBJECTIVES
def test_hypervolume_does_not_depend_on_the_order_of_points_or_objectives(n_objectives):
    rng = np.random.default_rng(2)
    front, reference = curved_front(40, n_objectives, rng), np.full(n_objectives, 1.2)
    expected = hypervolume(front, reference)
    for _ in range(5):
        rows, columns = rng.permutation(40), rng.permutation(n_objectives)
        mixed = front[rows][:, columns]
        assert hypervolume(mixed, reference[columns]) == pytest.approx(expected, rel=1e-12)


def test_hypervolume_loses_no_digits_to_a_front_along_the_axes():
    # What is dominated is 1e-20 of the box around the front and the reference.
    front = np.array([[-1.0, -1e-20], [-1e-20, -1.0]])
    assert hypervolume(front, np.zeros(2)) == pytest.approx(2e-20, rel=1e-12)


def test_hypervolume_with_infinities():
    reference = np.ones(2)
    beyond = np.array([[0.0, np.inf], [np.inf, -np.inf], [1.0, -5.0], [2.0, 2.0]])
    assert hypervolume(beyond, reference) == 0.0
    assert hypervolume(np.empty((0, 2)), reference) == 0.0
    assert hypervolume(np.append(beyond, [[0.5, 0.5]], axis=0), reference) == 0.25
    for bottomless in ([-np.inf, 0.5], [0.5, -np.inf], [-np.inf, -np.inf]):
        values = np.array([bottomless, [0.2, 0.2], [0.1, 0.7]])
        assert hypervolume(values, reference) == np.inf


# --------------------------------------------------------------------------- reference
def test_reference_is_a_tenth_of_the_range_beyond_the_front():
    front = np.array([[0.0, 10.0], [2.0, -10.0]])
    np.testing.assert_allclose(reference_point(front), [2.2, 12.0])


def test_reference_of_values_without_a_range_takes_a_range_of_one():
    values = np.array([[1.0, 5.0, 3.0], [2.0, 5.0, np.inf], [4.0, 5.0, 23.0]])
    np.testing.assert_allclose(reference_point(values), [4.3, 5.1, 25.0])


def test_infinite_values_have_no_say_in_the_reference():
    front = np.array([[-np.inf, 3.0], [0.0, 1.0], [1.0, -np.inf]])
    np.testing.assert_allclose(reference_point(front), [1.1, 3.2])
    nothing = np.array([[np.inf, -np.inf]])
    np.testing.assert_allclose(reference_point(nothing), [0.1, 0.1])


@given(grids(elements=st.floats(-1e300, 1e300)))
@CHECKED
def test_every_point_of_the_front_counts(values):
    front = values[non_dominated(values)]
    if len(front):
        assert np.all(front < reference_point(front))


# --------------------------------------------------------------------------- free boxes
@given(grids())
@CHECKED
def test_boxes_hold_each_free_cell_once(values):
    m = values.shape[1]
    boxes = free_boxes(values, np.full(m, float(SIDE)))
    assert np.all(boxes.lower < boxes.upper)
    assert np.all(np.isin(boxes.lower, np.append(values.ravel(), -np.inf)))
    expected = ~is_dominated(cells(m), values)
    np.testing.assert_array_equal(n_boxes_around(cells(m), boxes), expected)


@given(st.integers(1, 4), st.integers(0, 40), st.integers(0, 2**32 - 1))
@CHECKED
def test_boxes_hold_each_free_outcome_once(n_objectives, n, seed):
    rng = np.random.default_rng(seed)
    values, reference = rng.standard_normal((n, n_objectives)), rng.random(n_objectives)
    outcomes = 2.0 * rng.standard_normal((500, n_objectives))
    boxes = free_boxes(values, reference)
    expected = np.all(outcomes < reference, axis=1) & ~is_dominated(outcomes, values)
    np.testing.assert_array_equal(n_boxes_around(outcomes, boxes), expected)


def test_without_a_front_everything_below_the_reference_is_free():
    boxes = free_boxes(np.empty((0, 3)), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(boxes.lower, np.full((1, 3), -np.inf))
    np.testing.assert_array_equal(boxes.upper, [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("bottomless", [[-np.inf, 0.5], [0.5, -np.inf]])
def test_a_value_of_minus_infinity_leaves_less_free(bottomless):
    boxes = free_boxes(np.array([bottomless]), np.ones(2))
    assert len(boxes.lower) == 1
    np.testing.assert_array_equal(boxes.upper[0], np.where(np.isfinite(bottomless), 0.5, 1.0))
    assert len(free_boxes(np.full((1, 2), -np.inf), np.ones(2)).lower) == 0


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["bulging", "hollow"])
def test_boxes_are_few(sign):
    rng = np.random.default_rng(4)
    for f in (1, 5, 30, 100):
        most = {1: 1, 2: f + 1, 3: 2 * f + 1, 4: f * f + f + 2}
        for m, limit in most.items():
            front = curved_front(f, m, rng, sign)
            assert len(free_boxes(front, np.full(m, 1.1)).lower) <= limit


def greedily_chosen(front, reference, n):
    """The best in each objective, then whatever makes the hypervolume largest."""
    chosen = list(dict.fromkeys(np.argmin(front, axis=0).tolist()))[:n]
    while len(chosen) < n:
        others = [i for i in range(len(front)) if i not in chosen]
        volumes = [hypervolume(front[[*chosen, i]], reference) for i in others]
        chosen.append(others[int(np.argmax(volumes))])
    return front[np.sort(chosen)]


@pytest.mark.parametrize("n_objectives", [2, 3, 4])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["bulging", "hollow"])
@pytest.mark.parametrize("n", [3, 10, 24])
def test_a_thinned_front_is_the_greedy_choice(n_objectives, sign, n):
    front = curved_front(25, n_objectives, np.random.default_rng(5), sign)
    reference = reference_point(front)
    thinned = free_boxes(front, reference, max_points=n)
    expected = free_boxes(greedily_chosen(front, reference, n), reference)
    np.testing.assert_array_equal(thinned.lower, expected.lower)
    np.testing.assert_array_equal(thinned.upper, expected.upper)


@OBJECTIVES
def test_a_front_that_is_small_enough_is_not_thinned(n_objectives):
    front = curved_front(25, n_objectives, np.random.default_rng(6))
    reference = np.full(n_objectives, 1.1)
    for n in (25, 26, 10_000):
        thinned, whole = free_boxes(front, reference, n), free_boxes(front, reference)
        np.testing.assert_array_equal(thinned.lower, whole.lower)
        np.testing.assert_array_equal(thinned.upper, whole.upper)


@pytest.mark.parametrize("n_objectives", [2, 3, 4])
def test_a_thinned_front_keeps_more_hypervolume_than_chance_would(n_objectives):
    rng = np.random.default_rng(7)
    front = curved_front(300, n_objectives, rng, sign=-1.0)
    reference = reference_point(front)
    upper = free_boxes(front, reference, max_points=30).upper
    # Each point that is used bounds some box in each objective.
    used = front[np.all(np.any(upper == front[:, None], axis=1), axis=1)]
    assert len(used) == 30
    by_chance = [hypervolume(rng.choice(front, 30, replace=False), reference) for _ in range(20)]
    assert hypervolume(used, reference) > max(by_chance)


def test_of_two_twins_one_stays():
    # Neither twin adds much to the other, yet both together are most of the volume.
    front = np.array([[0.0, 9.0], [1.0, 1.0], [1.001, 0.999], [5.0, 0.9], [9.0, 0.0]])
    upper = free_boxes(front, np.full(2, 10.0), max_points=3).upper
    assert sorted(upper[:, 0]) == [0.0, pytest.approx(1.0, abs=0.01), 9.0, 10.0]


def test_infinitely_good_values_can_be_thinned():
    front = curved_front(30, 3, np.random.default_rng(8))
    front[front[:, 0].argmin(), 0] = -np.inf
    boxes = free_boxes(front, np.full(3, 1.1), max_points=10)
    assert len(boxes.upper) <= 21
    assert np.all(boxes.lower < boxes.upper)
