"""The points a search may visit, compared with lists of all of them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heat_plugins.search.domain import Domain, Region, differing
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes
from heat_plugins.space.infer_conditions import learn_conditions

CHECKED = settings(deadline=None, max_examples=50)


def discrete_space(sizes):
    kinds = (Categorical, Ordinal)
    return Space(tuple(kinds[i % 2](f"p{i}", range(k)) for i, k in enumerate(sizes)))


@st.composite
def parameters(draw, i, continuous=True):
    kind = draw(st.sampled_from(["cat", "ord", "int", "log", "grid"] + ["float"] * continuous))
    if kind in ("cat", "ord"):
        choices = range(draw(st.integers(1, 4)))
        return Categorical(f"p{i}", choices) if kind == "cat" else Ordinal(f"p{i}", choices)
    if kind == "grid":
        return Float(f"p{i}", 0.1, 0.1 + 0.2 * draw(st.integers(0, 5)), 0.2)
    if kind == "float":
        return Float(f"p{i}", -1.0, draw(st.sampled_from([-1.0, 1.0])))
    return Integer(f"p{i}", 1, 1 + draw(st.integers(0, 6)), log=kind == "log")


@st.composite
def domains(draw, continuous=True, with_region=None, with_held=True):
    d = draw(st.integers(1, 5))
    space = Space(tuple(draw(parameters(i, continuous)) for i in range(d)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    region = None
    if draw(st.booleans()) if with_region is None else with_region:
        centre = space.sample(1, rng)[0]
        region = Region(centre, draw(st.integers(0, d + 1)), draw(st.floats(0.01, 1.1)))
    fixed = {}
    if with_held:
        columns = draw(st.sets(st.integers(0, d - 1), max_size=2))
        anything = space.sample(1, rng)[0]
        fixed = {column: float(anything[column]) for column in columns}
    return Domain(space, region, fixed)


def wild_points(domain, n, seed):
    """Points of the space with numbers that lie off their grids and outside [0, 1]."""
    rng = np.random.default_rng(seed)
    points = domain.space.sample(n, rng)
    numbers = ~domain.space.is_discrete
    points[:, numbers] += rng.normal(0.0, 0.4, size=(n, int(numbers.sum())))
    return points


def is_held(domain, points):
    return all(np.all(points[:, column] == value) for column, value in domain.fixed.items())


def all_points(space):
    return np.array(list(itertools.product(*(p.levels() for p in space.parameters))))


def rows(points):
    return sorted(map(tuple, points.tolist()))


# ------------------------------------------------------------------------- project
@given(domains(), st.integers(0, 2**32))
@CHECKED
def test_project_lands_inside_and_on_the_grid(domain, seed):
    wild = wild_points(domain, 30, seed)
    before = wild.copy()
    points = domain.project(wild, np.random.default_rng(seed))
    np.testing.assert_array_equal(wild, before)
    assert np.all(domain.contains(points))
    assert is_held(domain, points)
    free = domain.free
    np.testing.assert_array_equal(points[:, free], domain.space.snap(points)[:, free])


@given(domains(), st.integers(0, 2**32))
@CHECKED
def test_project_leaves_alone_what_is_inside(domain, seed):
    points = domain.sample(30, np.random.default_rng(seed))
    again = domain.project(points, np.random.default_rng(seed + 1))
    np.testing.assert_array_equal(again, points)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 9), st.integers(0, 2**32)
)
@CHECKED
def test_projected_codes_go_back_to_the_centre_and_no_further_than_needed(sizes, radius, seed):
    space, rng = discrete_space(sizes), np.random.default_rng(seed)
    centre = space.sample(1, rng)[0]
    points = space.sample(40, rng)
    projected = Domain(space, Region(centre, radius, 0.1)).project(points, rng)
    before = (points != centre).sum(axis=1)
    after = (projected != centre).sum(axis=1)
    np.testing.assert_array_equal(after, np.minimum(before, radius))
    assert np.all((projected == points) | (projected == centre))


def test_which_codes_go_back_is_a_matter_of_chance():
    space = discrete_space([3] * 6)
    domain = Domain(space, Region(np.zeros(6), 2, 1.0))
    points = domain.project(np.ones((3000, 6)), np.random.default_rng(0))
    counts = points.sum(axis=0)  # 1000 on average
    assert np.all(np.abs(counts - 1000) < 5 * math.sqrt(1000))


def test_held_numbers_keep_values_off_their_grid():
    space = Space((Integer("i", 0, 4), Float("x", 0.0, 1.0)))
    domain = Domain(space, Region(np.array([0.5, 0.5]), 1, 0.1), {0: 0.37, 1: 0.99})
    rng = np.random.default_rng(0)
    for points in (domain.sample(5, rng), domain.project(space.sample(5, rng), rng)):
        np.testing.assert_array_equal(points, [[0.37, 0.99]] * 5)
        assert np.all(domain.contains(points))


def test_a_number_leaves_its_box_by_no_grid_step():
    """The nearest grid value to the rim of the box may lie outside."""
    space = Space((Integer("i", 0, 4),))
    domain = Domain(space, Region(np.array([0.5]), 0, 0.45))
    points = domain.project(np.linspace(0.0, 1.0, 50)[:, None], np.random.default_rng(0))
    assert set(points[:, 0]) == {0.25, 0.5, 0.75}


def test_a_box_on_a_grid_reaches_the_next_values():
    space = Space((Integer("i", 0, 4), Float("x", 0.0, 1.0)))
    domain = Domain(space, Region(np.array([0.5, 0.5]), 0, 0.01))
    low, high = domain.bounds(domain.free_numeric)
    np.testing.assert_array_equal(low, [0.25, 0.49])
    np.testing.assert_array_equal(high, [0.75, 0.51])


# -------------------------------------------------------------------------- sample
@given(domains(), st.integers(0, 2**32))
@CHECKED
def test_samples_lie_inside_on_the_grid_and_are_held(domain, seed):
    points = domain.sample(40, np.random.default_rng(seed))
    assert points.shape == (40, len(domain.space))
    assert np.all(domain.contains(points))
    assert is_held(domain, points)
    np.testing.assert_array_equal(
        points[:, domain.free], domain.space.snap(points)[:, domain.free]
    )
    constant = [*{*range(len(domain.space))} - {*domain.free} - {*domain.fixed}]
    assert np.all(points[:, constant] == 0.0)
    np.testing.assert_array_equal(points, domain.sample(40, np.random.default_rng(seed)))


@given(domains(with_region=False), st.integers(0, 2**32))
@CHECKED
def test_the_middle_is_held_and_on_the_grid(domain, seed):
    point = domain.middle(np.random.default_rng(seed))
    assert is_held(domain, point[None])
    np.testing.assert_array_equal(
        point[domain.free], domain.space.snap(point[None])[0][domain.free]
    )
    for column in domain.free_continuous:
        assert point[column] == 0.5
    for column in domain.free_numeric:
        levels = domain.space.n_levels[column]
        if 2 < levels < np.inf and not domain.space.parameters[column].log:
            assert abs(point[column] - 0.5) <= 0.5 / (levels - 1) + 1e-12


def test_samples_reach_every_distance_and_every_value():
    space = Space((*discrete_space([3] * 6).parameters, Integer("i", 0, 8), Float("x", 0, 1)))
    centre = np.array([0.0] * 6 + [0.5, 0.2])
    domain = Domain(space, Region(centre, 4, 0.26))
    points = domain.sample(3000, np.random.default_rng(1))
    distances = (points[:, :6] != centre[:6]).sum(axis=1)
    assert set(distances) == {0, 1, 2, 3, 4}
    assert set(points[:, 6]) == {0.25, 0.375, 0.5, 0.625, 0.75}
    np.testing.assert_allclose([points[:, 7].min(), points[:, 7].max()], [0.0, 0.46], atol=0.01)


# ----------------------------------------------------- enumeration and single changes
@given(domains(continuous=False))
@CHECKED
def test_enumeration_is_complete_and_distinct(domain):
    assume(domain.size <= 3000)
    points = domain.enumerate()
    assert len(points) == domain.size == len(set(rows(points)))
    expected = all_points(domain.space)
    for column, value in domain.fixed.items():
        expected[:, column] = value
    assert set(rows(points)) == set(rows(expected))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 5),
    st.booleans(),
    st.integers(0, 2**32),
)
@CHECKED
def test_neighbours_are_the_points_at_distance_one_inside(sizes, radius, with_region, seed):
    space, rng = discrete_space(sizes), np.random.default_rng(seed)
    region = Region(space.sample(1, rng)[0], radius, 0.2) if with_region else None
    fixed = {0: float(rng.integers(sizes[0]))} if rng.random() < 0.3 else {}
    domain = Domain(space, region, fixed)
    everything = domain.enumerate()
    everything = everything[domain.contains(everything)]
    point = domain.sample(1, rng)[0]
    expected = everything[(everything != point).sum(axis=1) == 1]
    assert rows(apply_changes(point, *domain.changes(point))) == rows(expected)


@given(domains(), st.integers(0, 2**32))
@CHECKED
def test_single_changes_of_any_kind_stay_inside(domain, seed):
    point = domain.sample(1, np.random.default_rng(seed))[0]
    columns, coordinates = domain.changes(point)
    changed = apply_changes(point, columns, coordinates)
    assert np.all(domain.contains(changed))
    assert np.all((changed != point).sum(axis=1) == 1)
    assert set(columns) <= set(domain.free)
    np.testing.assert_array_equal(changed, domain.project(changed, np.random.default_rng(0)))
    assert len(set(rows(changed))) == len(changed)


def test_a_grid_value_can_always_step_to_the_next():
    space = Space((Integer("i", 0, 1000),))
    centre = space.encode({"i": 500})
    for half_width in (1.0, 0.1, 0.0001):
        domain = Domain(space, Region(centre, 0, half_width))
        changed = apply_changes(centre, *domain.changes(centre))
        values = {space.decode(point)["i"] for point in changed}
        assert {499, 501} <= values


# --------------------------------------------------------------------------- sizes
def test_size_counts_the_free_columns():
    space = Space((*discrete_space([3, 1, 4]).parameters, Integer("i", 0, 9)))
    assert Domain(space).size == 120
    assert Domain(space, fixed={0: 1.0, 1: 0.0}).size == 40
    assert Domain(space, fixed=dict.fromkeys(range(4), 0.0)).size == 1
    assert Domain(Space((*space.parameters, Float("x", 0, 1)))).size == math.inf
    huge = Space((*discrete_space([7] * 700).parameters, Float("x", 0, 1)))
    assert Domain(huge, fixed={700: 0.5}).size == 7**700
    assert Domain(huge).size == math.inf


def test_columns_by_kind():
    space = Space(
        (
            Categorical("a", "xyz"),
            Float("b", 0, 1),
            Integer("c", 0, 5),
            Ordinal("d", "x"),
            Float("e", 2, 2),
            Ordinal("f", "xy"),
        )
    )
    domain = Domain(space)
    assert domain.free.tolist() == [0, 1, 2, 5]
    assert domain.free_discrete.tolist() == [0, 5]
    assert domain.free_numeric.tolist() == [1, 2]
    assert domain.free_continuous.tolist() == [1]
    assert Domain(space, fixed={0: 1.0, 1: 0.3}).free.tolist() == [2, 5]


# --------------------------------------------------------------------- reductions
@given(domains(with_region=False), st.integers(0, 2**32), st.integers(0, 3), st.floats(1.0, 9.0))
@CHECKED
def test_a_region_of_everything_is_no_region(whole, seed, extra, half_width):
    rng = np.random.default_rng(seed)
    centre = whole.space.sample(1, rng)[0]
    d = len(whole.space)
    bounded = Domain(whole.space, Region(centre, d + extra, half_width), whole.fixed)
    wild = wild_points(whole, 20, seed)
    np.testing.assert_array_equal(
        bounded.project(wild, np.random.default_rng(seed)),
        whole.project(wild, np.random.default_rng(seed)),
    )
    points = whole.sample(20, rng)
    assert np.all(bounded.contains(points))
    for ours, theirs in zip(bounded.changes(points[0]), whole.changes(points[0]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(
        bounded.bounds(bounded.free_numeric), whole.bounds(whole.free_numeric), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert bounded.size == whole.size


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_contains_counts_free_codes_only(radius):
    space = discrete_space([2, 2, 2, 1])
    domain = Domain(space, Region(np.zeros(4), radius, 0.5), {0: 1.0})
    points = domain.enumerate()
    np.testing.assert_array_equal(domain.contains(points), points[:, 1:3].sum(axis=1) <= radius)


# --------------------------------------------------------- parameters that may not exist
BRANCHES = Space(
    (
        Categorical("model", "abc"),
        Categorical("depth", range(3)),  # of model a
        Integer("width", 0, 3),  # of model a
        Categorical("solver", range(2)),  # of model b
        Float("rate", 0.0, 1.0, 0.5),  # of model b with solver 1
        Categorical("colour", range(3)),
        Float("size", 0.0, 1.0),
    )
)
FINITE = Space(BRANCHES.parameters[:-1])


def exist(points):
    """Return which of the parameters exist at points, by the rule itself."""
    active = np.ones(points.shape, dtype=bool)
    active[:, [1, 2]] = (points[:, 0] == 0.0)[:, None]
    active[:, 3] = points[:, 0] == 1.0
    active[:, 4] = (points[:, 0] == 1.0) & (points[:, 3] == 1.0)
    return active


def deactivated(points):
    return np.where(exist(points), points, np.nan)


def conditions_of(space):
    known = deactivated(space.sample(300, np.random.default_rng(0)))
    return learn_conditions(space, known)


CONDITIONS = {len(space): conditions_of(space) for space in (BRANCHES, FINITE)}


@st.composite
def conditional_domains(draw, space=BRANCHES):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    region = None
    if draw(st.booleans()):
        centre = deactivated(space.sample(1, rng))[0]
        region = Region(centre, draw(st.integers(1, 5)), draw(st.floats(0.01, 1.1)))
    columns = draw(st.sets(st.integers(0, len(space) - 1), max_size=2))
    anything = space.sample(1, rng)[0]
    fixed = {column: float(anything[column]) for column in columns}
    return Domain(space, region, fixed, CONDITIONS[len(space)])


def as_rows(points):
    """Return points as a set that can be compared, NaN and all."""
    return set(map(tuple, np.where(np.isnan(points), -1.0, points).tolist()))


def assert_belongs(domain, points):
    """Check that points are of the space, of their branches, as fixed, and in the region."""
    active = exist(points)
    np.testing.assert_array_equal(np.isnan(points), ~active)
    snapped = domain.space.snap(points)
    np.testing.assert_array_equal(points[:, domain.free], snapped[:, domain.free])
    for column, value in domain.fixed.items():
        assert np.all(points[active[:, column], column] == value)
    assert np.all(domain.contains(points))


@given(conditional_domains(), st.integers(0, 2**32))
@CHECKED
def test_samples_have_what_exists_and_nothing_else(domain, seed):
    points = domain.sample(40, np.random.default_rng(seed))
    assert_belongs(domain, points)
    np.testing.assert_array_equal(points, domain.sample(40, np.random.default_rng(seed)))


@given(conditional_domains(), st.integers(0, 2**32), st.floats(0.0, 0.6))
@CHECKED
def test_project_completes_and_cuts_to_the_branch(domain, seed, n_missing):
    rng = np.random.default_rng(seed)
    wild = wild_points(domain, 30, seed)
    wild[:, 1:][rng.random((30, len(domain.space) - 1)) < n_missing] = np.nan
    points = domain.project(wild, rng)
    assert_belongs(domain, points)
    np.testing.assert_array_equal(domain.project(points, rng), points)


@given(conditional_domains(FINITE))
@CHECKED
def test_enumeration_has_every_point_of_every_branch(domain):
    expected = all_points(FINITE)
    for column, value in domain.fixed.items():
        expected[:, column] = value
    found = domain.enumerate()
    assert as_rows(found) == as_rows(deactivated(expected))
    assert len(found) == domain.size  # branches that have less come more often


@given(conditional_domains(), st.integers(0, 2**32))
@CHECKED
def test_changes_are_of_what_exists_and_lead_to_points_of_the_domain(domain, seed):
    rng = np.random.default_rng(seed)
    point = domain.sample(1, rng)[0]
    columns, coordinates = domain.changes(point)
    assert not np.any(np.isnan(point[columns])) and set(columns) <= set(domain.free)
    assert np.all(coordinates != point[columns])
    assert_belongs(
        domain, domain.impute_conditionals(apply_changes(point, columns, coordinates), rng)
    )


@given(conditional_domains(), st.integers(0, 2**32))
@CHECKED
def test_every_code_that_stays_inside_is_among_the_changes(domain, seed):
    """Columns that do not exist at the centre do not count in the distance from it."""
    point = domain.sample(1, np.random.default_rng(seed))[0]
    expected = []
    for column in domain.free_discrete[~np.isnan(point[domain.free_discrete])]:
        for code in range(int(domain.space.n_levels[column])):
            changed = point.copy()
            changed[column] = code
            if code != point[column] and domain.contains(changed[None])[0]:
                expected.append((int(column), float(code)))
    columns, coordinates = domain.changes(point)
    codes = domain.space.is_discrete[columns]
    found = zip(columns[codes].tolist(), coordinates[codes].tolist(), strict=True)
    assert sorted(found) == sorted(expected)


@given(conditional_domains(), st.integers(0, 2**32))
@CHECKED
def test_settling_keeps_what_exists_and_takes_the_rest_from_the_centre(domain, seed):
    rng = np.random.default_rng(seed)
    points = domain.sample(20, rng)
    moved = points.copy()
    moved[:, 0] = rng.integers(3, size=20)
    settled = domain.impute_conditionals(moved, rng)
    fixed = domain.apply_fixed(moved)
    stays = ~np.isnan(fixed) & exist(settled)
    np.testing.assert_array_equal(settled[stays], fixed[stays])
    new = np.isnan(fixed) & exist(settled)
    if domain.centre is not None:
        centre = np.broadcast_to(domain.centre, points.shape)
        new &= ~np.isnan(centre)
        np.testing.assert_array_equal(settled[new], centre[new])


def test_what_does_not_exist_is_no_difference():
    centre = np.array([0.0, 1.0, np.nan, 0.5])
    points = np.array([[1.0, np.nan, 2.0, 0.5], [0.0, 2.0, np.nan, 0.4]])
    expected = [[True, False, False, False], [False, True, False, True]]
    assert differing(points, centre).tolist() == expected


def test_gradients_are_taken_in_columns_that_exist():
    space = Space((Categorical("c", "ab"), Float("x", 0, 1), Float("y", 0, 1)))
    domain = Domain(space)
    assert domain.free_continuous_at(np.array([0.0, 0.5, np.nan])).tolist() == [1]
    assert domain.free_continuous_at(np.array([0.0, np.nan, np.nan])).tolist() == []


def test_a_number_that_is_moved_into_the_region_brings_what_exists_there():
    """Parameters under a threshold of a number: clipped to the box, the number is below it."""
    space = Space((Integer("n", 1, 1024, log=True), Categorical("below", "ab")))
    rows = np.array([[0.0, 0.0], [0.2, 1.0], [0.4, 0.0], [0.6, np.nan], [0.8, np.nan]] * 4)
    conditions = learn_conditions(space, rows)
    region = Region(np.array([0.0, 0.0]), 1, 0.1)
    domain = Domain(space, region=region, conditions=conditions)
    rng = np.random.default_rng(0)
    points = domain.project(np.array([[0.9, np.nan], [0.7, np.nan], [0.1, 1.0]]), rng)
    np.testing.assert_array_equal(np.isnan(points), ~conditions.active(points))
    assert not np.isnan(points).any()
