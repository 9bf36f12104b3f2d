"""Spaces of which only listed points exist, compared with looking at the list one by one."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.search.domain import Domain, Region
from heat_plugins.search.listed_points import ListedPoints
from heat_plugins.search.search_task import SearchBudget, SearchTask
from heat_plugins.search.searches import SEARCHES, maximise
from heat_plugins.search.unseen import unseen_point
from heat_plugins.space import Categorical, Space, apply_changes
from heat_plugins.space.point_set import PointSet
from heat_plugins.suggest import FitCache, History, Problem, Settings, suggest

CHECKED = settings(deadline=None, max_examples=30)
EVERYTHING = SearchBudget()
NO_ENUMERATION = SearchBudget(enumerate_up_to=0, list_up_to=0)


class Weighted:
    """A sum of effects, one for each code of each column."""

    def __init__(self, space, rng):
        self.effects = [rng.standard_normal(int(n)) for n in space.n_levels]

    def __call__(self, points):
        columns = points.astype(int).T
        return np.sum([e[c] for e, c in zip(self.effects, columns, strict=True)], axis=0)

    def of_changes(self, point, columns, coordinates):
        return self(apply_changes(point, columns, coordinates))

    def value_and_gradient(self, point, columns):
        raise AssertionError("there are no numbers")


def categories(*sizes):
    return Space(tuple(Categorical(f"c{i}", range(k)) for i, k in enumerate(sizes)))


def all_codes(space):
    return np.array([*itertools.product(*(range(int(n)) for n in space.n_levels))], dtype=np.uint8)


@st.composite
def listed_spaces(draw):
    space = categories(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    codes = all_codes(space)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, len(codes)))
    return space, codes[rng.permutation(len(codes))[:n]], rng


def as_set(points):
    return {tuple(point) for point in np.asarray(points, dtype=int).tolist()}


@CHECKED
@given(listed_spaces(), st.integers(0, 5))
def test_a_domain_of_listed_points_is_the_list(case, radius):
    space, codes, rng = case
    listed, everything = ListedPoints(codes), all_codes(space).astype(float)
    is_listed = [tuple(row) in as_set(codes) for row in everything.astype(int).tolist()]
    assert listed.allows(everything).tolist() == is_listed
    whole = Domain(space, listed=listed)
    assert as_set(whole.enumerate()) == as_set(codes) and whole.size == len(codes)
    assert as_set(whole.sample(20, rng)) <= as_set(codes)
    centre = space.sample(1, rng)[0]
    near = Domain(space, region=Region(centre, radius, 0.1), listed=listed)
    inside = {row for row in as_set(codes) if np.sum(np.array(row) != centre) <= radius}
    assert as_set(near.enumerate()) == inside and near.size == len(inside)
    assert as_set(near.sample(20, rng)) <= (inside or as_set(centre[None]))
    fixed = Domain(space, fixed={0: float(codes[0, 0])}, listed=listed)
    assert as_set(fixed.enumerate()) == {row for row in as_set(codes) if row[0] == codes[0, 0]}


@CHECKED
@given(listed_spaces())
def test_the_last_listed_point_is_found(case):
    space, codes, rng = case
    listed = ListedPoints(codes)
    known, domain = codes[1:].astype(float), Domain(space, listed=listed)
    found = unseen_point(domain, PointSet(known, None, listed.allows), rng)
    assert found is not None and found.tolist() == codes[0].tolist()
    assert unseen_point(domain, PointSet(codes.astype(float), None, listed.allows), rng) is None


@pytest.mark.parametrize("name", [n for n, e in SEARCHES.items() if not e.needs_components])
@pytest.mark.parametrize("budget", [EVERYTHING, NO_ENUMERATION])
def test_searches_return_listed_points_alone(name, budget):
    space, rng = categories(*[4] * 7), np.random.default_rng(0)
    codes = all_codes(space)
    codes = codes[rng.permutation(len(codes))[:60]]  # of 16,384
    listed, function = ListedPoints(codes), Weighted(space, rng)
    known = codes[:10].astype(float)
    avoid = PointSet(known, None, listed.allows)
    task = SearchTask(function, Domain(space, listed=listed), avoid, known, rng, budget)
    found = maximise(task, name)
    assert as_set(found) <= as_set(codes[10:])
    best = codes[10 + np.argmax(function(codes[10:].astype(float)))].tolist()
    if SEARCHES[name].is_maximiser:  # also without enumeration: the list is shorter than a sample
        assert found[0].astype(int).tolist() == best


def test_suggestions_visit_every_listed_point_once():
    space, rng = categories(3, 4, 5, 4), np.random.default_rng(1)
    codes = all_codes(space)
    codes = codes[rng.permutation(len(codes))[:25]]
    problem, cache = Problem(space, listed=ListedPoints(codes)), FitCache()
    quick = Settings(n_startup_trials=4)
    value, points = Weighted(space, rng), np.empty((0, 4))
    for i in range(len(codes)):
        history = History.of(space, points, value(points) if i else np.empty(0))
        found = suggest(problem, history, quick, np.random.default_rng([1, i]), cache)
        assert found.is_new
        points = np.concatenate([points, found.point[None]])
    assert as_set(points) == as_set(codes)
    history = History.of(space, points, value(points))
    assert not suggest(problem, history, quick, np.random.default_rng(2), cache).is_new


def test_a_list_of_all_points_is_no_restriction():
    space, rng = categories(3, 4, 5, 2), np.random.default_rng(3)
    points = space.sample(12, rng)
    history = History.of(space, points, Weighted(space, rng)(points))
    every = ListedPoints(all_codes(space))
    found = [
        suggest(p, history, Settings(n_startup_trials=4), np.random.default_rng(5))
        for p in (Problem(space), Problem(space, listed=every))
    ]
    assert found[0].point.tolist() == found[1].point.tolist()
    assert found[0].acquisition == found[1].acquisition


def test_a_million_points_are_no_burden():
    space, rng = categories(*[16] * 6), np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 16, size=(500_000, 6), dtype=np.uint8), axis=0)
    listed, function = ListedPoints(codes), Weighted(space, rng)
    points = listed.points(rng.integers(len(codes), size=30))
    history = History.of(space, points, function(points))
    problem = Problem(space, listed=listed)
    began = time.process_time()
    found = suggest(problem, history, Settings(), rng)
    assert time.process_time() - began < 5.0
    assert listed.allows(found.point[None])[0]


def test_no_points_are_refused():
    with pytest.raises(ValueError, match=r"codes must have shape \(N, d\) with N > 0"):
        ListedPoints(np.empty((0, 3), dtype=int))
