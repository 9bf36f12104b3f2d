"""Every kernel and structure of the sampler as a trainable GPyTorch kernel."""

import unittest
from itertools import product

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood

from heat_plugins.kernels.base import STARTING_TOTALS
from heat_plugins.kernels.baselines.spectral import GraphMatern, SpectralKernel
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    LabelledGraph,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.torch import CombinatorialKernel
from heat_plugins.torch.prior import inside

from ..kernels.test_contract import CHOSEN, MODELS, SPACES
from . import shared
from .shared import codes, dense

MIXED = SPACES["mixed"]
NUMERIC = torch.from_numpy(np.flatnonzero(~MIXED.is_discrete))
CASES = pytest.mark.parametrize(("space_name", "name"), [*product(SPACES, MODELS)])
EXACT = {"rtol": 0.0, "atol": 1e-12}


def of_model(space, model, **kwargs):
    """Build a kernel in double precision from a model."""
    known = {"graphs": model.graphs, "order": model.order}
    known["quantitative"] = {name: s for name, s in model.scales.items() if name in space.column}
    return CombinatorialKernel(
        space,
        model.kernel,
        ard=model.ard,
        structure=model.structure,
        mixing=model.mixing,
        **known,
        **kwargs,
    ).double()


def kernel_of(space_name, name, seed=0, **kwargs):
    """Build a kernel with hyperparameters away from where a fit starts."""
    kernel = of_model(SPACES[space_name], MODELS[name], **kwargs)
    rng = np.random.default_rng(seed)
    moves = 0.3 * rng.standard_normal(kernel.theta.shape)
    if name in CHOSEN:
        moves[0] = 0.1  # another would be a step to other decays, or rounds
    kernel.theta = inside(kernel.theta.detach().numpy() + moves, kernel.numpy_kernel.bounds)
    return kernel


def samples(space, *shape, seed=7):
    points = space.sample(int(np.prod(shape)), np.random.default_rng(seed))
    return torch.from_numpy(points.reshape(*shape, len(space)))


def slopes_by_differences(function, x, step):
    """Return the gradient of a function of a tensor by central differences."""
    gradient = torch.zeros_like(x)
    for place in np.ndindex(*x.shape):
        move = torch.zeros_like(x)
        move[place] = step
        with torch.no_grad():
            gradient[place] = (function(x + move) - function(x - move)) / (2.0 * step)
    return gradient


def assert_gradient(function, x, step=1e-5, rtol=1e-5, atol=1e-7):
    x = x.detach().clone().requires_grad_()
    (found,) = torch.autograd.grad(function(x), x)
    expected = slopes_by_differences(function, x.detach(), step)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    return expected


# ------------------------------------------------------------------------------- values


@CASES
def test_kernel_is_that_in_numpy_and_one_function_of_two_points(space_name, name):
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    first, second = samples(space, 9), samples(space, 7, seed=8)
    both = dense(kernel, torch.cat([first, second]))
    np.testing.assert_allclose(both, both.T, rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(both)[0] > -1e-10
    np.testing.assert_allclose(dense(kernel, first, second), both[:9, 9:], **EXACT)
    np.testing.assert_allclose(dense(kernel, second), both[9:, 9:], **EXACT)
    pairs = kernel(first[:7], second, diag=True).detach()
    np.testing.assert_allclose(pairs, np.diagonal(both[:7, 9:]), **EXACT)
    np.testing.assert_allclose(kernel(first, diag=True).detach(), np.diagonal(both)[:9], **EXACT)
    numpy_kernel, theta = kernel.numpy_kernel, kernel.theta.detach().numpy()
    points = torch.cat([first, second]).numpy()
    np.testing.assert_allclose(
        both, numpy_kernel.matrix(theta, numpy_kernel.prepare(points)), **EXACT
    )


# ---------------------------------------------------------------------------- gradients


@CASES
def test_gradients_in_the_hyperparameters(space_name, name):
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    x = samples(space, 6)
    other = torch.cat([x[4:], samples(space, 3, seed=8)])  # some points on both sides
    rng = np.random.default_rng(1)
    weights = [torch.from_numpy(rng.standard_normal(shape)) for shape in ((6, 6), (6, 5), (6,))]

    def number(raw):
        found = [
            shared.with_parameters(kernel, {"raw_theta": raw}, *arguments)
            for arguments in ((x, x, False), (x, other, False), (x, x, True))
        ]
        return sum((its * weight).sum() for its, weight in zip(found, weights, strict=True))

    # A function of one's own has slopes by differences itself.
    atol = 1e-5 if name == "function" else 1e-7
    expected = assert_gradient(number, kernel.raw_theta, atol=atol)
    assert (expected.abs().max() > 1e-3) == ((space_name, name) != ("choices", "ssk"))


@pytest.mark.parametrize("name", MODELS)
def test_gradients_in_the_numbers_of_both_points(name):
    kernel = kernel_of("mixed", name)
    x, other = samples(MIXED, 3), samples(MIXED, 2, seed=8)
    rng = np.random.default_rng(1)
    weights = [torch.from_numpy(rng.standard_normal(shape)) for shape in ((3, 3), (3, 2), (3,))]

    def number(numbers):
        first, second = x.clone(), other.clone()
        first[:, NUMERIC], second[:, NUMERIC] = numbers[:3], numbers[3:]
        found = [kernel(first), kernel(first, second)]
        found = [lazy.to_dense() for lazy in found] + [kernel(first, diag=True)]
        return sum((its * weight).sum() for its, weight in zip(found, weights, strict=True))

    numbers = torch.cat([x, other])[:, NUMERIC]
    expected = assert_gradient(number, numbers, rtol=1e-4, atol=1e-6)
    assert expected.abs().max() > 1e-4


def test_gradients_in_both_at_once_and_in_batches():
    kernel = kernel_of("mixed", "orthogonal orders", batch_shape=torch.Size([2]))
    x = samples(MIXED, 2, 4)

    def matrices(raw, numbers):
        moved = x.clone()
        moved[..., NUMERIC] = numbers
        return shared.with_parameters(kernel, {"raw_theta": raw}, moved, moved[:, :3])

    raw = kernel.raw_theta.detach().clone().requires_grad_()
    numbers = x[..., NUMERIC].clone().requires_grad_()
    assert torch.autograd.gradcheck(matrices, (raw, numbers), fast_mode=True, atol=1e-6)


# ------------------------------------------------------------------------------ batches


@CASES
def test_batches_of_hyperparameters_and_points(space_name, name):
    kernel = kernel_of(space_name, name, batch_shape=torch.Size([2]))
    assert kernel.theta.shape == (2, kernel.numpy_kernel.n_hyperparameters)
    singles = [kernel_of(space_name, name) for _ in range(2)]
    for i, single in enumerate(singles):
        single.raw_theta.data = kernel.raw_theta.data[i].clone()
    shared.check_batch(kernel, singles, samples(SPACES[space_name], 3, 2, 6), **EXACT)


def test_members_of_a_batch_keep_their_active_columns():
    columns, x = [4, 1, 2], codes(7, (3,) * 6)
    kernel = CombinatorialKernel([3] * 3, batch_shape=torch.Size([2]), active_dims=columns)
    kernel = kernel.double()
    kernel.raw_theta.data[1] += 1.0
    matrices = dense(kernel, x)
    plain = CombinatorialKernel([3] * 3, batch_shape=torch.Size([2])).double()
    plain.load_state_dict(kernel.state_dict(), strict=False)
    np.testing.assert_allclose(matrices, dense(plain, x[:, columns]), **EXACT)
    for index in (0, -1, slice(1, 2), [1, 0], None, (0,)):
        np.testing.assert_allclose(dense(kernel[index], x), matrices[index], **EXACT)


# -------------------------------------------------------------------------------- state


@pytest.mark.parametrize("name", MODELS)
def test_state_survives_copies(name):
    kernel = kernel_of("mixed", name)
    restored = of_model(MIXED, MODELS[name])
    shared.check_copies(kernel, restored, samples(MIXED, 8))


def test_hyperparameters_start_where_a_fit_does_and_stay_within_bounds():
    kernel = CombinatorialKernel([3, 4, 5]).double()
    start = kernel.numpy_kernel.start(1.0)
    np.testing.assert_allclose(kernel.theta.detach(), start, rtol=1e-5)
    kernel.theta = start
    np.testing.assert_allclose(kernel.theta.detach(), start, rtol=1e-12)
    with pytest.raises(RuntimeError, match="out of bounds"):
        kernel.theta = np.full(4, 99.0)
    kernel.raw_theta.data[:] = torch.tensor([-1e4, 1e4, -80.0, 80.0])
    shared.check_finite(kernel, codes(6, (3, 4, 5)))


def test_prior_is_that_in_numpy():
    kernel = kernel_of("mixed", "orthogonal orders", batch_shape=torch.Size([2]))
    (name, _, prior, closure, _), *others = kernel.named_priors()
    assert name == "theta_prior" and not others
    theta = closure(kernel)
    expected = [-kernel.numpy_kernel.prior(row)[0] for row in theta.detach().numpy()]
    np.testing.assert_allclose(prior.log_prob(theta).detach(), expected, rtol=1e-12)
    assert_gradient(lambda its: prior.log_prob(its).sum(), theta)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kernel.sample_from_prior("theta_prior")
        drawn = prior.sample(torch.Size([50]))
    low, high = kernel.numpy_kernel.bounds.T
    assert drawn.shape == (50, len(low))
    assert np.all((drawn.numpy() > low) & (drawn.numpy() < high))
    assert len(np.unique(drawn.numpy()[:, 0])) == 50 > len(STARTING_TOTALS)
    assert not [*CombinatorialKernel([3, 3], prior=False).named_priors()]


def test_a_numpy_kernel_is_a_kernel_too():
    space = Space(tuple(Categorical(f"c{i}", range(3)) for i in range(4)))
    numpy_kernel = SpectralKernel(space, np.arange(4), GraphMatern(4))
    x = samples(space, 8)
    np.testing.assert_array_equal(
        dense(CombinatorialKernel(space, numpy_kernel), x),
        dense(CombinatorialKernel(space, "graph-matern"), x),
    )


# ------------------------------------------------------------------------------- inputs


def test_what_is_no_code_is_refused_and_rounded_in_predictions():
    space = Space((Categorical("a", "abc"), Float("f", 0, 1), Categorical("b", "abc")))
    kernel, x = CombinatorialKernel(space).double(), samples(space, 6)
    between = x.clone()
    between[:, [0, 2]] += 0.4
    expected = dense(kernel, x)
    for wrong, message in ((0.5, "got 0.5"), (3.0, "got 3.0"), (-1.0, "got -1.0")):
        moved = x.clone()
        moved[0, 2] = wrong
        with pytest.raises(
            ValueError, match=f"variable 2 must be integers from 0 to 2, {message}"
        ):
            dense(kernel, moved)
    with gpytorch.settings.debug(False):
        np.testing.assert_allclose(dense(kernel, between), expected, **EXACT)
        beyond = x.clone()
        beyond[x[:, 0] == 2.0, 0] = 7.0
        np.testing.assert_allclose(dense(kernel, beyond), expected, **EXACT)
    missing = x.clone()
    missing[0, 1] = torch.nan
    with pytest.raises(ValueError, match="parameter 'f' must be a number, got nan"):
        dense(kernel, missing)
    with pytest.raises(ValueError, match="must have 3 columns, one for each parameter, got 2"):
        dense(kernel, x[:, :2])


def test_integer_tensors_are_codes_too():
    kernel, x = CombinatorialKernel([3, 4]), codes(7, (3, 4)).float()
    np.testing.assert_array_equal(dense(kernel, x.long()), dense(kernel, x))
    assert dense(kernel, x).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([2, 0],), ValueError, r"integers of at least 1, got \[2.0, 0.0\]"),
        (([],), ValueError, r"integers of at least 1, got \[\]"),
        ((3,), TypeError, r"number of choices of each column, such as \[3\] \* 10, got 3"),
        (([3, 3], "matern52"), ValueError, "kernel must be one of .* got 'matern52'"),
        (([3, 3], "heat", {"structure": "auto"}), ValueError, "must not be 'auto'"),
        (
            ([3, 3], "heat", {"structure": PermutationInvariant(["x0", "y"])}),
            ValueError,
            r"must be among \['x0', 'x1'\], got \['y'\]",
        ),
        (([3, 3], "heat", {"active_dims": [1]}), ValueError, "must name 2 columns, .* got 1"),
    ],
)
def test_mistakes_are_named(arguments, error, message):
    *given, kwargs = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(error, match=message):
        CombinatorialKernel(*given, **kwargs)


# --------------------------------------------------------------------- GPyTorch, BoTorch


FITTED = ["heat", "matern", "graph-matern", "group sum", "orthogonal orders", "decomposition"]


@pytest.mark.parametrize("name", FITTED)
def test_botorch_fits_and_optimises_with_it(name):
    x = samples(MIXED, 14)
    y = ((x[:, 1] == 2).double() - x[:, 0] + 0.1 * x[:, 8]).unsqueeze(-1)
    kernel = of_model(MIXED, MODELS[name])
    shared.check_botorch(kernel, x, y, samples(MIXED, 10, 2, seed=5))


def test_a_fit_of_botorch_predicts_about_as_well_as_ours():
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskGP

    from heat_plugins.botorch import HeatGP

    space = Space((*(Categorical(f"c{i}", range(4)) for i in range(4)), Float("f", 0, 1)))
    x = samples(space, 40)
    y = (x[:, 0] == 2).double() + torch.sin(4.0 * x[:, 4]) + 0.3 * (x[:, 1] == x[:, 2]).double()
    kernel = CombinatorialKernel(space).double()
    model = SingleTaskGP(x, y[:, None], covar_module=ScaleKernel(kernel))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    others = samples(space, 200, seed=1)
    truth = (others[:, 0] == 2).double() + torch.sin(4.0 * others[:, 4])
    truth = truth + 0.3 * (others[:, 1] == others[:, 2]).double()
    ours = HeatGP(x, y[:, None], space=space).fit()
    errors = [
        float((its.posterior(others).mean.detach()[:, 0] - truth).square().mean().sqrt())
        for its in (model, ours)
    ]
    assert errors[0] < 1.3 * errors[1]
    assert int(kernel.theta[:4].argmax()) == 0  # the choice that matters most


def test_a_batch_of_models_trains():
    x = codes(12, (3, 3), batch=(2,))
    y = torch.stack([x[0, :, 0], x[1, :, 1]])

    class Independent(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, y, GaussianLikelihood(batch_shape=torch.Size([2])))
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=torch.Size([2]))
            kernel = CombinatorialKernel([3, 3], batch_shape=torch.Size([2]))
            self.covar_module = ScaleKernel(kernel, batch_shape=torch.Size([2]))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    model = Independent().double()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        (-mll(model(x), y).sum()).backward()
        optimizer.step()
    theta = model.covar_module.base_kernel.theta.detach()
    assert theta[0, 0] > theta[0, 1] and theta[1, 1] > theta[1, 0]


class Contract(shared.TwoColumnsContract):
    """GPyTorch's own kernel tests, on two columns of four choices."""

    arguments = {}
    has_ard = False

    def create_kernel_no_ard(self, **kwargs):
        return CombinatorialKernel([4, 4], **self.arguments, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        return self.create_kernel_no_ard(**kwargs)


def laplace(r):
    return np.exp(-r)


PAIR = ["x0", "x1"]
PAIR_GRAPH = LabelledGraph(["x0", "in"], {("x0", "in"): "x1"}, fixed=["in"], no_edge=[0])
CONTRACTS = {
    **{name: {"kernel": name} for name in kernels_without_graph()},
    "function": {"kernel": laplace},
    "isotropic": {"ard": False},
    "path": {"kernel": "combo", "graphs": {"x0": "path"}},
    "additive": {"structure": Additive()},
    "orders": {"structure": InteractionOrders(2, orthogonal=False)},
    "orthogonal": {"structure": InteractionOrders(2)},
    "decomposition": {"structure": RandomDecomposition()},
    **{
        kernel + " of a graph": {"kernel": kernel, "structure": PAIR_GRAPH}
        for kernel in ("heat", "weisfeiler-lehman")
    },
    **{
        method: {"structure": PermutationInvariant(PAIR, method)}
        for method in ("padded-sort", "sort", "product", "sum")
    },
}
for _name, _arguments in CONTRACTS.items():
    _title = f"Test{_name.title().replace('-', '').replace(' ', '')}Contract"
    globals()[_title] = type(
        _title, (Contract, unittest.TestCase), {"arguments": _arguments, "__module__": __name__}
    )
del _name, _arguments, _title
