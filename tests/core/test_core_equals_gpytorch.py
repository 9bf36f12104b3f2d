"""Every kernel of the core against its twin in GPyTorch, which was written independently."""

import itertools

import numpy as np
import pytest
import torch
from scipy import optimize

from heat_plugins.core.build import Builder
from heat_plugins.core.graph_distance import GraphDistance
from heat_plugins.core.string_kernel import DECAYS
from heat_plugins.graphs import adjacency, is_complete, laplacian
from heat_plugins.kernels.additive import (
    AdditiveKernel,
    DecompositionKernel,
    InteractionOrdersKernel,
)
from heat_plugins.kernels.formulas import rate
from heat_plugins.kernels.group_sums import GroupSumKernel, SymmetricSumKernel
from heat_plugins.kernels.hamming import (
    CasmopolitanKernel,
    HammingKernel,
    MaternHammingKernel,
    OneHotRBFKernel,
    RationalQuadraticHammingKernel,
)
from heat_plugins.kernels.invariant import GroupProductKernel, PermutationInvariantKernel
from heat_plugins.kernels.reference import HEDKernel, SubsequenceStringKernel
from heat_plugins.kernels.spectral import GraphMaternKernel, InversePolynomialKernel
from heat_plugins.model import Model
from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.torch.graph_heat import GraphHeatKernel
from heat_plugins.torch.heat import HeatKernel, mixed_heat_kernel

SIZES = (2, 5, 1, 3, 4, 3)
BETAS = np.array([0.9, 0.2, 0.7, 0.4, 0.05, 0.5])
ATOL = 1e-10


def space_of(sizes):
    return Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(sizes)))


SPACE = space_of(SIZES)


def kernel_of(model, space=SPACE):
    return Builder(space, model).kernel(model.combination)


def rates_of(betas, sizes):
    """Prices of a mismatch; that of a parameter with one choice does not matter."""
    return np.array([rate(b, g) if g > 1 else 1.0 for b, g in zip(betas, sizes, strict=True)])


def with_values(twin, **values):
    """Set parameters of a twin in double precision."""
    twin = twin.double()
    for name, value in values.items():
        setattr(twin, name, torch.as_tensor(np.asarray(value, dtype=float)))
    return twin


def matrix_of(twin, left, right):
    with torch.no_grad():
        return twin(torch.from_numpy(left), torch.from_numpy(right)).to_dense().numpy()


def assert_same(core, theta, twin, space=SPACE, n=25, normalise=False, atol=ATOL):
    """Compare the kernel matrix of observations, and covariances with other points."""
    rng = np.random.default_rng(0)
    points, others = space.sample(n, rng), space.sample(14, rng)
    theta = np.asarray(theta, dtype=float)
    assert theta.shape == (core.n_hyperparameters,)
    expected, crossed = matrix_of(twin, points, points), matrix_of(twin, others, points)
    if normalise:
        own = np.sqrt(np.diagonal(matrix_of(twin, others, others)))
        scale = np.sqrt(np.diagonal(expected))
        expected, crossed = expected / np.outer(scale, scale), crossed / np.outer(own, scale)
    matrix = core.matrix(theta, core.prepare(points))
    assert np.ptp(expected[~np.eye(n, dtype=bool)]) > 0.05  # a comparison worth making
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=atol)
    np.testing.assert_allclose(core.given(theta, points)(others), crossed, rtol=0.0, atol=atol)


# ------------------------------------------------------------------- one distance
def test_heat_with_a_rate_each():
    core = kernel_of(Model())
    assert core.names == SPACE.names
    twin = with_values(HeatKernel(SIZES, ard_num_dims=len(SIZES)), beta=BETAS)
    assert_same(core, [*np.log(rates_of(BETAS, SIZES)), 0.0], twin)


@pytest.mark.parametrize("beta", [0.08, 0.3, 1.0])
@pytest.mark.parametrize("kernel", ["heat", "combo"])
def test_isotropic_heat_has_one_time_and_so_unequal_rates(kernel, beta):
    core = kernel_of(Model(kernel, ard=False))
    mean_size = np.mean([g for g in SIZES if g > 1])
    level = np.log(np.log1p(mean_size / np.expm1(beta * mean_size)))
    assert_same(core, [level], with_values(HeatKernel(SIZES), beta=beta))


def test_mixed_heat():
    space = Space((*SPACE.parameters, Float("f", 0.0, 3.0), Integer("i", 1, 60, log=True)))
    scales = np.array([0.3, 0.8])
    twin = mixed_heat_kernel(SIZES, range(6), [6, 7]).double()
    twin.kernels[0].beta = torch.from_numpy(BETAS)
    twin.kernels[1].lengthscale = torch.from_numpy(scales)
    theta = [*np.log(rates_of(BETAS, SIZES)), *np.log(0.5 / scales**2), 0.0]
    assert_same(kernel_of(Model(), space), theta, twin, space)


def test_casmopolitan():
    ells = np.array([3.0, 0.7, 1.0, 2.0, 5.0, 0.2])
    twin = with_values(CasmopolitanKernel(SIZES, ard_num_dims=6), ell=ells)
    assert_same(kernel_of(Model("casmopolitan")), [*np.log(ells / 6), 0.0], twin)
    twin = with_values(CasmopolitanKernel(SIZES), ell=4.0)
    assert_same(kernel_of(Model("casmopolitan", ard=False)), [np.log(4.0 / 6)], twin)


def test_one_hot_rbf():
    twin = with_values(OneHotRBFKernel(SIZES), lengthscale=1.7)
    assert_same(kernel_of(Model("one-hot-rbf")), [-2.0 * np.log(1.7)], twin)


SCALES = np.array([0.8, 2.0, 1.0, 1.5, 3.0, 1.2])


@pytest.mark.parametrize("ard", [True, False])
def test_matern(ard):
    scales = SCALES if ard else SCALES[:1]
    twin = MaternHammingKernel(SIZES, nu=2.5, ard_num_dims=6 if ard else None)
    twin = with_values(twin, lengthscale=scales)
    assert_same(
        kernel_of(Model("matern", ard=ard)), [*-2 * np.log(scales), 0.0][: 6 * ard + 1], twin
    )


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("alpha", [0.3, 5.0])
def test_rational_quadratic(alpha, ard):
    scales = SCALES if ard else SCALES[:1]
    twin = RationalQuadraticHammingKernel(SIZES, ard_num_dims=6 if ard else None)
    twin = with_values(twin, lengthscale=scales, alpha=alpha)
    theta = [*(-2 * np.log(scales)), 0.0][: 6 * ard + 1] + [np.log(alpha)]
    assert_same(kernel_of(Model("rational-quadratic", ard=ard)), theta, twin)


def test_function_of_the_user():
    twin = HammingKernel(lambda r: 3.0 / (1.0 + r**2) ** 2, SIZES, ard_num_dims=6)
    core = kernel_of(Model(lambda r: 3.0 / (1.0 + r**2) ** 2))
    assert_same(core, [*-2 * np.log(SCALES), 0.0], with_values(twin, lengthscale=SCALES))


# ------------------------------------------------------------------------- graphs
STAR = [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
WEIGHTED = [[0, 2, 0.5], [2, 0, 0], [0.5, 0, 0]]
GRAPHS = {
    "path": {"x1": "path", "x4": "path"},
    "cycle": {"x1": "cycle", "x4": "cycle"},
    "own": {"x3": WEIGHTED, "x4": STAR},
    "all kinds": {"x0": "path", "x1": "cycle", "x3": WEIGHTED, "x4": STAR, "x5": "complete"},
}


def time_of(graph, g, weight):
    """The diffusion time that a weight stands for: where two neighbours are as far apart."""
    matrix = adjacency(graph, g)
    if is_complete(matrix):
        return np.log1p(g / np.expm1(weight)) / g
    distance = GraphDistance(matrix).table(weight)[0][0, np.argmax(matrix[0])]
    values, vectors = np.linalg.eigh(laplacian(matrix))

    def miss(log_beta):
        heat = (vectors * np.exp(-np.exp(log_beta) * values)) @ vectors.T
        other = np.argmax(matrix[0])
        return np.log(heat[0, other] ** 2 / (heat[0, 0] * heat[other, other])) + 2 * distance

    return np.exp(optimize.brentq(miss, -8.0, 4.0, xtol=1e-14, rtol=1e-14))


GRAPH_WEIGHTS = dict(zip(SPACE.names, [0.3, 1.1, 1.0, 0.6, 0.8, 0.2], strict=True))


@pytest.mark.parametrize("graphs", GRAPHS.values(), ids=GRAPHS)
def test_combo(graphs):
    core = kernel_of(Model("combo", graphs=graphs))
    every = [graphs.get(name, "complete") for name in SPACE.names]
    times = [
        time_of(graph, g, weight) if g > 1 else 1.0
        for graph, g, weight in zip(every, SIZES, GRAPH_WEIGHTS.values(), strict=True)
    ]
    twin = with_values(GraphHeatKernel(SIZES, every, ard_num_dims=6), beta=times)
    assert_same(core, [*np.log([GRAPH_WEIGHTS[name] for name in core.names]), 0.0], twin)


def test_order_is_a_path_in_that_order():
    core = kernel_of(Model("combo", order={"x4": [2, 0, 3, 1]}))
    path = np.zeros((4, 4))
    for a, b in itertools.pairwise([2, 0, 3, 1]):
        path[a, b] = path[b, a] = 1.0
    every = ["complete"] * 4 + [path, "complete"]
    times = [
        time_of(graph, g, weight) if g > 1 else 1.0
        for graph, g, weight in zip(every, SIZES, GRAPH_WEIGHTS.values(), strict=True)
    ]
    twin = with_values(GraphHeatKernel(SIZES, every, ard_num_dims=6), beta=times)
    assert_same(core, [*np.log([GRAPH_WEIGHTS[name] for name in core.names]), 0.0], twin)


@pytest.mark.parametrize(("kappa", "nu"), [(0.8, 2.5), (2.0, 1.0), (1.0, 30.0)])
def test_graph_matern(kappa, nu):
    twin = with_values(GraphMaternKernel(SIZES, nu=nu), kappa=kappa)
    assert_same(kernel_of(Model("graph-matern")), np.log([kappa, nu]), twin)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_inverse_polynomials(scale):
    """Only the ratio of the coefficients and epsilon matters; the core has epsilon 1."""
    coefficients = np.array([4e3, 0.3, 0.2])
    twin = InversePolynomialKernel(SIZES)
    twin = with_values(twin, coefficients=scale * coefficients, epsilon=scale)
    assert_same(kernel_of(Model("inverse-polynomial")), np.log(coefficients), twin)


# ---------------------------------------------------------------------- invariance
BLOCK_SIZES = (3, 2, 3, 3, 5, 3)
BLOCK = [0, 2, 3, 5]
BLOCK_SPACE = space_of(BLOCK_SIZES)
BLOCK_NAMES = [f"x{i}" for i in BLOCK]
REST_BETAS = [0.6, 0.15]


@pytest.mark.parametrize("method", ["padded-sort", "sort"])
def test_projections(method):
    sizes = [2, 5, *([2] * 3 if method == "padded-sort" else [3] * 4)]
    betas = np.array([*REST_BETAS, 0.3, 0.9, 0.5, 0.4][: len(sizes)])
    twin = PermutationInvariantKernel(BLOCK_SIZES, [BLOCK], method, ard=True).double()
    twin.base_kernel.beta = torch.from_numpy(betas)
    core = kernel_of(Model(structure=PermutationInvariant(BLOCK_NAMES, method)), BLOCK_SPACE)
    assert_same(core, [*np.log(rates_of(betas, sizes)), 0.0], twin, BLOCK_SPACE)


def test_two_padded_blocks():
    sizes = (3, 2, 3, 2, 2)
    structure = PermutationInvariant([["x0", "x2"], ["x1", "x3", "x4"]])
    betas = np.array([0.3, 0.9, 0.5, 0.7, 0.2])
    twin = PermutationInvariantKernel(sizes, [[0, 2], [1, 3, 4]], ard=True).double()
    twin.base_kernel.beta = torch.from_numpy(betas)
    core = kernel_of(Model(structure=structure), space_of(sizes))
    assert_same(core, [*np.log(rates_of(betas, [2] * 5)), 0.0], twin, space_of(sizes))


def test_product_over_all_permutations():
    betas = np.array([*REST_BETAS, 0.4])
    twin = GroupProductKernel(BLOCK_SIZES, "symmetric", BLOCK, ard=True).double()
    twin.base_kernel.beta = torch.from_numpy(betas)
    structure = PermutationInvariant(BLOCK_NAMES, "product")
    core = kernel_of(Model(structure=structure), BLOCK_SPACE)
    theta = [*np.log(rates_of(betas, (2, 5, 3))), 0.0]
    assert_same(core, theta, twin, BLOCK_SPACE)


def test_product_over_a_given_group():
    sizes, beta = (3, 3, 3, 3), 0.25
    generators = [[1, 0, 2, 3]]
    twin = GroupProductKernel(sizes, generators, ard=False).double()
    twin.base_kernel.beta = beta
    names = [f"x{i}" for i in range(4)]
    structure = PermutationInvariant(names, "product", permutations=generators)
    core = kernel_of(Model(structure=structure), space_of(sizes))
    assert_same(core, [np.log(rate(beta, 3)), 0.0], twin, space_of(sizes))


@pytest.mark.parametrize("beta", [0.05, 0.5])
def test_sum_over_all_permutations(beta):
    sizes, names = (3,) * 5, [f"x{i}" for i in range(5)]
    core = kernel_of(Model(structure=PermutationInvariant(names, "sum")), space_of(sizes))
    twin = with_values(SymmetricSumKernel(3), beta=beta)
    assert_same(core, [np.log(rate(beta, 3))], twin, space_of(sizes), normalise=True)


GENERATORS = {
    "rotations": [[1, 2, 3, 4, 0]],
    "reflections too": [[1, 2, 3, 4, 0], [4, 3, 2, 1, 0]],
    "two swaps": [[1, 0, 2, 3, 4], [0, 1, 3, 2, 4]],
}


@pytest.mark.parametrize("generators", GENERATORS.values(), ids=GENERATORS)
def test_sum_over_a_given_group(generators):
    sizes, beta, names = (3,) * 5, 0.3, [f"x{i}" for i in range(5)]
    structure = PermutationInvariant(names, "sum", permutations=generators)
    core = kernel_of(Model(structure=structure), space_of(sizes))
    twin = GroupSumKernel(with_values(HeatKernel(sizes), beta=beta), generators)
    assert twin.mode == "one-sided"
    assert_same(core, [np.log(rate(beta, 3))], twin, space_of(sizes), normalise=True)


# ------------------------------------------------------------------ additive kernels
MANY = (2, 5, 3, 4, 3)
MANY_BETAS = np.array([0.9, 0.2, 0.7, 0.4, 0.3])
LOG_RATES = np.log(rates_of(MANY_BETAS, MANY))


def test_additive():
    twin = with_values(AdditiveKernel(MANY, ard_num_dims=5), beta=MANY_BETAS)
    structure = InteractionOrders(1, orthogonal=False)
    core = kernel_of(Model(structure=structure), space_of(MANY))
    assert_same(core, [*LOG_RATES, 0.0], twin, space_of(MANY))


def test_additive_with_a_constant_of_its_own():
    """The structure has an effect of each parameter, without mean, and a constant apart."""
    strength = 1.7
    structure = Additive(remainder=False)
    core = kernel_of(Model(structure=structure), space_of(MANY))
    theta = np.array([*LOG_RATES, 0.0, np.log(strength)])
    points = space_of(MANY).sample(25, np.random.default_rng(0))
    rho, g = np.exp(-np.exp(LOG_RATES)), np.array(MANY)
    raw = 1.0 + strength * sum(
        (1 - rho[i])
        * ((points[:, None, i] == points[None, :, i]) - 1 / g[i])
        / (rho[i] + (1 - rho[i]) / g[i])
        for i in range(5)
    )
    matrix = core.matrix(theta, core.prepare(points))
    np.testing.assert_allclose(matrix, raw / raw[0, 0], rtol=0.0, atol=ATOL)
    # of equal rates, and so of equal sizes, it is a mixture of the twin's kernel and a constant
    twin = with_values(AdditiveKernel((3,) * 5), beta=0.3)
    points = space_of((3,) * 5).sample(25, np.random.default_rng(0))
    plain = matrix_of(twin, points, points)
    core = kernel_of(Model(structure=structure), space_of((3,) * 5))
    theta = np.array([np.log(rate(0.3, 3))] * 5 + [0.0, np.log(strength)])
    matrix = core.matrix(theta, core.prepare(points))
    slope, constant = np.polyfit(plain.ravel(), matrix.ravel(), 1)
    np.testing.assert_allclose(matrix, constant + slope * plain, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize("max_order", [2, 3, 5])
def test_plain_interaction_orders(max_order):
    variances = np.array([1.3, 0.4, 0.9, 0.2, 0.6])[:max_order]
    twin = InteractionOrdersKernel(MANY, max_order, ard_num_dims=5)
    twin = with_values(twin, beta=MANY_BETAS, order_variance=variances / variances.sum())
    structure = InteractionOrders(max_order, orthogonal=False)
    core = kernel_of(Model(structure=structure), space_of(MANY))
    assert_same(core, [*LOG_RATES, 0.0, *np.log(variances)], twin, space_of(MANY))


@pytest.mark.parametrize("max_order", [1, 2, 4, 5])
def test_orthogonal_interaction_orders(max_order):
    strengths = np.array([1.0, 0.7, 1.9, 0.3, 1.2, 0.8])[: max_order + 1]
    rho, g = np.exp(-np.exp(LOG_RATES)), np.array(MANY)
    own = (1 - rho) * (1 - 1 / g) / (rho + (1 - rho) / g)
    variances = strengths * [
        sum(np.prod(own[list(some)]) for some in itertools.combinations(range(5), q))
        for q in range(max_order + 1)
    ]
    twin = InteractionOrdersKernel(MANY, max_order, orthogonal=True, ard_num_dims=5)
    twin = with_values(twin, beta=MANY_BETAS, order_variance=variances / variances.sum())
    structure = InteractionOrders(max_order, remainder=False)
    core = kernel_of(Model(structure=structure), space_of(MANY))
    theta = [*LOG_RATES, 0.0, *np.log(strengths[1:])]
    assert_same(core, theta, twin, space_of(MANY))


@pytest.mark.parametrize("n_edges", [None, 2])
def test_decomposition(n_edges):
    core = kernel_of(Model(structure=RandomDecomposition(n_edges, seed=3)), space_of(MANY))
    assert len([c for c in core.components if len(c) == 2]) == (n_edges or 4)
    twin = DecompositionKernel(MANY, core.components, ard_num_dims=5)
    twin = with_values(twin, beta=MANY_BETAS)
    assert_same(core, [0.0, *LOG_RATES], twin, space_of(MANY))


def test_components_of_many_choices_are_the_same_kernel():
    """Pairs with more combinations than a table should hold are multiplied otherwise."""
    sizes, betas = (20, 2, 15, 3), np.array([0.02, 0.5, 0.05, 0.4])
    core = kernel_of(Model(structure=RandomDecomposition()), space_of(sizes))
    twin = DecompositionKernel(sizes, core.components, ard_num_dims=4)
    twin = with_values(twin, beta=betas)
    assert_same(core, [0.0, *np.log(rates_of(betas, sizes))], twin, space_of(sizes))


def test_orders_that_the_twin_has_too():

    with pytest.raises(ValueError, match="max_order must be from 1 to 5"):
        InteractionOrdersKernel(MANY, 6)
    core = kernel_of(Model(structure=InteractionOrders(9)), space_of(MANY))
    assert core.max_order == 5  # the core takes what there is


# --------------------------------------------------------------- for comparison only
def test_hed():
    core, scale = kernel_of(Model("hed")), 0.6
    twin = with_values(HEDKernel(SIZES, n_anchors=128, seed=0), lengthscale=scale)
    (log_scale,) = core.log_scales
    assert_same(core, [-2.0 * np.log(scale) - log_scale], twin)


@pytest.mark.parametrize("pair", range(len(DECAYS)))
def test_ssk(pair):
    gap, match = DECAYS[pair]
    twin = SubsequenceStringKernel(max(SIZES), max_order=3)
    twin = with_values(twin, gap_decay=gap, match_decay=match)
    assert_same(kernel_of(Model("ssk")), [pair], twin)
