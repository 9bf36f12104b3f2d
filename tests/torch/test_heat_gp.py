"""The surrogate as a BoTorch model."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("botorch")

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective import logei
from botorch.models import ModelListGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete_local_search, optimize_acqf_mixed
from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

from heat_plugins.botorch import HeatGP
from heat_plugins.gp.exact_gp import LEAST_NOISE_SHARE, Surrogate
from heat_plugins.gp.fit import FitCache, select_model
from heat_plugins.gp.outcome_data import OutcomeData
from heat_plugins.gp.outcome_transform import standardise
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.conditions import Conditions, Cut, Leaf, Split
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.torch.fitted_kernel import FittedKernel

NAMES = ["x0", "x1", "x2", "x3"]
CHOICES = (*(Categorical(name, range(4)) for name in NAMES), Categorical("b", (0, 1)))
CATEGORICAL = Space(CHOICES)
MIXED = Space((*CHOICES, Float("f", 0, 1), Integer("i", 0, 10), Ordinal("o", (1, 2, 3, 4, 5))))
NUMERIC = np.flatnonzero(~MIXED.is_discrete)


def conditions():
    """x3 exists where x0 has the codes 0 and 1, f where b has the code 1."""
    leaves = (Leaf(False), Leaf(True))
    by_x0 = Split(Cut(0, np.array([1.5]), np.array([1, 0])), leaves)
    by_b = Split(Cut(4, np.array([0.5]), np.array([0, 1])), leaves)
    return Conditions(np.arange(len(MIXED)), {3: by_x0, 5: by_b})


MODELS = {
    "default": Model(),
    "isotropic": Model(ard=False),
    "matern": Model("matern"),
    "rational quadratic": Model("rational-quadratic"),
    "graphs": Model("combo", graphs={"x0": "cycle"}, order={"x1": [3, 1, 0, 2]}),
    "graphs with remainders": Model(graphs={"x0": "path"}, quantitative=["x2"]),
    "padded sort": Model(structure=PermutationInvariant(NAMES)),
    "group sum": Model(structure=PermutationInvariant(NAMES, "sum")),
    "additive": Model(structure=Additive()),
    "additive mixture": Model(structure=Additive(), mixing="mixture"),
    "orthogonal sum": Model(structure=InteractionOrders(2), mixing="sum"),
    "plain orders": Model(structure=InteractionOrders(2, orthogonal=False)),
    "decomposition": Model(structure=RandomDecomposition(seed=3)),
    "graph-matern": Model("graph-matern"),
    "auto": Model(structure="auto"),
}
SPACES = {"choices": CATEGORICAL, "mixed": MIXED, "conditional": MIXED}
CASES = pytest.mark.parametrize(
    ("space_name", "name"),
    [
        (space_name, name)
        for name in MODELS
        for space_name in SPACES
        # Groups of which a member may be missing have no effect.
        if not (space_name == "conditional" and name in ("padded sort", "group sum"))
    ],
)


def conditions_of(space_name):
    return conditions() if space_name == "conditional" else None


def tensor(array):
    return torch.from_numpy(np.asarray(array, dtype=float))


def objective(points):
    """A smooth function with interactions, of any space above."""
    points = np.nan_to_num(points)
    value = np.sin(points[:, 0]) + 0.5 * (points[:, 1] == points[:, 2]) - 0.2 * points[:, 4]
    if points.shape[1] > 5:
        value = value + np.cos(4.0 * points[:, 5]) * (points[:, 0] > 1) + points[:, 6] ** 2
    return value


def data(space, n=25, seed=0):
    points = space.sample(n, np.random.default_rng(seed))
    return tensor(points), tensor(objective(points))[:, None]


def gp_of(space_name, name, n=25, **kwargs):
    x, y = data(SPACES[space_name], n)
    return HeatGP(
        x,
        y,
        space=SPACES[space_name],
        model=MODELS[name],
        conditions=conditions_of(space_name),
        **kwargs,
    )


def mixed_gp(name="default", n=25):
    return gp_of("mixed", name, n).fit()


def samples(space, *shape, seed=7):
    points = space.sample(int(np.prod(shape)), np.random.default_rng(seed))
    return tensor(points.reshape(*shape, len(space)))


# --------------------------------------------------------------------------- the kernel


@CASES
def test_kernel_is_one_positive_function(space_name, name):
    """Symmetric, positive semi-definite, and blocks are blocks of one matrix."""
    space, model = SPACES[space_name], MODELS[name]
    builder = KernelBuilder(space, model, conditions_of(space_name))
    numpy_kernel = builder.kernel(model.combination, 20)
    rng = np.random.default_rng(0)
    theta = numpy_kernel.start(2.0) + 0.2 * rng.standard_normal(numpy_kernel.n_hyperparameters)
    kernel = FittedKernel(numpy_kernel, space, conditions_of(space_name), theta).double()
    first, second = samples(space, 13), samples(space, 8, seed=8)
    both = kernel(torch.cat([first, second])).to_dense()
    np.testing.assert_allclose(both, both.T, rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(both.numpy())[0] > -1e-10
    close = {"rtol": 0.0, "atol": 1e-12}
    np.testing.assert_allclose(kernel(first, second).to_dense(), both[:13, 13:], **close)
    np.testing.assert_allclose(kernel(second, first).to_dense(), both[13:, :13], **close)
    np.testing.assert_allclose(kernel(second).to_dense(), both[13:, 13:], **close)
    np.testing.assert_allclose(kernel(first, diag=True), both.diagonal()[:13], **close)
    np.testing.assert_allclose(
        kernel(first[:8], second, diag=True), both[:8, 13:].diagonal(), **close
    )


@pytest.mark.parametrize("name", ["default", "additive", "additive mixture"])
def test_batches_are_their_elements(name):
    kernel = mixed_gp(name).kernel
    first, second = samples(MIXED, 3, 40, 2), samples(MIXED, 3, 40, 4, seed=8)
    shared = samples(MIXED, 6, seed=9)
    close = {"rtol": 0.0, "atol": 1e-12}
    for other in (second, shared, first, second[:, :1], second[:1]):
        found = kernel(first, other).to_dense()
        assert found.shape == (3, 40, 2, other.shape[-2])
        full = other.expand(3, 40, *other.shape[-2:])
        for i, j in [(0, 0), (1, 17), (2, 39)]:
            one = kernel(first[i, j], full[i, j]).to_dense()
            np.testing.assert_allclose(found[i, j], one, **close)
    # As in acquisition functions: the same baseline in every element, with a candidate each.
    joint = torch.cat([shared.expand(120, 6, -1), first.reshape(120, 2, -1)], dim=-2)
    found = kernel(joint).to_dense()
    np.testing.assert_allclose(found[77], kernel(joint[77]).to_dense(), **close)
    diagonal = kernel(joint, diag=True)
    np.testing.assert_allclose(diagonal, found.diagonal(dim1=-2, dim2=-1), **close)


def test_codes_are_rounded_and_clipped():
    kernel = mixed_gp().kernel
    x = samples(MIXED, 9)
    moved = x.clone()
    discrete = torch.from_numpy(MIXED.is_discrete)
    moved[:, discrete] += 0.3
    np.testing.assert_array_equal(kernel(moved).to_dense(), kernel(x).to_dense())
    moved[:, 0], x[:, 0] = 17.0, 3.0
    np.testing.assert_array_equal(kernel(moved).to_dense(), kernel(x).to_dense())


def test_what_does_not_exist_may_be_any_number():
    gp = gp_of("conditional", "default").fit()
    x = samples(MIXED, 50)
    inactive = torch.from_numpy(~conditions().active(x.numpy()))
    moved = torch.where(inactive, 0.123, x)
    missing = torch.where(inactive, torch.nan, x)
    expected = gp.posterior(x)
    for other in (moved, missing):
        np.testing.assert_array_equal(gp.posterior(other).mean, expected.mean)
    y = tensor(objective(x.numpy()))[:, None]
    gps = [
        HeatGP(its, y, space=MIXED, conditions=conditions()).fit() for its in (x, moved, missing)
    ]
    means = [one.posterior(samples(MIXED, 9, seed=1)).mean for one in gps]
    np.testing.assert_allclose(means[1], means[0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(means[2], means[0], rtol=0.0, atol=1e-12)


# ------------------------------------------------------------------------------ gradients


@pytest.mark.parametrize("space_name", ["mixed", "conditional"])
@pytest.mark.parametrize("name", ["default", "matern", "additive", "additive mixture"])
def test_gradients_are_central_differences(space_name, name):
    gp = gp_of(space_name, name).fit()
    x = samples(MIXED, 3, 2)
    if space_name == "conditional":
        assert not conditions().active(x.reshape(6, -1).numpy())[:, NUMERIC].all()
    weights = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 2)))

    def number(x):
        """Depends on means, variances and covariances of two points each."""
        posterior = gp.posterior(x)
        covariances = posterior.distribution.covariance_matrix
        return (posterior.mean[..., 0] * weights).sum() + (covariances @ weights[..., None]).sum()

    moving = x.clone().requires_grad_()
    number(moving).backward()
    gradient = moving.grad
    assert torch.all(gradient[..., torch.from_numpy(MIXED.is_discrete)] == 0.0)
    expected = torch.zeros_like(x)
    for index in np.ndindex(3, 2, len(NUMERIC)):
        place = (*index[:2], NUMERIC[index[2]])
        step = torch.zeros_like(x)
        step[place] = 1e-5
        with torch.no_grad():
            expected[place] = (number(x + step) - number(x - step)) / 2e-5
    assert expected.abs().max() > 1e-2
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["default", "additive"])
def test_gradients_in_both_arguments(name):
    kernel = mixed_gp(name).kernel
    first, second = samples(MIXED, 2, 3), samples(MIXED, 2, 4, seed=8)
    columns = torch.from_numpy(NUMERIC)

    def covariances(numbers, other_numbers):
        x1, x2 = first.clone(), second.clone()
        x1[..., columns], x2[..., columns] = numbers, other_numbers
        return kernel(x1, x2).to_dense()

    def variances(numbers):
        x1 = first.clone()
        x1[..., columns] = numbers
        return kernel(x1, diag=True)

    numbers = first[..., columns].clone().requires_grad_()
    other_numbers = second[..., columns].clone().requires_grad_()
    assert torch.autograd.gradcheck(covariances, (numbers, other_numbers))
    assert torch.autograd.gradcheck(variances, (numbers,))


# ------------------------------------------------------------ predictions as in NumPy


@CASES
def test_predictions_are_those_in_numpy(space_name, name):
    space = SPACES[space_name]
    gp = gp_of(space_name, name).fit()
    x, y = data(space)
    points, others = gp.kernel.points(x), samples(space, 40)
    scale = y.std(unbiased=False)
    values = ((y - y.mean()) / scale)[:, 0].numpy()
    surrogate = Surrogate(gp.kernel.numpy_kernel, gp.hyperparameters, points, values)
    mean, variance = surrogate.posterior(gp.kernel.points(others))
    for posterior in (gp.posterior(others), gp.posterior(others[:, None])):
        found = ((posterior.mean.flatten() - y.mean()) / scale).numpy()
        np.testing.assert_allclose(found, mean, rtol=0.0, atol=1e-8)
        found = (posterior.variance.flatten() / scale**2).numpy()
        np.testing.assert_allclose(found, variance, rtol=0.0, atol=1e-8)
    noise = float(np.exp(gp.hyperparameters.log_noise)) * surrogate.variance
    noisy = gp.posterior(others, observation_noise=True).variance.flatten() / scale**2
    np.testing.assert_allclose(noisy, variance + noise, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", ["default", "additive"])
def test_fit_is_that_in_numpy(name):
    gp, (x, y) = mixed_gp(name), data(MIXED)
    builder = KernelBuilder(MIXED, MODELS[name])
    observed = OutcomeData(x.numpy(), -y[:, 0].numpy(), deterministic=False).with_inferred_noise(
        MIXED
    )
    chosen = select_model(builder, observed, len(x), FitCache())
    expected = chosen.hyperparameters
    np.testing.assert_allclose(gp.hyperparameters.theta, expected.theta, rtol=0.0, atol=1e-8)
    log_noise = max(expected.log_noise, np.log(LEAST_NOISE_SHARE))  # for GPyTorch's algebra
    assert gp.hyperparameters.log_noise == pytest.approx(log_noise, abs=1e-8)


def test_a_memo_changes_nothing_but_the_time():
    x, y = data(MIXED)
    cache = FitCache()
    for n in (len(x) - 2, len(x) - 1, len(x)):
        gp = HeatGP(x[:n], y[:n], space=MIXED, cache=cache).fit()
        alone = HeatGP(x[:n], y[:n], space=MIXED).fit()
        np.testing.assert_array_equal(gp.hyperparameters.theta, alone.hyperparameters.theta)


def test_botorchs_fit_is_ours():
    gp = gp_of("mixed", "default")
    mll = fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    assert not mll.training
    expected = mixed_gp().hyperparameters
    np.testing.assert_array_equal(gp.hyperparameters.theta, expected.theta)
    models = ModelListGP(gp_of("mixed", "default"), gp_of("mixed", "additive"))
    fit_gpytorch_mll(SumMarginalLogLikelihood(models.likelihood, models))
    np.testing.assert_array_equal(models.models[0].hyperparameters.theta, expected.theta)


def test_options_of_botorchs_fit_are_not_ignored_in_silence():
    gp = gp_of("mixed", "default")
    mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
    with pytest.warns(UserWarning, match="optimizer_kwargs of fit_gpytorch_mll have no effect"):
        fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": 3}})
    np.testing.assert_array_equal(gp.hyperparameters.theta, mixed_gp().hyperparameters.theta)


def test_there_is_no_input_transform():
    x, y = data(MIXED)
    with pytest.raises(ValueError, match="input_transform must be None: .* got Normalize"):
        HeatGP(x, y, space=MIXED, input_transform=Normalize(d=len(MIXED)))


def test_deterministic_values_have_little_noise_unless_they_conflict():
    x, y = data(MIXED)
    gp = HeatGP(x, y, space=MIXED, deterministic=True).fit()
    assert gp.hyperparameters.noise == pytest.approx(LEAST_NOISE_SHARE, rel=1e-6)
    x, y = torch.cat([x, x]), torch.cat([y, y + torch.randn(y.shape).to(y)])
    gp = HeatGP(x, y, space=MIXED, deterministic=True).fit()
    assert np.exp(gp.hyperparameters.log_noise) > 1e-2


def test_known_noise_is_taken_as_it_is():
    x, y = data(MIXED, 30)
    y_var = torch.full_like(y, 0.01)
    y_var[:10] = 4.0
    gp = HeatGP(x, y, y_var, space=MIXED).fit()
    others, scale = samples(MIXED, 20), y.std(unbiased=False)
    values = ((y - y.mean()) / scale)[:, 0].numpy()
    share = (y_var / scale**2)[:, 0].numpy() / float(gp.covar_module.outputscale)
    surrogate = Surrogate(
        gp.kernel.numpy_kernel, gp.hyperparameters, x.numpy(), values, known_noise=share
    )
    assert surrogate.variance == pytest.approx(float(gp.covar_module.outputscale), rel=1e-3)
    mean, _ = surrogate.posterior(others.numpy())
    found = ((gp.posterior(others).mean.flatten() - y.mean()) / scale).numpy()
    np.testing.assert_allclose(found, mean, rtol=0.0, atol=1e-8)
    # What is measured badly is followed less.
    off = (gp.posterior(x).mean - y).abs()
    assert off[:10].mean() > 2.0 * off[10:].mean()
    noisy = gp.posterior(others, observation_noise=True).variance
    expected = gp.posterior(others).variance + y_var.mean()
    np.testing.assert_allclose(noisy, expected, rtol=0.0, atol=1e-8)
    exact = HeatGP(x, y, torch.zeros_like(y), space=MIXED).fit()
    np.testing.assert_allclose(exact.posterior(x).mean, y, rtol=0.0, atol=1e-2)


def underreported(seed=0):
    """Return observations with repeats whose noise, 0.3, is far larger than what is reported."""
    x, _ = data(MIXED, 24)
    x = torch.cat([x, x[:6]])
    torch.manual_seed(seed)
    truth = (x[:, :1] == 1.0).double() + x[:, NUMERIC[:1]]
    return x, truth, truth + 0.3 * torch.randn(30, 1).to(x)


@pytest.mark.parametrize("reported", [0.0, 1e-3])
def test_noise_that_was_not_reported_is_learnt(reported):
    x, truth, y = underreported()
    gp = HeatGP(x, y, torch.full_like(y, reported**2), space=MIXED).fit()
    assert gp.has_more_noise
    posterior = gp.posterior(x)
    assert (posterior.mean - truth).abs().mean() < (y - truth).abs().mean()
    assert torch.all(posterior.variance < 4.0 * y.var())
    noise = gp.posterior(x, observation_noise=True).variance - posterior.variance
    assert 0.1 < noise.mean().sqrt() < 0.6
    enough = HeatGP(x, y, torch.full_like(y, 0.09), space=MIXED).fit()
    assert not enough.has_more_noise and enough.likelihood.rest == 0.0
    # All of it is in the state, for models of fewer observations.
    fewer = HeatGP(x[:20], y[:20], torch.full_like(y[:20], reported**2), space=MIXED)
    fewer.load_state_dict(gp.state_dict())
    assert fewer.hyperparameters.log_noise == gp.hyperparameters.log_noise
    same = HeatGP(x, y, torch.full_like(y, reported**2), space=MIXED)
    same.load_state_dict(gp.state_dict())
    np.testing.assert_allclose(same.posterior(x).mean, posterior.mean, atol=1e-12)


@pytest.mark.parametrize("reported", [0.0, 1e-4])
def test_points_that_are_nearly_the_same_with_values_far_apart(reported):
    """The signal variance grows without bound to make up for noise that it is not told of."""
    x, y = data(MIXED, 20)
    x[10:12] = x[8:10]
    x[10:12, NUMERIC[0]] += 1e-7
    y[10:12] = y[8:10] + 3.0
    gp = HeatGP(x, y, torch.full_like(y, reported**2), space=MIXED).fit()
    assert not gp.has_more_noise  # of few pairs, it may be a jump
    spread = float(y.max() - y.min())
    assert torch.all((gp.posterior(samples(MIXED, 50)).mean - y.mean()).abs() < 2.0 * spread)


@pytest.mark.parametrize("outcome_transform", [None, "own"])
def test_outcome_transform_can_be_chosen(outcome_transform):
    x, y = data(MIXED)
    y = (y - y.mean()) / y.std()
    chosen = None if outcome_transform is None else Standardize(m=1)
    gp = HeatGP(x, y, space=MIXED, outcome_transform=chosen).fit()
    expected = HeatGP(x, y, space=MIXED).fit()
    others = samples(MIXED, 9)
    np.testing.assert_allclose(
        gp.posterior(others).mean, expected.posterior(others).mean, rtol=0.0, atol=1e-8
    )


@pytest.mark.parametrize("maximise", [False, True])
def test_an_outlier_on_the_bad_side_is_pulled_in_also_for_predictions(maximise):
    x, y = data(MIXED, 30)
    sign = -1.0 if maximise else 1.0
    y[7] = sign * 1e6
    gp = HeatGP(x, y, space=MIXED, maximise=maximise).fit()
    values, expected = sign * y[:, 0].numpy(), sign * standardise(sign * y[:, 0].numpy())
    np.testing.assert_allclose(gp.train_targets, expected, rtol=0.0, atol=1e-12)
    # The others come back as they were, and differences between them are still seen.
    mean = gp.posterior(x).mean[:, 0].numpy() * sign
    others = np.arange(30) != 7
    assert np.corrcoef(mean[others], values[others])[0, 1] > 0.5
    assert values[others].max() < mean[7] < 100.0


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e90])
def test_values_of_any_size_have_predictions(unit):
    x, y = data(MIXED)
    gp = HeatGP(x, unit * y, torch.full_like(y, (0.1 * unit) ** 2), space=MIXED).fit()
    posterior = gp.posterior(x)
    assert torch.isfinite(posterior.mean).all() and torch.isfinite(posterior.variance).all()
    if unit > 1e-100:
        other = HeatGP(x, y, torch.full_like(y, 0.01), space=MIXED).fit()
        np.testing.assert_allclose(posterior.mean / unit, other.posterior(x).mean, rtol=1e-6)


def test_constant_values_and_one_observation():
    x, y = data(MIXED)
    gp = HeatGP(x, torch.ones_like(y), space=MIXED).fit()
    assert torch.isfinite(gp.posterior(x).variance).all()
    np.testing.assert_allclose(gp.posterior(x).mean, 1.0)
    gp = HeatGP(x[:1], y[:1], space=MIXED, outcome_transform=None).fit()
    assert torch.isfinite(gp.posterior(x).variance).all()


# ------------------------------------------------------------------------------- state


@pytest.mark.parametrize("name", MODELS)
def test_state_dict_carries_all_that_was_learnt(name):
    """As in cross-validation without a new fit."""
    gp = mixed_gp(name, 30)
    x, y = data(MIXED, 30)
    fewer = HeatGP(x[:20], y[:20], space=MIXED, model=MODELS[name])
    fewer.posterior(x)  # fills caches
    fewer.load_state_dict(gp.state_dict())
    np.testing.assert_array_equal(fewer.hyperparameters.theta, gp.hyperparameters.theta)
    assert fewer.hyperparameters.log_noise == gp.hyperparameters.log_noise
    others = samples(MIXED, 9)
    np.testing.assert_allclose(
        fewer.covar_module(others).to_dense(), gp.covar_module(others).to_dense(), atol=1e-14
    )
    assert not torch.allclose(fewer.posterior(others).mean, gp.posterior(others).mean)
    same = HeatGP(x, y, space=MIXED, model=MODELS[name])
    same.load_state_dict(gp.state_dict())
    np.testing.assert_allclose(same.posterior(others).mean, gp.posterior(others).mean, atol=1e-12)
    same.load_state_dict(gp.state_dict(), assign=True)
    np.testing.assert_allclose(same.posterior(others).mean, gp.posterior(others).mean, atol=1e-12)


def test_a_state_with_scales_still_loads():
    """Kernels had scales while they depended on the observations."""
    gp, others = mixed_gp("additive"), samples(MIXED, 9)
    state = {**gp.state_dict(), "covar_module.base_kernel.scales": torch.ones(1)}
    x, y = data(MIXED)
    loaded = HeatGP(x, y, space=MIXED, model=MODELS["additive"])
    loaded.load_state_dict(state)
    np.testing.assert_allclose(
        loaded.posterior(others).mean, gp.posterior(others).mean, rtol=0.0, atol=1e-12
    )


def test_auto_chooses_by_the_evidence():
    """A sum of single effects stays one; what only a product explains does not."""
    points = CATEGORICAL.sample(60, np.random.default_rng(0))
    effects = np.random.default_rng(1).standard_normal((5, 4))
    total = sum(effects[i][points[:, i].astype(int)] for i in range(5))
    product = np.prod([effects[i][points[:, i].astype(int)] for i in range(4)], axis=0)
    x, model = tensor(points), MODELS["auto"]
    gps = [
        HeatGP(x, tensor(values)[:, None], space=CATEGORICAL, model=model).fit()
        for values in (total, product)
    ]
    assert int(gps[0].selection[0]) == 1
    other = HeatGP(x[:30], tensor(total)[:30, None], space=CATEGORICAL, model=model)
    for gp in gps:  # one after the other: they have different numbers of hyperparameters
        other.load_state_dict(gp.state_dict())
        np.testing.assert_array_equal(other.hyperparameters.theta, gp.hyperparameters.theta)


def test_copies_and_pickles_predict_the_same():
    gp, others = mixed_gp("additive"), samples(MIXED, 9)
    expected = gp.posterior(others).mean
    for other in (copy.deepcopy(gp), pickle.loads(pickle.dumps(gp)), gp.subset_output([0])):
        np.testing.assert_array_equal(other.posterior(others).mean, expected)


# --------------------------------------------------------------------------- in BoTorch


@pytest.mark.parametrize("name", ["default", "additive"])
@pytest.mark.parametrize("has_known_noise", [False, True])
def test_conditioning_is_a_model_of_all_observations(name, has_known_noise):
    x, y = data(MIXED, 25)
    known = torch.full_like(y, 0.02) if has_known_noise else None
    some = None if known is None else known[:20]
    gp = HeatGP(x[:20], y[:20], some, space=MIXED, model=MODELS[name]).fit()
    others = samples(MIXED, 6)
    gp.posterior(others)
    # BoTorch takes this noise for transformed already.
    noise = {} if known is None else {"noise": known[20:] / gp.outcome_transform.stdvs**2}
    conditioned = gp.condition_on_observations(x[20:], y[20:], **noise)
    complete = HeatGP(x, y, known, space=MIXED, model=MODELS[name])
    complete.load_state_dict(gp.state_dict())
    for attribute in ("mean", "variance"):
        np.testing.assert_allclose(
            getattr(conditioned.posterior(others), attribute),
            getattr(complete.posterior(others), attribute),
            rtol=0.0,
            atol=1e-6,
        )


@pytest.mark.parametrize("has_known_noise", [False, True])
def test_fantasies(has_known_noise):
    x, y = data(MIXED)
    known = torch.full_like(y, 0.02) if has_known_noise else None
    gp = HeatGP(x, y, known, space=MIXED).fit()
    fantasies = gp.fantasize(samples(MIXED, 2, 3), SobolQMCNormalSampler(torch.Size([4]), seed=0))
    posterior = fantasies.posterior(samples(MIXED, 2, 5, seed=1))
    assert posterior.mean.shape == (4, 2, 5, 1)
    assert torch.all(posterior.variance > 0.0)
    with pytest.raises(ValueError, match="batch of shape \\(4, 2\\)"):
        fantasies.fit()


def test_lists_of_models():
    first, second = mixed_gp("default"), mixed_gp("additive")
    models = ModelListGP(first, second)
    others = samples(MIXED, 4, 3)
    posterior = models.posterior(others)
    assert posterior.mean.shape == (4, 3, 2)
    np.testing.assert_allclose(posterior.mean[..., :1], first.posterior(others).mean)
    one = models.subset_output([1])
    np.testing.assert_allclose(one.posterior(others).mean, second.posterior(others).mean)
    drawn = posterior.rsample(torch.Size([5]))
    assert drawn.shape == (5, 4, 3, 2)


def choices_of(space):
    return [torch.arange(k, dtype=torch.float64) for k in space.n_levels]


BOUNDS = tensor([[0.0] * 8, [3, 3, 3, 3, 1, 1, 1, 4]])


@pytest.mark.parametrize("has_pending", [False, True])
def test_discrete_local_search_of_noisy_improvement(has_pending):
    gp = gp_of("choices", "default").fit()
    x, y = data(CATEGORICAL)
    pending = samples(CATEGORICAL, 2) if has_pending else None
    acquisition = qLogNoisyExpectedImprovement(
        gp, x, sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0), X_pending=pending
    )
    found, value = optimize_acqf_discrete_local_search(
        acquisition,
        discrete_choices=choices_of(CATEGORICAL),
        q=2,
        num_restarts=2,
        raw_samples=32,
        X_avoid=x,
    )
    assert found.shape == (2, 5)
    assert torch.equal(found, found.round())
    anything = samples(CATEGORICAL, 64, 1, seed=3)
    assert value.max() >= acquisition(anything).median()


def test_mixed_optimisers_move_numbers_along_the_gradient():
    gp = mixed_gp()
    x, _ = data(MIXED)
    acquisition = qLogNoisyExpectedImprovement(
        gp, x, sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0)
    )
    options = {"maxiter": 20}
    held = dict(enumerate(x[0].tolist()))
    for column in NUMERIC:
        del held[int(column)]
    found, value = optimize_acqf(
        acquisition, BOUNDS, 1, 3, 16, options=options, fixed_features=held
    )
    grid = x[0].repeat(64, 1, 1)
    grid[..., torch.from_numpy(NUMERIC)] = torch.rand(64, 1, 2, dtype=torch.float64)
    assert value >= acquisition(grid).max() - 1e-3
    _, of_two = optimize_acqf_mixed(
        acquisition, BOUNDS, 1, 2, [held, {**held, 0: 2.0}], raw_samples=8, options=options
    )
    assert of_two >= value - 0.1
    categorical = {i: [0.0, 1.0, 2.0, 3.0] for i in range(4)}
    found, value = optimize_acqf_mixed_alternating(
        acquisition,
        BOUNDS,
        cat_dims=categorical,
        discrete_dims={4: [0.0, 1.0], 7: [0.0, 1.0, 2.0, 3.0, 4.0]},
        q=1,
        num_restarts=2,
        raw_samples=16,
        options={"maxiter_alternating": 2, "maxiter_continuous": 5, "maxiter_discrete": 2},
    )
    codes = found[:, torch.from_numpy(MIXED.is_discrete)]
    assert torch.equal(codes, codes.round())
    assert torch.isfinite(value)


def test_hypervolume_improvement(monkeypatch):
    # Or else BoTorch compiles a faster form of its own part first, for half a minute.
    monkeypatch.setattr(logei, "_load_attempted", True, raising=False)
    x, y = data(MIXED)
    models = ModelListGP(mixed_gp(), HeatGP(x, x[:, 5:6] - y, space=MIXED).fit())
    acquisition = logei.qLogNoisyExpectedHypervolumeImprovement(
        models,
        ref_point=[-2.0, -2.0],
        X_baseline=x,
        sampler=SobolQMCNormalSampler(torch.Size([16]), seed=0),
        prune_baseline=True,
        X_pending=samples(MIXED, 1, seed=3),
    )
    candidates = samples(MIXED, 5, 2).requires_grad_()
    values = acquisition(candidates)
    values.sum().backward()
    assert values.shape == (5,)
    assert torch.isfinite(candidates.grad).all()


# ------------------------------------------------------------------------------ mistakes


def test_mistakes_are_named():
    x, y = data(MIXED)

    def changed(column, value):
        wrong = x.clone()
        wrong[3, column] = value
        return wrong

    mistakes = {
        r"train_X must have 8 columns.*\(25, 7\)": (x[:, :7], y),
        r"train_X must have the shape \(n, d\).*\(1, 25, 8\)": (x[None], y),
        r"train_X must have the shape \(n, d\).*\(0, 8\)": (x[:0], y[:0]),
        r"codes 0 to 3 in column 1, parameter 'x1', got 4.0": (changed(1, 4.0), y),
        r"codes 0 to 1 in column 4, parameter 'b', got 0.5": (changed(4, 0.5), y),
        r"train_X must have a number .* NaN for 'f'": (changed(5, torch.nan), y),
        r"train_X must be finite, got inf": (changed(5, torch.inf), y),
        r"train_Y must have the shape \(25, 1\), got \(25,\)": (x, y[:, 0]),
        r"train_Y must have the shape \(25, 1\), got \(25, 2\)": (x, y.expand(-1, 2)),
        r"train_Y must be finite, got inf": (x, torch.where(y == y[0], torch.inf, y)),
        r"train_Yvar must have the shape": (x, y, y[:3]),
        r"train_Yvar must not be negative, got -1": (x, y, torch.full_like(y, -1.0)),
    }
    for message, arguments in mistakes.items():
        with pytest.raises(ValueError, match=message):
            HeatGP(*arguments, space=MIXED)
    gp = HeatGP(x, y, space=MIXED)
    with pytest.raises(ValueError, match=r"X must have 8 columns"):
        gp.posterior(x[:, :7])
    with pytest.raises(ValueError, match=r"X must have a number .* NaN for 'x1'"):
        gp.posterior(changed(1, torch.nan))


def test_the_package_does_not_load_it():
    code = "import sys, heat_plugins; assert not {'torch', 'botorch'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_program_may_want_exceptions_for_underflows():
    space = Space((Float("x", 0, 1), Categorical("c", range(4)), Integer("i", 0, 9)))
    x = torch.from_numpy(space.sample(40, np.random.default_rng(0)))
    y = (x[:, :1] - 0.3) ** 2 + (x[:, 1:2] != 2.0)
    asked = x[:5, None].clone().requires_grad_(True)
    with np.errstate(all="raise"):
        posterior = HeatGP(x, y, space=space).fit().posterior(asked)
        (posterior.mean.sum() + posterior.variance.sum()).backward()
        HeatGP(x, 1e-200 * y, space=space).fit()
    assert bool(asked.grad.isfinite().all())
