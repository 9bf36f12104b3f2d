"""The kernels of graph spectra against matrix functions, and as parts of GPyTorch and BoTorch."""

import math
import pickle
import unittest
from functools import reduce
from itertools import product

import networkx
import numpy as np
import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.priors import GammaPrior
from scipy.linalg import expm

from heat_plugins.graphs import adjacency, laplacian
from heat_plugins.kernels import HeatKernel
from heat_plugins.kernels.hamming_spectrum import MAX_TABLE_ENTRIES, krawtchouk_ratios
from heat_plugins.kernels.spectral import GraphMaternKernel, InversePolynomialKernel, PhiKernel
from heat_plugins.torch.graph_heat import GraphHeatKernel

from ..torch import shared
from ..torch.shared import codes, dense, vertices

TOLERANCE = {"rtol": 1e-11, "atol": 1e-13}
SIZES = (2, 5, 1, 3)
GRAPHS = ("complete", "path", "complete", "path")
BETAS = (0.4, 0.3, 0.7, 1.2)


class Exponential(torch.nn.Module):
    """Phi of the heat kernel, a module with a parameter of its own."""

    def __init__(self, beta=0.2, dtype=torch.float64):
        super().__init__()
        self.log_beta = torch.nn.Parameter(torch.tensor(math.log(beta), dtype=dtype))

    def forward(self, eigenvalues):
        return torch.exp(-self.log_beta.exp() * eigenvalues)


def step(eigenvalues):
    """Phi of a kernel whose functions have no part above the eigenvalue 5."""
    return (eigenvalues <= 5.0).double()


def phi_kernel(n_choices, **kwargs):
    return PhiKernel(n_choices, Exponential(dtype=torch.float32), **kwargs)


def path_kernel(n_choices, **kwargs):
    return GraphHeatKernel(n_choices, "path", **kwargs)


KERNELS = {
    "closed": GraphHeatKernel,
    "path": path_kernel,
    "phi": phi_kernel,
    "matern": GraphMaternKernel,
    "polynomial": InversePolynomialKernel,
}
HAS_ARD = ["closed", "path"]
# Kernels whose parameters are their own, and have priors.
PRIORS = {
    "path": ["beta"],
    "matern": ["kappa"],
    "polynomial": ["coefficients", "epsilon"],
}


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


def test_last_dim_as_batch_gives_one_factor_per_variable():
    x = random_codes(7)
    for normalize, graphs in product((True, False), (GRAPHS, "complete")):
        kernel = graph_heat(graphs, normalize=normalize)
        factors = kernel.forward(x, x[:5], last_dim_is_batch=True).detach()
        assert factors.shape == (4, 7, 5)
        np.testing.assert_allclose(factors.prod(dim=0), dense(kernel, x, x[:5]), **TOLERANCE)
        pairs = kernel.forward(x[:5], x[2:], diag=True, last_dim_is_batch=True).detach()
        assert pairs.shape == (4, 5)
        expected = np.diag(dense(kernel, x[:5], x[2:]))
        np.testing.assert_allclose(pairs.prod(dim=0), expected, **TOLERANCE)


def krawtchouk_number(level, h, m, g):
    return sum(
        (-1) ** j * (g - 1) ** (level - j) * math.comb(h, j) * math.comb(m - h, level - j)
        for j in range(level + 1)
    )


@pytest.mark.parametrize(("m", "g"), [(1, 2), (1, 7), (6, 2), (5, 3), (60, 2), (40, 11)])
def test_krawtchouk_ratios_are_exact_symmetric_and_orthogonal(m, g):
    actual = krawtchouk_ratios(m, g)
    first = [krawtchouk_number(level, 0, m, g) for level in range(m + 1)]
    for level, h in product(range(m + 1), range(0, m + 1, max(1, m // 6))):
        expected = krawtchouk_number(level, h, m, g) / first[level]
        assert actual[level, h].item() == expected
    np.testing.assert_array_equal(actual, actual.T)
    if m <= 6:
        # Divided by the roots of their norms, the rows are orthonormal under the counts of
        # points at each distance, which are the multiplicities again.
        root = np.sqrt(np.array(first, dtype=float) / g ** (m / 2))
        unit = actual.numpy() * np.outer(root, root)
        np.testing.assert_allclose(unit @ unit.T, np.eye(m + 1), atol=1e-13)


def laplacian_of_the_product(sizes):
    total = np.zeros((1, 1))
    for g in sizes:
        factor = g * np.eye(g) - np.ones((g, g))
        total = np.kron(total, np.eye(g)) + np.kron(np.eye(len(total)), factor)
    return total


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 4, 2, 3), (4, 1, 2, 2), (1, 1), (6,)])
def test_phi_kernels_are_functions_of_the_products_laplacian(sizes):
    values, vectors = np.linalg.eigh(laplacian_of_the_product(sizes))
    matern = GraphMaternKernel(sizes, nu=1.3).double()
    polynomial = InversePolynomialKernel(sizes, n_terms=4).double()
    polynomial.coefficients, polynomial.epsilon = [0.5, 0.1, 0.7, 0.2], 0.3
    matern.kappa = 1.7
    # The null eigenvalue is zero only up to rounding, and step() looks at exact eigenvalues.
    values = values.round(12)
    expected_phi = {
        PhiKernel(sizes, step): values <= 5.0,
        PhiKernel(sizes, Exponential(0.2)): np.exp(-0.2 * values),
        matern: (2 * 1.3 / 1.7**2 + values) ** -1.3,
        polynomial: sum(1 / (b * values**p + 0.3) for p, b in enumerate([0.5, 0.1, 0.7, 0.2])),
    }
    for kernel, phi in expected_phi.items():
        expected = correlations(vectors * phi @ vectors.T)
        np.testing.assert_allclose(dense(kernel, vertices(sizes)), expected, **TOLERANCE)


def test_one_number_of_choices_stands_for_all_variables():
    x = random_codes(9, (3, 3, 3))
    for cls in (GraphMaternKernel, InversePolynomialKernel):
        np.testing.assert_array_equal(dense(cls(3).double(), x), dense(cls((3, 3, 3)).double(), x))


def test_a_variable_with_one_choice_collapses():
    x, kept = random_codes(10), [0, 1, 3]
    for cls in (GraphMaternKernel, InversePolynomialKernel):
        without = cls([SIZES[i] for i in kept]).double()
        np.testing.assert_allclose(
            dense(cls(SIZES).double(), x), dense(without, x[:, kept]), **TOLERANCE
        )


def test_per_variable_phi_kernels_are_those_of_single_variables():
    x = random_codes(7)
    kernel = GraphMaternKernel(SIZES).double()
    factors = kernel.forward(x, x[:5], last_dim_is_batch=True).detach()
    assert factors.shape == (4, 7, 5)
    for i, g in enumerate(SIZES):
        single = GraphMaternKernel((g,)).double()
        np.testing.assert_allclose(factors[i], dense(single, x[:, [i]], x[:5, [i]]), **TOLERANCE)
    pairs = kernel.forward(x[:5], x[2:], diag=True, last_dim_is_batch=True).detach()
    expected = kernel.forward(x[:5], x[2:], last_dim_is_batch=True).detach()
    np.testing.assert_allclose(pairs, expected.diagonal(dim1=-2, dim2=-1), **TOLERANCE)


def test_a_space_of_many_variables_is_no_trouble():
    # 20^440 vertices: neither their number nor its inverse is a float. The heat kernel knows.
    sizes = (20,) * 440
    heat = HeatKernel(sizes).double()
    heat.beta = 0.05
    table = PhiKernel(sizes, Exponential(0.05)).table(sizes).detach()
    rates = heat.rates.detach()[0, 0] * torch.arange(441)
    np.testing.assert_allclose(table, torch.exp(-rates), rtol=1e-10, atol=1e-14)
    matern = GraphMaternKernel(sizes, nu=400.0).double().table(sizes)
    assert torch.isfinite(matern).all() and matern[0] == 1.0


def test_a_phi_that_is_zero_somewhere_has_gradients():
    class Clipped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.slope = torch.nn.Parameter(torch.tensor(0.3))

        def forward(self, eigenvalues):
            return (2.0 - self.slope * eigenvalues).clamp_min(0.0)

    kernel = PhiKernel((3, 4), Clipped()).double()
    kernel(random_codes(6, (3, 4))).to_dense().sum().backward()
    assert torch.isfinite(kernel.phi.slope.grad) and kernel.phi.slope.grad != 0.0


def test_too_large_tables_are_refused():
    with pytest.raises(ValueError, match=f"at most {MAX_TABLE_ENTRIES} entries, got 1030301"):
        GraphMaternKernel((2,) * 100 + (3,) * 100 + (4,) * 100)
    with pytest.raises(ValueError, match="got 251001 for groups of .500. variables with .2."):
        GraphMaternKernel((2,) * 500)
    shared = GraphMaternKernel(2)  # How many variables there are shows when it is evaluated.
    with pytest.raises(ValueError, match="got 251001"):
        shared(torch.zeros(2, 500)).to_dense()


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_gradients_in_beta_are_right(ard, normalize):
    kernel = graph_heat(beta=BETAS if ard else 0.3, normalize=normalize)
    shared.check_gradients(kernel, random_codes(4), random_codes(3, seed=1))


@pytest.mark.parametrize("name", ["phi", "matern", "polynomial"])
def test_gradients_in_the_parameters_of_phi_are_right(name):
    kernel = KERNELS[name](SIZES).double()
    shared.check_gradients(kernel, random_codes(4), random_codes(3, seed=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-2000.0, -80.0, 80.0, 2000.0])
@pytest.mark.parametrize("name", ["closed", "path", "matern", "polynomial"])
def test_extreme_parameters_give_finite_values_and_gradients(name, raw, dtype):
    kernel = KERNELS[name](SIZES).to(dtype)
    for parameter in kernel.parameters():
        torch.nn.init.constant_(parameter, raw)
    matrix = shared.check_finite(kernel, random_codes(6).to(dtype))
    assert matrix.dtype == dtype
    np.testing.assert_allclose(matrix.diagonal(), 1.0, atol=4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["closed", "path", "matern", "polynomial"])
def test_batched_parameters_and_batched_points_broadcast(name):
    x = random_codes(6, batch=(3, 2))
    kernel = KERNELS[name](SIZES, batch_shape=torch.Size([2])).double()
    singles = [KERNELS[name](SIZES).double() for _ in range(2)]
    for raw, *each in zip(*(k.parameters() for k in (kernel, *singles)), strict=True):
        raw.data = torch.linspace(-0.9, 0.7, raw.numel()).double().reshape(raw.shape)
        for j in range(2):
            each[j].data = raw.data[j].clone()
    shared.check_batch(kernel, singles, x, **TOLERANCE)
    per_variable = kernel.forward(x, x, last_dim_is_batch=True)
    assert per_variable.shape == (3, 2, 4, 6, 6)


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


@pytest.mark.parametrize("name", PRIORS)
def test_priors_and_constraints_belong_to_their_parameters(name):
    arguments = {}
    for parameter in PRIORS[name]:
        arguments[f"{parameter}_prior"] = GammaPrior(2.0, 4.0)
        arguments[f"{parameter}_constraint"] = Interval(0.01, 2.0)
    kernel = KERNELS[name](SIZES, **arguments)
    assert [n for n, *_ in kernel.named_priors()] == [f"{p}_prior" for p in PRIORS[name]]
    for parameter in PRIORS[name]:
        setattr(kernel, parameter, 0.5)
        np.testing.assert_allclose(getattr(kernel, parameter).detach(), 0.5, rtol=1e-6)
        with pytest.raises(RuntimeError, match="out of bounds"):
            setattr(kernel, parameter, 3.0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            kernel.sample_from_prior(f"{parameter}_prior")
        assert not torch.all(getattr(kernel, parameter) == 0.5)
    restored = pickle.loads(pickle.dumps(kernel))
    assert len(list(restored.named_priors())) == len(PRIORS[name])


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
        (lambda: PhiKernel((2, 0), step), ValueError, r"at least 1, got \[2.0, 0.0\]"),
        (lambda: PhiKernel((2, 3), 1.0), TypeError, "phi must be callable, got float"),
        (lambda: GraphMaternKernel((2, 3), nu=0.0), ValueError, "finite, got 0.0"),
        (lambda: GraphMaternKernel((2, 3), active_dims=(1,)), ValueError, "= 2, got 1"),
        (
            lambda: GraphMaternKernel((2, 3), kappa_prior=1.0),
            TypeError,
            "kappa_prior must be .*Prior, got float",
        ),
        (lambda: InversePolynomialKernel((2, 3), 1), ValueError, "at least 2, got 1"),
    ],
)
def test_construction_errors_give_expected_and_actual(create, error, message):
    with pytest.raises(error, match=message):
        create()


def test_inputs_that_are_not_codes_and_wrong_phis_are_refused():
    for kernel in (GraphMaternKernel((2, 3)), GraphHeatKernel((2, 3), "path")):
        with pytest.raises(ValueError, match="must have 2 columns, one for each .*, got 3"):
            kernel(torch.zeros(4, 3)).to_dense()
        with pytest.raises(ValueError, match="variable 1 must be integers from 0 to 2, got 3"):
            kernel(torch.tensor([[0.0, 3.0]])).to_dense()
    for phi in (torch.zeros_like, lambda v: 1.0 - v, lambda v: 1.0 / v):
        with pytest.raises(ValueError, match="phi must be finite, at least 0 and not 0"):
            PhiKernel((2, 3), phi)(torch.zeros(4, 2)).to_dense()


@pytest.mark.parametrize("name", KERNELS)
def test_botorch_fits_and_optimises_with_it(name):
    x = random_codes(14)
    y = ((x[:, 1] == 2).double() - x[:, 0] + 0.1 * x[:, 3]).unsqueeze(-1)
    kernel = KERNELS[name](SIZES, **({"ard_num_dims": 4} if name in HAS_ARD else {}))
    shared.check_botorch(kernel, x, y, random_codes(2, seed=5, batch=(10,)))


class _Contract(shared.CodesContract):
    name = ""

    def create_kernel_no_ard(self, **kwargs):
        return KERNELS[self.name](4, **kwargs)

    def create_kernel_ard(self, num_dims, **kwargs):
        if self.name not in HAS_ARD:
            raise NotImplementedError
        return KERNELS[self.name]((4,) * num_dims, ard_num_dims=num_dims, **kwargs)


class TestClosedFormContract(_Contract, unittest.TestCase):
    name = "closed"


class TestPathContract(_Contract, unittest.TestCase):
    name = "path"


class TestPhiContract(_Contract, unittest.TestCase):
    name = "phi"


class TestGraphMaternContract(_Contract, unittest.TestCase):
    name = "matern"


class TestInversePolynomialContract(_Contract, unittest.TestCase):
    name = "polynomial"
