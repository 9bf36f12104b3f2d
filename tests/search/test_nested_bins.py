"""Subspaces that grow: nested, searched like any other space, and left when they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.history import History
from heat_plugins.search.domain import Domain
from heat_plugins.search.embedded import Embedded
from heat_plugins.search.nested_bins import NestedEmbedding, subspaces
from heat_plugins.search.search_task import SearchBudget, SearchTask
from heat_plugins.search.searches import SEARCHES, maximise
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.space import (
    Categorical,
    Float,
    Integer,
    Ordinal,
    Space,
    apply_changes,
)
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.point_set import PointSet
from heat_plugins.suggest import Problem, Settings, suggest

CHECKED = settings(deadline=None, max_examples=30)
RULES = NestedEmbedding(seed=0)
MIXED = Space(
    (
        *(Categorical(f"b{i}", range(2)) for i in range(6)),
        *(Categorical(f"c{i}", range(4)) for i in range(7)),
        *(Ordinal(f"o{i}", range(3)) for i in range(4)),
        Categorical("one", range(1)),
        *(Float(f"x{i}", -1, 1) for i in range(5)),
        *(Integer(f"i{i}", 0, 10 + 5 * i) for i in range(4)),
        Integer("log", 1, 1000, log=True),
    )
)


def categories(d, k=2):
    return Space(tuple(Categorical(f"c{i}", range(k)) for i in range(d)))


# ------------------------------------------------------------------------ nested bins
@given(seed=st.integers(0, 2**64), first=st.integers(1, 12), n_trials=st.integers(1, 500))
@CHECKED
def test_bins_are_parts_of_the_bins_before(seed, first, n_trials):
    found, stages = subspaces(MIXED, NestedEmbedding(first, n_trials=n_trials, seed=seed), 5)
    varying = set(np.flatnonzero(MIXED.n_levels > 1).tolist())
    for subspace in found:
        columns = [int(c) for columns in subspace.bins for c in columns]
        assert set(columns) == varying and len(columns) == len(varying)
        assert len(subspace.bins) < len(varying)
        for columns in subspace.bins:  # of one kind
            kinds = {(type(MIXED.parameters[c]), MIXED.n_levels[c]) for c in columns}
            is_number = not MIXED.is_discrete[columns[0]]
            assert len({kind for kind, _ in kinds}) == 1
            assert is_number or len(kinds) == 1
    for coarse, fine in zip(found, found[1:], strict=False):
        wholes = [set(columns.tolist()) for columns in coarse.bins]
        for columns in fine.bins:
            assert sum(set(columns.tolist()) <= whole for whole in wholes) == 1
        assert len(fine.bins) > len(coarse.bins)
    ends = [stage.end for stage in stages]
    assert ends == sorted(set(ends)) and all(end > 5 for end in ends)
    assert [stage.n_columns for stage in stages] == [len(each.bins) for each in found]


@given(seed=st.integers(0, 1000))
@CHECKED
def test_what_was_observed_lies_in_all_subspaces_that_follow(seed):
    """Of choices and continuous numbers exactly; numbers on grids are moved to them."""
    space = Space(tuple(p for p in MIXED.parameters if not isinstance(p, Integer)))
    found, _ = subspaces(space, NestedEmbedding(seed=seed), 5)
    rng = np.random.default_rng(seed)
    for i, coarse in enumerate(found):
        points = coarse.up(coarse.space.sample(20, rng))
        for fine in found[i:]:
            np.testing.assert_allclose(fine.up(fine.down(points)), points, atol=1e-12)


@given(seed=st.integers(0, 1000))
@CHECKED
def test_points_above_are_points_of_the_space(seed):
    rng = np.random.default_rng(seed)
    found, _ = subspaces(MIXED, NestedEmbedding(seed=seed), 5)
    for subspace in found:
        below = subspace.space.sample(20, rng)
        above = subspace.up(below)
        np.testing.assert_array_equal(above, MIXED.snap(above))
        assert np.all(above[:, MIXED.column["one"]] == 0.0)


def test_the_nearest_point_below_is_what_most_parameters_ask_for():
    space = categories(9, 3)
    (subspace, *_), _ = subspaces(space, NestedEmbedding(first_bins=2, seed=1), 0)
    below = np.array([[2.0, 1.0]])
    above = subspace.up(below)
    for columns in subspace.bins:
        above[0, columns[0]] = (above[0, columns[0]] + 1.0) % 3.0  # one against the others
        above[0, columns[1]] = np.nan  # and one that is not asked
    np.testing.assert_array_equal(subspace.down(above), below)


def test_every_parameter_has_a_map_of_its_own():
    """No point of the space is in more subspaces than others: maps are drawn at random."""
    space = categories(10, 4)
    met = np.zeros((10, 4))
    for seed in range(200):
        (subspace, *_), _ = subspaces(space, NestedEmbedding(first_bins=1, seed=seed), 0)
        above = subspace.up(np.array([[2.0]]))[0].astype(int)
        met[np.arange(10), above] += 1
    assert met.min() > 25 and met.max() < 85  # 50 each, deviation 6


@pytest.mark.parametrize(
    ("d", "first_bins", "sizes"),
    [(25, 5, [5, 10, 20]), (50, 5, [5, 10, 20, 40]), (20, 5, [5, 10])],
)
def test_levels_are_those_of_bounce(d, first_bins, sizes):
    """Of 100 trials, 5 of them at first; as its code has them for 25, 50 and 20 parameters."""
    found, stages = subspaces(categories(d), NestedEmbedding(first_bins, seed=3), 5)
    assert [len(subspace.bins) for subspace in found] == sizes
    budgets = np.diff([5, *[stage.end for stage in stages]])
    expected = {25: [6, 13, 25], 50: [3, 6, 12, 25], 20: [14, 27]}[d]
    np.testing.assert_array_equal(budgets, expected)


def test_few_parameters_have_no_subspaces():
    assert subspaces(categories(5), RULES, 5) == ([], [])
    assert subspaces(categories(1), RULES, 5) == ([], [])
    kinds = Space(tuple(Categorical(f"c{i}", range(2 + i)) for i in range(9)))
    assert subspaces(kinds, RULES, 5) == ([], [])


def test_another_parameter_leaves_most_maps_as_they_are():
    one, two = categories(8, 5), categories(9, 5)
    a = subspaces(one, NestedEmbedding(first_bins=1, seed=0), 0)[0][0].up(np.array([[3.0]]))
    b = subspaces(two, NestedEmbedding(first_bins=1, seed=0), 0)[0][0].up(np.array([[3.0]]))
    np.testing.assert_array_equal(a[0], b[0, :8])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first_bins": 0}, "first_bins must be a positive integer, got 0"),
        ({"new_bins": 1.5}, "new_bins must be None or a positive integer, got 1.5"),
        ({"n_trials": True}, "n_trials must be a positive integer, got True"),
        ({"seed": -1}, "seed must be None or a non-negative integer, got -1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        NestedEmbedding(**arguments)
    with pytest.raises(ValueError, match="embedding must be None, 'nested' or NestedEmbedding"):
        NestedEmbedding.of("bins", 0)


# ----------------------------------------------------------------------------- search
class Waves:
    """A function of everything, NaN as if it were 0.5."""

    def __init__(self, space, seed=0):
        self.weights = np.random.default_rng(seed).uniform(0.5, 3.0, (3, len(space)))

    def __call__(self, points):
        return np.sin(np.nan_to_num(points, nan=0.5) @ self.weights.T).sum(axis=1)

    def of_changes(self, point, columns, coordinates):
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point, columns):
        inner = np.nan_to_num(point, nan=0.5) @ self.weights.T
        return float(self(point[None])[0]), np.cos(inner) @ self.weights[:, columns]


def searched(space, name="genetic", centre=None, scale=1.0, fixed=None, avoid=None, budget=None):
    subspace = subspaces(space, RULES, 0)[0][0]
    whole = Domain(space, fixed=fixed or {})
    embedded = Embedded(subspace, whole, TrustRegion(centre=centre, scale=scale))
    rng = np.random.default_rng(0)
    avoid = PointSet(np.empty((0, len(space)))) if avoid is None else avoid
    budget = SearchBudget(enumerate_up_to=0) if budget is None else budget
    task = SearchTask(Waves(space), whole, avoid, whole.sample(4, rng), rng, budget)
    return embedded, embedded.searched(task, lambda task: maximise(task, name))


@pytest.mark.parametrize("name", [name for name, e in SEARCHES.items() if e.works_embedded])
@pytest.mark.parametrize("fixed", [{}, {3: 1.0, 7: 0.0}])
def test_the_maximum_of_a_subspace_is_found(name, fixed):
    space = categories(12)
    embedded, found = searched(space, name, fixed=fixed)
    points = embedded.up(Domain(embedded.subspace.space).enumerate())
    function = Waves(space)
    assert set(map(tuple, found)) <= set(map(tuple, points))
    assert function(found[:1])[0] == pytest.approx(function(points).max())
    for column, value in fixed.items():
        assert np.all(found[:, column] == value)


def test_a_region_is_kept_in_the_subspace():
    space = categories(12, 3)
    rng = np.random.default_rng(0)
    centre = subspaces(space, RULES, 0)[0][0].up(np.ones((1, 5)))[0]
    embedded, found = searched(space, centre=centre, scale=0.4)
    points = Domain(embedded.subspace.space).enumerate()
    near = embedded.up(points[(points != 1.0).sum(axis=1) <= 2])
    assert Waves(space)(found[:1])[0] == pytest.approx(Waves(space)(near).max())
    assert embedded.sample(50, rng).shape == (50, 12)


def test_known_points_of_a_subspace_are_avoided():
    space = categories(12)
    embedded, _ = searched(space)
    points = embedded.up(Domain(embedded.subspace.space).enumerate())
    order = np.argsort(-Waves(space)(points))
    _, found = searched(space, avoid=PointSet(points[order[:5]]))
    np.testing.assert_array_equal(found[0], points[order[5]])
    assert not len(searched(space, avoid=PointSet(points))[1])


def test_numbers_of_a_bin_climb_together():
    space = Space(tuple(Float(f"x{i}", 0, 1) for i in range(8)))
    rules = NestedEmbedding(first_bins=1, seed=0)
    subspace = subspaces(space, rules, 0)[0][0]
    embedded = Embedded(subspace, Domain(space), TrustRegion())
    rng = np.random.default_rng(0)
    avoid, starts = PointSet(np.empty((0, 8))), space.sample(3, rng)
    task = SearchTask(Waves(space), Domain(space), avoid, starts, rng, SearchBudget())
    found = embedded.searched(task, maximise)
    line = subspace.up(np.linspace(0.0, 1.0, 20_001)[:, None])
    assert Waves(space)(found[:1])[0] >= Waves(space)(line).max() - 1e-7


def test_what_does_not_exist_is_taken_away():
    space = Space((*categories(8).parameters, *(Float(f"x{i}", 0, 1) for i in range(4))))
    points = space.sample(80, np.random.default_rng(0))
    points[points[:, 2] == 0.0, 9] = np.nan
    conditions = learn_conditions(space, points)
    whole = Domain(space, conditions=conditions)
    embedded = Embedded(subspaces(space, RULES, 0)[0][0], whole, TrustRegion(centre=points[0]))
    drawn = embedded.sample(100, np.random.default_rng(1))
    np.testing.assert_array_equal(np.isnan(drawn), ~conditions.active(drawn))
    assert 0 < np.isnan(drawn[:, 9]).sum() < 100


# -------------------------------------------------------------------------- the pipeline
@pytest.mark.parametrize("n", [0, 7, 12, 30, 60])
def test_suggestions_lie_in_the_subspace_of_their_number(n):
    space = categories(25, 5)
    settings = Settings(n_startup_trials=5, deterministic=True, embedding=RULES)
    rng = np.random.default_rng(n)
    points = space.sample(n, rng)
    history = History.of(space, points, points[:, 0] + rng.random(n))
    found, stages = subspaces(space, RULES, 5)
    suggestion = suggest(Problem(space), history, settings, rng)
    number = sum(n >= stage.end for stage in stages)
    assert number == {0: 0, 7: 0, 12: 1, 30: 2, 60: 3}[n]
    point = suggestion.point[None]
    for i, subspace in enumerate(found):
        is_inside = np.array_equal(subspace.up(subspace.down(point)), point)
        assert is_inside == (i >= number)


def test_an_exhausted_subspace_is_left():
    space = categories(6)
    rules = NestedEmbedding(first_bins=1, n_trials=1000, seed=0)
    subspace = subspaces(space, rules, 1)[0][0]
    points = subspace.up(np.array([[0.0], [1.0]]))
    settings = Settings(n_startup_trials=1, deterministic=True, embedding=rules)
    history = History.of(space, points, np.array([1.0, 2.0]))
    assert subspaces(space, rules, 1)[1][0].end > 2
    suggestion = suggest(Problem(space), history, settings, np.random.default_rng(0))
    assert suggestion.is_new and not PointSet(points).contains(suggestion.point[None])[0]


def test_searches_that_look_at_single_parameters_take_no_embedding():
    with pytest.raises(ValueError, match="embedding must be None for search 'bandit'"):
        Settings(search_by="bandit", embedding=RULES)
