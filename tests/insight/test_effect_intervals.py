"""Effects, pairs and what is not known about them, against slow definitions."""

import numpy as np
import pytest

from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.insight.effect_intervals import effects_of, pair_shares, pair_table, places_of
from heat_plugins.insight.slices import slice_points
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.conditions import conditions_of
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive

SPACE = Space(
    (Categorical("a", "xyz"), Categorical("b", "pq"), Float("u", 0.0, 1.0), Integer("n", 1, 9))
)


def surrogate_of(space, n, structure=None, seed=0):
    """Return a surrogate of random values with some hyperparameters."""
    rng = np.random.default_rng(seed)
    builder = KernelBuilder(space, Model(structure=structure))
    kernel = builder.kernel(builder.model.combination, n)
    points = space.sample(n, rng)
    theta = kernel.start(0.5)
    return Surrogate(kernel, Hyperparameters(theta, np.log(0.05)), points, rng.normal(size=n))


@pytest.mark.parametrize("structure", [None, Additive()], ids=["product", "sum"])
def test_a_sum_of_values_is_gaussian_with_the_covariances_of_the_posterior(structure):
    surrogate = surrogate_of(SPACE, 12, structure)
    rng = np.random.default_rng(1)
    points, weights = SPACE.sample(9, rng), rng.normal(size=9)
    mean, variance = surrogate.of_sum(points, weights)
    assert mean == pytest.approx(weights @ surrogate.mean(points), abs=1e-10)
    covariances = surrogate.covariance_with(points)(points)
    assert variance == pytest.approx(weights @ covariances @ weights, abs=1e-10)
    # One point alone: its own posterior.
    mean, variance = surrogate.of_sum(points[:1], np.ones(1))
    means, variances = surrogate.posterior(points[:1])
    assert (mean, variance) == pytest.approx((means[0], variances[0]), abs=1e-10)


def test_effects_are_means_over_the_others():
    surrogate = surrogate_of(SPACE, 15)
    effects = effects_of(SPACE, surrogate, 0, np.arange(3.0))
    # Without the other values of the parameter: the background has as many of each.
    differences = [effect.mean - effects[0].mean for effect in effects]
    rng = np.random.default_rng(2)
    others = SPACE.sample(20_000, rng)
    means = []
    for code in range(3):
        others[:, 0] = code
        means.append(surrogate.mean(others).mean())
    assert differences == pytest.approx([m - means[0] for m in means], abs=0.05)
    assert all(effect.deviation > 0.0 for effect in effects)


def test_what_is_known_better_has_shorter_intervals():
    few, many = (
        effects_of(SPACE, surrogate_of(SPACE, n, Additive()), 1, np.arange(2.0)) for n in (4, 200)
    )
    assert many[0].deviation < 0.5 * few[0].deviation


def test_tables_of_pairs_are_means_over_the_others():
    def function(points):
        return points[:, 0] * points[:, 2] + 10.0 * points[:, 1] + points[:, 3]

    places = np.arange(3.0), np.linspace(0.0, 1.0, 4)
    table = pair_table(SPACE, function, (0, 2), places)
    rest = table[0, 0]  # the mean of what the others do
    assert table - rest == pytest.approx(places[0][:, None] * places[1], abs=1e-10)


def test_only_what_two_do_together_is_an_interaction():
    space = Space(tuple(Categorical(name, (-1, 1)) for name in "abcd"))

    def function(points):
        signs = 2.0 * points - 1.0
        return signs[:, 0] * signs[:, 1] + signs[:, 2] + 0.5 * signs[:, 3]

    shares = {(p.first, p.second): p.share for p in pair_shares(space, function, range(4))}
    assert shares.pop((0, 1)) == pytest.approx(1.0 / 2.25, abs=1e-10)
    assert max(shares.values()) == pytest.approx(0.0, abs=1e-10)
    ranked = pair_shares(space, function, range(4))
    assert (ranked[0].first, ranked[0].second) == (0, 1)


def test_where_a_parameter_does_not_exist_there_is_nothing():
    space = Space((Categorical("kind", "xy"), Float("rate", 0.0, 1.0)))
    conditions = conditions_of(space, {"rate": ("kind", "x")})

    def function(points):
        return np.nan_to_num(points[:, 1])

    places = np.arange(2.0), np.array([0.0, 1.0])
    table = pair_table(space, function, (0, 1), places, conditions)
    assert table[0] == pytest.approx([0.0, 1.0]) and np.isnan(table[1]).all()
    assert pair_shares(space, function, [0, 1], conditions)[0].share == 0.0


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Categorical("c", "abc"), [0, 1, 2]),
        (Integer("n", 1, 5), [0.0, 0.25, 0.5, 0.75, 1.0]),
        (Float("u", 0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0]),
        (Categorical("many", range(9)), [0, 2, 4, 6, 8]),
    ],
)
def test_places_stand_for_all_values(parameter, expected):
    assert places_of(parameter, 5).tolist() == expected


def test_slices_change_one_parameter_and_what_depends_on_it():
    space = Space(
        (Categorical("kind", "xyz"), Float("rate", 0.0, 1.0), Categorical("of_z", "abcde"))
    )
    conditions = conditions_of(space, {"rate": ("kind", "xy"), "of_z": ("kind", "z")})
    centre = np.array([0.0, 0.7, np.nan])
    points = slice_points(space, centre, 0, np.arange(3.0), conditions)
    np.testing.assert_array_equal(points, [[0, 0.7, np.nan], [1, 0.7, np.nan], [2, np.nan, 2]])
    points = slice_points(space, centre, 1, np.array([0.0, 1.0]), conditions)
    np.testing.assert_array_equal(points, [[0, 0.0, np.nan], [0, 1.0, np.nan]])
