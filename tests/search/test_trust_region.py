"""The trust region is a fold over the trials, and the fold does what it says."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.acquisition.pareto import non_dominated
from heat_plugins.history import NO_REGION
from heat_plugins.search.trust_region import (
    FEWEST_FAILURES,
    TrustRegion,
    TrustRegionRules,
    replay,
)
from heat_plugins.space import Categorical, Float, Integer, Space

CHECKED = settings(deadline=None, max_examples=50)
DISCRETE = Space(tuple(Categorical(f"c{i}", range(4)) for i in range(6)))
NUMERIC = Space((Float("x", 0, 1), Integer("i", 0, 9)))
MIXED = Space((*DISCRETE.parameters[:3], *NUMERIC.parameters))
SPACES = pytest.mark.parametrize(
    "space", [DISCRETE, NUMERIC, MIXED], ids=["discrete", "numeric", "mixed"]
)
RULES = TrustRegionRules(
    first_scale=0.5, factor=2.0, successes_to_grow=3, failures_to_shrink=4, smallest_box=0.05
)


@functools.cache
def points_of(space):
    """Return the fixed random sequence of points that trials are made of here."""
    return space.sample(100, np.random.default_rng(0))


def after(values, tags=None, space=DISCRETE, rules=RULES):
    """Return the region after trials with the given values."""
    values = np.array(values, dtype=float)
    points = points_of(space)[: len(values)]
    tags = np.zeros(len(values), dtype=np.int64) if tags is None else np.array(tags, np.int64)
    return replay(points, values, tags, space, rules)


def point(i, space=DISCRETE):
    return points_of(space)[i]


def state(region):
    """Return everything a region says, in a form that can be compared."""
    fields = dataclasses.asdict(region)
    fields["centre"] = None if region.centre is None else region.centre.tolist()
    return fields


@st.composite
def histories(draw):
    n = draw(st.integers(0, 60))
    values = draw(
        st.lists(
            st.one_of(st.integers(-5, 5).map(float), st.sampled_from([math.inf, -math.inf])),
            min_size=n,
            max_size=n,
        )
    )
    tags = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    return values, tags


# ------------------------------------------------------------------ what a fold is
def slow_replay(values, tags, space, rules):
    """Handle one trial at a time, with a fresh mapping as the state."""
    n_discrete = int(space.is_discrete.sum())
    smallest = 1.0 / n_discrete if n_discrete else rules.smallest_box
    if n_discrete < len(space):
        smallest = min(smallest, rules.smallest_box)
    fresh = {"centre": None, "best": math.inf, "scale": rules.first_scale, "good": 0, "bad": 0}
    region, index, ended = dict(fresh), 0, []
    for i, (value, tag) in enumerate(zip(values, tags, strict=True)):
        if NO_REGION < tag < index:
            continue
        if tag == index + 1:  # asked for by the next one: this one has ended
            ended += [] if region["centre"] is None else [region["centre"]]
            region, index = dict(fresh), index + 1
        if tag > index:
            tag = NO_REGION
        has_centre = region["centre"] is not None
        better = not has_centre or value < region["best"]
        if better:
            region.update(centre=i, best=value)
        if tag == NO_REGION or not has_centre:
            continue
        region["good"] = region["good"] + 1 if better else 0
        region["bad"] = 0 if better else region["bad"] + 1
        if region["good"] == rules.successes_to_grow:
            region.update(scale=min(1.0, region["scale"] * rules.factor), good=0)
        if region["bad"] == rules.failures_to_shrink:
            region.update(scale=region["scale"] / rules.factor, bad=0)
            if region["scale"] < smallest:
                ended.append(region["centre"])
                region, index = dict(fresh), index + 1
    return index, region, ended


@SPACES
@given(history=histories())
@CHECKED
def test_replay_is_the_fold_it_describes(space, history):
    values, tags = history
    region = after(values, tags, space)
    index, expected, ended = slow_replay(values, tags, space, RULES)
    assert region.index == index
    assert list(region.ended) == ended
    assert region.best == expected["best"]
    assert region.scale == pytest.approx(expected["scale"], rel=1e-12)
    assert (region.n_successes, region.n_failures) == (expected["good"], expected["bad"])
    if expected["centre"] is None:
        assert region.centre is None
    else:
        np.testing.assert_array_equal(region.centre, point(expected["centre"], space))


@given(histories())
@CHECKED
def test_equal_histories_give_equal_regions(history):
    assert state(after(*history)) == state(after(*history))


@given(histories(), st.integers(0, 60))
@CHECKED
def test_what_happened_before_is_not_changed_by_what_follows(history, n):
    """The index never falls, and a longer history continues the shorter one."""
    values, tags = history
    earlier, later = after(values[:n], tags[:n]), after(values, tags)
    assert earlier.index <= later.index
    if earlier.index == later.index and earlier.centre is not None:
        assert later.best <= earlier.best


@given(histories())
@CHECKED
def test_the_scale_stays_in_its_range(history):
    region = after(*history)
    smallest = 1.0 / len(DISCRETE)
    assert smallest <= region.scale <= 1.0
    assert 0 <= region.n_successes < RULES.successes_to_grow
    assert 0 <= region.n_failures < RULES.failures_to_shrink
    assert region.n_successes == 0 or region.n_failures == 0
    assert (region.centre is None) <= (region.best == math.inf)


def test_no_trials_no_centre():
    region = after([])
    assert region.centre is None
    assert region.best == math.inf
    assert (region.index, region.scale) == (0, RULES.first_scale)
    assert region.as_region(DISCRETE) is None


# ------------------------------------------------------------- trials without a value
def after_failures(n_failed, values=(3.0,), space=DISCRETE, at=None, tags=None, failed_tag=0):
    """The region after trials of it with values, and some without after ``at`` of them."""
    points = np.stack([point(i, space) for i in range(len(values))])
    tags = np.zeros(len(values), dtype=np.int64) if tags is None else np.array(tags)
    failed_after = np.full(n_failed, len(values) if at is None else at)
    failed_region_ids = np.full(n_failed, failed_tag)
    return replay(points, np.array(values), tags, space, RULES, failed_after, failed_region_ids)


@SPACES
@given(n_failed=st.integers(0, 200))
@CHECKED
def test_failed_trials_make_it_shrink_but_never_end(space, n_failed):
    region = after_failures(n_failed, space=space)
    n_steps = n_failed // RULES.failures_to_shrink
    expected = max(RULES.first_scale / RULES.factor**n_steps, 0.0)
    assert region.index == 0 and region.centre is not None
    assert region.scale >= expected - 1e-12
    if n_failed < RULES.failures_to_shrink:
        assert region.scale == RULES.first_scale
        assert region.n_failures == (n_failed if n_failed > 1 else 0)
    elif region.scale / RULES.factor >= 0.5:  # far from the smallest
        assert region.scale == pytest.approx(expected)
    more = after_failures(n_failed + RULES.failures_to_shrink, space=space)
    assert more.scale <= region.scale


def test_failed_trials_count_as_long_as_most_fail():
    values = (3.0, 2.0, 1.0)  # the first is the centre, the others are improvements
    assert after_failures(0, values).n_successes == 2
    assert after_failures(3, values).n_successes == 2  # as many as have a value
    assert after_failures(4, values).n_successes == 0
    assert after_failures(20, values, at=0).n_successes == 2  # before there was a region
    few = after_failures(3, (3.0,) * 30)
    assert few.scale == after_failures(0, (3.0,) * 30).scale


def test_a_region_of_which_every_trial_fails_shrinks_too():
    """Its centre is all that ever succeeded, and was enqueued."""
    region = after_failures(FEWEST_FAILURES, tags=[NO_REGION])
    assert region.scale == RULES.first_scale / RULES.factor
    assert after_failures(FEWEST_FAILURES - 1, tags=[NO_REGION]).scale == RULES.first_scale
    assert not region.is_searched and region.centre is not None


@pytest.mark.parametrize("failed_tag", [NO_REGION, 1])
def test_what_no_region_or_another_one_asked_for_says_nothing_about_this_one(failed_tag):
    region = after_failures(50, failed_tag=failed_tag)
    assert (region.scale, region.n_failures) == (RULES.first_scale, 0)


# --------------------------------------------------------------- growing, shrinking
@SPACES
def test_successes_in_a_row_make_it_grow(space):
    values = [5.0, 4.0, 3.0]  # the first one only gives it a centre
    assert after(values, space=space).scale == 0.5
    grown = after([*values, 2.0], space=space)
    assert grown.scale == 1.0
    assert grown.n_successes == 0
    np.testing.assert_array_equal(grown.centre, point(3, space))
    assert after([*values, 2.0, 1.0, 0.0, -1.0], space=space).scale == 1.0  # not beyond all


@SPACES
def test_failures_in_a_row_make_it_shrink(space):
    values = [5.0] + [6.0] * 3
    assert after(values, space=space).scale == 0.5
    shrunk = after([*values, 6.0], space=space)
    assert shrunk.scale == 0.25
    assert shrunk.n_failures == 0
    np.testing.assert_array_equal(shrunk.centre, point(0, space))


def test_a_success_ends_a_row_of_failures_and_the_other_way_round():
    assert after([5.0, 6.0, 6.0, 6.0, 4.0, 6.0, 6.0, 6.0]).scale == 0.5
    assert after([5.0, 4.0, 3.0, 9.0, 2.0, 1.0]).scale == 0.5


def test_an_equal_value_is_a_failure():
    region = after([5.0, 5.0, 5.0])
    assert (region.n_successes, region.n_failures) == (0, 2)
    np.testing.assert_array_equal(region.centre, point(0))


def test_values_not_better_than_infinity_give_a_centre_all_the_same():
    region = after([math.inf, math.inf])
    np.testing.assert_array_equal(region.centre, point(0))
    assert region.n_failures == 1
    region = after([math.inf, math.inf, 3.0, -math.inf])
    np.testing.assert_array_equal(region.centre, point(3))
    assert region.best == -math.inf


# ----------------------------------------------------------------------- restarting
@SPACES
def test_a_region_that_is_too_small_ends_and_the_next_knows_nothing_of_it(space):
    values, tags = [5.0], [0]
    while after(values, tags, space).index == 0:
        values, tags = [*values, 6.0], [*tags, 0]
        assert len(values) < 50
    region = after(values, tags, space)
    assert state(region) == state(dataclasses.replace(after([], space=space), index=1, ended=(0,)))
    assert region.as_region(space) is None
    # worse than before, yet the best of the new region
    region = after([*values, 7.0], [*tags, 1], space)
    assert (region.index, region.best) == (1, 7.0)
    np.testing.assert_array_equal(region.centre, point(len(values), space))


def restart():
    """Return values and tags that have just ended the first region of ``DISCRETE``."""
    values = [5.0] + [6.0] * 8
    tags = [0] * 9
    assert after(values, tags).index == 1
    return values, tags


def test_late_trials_of_an_earlier_region_are_ignored():
    values, tags = restart()
    before = state(after(values, tags))
    assert state(after([*values, -100.0, 3.0], [*tags, 0, 0])) == before
    values, tags = [*values, 7.0], [*tags, 1]
    before = state(after(values, tags))
    assert state(after([*values, -100.0, 9.0], [*tags, 0, 0])) == before


def test_trials_nobody_asked_for_move_the_centre_and_do_not_count():
    values = [5.0, 6.0, 6.0]
    before = after(values)
    better = after([*values, 1.0], [0, 0, 0, NO_REGION])
    np.testing.assert_array_equal(better.centre, point(3))
    assert better.best == 1.0
    assert (better.n_successes, better.n_failures) == (0, before.n_failures)
    worse = after([*values, 9.0], [0, 0, 0, NO_REGION])
    assert state(worse) == state(before)
    many = after([*values, *[9.0] * 50], [0, 0, 0, *[NO_REGION] * 50])
    assert state(many) == state(before)


def test_a_tag_of_a_region_still_to_come_is_no_tag():
    """Such a trial was added from another study."""
    values = [5.0, 6.0, 1.0, 6.0]
    assert state(after(values, [0, 0, 7, 0])) == state(after(values, [0, 0, NO_REGION, 0]))


def test_a_trial_asked_for_by_the_next_region_begins_it():
    values = [5.0, 4.0, 6.0]
    region = after(values)
    following = region.next()
    assert (following.index, following.ended, following.centre) == (1, (1,), None)
    assert following.as_region(DISCRETE) is None
    begun = after([*values, 9.0], [0, 0, 0, 1])
    assert (begun.index, begun.best, begun.front, begun.ended) == (1, 9.0, (3,), (1,))
    assert (begun.n_successes, begun.n_failures, begun.scale) == (0, 0, RULES.first_scale)
    # late ones of the region before do not count
    assert state(after([*values, 9.0, 1.0], [0, 0, 0, 1, 0])) == state(begun)


def test_a_region_without_a_trial_leaves_no_centre_behind():
    region = after([5.0], [1])
    assert (region.index, region.best, region.ended) == (1, 5.0, ())


def test_start_up_trials_give_the_centre():
    region = after([5.0, 3.0, 4.0], [NO_REGION] * 3)
    np.testing.assert_array_equal(region.centre, point(1))
    assert (region.n_successes, region.n_failures, region.scale) == (0, 0, RULES.first_scale)


# ------------------------------------------------------------------ as part of space
def test_all_of_the_space_is_no_region():
    centre = point(0)
    assert TrustRegion(centre=centre, scale=1.0).as_region(DISCRETE) is None
    assert TrustRegion(centre=centre, scale=3.0).as_region(DISCRETE) is None
    assert TrustRegion(centre=None, scale=0.5).as_region(DISCRETE) is None


@given(st.floats(0.001, 0.999))
@CHECKED
def test_the_ball_and_the_box_follow_the_scale(scale):
    for space in (DISCRETE, NUMERIC, MIXED):
        region = TrustRegion(centre=point(0, space), scale=scale).as_region(space)
        n_discrete = int(space.is_discrete.sum())
        assert 1 <= region.radius <= max(n_discrete, 1)
        assert region.radius >= scale * n_discrete
        assert region.half_width == scale
        np.testing.assert_array_equal(region.centre, point(0, space))


# -------------------------------------------------------------------- several objectives
@st.composite
def several_objectives(draw):
    n, m = draw(st.integers(0, 40)), draw(st.integers(2, 4))
    values = draw(
        st.lists(
            st.lists(
                st.one_of(st.integers(-3, 3).map(float), st.sampled_from([math.inf, -math.inf])),
                min_size=m,
                max_size=m,
            ),
            min_size=n,
            max_size=n,
        )
    )
    return np.array(values).reshape(n, m), draw(
        st.lists(st.integers(-1, 0), min_size=n, max_size=n)
    )


@given(several_objectives())
@CHECKED
def test_the_front_is_what_nothing_of_the_region_dominates(history):
    values, tags = history
    region = after(values, tags, rules=dataclasses.replace(RULES, failures_to_shrink=10**9))
    front = np.flatnonzero(non_dominated(values)) if len(values) else []
    assert sorted(region.front) == list(front)
    if len(values):
        np.testing.assert_array_equal(region.centre, point(region.front[0]))


@given(several_objectives())
@CHECKED
def test_a_success_is_a_trial_that_no_earlier_one_is_as_good_as(history):
    values, tags = history
    rules = dataclasses.replace(RULES, successes_to_grow=10**9, failures_to_shrink=10**9)
    region = after(values, tags, rules=rules)
    row = 0  # of successes if positive, of failures if negative
    for i in range(1, len(values)):
        if tags[i] != 0:
            continue
        is_new = not any(np.all(values[j] <= values[i]) for j in range(i))
        row = max(row, 0) + 1 if is_new else min(row, 0) - 1
    assert (region.n_successes, region.n_failures) == (max(row, 0), max(-row, 0))


@given(histories())
@CHECKED
def test_a_single_column_is_one_objective(history):
    values, tags = history
    column = np.array(values, dtype=float)[:, None]
    assert state(after(column, tags)) == state(after(values, tags))


def test_a_new_region_has_a_front_of_its_own():
    small = dataclasses.replace(RULES, failures_to_shrink=1, first_scale=1 / 6)
    values = [[0.0, 0.0], [1.0, 1.0], [3.0, 4.0], [4.0, 3.0]]
    region = after(values, tags=[NO_REGION, 0, 1, NO_REGION], rules=small)
    assert region.index == 1
    assert region.front == (2, 3)


# ----------------------------------------------------------------- how long it is waited
@pytest.mark.parametrize(
    ("n_parameters", "patience"), [(2, 5), (5, 5), (9, 9), (20, 20), (50, 20)]
)
def test_as_many_failures_as_parameters_shrink_a_region(n_parameters, patience):
    space = Space(tuple(Float(f"x{i}", 0, 1) for i in range(n_parameters)))
    rules = TrustRegionRules()

    def scale_after(n_failures):
        return after([0.0] + [1.0] * n_failures, space=space, rules=rules).scale

    assert scale_after(patience - 1) == rules.first_scale
    assert scale_after(patience) == pytest.approx(rules.first_scale / rules.factor)
    assert scale_after(2 * patience) == pytest.approx(rules.first_scale / rules.factor**2)


def test_parameters_that_do_not_exist_at_the_centre_need_no_patience():
    space = Space(tuple(Float(f"x{i}", 0, 1) for i in range(12)))
    points = points_of(space)[:8].copy()
    points[:, 7:] = np.nan  # seven exist
    values, tags = np.array([0.0] + [1.0] * 7), np.zeros(8, np.int64)
    rules = TrustRegionRules()
    assert replay(points, values, tags, space, rules).scale < rules.first_scale


# ----------------------------------------------------------- parameters that may not exist
def test_the_ball_is_a_share_of_the_parameters_that_exist_at_the_centre():
    centre = np.array([0.0, np.nan, np.nan, 2.0, 1.0, np.nan])
    region = TrustRegion(centre=centre, scale=0.5)
    assert region.as_region(DISCRETE).radius == 2  # half of three, rounded up
    assert region.as_region(DISCRETE).half_width == 0.5
    nothing = TrustRegion(centre=np.full(6, np.nan), scale=0.5)
    assert nothing.as_region(DISCRETE).radius == 1
