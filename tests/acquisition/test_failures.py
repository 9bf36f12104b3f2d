"""Where trials fail, and that nothing is lost where they fail anywhere."""

import numpy as np
import pytest

import heat_plugins.suggest as suggest_module
from heat_plugins.acquisition.feasibility import log_success
from heat_plugins.gp.failure_model import fit_failures
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget
from heat_plugins.history import History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model
from heat_plugins.suggest import Problem, Settings, suggest

SPACE = Space(
    (Categorical("a", "xyz"), Categorical("b", "xyz"), Categorical("c", "xyz"), Float("u", 0, 1))
)


def history_of(points, has_failed):
    values = points[~has_failed].sum(axis=1)
    after = np.cumsum(~has_failed)[has_failed]
    return History(
        points[~has_failed],
        values,
        np.full(len(values), -1),
        points[:0],
        points[has_failed],
        failed_after=after,
    )


def model_of(history):
    return fit_failures(KernelBuilder(SPACE, Model()), history, ModelBudget(), FitCache())


def probability(history, points):
    return np.exp(log_success(model_of(history))(points))


def test_without_failures_there_is_no_model():
    points = SPACE.sample(10, np.random.default_rng(0))
    history = history_of(points, np.zeros(10, dtype=bool))
    assert log_success(model_of(history)) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_choice_that_always_fails_is_recognised(seed):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(40, rng)
    history = history_of(points, points[:, 1] == 2.0)
    new = SPACE.sample(200, rng)
    found = probability(history, new)
    assert np.median(found[new[:, 1] == 2.0]) < 0.05
    assert np.median(found[new[:, 1] != 2.0]) > 0.95
    assert not model_of(history).is_explained_by_chance


@pytest.mark.parametrize("seed", range(4))
def test_failures_that_depend_on_nothing_make_no_difference(seed):
    """The probability is nearly the same everywhere, so it moves no maximum."""
    rng = np.random.default_rng(seed)
    points = SPACE.sample(90, rng)
    history = history_of(points, np.arange(90) % 3 == 1)
    found = np.log(probability(history, SPACE.sample(200, rng)))
    assert np.quantile(found, 0.9) - np.quantile(found, 0.1) < 0.7
    assert model_of(history).is_explained_by_chance


@pytest.mark.parametrize("by_chance", [False, True])
def test_failures_by_chance_leave_what_is_near_them_unknown(by_chance, monkeypatch):
    """Points that failed lower the variance around them only where that is a lesson."""
    rng = np.random.default_rng(0)
    points = SPACE.sample(60, rng)
    history = history_of(points, np.arange(60) % 3 == 1 if by_chance else points[:, 1] == 2.0)
    without_value = []
    original = suggest_module.fit_outcome

    def fit_outcome(*args, **kwargs):
        without_value.append(len(kwargs["without_value"]))
        return original(*args, **kwargs)

    monkeypatch.setattr(suggest_module, "fit_outcome", fit_outcome)
    found = suggest(Problem(SPACE), history, Settings(), rng)
    assert without_value == [0 if by_chance else len(history.failed)]
    assert not np.any(np.all(np.isclose(history.failed, found.point), axis=1))


def test_all_points_come_in_the_order_in_which_they_ended():
    rng = np.random.default_rng(0)
    points = SPACE.sample(30, rng)
    has_failed = rng.random(30) < 0.4
    found, without_value = history_of(points, has_failed).in_order_of_ending()
    np.testing.assert_array_equal(found, points)
    np.testing.assert_array_equal(without_value, has_failed)


def test_an_unknown_order_puts_failures_last():
    rng = np.random.default_rng(0)
    points = SPACE.sample(5, rng)
    history = History.of(SPACE, points[:3], np.zeros(3), failed=points[3:])
    found, without_value = history.in_order_of_ending()
    np.testing.assert_array_equal(found, points)
    np.testing.assert_array_equal(without_value, [False, False, False, True, True])


@pytest.mark.parametrize("seed", range(3))
def test_suggestions_keep_away_from_what_fails(seed):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(40, rng)
    has_failed = points[:, 0] == 0.0  # where the values would be best
    history = history_of(points, has_failed)
    for turn in range(5):
        suggestion = suggest(
            Problem(SPACE), history, Settings(), np.random.default_rng([seed, turn])
        )
        assert suggestion.point[0] != 0.0


def test_without_a_success_points_still_come():
    points = SPACE.sample(15, np.random.default_rng(0))
    history = history_of(points, np.ones(15, dtype=bool))
    suggestion = suggest(Problem(SPACE), history, Settings(), np.random.default_rng(0))
    assert suggestion.is_new and np.isnan(suggestion.acquisition)
