"""Measurements whose noise is known: how far they are believed, and what is learnt beside it."""

import numpy as np
import pytest
from scipy import optimize

from heat_plugins.gp.exact_gp import (
    DETERMINISTIC_NOISE,
    Hyperparameters,
    NegativeLogDensity,
    Surrogate,
    fit,
)
from heat_plugins.gp.fit import FitCache, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcome_transform import standardise, standardise_noise
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model
from heat_plugins.suggest import History, Problem, Settings, suggest

SPACE = Space((Categorical("c", "abc"), Float("x", 0, 1), Float("y", 0, 1)))
THETA = np.array([-1.0, 0.0, 0.0, 0.0])


def smooth(points):
    return points[:, 0] + np.cos(3.0 * points[:, 1]) - points[:, 2]


def some_data(n=20, seed=0):
    points = SPACE.sample(n, np.random.default_rng(seed))
    return points, standardise(smooth(points))


def outcome_of(points, values, noise, **options):
    data = OutcomeData(points, values, noise, **{"deterministic": False, **options})
    return fit_outcome(KernelBuilder(SPACE, Model()), data, ModelBudget(100, 100), FitCache())


# ----------------------------------------------------------------------- the posterior
def test_known_noise_stands_on_the_diagonal():
    points, values = some_data()
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    known = np.linspace(0.0, 2.0, len(points))
    known[3] = np.nan
    hyperparameters = Hyperparameters(THETA, np.log(0.01))
    surrogate = Surrogate(kernel, hyperparameters, points, values, known_noise=known)
    matrix = kernel.matrix(THETA, kernel.prepare(points))
    matrix += np.diag(0.01 + np.nan_to_num(known))
    anywhere = SPACE.sample(7, np.random.default_rng(1))
    cross = kernel.cross_covariance(THETA, points)(anywhere)
    expected = cross @ np.linalg.solve(matrix, values)
    np.testing.assert_allclose(surrogate.mean(anywhere), expected, atol=1e-10)


def test_no_known_noise_is_none():
    points, values = some_data()
    kernel, hyperparameters = (
        DistanceKernel(FeatureMap.of(SPACE)),
        Hyperparameters(THETA, np.log(0.01)),
    )
    plain = Surrogate(kernel, hyperparameters, points, values)
    for nothing in (np.zeros(len(points)), np.full(len(points), np.nan)):
        same = Surrogate(kernel, hyperparameters, points, values, known_noise=nothing)
        np.testing.assert_array_equal(plain.posterior(points), same.posterior(points))


def test_a_noisy_value_far_off_moves_the_mean_hardly_and_an_exact_one_does():
    points, values = some_data()
    kernel, hyperparameters = (
        DistanceKernel(FeatureMap.of(SPACE)),
        Hyperparameters(THETA, np.log(1e-4)),
    )
    here = points[-1:]
    without = Surrogate(kernel, hyperparameters, points[:-1], values[:-1]).mean(here)[0]
    far_off = values.copy()
    far_off[-1] = without - 5.0

    def mean_with(variance):
        noise = np.full(len(points), 1e-4)
        noise[-1] = variance
        return Surrogate(kernel, hyperparameters, points, far_off, known_noise=noise).mean(here)[0]

    assert abs(mean_with(1e3) - without) < 0.05
    assert abs(mean_with(1e-6) - far_off[-1]) < 0.2
    means = [mean_with(variance) for variance in (1e-4, 1e-2, 1.0, 1e2)]
    assert np.all(np.diff(means) > 0.0)


def test_replicates_count_as_their_average():
    """Three measurements of variance v are one of variance v / 3; nothing else changes."""
    points, values = some_data(10)
    kernel, hyperparameters = (
        DistanceKernel(FeatureMap.of(SPACE)),
        Hyperparameters(THETA, np.log(1e-12)),
    )
    spread = np.array([-0.3, 0.1, 0.2])  # sums to 0
    many = np.concatenate([points, np.repeat(points[:1], 2, axis=0)])
    replicated = np.concatenate([values, [0.0, 0.0]])
    replicated[[0, 10, 11]] = values[0] + spread
    noise = np.full(12, 1e-3)
    noise[[0, 10, 11]] = 0.6
    average = np.full(10, 1e-3)
    average[0] = 0.2
    anywhere = SPACE.sample(9, np.random.default_rng(1))
    np.testing.assert_allclose(
        Surrogate(kernel, hyperparameters, many, replicated, known_noise=noise).mean(anywhere),
        Surrogate(kernel, hyperparameters, points, values, known_noise=average).mean(anywhere),
        atol=1e-6,
    )


# ------------------------------------------------------------------------------ the fit
def test_gradient_of_the_density_is_that_of_its_value_with_known_noise():
    points, values = some_data()
    known = np.linspace(0.0, 1.0, len(points))
    density = NegativeLogDensity(DistanceKernel(FeatureMap.of(SPACE)), points, values, known)
    vector = Hyperparameters(THETA, np.log(0.05)).to_vector()
    value, gradient = density(vector)
    assert value == pytest.approx(density.value(Hyperparameters.from_vector(vector)))
    expected = optimize.approx_fprime(vector, lambda v: density(v)[0], 1e-6)
    np.testing.assert_allclose(gradient, expected, atol=1e-3)


def test_nothing_is_learnt_about_noise_that_is_known():
    rng = np.random.default_rng(0)
    points, values = some_data(40)
    values = standardise(values + 0.5 * rng.standard_normal(40))
    kernel, known = DistanceKernel(FeatureMap.of(SPACE)), np.full(40, 0.2)
    all_known = fit(kernel, points, values, deterministic=False, known_noise=known)
    assert np.exp(all_known.hyperparameters.log_noise) == pytest.approx(DETERMINISTIC_NOISE)
    known[5] = np.nan
    some_known = fit(kernel, points, values, deterministic=False, known_noise=known)
    assert np.exp(some_known.hyperparameters.log_noise) > 2.0 * DETERMINISTIC_NOISE


def test_a_cache_notices_other_noise():
    points, values = some_data(16)
    builder, cache = KernelBuilder(SPACE, Model()), FitCache()
    for noise in (None, np.full(16, 0.5), np.linspace(0.0, 1.0, 16), None):
        data = OutcomeData(points, values, noise, deterministic=False)
        found = select_model(builder, data, 100, cache)
        fresh = select_model(builder, data, 100, FitCache())
        np.testing.assert_array_equal(
            found.hyperparameters.to_vector(), fresh.hyperparameters.to_vector()
        )


# ------------------------------------------------------------------------------- units
@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0, 1e6, 1e150])
def test_units_of_the_values_do_not_matter(scale):
    values = np.random.default_rng(0).standard_normal(20)
    noise = np.linspace(0.0, 2.0, 20)
    expected = standardise_noise(noise, values, standardise(values))
    scaled = standardise_noise(noise * scale**2, values * scale, standardise(values * scale))
    np.testing.assert_allclose(scaled, expected, rtol=1e-9)


def test_noise_has_the_scale_of_the_values():
    values = np.random.default_rng(0).standard_normal(50)  # no outliers: a straight line
    found = standardise_noise(np.full(50, 0.3), values, standardise(values))
    np.testing.assert_allclose(found, 0.3 / values.var())
    assert np.all(standardise_noise(np.ones(5), np.full(5, 2.0), np.zeros(5)) == 0.0)
    assert np.isfinite(
        standardise_noise(np.array([np.inf, 1.0]), np.arange(2.0), np.arange(2.0))
    ).all()


@pytest.mark.parametrize(
    ("noise", "message"),
    [(np.zeros((4, 1)), "shape"), (np.zeros(4), "shape"), (np.full((4, 2), -1.0), "at least 0")],
)
def test_noise_must_belong_to_what_was_measured(noise, message):
    points = SPACE.sample(4, np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        History.of(SPACE, points, np.zeros(4), constraints=np.zeros((4, 1)), noise=noise)


# ------------------------------------------------------------------ what is improved on
def test_a_lucky_value_is_not_the_one_to_improve_on():
    points, values = some_data(25)
    lucky = values.copy()
    lucky[7] = values.min() - 3.0
    noise = np.full(25, 1e-4)
    noise[7] = 9.0
    everyone = np.ones(25, dtype=bool)
    for deterministic in (False, True):
        outcome = outcome_of(points, lucky, noise, deterministic=deterministic)
        assert not outcome.is_deterministic
        second = np.delete(outcome.values, 7).min()
        assert outcome.values[7] < second - 1.0
        assert abs(outcome.incumbent(everyone, 7) - second) < 0.5
        assert outcome.believed[7] > outcome.values[7] + 1.0


def test_exact_values_are_deterministic_unless_they_conflict():
    points, values = some_data(12)
    exact = outcome_of(points, values, np.zeros(12))
    assert exact.is_deterministic
    assert exact.incumbent(np.ones(12, dtype=bool), None) == exact.values.min()
    assert exact.believed is exact.values
    points[1] = points[0]
    assert not outcome_of(points, values, np.zeros(12)).is_deterministic


@pytest.mark.parametrize("n_objectives", [1, 2])
@pytest.mark.parametrize("kind", ["all", "some", "exact", "none", "huge"])
def test_any_noise_gives_a_point(kind, n_objectives):
    rng = np.random.default_rng(0)
    points = SPACE.sample(14, rng)
    values = np.column_stack([smooth(points), points[:, 1]])[:, :n_objectives]
    noise = {
        "all": rng.random((14, n_objectives + 1)),
        "some": np.where(rng.random((14, n_objectives + 1)) < 0.5, np.nan, 0.1),
        "exact": np.zeros((14, n_objectives + 1)),
        "none": np.full((14, n_objectives + 1), np.nan),
        "huge": np.full((14, n_objectives + 1), 1e200),
    }[kind]
    constraints = (points[:, 2] - 0.5)[:, None]
    history = History.of(SPACE, points, values, constraints=constraints, noise=noise)
    found = suggest(Problem(SPACE), history, Settings(), np.random.default_rng(1))
    assert np.isfinite(found.point).all() and np.isfinite(found.acquisition)
    if kind == "none":
        plain = History.of(SPACE, points, values, constraints=constraints)
        same = suggest(Problem(SPACE), plain, Settings(), np.random.default_rng(1))
        np.testing.assert_array_equal(found.point, same.point)


def test_a_lucky_value_does_not_make_the_front():
    """Known to be worth nothing, it must not keep the search from where others are good."""
    rng = np.random.default_rng(0)
    points = SPACE.sample(20, rng)
    values = np.column_stack([points[:, 1] + points[:, 2], 2.0 - points[:, 1] + points[:, 2]])
    lucky = values.copy()
    lucky[5] = -20.0
    noise = np.full((20, 2), 1e-6)
    noise[5] = 400.0
    settings = Settings(trust_region=None)
    history = History.of(SPACE, points, lucky, noise=noise)
    found = [
        suggest(Problem(SPACE), history, settings, np.random.default_rng(s)).point
        for s in range(3)
    ]
    assert np.all(np.array(found)[:, 2] < 0.2)  # the front is where y is 0
