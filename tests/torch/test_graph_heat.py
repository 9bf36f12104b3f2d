"""The heat kernel of any graphs against matrix functions, and in GPyTorch and BoTorch."""

import pickle
import unittest
from functools import reduce

import networkx
import numpy as np
import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.priors import GammaPrior
from scipy.linalg import expm

from heat_plugins.space.graphs import adjacency, laplacian
from heat_plugins.torch import GraphHeatKernel, HeatKernel

from . import shared
from .shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-11, "atol": 1e-13}
SIZES = (2, 5, 1, 3)
GRAPHS = ("complete", "path", "complete", "path")
BETAS = (0.4, 0.3, 0.7, 1.2)


def path_kernel(n_choices, **kwargs):
    return GraphHeatKernel(n_choices, "path", **kwargs)


KERNELS = {"closed": GraphHeatKernel, "path": path_kernel}


def random_codes(n, sizes=SIZES, **kwargs):
    return codes(n, sizes, **kwargs)


def heat_matrix(graphs, sizes, betas):
    """exp(-sum_i b_i L_i) on all vertices, the last variable fastest."""
    factors = [
        expm(-beta * laplacian(adjacency(graph, g)))
        for graph, g, beta in zip(graphs, sizes, betas, strict=True)
    ]
    return reduce(np.kron, factors)


def correlations(matrix):
    scale = np.sqrt(np.diag(matrix))
    return matrix / np.outer(scale, scale)


def graph_heat(graphs=GRAPHS, sizes=SIZES, beta=BETAS, **kwargs):
    """Build a float64 kernel with the given diffusion times."""
    if not isinstance(beta, float):
        kwargs["ard_num_dims"] = len(beta)
    kernel = GraphHeatKernel(sizes, graphs, **kwargs).double()
    kernel.beta = beta
    return kernel


STAR = np.zeros((5, 5))
STAR[0, 1:] = STAR[1:, 0] = 0.5  # Weighted.
PARTED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]])  # Not connected.
SOME_GRAPHS = [
    ("complete",) * 4,
    ("path",) * 4,
    ("cycle",) * 4,
    GRAPHS,
    ("path", STAR, "complete", PARTED),
    ("complete", networkx.cycle_graph(5), networkx.empty_graph(1), networkx.path_graph(3)),
]


@pytest.mark.parametrize("graphs", SOME_GRAPHS)
@pytest.mark.parametrize("spectral", [True, False])
@pytest.mark.parametrize("beta", [0.3, BETAS])
def test_heat_kernel_is_the_matrix_exponential(graphs, spectral, beta):
    expected = heat_matrix(graphs, SIZES, np.broadcast_to(beta, 4))
    x = vertices(SIZES)
    plain = graph_heat(graphs, beta=beta, normalize=False, spectral=spectral)
    np.testing.assert_allclose(dense(plain, x), expected, **TOLERANCE)
    np.testing.assert_allclose(plain(x, diag=True).detach(), np.diag(expected), **TOLERANCE)
    unit = graph_heat(graphs, beta=beta, spectral=spectral)
    np.testing.assert_allclose(dense(unit, x), correlations(expected), **TOLERANCE)
    np.testing.assert_allclose(unit(x, diag=True).detach(), 1.0, **TOLERANCE)


def test_one_name_or_one_graph_stands_for_all_variables():
    x, beta = random_codes(9, (4, 4, 4)), (0.2, 0.5, 1.0)
    expected = dense(graph_heat(("path",) * 3, (4,) * 3, beta), x)
    for graphs, sizes in [
        ("path", (4,) * 3),
        ("path", 4),
        (networkx.path_graph(4), 4),
        (adjacency("path", 4), 4),
        ([adjacency("path", 4), "path", networkx.path_graph(4)], (4,) * 3),
    ]:
        np.testing.assert_allclose(dense(graph_heat(graphs, sizes, beta), x), expected)


def test_complete_graphs_take_the_closed_form():
    x, heat = random_codes(9), HeatKernel(SIZES, ard_num_dims=4).double()
    heat.beta = BETAS
    closed = graph_heat("complete")
    assert closed._eigenpairs == [None] * 4 and closed.is_stationary
    np.testing.assert_array_equal(dense(closed, x), dense(heat, x))
    spectral = graph_heat("complete", spectral=True)
    assert None not in spectral._eigenpairs
    np.testing.assert_allclose(dense(spectral, x), dense(heat, x), **TOLERANCE)
    np.testing.assert_array_equal(spectral.rates.detach(), 0.0)


def test_ends_of_a_path_have_more_variance_before_normalising():
    kernel = graph_heat("path", (9,), 0.5, normalize=False)
    variance = kernel(vertices((9,)), diag=True).detach().numpy()
    assert 1.2 < variance[0] / variance[4] < 2.0
    cycle = graph_heat("cycle", (9,), 0.5, normalize=False)
    assert np.ptp(cycle(vertices((9,)), diag=True).detach().numpy()) < 1e-15


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_gradients_in_beta_are_right(ard, normalize):
    kernel = graph_heat(beta=BETAS if ard else 0.3, normalize=normalize)
    shared.check_gradients(kernel, random_codes(4), random_codes(3, seed=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
@pytest.mark.parametrize("name", KERNELS)
def test_extreme_parameters_give_finite_values_and_gradients(name, raw, dtype):
    kernel = KERNELS[name](SIZES).to(dtype)
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, raw)
    matrix = shared.check_finite(kernel, random_codes(6).to(dtype))
    assert matrix.dtype == dtype
    np.testing.assert_allclose(matrix.diagonal(), 1.0, atol=4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("name", KERNELS)
def test_batched_parameters_and_batched_points_broadcast(name):
    x = random_codes(6, batch=(3, 2))
    kernel = KERNELS[name](SIZES, batch_shape=torch.Size([2])).double()
    singles = [KERNELS[name](SIZES).double() for _ in range(2)]
    for raw, *each in zip(*(k.parameters() for k in (kernel, *singles)), strict=True):
        raw.data = torch.linspace(-0.9, 0.7, raw.numel()).double().reshape(raw.shape)
        for j in range(2):
            each[j].data = raw.data[j].clone()
    shared.check_batch(kernel, singles, x, **TOLERANCE)


@pytest.mark.parametrize("name", KERNELS)
def test_integer_tensors_are_codes_too(name):
    x, kernel = random_codes(7), KERNELS[name](SIZES).double()
    np.testing.assert_array_equal(dense(kernel, x.long()), dense(kernel, x))


@pytest.mark.parametrize("name", KERNELS)
def test_state_survives_copies(name):
    kernel, restored = KERNELS[name](SIZES), KERNELS[name](SIZES)
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, -0.4)
    shared.check_copies(kernel, restored, random_codes(8))


def test_priors_and_constraints_belong_to_their_parameters():
    prior, constraint = GammaPrior(2.0, 4.0), Interval(0.01, 2.0)
    kernel = path_kernel(SIZES, beta_prior=prior, beta_constraint=constraint)
    kernel.beta = 0.5
    with pytest.raises(RuntimeError, match="out of bounds"):
        kernel.beta = 3.0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        kernel.sample_from_prior("beta_prior")
    assert kernel.beta.item() != 0.5
    assert len(list(pickle.loads(pickle.dumps(kernel)).named_priors())) == 1


@pytest.mark.parametrize(
    ("create", "error", "message"),
    [
        (lambda: GraphHeatKernel((2, 3), ["path"]), ValueError, "= 2 entries, got 1"),
        (lambda: GraphHeatKernel((2, 3), "ring"), ValueError, "'variable 0' must be one of"),
        (
            lambda: GraphHeatKernel((2, 3), ["path", np.zeros((2, 2))]),
            ValueError,
            "'variable 1' must have 3 vertices",
        ),
        (lambda: GraphHeatKernel((2, 3), ard_num_dims=3), ValueError, "= 2, got 3"),
    ],
)
def test_construction_errors_give_expected_and_actual(create, error, message):
    with pytest.raises(error, match=message):
        create()


def test_inputs_that_are_not_codes_are_refused():
    kernel = GraphHeatKernel((2, 3), "path")
    with pytest.raises(ValueError, match="must have 2 columns, one for each .*, got 3"):
        kernel(torch.zeros(4, 3)).to_dense()
    with pytest.raises(ValueError, match="variable 1 must be integers from 0 to 2, got 3"):
        kernel(torch.tensor([[0.0, 3.0]])).to_dense()


@pytest.mark.parametrize("name", KERNELS)
def test_botorch_fits_and_optimises_with_it(name):
    x = random_codes(14)
    y = ((x[:, 1] == 2).double() - x[:, 0] + 0.1 * x[:, 3]).unsqueeze(-1)
    kernel = KERNELS[name](SIZES, ard_num_dims=4)
    shared.check_botorch(kernel, x, y, random_codes(2, seed=5, batch=(10,)))


class _Contract(shared.CodesContract):
    name = ""

    def create_kernel_no_ard(self, **kwargs):
        return KERNELS[self.name](4, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        return KERNELS[self.name]((4,) * num_dims, ard_num_dims=num_dims, **kwargs)


class TestClosedFormContract(_Contract, unittest.TestCase):
    name = "closed"


class TestPathContract(_Contract, unittest.TestCase):
    name = "path"
