"""The models of a study, whatever its host: units, the best trial, success and the front."""

import numpy as np
import pytest

from heat_plugins.history import History
from heat_plugins.insight.expected_front import expected_front
from heat_plugins.insight.study_data import ObjectiveFacts, StudyData
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.insight.success import SuccessProbability
from heat_plugins.settings import Settings
from heat_plugins.space import Categorical, Float, Space

SPACE = Space((Categorical("a", "xyz"), Float("u", 0.0, 1.0), Categorical("b", "pq")))


def model_of(values_of, n=40, signs=(1.0,), constraint_of=None, fails=None, allowed=None):
    """Return the models of a study of random points; values are minimised."""
    points = SPACE.sample(n, np.random.default_rng(0))
    failed = np.zeros(n, dtype=bool) if fails is None else fails(points)
    known = points[~failed]
    history = History.of(
        SPACE,
        known,
        values_of(known),
        failed=points[failed],
        constraints=None if constraint_of is None else constraint_of(known)[:, None],
    )
    return StudyModel(
        StudyData(
            space=SPACE,
            history=history,
            numbers=tuple(np.flatnonzero(~failed).tolist()),
            objectives=tuple(ObjectiveFacts(f"y{i}", sign < 0) for i, sign in enumerate(signs)),
            constraints=("limit",) if constraint_of else (),
            trials=(),
            settings=Settings(),
            failure_space=SPACE,
            failure_history=history,
            allowed=allowed,
        )
    )


def value(points):
    return 5.0 + 3.0 * (points[:, 0] == 1.0) + 2.0 * points[:, 1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_predictions_are_in_the_units_of_users(sign):
    model = model_of(value, signs=[sign])
    points = SPACE.sample(30, np.random.default_rng(1))
    for each in (model.objective(0), model.everywhere(0)):
        assert each is not None
        mean, deviation = each.posterior(points)
        assert mean == pytest.approx(sign * value(points), abs=0.3)
        assert mean == pytest.approx(each.mean(points), abs=1e-9)
        assert np.all(deviation >= 0.0)
    assert model.worst_learnt(0) is None


def test_the_value_that_bad_ones_count_as_is_told():
    def with_outlier(points):
        return np.where((points[:, 2] == 1.0) & (points[:, 0] == 2.0), 1e6, value(points))

    worst = model_of(with_outlier).worst_learnt(0)
    assert worst is not None and 10.0 < worst < 100.0
    assert model_of(with_outlier, signs=[-1.0]).worst_learnt(0) == pytest.approx(-worst)


def test_the_best_trial_keeps_its_constraints():
    model = model_of(value, constraint_of=lambda points: 0.5 - points[:, 1])
    points, values = model.data.history.points, model.data.history.values
    kept = points[:, 1] >= 0.5
    assert model.best == np.flatnonzero(kept)[np.argmin(values[kept])]
    np.testing.assert_array_equal(model.is_feasible, kept)
    assert set(model.front) == {model.best}


def test_success_is_the_product_of_not_failing_and_keeping_constraints():
    model = model_of(
        value,
        80,
        constraint_of=lambda points: points[:, 1] - 0.5,
        fails=lambda points: points[:, 0] == 2.0,
    )
    success = SuccessProbability(model)
    assert success.has_failures and success.has_constraints
    points = np.array([[0.0, 0.1, 0.0], [0.0, 0.9, 0.0], [2.0, 0.1, 0.0], [1.0, 0.2, 1.0]])
    found = success(points)
    assert found[[0, 3]] == pytest.approx(1.0, abs=0.1)
    assert found[[1, 2]] == pytest.approx(0.0, abs=0.1)
    np.testing.assert_array_equal(success.of_modelled(points), found)
    shares = success.shares()
    assert shares[2] < 0.05 < min(shares[:2])


def test_without_failures_everything_succeeds():
    success = SuccessProbability(model_of(value))
    assert not success.is_known
    assert success.of_modelled(SPACE.sample(3, np.random.default_rng(0))).tolist() == [1.0] * 3


def two_values(points):
    return np.column_stack([points[:, 1], (1.0 - points[:, 1]) ** 2 + (points[:, 0] != 1.0)])


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0)])
def test_the_expected_front_is_new_allowed_and_beyond_the_trials(signs):
    model = model_of(
        two_values, 12, signs=signs, allowed=lambda points: np.asarray(points[:, 2] == 0.0)
    )
    found = expected_front(model)
    assert len(found.points) > 0
    means = found.means * signs
    reached = model.data.history.objectives[model.front]
    assert not np.any(np.all(reached[None] <= means[:, None], axis=2))
    assert not np.any(np.all(means[None] < means[:, None], axis=2))  # nor by each other
    assert np.all(found.points[:, 2] == 0.0)
    tried = {tuple(point) for point in model.data.history.points}
    assert not tried & {tuple(point) for point in found.points}
    truth = two_values(found.points)
    assert np.abs(truth - means).mean() < 0.3
