"""Total effects are those of the definition, and a model finds them in a history."""

import itertools

import numpy as np
import pytest

from heat_plugins.insight import sobol
from heat_plugins.insight.sobol import importances, scaled, sobol_indices, total_effects
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.conditions import conditions_of
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)


def effects_of(space, function, seed=0):
    return total_effects(space, function, np.random.default_rng(seed))


# ------------------------------------------------------------------- of a given function
def table_of(space, function):
    """Return the values at every point of a finite space, an axis for each parameter."""
    values = function(np.array(list(itertools.product(*[p.levels() for p in space.parameters]))))
    return values.reshape([int(n) for n in space.n_levels])


def by_definition(space, function):
    """E[Var(f | all but i)] / Var(f), from every point of a finite space."""
    table = table_of(space, function)
    return np.array([table.var(axis=i).mean() for i in range(table.ndim)]) / table.var()


def first_by_definition(space, function):
    """Var(E[f | i]) / Var(f), from every point of a finite space."""
    table = table_of(space, function)
    others = [tuple(j for j in range(table.ndim) if j != i) for i in range(table.ndim)]
    return np.array([table.mean(axis=axes).var() for axes in others]) / table.var()


@pytest.mark.parametrize("seed", range(3))
def test_total_effects_are_those_of_the_definition(seed):
    space = Space(
        (
            Categorical("a", range(4)),
            Ordinal("b", range(2)),
            Integer("c", 0, 3),
            Integer("d", 1, 2),
        )
    )
    table = np.random.default_rng(seed).normal(size=(4, 2, 4, 2))

    def function(points):
        places = np.rint(points * [1, 1, 3, 1]).astype(int)
        return table[tuple(places.T)]

    first, total = sobol_indices(space, function, np.random.default_rng(seed))
    np.testing.assert_allclose(total, by_definition(space, function), rtol=1e-10)
    np.testing.assert_allclose(first, first_by_definition(space, function), rtol=1e-10)
    np.testing.assert_array_equal(effects_of(space, function, seed), total)


def test_total_effects_of_any_numbers_of_choices():
    space = Space(tuple(Categorical(f"x{i}", range(3 + i)) for i in range(3)))
    table = np.random.default_rng(0).normal(size=(3, 4, 5))

    def function(points):
        return table[tuple(points.astype(int).T)]

    np.testing.assert_allclose(
        effects_of(space, function), by_definition(space, function), atol=0.03
    )


@pytest.mark.parametrize(
    ("most_evaluations", "tolerance"),
    [(sobol.MOST_EVALUATIONS, 0.01), (sobol.FEW_EVALUATIONS, 0.02)],
)
def test_effects_of_ishigami(most_evaluations, tolerance):
    """The function sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1 on [-pi, pi]^4."""
    n_points = []
    space = Space(tuple(Float(f"x{i}", -np.pi, np.pi) for i in range(4)))

    def function(points):
        n_points.append(len(points))
        x1, x2, x3, _ = (np.pi * (2.0 * points - 1.0)).T
        return np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)

    first = 0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2
    second = 7.0**2 / 8.0
    both = 0.1**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = first + second + both
    rng = np.random.default_rng(0)
    found = sobol_indices(space, function, rng, None, most_evaluations)
    alone, total = np.array([first, second, 0, 0]), np.array([first + both, second, both, 0])
    np.testing.assert_allclose(found.first, alone / variance, atol=tolerance)
    np.testing.assert_allclose(found.total, total / variance, atol=tolerance)
    assert sum(n_points[1:]) <= most_evaluations


def test_a_parameter_counts_where_it_exists():
    """Parameter b exists under one of two choices of a: it has its effect in half of the space."""
    space = Space((Categorical("a", (0, 1)), Categorical("b", (0, 1))))
    conditions = conditions_of(space, {"b": ("a", [1])})

    def function(points):
        return np.nan_to_num(points[:, 1], nan=0.5)

    found = sobol_indices(space, function, np.random.default_rng(0), conditions)
    np.testing.assert_allclose(found.first, [0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.total, [0.5, 1.0], atol=1e-12)


MIXED = Space(
    (
        Categorical("colour", ("red", "green", "blue")),
        Ordinal("size", ("s", "m", "l")),
        Float("rate", 1e-4, 1.0, log=True),
        Integer("steps", 1, 100),
        Integer("units", 8, 512, log=True),
        Categorical("idle", (False, True)),
    )
)


def test_effects_that_add_up_have_total_effects_that_do():
    def function(points):
        return points @ [1.0, -2.0, 3.0, 1.0, 0.5, 0.0] + 10.0

    effects = effects_of(MIXED, function)
    assert effects.sum() == pytest.approx(1.0, abs=0.01)
    variances = [2.0 / 3.0, 4.0 * 2.0 / 3.0, 9.0 / 12.0]
    np.testing.assert_allclose(effects[:3] / effects[0], np.array(variances) * 1.5, rtol=1e-10)
    assert effects[5] == 0.0


def test_what_two_parameters_do_together_is_counted_for_both():
    space = Space(tuple(Categorical(name, (0, 1)) for name in "abc"))
    effects = effects_of(space, lambda points: (points[:, 0] != points[:, 1]).astype(float))
    np.testing.assert_allclose(effects, [1.0, 1.0, 0.0], atol=1e-12)


def test_values_count_as_often_as_they_are_drawn():
    """On a log scale those of an integer are not equally likely."""
    parameter = Integer("n", 1, 6, log=True)
    places, shares = sobol._places(parameter, np.random.default_rng(0))
    drawn = Space((parameter,)).sample(200_000, np.random.default_rng(1))[:, 0]
    np.testing.assert_allclose(places, parameter.levels())
    np.testing.assert_allclose(shares, [np.mean(drawn == p) for p in places], atol=0.005)
    many = Integer("n", 1, 1000, log=True)
    places, shares = sobol._places(many, np.random.default_rng(0))
    assert len(places) <= sobol.MOST_PLACES and shares.sum() == pytest.approx(1.0)
    drawn = Space((many,)).sample(200_000, np.random.default_rng(1))[:, 0]
    assert places @ shares == pytest.approx(drawn.mean(), abs=0.01)


def test_of_very_many_choices_some_stand_for_all():
    space = Space((Categorical("word", range(1000)), Categorical("flag", (0, 1))))
    n_points = []

    def function(points):
        n_points.append(len(points))
        return points[:, 0] / 1000.0 + points[:, 1]

    effects = effects_of(space, function)
    assert max(n_points) <= sobol.MOST_PLACES * sobol.N_BACKGROUND
    np.testing.assert_allclose(effects, np.array([1 / 12, 1 / 4]) * 3.0, atol=0.05)


def test_very_many_parameters_have_a_smaller_background():
    space = Space(tuple(Categorical(f"x{i}", (0, 1)) for i in range(800)))
    n_points = []

    def function(points):
        n_points.append(len(points))
        return points[:, 0] + points[:, 1]

    effects = effects_of(space, function)
    assert sum(n_points[1:]) <= sobol.MOST_EVALUATIONS
    np.testing.assert_allclose(effects[:2], 0.5, atol=0.05)
    assert np.all(effects[2:] == 0.0)


def test_more_parameters_than_the_sequence_has_dimensions(monkeypatch):
    monkeypatch.setattr(sobol.qmc.Sobol, "MAXDIM", 5)
    effects = effects_of(MIXED, lambda points: points[:, 0])
    np.testing.assert_allclose(effects, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=0.1)


def test_a_constant_has_no_effects():
    assert effects_of(MIXED, lambda points: np.full(len(points), 3.0)).tolist() == [0.0] * 6
    assert effects_of(Space(()), lambda points: np.ones(len(points))).shape == (0,)


# --------------------------------------------------------------------------- of a history
def objective(points):
    """Effects that add up, and one pair that does not."""
    colour = np.array([0.0, 1.0, 3.0])[points[:, 0].astype(int)]
    return colour + 2.0 * points[:, 1] * points[:, 2]


def history(n, seed=0):
    points = MIXED.sample(n, np.random.default_rng(seed))
    return points, objective(points)


def found(structure, points, values, seed=0):
    model = Model(structure=structure)
    return importances(MIXED, model, points, values, np.random.default_rng(seed))


TRUE = effects_of(MIXED, objective)


@pytest.mark.parametrize(
    ("structure", "tolerance"),
    [(None, 0.03), (Additive(), 0.03), (InteractionOrders(2), 0.03), ("auto", 0.03)],
    ids=["product", "additive", "pairs", "auto"],
)
def test_a_model_finds_the_effects(structure, tolerance):
    np.testing.assert_allclose(found(structure, *history(60)), TRUE, atol=tolerance)


def test_a_structure_without_interactions_finds_none():
    effects = found(Additive(remainder=False), *history(60))
    assert effects.sum() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("structure", [RandomDecomposition(), PermutationInvariant(["a", "b"])])
def test_other_structures_have_importances_too(structure):
    space = Space(tuple(Categorical(name, range(3)) for name in "abc"))
    points = space.sample(27, np.random.default_rng(0))
    values = points[:, 0] + points[:, 1]
    effects = importances(
        space, Model(structure=structure), points, values, np.random.default_rng(0)
    )
    assert effects[2] < 0.05 < 0.3 < min(effects[:2])


def test_trials_near_the_optimum_do_not_hide_the_rest():
    """A good sampler leaves most of its trials there; the few others show the effects."""
    points, values = history(300)
    best = np.argsort(values)[:60]
    some = np.concatenate([np.arange(15), best])
    effects = found(None, points[some], values[some])
    np.testing.assert_allclose(effects, TRUE, atol=0.15)


def test_the_sign_and_the_unit_do_not_matter():
    points, values = history(40)
    effects = found(None, points, values)
    np.testing.assert_allclose(found(None, points, -values), effects, rtol=1e-3, atol=1e-6)
    rescaled = found(None, points, 1.0 - 1e-3 * values)
    np.testing.assert_allclose(rescaled, effects, rtol=1e-3, atol=1e-6)


def test_the_same_numbers_every_time_and_nearly_the_same_with_another_seed():
    points, values = history(40)
    effects = found(None, points, values)
    assert effects.tolist() == found(None, points, values).tolist()
    np.testing.assert_allclose(found(None, points, values, seed=1), effects, atol=0.02)


def test_of_very_many_trials_some_are_taken_from_everywhere(monkeypatch):
    monkeypatch.setattr(sobol, "MOST_TRIALS", 60)
    points, values = history(1000)
    order = np.argsort(values)  # neither the first nor the last alone have seen everything
    effects = found(None, points[order], values[order])
    np.testing.assert_allclose(effects, TRUE, atol=0.05)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_trials_give_numbers_all_the_same(n):
    effects = found(None, *history(n))
    assert np.all(effects >= 0.0) and np.all(effects <= 1.0)


def test_equal_values_have_no_importance():
    points, _ = history(10)
    assert found(None, points, np.full(10, 7.0)).tolist() == [0.0] * 6


# ------------------------------------------------------------------------- scaled values
def test_scaled_values_have_mean_zero_and_deviation_one():
    values = np.random.default_rng(0).normal(5.0, 3.0, 100)
    np.testing.assert_allclose(scaled(values), (values - values.mean()) / values.std())
    np.testing.assert_allclose(scaled(-values), -scaled(values))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_outliers_are_pulled_in_on_both_sides(side):
    values = side * np.append(np.linspace(0.0, 1.0, 50), 1e9)
    among = scaled(values)[:-1]
    assert np.ptp(among) > 2.0
    assert side * scaled(values)[-1] > np.max(side * among)


@pytest.mark.parametrize(
    ("values", "deviation"),
    [
        ([3.0], 0.0),
        ([0.0, 0.0], 0.0),
        ([0.1 + 0.2, 0.3], 0.0),
        ([1.0, 1.0 + 1e-12, 1.0], 1.0),
        ([1e308, -1e308, 0.0], 1.0),
        ([1e-300, 0.0], 1.0),
    ],
)
def test_strange_values_are_scaled_to_finite_ones(values, deviation):
    assert scaled(np.array(values)).std() == pytest.approx(deviation)
