"""The search for a maximum, compared with looking at every point."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.search.domain import Domain, Region
from heat_plugins.search.search_task import MOST_CANDIDATES, SearchBudget, SearchTask
from heat_plugins.search.searches import maximise
from heat_plugins.search.unseen import unseen_point
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.point_set import PointSet

CHECKED = settings(deadline=None, max_examples=40)
BUDGET = SearchBudget()
NO_ENUMERATION = dataclasses.replace(BUDGET, enumerate_up_to=0)
PATHS = pytest.mark.parametrize("budget", [BUDGET, NO_ENUMERATION], ids=["listing", "genetic"])


class RandomFunction:
    """Random effects of codes and pairs of codes, and a bowl whose middle the codes move.

    Args:
        space: The space.
        rng: Source of the effects.
        pairs: How much the effects of pairs weigh.
    """

    def __init__(self, space, rng, pairs=0.5):
        self.discrete = np.flatnonzero(space.is_discrete)
        self.numeric = np.flatnonzero(~space.is_discrete)
        k = int(max([1, *space.n_levels[self.discrete]]))
        n = len(self.discrete)
        self.single = rng.standard_normal((n, k))
        self.pair = pairs * rng.standard_normal((n, n, k, k))
        self.middle = rng.uniform(0.2, 0.8, len(self.numeric))
        self.shift = rng.uniform(-0.15, 0.15, (len(self.numeric), k))

    def middles(self, points):
        first = np.zeros(len(points), dtype=int)
        if len(self.discrete):
            first = points[:, self.discrete[0]].astype(int)
        return self.middle + self.shift[:, first].T

    def __call__(self, points):
        codes = points[:, self.discrete].astype(int)
        columns = np.arange(len(self.discrete))
        values = self.single[columns, codes].sum(axis=1)
        for i in columns:
            for j in columns[:i]:
                values = values + self.pair[i, j, codes[:, i], codes[:, j]]
        return values - 5.0 * ((points[:, self.numeric] - self.middles(points)) ** 2).sum(axis=1)

    def of_changes(self, point, columns, coordinates):
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point, columns):
        gradient = np.zeros(len(point))
        gradient[self.numeric] = -10.0 * (point[self.numeric] - self.middles(point[None])[0])
        return float(self(point[None])[0]), gradient[columns]


def categories(*sizes):
    return Space(tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes)))


def nothing(space):
    return PointSet(np.empty((0, len(space))))


def best_found(function, domain, avoid, starts, rng, budget):
    """Return the best point that a search finds, if it finds any."""
    found = maximise(SearchTask(function, domain, avoid, starts, rng, budget))
    return found[0] if len(found) else None


def search(function, domain, budget, seed=0, avoid=None, starts=None):
    space = domain.space
    if starts is None:
        starts = space.sample(3, np.random.default_rng(seed + 1000))
    return best_found(
        function,
        domain,
        nothing(space) if avoid is None else avoid,
        starts,
        np.random.default_rng(seed),
        budget,
    )


# ------------------------------------------------------------------- global maxima
SMALL = {
    "one variable": categories(5),
    "two variables": categories(4, 3),
    "binary": categories(*[2] * 9),
    "unequal": categories(5, 2, 4, 3, 2),
    "one-level columns": categories(1, 4, 1, 3, 1),
    "all one-level": categories(1, 1),
    "ordinal and grids": Space(
        (Ordinal("o", range(4)), Integer("i", 0, 10), Float("g", 0.0, 1.0, 0.25))
    ),
    "log grid": Space((Integer("n", 1, 100, log=True), Categorical("c", "abc"))),
    "one integer": Space((Integer("i", 0, 300),)),
    "single numbers": Space((Integer("i", 3, 3), Float("x", 1.0, 1.0), Categorical("c", "abc"))),
}


@PATHS
@pytest.mark.parametrize("space", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("seed", range(5))
def test_finds_the_best_of_all_points(space, budget, seed):
    function = RandomFunction(space, np.random.default_rng(seed))
    domain = Domain(space)
    everything = domain.enumerate()
    best = search(function, domain, budget, seed)
    assert function(best[None])[0] == pytest.approx(function(everything).max(), abs=1e-12)
    assert tuple(best) in set(map(tuple, everything.tolist()))


@PATHS
@pytest.mark.parametrize("seed", range(5))
def test_finds_the_best_point_of_a_region_with_held_columns(budget, seed):
    space = Space((*categories(3, 4, 2, 3, 2).parameters, Integer("i", 0, 7)))
    rng = np.random.default_rng(seed)
    function = RandomFunction(space, rng)
    centre = space.sample(1, rng)[0]
    domain = Domain(space, Region(centre, 2, 0.3), {1: 2.0})
    everything = domain.enumerate()
    everything = everything[domain.contains(everything)]
    best = search(function, domain, budget, seed)
    assert best[1] == 2.0
    assert domain.contains(best[None])[0]
    assert function(best[None])[0] == pytest.approx(function(everything).max(), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_finds_the_best_of_a_larger_space_with_interactions(seed):
    space = categories(*[2] * 12)
    function = RandomFunction(space, np.random.default_rng(seed))
    domain = Domain(space)
    best = search(function, domain, NO_ENUMERATION, seed)
    assert function(best[None])[0] == pytest.approx(function(domain.enumerate()).max(), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_reaches_the_optimum_of_a_mixed_space(seed):
    """The bowl moves with the first code, so both kinds of column have to work together."""
    parameters = (Float("x", -1, 1), *categories(4, 3, 3).parameters, Float("y", 1, 9, log=True))
    space = Space(parameters)
    function = RandomFunction(space, np.random.default_rng(seed))
    codes = Domain(Space(parameters[1:4])).enumerate()
    tops = np.zeros((len(codes), 5))
    tops[:, 1:4] = codes
    tops[:, function.numeric] = function.middles(tops)
    best = search(function, Domain(space), BUDGET, seed)
    assert function(best[None])[0] == pytest.approx(function(tops).max(), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_bowl_outside_the_box_is_met_at_the_rim(seed):
    space = Space((Float("x", 0, 1), Float("y", 0, 1)))
    function = RandomFunction(space, np.random.default_rng(seed))
    centre = np.array([0.05, 0.95])
    domain = Domain(space, Region(centre, 0, 0.1))
    low, high = domain.bounds(domain.free_continuous)
    best = search(function, domain, BUDGET, seed)
    np.testing.assert_allclose(
        best, np.clip(function.middles(best[None])[0], low, high), atol=1e-6
    )
    assert np.all((best >= low) & (best <= high))


# ------------------------------------------------------------------ points to avoid
small_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@PATHS
@given(sizes=small_sizes, seed=st.integers(0, 2**32), share=st.floats(0.0, 1.0))
@CHECKED
def test_never_returns_a_point_to_avoid(budget, sizes, seed, share):
    space = categories(*sizes)
    rng = np.random.default_rng(seed)
    function = RandomFunction(space, rng)
    domain = Domain(space)
    everything = domain.enumerate()
    seen = rng.random(len(everything)) < share
    best = search(function, domain, budget, seed, PointSet(everything[seen]))
    if best is None:
        assert budget is NO_ENUMERATION or seen.all()
    else:
        assert tuple(best) in set(map(tuple, everything[~seen].tolist()))
    if budget is BUDGET and not seen.all():
        assert function(best[None])[0] == function(everything[~seen]).max()


@PATHS
@pytest.mark.parametrize(
    "space", [categories(3), categories(3, 2, 4), SMALL["ordinal and grids"], categories(1, 1)]
)
def test_none_where_all_points_are_to_be_avoided(budget, space):
    function = RandomFunction(space, np.random.default_rng(0))
    domain = Domain(space)
    assert search(function, domain, budget, avoid=PointSet(domain.enumerate())) is None


def test_an_exhausted_region_of_a_small_space_is_left():
    space = categories(3, 3, 3)
    function = RandomFunction(space, np.random.default_rng(0))
    domain = Domain(space, Region(np.zeros(3), 1, 0.5))
    everything = domain.enumerate()
    inside = domain.contains(everything)
    best = search(function, domain, BUDGET, avoid=PointSet(everything[inside]))
    assert function(best[None])[0] == function(everything[~inside]).max()


def test_second_best_is_found_when_the_best_is_known():
    space = categories(*[3] * 6)
    function = RandomFunction(space, np.random.default_rng(1))
    domain = Domain(space)
    everything = domain.enumerate()
    order = np.argsort(-function(everything))
    for n_known in (1, 2, 5):
        known = everything[order[:n_known]]
        best = search(function, domain, NO_ENUMERATION, avoid=PointSet(known), starts=known)
        np.testing.assert_array_equal(best, everything[order[n_known]])


# ------------------------------------------------------------------------ behaviour
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_numbers", [1, 2, 8])
def test_a_climb_to_a_known_maximum_ends_at_another_good_point(n_numbers, seed):
    """Not at the known one in other last bits, and not far away from it either."""
    rng = np.random.default_rng(seed)
    space = Space((Categorical("c", range(3)), *(Float(f"x{i}", 0, 1) for i in range(n_numbers))))
    function = RandomFunction(space, rng)
    best_code = float(np.argmax(function.single[0]))
    best = np.append(best_code, function.middles(np.array([[best_code]]))[0])
    known = np.concatenate([best[None], space.sample(20, rng)])
    avoid = PointSet(known, resolution=space.resolution)
    found = search(function, Domain(space), BUDGET, seed, avoid, known)
    assert found[0] != best_code or np.abs(found - best).max() > 1e-6
    assert function(found[None])[0] > function(best[None])[0] - 1e-3


@PATHS
def test_randomness_comes_from_the_generator_alone(budget):
    space = Space((*categories(*[4] * 6).parameters, Float("x", 0, 1)))
    function = RandomFunction(space, np.random.default_rng(2), pairs=2.0)
    tiny = dataclasses.replace(budget, population=6, generations=2, parents=3, ascent_steps=0)
    np.random.seed(0)
    first = [search(function, Domain(space), tiny, seed) for seed in range(6)]
    np.random.seed(1)
    again = [search(function, Domain(space), tiny, seed) for seed in range(6)]
    np.testing.assert_array_equal(first, again)
    assert len({point.tobytes() for point in first}) > 1


def test_arguments_are_not_changed():
    space = Space((*categories(3, 3).parameters, Integer("i", 0, 5), Float("x", 0, 1)))
    function = RandomFunction(space, np.random.default_rng(3))
    starts = space.sample(4, np.random.default_rng(4))
    before, centre = starts.copy(), starts[0].copy()
    domain = Domain(space, Region(starts[0], 1, 0.2), {0: 1.0})
    search(function, domain, NO_ENUMERATION, starts=starts)
    np.testing.assert_array_equal(starts, before)
    np.testing.assert_array_equal(domain.region.centre, centre)


@pytest.mark.parametrize("n_starts", [0, 1, 200])
def test_any_number_of_starts_will_do(n_starts):
    space = categories(*[3] * 5)
    function = RandomFunction(space, np.random.default_rng(5))
    starts = space.sample(n_starts, np.random.default_rng(6))
    best = search(function, Domain(space), NO_ENUMERATION, starts=starts)
    assert function(best[None])[0] == function(Domain(space).enumerate()).max()


def test_a_good_start_is_never_lost():
    """Without a single generation the result is at least as good as the best start."""
    space = categories(*[5] * 20)
    function = RandomFunction(space, np.random.default_rng(7))
    starts = space.sample(10, np.random.default_rng(8))
    lazy = SearchBudget(population=4, generations=1, parents=2, ascents=1, ascent_steps=0)
    best = search(function, Domain(space), lazy, starts=starts)
    assert function(best[None])[0] >= function(starts).max()


@pytest.mark.parametrize("seed", range(3))
def test_children_have_the_best_of_both_parents(seed):
    """Two starts are right in one half each; without ascent only a mixture gets all right."""

    class CountOnes:
        def __call__(self, points):
            return points.sum(axis=1)

    space = categories(*[2] * 40)
    halves = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=1)
    budget = SearchBudget(population=100, generations=10, ascents=1, ascent_steps=0)
    best = search(CountOnes(), Domain(space), budget, seed, starts=halves)
    assert best.sum() >= 38


def test_the_ascent_ends_where_no_single_change_is_better():
    space = Space((*categories(*[5] * 10).parameters, Integer("i", 0, 50)))
    function = RandomFunction(space, np.random.default_rng(9), pairs=2.0)
    weak = SearchBudget(population=10, generations=1, ascents=2, ascent_steps=200)
    domain = Domain(space)
    best = search(function, domain, weak)
    assert function(best[None])[0] >= function(apply_changes(best, *domain.changes(best))).max()


@PATHS
def test_nothing_free_leaves_one_point(budget):
    space = Space((Categorical("c", "ab"), Float("x", 0, 1), Integer("i", 2, 2)))
    function = RandomFunction(space, np.random.default_rng(0))
    domain = Domain(space, fixed={0: 1.0, 1: 0.3})
    np.testing.assert_array_equal(search(function, domain, budget), [1.0, 0.3, 0.0])


# --------------------------------------------------------------------- unseen points
@pytest.mark.parametrize(
    "space",
    [
        categories(*[3] * 7),
        categories(5),
        categories(1, 2, 1),
        Space((Integer("i", -5, 200, 3), Ordinal("o", range(3)), Float("g", 0, 1, 0.1))),
        Space((Integer("n", 1, 500, log=True), Integer("one", 4, 4), Float("x", 2.0, 2.0))),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_only_unseen_point_is_found(space, seed):
    rng = np.random.default_rng(seed)
    domain = Domain(space)
    everything = domain.enumerate()
    unseen = int(rng.integers(len(everything)))
    avoid = PointSet(np.delete(everything, unseen, axis=0))
    np.testing.assert_array_equal(unseen_point(domain, avoid, rng), everything[unseen])
    assert unseen_point(domain, PointSet(everything), rng) is None


def test_unseen_points_keep_held_columns():
    domain = Domain(categories(3, 4, 2), fixed={1: 2.0})
    everything = domain.enumerate()
    rng = np.random.default_rng(0)
    for unseen in range(len(everything)):
        avoid = PointSet(np.delete(everything, unseen, axis=0))
        np.testing.assert_array_equal(unseen_point(domain, avoid, rng), everything[unseen])
    assert unseen_point(domain, PointSet(everything), rng) is None


def test_a_continuous_space_always_has_an_unseen_point():
    space = Space((Float("x", 0, 1), Categorical("c", "ab")))
    known = space.sample(50, np.random.default_rng(0))
    # The same generator again draws the same points first.
    point = unseen_point(Domain(space), PointSet(known), np.random.default_rng(0))
    assert tuple(point) not in set(map(tuple, known.tolist()))


def test_counting_works_beyond_64_bits():
    """Random points are all refused here, so that the counting has to find one."""

    class Stubborn(PointSet):
        n_calls = 0

        def contains(self, points):
            self.n_calls += 1
            refused = super().contains(points)
            refused[: None if self.n_calls == 1 else -1] = True
            return refused

    for d in (70, 2000):
        space = categories(*[3] * d)
        assert Domain(space).size > 2**64
        seen = Stubborn(space.sample(10, np.random.default_rng(0)))
        point = unseen_point(Domain(space), seen, np.random.default_rng(1))
        assert seen.n_calls > 1
        assert point.shape == (d,) and set(point) <= {0.0, 1.0, 2.0}
    assert math.isfinite(point.sum())


# --------------------------------------------------------------------- points refused
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("space", "allowed"),
    [
        (Space((Integer("i", 0, 999),)), lambda p: p[:, 0] == 0.0),
        (categories(*[3] * 8), lambda p: np.all(p == 2.0, axis=1)),
        (categories(*[10] * 9), lambda p: (p[:, 0] == 3.0) & (p[:, 1] == 4.0)),
        (Space((Float("x", 0, 1), Categorical("c", range(10)))), lambda p: p[:, 0] < 0.01),
    ],
    ids=["one of 1000", "one of 6561", "1 % of 10^9", "1 % of a line"],
)
def test_points_that_are_hardly_ever_allowed_are_found(space, allowed, seed):
    nothing = PointSet(np.empty((0, len(space))), allowed=allowed)
    point = unseen_point(Domain(space), nothing, np.random.default_rng(seed))
    assert point is not None
    assert allowed(point[None])[0]


@PATHS
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_the_allowed_points_is_found(budget, seed):
    rng = np.random.default_rng(seed)
    space = categories(3, 4, 3, 3, 2)
    function = RandomFunction(space, rng)
    domain = Domain(space)

    def allowed(points):
        return points.sum(axis=1) % 3 == 1

    everything = domain.enumerate()
    best = everything[allowed(everything)]
    best = best[np.argmax(function(best))]
    avoid = PointSet(np.empty((0, 5)), allowed=allowed)
    starts = domain.sample(5, rng)
    np.testing.assert_array_equal(best_found(function, domain, avoid, starts, rng, budget), best)


@PATHS
def test_none_where_nothing_is_allowed(budget):
    space = categories(3, 4)
    nothing = PointSet(np.empty((0, 2)), allowed=lambda points: np.zeros(len(points), dtype=bool))
    rng = np.random.default_rng(0)
    function = RandomFunction(space, rng)
    starts = space.sample(3, rng)
    assert best_found(function, Domain(space), nothing, starts, rng, budget) is None
    assert unseen_point(Domain(space), nothing, rng) is None


# ------------------------------------------------------------------------- runners-up
@PATHS
def test_candidates_are_different_new_and_ranked(budget):
    space = categories(3, 3, 3, 3, 3, 3)
    rng = np.random.default_rng(5)
    function = RandomFunction(space, rng)
    known = space.sample(100, rng)
    avoid = PointSet(known)
    found = maximise(SearchTask(function, Domain(space), avoid, known[:5], rng, budget))
    assert 20 <= len(found) <= MOST_CANDIDATES
    assert len(np.unique(found, axis=0)) == len(found)
    assert not avoid.contains(found).any()
    assert np.all(np.diff(function(found)) <= 0.0)


def test_listed_candidates_are_the_best_of_all_points():
    space = categories(4, 4, 4, 4)
    rng = np.random.default_rng(0)
    function = RandomFunction(space, rng)
    points = Domain(space).enumerate()
    best = points[np.argsort(-function(points), kind="stable")[:MOST_CANDIDATES]]
    found = maximise(
        SearchTask(function, Domain(space), nothing(space), points[:1], rng, SearchBudget())
    )
    np.testing.assert_array_equal(found, best)


# ----------------------------------------------------------- parameters that may not exist
BRANCHES = Space(
    (
        Categorical("branch", "abc"),
        *(Categorical(f"a{i}", range(4)) for i in range(4)),
        *(Categorical(f"b{i}", range(3)) for i in range(4)),
        Float("b", 0.0, 1.0),
        Categorical("c", range(5)),
        Categorical("all", range(3)),
    )
)
LISTED = Space(tuple(p for p in BRANCHES.parameters if p.name != "b"))


def conditional(space):
    """Return the domain in which parameters exist in the branch that their names begin with."""
    known = space.sample(200, np.random.default_rng(0))
    for column, name in enumerate(space.names[1:-1], start=1):
        known[known[:, 0] != "abc".index(name[0]), column] = np.nan
    return Domain(space, conditions=learn_conditions(space, known))


class OfBranches(RandomFunction):
    """Effects of the codes that exist, and a bowl where the number does."""

    def __call__(self, points):
        codes = np.nan_to_num(points[:, self.discrete]).astype(int)
        exists = ~np.isnan(points[:, self.discrete])
        values = (self.single[np.arange(codes.shape[1]), codes] * exists).sum(axis=1)
        return values - 5.0 * np.nan_to_num((points[:, self.numeric] - 0.3) ** 2).sum(axis=1)

    def value_and_gradient(self, point, columns):
        assert not np.any(np.isnan(point[columns]))
        return float(self(point[None])[0]), -10.0 * (point[columns] - 0.3)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_branch_and_the_best_of_it_are_found(seed):
    """Compared with looking at every point: there are few once branches are known."""
    rng = np.random.default_rng(seed)
    domain = conditional(BRANCHES)
    function = OfBranches(BRANCHES, rng)
    listed = conditional(LISTED)
    rows = listed.sample(20_000, rng)
    rows = np.insert(rows, BRANCHES.column["b"], np.where(rows[:, 0] == 1.0, 0.3, np.nan), axis=1)
    best = rows[np.argmax(function(rows))]
    avoid = PointSet(np.empty((0, len(BRANCHES))))
    starts = domain.sample(5, rng)
    found = best_found(function, domain, avoid, starts, rng, NO_ENUMERATION)
    np.testing.assert_allclose(found, best, atol=1e-4)


def test_the_only_unseen_point_of_a_branch_is_found():
    space = Space((Categorical("branch", "ab"), Integer("a", 0, 19), Integer("b", 0, 9)))
    domain = conditional(Space((*space.parameters, Categorical("all", "x"))))
    everything = np.unique(np.nan_to_num(domain.enumerate(), nan=-1.0), axis=0)
    everything[everything == -1.0] = np.nan
    assert len(everything) == 30  # not 400
    rng = np.random.default_rng(0)
    for unseen in range(0, 30, 3):
        avoid = PointSet(np.delete(everything, unseen, axis=0))
        np.testing.assert_array_equal(unseen_point(domain, avoid, rng), everything[unseen])
    assert unseen_point(domain, PointSet(everything), rng) is None
