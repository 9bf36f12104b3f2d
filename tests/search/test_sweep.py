"""How many single changes the ascent looks at, and which."""

import dataclasses

import numpy as np
import pytest

from heat_plugins.search.domain import Domain, Region
from heat_plugins.search.search_task import SearchBudget, SearchTask
from heat_plugins.search.searches import maximise
from heat_plugins.search.sweep import MOST_NUMBERS, Sweep
from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.point_set import PointSet

BUDGET = SearchBudget()
EXHAUSTIVE = dataclasses.replace(BUDGET, all_changes=10**9)


def categories(*sizes):
    return tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes))


def numbers(n):
    return tuple(Float(f"x{i}", 0, 1) for i in range(n))


class Counted:
    """Random single effects of codes, a bowl in the numbers; counts the points it is asked for."""

    def __init__(self, space, seed=0):
        rng = np.random.default_rng(seed)
        self.discrete = np.flatnonzero(space.is_discrete)
        self.numeric = np.flatnonzero(~space.is_discrete)
        k = int(max([1, *space.n_levels[self.discrete]]))
        self.single = rng.standard_normal((len(self.discrete), k))
        self.middle = rng.random(len(self.numeric))
        self.batches = []

    def values(self, points):
        codes = np.nan_to_num(points[:, self.discrete]).astype(int)
        values = self.single[np.arange(len(self.discrete)), codes].sum(axis=1)
        return values - np.nansum((points[:, self.numeric] - self.middle) ** 2, axis=1)

    def __call__(self, points):
        self.batches.append(len(points))
        return self.values(points)

    def of_changes(self, point, columns, coordinates):
        self.batches.append(len(columns))
        changed = np.repeat(point[None], len(columns), axis=0)
        changed[np.arange(len(columns)), columns] = coordinates
        return self.values(changed)

    def value_and_gradient(self, point, columns):
        at = np.isin(self.numeric, columns)
        gradient = -2.0 * (point[self.numeric[at]] - self.middle[at])
        return float(self.values(point[None])[0]), gradient


def search(space, function, budget=BUDGET, conditions=None, seed=0, region=None):
    domain = Domain(space, region, conditions=conditions)
    rng = np.random.default_rng(seed)
    starts = domain.impute_conditionals(space.sample(5, np.random.default_rng(9)), rng)
    avoid = PointSet(np.empty((0, len(space))))
    return maximise(SearchTask(function, domain, avoid, starts, rng, budget))[0], rng


PUBLISHED = {
    "125 switches": Space(categories(*[2] * 125)),
    "60 switches": Space(categories(*[2] * 60)),
    "25 of 5": Space(categories(*[5] * 25)),
    "20 of 11": Space(categories(*[11] * 20)),
    "25 of 20": Space(categories(*[20] * 25)),
    "67 of 4": Space(categories(*[4] * 67)),
    "mixed": Space((*categories(*[2] * 50), *numbers(3), Integer("i", 1, 64))),
}


@pytest.mark.parametrize("space", PUBLISHED.values(), ids=PUBLISHED.keys())
def test_nothing_is_left_out_of_problems_as_large_as_the_published_ones(space):
    """The same point, and the same random numbers drawn on the way."""
    found, rng = search(space, Counted(space))
    expected, other = search(space, Counted(space), EXHAUSTIVE)
    np.testing.assert_array_equal(found, expected)
    assert rng.bit_generator.state == other.bit_generator.state


WIDE = {
    "many choices": Space(categories(10_000, 10_000, 10_000)),
    "many columns": Space(categories(*[40] * 50)),
    "many switches": Space(categories(*[2] * 700)),
    "many numbers": Space(numbers(300)),
    "both": Space((*categories(3000), *numbers(40))),
}


@pytest.mark.parametrize("space", WIDE.values(), ids=WIDE.keys())
def test_the_work_of_a_search_is_bounded(space):
    function = Counted(space)
    search(space, function)
    assert max(function.batches) <= BUDGET.all_changes
    n_evolved = (BUDGET.generations + 2) * BUDGET.population
    n_swept = BUDGET.some_steps * BUDGET.all_changes
    assert sum(function.batches) <= n_evolved + n_swept
    again = search(space, Counted(space))[0]
    np.testing.assert_array_equal(search(space, Counted(space))[0], again)


def test_the_work_is_bounded_where_a_column_of_many_choices_need_not_exist():
    space = Space((*categories(2, 5000), Float("x", 0, 1)))
    points = space.snap(space.sample(40, np.random.default_rng(1)))
    points[points[:, 0] == 0, 1] = np.nan
    function = Counted(space)
    search(space, function, conditions=learn_conditions(space, points))
    assert max(function.batches) <= BUDGET.all_changes


@pytest.mark.parametrize("name", ["many columns", "many switches"])
def test_some_changes_are_nearly_as_good_as_all(name):
    space = WIDE[name]
    function = Counted(space)
    some, everything, none = (
        function.values(search(space, function, budget)[0][None])[0]
        for budget in (BUDGET, EXHAUSTIVE, dataclasses.replace(BUDGET, ascent_steps=0))
    )
    assert some > none + 0.5 * (everything - none)


def sweep_of(space, good=None, n_steps=100):
    good = np.zeros((1, len(space))) if good is None else good
    rng = np.random.default_rng(0)
    return Sweep(Domain(space), good, rng, 500, 200, n_steps)


def test_a_step_looks_at_some_of_very_many_changes():
    space = WIDE["many choices"]
    point = np.full(3, 7.0)
    columns, coordinates = sweep_of(space).changes(point)
    assert len(columns) == 200
    assert np.all(coordinates != 7.0)
    assert len({*zip(columns, coordinates, strict=True)}) == 200


def test_what_gained_most_is_looked_at_again():
    space = WIDE["many choices"]
    sweep, point = sweep_of(space), np.zeros(3)
    columns, coordinates = sweep.changes(point)
    values = np.arange(200.0)
    values[199] = -np.inf  # one that leads to a point to avoid
    sweep.note(columns, coordinates, values, before=3.0)
    looked_at = {*zip(*sweep.changes(point), strict=True)}
    best = {*zip(columns[99:199], coordinates[99:199], strict=True)}
    assert best <= looked_at
    assert len(looked_at) == 200


def test_codes_of_good_points_are_looked_at():
    space = WIDE["many choices"]
    good = np.arange(1.0, 31.0).reshape(10, 3)
    columns, coordinates = sweep_of(space, good).changes(np.zeros(3))
    looked_at = {*zip(columns, coordinates, strict=True)}
    assert {(c, good[i, c]) for i in range(10) for c in range(3)} <= looked_at


def test_changes_of_numbers_are_those_of_a_few_of_very_many():
    columns, _ = sweep_of(WIDE["many numbers"]).changes(np.full(300, 0.5))
    assert 0 < len({*columns}) <= MOST_NUMBERS


def test_steps_that_look_at_some_changes_come_to_an_end():
    sweep = sweep_of(WIDE["many choices"], n_steps=2)
    assert [len(sweep.changes(np.zeros(3))[0]) for _ in range(3)] == [200, 200, 0]


def test_a_region_counts_before_the_number_of_changes():
    """At its rim few changes are left, and then all are looked at."""
    space = WIDE["many columns"]
    centre = np.zeros(50)
    point = centre.copy()
    point[:3] = 1.0
    domain = Domain(space, Region(centre, 3, 0.5))
    rng = np.random.default_rng(0)
    sweep = Sweep(domain, centre[None], rng, 500, 200, 100)
    columns, coordinates = sweep.changes(point)
    expected = domain.changes(point)
    np.testing.assert_array_equal(columns, expected[0])
    np.testing.assert_array_equal(coordinates, expected[1])
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
