"""Choices and numbers together, against slow definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from heat_plugins.benchmarks.problems import mixed
from heat_plugins.benchmarks.problems.mixed import FEATURES, NUMBERS, SWITCHES, ackley53, svm
from heat_plugins.benchmarks.problems.tasks import Choice, first_points

CHECKED = settings(deadline=None, max_examples=50)


# -------------------------------------------------------------------------- Ackley
def slow_ackley53(switches, numbers):
    point = [*switches, *numbers]
    squares = sum(x * x for x in point) / 53
    waves = sum(math.cos(2 * math.pi * x) for x in point) / 53
    return 20 + math.e - 20 * math.exp(-0.2 * math.sqrt(squares)) - math.exp(waves)


def params_of(switches, numbers):
    return dict(zip(SWITCHES + NUMBERS, [*switches, *numbers], strict=True))


POINTS = st.tuples(
    st.lists(st.integers(0, 1), min_size=50, max_size=50),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
)


def moved_to():
    """Return where relocation moves the optimum: switches and numbers."""
    rng = RandomState(2024)
    return rng.randint(0, 2, size=50), rng.uniform(-1.0, 1.0, size=3)


@given(point=POINTS)
@CHECKED
def test_ackley_is_that_of_53_variables(point):
    switches, numbers = point
    value = ackley53().evaluate(params_of(switches, numbers)).values[0]
    assert value == pytest.approx(slow_ackley53(switches, numbers), abs=1e-12)
    place, middle = moved_to()
    moved = ackley53(relocated=True).evaluate(params_of(switches, numbers)).values[0]
    flipped = [switch ^ bit for switch, bit in zip(switches, place.tolist(), strict=True)]
    assert moved == pytest.approx(slow_ackley53(flipped, numbers - middle), abs=1e-12)


def test_relocation_keeps_the_optimum_and_puts_it_within_the_range():
    switches, numbers = moved_to()
    assert np.all(np.abs(numbers) < 1.0)
    assert 10 < switches.sum() < 40
    plain, moved = ackley53(), ackley53(relocated=True)
    zero = plain.evaluate(params_of([0] * 50, [0.0] * 3)).values[0]
    assert moved.evaluate(params_of(switches.tolist(), numbers.tolist())).values[0] == zero
    assert zero == pytest.approx(plain.best_known, abs=1e-12)
    assert moved.best_known == plain.best_known == 0.0
    near = params_of(switches.tolist(), numbers.tolist()) | {"number_1": numbers[1] + 0.01}
    assert moved.evaluate(near).values[0] > 1e-3


def test_a_switch_costs_the_same_wherever_it_is():
    task = ackley53()
    at_best = params_of([0] * 50, [0.0] * 3)
    costs = {round(task.evaluate(at_best | {name: 1}).values[0], 12) for name in SWITCHES}
    assert len(costs) == 1


# ---------------------------------------------------------- a support vector machine
def test_nothing_selected_is_predicted_by_the_mean_of_the_others():
    task = svm()
    _, targets, folds = mixed._patients()
    squares = []
    for fitted, tested in folds:
        squares += [(targets[i] - sum(targets[fitted]) / len(fitted)) ** 2 for i in tested]
    numbers = {"C": 1.0, "epsilon": 0.1, "gamma": 0.1}
    value = task.evaluate(dict.fromkeys(FEATURES, 0) | numbers).values[0]
    assert value == pytest.approx(math.sqrt(sum(squares) / 200), rel=1e-12)
    assert value == pytest.approx(1.0, abs=0.02)
    other = dict.fromkeys(FEATURES, 0) | {"C": 9.0, "epsilon": 0.5, "gamma": 1.0}
    assert task.evaluate(other).values[0] == value


def test_the_error_is_that_of_predictions_for_patients_left_out():
    linear = pytest.importorskip("sklearn.svm")
    selection = pytest.importorskip("sklearn.model_selection")
    task = svm()
    (params,) = first_points(task, 1, 5)
    inputs, targets, folds = mixed._patients()
    used = [i for i, name in enumerate(FEATURES) if params[name]]
    machine = linear.SVR(C=params["C"], epsilon=params["epsilon"], gamma=params["gamma"])
    predicted = selection.cross_val_predict(machine, inputs[:, used], targets, cv=[*folds])
    expected = math.sqrt(np.mean((predicted - targets) ** 2))
    assert task.evaluate(params).values[0] == pytest.approx(expected, rel=1e-9)


def test_half_of_the_features_are_noise_that_looks_like_the_others():
    inputs, targets, folds = mixed._patients()
    assert inputs.shape == (200, 20)
    np.testing.assert_allclose(inputs.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(inputs.std(axis=0), 1.0)
    np.testing.assert_allclose(np.sort(inputs[:, :10], axis=0), np.sort(inputs[:, 10:], axis=0))
    related = np.abs(inputs.T @ targets) / 200
    assert related[:10].max() > 0.5
    assert related[10:].max() < 0.25
    assert sorted(np.concatenate([tested for _, tested in folds])) == [*range(200)]


def test_measurements_are_worth_more_than_noise_and_noise_costs():
    task = svm()
    numbers = {"C": 1.0, "epsilon": 0.3, "gamma": 0.03}
    measured = dict.fromkeys(FEATURES[:10], 1) | dict.fromkeys(FEATURES[10:], 0)
    good = task.evaluate(measured | numbers).values[0]
    assert good + 0.02 < task.evaluate(dict.fromkeys(FEATURES, 1) | numbers).values[0]
    noise = {name: 1 - used for name, used in measured.items()}
    assert task.evaluate(noise | numbers).values[0] > 0.95
    assert {p.name for p in task.parameters if isinstance(p, Choice)} == {*FEATURES}
