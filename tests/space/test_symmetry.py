"""Canonical points: one for every orbit, and as many as there are orbits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.permutations import closure
from heat_plugins.search.domain import Domain
from heat_plugins.search.unseen import unseen_point
from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.point_set import PointSet
from heat_plugins.space.symmetry import Block, Symmetry
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import PermutationInvariant

CHECKED = settings(deadline=None, max_examples=30)
EVERY = np.array(list(itertools.permutations(range(4))))
ROTATIONS = closure([[1, 2, 3, 0]], 100)
DIHEDRAL = closure([[1, 2, 3, 0], [3, 2, 1, 0]], 100)
TWO_SWAPS = closure([[1, 0, 2, 3], [0, 1, 3, 2]], 100)
GROUPS = {
    "all permutations": (None, EVERY),
    "listed permutations": (EVERY, EVERY),
    "rotations": (ROTATIONS, ROTATIONS),
    "dihedral": (DIHEDRAL, DIHEDRAL),
    "two swaps": (TWO_SWAPS, TWO_SWAPS),
}
EVERY_GROUP = pytest.mark.parametrize(("elements", "group"), GROUPS.values(), ids=GROUPS)
COLUMNS = np.array([4, 0, 2, 5])  # not in order, with others in between


def space_of(sizes):
    return Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(sizes)))


def all_points(sizes):
    return np.array(list(itertools.product(*map(range, sizes))), dtype=float)


def orbit_of(point, columns, group):
    members = set()
    for element in group:
        moved = point.copy()
        moved[columns] = point[columns][element]
        members.add(tuple(moved))
    return frozenset(members)


@EVERY_GROUP
def test_canonical_points_are_equal_exactly_on_orbits(elements, group):
    points = all_points((3, 2, 3, 1, 3, 3))
    canonical = Symmetry([Block(COLUMNS, elements)]).canonical(points)
    orbits = [orbit_of(point, COLUMNS, group) for point in points]
    for point, orbit in zip(canonical, orbits, strict=True):
        assert tuple(point) in orbit
    # as many canonical points as orbits, so different orbits have different ones
    assert len(set(map(tuple, canonical))) == len(set(orbits))
    assert len({(o, tuple(c)) for o, c in zip(orbits, canonical, strict=True)}) == len(set(orbits))


@EVERY_GROUP
def test_number_of_orbits_is_that_of_an_enumeration(elements, group):
    sizes = (3, 2, 3, 1, 3, 3)
    orbits = {orbit_of(point, COLUMNS, group) for point in all_points(sizes)}
    assert Symmetry([Block(COLUMNS, elements)]).n_orbits(space_of(sizes)) == len(orbits)


def test_known_numbers_of_orbits():
    four = np.arange(4)
    for g in (2, 3, 5):
        space = space_of((g,) * 4)
        assert Symmetry([Block(four)]).n_orbits(space) == math.comb(g + 3, 4)
        # necklaces and bracelets of four beads in g colours
        assert Symmetry([Block(four, ROTATIONS)]).n_orbits(space) == (g**4 + g**2 + 2 * g) // 4
        bracelets = (g**4 + 2 * g**3 + 3 * g**2 + 2 * g) // 8
        assert Symmetry([Block(four, DIHEDRAL)]).n_orbits(space) == bracelets


def test_members_of_different_orbits_of_columns_may_have_different_choices():
    sizes = (3, 3, 2, 2)
    symmetry = Symmetry([Block(np.arange(4), TWO_SWAPS)])
    assert symmetry.n_orbits(space_of(sizes)) == math.comb(4, 2) * math.comb(3, 2)
    canonical = symmetry.canonical(all_points(sizes))
    assert len(np.unique(canonical, axis=0)) == 18


@EVERY_GROUP
@given(seed=st.integers(0, 2**32))
@CHECKED
def test_canonical_is_invariant_and_idempotent(elements, group, seed):
    rng = np.random.default_rng(seed)
    # Listed permutations are of choices alone, all permutations may be of numbers.
    is_number = elements is None and seed % 2
    points = rng.random((6, 6)) if is_number else rng.integers(4, size=(6, 6)).astype(float)
    symmetry, before = Symmetry([Block(COLUMNS, elements)]), points.copy()
    canonical = symmetry.canonical(points)
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(symmetry.canonical(canonical), canonical)
    moved = points.copy()
    moved[:, COLUMNS] = points[:, COLUMNS[group[rng.integers(len(group))]]]
    np.testing.assert_array_equal(symmetry.canonical(moved), canonical)
    np.testing.assert_array_equal(canonical[:, [1, 3]], points[:, [1, 3]])
    for point, its_canonical in zip(points, canonical, strict=True):
        assert tuple(its_canonical) in orbit_of(point, COLUMNS, group)


@pytest.mark.parametrize(("b", "g"), [(30, 2), (62, 2), (40, 3), (20, 10), (100, 50)])
def test_canonical_points_of_large_blocks(b, g):
    """Also where one whole number cannot hold a row of codes."""
    rotations = closure([[*range(1, b), 0]], 1000)
    symmetry = Symmetry([Block(np.arange(b), rotations)])
    rng = np.random.default_rng(b)
    points = rng.integers(g, size=(20, b)).astype(float)
    points[0, 0] = g - 1  # the highest choice is there
    canonical = symmetry.canonical(points)
    for shift in (1, b // 2, b - 1):
        np.testing.assert_array_equal(
            symmetry.canonical(np.roll(points, shift, axis=1)), canonical
        )
    np.testing.assert_array_equal(symmetry.canonical(canonical), canonical)
    for point, its_canonical in zip(points, canonical, strict=True):
        assert any(np.array_equal(np.roll(point, s), its_canonical) for s in range(b))
    assert len(np.unique(canonical, axis=0)) == 20
    other = points[:, ::-1]  # a reflection is no rotation
    assert not np.any(np.all(symmetry.canonical(other) == canonical, axis=1))


@pytest.mark.parametrize(("b", "g"), [(40, 3), (20, 10)])
def test_canonical_point_does_not_depend_on_the_others(b, g):
    rotations = closure([[*range(1, b), 0]], 1000)
    symmetry = Symmetry([Block(np.arange(b), rotations)])
    rng = np.random.default_rng(0)
    points = rng.integers(2, size=(10, b)).astype(float)
    points[-1, 0] = g - 1
    alone = [symmetry.canonical(point[None])[0] for point in points]
    np.testing.assert_array_equal(symmetry.canonical(points), alone)
    seen = PointSet(points, symmetry)
    assert all(seen.contains(point[None])[0] for point in points)


def test_several_blocks_multiply():
    symmetry = Symmetry([Block(np.array([0, 1])), Block(np.array([2, 3, 4]))])
    sizes = (3, 3, 2, 2, 2, 5)
    assert symmetry.n_orbits(space_of(sizes)) == 6 * 4 * 5
    assert len(np.unique(symmetry.canonical(all_points(sizes)), axis=0)) == 6 * 4 * 5


def test_numbers_have_orbits_too():
    grid = Space((Integer("a", 0, 4), Integer("b", 0, 4), Categorical("c", "xy")))
    symmetry = Symmetry([Block(np.array([0, 1]))])
    assert symmetry.n_orbits(grid) == math.comb(6, 2) * 2
    continuous = Space((Float("a", 0, 1), Float("b", 0, 1)))
    assert symmetry.n_orbits(continuous) == math.inf
    outside = Space((Integer("a", 0, 4), Integer("b", 0, 4), Float("c", 0, 1)))
    assert symmetry.n_orbits(outside) == math.inf
    np.testing.assert_array_equal(
        symmetry.canonical(np.array([[0.7, 0.2], [0.2, 0.7]])), [[0.2, 0.7]] * 2
    )


def test_number_of_orbits_is_exact_where_floats_are_not():
    space = space_of((7,) * 60)
    found = Symmetry([Block(np.arange(30))]).n_orbits(space)
    assert found == math.comb(36, 30) * 7**30 and isinstance(found, int)


def test_builder_lists_the_group():
    sizes = (3, 3, 3, 3)
    names = [f"x{i}" for i in range(4)]
    structure = PermutationInvariant(names, "sum", permutations=[[1, 2, 3, 0]])
    symmetry = KernelBuilder(space_of(sizes), Model(structure=structure)).symmetry()
    assert symmetry is not None
    assert symmetry.n_orbits(space_of(sizes)) == (81 + 9 + 6) / 4
    assert KernelBuilder(space_of(sizes), Model()).symmetry() is None


# --------------------------------------------------------------------- sets of points
@EVERY_GROUP
def test_point_set_with_a_symmetry_holds_orbits(elements, group):
    rng = np.random.default_rng(0)
    seen, asked = rng.integers(3, size=(12, 6)), rng.integers(3, size=(60, 6))
    seen, asked = seen.astype(float), asked.astype(float)
    points = PointSet(seen, Symmetry([Block(COLUMNS, elements)]))
    orbits = {orbit_of(point, COLUMNS, group) for point in seen}
    assert len(points) == len(orbits)
    expected = [orbit_of(point, COLUMNS, group) in orbits for point in asked]
    assert points.contains(asked).tolist() == expected
    moved = seen.copy()
    moved[:, COLUMNS] = seen[:, COLUMNS[group[-1]]]
    assert np.all(points.contains(moved))


@pytest.mark.parametrize("d", [3, 8, 30, 100])
def test_the_last_orbit_is_found(d):
    """All orbits but one are known, and that one has a single point."""
    space = space_of((2,) * d)
    symmetry = Symmetry([Block(np.arange(d))])
    seen = np.tril(np.ones((d, d)))  # every number of ones but none
    point = unseen_point(Domain(space), PointSet(seen, symmetry), np.random.default_rng(0))
    assert point is not None and not point.any()
    every = np.concatenate([seen, point[None]])
    assert unseen_point(Domain(space), PointSet(every, symmetry), np.random.default_rng(0)) is None


def test_the_last_orbit_is_found_where_a_coordinate_is_held():
    """The fixed one may be inside the block or outside it."""
    space = space_of((2,) * 20 + (3,))
    symmetry = Symmetry([Block(np.arange(20))])
    seen = np.concatenate([np.tril(np.ones((20, 20))), np.full((20, 1), 2.0)], axis=1)
    rng = np.random.default_rng(0)
    point = unseen_point(Domain(space, fixed={20: 2.0}), PointSet(seen, symmetry), rng)
    assert point is not None and point.tolist() == [0.0] * 20 + [2.0]
    seen = np.concatenate([seen[:-1], [point]])  # all ones are left
    fixed = Domain(space, fixed={20: 2.0, 7: 1.0})
    point = unseen_point(fixed, PointSet(seen, symmetry), rng)
    assert point is not None and point.tolist() == [1.0] * 20 + [2.0]
    assert (
        unseen_point(Domain(space, fixed={20: 2.0, 7: 0.0}), PointSet(seen, symmetry), rng) is None
    )


def test_spread_points_meet_all_orbits_alike():
    space = Space((*space_of((3,) * 6).parameters, Float("f", 0, 1), Float("h", 0, 1)))
    rng = np.random.default_rng(1)
    points = space.sample(8000, rng)
    before = points.copy()
    columns = np.array([5, 0, 2, 3])
    symmetry = Symmetry([Block(columns), Block(np.array([6, 7]))])
    spread = symmetry.spread(points, space, rng)
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(spread[:, [1, 4, 6, 7]], points[:, [1, 4, 6, 7]])
    orbits, counts = np.unique(np.sort(spread[:, columns], axis=1), axis=0, return_counts=True)
    assert len(orbits) == math.comb(6, 4) and set(orbits.ravel()) == {0.0, 1.0, 2.0}
    assert np.all(np.abs(counts - 8000 / 15) < 5.0 * np.sqrt(8000 / 15))
    given = Symmetry([Block(columns, ROTATIONS)])
    np.testing.assert_array_equal(given.spread(points, space, rng), points)
