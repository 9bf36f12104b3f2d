"""Linear limits: points that break them are moved, the others stay, and suggestions keep them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.search.domain import Domain, Region
from heat_plugins.search.feasible_point import feasible_point
from heat_plugins.search.linear_constraints import LimitedBox, LinearLimits
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.search.trust_region import TrustRegionRules
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.conditions import conditions_of
from heat_plugins.suggest import History, NoFeasiblePoint, Problem, Settings, suggest

CHECKED = settings(deadline=None, max_examples=60)
SMALL_SEARCH = SearchBudget(population=40, generations=4, parents=10, ascents=2, ascent_steps=8)
QUICK = Settings(n_startup_trials=4, search=SMALL_SEARCH)

SIX = Space(tuple(Float(f"x{i}", 0, 1) for i in range(6)))
SUM = LinearLimits(np.ones((1, 6)), np.array([0.3]))
# x0 <= x1 <= ... <= x5
ORDER = LinearLimits(np.eye(5, 6) - np.eye(5, 6, k=1), np.zeros(5))
WHOLE = Space(tuple(Integer(f"i{i}", 0, 10) for i in range(6)))
FEW_WHOLE = LinearLimits(np.full((1, 6), 10.0), np.array([3.0]))  # the sum is at most 3
MIXED = Space(
    (
        Ordinal("n", (1, 2, 4, 8)),
        Float("x", 0, 1),
        Integer("i", 0, 5),
        Categorical("c", "ab"),
        Float("y", 0, 1),
    )
)
# n + 4 x + i <= 4 and x + y >= 1.5
MIXED_LIMITS = LinearLimits(
    np.array([[1.0, 4.0, 5.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0, -1.0]]),
    np.array([4.0, -1.5]),
    {0: np.array([1.0, 2.0, 4.0, 8.0])},
)
PROBLEMS = pytest.mark.parametrize(
    ("space", "limits"),
    [(SIX, SUM), (SIX, ORDER), (WHOLE, FEW_WHOLE), (WHOLE, ORDER), (MIXED, MIXED_LIMITS)],
    ids=["sum", "order", "whole sum", "whole order", "mixed"],
)


def box_of(limits, space):
    ends = np.zeros(len(space)), np.ones(len(space))
    return LimitedBox(limits, space, np.arange(len(space)), *ends)


@PROBLEMS
def test_the_middle_keeps_the_limits(space, limits):
    domain = Domain(space, limits=limits)
    for seed in range(10):
        assert limits.holds(domain.middle(np.random.default_rng(seed))[None])[0]


# ------------------------------------------------------------------------ what holds
def test_sums_are_of_coordinates_and_of_what_codes_stand_for():
    points = np.array([[0.0, 0.5, 0.2, 0.0, 1.0], [3.0, 0.0, 0.0, 1.0, 1.0]])
    expected = [[1.0 + 2.0 + 1.0 - 4.0, -1.5 + 1.5], [8.0 - 4.0, -1.0 + 1.5]]
    np.testing.assert_allclose(MIXED_LIMITS.excess(points), expected)
    np.testing.assert_array_equal(MIXED_LIMITS.holds(points), [True, False])


def test_limits_on_what_does_not_exist_hold():
    points = np.array([[3.0, np.nan, 1.0, 0.0, 0.0], [np.nan, 0.9, 1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(MIXED_LIMITS.holds(points), [True, False])
    np.testing.assert_array_equal(np.isneginf(MIXED_LIMITS.excess(points)), [[1, 1], [1, 0]])


def test_no_limits_always_hold():
    nothing = LinearLimits(np.empty((0, 6)), np.empty(0))
    points = SIX.sample(5, np.random.default_rng(0))
    assert nothing.holds(points).all()
    np.testing.assert_array_equal(
        box_of(nothing, SIX).repair(points, None, np.random.default_rng(0)), points
    )


@pytest.mark.parametrize(
    ("weights", "bounds", "message"),
    [
        (np.ones(3), np.ones(1), "shapes"),
        (np.ones((2, 3)), np.ones(3), "shapes"),
        (np.full((1, 3), np.nan), np.ones(1), "finite"),
        (np.ones((1, 3)), np.full(1, np.inf), "finite"),
    ],
)
def test_limits_without_sense_are_an_error(weights, bounds, message):
    with pytest.raises(ValueError, match=message):
        LinearLimits(weights, bounds)


# ---------------------------------------------------------------------------- repair
@st.composite
def limited(draw):
    """Draw limits that a known point of a mixed space keeps, and points."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    numbers = [Float(f"x{i}", 0, 1) for i in range(draw(st.integers(1, 4)))]
    whole = [Integer(f"i{i}", 0, 4) for i in range(draw(st.integers(0, 2)))]
    codes = [Ordinal(f"o{i}", range(3)) for i in range(draw(st.integers(0, 1)))]
    space = Space(tuple(numbers + whole + codes))
    n_limits = draw(st.integers(1, 3))
    weights = rng.standard_normal((n_limits, len(space)))
    weights[rng.random(weights.shape) < 0.3] = 0.0
    tables = {len(space) - 1: rng.standard_normal(3)} if codes else {}
    inside = space.sample(1, rng)
    room = draw(st.sampled_from([0.0, 0.01, 0.3]))
    free = LinearLimits(weights, np.zeros(n_limits), tables)
    limits = LinearLimits(weights, free.excess(inside)[0] + room, tables)
    return space, limits, inside[0], rng


@given(limited())
@CHECKED
def test_points_are_moved_until_they_keep_the_limits(problem):
    space, limits, _, rng = problem
    domain = Domain(space, limits=limits)
    moved = 0.1 * rng.standard_normal((40, len(space)))
    points = domain.project(space.sample(40, rng) + np.where(space.is_discrete, 0.0, moved), rng)
    np.testing.assert_allclose(space.snap(points), points)
    assert limits.holds(points).mean() > 0.9
    assert limits.holds(domain.sample(40, rng)).mean() > 0.9


@given(limited())
@CHECKED
def test_points_that_keep_the_limits_stay(problem):
    space, limits, inside, rng = problem
    points = np.vstack([inside, space.sample(60, rng)])
    points = points[limits.holds(points)]
    moved = Domain(space, limits=limits).project(points, rng)
    np.testing.assert_array_equal(moved, points)


@given(limited())
@CHECKED
def test_a_feasible_point_is_found_where_there_is_one(problem):
    space, limits, inside, _ = problem
    found = feasible_point(limits, space, {})
    assert found is not None
    np.testing.assert_array_equal(~np.isnan(found), limits.involved)
    whole = np.where(np.isnan(found), 0.0, found)
    assert np.all(limits.excess(whole[None]) <= 1e-6 * limits.scales)


def test_one_limit_is_an_exact_projection():
    """The nearest point of the box with the limit, by a general solver."""
    rng = np.random.default_rng(0)
    box = box_of(SUM, SIX)
    for point in SIX.sample(20, rng):
        moved = box.project(point[None], None)[0]
        assert moved.sum() == pytest.approx(0.3)
        # Optimality: x - moved is t >= 0 where moved is inside, and at most t at zero.
        steps = point - moved
        t = steps[moved > 0.0].mean()
        np.testing.assert_allclose(steps[moved > 0.0], t, atol=1e-12)
        assert t > 0.0 and np.all(steps[moved == 0.0] <= t + 1e-12)


def test_an_order_of_numbers_is_restored_near_by():
    rng = np.random.default_rng(0)
    points = SIX.sample(200, rng)
    moved = box_of(ORDER, SIX).repair(points, feasible_point(ORDER, SIX, {}), rng)
    assert ORDER.holds(moved).all()
    averages = np.abs(np.sort(points, axis=1) - points).sum(axis=1)
    assert np.all(np.abs(moved - points).sum(axis=1) <= 1.5 * averages + 1e-3)


@pytest.mark.parametrize("width", [0.0, 1e-9])
def test_equalities_are_two_limits(width):
    limits = LinearLimits(np.array([np.ones(6), -np.ones(6)]), np.array([1.0, -1.0]) + width)
    rng = np.random.default_rng(0)
    points = Domain(SIX, limits=limits).sample(50, rng)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, atol=1e-8)
    assert limits.holds(points).all()


def test_samples_are_spread_over_what_the_limits_leave():
    """Uniform in the simplex: each of the numbers and the room left has the mean 0.3 / 7."""
    points = Domain(SIX, limits=SUM).sample(2000, np.random.default_rng(0))
    assert SUM.holds(points).all()
    np.testing.assert_allclose(points.mean(axis=0), 0.3 / 7, atol=0.004)
    assert points.sum(axis=1).mean() == pytest.approx(0.3 * 6 / 7, abs=0.004)


def test_samples_of_a_loose_limit_are_those_that_keep_it():
    limits = LinearLimits(np.ones((1, 6)), np.array([3.0]))
    points = Domain(SIX, limits=limits).sample(1000, np.random.default_rng(0))
    drawn = SIX.sample(1000, np.random.default_rng(0))
    first = limits.holds(drawn)
    np.testing.assert_array_equal(points[first], drawn[first])
    assert limits.holds(points).all() and np.all(points.sum(axis=1).max() > 2.99)


def test_held_columns_are_not_moved():
    domain = Domain(SIX, fixed={0: 0.25}, limits=SUM)
    for points in (
        domain.sample(50, np.random.default_rng(0)),
        domain.project(SIX.sample(50, np.random.default_rng(1)), np.random.default_rng(0)),
    ):
        assert np.all(points[:, 0] == 0.25) and SUM.holds(points).all()


def test_points_stay_in_their_region():
    centre = np.full(6, 0.05)
    domain = Domain(SIX, region=Region(centre, 1, 0.04), limits=SUM)
    rng = np.random.default_rng(0)
    for points in (domain.sample(50, rng), domain.project(SIX.sample(50, rng), rng)):
        assert domain.contains(points).all() and SUM.holds(points).all()


def test_what_does_not_exist_is_not_moved():
    space = Space((Categorical("c", "ab"), Float("x", 0, 1), Float("y", 0, 1)))
    conditions = conditions_of(space, {"x": ("c", ["a"])})
    limits = LinearLimits(np.array([[0.0, 1.0, 1.0]]), np.array([0.1]))
    domain, rng = Domain(space, conditions=conditions, limits=limits), np.random.default_rng(0)
    for points in (domain.sample(100, rng), domain.project(space.sample(100, rng), rng)):
        exists = points[:, 0] == 0.0
        np.testing.assert_array_equal(~np.isnan(points[:, 1]), exists)
        assert np.all(points[exists, 1:].sum(axis=1) <= 0.1 + 1e-9)
        assert points[~exists, 2].max() > 0.8


def test_other_limits_on_what_does_not_exist_are_no_hindrance():
    """Where z does not exist its limit is none, and that on x and y must still be kept."""
    limits = LinearLimits(
        np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [-1.0, 1.0, 0.0]]), np.array([0.5, 0.1, 0.0])
    )
    space = Space(SIX.parameters[:3])
    points = space.sample(50, np.random.default_rng(0))
    points[::2, 2] = np.nan
    moved = box_of(limits, space).project(points, np.zeros(3))
    assert limits.holds(moved).all()
    np.testing.assert_array_equal(np.isnan(moved), np.isnan(points))


# ------------------------------------------------------------------------ suggestions
def value_of(points):
    return np.sum((points - 0.4) ** 2, axis=1)


@PROBLEMS
@pytest.mark.parametrize("rules", [None, TrustRegionRules()], ids=["everywhere", "region"])
@pytest.mark.parametrize("n", [0, 3, 12])
def test_suggestions_keep_the_limits(space, limits, n, rules):
    options = Settings(n_startup_trials=4, search=SMALL_SEARCH, trust_region=rules)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = Domain(space, limits=limits).sample(n, rng)
        history = History.of(space, points, value_of(points))
        found = suggest(Problem(space, limits=limits), history, options, rng)
        assert limits.holds(found.point[None])[0] and found.is_new
        np.testing.assert_allclose(space.snap(found.point[None])[0], found.point)


@PROBLEMS
def test_limits_and_a_rule_are_both_kept(space, limits):
    def allowed(points):
        return points[:, 1] <= 0.5

    for n in (0, 8):
        rng = np.random.default_rng(0)
        points = Domain(space, limits=limits).sample(n, rng)
        history = History.of(space, points, value_of(points))
        point = suggest(Problem(space, allowed=allowed, limits=limits), history, QUICK, rng).point
        assert limits.holds(point[None])[0] and point[1] <= 0.5


@pytest.mark.parametrize("n", [0, 8])
@pytest.mark.parametrize("space", [SIX, WHOLE], ids=["floats", "integers"])
def test_limits_that_nothing_keeps_are_an_error(space, n):
    limits = LinearLimits(np.ones((1, 6)), np.array([-0.1]))
    assert feasible_point(limits, space, {}) is None
    rng = np.random.default_rng(0)
    points = space.sample(n, rng)
    with pytest.raises(NoFeasiblePoint):
        suggest(
            Problem(space, limits=limits), History.of(space, points, value_of(points)), QUICK, rng
        )


def test_one_point_in_a_million_is_found():
    """x_i <= x_{i+1} - 0.19 for all i: hardly any room is left."""
    limits = LinearLimits(ORDER.weights, np.full(5, -0.19))
    history = History.of(SIX, np.empty((0, 6)), np.empty(0))
    for seed in range(5):
        point = suggest(
            Problem(SIX, limits=limits), history, QUICK, np.random.default_rng(seed)
        ).point
        assert limits.holds(point[None])[0]
    # A single solution in whole numbers, among 11^6: i_k = 2 k.
    only = LinearLimits(ORDER.weights, np.full(5, -0.2))
    point = suggest(Problem(WHOLE, limits=only), history, QUICK, np.random.default_rng(0)).point
    np.testing.assert_allclose(point, np.arange(6) / 5)


def test_all_that_limits_leave_is_visited_before_anything_is_repeated():
    space = Space(tuple(Integer(f"i{i}", 0, 3) for i in range(3)))
    limits = LinearLimits(np.full((1, 3), 3.0), np.array([1.0]))  # (0, 0, 0) and three more
    rng, points = np.random.default_rng(0), np.empty((0, 3))
    for trial in range(6):
        history = History.of(space, points, value_of(points))
        found = suggest(Problem(space, limits=limits), history, QUICK, rng)
        assert limits.holds(found.point[None])[0]
        assert found.is_new == (trial < 4)
        points = np.vstack([points, found.point])
    assert len(np.unique(points, axis=0)) == 4


def run(space, limits, objective, n, **options):
    rng, points = np.random.default_rng(0), np.empty((0, len(space)))
    chosen = Settings(n_startup_trials=6, deterministic=True, **options)
    asked = np.empty(0, dtype=np.int64)
    for _ in range(n):
        history = History.of(space, points, objective(points), asked)
        found = suggest(Problem(space, limits=limits), history, chosen, rng)
        points = np.vstack([points, found.point])
        asked = np.append(asked, found.region_id)
    assert limits.holds(points).all()
    return points[np.argmin(objective(points))]


def test_an_optimum_on_a_face_is_approached():
    """The nearest to (0.4, ..., 0.4) with a sum of at most 0.3 is (0.05, ..., 0.05)."""
    best = run(SIX, SUM, value_of, 30)
    assert best.sum() > 0.299
    assert value_of(best[None])[0] < 6 * 0.35**2 + 0.01  # of 0.74 to 0.96


def test_an_optimum_on_an_edge_is_approached():
    """Of x0 <= x1 <= x2, nearest to (0.8, 0.5, 0.2) are three times 0.5."""
    space = Space(SIX.parameters[:3])
    limits = LinearLimits(ORDER.weights[:2, :3], np.zeros(2))
    best = run(space, limits, lambda p: ((p - [0.8, 0.5, 0.2]) ** 2).sum(axis=1), 30)
    np.testing.assert_allclose(best, 0.5, atol=0.03)


def test_an_optimum_of_a_numeric_choice_and_a_number_is_found():
    """With n + 4 x <= 6 and n one of 1, 2, 4, 8, the most of n x is at n = 4, x = 0.5."""
    space = Space((Ordinal("n", (1, 2, 4, 8)), Float("x", 0, 1)))
    table = np.array([1.0, 2.0, 4.0, 8.0])
    limits = LinearLimits(np.array([[1.0, 4.0]]), np.array([6.0]), {0: table})

    def objective(points):
        return -table[points[:, 0].astype(int)] * points[:, 1] - 0.1 * (points[:, 0] == 2)

    best = run(space, limits, objective, 20)
    assert best[0] == 2.0 and best[1] > 0.49


def test_an_optimum_of_whole_numbers_is_found():
    """Of sums of at most 3, the best gives all to the heaviest two."""
    weights = np.array([1.0, 5.0, 2.0, 4.9, 1.0, 0.5])

    def objective(points):
        whole = 10.0 * points
        return -(whole @ weights) + 0.2 * (whole**2).sum(axis=1)

    best = run(WHOLE, FEW_WHOLE, objective, 30)
    np.testing.assert_allclose(10.0 * best, [0, 2, 0, 1, 0, 0])
