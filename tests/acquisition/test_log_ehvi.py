"""Expected hypervolume improvement against quadrature, samples, BoTorch and differences."""

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from heat_plugins.acquisition.log_ehvi import BoxSides, LogHypervolumeImprovement
from heat_plugins.acquisition.log_ei import LogExpectedImprovement, log_expected_improvement
from heat_plugins.acquisition.pareto import free_boxes, hypervolume, non_dominated, reference_point
from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes

CHECKED = settings(deadline=None, max_examples=100)

SEEDS = st.integers(0, 2**32 - 1)


def some_front(n, n_objectives, rng):
    values = rng.standard_normal((n, n_objectives))
    return values[non_dominated(values)]


def log_ehvi(mean, variance, boxes):
    return BoxSides(boxes).log_improvement(mean, variance)


def improvements(mean, variance, front, reference):
    return np.exp(log_ehvi(mean, variance, free_boxes(front, reference)))


def log_improvement_of_one(mean, variance, boxes):
    """The closed form of one candidate, with the digits that its differences take."""
    with mpmath.workdps(80):

        def psi(t, mu, s):
            if np.isneginf(t):
                return mpmath.mpf(0)
            z = (mpmath.mpf(t) - mpmath.mpf(mu)) / s
            return s * (mpmath.npdf(z) + z * mpmath.erfc(-z / mpmath.sqrt(2)) / 2)

        total = mpmath.mpf(0)
        for lower, upper in zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True):
            volume = mpmath.mpf(1)
            for low, high, mu, s2 in zip(lower, upper, mean, variance, strict=True):
                s = mpmath.sqrt(mpmath.mpf(s2))
                volume *= psi(high, mu, s) - psi(low, mu, s)
            total += volume
        return float(mpmath.log(total))


# ---------------------------------------------------------------------- the closed form
@given(st.floats(-5.0, 5.0), st.floats(1e-3, 1e3), st.floats(-5.0, 5.0))
@CHECKED
def test_with_one_objective_it_is_expected_improvement(mean, deviation, best):
    boxes = free_boxes(np.array([[best], [best + 1.0]]), np.array([best + 2.0]))
    mean, variance = np.array([mean]), np.array([deviation**2])
    expected = log_expected_improvement(mean, variance, best)
    ours = log_ehvi(mean[:, None], variance[:, None], boxes)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@given(st.integers(1, 4), SEEDS)
@CHECKED
def test_without_a_front_it_is_a_product_of_expected_improvements(n_objectives, seed):
    rng = np.random.default_rng(seed)
    mean = 3.0 * rng.standard_normal((5, n_objectives))
    variance = rng.random((5, n_objectives))
    reference = rng.standard_normal(n_objectives)
    boxes = free_boxes(np.empty((0, n_objectives)), reference)
    expected = sum(
        log_expected_improvement(mean[:, j], variance[:, j], reference[j])
        for j in range(n_objectives)
    )
    ours = log_ehvi(mean, variance, boxes)
    np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-11)


def test_two_objectives_are_the_integral_over_what_is_free():
    """EHVI is the integral of P(y <= t) over free t, by the midpoint rule of error O(h^2)."""
    front, reference = np.array([[-1.0, 1.0], [0.0, 0.5], [0.5, -1.5]]), np.array([1.5, 1.5])
    h = 1.0 / 128.0  # every corner is a multiple of it
    ticks = np.arange(-8.0, 1.5, h) + 0.5 * h
    free = np.ones((len(ticks), len(ticks)))
    for point in front:
        free[np.ix_(ticks > point[0], ticks > point[1])] = 0.0
    rng = np.random.default_rng(0)
    mean, variance = rng.uniform(-1.0, 2.0, (20, 2)), rng.uniform(0.1, 1.0, (20, 2))
    below = special.ndtr((ticks[:, None, None] - mean) / np.sqrt(variance))  # (t, 20, 2)
    expected = h**2 * np.einsum("tk,tk->k", below[..., 0], free @ below[..., 1])
    ours = improvements(mean, variance, front, reference)
    np.testing.assert_allclose(ours, expected, rtol=2.0 * h**2)


def gains_of(outcomes, front, reference):
    """(n,) what each outcome adds to the hypervolume, by inclusion and exclusion."""
    total = np.zeros(len(outcomes))
    for n in range(len(front) + 1):
        for some in itertools.combinations(front, n):
            above_all = np.max([outcomes, *(np.broadcast_to(p, outcomes.shape) for p in some)], 0)
            total += (-1.0) ** n * np.prod(np.maximum(reference - above_all, 0.0), axis=1)
    return total


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
def test_it_is_the_mean_improvement_of_samples(n_objectives):
    """Of 100,000 samples: within 4 of their standard errors, which are below 1 percent."""
    rng = np.random.default_rng(1)
    front = some_front(12, n_objectives, rng)[:5]
    reference = reference_point(front)
    mean, variance = front[:1] - 0.3, rng.uniform(0.2, 0.8, (1, n_objectives))
    outcomes = mean + np.sqrt(variance) * rng.standard_normal((100_000, n_objectives))
    gains = gains_of(outcomes, front, reference)
    error = gains.std() / np.sqrt(len(gains))
    assert error < 0.01 * gains.mean()
    ours = improvements(mean, variance, front, reference)[0]
    assert ours == pytest.approx(gains.mean(), abs=4.0 * error)


@pytest.mark.parametrize("n_objectives", [2, 3, 4])
def test_certain_outcomes_improve_by_the_gain_in_hypervolume(n_objectives):
    rng = np.random.default_rng(2)
    front = some_front(20, n_objectives, rng)
    reference = reference_point(front)
    outcomes = front - 0.3 * rng.random(front.shape)
    expected = [
        hypervolume(np.append(front, [outcome], axis=0), reference) - hypervolume(front, reference)
        for outcome in outcomes
    ]
    ours = improvements(outcomes, np.zeros(front.shape), front, reference)
    np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9)


@given(st.integers(2, 4), SEEDS)
@CHECKED
def test_order_and_scale_of_objectives_do_not_matter(n_objectives, seed):
    rng = np.random.default_rng(seed)
    front = some_front(15, n_objectives, rng)
    reference = reference_point(front)
    mean, variance = rng.standard_normal((2, 8, n_objectives))
    variance = variance**2 + 1e-3
    expected = log_ehvi(mean, variance, free_boxes(front, reference))
    order, scale = rng.permutation(n_objectives), np.exp(rng.standard_normal(n_objectives))
    boxes = free_boxes((scale * front)[:, order], (scale * reference)[order])
    ours = log_ehvi((scale * mean)[:, order], (scale**2 * variance)[:, order], boxes)
    np.testing.assert_allclose(ours, expected + np.log(scale).sum(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_objectives", [2, 3, 4])
def test_it_equals_that_of_botorch(n_objectives):
    pytest.importorskip("botorch")
    import torch
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
    from botorch.utils.testing import MockModel, MockPosterior

    rng = np.random.default_rng(3)
    front = some_front(25, n_objectives, rng)
    reference = reference_point(front)
    mean = rng.uniform(-2.0, 1.0, (30, n_objectives))
    variance = rng.uniform(0.1, 1.0, (30, n_objectives))
    # BoTorch maximises.
    partitioning = NondominatedPartitioning(
        ref_point=-torch.from_numpy(reference), Y=-torch.from_numpy(front)
    )
    posterior = MockPosterior(
        mean=-torch.from_numpy(mean)[:, None], variance=torch.from_numpy(variance)[:, None]
    )
    theirs = ExpectedHypervolumeImprovement(
        MockModel(posterior), (-reference).tolist(), partitioning
    )(torch.zeros(30, 1, 1, dtype=torch.float64))
    ours = improvements(mean, variance, front, reference)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-10)


# ------------------------------------------------------------------------- far from it
@given(st.integers(1, 4), st.floats(0.0, 6.0), SEEDS)
@settings(CHECKED, max_examples=30)
def test_it_is_exact_far_from_any_improvement(n_objectives, log10_distance, seed):
    rng = np.random.default_rng(seed)
    front = some_front(8, n_objectives, rng)
    boxes = free_boxes(front, reference_point(front))
    mean = 10.0**log10_distance * rng.random(n_objectives) + rng.standard_normal(n_objectives)
    variance = rng.uniform(0.1, 2.0, n_objectives)
    ours = log_ehvi(mean[None], variance[None], boxes)[0]
    expected = log_improvement_of_one(mean, variance, boxes)
    assert ours == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.integers(1, 4), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1e-300, 1e-12, 1e6]), SEEDS)
@CHECKED
def test_it_is_finite_anywhere(n_objectives, mean, variance, seed):
    front = some_front(10, n_objectives, np.random.default_rng(seed))
    boxes = free_boxes(front, reference_point(front))
    shape = (1, n_objectives)
    value = log_ehvi(np.full(shape, mean), np.full(shape, variance), boxes)
    assert np.all(np.isfinite(value))


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("deviation", [1e-3, 0.5, 30.0])
def test_lower_means_are_better_near_and_far(n_objectives, deviation):
    rng = np.random.default_rng(4)
    front = some_front(20, n_objectives, rng)
    boxes = free_boxes(front, reference_point(front))
    levels = np.concatenate([-np.logspace(4, -2, 50), [0.0], np.logspace(-2, 4, 50)])
    variance = np.full((len(levels), n_objectives), deviation**2)
    for j in range(n_objectives):
        mean = np.tile(rng.standard_normal(n_objectives), (len(levels), 1))
        mean[:, j] = levels
        values = log_ehvi(mean, variance, boxes)
        assert np.all(np.diff(values) < 0.0)


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
def test_more_uncertainty_is_better(n_objectives):
    """The gain in hypervolume is convex in each objective, so that spread adds to its mean."""
    rng = np.random.default_rng(5)
    front = some_front(20, n_objectives, rng)
    boxes = free_boxes(front, reference_point(front))
    for j in range(n_objectives):
        mean = np.tile(rng.standard_normal(n_objectives), (50, 1))
        variance = np.tile(rng.random(n_objectives), (50, 1))
        variance[:, j] = np.logspace(-2, 4, 50)
        values = log_ehvi(mean, variance, boxes)
        assert np.all(np.diff(values) > 0.0)


# ------------------------------------------------------------------ as a batch function
SPACE = Space(
    (
        Float("x", -1, 1),
        Categorical("c", "abcd"),
        Float("lr", 1e-3, 1.0, log=True),
        Ordinal("o", range(5)),
        Categorical("b", "ab"),
        Integer("i", 0, 9),
    )
)
NUMERIC = np.flatnonzero(~SPACE.is_discrete)
FUNCTIONS = (
    lambda p: np.sin(5.0 * p[:, 0]) + 0.5 * p[:, 1] + p[:, 2] ** 2,
    lambda p: np.cos(4.0 * p[:, 0]) - 0.3 * p[:, 1] + p[:, 5],
    lambda p: (p[:, 2] - 0.4) ** 2 + 0.2 * p[:, 3] - 0.5 * p[:, 4],
    lambda p: p[:, 5] * p[:, 0] - 0.1 * p[:, 3],
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    points = SPACE.sample(25, rng)
    values = np.column_stack([function(points) for function in FUNCTIONS])
    return points, (values - values.mean(axis=0)) / values.std(axis=0), SPACE.sample(2, rng)


@pytest.fixture(scope="module")
def surrogates(data):
    points, values, pending = data
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    fits = [fit(kernel, points, column, deterministic=False) for column in values.T]
    return [
        Surrogate(kernel, found.hyperparameters, points, column, pending)
        for found, column in zip(fits, values.T, strict=True)
    ]


def acquisition_of(data, surrogates, n_objectives, shift=0.0):
    """The first few objectives, with a front that is better than the data by a shift."""
    values = data[1][:, :n_objectives] + shift
    front = values[non_dominated(values)]
    reference = reference_point(values)
    return LogHypervolumeImprovement(surrogates[:n_objectives], front, reference)


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("shift", [1.0, 0.0, -10.0, -60.0])
def test_gradient_is_that_of_the_values(data, surrogates, n_objectives, shift):
    acquisition = acquisition_of(data, surrogates, n_objectives, shift)
    for point in SPACE.sample(10, np.random.default_rng(1)):
        value, gradient = acquisition.value_and_gradient(point, NUMERIC)
        assert value == pytest.approx(acquisition(point[None])[0], rel=1e-9, abs=1e-9)
        step = 1e-5
        ends = np.repeat(point[None], 2 * len(NUMERIC), axis=0)
        for i, column in enumerate(NUMERIC):
            ends[2 * i, column] += step
            ends[2 * i + 1, column] -= step
        values = acquisition(ends)
        expected = (values[::2] - values[1::2]) / (2.0 * step)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5 * abs(value))


def test_with_one_surrogate_it_is_log_expected_improvement(data, surrogates):
    best = float(data[1][:, 0].min())
    single = LogExpectedImprovement(surrogates[0], best)
    several = acquisition_of(data, surrogates, 1)
    points = SPACE.sample(30, np.random.default_rng(2))
    np.testing.assert_allclose(several(points), single(points), rtol=1e-11, atol=1e-11)
    for point in points:
        ours, theirs = (each.value_and_gradient(point, NUMERIC) for each in (several, single))
        assert ours[0] == pytest.approx(theirs[0], rel=1e-11)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-8, atol=1e-10)


def test_gradient_of_some_columns_is_part_of_the_gradient_of_all(data, surrogates):
    acquisition = acquisition_of(data, surrogates, 3)
    point = SPACE.sample(1, np.random.default_rng(3))[0]
    _, everything = acquisition.value_and_gradient(point, NUMERIC)
    for i, column in enumerate(NUMERIC):
        _, one = acquisition.value_and_gradient(point, np.array([column]))
        np.testing.assert_allclose(one, everything[[i]], rtol=1e-12)


def test_gradient_is_finite_where_everything_is_known(data, surrogates):
    acquisition = acquisition_of(data, surrogates, 3, shift=-1.0)
    for point in data[0]:
        value, gradient = acquisition.value_and_gradient(point, NUMERIC)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("n_objectives", [2, 4])
def test_values_of_changes_are_those_of_the_changed_points(data, surrogates, n_objectives):
    acquisition = acquisition_of(data, surrogates, n_objectives)
    rng = np.random.default_rng(4)
    for point in SPACE.sample(5, rng):
        columns = rng.integers(len(SPACE), size=30)
        coordinates = SPACE.sample(30, rng)[np.arange(30), columns]
        np.testing.assert_allclose(
            acquisition.of_changes(point, columns, coordinates),
            acquisition(apply_changes(point, columns, coordinates)),
            rtol=1e-8,
            atol=1e-8,
        )


def test_a_large_front_is_thinned(data, surrogates, monkeypatch):
    front = -np.sort(-np.random.default_rng(5).random((300, 2)), axis=0)
    front[:, 1] = 1.0 - front[:, 0]
    reference = reference_point(front)
    few = LogHypervolumeImprovement(surrogates[:2], front, reference)
    monkeypatch.setattr("heat_plugins.acquisition.log_ehvi.MAX_FRONT_POINTS", 300)
    everything = LogHypervolumeImprovement(surrogates[:2], front, reference)
    points = SPACE.sample(100, np.random.default_rng(6))
    difference = few(points) - everything(points)
    assert np.all(difference >= -1e-9)  # less is dominated by fewer points
    assert np.any(difference > 1e-9)
    gains = np.exp(everything(points))  # which matter where they are large
    assert np.all(np.exp(few(points)) - gains < 0.1 * gains.max())
