"""The next point: a pure function of what is known, and new for as long as it can be."""

import copy
import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heat_plugins.acquisition import builder
from heat_plugins.gp.outcome_transform import standardise
from heat_plugins.history import NO_REGION
from heat_plugins.search.domain import Domain
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.search.trust_region import TrustRegionRules
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive, InteractionOrders, RandomDecomposition
from heat_plugins.suggest import FitCache, History, NoFeasiblePoint, Problem, Settings, suggest

FEW = settings(deadline=None, max_examples=12)
SMALL_SEARCH = SearchBudget(
    population=20, generations=2, parents=8, ascents=2, ascent_steps=5, enumerate_up_to=50
)
QUICK = Settings(n_startup_trials=3, search=SMALL_SEARCH)
# A trust region that changes often, so that short runs see all of its life.
BUSY_RULES = TrustRegionRules(
    first_scale=0.5, factor=2.0, successes_to_grow=2, failures_to_shrink=2, smallest_box=0.1
)

MIXED = Space(
    (
        Categorical("c", "abcd"),
        Float("x", -1, 1),
        Ordinal("o", range(4)),
        Integer("i", 0, 9),
        Categorical("one", "z"),
        Float("fixed", 2.0, 2.0),
        Categorical("b", "ab"),
    )
)
CATEGORIES = Space(tuple(Categorical(f"c{i}", range(2 + i % 3)) for i in range(8)))
GRID = Space((Categorical("c", "ab"), Integer("i", 0, 3), Float("g", 0.0, 1.0, 0.5)))


def value_of(points):
    """A smooth function of coordinates with a single minimum."""
    return np.sum((points - 0.3 * np.arange(points.shape[1])) ** 2, axis=1)


def some_history(space, n, seed=0, n_pending=0, n_failed=0):
    rng = np.random.default_rng(seed)
    points = space.sample(n, rng)
    return History.of(
        space,
        points,
        value_of(points),
        pending=space.sample(n_pending, rng),
        failed=space.sample(n_failed, rng),
    )


def extended(history, suggestion, value):
    """Return the history after one more trial."""
    return dataclasses.replace(
        history,
        points=np.concatenate([history.points, suggestion.point[None]]),
        values=np.append(history.values, value),
        region_ids=np.append(history.region_ids, suggestion.region_id),
    )


def run(space, n, settings, cache=None, objective=value_of, seed=0):
    """Return the points and regions that ``n`` calls in a row suggest."""
    history, asked = some_history(space, 0), []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        suggestion = suggest(Problem(space), history, settings, rng, cache=cache)
        asked.append((suggestion.point, suggestion.region_id, suggestion.is_new))
        history = extended(history, suggestion, objective(suggestion.point[None])[0])
    return asked


def assert_same_run(one, other):
    for (point, region, is_new), (point2, region2, is_new2) in zip(one, other, strict=True):
        np.testing.assert_array_equal(point, point2)
        assert (region, is_new) == (region2, is_new2)


def rows(points):
    return set(map(tuple, points.tolist()))


def is_valid(space, point):
    """Whether a point is one of the space: on its grids, with whole codes."""
    return bool(
        np.array_equal(space.snap(point[None])[0], point)
        and np.all(
            (point >= 0.0) & (point <= np.where(space.is_discrete, space.n_levels - 1, 1.0))
        )
    )


# -------------------------------------------------------------------------- purity
@pytest.mark.parametrize("space", [MIXED, CATEGORIES, GRID], ids=["mixed", "codes", "grid"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_the_same_arguments_give_the_same_point(space, deterministic):
    options = dataclasses.replace(QUICK, deterministic=deterministic)
    history = some_history(space, 12, n_pending=2, n_failed=1)
    before = [copy.deepcopy(array) for array in dataclasses.astuple(history)]
    first = suggest(Problem(space), history, options, np.random.default_rng(5))
    cache = FitCache()
    for cache_or_none in (None, cache, cache, FitCache()):
        again = suggest(
            Problem(space), history, options, np.random.default_rng(5), cache=cache_or_none
        )
        np.testing.assert_array_equal(again.point, first.point)
        assert (again.region_id, again.is_new) == (first.region_id, first.is_new)
    for array, old in zip(dataclasses.astuple(history), before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert is_valid(space, first.point)


@pytest.mark.parametrize("rules", [None, BUSY_RULES])
@pytest.mark.parametrize("space", [MIXED, CATEGORIES], ids=["mixed", "codes"])
def test_a_cache_changes_nothing_in_a_whole_run(space, rules):
    options = dataclasses.replace(QUICK, trust_region=rules)
    without = run(space, 30, options)
    assert_same_run(without, run(space, 30, options, cache=FitCache()))


def test_a_cache_of_another_study_changes_nothing():
    cache = FitCache()
    suggest(
        Problem(CATEGORIES),
        some_history(CATEGORIES, 20, seed=1),
        QUICK,
        np.random.default_rng(0),
        cache=cache,
    )
    history = some_history(CATEGORIES, 20, seed=2)
    with_cache = suggest(
        Problem(CATEGORIES), history, QUICK, np.random.default_rng(3), cache=cache
    )
    without = suggest(Problem(CATEGORIES), history, QUICK, np.random.default_rng(3))
    np.testing.assert_array_equal(with_cache.point, without.point)


def test_a_cache_of_other_settings_changes_nothing():
    history = some_history(CATEGORIES, 40)
    small = dataclasses.replace(QUICK, max_fit_points=10)
    cache = FitCache()
    suggest(Problem(CATEGORIES), history, small, np.random.default_rng(0), cache=cache)
    for options in (QUICK, dataclasses.replace(QUICK, deterministic=True), small):
        for seed in range(3):
            rngs = [np.random.default_rng(seed) for _ in range(2)]
            with_cache = suggest(Problem(CATEGORIES), history, options, rngs[0], cache=cache)
            without = suggest(Problem(CATEGORIES), history, options, rngs[1])
            np.testing.assert_array_equal(with_cache.point, without.point)


def test_randomness_comes_from_the_generator_alone():
    np.random.seed(0)
    one = run(MIXED, 8, QUICK)
    np.random.seed(1)
    assert_same_run(one, run(MIXED, 8, QUICK))
    other = run(MIXED, 8, QUICK, seed=1)
    assert not np.array_equal(one[0], other[0])


# ------------------------------------------------------------------------ start-up
def test_start_up_is_random_and_belongs_to_no_region():
    options = dataclasses.replace(QUICK, n_startup_trials=5)
    points = []
    for n in range(5):
        history = some_history(MIXED, n, n_pending=2)
        points += [
            suggest(Problem(MIXED), history, options, np.random.default_rng([n, seed]))
            for seed in range(20)
        ]
    assert {suggestion.region_id for suggestion in points} == {NO_REGION}
    codes = np.array([suggestion.point for suggestion in points])
    assert all(is_valid(MIXED, point) for point in codes)
    for column in np.flatnonzero(np.isfinite(MIXED.n_levels)):
        assert len(set(codes[:, column])) == MIXED.n_levels[column]
    assert (
        suggest(
            Problem(MIXED), some_history(MIXED, 5), options, np.random.default_rng(0)
        ).region_id
        == 0
    )


def test_start_up_does_not_look_at_the_values():
    history = some_history(MIXED, 2)
    flipped = dataclasses.replace(history, values=-history.values)
    for seed in range(3):
        np.testing.assert_array_equal(
            suggest(Problem(MIXED), history, QUICK, np.random.default_rng(seed)).point,
            suggest(Problem(MIXED), flipped, QUICK, np.random.default_rng(seed)).point,
        )


@pytest.mark.parametrize("n_startup", [0, 1])
def test_nothing_known_gives_a_random_point(n_startup):
    options = dataclasses.replace(QUICK, n_startup_trials=n_startup)
    nothing = some_history(MIXED, 0)
    suggestion = suggest(Problem(MIXED), nothing, options, np.random.default_rng(0))
    assert is_valid(MIXED, suggestion.point)
    assert suggestion.is_new and suggestion.region_id == NO_REGION
    assert nothing.points.shape == nothing.pending.shape == nothing.failed.shape == (0, 7)


# --------------------------------------------------------------------- new points
@st.composite
def small_finite_spaces(draw):
    parameters = []
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["cat", "ord", "int", "log", "grid", "single"]))
        if kind in ("cat", "ord"):
            choices = range(draw(st.integers(1, 3)))
            parameters.append((Categorical if kind == "cat" else Ordinal)(f"p{i}", choices))
        elif kind == "grid":
            parameters.append(Float(f"p{i}", 0.1, 0.1 + 0.1 * draw(st.integers(0, 2)), 0.1))
        elif kind == "single":
            parameters.append(Float(f"p{i}", 0.5, 0.5))
        else:
            parameters.append(Integer(f"p{i}", 1, 1 + draw(st.integers(0, 3)), log=kind == "log"))
    return Space(tuple(parameters))


@given(
    space=small_finite_spaces(),
    seed=st.integers(0, 2**32),
    share=st.floats(0.0, 1.0),
    enumerate_up_to=st.sampled_from([0, 1000]),
    rules=st.sampled_from([None, BUSY_RULES]),
    deterministic=st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_a_known_point_is_suggested_only_when_all_are_known(
    space, seed, share, enumerate_up_to, rules, deterministic
):
    rng = np.random.default_rng(seed)
    everything = Domain(space).enumerate()
    known = everything[rng.random(len(everything)) < share]
    known = known[rng.permutation(len(known))]
    # finished, pending and failed trials are all known
    n, m = sorted(rng.integers(len(known) + 1, size=2))
    history = History.of(
        space, known[:n], value_of(known[:n]), pending=known[n:m], failed=known[m:]
    )
    options = Settings(
        n_startup_trials=int(rng.integers(5)),
        deterministic=deterministic,
        trust_region=rules,
        search=dataclasses.replace(SMALL_SEARCH, enumerate_up_to=enumerate_up_to),
    )
    suggestion = suggest(Problem(space), history, options, rng)
    assert tuple(suggestion.point) in rows(everything)
    assert suggestion.is_new == (len(known) < len(everything))
    assert suggestion.is_new == (tuple(suggestion.point) not in rows(known))


@pytest.mark.parametrize("space", [GRID, Space(CATEGORIES.parameters[:3])])
@pytest.mark.parametrize("enumerate_up_to", [0, 1000])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_a_run_visits_every_point_once_and_then_repeats(space, enumerate_up_to, rules):
    options = dataclasses.replace(
        QUICK,
        trust_region=rules,
        search=dataclasses.replace(SMALL_SEARCH, enumerate_up_to=enumerate_up_to),
    )
    asked = run(space, int(space.size) + 3, options)
    news = [is_new for _, _, is_new in asked]
    assert news == [True] * int(space.size) + [False] * 3
    visited = np.array([point for point, _, _ in asked[: int(space.size)]])
    assert rows(visited) == rows(Domain(space).enumerate())
    assert all(tuple(point) in rows(visited) for point, _, _ in asked)


@given(st.integers(0, 2**32))
@FEW
def test_points_under_evaluation_are_not_suggested_again(seed):
    """Asking several times without an answer gives different points."""
    history = some_history(CATEGORIES, 8, seed=seed)
    for _ in range(6):
        suggestion = suggest(Problem(CATEGORIES), history, QUICK, np.random.default_rng(seed))
        assert tuple(suggestion.point) not in rows(
            np.concatenate([history.points, history.pending])
        )
        pending = np.concatenate([history.pending, suggestion.point[None]])
        history = dataclasses.replace(history, pending=pending)


def test_continuous_spaces_never_run_out():
    space = Space((Float("x", 0, 1), Categorical("c", "ab")))
    asked = run(space, 30, QUICK)
    assert all(is_new for _, _, is_new in asked)
    assert len({point.tobytes() for point, _, _ in asked}) == 30


# --------------------------------------------------------------------- fixed columns
@given(st.integers(0, 2**32), st.integers(0, 15), st.sets(st.integers(0, 6), min_size=1))
@FEW
def test_held_columns_are_held(seed, n, columns):
    rng = np.random.default_rng(seed)
    wanted = MIXED.sample(1, rng)[0]
    fixed = {column: float(wanted[column]) for column in columns}
    history = some_history(MIXED, n, seed=seed)
    suggestion = suggest(Problem(MIXED, fixed=fixed), history, QUICK, rng)
    assert all(suggestion.point[column] == value for column, value in fixed.items())
    assert is_valid(MIXED, suggestion.point)


def test_only_the_free_columns_can_run_out():
    fixed = {0: 1.0}
    everything = Domain(GRID, fixed=fixed).enumerate()
    history = History.of(GRID, everything, value_of(everything))
    again = suggest(Problem(GRID, fixed=fixed), history, QUICK, np.random.default_rng(0))
    assert not again.is_new and again.point[0] == 1.0
    other = suggest(Problem(GRID, fixed={0: 0.0}), history, QUICK, np.random.default_rng(0))
    assert other.is_new and other.point[0] == 0.0


# -------------------------------------------------------------------- long histories
@pytest.mark.parametrize("space", [MIXED, CATEGORIES], ids=["mixed", "codes"])
@pytest.mark.parametrize("n", [19, 20, 21, 60])
@pytest.mark.parametrize("limit", [4, 20])
def test_long_histories_are_cut_for_the_model(space, n, limit):
    options = dataclasses.replace(QUICK, max_model_points=limit, max_fit_points=limit)
    history = some_history(space, n)
    suggestion = suggest(Problem(space), history, options, np.random.default_rng(0))
    assert is_valid(space, suggestion.point)
    assert tuple(suggestion.point) not in rows(history.points)
    cache = FitCache()
    again = suggest(Problem(space), history, options, np.random.default_rng(0), cache=cache)
    np.testing.assert_array_equal(again.point, suggestion.point)


def test_limits_beyond_the_history_make_no_difference():
    history = some_history(CATEGORIES, 30)
    plain = suggest(Problem(CATEGORIES), history, QUICK, np.random.default_rng(0))
    exact = dataclasses.replace(QUICK, max_model_points=30, max_fit_points=30)
    np.testing.assert_array_equal(
        suggest(Problem(CATEGORIES), history, exact, np.random.default_rng(0)).point, plain.point
    )


# ------------------------------------------------------------------ awkward histories
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
@pytest.mark.parametrize(
    "values",
    [
        np.zeros(12),
        np.full(12, math.inf),
        np.full(12, -math.inf),
        np.array([math.inf] * 11 + [1.0]),
        np.array([math.inf, -math.inf] * 6),
        np.array([1e300, -1e300, 0.0] * 4),
        np.array([1.0] * 11 + [1.0 + 1e-15]),
    ],
    ids=["constant", "inf", "-inf", "one finite", "both", "huge", "tiny"],
)
def test_any_values_give_a_point(values, rules, deterministic):
    options = dataclasses.replace(QUICK, trust_region=rules, deterministic=deterministic)
    for space in (MIXED, CATEGORIES):
        points = space.sample(12, np.random.default_rng(0))
        history = History.of(space, points, values)
        suggestion = suggest(Problem(space), history, options, np.random.default_rng(1))
        assert is_valid(space, suggestion.point)
        assert suggestion.is_new


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_an_infinite_value_is_only_a_bad_one(deterministic, rules):
    """It stands where a finite value a little worse than the worst would stand."""
    space = Space(CATEGORIES.parameters[:6])
    listing = SearchBudget(enumerate_up_to=10**4)
    options = Settings(
        n_startup_trials=3, deterministic=deterministic, trust_region=rules, search=listing
    )
    points = np.unique(space.sample(20, np.random.default_rng(1)), axis=0)
    values = value_of(points)
    for n_infinite in (1, 3):
        infinite, finite = values.copy(), values.copy()
        infinite[:n_infinite] = math.inf
        rest = values[n_infinite:]
        finite[:n_infinite] = rest.max() + 0.1 * np.ptp(rest)
        suggested = [
            suggest(
                Problem(space), History.of(space, points, v), options, np.random.default_rng(2)
            ).point
            for v in (infinite, finite)
        ]
        np.testing.assert_array_equal(*suggested)


@pytest.mark.parametrize("rules", [None, BUSY_RULES])
@pytest.mark.parametrize("worst", [10.0, math.inf])
def test_the_best_value_is_the_one_to_improve_on(monkeypatch, rules, worst):
    asked = []

    class Recorder(builder.LogExpectedImprovement):
        def __init__(self, surrogate, best):
            super().__init__(surrogate, best)
            asked.append(best)

    monkeypatch.setattr(builder, "LogExpectedImprovement", Recorder)
    options = dataclasses.replace(QUICK, trust_region=rules, deterministic=True)
    points = CATEGORIES.sample(10, np.random.default_rng(0))
    values = np.append(np.arange(9.0), worst)
    suggest(
        Problem(CATEGORIES),
        History.of(CATEGORIES, points, values),
        options,
        np.random.default_rng(1),
    )
    assert asked == [pytest.approx(standardise(values).min())]


@pytest.mark.parametrize("deterministic", [True, False])
def test_conflicting_values_of_one_point_give_a_point(deterministic):
    options = dataclasses.replace(QUICK, deterministic=deterministic)
    points = np.repeat(CATEGORIES.sample(3, np.random.default_rng(0)), 4, axis=0)
    history = History.of(CATEGORIES, points, np.arange(12.0))
    suggestion = suggest(Problem(CATEGORIES), history, options, np.random.default_rng(1))
    assert suggestion.is_new and is_valid(CATEGORIES, suggestion.point)


@pytest.mark.parametrize(
    "space",
    [
        Space((Categorical("only", range(30)),)),
        Space((Integer("only", 0, 500),)),
        Space((Float("only", 0, 1),)),
        Space((Float("only", 1e-6, 1, log=True),)),
        Space((Categorical("a", range(6)), Categorical("b", range(6)))),
        Space((Float("x", 0, 1), Float("y", 0, 1))),
        Space((Categorical("one", "a"), Categorical("c", range(9)), Integer("i", 3, 3))),
    ],
    ids=lambda space: "+".join(p.name for p in space.parameters),
)
def test_spaces_of_one_or_two_variables(space):
    asked = run(space, 9, QUICK)
    assert len({point.tobytes() for point, _, _ in asked}) == 9
    assert all(is_valid(space, point) for point, _, _ in asked)


def test_a_space_of_a_single_point():
    space = Space((Categorical("one", "a"), Integer("i", 3, 3), Float("x", 0.5, 0.5)))
    asked = run(space, 6, QUICK)
    assert [is_new for _, _, is_new in asked] == [True] + [False] * 5
    np.testing.assert_array_equal([point for point, _, _ in asked], np.zeros((6, 3)))


# ------------------------------------------------------------------- trust regions
def test_a_region_that_never_shrinks_is_none():
    forever = TrustRegionRules(first_scale=1e9, failures_to_shrink=10**9, successes_to_grow=10**9)
    for space in (GRID, CATEGORIES):
        listing = dataclasses.replace(QUICK, search=SearchBudget(enumerate_up_to=10**4))
        with_region = run(space, 20, dataclasses.replace(listing, trust_region=forever))
        without = run(space, 20, dataclasses.replace(listing, trust_region=None))
        assert_same_run(with_region, without)


def test_suggestions_stay_near_the_centre_of_a_small_region():
    """A long row of failures: what is asked next differs from the best in few codes."""
    space = Space(tuple(Categorical(f"c{i}", range(4)) for i in range(12)))
    rules = TrustRegionRules(first_scale=0.3, factor=1.5, failures_to_shrink=5)
    points = space.sample(14, np.random.default_rng(0))
    values = np.array([0.0] + [1.0] * 13)
    history = History.of(space, points, values, region_ids=np.zeros(14, dtype=np.int64))
    options = dataclasses.replace(QUICK, trust_region=rules)
    for seed in range(5):
        suggestion = suggest(Problem(space), history, options, np.random.default_rng(seed))
        assert (suggestion.point != points[0]).sum() <= math.ceil(0.3 / 1.5**2 * 12)
        assert suggestion.region_id == 0


def test_every_region_is_tagged_with_its_number():
    options = dataclasses.replace(QUICK, trust_region=BUSY_RULES)
    # Nothing is ever better than the first, so every region fails.
    asked = run(CATEGORIES, 60, options, objective=lambda points: np.ones(len(points)))
    tags = [tag for _, tag, _ in asked]
    assert tags[: QUICK.n_startup_trials] == [NO_REGION] * QUICK.n_startup_trials
    assert np.all(np.diff(tags) >= 0)
    assert tags[-1] >= 2


# ------------------------------------------------------------------------- quality
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_simple_problem_is_solved(deterministic):
    options = Settings(n_startup_trials=5, deterministic=deterministic)
    space = Space(tuple(Categorical(f"c{i}", range(4)) for i in range(8)))
    target = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    asked = run(space, 50, options, objective=lambda points: (points != target).sum(axis=1) * 1.0)
    assert any(np.array_equal(point, target) for point, _, _ in asked)


def test_a_smooth_mixed_problem_is_solved():
    options = Settings(n_startup_trials=5)
    space = Space((Float("x", -1, 1), Float("y", -1, 1), Categorical("c", "abc")))

    def objective(points):
        return (points[:, 0] - 0.3) ** 2 + (points[:, 1] - 0.8) ** 2 + (points[:, 2] != 1)

    asked = run(space, 30, options, objective=objective)
    assert min(objective(point[None])[0] for point, _, _ in asked) < 1e-3


@given(st.integers(1, 40))
@FEW
def test_the_model_prefers_the_better_half(n_codes):
    """Two codes, one always better: the next point has it wherever that is still possible."""
    assume(n_codes >= 8)
    space = Space((Categorical("good", "ab"), Integer("i", 0, n_codes)))
    points = space.stack([space.encode({"good": g, "i": i}) for i in range(0, 6, 2) for g in "ab"])
    history = History.of(space, points, points[:, 0])
    suggestion = suggest(Problem(space), history, QUICK, np.random.default_rng(n_codes))
    assert suggestion.point[0] == 0.0


# ----------------------------------------------------------- parameters that may not exist
BRANCHES = Space(
    (
        Categorical("branch", "ab"),
        Float("of_a", 0, 1),
        Categorical("of_b", range(4)),
        Integer("all", 0, 5),
    )
)


def in_branches(n, seed=0):
    points = BRANCHES.sample(n, np.random.default_rng(seed))
    points[points[:, 0] == 1.0, 1] = np.nan
    points[points[:, 0] == 0.0, 2] = np.nan
    return points


@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_a_suggestion_has_what_its_branch_has(rules):
    options = dataclasses.replace(QUICK, trust_region=rules)
    points = in_branches(16)
    history = History.of(BRANCHES, points, np.nansum(points, axis=1))
    for seed in range(6):
        suggestion = suggest(Problem(BRANCHES), history, options, np.random.default_rng(seed))
        branch, of_a, of_b, everywhere = suggestion.point
        assert (np.isnan(of_a), np.isnan(of_b)) == (branch == 1.0, branch == 0.0)
        assert not np.isnan(everywhere)
        assert math.isfinite(suggestion.acquisition)
        fixed = {0: 1.0 - branch}
        other = suggest(
            Problem(BRANCHES, fixed=fixed), history, options, np.random.default_rng(seed)
        )
        assert other.point[0] == fixed[0] and np.isnan(other.point[int(2 - fixed[0])])


def test_what_is_given_but_does_not_exist_is_left_out_and_the_rest_is_new():
    """A value for the other branch was enqueued as well: that makes no old point a new one."""
    space = Space((Categorical("branch", "ab"), Categorical("a", range(3)), Integer("b", 0, 3)))
    everything = np.array(
        [[0.0, a, np.nan] for a in range(3)] + [[1.0, np.nan, b / 3] for b in range(4)]
    )
    for unseen in range(7):
        known = np.delete(everything, unseen, axis=0)
        history = History.of(space, known, np.arange(6.0))
        fixed = {0: everything[unseen, 0], 1: 1.0, 2: 0.0}
        if everything[unseen, 0] == 0.0:
            del fixed[1]
        else:
            del fixed[2]
        for enumerate_up_to in (0, 1000):
            options = dataclasses.replace(
                QUICK, search=dataclasses.replace(SMALL_SEARCH, enumerate_up_to=enumerate_up_to)
            )
            suggestion = suggest(
                Problem(space, fixed=fixed), history, options, np.random.default_rng(0)
            )
            np.testing.assert_array_equal(suggestion.point, everything[unseen])
            assert suggestion.is_new


PATHS = {f"c{i}": "path" for i in range(8)}


@pytest.mark.parametrize("n_objectives", [1, 2])
@pytest.mark.parametrize(
    ("space", "model"),
    [
        (MIXED, Model(structure=Additive())),
        (MIXED, Model(structure=InteractionOrders(2))),
        (MIXED, Model(structure=RandomDecomposition())),
        (CATEGORIES, Model(kernel="combo", graphs=PATHS)),
        (CATEGORIES, Model(graphs=PATHS)),
        (CATEGORIES, Model(kernel="ssk")),
        (MIXED, Model(quantitative=["o"])),
    ],
    ids=["additive", "interactions", "decomposition", "combo", "graphs", "ssk", "quantities"],
)
def test_trials_that_ended_or_began_half_way_do_no_harm(space, model, n_objectives):
    """They lack parameters that always exist: nobody knows where they would have been."""
    rng = np.random.default_rng(0)
    points, half = space.sample(10, rng), space.sample(4, rng)
    half[:, -2:] = np.nan
    half[0, 1:] = np.nan
    values = np.column_stack([value_of(points), -value_of(points)])[:, :n_objectives]
    values = values[:, 0] if n_objectives == 1 else values
    options = dataclasses.replace(QUICK, model=model)
    history = History.of(space, points, values, pending=half[:2], failed=half[2:])
    suggestion = suggest(Problem(space), history, options, np.random.default_rng(1))
    assert is_valid(space, suggestion.point)
    assert math.isfinite(suggestion.acquisition)


# -------------------------------------------------------------------------- constraints
def constrained(n, limit, seed=0, **fields):
    """Return a history of numbers in which small is good but only ``x >= limit`` is feasible."""
    space = Space((Float("x", 0, 1), Categorical("c", range(3))))
    points = space.sample(n, np.random.default_rng(seed))
    constraints = (limit - points[:, 0])[:, None]
    return space, History.of(space, points, points[:, 0], constraints=constraints, **fields)


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_suggestions_lie_where_the_constraint_is_expected_to_hold(deterministic, rules):
    options = dataclasses.replace(QUICK, deterministic=deterministic, trust_region=rules)
    space, history = constrained(20, 0.5)
    found = [
        suggest(Problem(space), history, options, np.random.default_rng(s)).point for s in range(6)
    ]
    assert all(0.4 < point[0] < 0.75 for point in found)
    unconstrained = dataclasses.replace(history, constraints=None)
    free = suggest(Problem(space), unconstrained, options, np.random.default_rng(0)).point
    assert free[0] < 0.2


@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_while_nothing_is_feasible_feasibility_is_looked_for(rules):
    options = dataclasses.replace(QUICK, trust_region=rules)
    space, history = constrained(12, 1.2)  # the larger the better, and never enough
    found = [
        suggest(Problem(space), history, options, np.random.default_rng(s)).point for s in range(4)
    ]
    assert all(point[0] > 0.7 for point in found)


def test_a_constraint_that_always_holds_changes_nothing():
    space, history = constrained(12, -1.0)
    without = dataclasses.replace(history, constraints=None)
    for seed in range(3):
        points = [
            suggest(Problem(space), h, QUICK, np.random.default_rng(seed)).point
            for h in (history, without)
        ]
        np.testing.assert_array_equal(*points)


@pytest.mark.parametrize(
    "column",
    [
        np.full(8, np.nan),
        np.array([1.0] + [np.nan] * 7),
        np.full(8, math.inf),
        np.array([math.inf, -math.inf] * 4),
        np.array([1e300, -1e300, 1e-300, 0.0] * 2),
        np.full(8, 3.0),
    ],
    ids=["unknown", "one known", "inf", "both", "huge", "constant"],
)
@pytest.mark.parametrize("n_objectives", [1, 2])
def test_any_constraints_give_a_point(column, n_objectives):
    points = MIXED.sample(8, np.random.default_rng(0))
    values = np.column_stack([value_of(points), -value_of(points)])[:, :n_objectives]
    constraints = np.column_stack([column, np.linspace(-1.0, 1.0, 8)])
    history = History.of(MIXED, points, np.squeeze(values), constraints=constraints)
    suggestion = suggest(Problem(MIXED), history, QUICK, np.random.default_rng(1))
    assert is_valid(MIXED, suggestion.point) and suggestion.is_new
    assert math.isfinite(suggestion.acquisition)


# --------------------------------------------------------------------- several objectives
@pytest.mark.parametrize("n_objectives", [2, 3, 4])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
@pytest.mark.parametrize("kind", ["usual", "equal", "infinite", "one constant"])
def test_any_values_of_several_objectives_give_a_point(n_objectives, rules, kind):
    options = dataclasses.replace(QUICK, trust_region=rules)
    rng = np.random.default_rng(0)
    points = MIXED.sample(10, rng)
    values = rng.standard_normal((10, n_objectives))
    if kind == "equal":
        values[:] = 1.0
    elif kind == "infinite":
        values[:4] = [[math.inf], [-math.inf], [math.inf], [-math.inf]]
        values[4, 0], values[5, -1] = math.inf, -math.inf
    elif kind == "one constant":
        values[:, 1] = 7.0
    pending = MIXED.sample(2, rng)
    history = History.of(MIXED, points, values, pending=pending)
    suggestion = suggest(Problem(MIXED), history, options, np.random.default_rng(1))
    assert is_valid(MIXED, suggestion.point) and suggestion.is_new
    assert math.isfinite(suggestion.acquisition)
    again = suggest(Problem(MIXED), history, options, np.random.default_rng(1), cache=FitCache())
    np.testing.assert_array_equal(again.point, suggestion.point)


def test_the_front_is_extended_and_not_repeated():
    """Two bowls: everything between their middles is on the front, and nothing else."""
    space = Space((Float("x", 0, 1), Float("y", 0, 1)))
    points = space.sample(15, np.random.default_rng(0))

    def bowls(rows):
        left, right = np.array([0.2, 0.5]), np.array([0.8, 0.5])
        return np.column_stack([((rows - middle) ** 2).sum(axis=1) for middle in (left, right)])

    history = History.of(space, points, bowls(points))
    options = dataclasses.replace(QUICK, deterministic=True, search=SearchBudget())
    found = []
    for seed in range(8):
        suggestion = suggest(Problem(space), history, options, np.random.default_rng(seed))
        found.append(suggestion.point)
        points = np.concatenate([history.points, suggestion.point[None]])
        history = History.of(space, points, bowls(points))
    assert np.all(np.abs(np.array(found)[:, 1] - 0.5) < 0.2)
    assert np.ptp(np.array(found)[:, 0]) > 0.3


# ------------------------------------------------------------------------------- a rule
@pytest.mark.parametrize("n", [0, 12])
@pytest.mark.parametrize("rules", [None, BUSY_RULES])
def test_only_what_is_allowed_is_suggested(n, rules):
    options = dataclasses.replace(QUICK, trust_region=rules)
    for space in (MIXED, CATEGORIES, GRID):
        history = some_history(space, n)

        def allowed(points):
            return points[:, 0] == 1.0

        for seed in range(4):
            rng = np.random.default_rng(seed)
            suggestion = suggest(Problem(space, allowed=allowed), history, options, rng)
            assert suggestion.point[0] == 1.0


@pytest.mark.parametrize("n", [0, 12])
@pytest.mark.parametrize("space", [MIXED, GRID], ids=["mixed", "grid"])
def test_nothing_allowed_is_an_error(space, n):
    history = some_history(space, n)
    with pytest.raises(NoFeasiblePoint):
        suggest(
            Problem(space, allowed=lambda points: np.zeros(len(points), dtype=bool)),
            history,
            QUICK,
            np.random.default_rng(0),
        )


@pytest.mark.parametrize("n_startup", [0, 100])
@pytest.mark.parametrize("enumerate_up_to", [0, 1000])
def test_all_that_is_allowed_is_visited_before_anything_is_repeated(n_startup, enumerate_up_to):
    options = dataclasses.replace(
        QUICK,
        n_startup_trials=n_startup,
        search=dataclasses.replace(SMALL_SEARCH, enumerate_up_to=enumerate_up_to),
    )
    space = Space((Integer("i", 0, 29), Categorical("c", range(20))))

    def allowed(points):
        return (points[:, 1] == 7.0) & (points[:, 0] < 0.3)

    history, found = some_history(space, 0), []
    for i in range(12):
        rng = np.random.default_rng(i)
        suggestion = suggest(Problem(space, allowed=allowed), history, options, rng)
        found.append(suggestion)
        history = extended(history, suggestion, float(i % 4))
    assert [s.is_new for s in found] == [True] * 9 + [False] * 3
    assert len({tuple(s.point) for s in found}) == 9
    assert all(allowed(s.point[None])[0] for s in found)


@pytest.mark.parametrize("n_startup_trials", [1, 99])
def test_what_some_trials_lack_gets_another_chance_where_nothing_else_is_new(n_startup_trials):
    """The latest say that ``n`` exists nowhere; then both points would be known."""
    space = Space((Categorical("a", range(2)), Integer("n", 0, 9)))
    nothing = np.nan
    points = np.array([[0.0, 0.5], [1.0, nothing], [0.0, nothing], [1.0, nothing]])
    history = History.of(space, points, np.arange(4.0))
    options = dataclasses.replace(QUICK, n_startup_trials=n_startup_trials)
    for seed in range(5):
        found = suggest(Problem(space), history, options, np.random.default_rng(seed))
        assert found.is_new
        assert found.point[0] == 0.0 and not np.isnan(found.point[1])
