"""Every search, compared with looking at every point."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.search.bandit import arm_probabilities, rewards
from heat_plugins.search.domain import Domain, Region
from heat_plugins.search.linear_constraints import LinearLimits
from heat_plugins.search.message_passing import message_passing
from heat_plugins.search.search_task import Past, SearchBudget, SearchTask
from heat_plugins.search.searches import SEARCHES, maximise
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.point_set import PointSet

CHECKED = settings(deadline=None, max_examples=30)
NO_ENUMERATION = SearchBudget(enumerate_up_to=0)
MAXIMISERS = [name for name, entry in SEARCHES.items() if entry.is_maximiser]
every_search = pytest.mark.parametrize("name", SEARCHES)
every_maximiser = pytest.mark.parametrize("name", MAXIMISERS)


class TreeFunction:
    """Random effects of places on the edges of a random tree, and bowls of numbers."""

    def __init__(self, space, rng, n_edges=None):
        d = len(space)
        edges = [(int(rng.integers(i)), i) for i in range(1, d)][:n_edges]
        touched = {column for edge in edges for column in edge}
        alone = [(i,) for i in range(d) if i not in touched]
        self.components = [np.array(c) for c in (*edges, *alone)]
        self.waves = rng.uniform(0.5, 3.0, (len(self.components), 4))

    def of_component(self, index, points):
        columns = self.components[index]
        a, b, c, e = self.waves[index]
        first, last = points[:, columns[0]], points[:, columns[-1]]
        return np.sin(a * 3.0 * first + b * 5.0 * last + c) + np.cos(e * first * (1.0 + last))

    def __call__(self, points):
        return np.sum([self.of_component(i, points) for i in range(len(self.components))], axis=0)

    def of_changes(self, point, columns, coordinates):
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point, columns):
        step = 1e-6
        up = self(apply_changes(point, columns, point[columns] + step))
        down = self(apply_changes(point, columns, point[columns] - step))
        return float(self(point[None])[0]), (up - down) / (2.0 * step)


def categories(*sizes):
    return Space(tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes)))


def task_of(function, domain, seed=0, avoid=None, past=None):
    rng = np.random.default_rng(seed)
    starts = domain.project(domain.space.sample(5, rng), rng)
    avoid = PointSet(np.empty((0, len(domain.space)))) if avoid is None else avoid
    return SearchTask(function, domain, avoid, starts, rng, NO_ENUMERATION, past)


SMALL = {
    "two": categories(4, 3),
    "binary": categories(*[2] * 8),
    "unequal": categories(5, 2, 4, 3, 2),
    "one-level columns": categories(1, 4, 1, 3, 1),
    "grids": Space((Ordinal("o", range(4)), Integer("i", 0, 9), Float("g", 0.0, 1.0, 0.25))),
}


# ---------------------------------------------------------------------- global maxima
@every_maximiser
@pytest.mark.parametrize("space", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_is_found(name, space, seed):
    domain = Domain(space)
    function = TreeFunction(space, np.random.default_rng(seed))
    found = maximise(task_of(function, domain, seed), name)
    assert function(found[:1])[0] == pytest.approx(function(domain.enumerate()).max(), abs=1e-12)


@every_maximiser
@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_of_a_region_with_fixed_columns_is_found(name, seed):
    space = Space((*categories(3, 4, 2, 3, 2).parameters, Integer("i", 0, 7)))
    rng = np.random.default_rng(seed)
    function = TreeFunction(space, rng)
    domain = Domain(space, Region(space.sample(1, rng)[0], 2, 0.3), {1: 2.0})
    points = domain.enumerate()
    points = points[domain.contains(points)]
    found = maximise(task_of(function, domain, seed), name)
    assert function(found[:1])[0] == pytest.approx(function(points).max(), abs=1e-12)
    assert domain.contains(found).all() and np.all(found[:, 1] == 2.0)


@every_maximiser
@pytest.mark.parametrize("n_known", [1, 3, 10])
def test_the_next_best_is_found_where_the_best_are_known(name, n_known):
    space = categories(3, 2, 4, 3, 2)
    function = TreeFunction(space, np.random.default_rng(4))
    points = Domain(space).enumerate()
    order = np.argsort(-function(points))
    avoid = PointSet(points[order[:n_known]])
    found = maximise(task_of(function, Domain(space), avoid=avoid), name)
    assert function(found[:1])[0] == pytest.approx(function(points[order[n_known]][None])[0])


@every_maximiser
def test_numbers_follow_the_gradient_to_the_top(name):
    space = Space((Categorical("c", "ab"), Float("x", 0, 1), Float("y", 0, 1)))
    function = TreeFunction(space, np.random.default_rng(0))
    found = maximise(task_of(function, Domain(space)), name)[0]
    grid = np.linspace(0.0, 1.0, 201)
    points = np.array([(c, x, y) for c in (0.0, 1.0) for x in grid for y in grid])
    assert function(found[None])[0] > function(points).max() - 1e-4


@pytest.mark.parametrize("n_edges", [0, 3, None])
@pytest.mark.parametrize("seed", range(4))
def test_messages_list_all_points_in_order(n_edges, seed):
    """Lawler's partition yields every point once, the best first; also inside a region."""
    from heat_plugins.search.message_passing import _Tree

    space = categories(2, 3, 2, 3, 2)
    rng = np.random.default_rng(seed)
    function = TreeFunction(space, rng, n_edges)
    for region in (None, Region(space.sample(1, rng)[0], 2, 1.0)):
        domain = Domain(space, region)
        points = domain.enumerate()
        points = points[domain.contains(points)]
        listed = np.array(list(_Tree.of(function, domain).best_points()))
        assert set(map(tuple, listed)) == set(map(tuple, points)) and len(listed) == len(points)
        np.testing.assert_allclose(function(listed), np.sort(function(points))[::-1], atol=1e-12)


def test_messages_find_the_maximum_where_nothing_else_can_be_sure_to():
    """60 binary columns on a tree: 2^60 points, and an optimum found by dynamic programming."""
    space = categories(*[2] * 60)
    function = TreeFunction(space, np.random.default_rng(2))
    exact = function(message_passing(task_of(function, Domain(space)))[:1])[0]
    for name in ("genetic", "hill-climbing"):
        assert exact >= function(maximise(task_of(function, Domain(space)), name)[:1])[0] - 1e-12


def test_a_function_that_is_no_sum_over_a_tree_is_searched_anyway():
    space = categories(3, 3, 3, 3)
    function = TreeFunction(space, np.random.default_rng(0))
    function.components = [np.array(c) for c in ((0, 1), (1, 2), (0, 2))]  # a cycle
    points = Domain(space).enumerate()
    found = message_passing(task_of(function, Domain(space)))
    assert function(found[:1])[0] == pytest.approx(function(points).max())


# ------------------------------------------------------------------ what all must keep to
BRANCHES = Space(
    (
        Categorical("kind", "abc"),
        *categories(3, 4).parameters,
        Float("x", 0, 1),
        Integer("i", 0, 5),
    )
)


def conditional_domain(region=None):
    """The float exists under the first kind only, the integer under the second."""
    points = BRANCHES.sample(60, np.random.default_rng(0))
    points[points[:, 0] != 0.0, 3] = np.nan
    points[points[:, 0] != 1.0, 4] = np.nan
    return Domain(BRANCHES, region, conditions=learn_conditions(BRANCHES, points))


class WithoutNumbers:
    """A function of what need not exist."""

    def __init__(self, space, rng):
        self.inner = TreeFunction(space, rng)

    def __call__(self, points):
        return self.inner(np.nan_to_num(points, nan=0.5))

    def of_changes(self, point, columns, coordinates):
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point, columns):
        return self.inner.value_and_gradient(np.nan_to_num(point, nan=0.5), columns)


@every_search
@pytest.mark.parametrize("seed", range(3))
def test_points_have_what_exists_and_nothing_else(name, seed):
    rng = np.random.default_rng(seed)
    domain = conditional_domain()
    if seed:
        domain = conditional_domain(Region(domain.sample(1, rng)[0], 2, 0.4))
    function = WithoutNumbers(BRANCHES, rng)
    past = Past(domain.sample(20, rng), rng.standard_normal((20, 1)))
    found = maximise(task_of(function, domain, seed, past=past), name)
    assert len(found)
    np.testing.assert_array_equal(found, domain.conditions.deactivate(found))
    np.testing.assert_array_equal(~np.isnan(found), domain.conditions.active(found))


@every_search
def test_limits_are_kept(name):
    """2 x + y <= 0.7 of two floats next to choices, as a rule and as linear limits."""
    space = Space((*categories(3, 4).parameters, Float("x", 0, 1), Float("y", 0, 1)))
    weights = np.array([[0.0, 0.0, 2.0, 1.0]])
    limits = LinearLimits(weights, np.array([0.7]), {})
    avoid = PointSet(np.empty((0, 4)), allowed=limits.holds)
    function = TreeFunction(space, np.random.default_rng(3))
    found = maximise(task_of(function, Domain(space, limits=limits), avoid=avoid), name)
    assert len(found) and limits.holds(found).all()


@every_search
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
    share=st.floats(0.0, 0.9),
)
@CHECKED
def test_no_point_to_avoid_is_returned(name, sizes, seed, share):
    space = categories(*sizes)
    rng = np.random.default_rng(seed)
    domain = Domain(space)
    everything = domain.enumerate()
    seen = everything[rng.random(len(everything)) < share]
    past = Past(seen, rng.standard_normal((len(seen), 1)))
    function = TreeFunction(space, rng)
    found = maximise(task_of(function, domain, seed, PointSet(seen), past), name)
    assert not set(map(tuple, found)) & set(map(tuple, seen))
    assert len(set(map(tuple, found))) == len(found)
    if len(found) and SEARCHES[name].is_maximiser:
        assert np.all(np.diff(function(found)) <= 1e-12)


@every_search
def test_randomness_comes_from_the_generator_alone(name):
    space = Space((*categories(4, 4, 4).parameters, Float("x", 0, 1)))
    function = TreeFunction(space, np.random.default_rng(2))
    first, again = (maximise(task_of(function, Domain(space), seed=1), name) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@every_search
def test_without_anything_free_there_is_one_point(name):
    space = Space((Categorical("c", "ab"), Float("x", 0, 1), Integer("i", 2, 2)))
    function = TreeFunction(space, np.random.default_rng(0))
    found = maximise(task_of(function, Domain(space, fixed={0: 1.0, 1: 0.3})), name)
    np.testing.assert_array_equal(found, [[1.0, 0.3, 0.0]])


@every_search
def test_numbers_alone_are_searched(name):
    space = Space((Float("x", 0, 1), Integer("i", 0, 20)))
    function = TreeFunction(space, np.random.default_rng(0))
    grid = np.array([(x, i) for x in np.linspace(0, 1, 201) for i in np.linspace(0, 1, 21)])
    found = maximise(task_of(function, Domain(space)), name)
    lacking = 0.2 if name == "pool" else 1e-4
    assert function(found[:1])[0] > function(grid).max() - lacking


def test_small_spaces_are_enumerated_by_those_that_look_for_the_maximum():
    space = categories(3, 4, 3)
    function = TreeFunction(space, np.random.default_rng(0))
    points = Domain(space).enumerate()
    for name in MAXIMISERS:
        task = dataclasses.replace(task_of(function, Domain(space)), budget=SearchBudget())
        assert function(maximise(task, name)[:1])[0] == function(points).max()


# ------------------------------------------------------------------------------ bandits
def test_the_bandit_of_one_choice_has_the_weights_of_its_definition():
    codes = np.array([0.0, 2.0, np.nan, 2.0, 1.0])
    gains = np.array([0.2, 1.0, 0.5, 0.8, 0.0])
    n_arms, n = 3, 4
    gamma = min(1.0, np.sqrt(n_arms * np.log(n_arms) / ((np.e - 1.0) * n)))
    weights = np.ones(n_arms)
    for code, gain in zip(codes, gains, strict=True):
        if np.isnan(code):
            continue
        p = (1.0 - gamma) * weights / weights.sum() + gamma / n_arms
        weights[int(code)] *= np.exp(gamma * gain / p[int(code)] / n_arms)
    p = (1.0 - gamma) * weights / weights.sum() + gamma / n_arms
    np.testing.assert_allclose(arm_probabilities(codes, gains, n_arms), p, rtol=1e-12)


def test_bandits_draw_what_did_well_more_often():
    rng = np.random.default_rng(0)
    space = categories(4, 4)
    points = space.sample(200, rng)
    past = Past(points, np.where(points[:, :1] == 2.0, 0.0, 1.0) + rng.random((200, 1)))
    found = arm_probabilities(points[:, 0], rewards(past), 4)
    assert np.argmax(found) == 2 and found[2] > 0.4
    assert np.abs(arm_probabilities(points[:, 1], rewards(past), 4) - 0.25).max() < 0.2


def test_rewards_are_shares_of_trials_that_are_not_better():
    ranking = np.array([[1.0], [np.inf], [-np.inf], [1.0]])
    np.testing.assert_allclose(rewards(Past(np.zeros((4, 1)), ranking)), [0.75, 0.25, 1.0, 0.75])
