"""The Gaussian process against its textbook formulas, written out with dense inverses."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.gp.exact_gp import (
    DETERMINISTIC_NOISE,
    Hyperparameters,
    NegativeLogDensity,
    Surrogate,
    fit,
)
from heat_plugins.kernels.distance import SMALLEST_TOTAL, DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.kernels.formulas import mixed_kernel
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes

CHECKED = settings(deadline=None, max_examples=30)

MIXED = Space(
    (
        Categorical("c", "abcd"),
        Float("x", -1, 1),
        Categorical("b", "ab"),
        Ordinal("o", range(4)),
        Integer("i", 0, 9),
        Categorical("one", "z"),
    )
)
BINARY = Space(tuple(Categorical(f"c{i}", range(2)) for i in range(7)))
CATEGORIES = Space(tuple(Categorical(f"c{i}", range(2 + i % 4)) for i in range(6)))
NUMBERS = Space((Float("x", 0, 1), Float("y", 1e-3, 1, log=True), Integer("i", 0, 20)))
SPACES = pytest.mark.parametrize(
    "space",
    [MIXED, BINARY, CATEGORIES, NUMBERS],
    ids=["mixed", "binary", "categories", "numbers"],
)
NUMERIC = np.flatnonzero(~MIXED.is_discrete)


def some_hyperparameters(space, rng, log_weights=None, log_noise=None):
    """Draw from ranges in which each hyperparameter makes a difference."""
    log_rate_mean, drawn_noise = rng.uniform(-2.0, 0.0), rng.uniform(-7.0, -1.0)
    drawn_weights = rng.normal(-1.0, 1.0, len(space))
    return Hyperparameters(
        theta=np.append(drawn_weights if log_weights is None else log_weights, log_rate_mean),
        log_noise=drawn_noise if log_noise is None else log_noise,
    )


def correlations(space, hyperparameters, left, right):
    """The kernel by its definition: heat kernel on choices times RBF on numbers."""
    left, right = left.copy(), right.copy()
    for i, parameter in enumerate(space.parameters):
        if isinstance(parameter, Ordinal):
            left[:, i] /= max(parameter.n_levels - 1, 1)
            right[:, i] /= max(parameter.n_levels - 1, 1)
    weights = np.exp(hyperparameters.theta[: len(space)])
    return mixed_kernel(left, right, weights, space.is_categorical)


def inverse_of_data(space, hyperparameters, points, pending=None):
    """The inverse of K, that is of the kernel and the noise of each observation."""
    if pending is not None:
        points = np.concatenate([points, pending])
    noise = hyperparameters.noise * np.eye(len(points))
    return np.linalg.inv(correlations(space, hyperparameters, points, points) + noise)


def density_of(space, points, values):
    return NegativeLogDensity(DistanceKernel(FeatureMap.of(space)), points, values)


def data(space, n, rng):
    points = space.sample(n, rng)
    values = rng.standard_normal(n) + points @ rng.standard_normal(len(space))
    return points, (values - values.mean()) / values.std()


def model_of(space, hyperparameters, points, values, pending=None):
    return Surrogate(
        DistanceKernel(FeatureMap.of(space)), hyperparameters, points, values, pending
    )


# ---------------------------------------------------------------------- predictions
@SPACES
@pytest.mark.parametrize("seed", range(3))
def test_posterior_is_the_textbook_formula(space, seed):
    rng = np.random.default_rng(seed)
    hyperparameters = some_hyperparameters(space, rng)
    points, values = data(space, 20, rng)
    candidates = np.concatenate([space.sample(15, rng), points[:5]])
    model = model_of(space, hyperparameters, points, values)
    mean, variance = model.posterior(candidates)

    inverse = inverse_of_data(space, hyperparameters, points)
    cross = correlations(space, hyperparameters, candidates, points)
    np.testing.assert_allclose(mean, cross @ inverse @ values, rtol=1e-8, atol=1e-8)
    explained = np.einsum("ij,jk,ik->i", cross, inverse, cross)
    np.testing.assert_allclose(variance, model.variance * (1.0 - explained), rtol=1e-7, atol=1e-9)


@SPACES
def test_signal_variance_is_where_its_density_is_highest(space):
    """Given the rest, y ~ N(0, s K), and an inverse-gamma prior is worth some observations.

    However many that are, they have variance 1 and it is the same number for all data.
    """
    rng = np.random.default_rng(3)
    hyperparameters = some_hyperparameters(space, rng)
    counts = []
    for scale in (0.5, 2.0, 3.0):
        points, values = data(space, 20, rng)
        variance = model_of(space, hyperparameters, points, scale * values).variance
        inverse = inverse_of_data(space, hyperparameters, points)
        quadratic = scale**2 * values @ inverse @ values
        counts.append((quadratic - 20.0 * variance) / (variance - 1.0))
    np.testing.assert_allclose(counts, counts[0], rtol=1e-6, atol=1e-6)
    assert counts[0] > -1e-6


@SPACES
def test_without_noise_the_model_goes_through_the_data(space):
    rng = np.random.default_rng(5)
    points = np.unique(space.sample(12, rng), axis=0)
    values = rng.standard_normal(len(points))
    hyperparameters = some_hyperparameters(
        space,
        rng,
        log_weights=np.zeros(len(space)),
        log_noise=np.log(1e-10),
    )
    mean, variance = model_of(space, hyperparameters, points, values).posterior(points)
    np.testing.assert_allclose(mean, values, atol=1e-4)
    assert np.all(variance < 1e-6)


def test_far_from_the_data_the_model_knows_nothing():
    rng = np.random.default_rng(6)
    hyperparameters = some_hyperparameters(BINARY, rng, log_weights=np.full(7, 5.0))
    points, values = np.zeros((3, 7)), np.array([1.0, 1.1, 0.9])
    model = model_of(BINARY, hyperparameters, points, values)
    mean, variance = model.posterior(np.ones((1, 7)))
    assert mean[0] == pytest.approx(0.0, abs=1e-12)
    assert variance[0] == pytest.approx(model.variance)


@SPACES
def test_one_candidate_at_a_time_gives_the_same(space):
    rng = np.random.default_rng(7)
    model = model_of(space, some_hyperparameters(space, rng), *data(space, 15, rng))
    candidates = space.sample(8, rng)
    mean, variance = model.posterior(candidates)
    single = [model.posterior(candidate[None]) for candidate in candidates]
    np.testing.assert_allclose(mean, [m[0] for m, _ in single], atol=1e-12)
    np.testing.assert_allclose(variance, [v[0] for _, v in single], atol=1e-12)


@SPACES
def test_left_out_means_are_those_of_the_other_observations(space):
    rng = np.random.default_rng(7)
    points, values = data(space, 20, rng)
    hyperparameters, pending = some_hyperparameters(space, rng), space.sample(2, rng)
    found = model_of(space, hyperparameters, points, values, pending).leave_one_out_means(values)
    for i in range(20):
        others = np.arange(20) != i
        model = model_of(space, hyperparameters, points[others], values[others])
        np.testing.assert_allclose(found[i], model.mean(points[[i]])[0], rtol=1e-8, atol=1e-8)


@SPACES
def test_posterior_of_changes_is_that_of_the_changed_points(space):
    rng = np.random.default_rng(8)
    points, values = data(space, 20, rng)
    model = model_of(space, some_hyperparameters(space, rng), points, values, space.sample(2, rng))
    for point in (space.sample(1, rng)[0], points[0]):
        columns = rng.integers(len(space), size=40)
        coordinates = space.sample(40, rng)[np.arange(40), columns]
        changed = apply_changes(point, columns, coordinates)
        for ours, expected in zip(
            model.posterior_of_changes(point, columns, coordinates),
            model.posterior(changed),
            strict=True,
        ):
            np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("with_pending", [False, True])
def test_posterior_gradient_is_that_of_the_posterior(with_pending):
    rng = np.random.default_rng(9)
    pending = MIXED.sample(3, rng) if with_pending else None
    points, values = data(MIXED, 20, rng)
    model = model_of(MIXED, some_hyperparameters(MIXED, rng), points, values, pending)
    for point in MIXED.sample(6, rng):
        mean, variance, mean_slope, variance_slope = model.posterior_gradient(point, NUMERIC)
        expected_mean, expected_variance = model.posterior(point[None])
        assert mean == pytest.approx(expected_mean[0], abs=1e-10)
        assert variance == pytest.approx(expected_variance[0], abs=1e-10)
        step = 1e-5
        for i, column in enumerate(NUMERIC):
            ends = np.repeat(point[None], 2, axis=0)
            ends[:, column] += [step, -step]
            means, variances = model.posterior(ends)
            assert mean_slope[i] == pytest.approx(-np.diff(means)[0] / (2 * step), abs=1e-5)
            assert variance_slope[i] == pytest.approx(
                -np.diff(variances)[0] / (2 * step), abs=1e-5
            )


@SPACES
def test_order_of_observations_does_not_matter(space):
    rng = np.random.default_rng(10)
    hyperparameters = some_hyperparameters(space, rng)
    points, values = data(space, 25, rng)
    order = rng.permutation(25)
    candidates = space.sample(10, rng)
    first = model_of(space, hyperparameters, points, values).posterior(candidates)
    again = model_of(space, hyperparameters, points[order], values[order]).posterior(candidates)
    np.testing.assert_allclose(first, again, atol=1e-8)
    theta = hyperparameters.to_vector()
    value, gradient = density_of(space, points, values)(theta)
    value_again, gradient_again = density_of(space, points[order], values[order])(theta)
    assert value == pytest.approx(value_again, rel=1e-8)
    np.testing.assert_allclose(gradient, gradient_again, rtol=1e-8, atol=1e-8)


# ------------------------------------------------------------------ pending points
@SPACES
@given(seed=st.integers(0, 2**32), n_pending=st.integers(1, 5))
@CHECKED
def test_pending_points_are_conditioned_on_at_their_means(space, seed, n_pending):
    rng = np.random.default_rng(seed)
    hyperparameters = some_hyperparameters(space, rng)
    points, values = data(space, 12, rng)
    pending = space.sample(n_pending, rng)
    candidates = np.concatenate([space.sample(10, rng), pending])
    plain = model_of(space, hyperparameters, points, values)
    model = model_of(space, hyperparameters, points, values, pending)
    mean, variance = model.posterior(candidates)
    plain_mean, plain_variance = plain.posterior(candidates)
    assert model.variance == pytest.approx(plain.variance, rel=1e-9)
    np.testing.assert_allclose(mean, plain_mean, atol=1e-8)
    assert np.all(variance <= plain_variance + 1e-9)
    assert np.all(variance[10:] < plain_variance[10:])

    # observations at the pending points, with the values the model expects there
    inverse = inverse_of_data(space, hyperparameters, points, pending)
    cross = correlations(space, hyperparameters, candidates, np.concatenate([points, pending]))
    imagined = np.concatenate([values, plain.posterior(pending)[0]])
    np.testing.assert_allclose(mean, cross @ inverse @ imagined, atol=1e-6)
    explained = np.einsum("ij,jk,ik->i", cross, inverse, cross)
    np.testing.assert_allclose(variance, model.variance * (1.0 - explained), atol=1e-8)


# ------------------------------------------------------------------ hyperparameters
@SPACES
@pytest.mark.parametrize("n", [1, 2, 15])
def test_gradient_of_the_density_is_that_of_its_value(space, n):
    rng = np.random.default_rng(11)
    points, values = space.sample(n, rng), rng.standard_normal(n)
    for _ in range(3):
        hyperparameters = some_hyperparameters(space, rng)
        theta = hyperparameters.to_vector()
        density = density_of(space, points, values)
        value, gradient = density(theta)
        assert value == pytest.approx(density.value(hyperparameters), rel=1e-9)
        step = 1e-5
        expected = [
            (density(theta + step * unit)[0] - density(theta - step * unit)[0]) / (2.0 * step)
            for unit in np.eye(len(theta))
        ]
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


def test_hyperparameters_survive_the_way_through_a_vector():
    hyperparameters = some_hyperparameters(MIXED, np.random.default_rng(12))
    again = Hyperparameters.from_vector(hyperparameters.to_vector())
    for field in dataclasses.fields(Hyperparameters):
        np.testing.assert_array_equal(
            getattr(again, field.name), getattr(hyperparameters, field.name)
        )


@SPACES
@pytest.mark.parametrize("deterministic", [True, False])
def test_fit_raises_the_density(space, deterministic):
    rng = np.random.default_rng(13)
    points, values = data(space, 30, rng)
    density = density_of(space, points, values)

    def fit_from(start):
        found = fit(
            DistanceKernel(FeatureMap.of(space)),
            points,
            values,
            deterministic=deterministic,
            start=start,
        )
        assert found.negative_log_density == pytest.approx(
            density.value(found.hyperparameters), rel=1e-9
        )
        return found.hyperparameters

    cold = fit_from(None)
    warm = fit_from(cold)
    other_weights = np.append(rng.normal(0.0, 2.0, len(space)), cold.theta[-1])
    elsewhere = dataclasses.replace(cold, theta=other_weights)
    improved = fit_from(elsewhere)
    assert density.value(warm) <= density.value(cold) + 1e-6
    assert density.value(improved) < density.value(elsewhere)
    assert density.value(cold) < density.value(elsewhere)


def test_fit_finds_which_parameters_matter():
    rng = np.random.default_rng(14)
    points = CATEGORIES.sample(80, rng)
    values = points[:, 1] + points[:, 4]
    values = (values - values.mean()) / values.std()
    found = fit(DistanceKernel(FeatureMap.of(CATEGORIES)), points, values, deterministic=True)
    weights = found.hyperparameters.theta[: len(CATEGORIES)]
    assert set(np.argsort(weights)[-2:]) == {1, 4}
    assert weights[[1, 4]].min() > weights[[0, 2, 3, 5]].max() + 1.0


def test_fit_sees_noise():
    rng = np.random.default_rng(15)
    points = np.repeat(BINARY.sample(15, rng), 4, axis=0)
    signal = points @ rng.standard_normal(7)
    quiet = signal + 1e-3 * rng.standard_normal(60)
    loud = signal + 2.0 * signal.std() * rng.standard_normal(60)
    log_noises = [
        fit(
            DistanceKernel(FeatureMap.of(BINARY)),
            points,
            (v - v.mean()) / v.std(),
            deterministic=False,
        ).hyperparameters.log_noise
        for v in (quiet, loud)
    ]
    assert log_noises[0] < log_noises[1] - 2.0


AWKWARD_DATA = {
    "constant values": lambda rng: (MIXED.sample(10, rng), np.zeros(10)),
    "one observation": lambda rng: (MIXED.sample(1, rng), np.array([0.0])),
    "one observation far out": lambda rng: (MIXED.sample(1, rng), np.array([1.0])),
    "two observations": lambda rng: (MIXED.sample(2, rng), np.array([-1.0, 1.0])),
    "conflicting duplicates": lambda rng: (
        np.repeat(MIXED.sample(4, rng), 3, axis=0),
        rng.standard_normal(12),
    ),
    "one point only": lambda rng: (
        np.repeat(MIXED.sample(1, rng), 20, axis=0),
        rng.standard_normal(20),
    ),
    "one point and one value only": lambda rng: (
        np.repeat(MIXED.sample(1, rng), 20, axis=0),
        np.zeros(20),
    ),
    "nearly equal points": lambda rng: (
        np.repeat(MIXED.sample(1, rng), 20, axis=0)
        + np.outer(1e-9 * np.arange(20), ~MIXED.is_discrete),
        rng.standard_normal(20),
    ),
    "one outlier": lambda rng: (MIXED.sample(30, rng), np.append(np.zeros(29), 5.4)),
    "more points than the space has": lambda rng: (MIXED.sample(150, rng), rng.normal(size=150)),
}


@pytest.mark.parametrize("make", AWKWARD_DATA.values(), ids=AWKWARD_DATA.keys())
@pytest.mark.parametrize("deterministic", [True, False])
def test_fit_and_prediction_survive_awkward_data(make, deterministic):
    rng = np.random.default_rng(16)
    points, values = make(rng)
    kernel = DistanceKernel(FeatureMap.of(MIXED))
    cold = fit(kernel, points, values, deterministic=deterministic).hyperparameters
    warm = fit(kernel, points, values, deterministic=deterministic, start=cold).hyperparameters
    for hyperparameters in (cold, warm):
        assert np.all(np.isfinite(hyperparameters.to_vector()))
        model = Surrogate(kernel, hyperparameters, points, values, points[:1])
        mean, variance = model.posterior(np.concatenate([points, MIXED.sample(20, rng)]))
        assert np.all(np.isfinite(mean))
        assert np.all((variance > 0.0) & (variance <= model.variance * (1.0 + 1e-9)))
        _, _, mean_slope, variance_slope = model.posterior_gradient(points[0], NUMERIC)
        assert np.all(np.isfinite(mean_slope)) and np.all(np.isfinite(variance_slope))


@pytest.mark.parametrize(
    "space",
    [
        Space((Categorical("only", "a"),)),
        Space((Float("only", 2.0, 2.0),)),
        Space((Categorical("c", "abc"),)),
        Space((Categorical("c", "ab"),)),
        Space((Float("x", 0, 1),)),
        Space((Categorical("c", "a"), Ordinal("o", "a"), Float("x", 0, 1))),
    ],
    ids=str,
)
def test_small_spaces_are_fitted_too(space):
    rng = np.random.default_rng(17)
    points = space.sample(8, rng)
    values = rng.standard_normal(8)
    kernel = DistanceKernel(FeatureMap.of(space))
    hyperparameters = fit(kernel, points, values, deterministic=False).hyperparameters
    mean, variance = Surrogate(kernel, hyperparameters, points, values).posterior(points)
    assert np.all(np.isfinite(mean)) and np.all(variance > 0.0)


def test_differences_between_points_are_above_the_noise_of_deterministic_values():
    """Weights as small as that noise would make it stand for whatever is not explained."""
    for space in (BINARY, CATEGORIES, MIXED):
        kernel = DistanceKernel(FeatureMap.of(space))
        lowest = kernel.bounds[kernel.log_rate_mean, 0]
        assert kernel.n_weights * np.exp(lowest) == pytest.approx(SMALLEST_TOTAL)
        assert kernel.start(1e-9)[kernel.log_rate_mean] == pytest.approx(lowest)
    assert SMALLEST_TOTAL > 100.0 * DETERMINISTIC_NOISE
