"""When a branch of a conditional space has been searched, another one is begun."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.history import NO_REGION
from heat_plugins.search.branches import NEGLIGIBLE_LOG_EI, outside_ended_regions
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.suggest import History, Problem, Settings, suggest

CHECKED = settings(deadline=None, max_examples=100)
NAN = np.nan
# a method, two choices and a number for each of two methods, and a constant
SPACE = Space(
    (
        Categorical("method", range(2)),
        Categorical("a0", range(3)),
        Float("a1", 0, 1),
        Categorical("b0", range(3)),
        Float("b1", 0, 1),
        Categorical("only", ["x"]),
    )
)
FIRST = [0.0, 1.0, 0.5, NAN, NAN, 0.0]


def slow_distance(one, other):
    distance = 0
    for column, parameter in enumerate(SPACE.parameters):
        x, y = one[column], other[column]
        if np.isnan(x) or np.isnan(y):
            distance += np.isnan(x) != np.isnan(y)
        elif isinstance(parameter, Categorical):
            distance += x != y
    return distance


def slow_rule(point, centre, ended):
    for other in ended:
        n_parameters = sum(
            not np.isnan(x) and len(SPACE.parameters[i].choices) > 1
            if isinstance(SPACE.parameters[i], Categorical)
            else not np.isnan(x)
            for i, x in enumerate(other)
        )
        if slow_distance(point, other) < max(1, n_parameters / 2):
            return False
        if centre is not None and slow_distance(point, centre) > slow_distance(point, other):
            return False
    return True


@st.composite
def points(draw):
    row = [float(draw(st.integers(0, 1)))]
    row += [float(draw(st.integers(0, 2))), draw(st.floats(0, 1))] * 2
    exists = [True, *draw(st.lists(st.booleans(), min_size=4, max_size=4))]
    return [x if there else NAN for x, there in zip(row, exists, strict=True)] + [0.0]


@given(
    st.lists(points(), min_size=1, max_size=8),
    st.none() | points(),
    st.lists(points(), min_size=1, max_size=3),
)
@CHECKED
def test_the_rule_is_what_it_says(candidates, centre, ended):
    own = None if centre is None else np.array(centre)
    found = outside_ended_regions(np.array(candidates), own, np.array(ended), SPACE)
    assert found.tolist() == [slow_rule(point, centre, ended) for point in candidates]


def test_another_method_is_elsewhere_and_the_same_one_is_not():
    same = [0.0, 2.0, 0.9, NAN, NAN, 0.0]
    other = [1.0, NAN, NAN, 0.0, 0.1, 0.0]
    found = outside_ended_regions(np.array([FIRST, same, other]), None, np.array([FIRST]), SPACE)
    assert found.tolist() == [False, False, True]
    # back to the first method is nearer to where the search has been
    found = outside_ended_regions(
        np.array([same, other]), np.array(other), np.array([FIRST]), SPACE
    )
    assert found.tolist() == [False, True]


# ------------------------------------------------------------------------ as part of a study
def value_of(point):
    """Return a value that is best in the second method, but only at the right choice."""
    if point[0] == 0.0:
        return abs(point[1] - 1.0) + (point[2] - 0.5) ** 2
    return 3.0 - 5.0 * (point[3] == 2.0) + (point[4] - 0.5) ** 2


def run(n_trials, deterministic=True, seed=0):
    """Return points, values and tags of a study that has seen little of the second method."""
    rng = np.random.default_rng(seed)
    rows = [[0.0, float(rng.integers(3)), rng.random(), NAN, NAN, 0.0] for _ in range(8)]
    rows += [[1.0, NAN, NAN, float(i), rng.random(), 0.0] for i in range(2)]
    tags = [NO_REGION] * len(rows)
    values = [value_of(row) for row in rows]
    for _ in range(n_trials):
        history = History.of(SPACE, np.array(rows), np.array(values), np.array(tags))
        suggestion = suggest(Problem(SPACE), history, Settings(deterministic=deterministic), rng)
        rows.append(suggestion.point.tolist())
        values.append(value_of(suggestion.point))
        tags.append(suggestion.region_id)
    return np.array(rows), np.array(values), np.array(tags)


@pytest.mark.parametrize("seed", range(3))
def test_a_study_leaves_a_branch_of_which_nothing_is_expected(seed):
    rows, values, tags = run(30, seed=seed)
    begins = np.flatnonzero(tags == 1)
    assert len(begins)
    # The region begins away from the best trial before it, and in the other method.
    best = rows[: begins[0]][np.argmin(values[: begins[0]])]
    assert rows[begins[0], 0] != best[0]
    assert np.all(rows[begins, 0] == rows[begins[0], 0])
    assert values.min() < -1.9


def test_a_new_region_is_begun_only_where_next_to_nothing_is_expected():
    rows, values, tags = run(30)
    begin = int(np.flatnonzero(tags == 1)[0])
    before = History.of(SPACE, rows[: begin - 1], values[: begin - 1], tags[: begin - 1])
    suggestion = suggest(
        Problem(SPACE), before, Settings(deterministic=True), np.random.default_rng(0)
    )
    assert suggestion.region_id == 0
    assert suggestion.acquisition >= NEGLIGIBLE_LOG_EI or not suggestion.region.is_searched


def test_what_noise_may_hide_is_not_given_up():
    rows, values, tags = run(20)
    noisy = values + 0.5 * np.random.default_rng(0).standard_normal(len(values))
    twice, both = np.concatenate([rows, rows]), np.concatenate([noisy, values])
    history = History.of(SPACE, twice, both, np.zeros(len(twice), np.int64))
    suggestion = suggest(Problem(SPACE), history, Settings(), np.random.default_rng(0))
    assert suggestion.region_id == 0


def test_without_conditions_a_region_ends_by_shrinking_alone():
    space = Space((Categorical("a", range(3)), Float("x", 0, 1)))
    rng = np.random.default_rng(0)
    rows = space.sample(40, rng)
    rows[:, 1] = np.linspace(0.45, 0.55, 40)  # all is known here
    values = rows[:, 0] + (rows[:, 1] - 0.5) ** 2
    assert learn_conditions(space, rows) is None
    history = History.of(space, rows, values, np.full(40, NO_REGION))
    suggestion = suggest(Problem(space), history, Settings(deterministic=True), rng)
    assert suggestion.region_id == 0
