"""Membership in a set of points is that of a Python set of tuples."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heat_plugins.space import Float, Integer, Space, point_set
from heat_plugins.space.point_set import PointSet
from heat_plugins.space.symmetry import Block, Symmetry

CHECKED = settings(deadline=None, max_examples=100)

# Few values, so that points meet; zeros of both signs among them.
coordinates = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, 0.5, 1 / 3, 1.0 - 2.0**-53, 1e-300])


@st.composite
def two_lists(draw):
    d = draw(st.integers(1, 4))
    points = arrays(
        float, st.tuples(st.integers(0, 30), st.just(d)), elements=coordinates, fill=st.nothing()
    )
    return draw(points), draw(points)


def as_set(points):
    return set(map(tuple, points.tolist()))  # 0.0 == -0.0 for Python too


@given(two_lists())
@CHECKED
def test_membership_is_that_of_a_python_set(lists):
    inside, asked = lists
    point_set = PointSet(inside)
    assert len(point_set) == len(as_set(inside))
    expected = [tuple(point) in as_set(inside) for point in asked.tolist()]
    assert point_set.contains(asked).tolist() == expected
    assert np.all(point_set.contains(inside))


@pytest.mark.parametrize("d", [1, 3])
def test_the_empty_set_holds_nothing(d):
    empty = PointSet(np.empty((0, d)))
    assert len(empty) == 0
    assert empty.contains(np.zeros((4, d))).tolist() == [False] * 4


def test_no_point_is_asked_for():
    full = PointSet(np.zeros((3, 2)))
    assert full.contains(np.empty((0, 2))).shape == (0,)


def test_memory_layout_does_not_matter():
    points = np.random.default_rng(0).random((20, 6))
    point_set = PointSet(np.asfortranarray(points))
    assert np.all(point_set.contains(points))
    assert np.all(PointSet(points[::2, ::2]).contains(points[:, ::2]) == [True, False] * 10)


@pytest.mark.parametrize(
    "levels", [[[0.0, 1.0]] * 18, [[0.0, 2.0, 4.0]] * 11, [np.arange(512.0)] * 2]
)
def test_all_points_of_a_large_space_have_different_fingerprints(levels):
    points = np.array(list(itertools.product(*levels)))
    assert len(PointSet(points)) == len(points)


def test_fingerprints_use_all_their_bits():
    """Each bit is set for half of the points, whatever codes they are made of."""
    points = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=9)))
    fingerprints = PointSet(points).fingerprint(points)
    bits = (fingerprints[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    shares = bits.mean(axis=0)
    assert np.all(np.abs(shares - 0.5) < 0.05)


# ---------------------------------------------------- what does not exist, what is refused
def test_a_parameter_that_does_not_exist_is_a_coordinate_of_its_own():
    points = np.array([[0.0, np.nan, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, np.nan]])
    for i in range(3):
        assert PointSet(points[[i]]).contains(points).tolist() == [i == j for j in range(3)]
    assert len(PointSet(np.repeat(points, 4, axis=0))) == 3
    # Whatever has made it one: two NaNs need not have the same bits.
    assert PointSet(points).contains(points + np.array([1.0, np.nan, 1.0]) * 0.0)[0]


def test_refused_points_count_as_known():
    """The rule is asked about points that are not known, and about those only."""
    points = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=2)))
    asked = []

    def allowed(rows):
        asked.extend(map(tuple, rows.tolist()))
        return rows.sum(axis=1) >= 2.0

    known = points[[0, 8]]
    point_set = PointSet(known, allowed=allowed)
    expected = [tuple(p) in as_set(known) or p.sum() < 2.0 for p in points]
    assert point_set.contains(points).tolist() == expected
    assert set(asked) == as_set(points) - as_set(known)
    assert len(point_set) == 2


def test_an_empty_set_with_a_rule_holds_what_the_rule_refuses():
    nothing = PointSet(np.empty((0, 2)), allowed=lambda rows: rows[:, 0] > 0.0)
    assert nothing.contains(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist() == [True, False]


# ----------------------------------------------------------------- numbers and their last bits
R = 1e-6
# Two codes, then three numbers; places at, just inside and just outside of the resolution.
RESOLUTION = np.array([0.0, R, R, 0.0, R])
numbers = st.sampled_from([0.0, 0.5 * R, R * 0.999, R * 1.001, 2 * R, 0.3, 0.3 + 1e-16, np.nan])
codes = st.sampled_from([0.0, 1.0, np.nan])
rows = st.tuples(codes, numbers, numbers, codes, numbers)


def same(one, other):
    """The definition: what is exact agrees, and numbers are no further apart than they may."""
    return all(
        (np.isnan(a) and np.isnan(b)) or a == b or abs(a - b) <= tolerance
        for a, b, tolerance in zip(one, other, RESOLUTION, strict=True)
    )


@given(st.lists(rows, max_size=12), st.lists(rows, min_size=1, max_size=12))
@CHECKED
def test_numbers_are_the_same_up_to_their_resolution(inside, asked):
    inside, asked = (np.array(points).reshape(-1, 5) for points in (inside, asked))
    point_set = PointSet(inside, resolution=RESOLUTION)
    expected = [any(same(known, point) for known in inside) for point in asked]
    assert point_set.contains(asked).tolist() == expected


@pytest.mark.parametrize("n", [1, 1000])
def test_there_is_no_edge_that_parts_neighbours(n):
    """Wherever a number lies, one next to it is the same and one further away is not."""
    places = np.random.default_rng(1).random((n, 3))
    point_set = PointSet(places, resolution=np.full(3, R))
    shifts = np.array([[0.999, -0.999, 0.5]]) * R
    assert np.all(point_set.contains(places + shifts))
    assert np.all(point_set.contains(np.nextafter(places, 1.0)))
    assert not np.any(point_set.contains(places + np.array([[0.0, 1.001, 0.0]]) * R))


def test_places_far_outside_of_the_range_are_compared_like_others():
    points = np.array([[1e300, 0.5], [-1e6, 0.5], [1e6, 0.5]])
    point_set = PointSet(points, resolution=np.full(2, R))
    assert np.all(point_set.contains(points))
    assert not np.any(point_set.contains(np.array([[2e300, 0.5], [-1e6 + 1, 0.5], [2.0, 0.5]])))


def test_numbers_may_be_permuted_as_well():
    symmetry = Symmetry([Block(np.array([0, 1, 2]))])
    point_set = PointSet(np.array([[0.1, 0.5, 0.9]]), symmetry, resolution=np.full(3, R))
    asked = np.array([[0.9, 0.1, 0.5 - 1e-12], [0.5 + 1e-12, 0.9, 0.1], [0.9, 0.1, 0.5 + 1e-3]])
    assert point_set.contains(asked).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "parameter",
    [
        Float("x", 1e-5, 1e-1, log=True),
        Float("x", 1e-300, 1e300, log=True),
        Float("x", 1e-310, 1e-300, log=True),
        Float("x", -3.0, 1e9),
        Float("x", 1.0, 1.0 + 1e-13),
        Float("x", 0.0, 5e-322),
        Float("x", -5.0, 5.0, step=0.1),
        Integer("x", 1, 10**12, log=True),
        Integer("x", 0, 10**6),
        Integer("x", 0, 2**62),
    ],
    ids=repr,
)
def test_a_place_is_recognised_after_its_value_was_stored(parameter):
    space = Space((parameter,))
    places = space.sample(200, np.random.default_rng(2))
    stored = space.stack([space.encode(space.decode(place)) for place in places])
    assert np.all(PointSet(stored, resolution=space.resolution).contains(places))
    values = [space.decode(place)["x"] for place in places]
    for i in range(0, 200, 20):  # no place of another known value is taken for a new one
        one = PointSet(places[[i]], resolution=space.resolution)
        assert one.contains(places[[value == values[i] for value in values]]).all()


def test_fingerprints_do_not_depend_on_what_is_scrambled_at_once(monkeypatch):
    points = np.random.default_rng(0).random((31, 7))
    whole = PointSet(points).fingerprint(points)
    monkeypatch.setattr(point_set, "CACHED", 10)
    np.testing.assert_array_equal(PointSet(points).fingerprint(points), whole)
    assert PointSet(points[:0]).fingerprint(points[:0]).shape == (0,)
