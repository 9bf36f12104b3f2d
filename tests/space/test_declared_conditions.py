"""Conditions that a user declares: who exists where, and suggestions that keep to it."""

import numpy as np
import pytest

from heat_plugins.search.trust_region import TrustRegionRules
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.conditions import conditions_of
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.suggest import History, Problem, Settings, suggest

# Children stand before their parents: the order of columns means nothing.
SPACE = Space(
    (
        Float("momentum", 0, 1),
        Categorical("solver", ("sgd", "adam")),
        Integer("depth", 1, 9),
        Categorical("model", ("net", "tree", "forest")),
        Float("rate", 0, 1),
        Ordinal("size", (1, 2, 3)),
    )
)
PARENTS = {
    "momentum": ("solver", ["sgd"]),
    "solver": ("model", ["net"]),
    "rate": ("model", ["net"]),
    "depth": ("model", ["tree", "forest"]),
}


def exists_by_hand(row):
    model, solver = SPACE.parameters[3].decode(row[3]), SPACE.parameters[1].decode(row[1])
    is_net = model == "net"
    return [is_net and solver == "sgd", is_net, not is_net, True, is_net, True]


def test_each_parameter_exists_where_it_was_declared_to():
    conditions = conditions_of(SPACE, PARENTS)
    points = SPACE.sample(200, np.random.default_rng(0))
    expected = np.array([exists_by_hand(row) for row in points])
    np.testing.assert_array_equal(conditions.active(points), expected)
    np.testing.assert_array_equal(conditions.is_optional, [1, 1, 1, 0, 1, 0])
    np.testing.assert_array_equal(conditions.is_branching, [0, 1, 0, 1, 0, 0])


def test_parents_come_before_children_and_siblings_share_a_tree():
    conditions = conditions_of(SPACE, PARENTS)
    place = {SPACE.names[column]: i for i, column in enumerate(conditions.order)}
    assert all(place[parent] < place[child] for child, (parent, _) in PARENTS.items())
    assert sorted(conditions.order) == list(range(6))
    assert conditions.trees[1] is conditions.trees[4]


def test_declared_conditions_are_those_that_many_trials_tell():
    declared = conditions_of(SPACE, PARENTS)
    trials = declared.deactivate(SPACE.sample(300, np.random.default_rng(1)))
    learnt = learn_conditions(SPACE, trials)
    points = SPACE.sample(300, np.random.default_rng(2))
    np.testing.assert_array_equal(declared.active(points), learnt.active(points))


def test_nothing_declared_is_no_condition():
    conditions = conditions_of(SPACE, {})
    assert not conditions.trees
    assert conditions.active(SPACE.sample(5, np.random.default_rng(0))).all()


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"nobody": ("model", ["net"])}, "'nobody'"),
        ({"rate": ("nobody", ["net"])}, "'nobody'"),
        ({"solver": ("model", ["net"]), "model": ("solver", ["sgd"])}, "circle"),
        ({"model": ("model", ["net"])}, "circle"),
        ({"rate": ("depth", [3])}, "'depth' of 'rate' must have listed choices"),
        ({"rate": ("model", ["bush"])}, "'bush'"),
        ({"rate": ("model", [])}, "'rate' must exist"),
    ],
)
def test_what_cannot_be_is_an_error_that_names_it(parents, message):
    with pytest.raises(ValueError, match=message):
        conditions_of(SPACE, parents)


def value_of(points):
    return np.nan_to_num(points).sum(axis=1)


@pytest.mark.parametrize("rules", [None, TrustRegionRules()], ids=["everywhere", "region"])
@pytest.mark.parametrize("n", [0, 4, 15])
def test_suggestions_have_what_exists_and_nothing_else(n, rules):
    conditions = conditions_of(SPACE, PARENTS)
    settings = Settings(n_startup_trials=5, trust_region=rules)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        # Full rows: what stands in columns that do not exist must not matter.
        points = SPACE.sample(n, rng)
        history = History.of(SPACE, points, value_of(conditions.deactivate(points)))
        found = suggest(Problem(SPACE, conditions=conditions), history, settings, rng)
        np.testing.assert_array_equal(
            ~np.isnan(found.point), conditions.active(found.point[None])[0]
        )


def test_values_of_what_does_not_exist_do_not_matter():
    conditions = conditions_of(SPACE, PARENTS)
    points = SPACE.sample(12, np.random.default_rng(3))
    values = value_of(conditions.deactivate(points))
    found = [
        suggest(
            Problem(SPACE, conditions=conditions),
            History.of(SPACE, rows, values),
            Settings(),
            np.random.default_rng(0),
        ).point
        for rows in (points, conditions.deactivate(points))
    ]
    np.testing.assert_array_equal(*found)


def test_no_conditions_declared_or_learnt_are_the_same():
    points = SPACE.sample(12, np.random.default_rng(3))
    history = History.of(SPACE, points, value_of(points))
    found = [
        suggest(
            Problem(SPACE, conditions=conditions), history, Settings(), np.random.default_rng(0)
        ).point
        for conditions in (None, conditions_of(SPACE, {}))
    ]
    np.testing.assert_array_equal(*found)


def test_a_trial_that_lacks_what_always_exists_is_an_error():
    points = SPACE.sample(12, np.random.default_rng(3))
    points[4, 5] = np.nan
    history = History.of(SPACE, points, np.arange(12.0))
    with pytest.raises(ValueError, match="'size' always exists"):
        rng = np.random.default_rng(0)
        suggest(Problem(SPACE, conditions=conditions_of(SPACE, PARENTS)), history, Settings(), rng)
