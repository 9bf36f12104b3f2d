"""Repeated measurements tell whether the reported noise is all there is."""

import numpy as np
import pytest

from heat_plugins.gp.exact_gp import DETERMINISTIC_NOISE
from heat_plugins.gp.fit import FitCache, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.gp.replicates import noise_is_underreported
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model
from heat_plugins.suggest import History, Problem, Settings, suggest

CHOICES = Space(tuple(Categorical(f"c{i}", range(5)) for i in range(4)))
MIXED = Space((Categorical("c", "abc"), Float("x", 0, 1), Float("y", 0, 1)))


def rugged(points):
    """Return values without any pattern, the same for the same choices."""
    seeds = np.ravel_multi_index(points.astype(int).T, (5, 5, 5, 5))
    return np.array([np.random.default_rng(int(s)).normal() for s in seeds])


def smooth(points):
    return points[:, 0] + np.cos(3.0 * points[:, 1]) - points[:, 2]


def replicated(n_points, n_repeats, noise, seed=0):
    rng = np.random.default_rng(seed)
    points = np.repeat(CHOICES.sample(n_points, rng), n_repeats, axis=0)
    return points, rugged(points) + noise * rng.standard_normal(len(points))


@pytest.mark.parametrize("n_repeats", [2, 5])
@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_repeats_that_disagree(noise, n_repeats):
    for seed in range(5):
        points, values = replicated(12, n_repeats, noise, seed)
        reported = np.full(len(points), noise**2)
        assert not noise_is_underreported(CHOICES, points, values, reported)
        if noise >= 0.1:
            assert noise_is_underreported(CHOICES, points, values, 0.01 * reported)
            assert noise_is_underreported(CHOICES, points, values, 0.0 * reported)


def test_one_pair_is_enough_in_any_order():
    points, values = replicated(10, 1, 0.0)
    points, values = np.tile(points, (4, 1)), np.tile(values, 4)
    reported = np.full(40, 1e-4)
    assert not noise_is_underreported(CHOICES, points, values, reported)
    values[[3, 13]] += 2.0  # each of the two still has a twin
    assert noise_is_underreported(CHOICES, points, values, reported)


def test_a_rugged_objective_is_not_a_noisy_one():
    points = np.unique(CHOICES.sample(200, np.random.default_rng(0)), axis=0)
    assert not noise_is_underreported(CHOICES, points, rugged(points), np.zeros(len(points)))


@pytest.mark.parametrize(("noise", "reported"), [(0.1, 0.1), (0.1, 1e-3), (0.0, 0.0), (0.1, 0.0)])
def test_points_that_are_nearly_the_same(noise, reported):
    rng = np.random.default_rng(0)
    points = MIXED.sample(20, rng)
    points[8:] = points[0]
    points[8:, 1:] += 1e-4 * rng.standard_normal((12, 2))
    values = smooth(points) + noise * rng.standard_normal(20)
    found = noise_is_underreported(MIXED, points, values, np.full(20, reported**2))
    assert found == (noise > reported)


def test_a_jump_between_points_that_are_nearly_the_same():
    """Most pairs lie on one side of it, however near the search goes."""
    rng = np.random.default_rng(0)
    points = MIXED.sample(30, rng)
    points[10:] = [0.0, 0.3, 0.5]
    points[10:, 1] += 5e-4 * rng.random(20)
    values = smooth(points) - 2.0 * (points[:, 1] < 0.3001)
    assert not noise_is_underreported(MIXED, points, values, np.zeros(30))


def test_what_says_nothing():
    points, values = replicated(3, 2, 1.0)
    unknown = np.full(6, np.nan)
    assert not noise_is_underreported(CHOICES, points, values, unknown)
    unknown[0] = 0.0
    assert not noise_is_underreported(CHOICES, points, values, unknown)
    assert not noise_is_underreported(CHOICES, points[:0], values[:0], unknown[:0])
    unknown[:2] = np.inf
    assert not noise_is_underreported(CHOICES, points, values, unknown)


# ------------------------------------------------------------------------- what is learnt
def noisy_data(noise=0.3):
    rng = np.random.default_rng(0)
    points = np.concatenate([MIXED.sample(24, rng), MIXED.sample(1, rng).repeat(6, axis=0)])
    return points, smooth(points) + noise * rng.standard_normal(30)


@pytest.mark.parametrize("structure", [None, "auto"])
def test_the_rest_of_the_noise_is_learnt(structure):
    points, values = noisy_data()
    builder = KernelBuilder(MIXED, Model(structure=structure))
    for reported, is_enough in ((0.3, True), (0.003, False), (0.0, False)):
        for n in (30, 29):  # with and without a second stage
            noise = np.full(n, reported**2)
            data = OutcomeData(points[-n:], values[-n:], noise).with_inferred_noise(MIXED)
            kernel_fit = select_model(builder, data, 100, FitCache())
            learnt = np.exp(kernel_fit.hyperparameters.log_noise)
            assert kernel_fit.learns_extra_noise != is_enough
            assert (learnt == pytest.approx(DETERMINISTIC_NOISE)) == is_enough
            assert is_enough or 0.005 < learnt < 1.0


@pytest.mark.parametrize("reported", [0.0, 1e-3])
def test_a_suggestion_from_measurements_worse_than_reported(reported):
    points, values = noisy_data()
    noise = np.full(30, reported**2)
    data = OutcomeData(points, values, noise, deterministic=False)
    outcome = fit_outcome(KernelBuilder(MIXED, Model()), data, ModelBudget(100, 100), FitCache())
    assert not outcome.is_deterministic
    assert np.exp(outcome.kernel_fit.hyperparameters.log_noise) > 0.005
    history = History.of(MIXED, points, values, noise=noise[:, None])
    found = suggest(Problem(MIXED), history, Settings(), np.random.default_rng(1))
    assert np.isfinite(found.point).all() and np.isfinite(found.acquisition)


def test_close_points_without_repeats_make_exact_values_noisy():
    rng = np.random.default_rng(0)
    points = MIXED.sample(30, rng)
    points[15:] = points[0]
    points[15:, 1:] += 1e-4 * rng.standard_normal((15, 2))
    builder = KernelBuilder(MIXED, Model())

    def outcome_of(values):
        data = OutcomeData(points, values, np.zeros(30), deterministic=False)
        return fit_outcome(builder, data, ModelBudget(100, 100), FitCache())

    assert outcome_of(smooth(points)).is_deterministic
    assert not outcome_of(smooth(points) + 0.3 * rng.standard_normal(30)).is_deterministic
