"""What is told of the course of a search."""

import math

import numpy as np
import pytest

from heat_plugins.acquisition.pareto import hypervolume, reference_point
from heat_plugins.insight.course import best_so_far, hypervolume_so_far, lanes_of
from heat_plugins.insight.study_data import ObjectiveFacts, TrialFacts


def trials_of(values, **facts):
    return [TrialFacts(i, "complete", (value,), **facts) for i, value in enumerate(values)]


def test_the_best_so_far_is_that_of_feasible_complete_trials():
    trials = [
        TrialFacts(0, "failed"),
        TrialFacts(1, "complete", (3.0,)),
        TrialFacts(2, "complete", (1.0,), is_feasible=False),
        TrialFacts(3, "pruned", (0.0,)),
        TrialFacts(4, "complete", (4.0,)),
        TrialFacts(5, "complete", (2.0,)),
    ]
    low = best_so_far(trials, ObjectiveFacts("y"))
    np.testing.assert_array_equal(low, [math.nan, 3, 3, 3, 3, 2])
    high = best_so_far(trials, ObjectiveFacts("y", is_maximised=True))
    np.testing.assert_array_equal(high, [math.nan, 3, 3, 3, 4, 4])


def test_the_hypervolume_so_far_is_that_of_the_trials_so_far():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2))
    values[3, 0] = math.inf
    objectives = (ObjectiveFacts("y"), ObjectiveFacts("z", is_maximised=True))
    trials = [TrialFacts(i, "complete", tuple(row)) for i, row in enumerate(values.tolist())]
    trials.insert(4, TrialFacts(12, "failed"))
    found = hypervolume_so_far(trials, objectives)
    minimised = values * [1.0, -1.0]
    reference = reference_point(minimised)
    expected = [hypervolume(minimised[: n + 1], reference) for n in range(12)]
    assert np.delete(found, 4) == pytest.approx(expected, abs=1e-10)
    assert found[4] == found[3]


def test_trials_without_a_worker_get_as_many_lanes_as_ran_at_once():
    times = [(0.0, 2.0), (1.0, 3.0), (2.0, 4.0), (2.5, 3.0), (math.nan, 9.0)]
    trials = [TrialFacts(i, "complete", (0.0,), *times[i]) for i in range(5)]
    lanes = lanes_of(trials)
    assert lanes.of_trial == [0, 1, 0, 2, None]
    assert len(lanes.names) == lanes.n_unnamed == 3


def test_workers_have_lanes_of_their_own():
    trials = [
        TrialFacts(0, "complete", (0.0,), 0.0, 1.0, worker="b"),
        TrialFacts(1, "complete", (0.0,), 0.0, 1.0, worker="a"),
        TrialFacts(2, "complete", (0.0,), 0.0, 1.0),
    ]
    lanes = lanes_of(trials)
    assert lanes.of_trial == [1, 0, 2]
    assert lanes.names[:2] == ["a", "b"] and lanes.n_unnamed == 1
