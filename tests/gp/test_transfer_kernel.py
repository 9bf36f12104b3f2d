"""What earlier studies leave to a present one, against the joint process of all of them."""

import numpy as np
import pytest
from scipy import optimize

from heat_plugins.gp.exact_gp import (
    VARIANCE_PRIOR_COUNT,
    Hyperparameters,
    NegativeLogDensity,
    Surrogate,
    best_scale,
    fit,
    variance_and_rest,
)
from heat_plugins.gp.transfer_kernel import (
    LEVEL_VARIANCE,
    EarlierModel,
    TransferKernel,
    similarities,
    transferred,
)
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space, apply_changes
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import InteractionOrders

MIXED = Space(
    (Categorical("c", "abcd"), Float("x", 0, 1), Categorical("b", "ab"), Float("y", 0, 1))
)
ALL = np.zeros(len(MIXED), dtype=bool)
STRUCTURES = pytest.mark.parametrize("structure", [None, InteractionOrders(2)], ids=["", "orders"])


def kernel_of(space=MIXED, structure=None):
    return KernelBuilder(space, Model(structure=structure)).kernel(structure)


def earlier_models(kernel, rng, sizes=(9, 6), lacking=ALL):
    models, values = [], []
    for i, n in enumerate(sizes):
        hyperparameters = Hyperparameters(kernel.start(1.0 + i), np.log(1e-2))
        points = np.where(lacking, 0.0, MIXED.sample(n, rng))
        values.append(rng.standard_normal(n))
        surrogate = Surrogate(kernel, hyperparameters, points, values[-1])
        models.append(EarlierModel(f"study {i}", surrogate, lacking))
    return models, values


class Case:
    """A present study of some trials, after two others."""

    def __init__(self, structure=None, seed=0, lacking=ALL):
        rng = np.random.default_rng(seed)
        self.base = kernel_of(structure=structure)
        self.models, self.earlier_values = earlier_models(self.base, rng, lacking=lacking)
        self.kernel = TransferKernel(self.base, self.models)
        theta = np.append(self.base.start(2.0), np.log([1.5, 0.4]))
        self.hyperparameters = Hyperparameters(theta, np.log(1e-3))
        self.points, self.values = MIXED.sample(7, rng), rng.standard_normal(7)
        self.others = MIXED.sample(5, rng)
        self.surrogate = Surrogate(self.kernel, self.hyperparameters, self.points, self.values)

    def matrix(self, kernel, theta, left, right):
        return kernel.cross_covariance(theta, right)(left)

    def joint(self):
        """Mean and covariance at the others: one dense process of all studies, conditioned."""
        ratios = np.array([1.5, 0.4])
        shares, new = ratios / (1.0 + ratios.sum()), 1.0 / (1.0 + ratios.sum())
        sigma = np.sqrt(self.surrogate.variance)
        blocks = [self.points, *[model.surrogate.points for model in self.models]]
        study = np.repeat(np.arange(3), [len(block) for block in blocks])
        everything = np.concatenate([*blocks, self.others])
        study = np.append(study, np.zeros(len(self.others), dtype=int))
        covariance = np.zeros((len(everything),) * 2)
        is_present = study == 0
        own = self.matrix(self.base, self.base.start(2.0), everything, everything)
        covariance += np.outer(is_present, is_present) * (
            new * own + LEVEL_VARIANCE * shares.sum()
        )
        for s, share in enumerate(shares):
            theta = self.base.start(1.0 + s)
            loading = np.where(is_present, np.sqrt(share), 0.0) + (study == s + 1)
            of_study = self.matrix(self.base, theta, everything, everything)
            covariance += np.outer(loading, loading) * of_study
        n = len(study) - len(self.others)
        noise = np.where(study[:n] == 0, 1e-3, 1e-2)
        scales = [sigma, *[np.sqrt(model.surrogate.variance) for model in self.models]]
        values = np.concatenate([self.values, *self.earlier_values]) / np.array(scales)[study[:n]]
        known, cross = covariance[:n, :n] + np.diag(noise), covariance[n:, :n]
        mean = cross @ np.linalg.solve(known, values)
        left = covariance[n:, n:] - cross @ np.linalg.solve(known, cross.T)
        return sigma * mean, self.surrogate.variance * left


@STRUCTURES
def test_posterior_is_that_of_one_process_of_all_studies(structure):
    case = Case(structure)
    mean, covariance = case.joint()
    found_mean, found_variance = case.surrogate.posterior(case.others)
    np.testing.assert_allclose(found_mean, mean, atol=1e-9)
    np.testing.assert_allclose(found_variance, np.diagonal(covariance), atol=1e-9)
    np.testing.assert_allclose(case.surrogate.mean(case.others), mean, atol=1e-9)
    between = case.surrogate.covariance_with(case.others)(case.others)
    np.testing.assert_allclose(between, covariance, atol=1e-9)


@STRUCTURES
def test_gradient_of_the_density_is_its_slope(structure):
    case = Case(structure)
    density = NegativeLogDensity(case.kernel, case.points, case.values)
    vector = case.hyperparameters.to_vector()
    value, gradient = density(vector)
    assert value == pytest.approx(density.value(case.hyperparameters), abs=1e-10)
    slopes = optimize.approx_fprime(vector, lambda v: density(v)[0], 1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-4)


def test_matrix_is_the_cross_covariance_of_the_observations():
    case = Case()
    theta, prepared = case.hyperparameters.theta, case.kernel.prepare(case.points)
    matrix, _ = case.kernel.matrix_and_pullback(theta, prepared)
    cross = case.kernel.cross_covariance(theta, case.points)
    np.testing.assert_allclose(cross(case.points), matrix, atol=1e-12)
    np.testing.assert_allclose(case.kernel.matrix(theta, prepared), matrix, atol=1e-12)
    np.testing.assert_allclose(cross.diagonal(case.points), np.diagonal(matrix), atol=1e-12)
    mean, _ = case.kernel.mean_and_pullback(theta, prepared)
    np.testing.assert_allclose(cross.moments(case.points)[2], mean, atol=1e-12)
    alone = cross(case.others[:1])
    np.testing.assert_allclose(cross(case.others)[:1], alone, atol=1e-12)


def test_single_changes_and_slopes_agree_with_the_posterior():
    case = Case()
    point, numeric = case.others[0], np.flatnonzero(~MIXED.is_discrete)
    columns, coordinates = np.array([0, 1, 3]), np.array([2.0, 0.3, 0.9])
    changed = apply_changes(point, columns, coordinates)
    found = case.surrogate.posterior_of_changes(point, columns, coordinates)
    np.testing.assert_allclose(found, case.surrogate.posterior(changed), atol=1e-12)
    mean, variance, by_mean, by_variance = case.surrogate.posterior_gradient(point, numeric)
    np.testing.assert_allclose(
        np.array([[mean], [variance]]), case.surrogate.posterior(point[None]), atol=1e-12
    )
    step = 1e-5
    for place, column in enumerate(numeric):
        around = np.repeat(point[None], 2, axis=0)
        around[:, column] += [step, -step]
        means, variances = case.surrogate.posterior(around)
        assert by_mean[place] == pytest.approx((means[0] - means[1]) / (2 * step), abs=1e-5)
        slope = (variances[0] - variances[1]) / (2 * step)
        assert by_variance[place] == pytest.approx(slope, abs=1e-5)


def test_leave_one_out_means_are_those_of_processes_without_each_value():
    case = Case()
    found = case.surrogate.leave_one_out_means(case.values)
    # The signal variance stays what it was: it has its best value for all of them together.
    sigma = np.sqrt(case.surrogate.variance)
    theta, prepared = case.hyperparameters.theta, case.kernel.prepare(case.points)
    matrix = case.kernel.matrix(theta, prepared) + 1e-3 * np.eye(len(case.points))
    mean = sigma * case.kernel.mean_and_pullback(theta, prepared)[0]
    for i in range(len(case.points)):
        rest = np.delete(np.arange(len(case.points)), i)
        weights = np.linalg.solve(matrix[np.ix_(rest, rest)], (case.values - mean)[rest])
        assert found[i] == pytest.approx(mean[i] + matrix[i, rest] @ weights, abs=1e-9)


def test_without_shares_it_is_the_kernel_of_the_present_study_alone():
    case = Case()
    theta = np.append(case.base.start(2.0), np.log([1e-14, 1e-14]))
    found = Surrogate(case.kernel, Hyperparameters(theta, np.log(1e-3)), case.points, case.values)
    alone = Surrogate(
        case.base, Hyperparameters(theta[:-2], np.log(1e-3)), case.points, case.values
    )
    np.testing.assert_allclose(
        found.posterior(case.others), alone.posterior(case.others), atol=1e-5
    )
    assert found.variance == pytest.approx(alone.variance, abs=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_best_scale_is_where_the_density_is_highest(sign):
    rng = np.random.default_rng(3)
    values, mean = rng.standard_normal(6), sign * rng.standard_normal(6)
    count = 6 + VARIANCE_PRIOR_COUNT

    def density(u):
        missed = u * values - mean
        return 0.5 * (missed @ missed + VARIANCE_PRIOR_COUNT * u * u) - count * np.log(u)

    scale, value = best_scale(values, mean)
    best = optimize.minimize_scalar(density, bounds=(1e-3, 10.0), options={"xatol": 1e-12})
    assert scale == pytest.approx(best.x, abs=1e-6)
    constant = 0.5 * count * (1.0 - np.log(0.5 * count))
    assert value == pytest.approx(best.fun - constant, abs=1e-9)
    half_sum = 0.5 * (values @ values + VARIANCE_PRIOR_COUNT)
    assert best_scale(values, 0.0 * mean)[1] == pytest.approx(0.5 * count * np.log(half_sum))


def test_known_noise_gives_the_variance_that_the_surrogate_finds():
    case = Case()
    noise = np.full(len(case.points), 0.1)
    variance, rest = variance_and_rest(
        case.kernel,
        case.hyperparameters,
        case.points,
        case.values,
        noise,
        learns_extra_noise=False,
    )
    shares = (noise + rest) / variance
    without = Hyperparameters(case.hyperparameters.theta, -np.inf)
    found = Surrogate(case.kernel, without, case.points, case.values, known_noise=shares)
    assert found.variance == pytest.approx(variance, rel=1e-6)


def test_what_a_study_did_not_have_changes_nothing_in_what_it_says():
    lacking = np.array([False, True, False, False])
    case = Case(lacking=lacking)
    moved = case.others.copy()
    moved[:, 1] = 1.0 - moved[:, 1]
    for model in case.models:
        np.testing.assert_array_equal(model.mean(moved), model.mean(case.others))
    assert not np.allclose(*[case.surrogate.mean(p) for p in (moved, case.others)])


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["alike", "opposite"])
def test_how_alike_studies_are_is_learnt(sign):
    rng = np.random.default_rng(1)
    kernel = kernel_of()
    slopes = np.array([0.5, 2.0, -1.0, 1.0])
    first, second = MIXED.sample(40, rng), MIXED.sample(20, rng)
    earlier = Surrogate(
        kernel, Hyperparameters(kernel.start(0.5), np.log(1e-4)), first, _unit(first @ slopes)
    )
    wide = transferred(kernel, [EarlierModel("old", earlier, ALL)])
    found = fit(wide, second, sign * _unit(second @ slopes), deterministic=True)
    alike = similarities(wide, found.hyperparameters)["old"]
    assert alike > 0.9 if sign > 0 else alike < 0.5


def test_without_earlier_studies_a_kernel_stays_what_it_is():
    kernel = kernel_of()
    assert transferred(kernel, []) is kernel
    assert similarities(kernel, Hyperparameters(kernel.start(1.0), 0.0)) == {}


def _unit(values):
    return (values - values.mean()) / values.std()
