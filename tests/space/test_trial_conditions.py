"""What failed trials teach about conditions, and how many points a conditional space has."""

import itertools

import numpy as np
import pytest

from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.conditions import conditions_of
from heat_plugins.space.trial_conditions import avoid_known_failures, conditions_from, points_up_to

NAN = np.nan
SPACE = Space(
    (Categorical("model", ("svm", "tree", "gpu")), Float("penalty", 0, 1), Integer("depth", 0, 9))
)
COMPLETE = np.array([[0, 0.5, NAN], [1, NAN, 1.0], [0, 0.1, NAN], [1, NAN, 0.0]])
EVERYWHERE = np.array([[0, 0.3, 0.0], [1, 0.3, 0.0], [2, 0.3, 0.0]])


def active(failed):
    conditions = conditions_from(SPACE, COMPLETE, np.array(failed).reshape(-1, 3))
    return conditions.active(EVERYWHERE)[:, 1:].tolist()


def test_a_branch_that_only_failed_is_known_from_its_failures():
    found = active([[2, NAN, NAN]] * 2)
    assert found == [[True, False], [False, True], [False, False]]


def test_a_branch_that_failed_after_asking_is_known_too():
    found = active([[2, 0.5, NAN], [2, 0.7, NAN]])
    assert found == [[True, False], [False, True], [True, False]]


def test_a_branch_that_failed_after_asking_for_everything_is_known_too():
    space = Space((Categorical("model", "abc"), Categorical("kernel", "pqr")))
    complete, failed = np.array([[1.0, NAN]] * 2), np.array([[0.0, 2.0], [2.0, NAN]])
    conditions = conditions_from(space, complete, failed)
    candidates = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    assert conditions.active(candidates)[:, 1].tolist() == [True, False, False]


@pytest.mark.parametrize("n", [1, 5, 50])
def test_what_was_completed_is_not_taught_by_trials_that_failed_half_way(n):
    found = active([[0, NAN, NAN]] * n)
    assert found[:2] == [[True, False], [False, True]]


def test_once_a_trial_failed_by_accident_failures_teach_nothing():
    """The tree has a depth, as complete trials show; so the third branch may have one, too."""
    by_accident, of_third = [1, NAN, NAN], [2, NAN, NAN]
    assert active([of_third, by_accident]) == active([])
    assert active([of_third]) != active([])


def test_failures_alone_do_not_make_a_space_conditional():
    space = Space((Categorical("a", "xy"), Categorical("b", "xy")))
    complete = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert conditions_from(space, complete, np.array([[0.0, NAN], [NAN, 1.0]])) is None
    assert conditions_from(space, complete, np.empty((0, 2))) is None


def test_every_point_of_a_conditional_space_is_listed_once():
    space = Space(
        (
            Integer("depth", 0, 2),
            Categorical("model", "ab"),
            Categorical("kernel", "pqr"),
            Categorical("degree", "12"),
        )
    )
    parents = {"kernel": ("model", "a"), "depth": ("model", "b"), "degree": ("kernel", "q")}
    conditions = conditions_of(space, parents)
    product = np.array(list(itertools.product(*[p.levels() for p in space.parameters])))
    expected = {tuple(row) for row in np.nan_to_num(conditions.deactivate(product), nan=-1.0)}
    found = points_up_to(space, conditions, 7)
    assert found is not None
    assert {tuple(row) for row in np.nan_to_num(found, nan=-1.0)} == expected
    assert len(found) == len(expected) == 7
    assert points_up_to(space, conditions, 6) is None


def test_points_of_a_continuous_parameter_cannot_be_listed():
    conditions = conditions_of(SPACE, {"penalty": ("model", ["svm"])})
    assert points_up_to(SPACE, conditions, 10**9) is None


def test_a_continuous_parameter_that_never_exists_does_not_count():
    space = Space((Categorical("model", "ab"), Float("penalty", 0, 1)))
    conditions = conditions_from(space, np.array([[0.0, NAN], [1.0, NAN]]), np.empty((0, 2)))
    found = points_up_to(space, conditions, 10)
    np.testing.assert_array_equal(found[:, 0], [0.0, 1.0])
    assert np.isnan(found[:, 1]).all()


# ------------------------------------------------------- what begins like a trial that failed
PLAIN = Space((Categorical("a", "xyz"), Float("u", 0, 1), Categorical("b", "xyz")))
HALF_WAY = np.array([[1.0, 0.25, NAN]])


def test_a_point_that_agrees_with_all_that_a_failed_trial_asked_for_is_refused():
    complete = np.array([[0.0, 0.5, 0.0], [1.0, 0.6, 1.0]])
    rule = avoid_known_failures(PLAIN, complete, HALF_WAY, None)
    candidates = np.array([[1, 0.25, 0], [1, 0.25 + 1e-9, 2], [1, 0.26, 0], [0, 0.25, 0]])
    assert rule(candidates).tolist() == [False, False, True, True]


def test_trials_that_asked_for_everything_need_no_rule():
    assert avoid_known_failures(PLAIN, np.zeros((1, 3)), np.ones((2, 3)), None) is None
    assert avoid_known_failures(PLAIN, np.zeros((1, 3)), np.empty((0, 3)), None) is None
    conditions = conditions_from(SPACE, COMPLETE, np.array([[2, NAN, NAN]]))
    assert avoid_known_failures(SPACE, COMPLETE, np.array([[2, NAN, NAN]]), conditions) is None


def test_a_choice_is_not_lost_where_trials_fail_by_accident():
    complete = np.array([[0.0, 0.5, 0.0]])
    first, accident = [1.0, NAN, NAN], [0.0, NAN, NAN]
    candidates = np.array([[1.0, 0.3, 0.0]])
    assert not avoid_known_failures(PLAIN, complete, np.array([first]), None)(candidates)[0]
    assert avoid_known_failures(PLAIN, complete, np.array([first, accident]), None) is None


def test_what_failed_three_times_and_never_ended_well_is_no_accident():
    complete = np.array([[0.0, 0.5, 0.0]])
    always, accident = [1.0, NAN, NAN], [0.0, NAN, NAN]
    candidates = np.array([[1.0, 0.3, 0.0], [0.0, 0.3, 0.0], [2.0, 0.3, 0.0]])
    twice = np.array([always, accident] * 2)
    assert avoid_known_failures(PLAIN, complete, twice, None) is None
    rule = avoid_known_failures(PLAIN, complete, np.array([always, accident] * 3), None)
    assert rule(candidates).tolist() == [False, True, True]
