"""Every NumPy kernel against its slow definition (tests/oracles)."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from heat_plugins.kernels.baselines.dictionary import diverse_dictionary
from heat_plugins.kernels.baselines.string import DECAYS, LONGEST
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.builtin import N_ANCHORS
from heat_plugins.kernels.formulas import rate
from heat_plugins.kernels.graph_distance import GraphDistance
from heat_plugins.space import Categorical, Float, Integer, Space
from heat_plugins.space.graphs import adjacency, is_complete, laplacian
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

from ..oracles import additive, graphs, hamming, permutations, strings

SIZES = (2, 5, 1, 3, 4, 3)
BETAS = np.array([0.9, 0.2, 0.7, 0.4, 0.05, 0.5])
ATOL = 1e-10


def space_of(sizes):
    return Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(sizes)))


SPACE = space_of(SIZES)


def kernel_of(model, space=SPACE):
    return KernelBuilder(space, model).kernel(model.combination)


def rates_of(betas, sizes):
    """Prices of a mismatch; that of a parameter with one choice does not matter."""
    return np.array([rate(b, g) if g > 1 else 1.0 for b, g in zip(betas, sizes, strict=True)])


def assert_same(numpy_kernel, theta, definition, *arguments, space=SPACE, n=25, atol=ATOL):
    """Compare the kernel matrix of observations, and covariances with other points."""
    rng = np.random.default_rng(0)
    points, others = space.sample(n, rng), space.sample(14, rng)
    theta = np.asarray(theta, dtype=float)
    assert theta.shape == (numpy_kernel.n_hyperparameters,)
    expected, crossed = (definition(x, points, *arguments) for x in (points, others))
    assert np.ptp(expected[~np.eye(n, dtype=bool)]) > 0.05  # a comparison worth making
    matrix = numpy_kernel.matrix(theta, numpy_kernel.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=atol)
    np.testing.assert_allclose(
        numpy_kernel.cross_covariance(theta, points)(others), crossed, rtol=0.0, atol=atol
    )


# ------------------------------------------------------------------- one distance
def test_heat_with_a_rate_each():
    numpy_kernel = kernel_of(Model())
    assert numpy_kernel.names == SPACE.names
    assert_same(numpy_kernel, [*np.log(rates_of(BETAS, SIZES)), 0.0], graphs.heat, SIZES, BETAS)


@pytest.mark.parametrize("beta", [0.08, 0.3, 1.0])
@pytest.mark.parametrize("kernel", ["heat", "combo"])
def test_isotropic_heat_has_one_time_and_so_unequal_rates(kernel, beta):
    numpy_kernel = kernel_of(Model(kernel, ard=False))
    mean_size = np.mean([g for g in SIZES if g > 1])
    log_rate = np.log(np.log1p(mean_size / np.expm1(beta * mean_size)))
    assert_same(numpy_kernel, [log_rate], graphs.heat, SIZES, [beta] * 6)


def test_mixed_heat():
    space = Space((*SPACE.parameters, Float("f", 0.0, 3.0), Integer("i", 1, 60, log=True)))
    scales = np.array([0.3, 0.8])
    # the mean log rate of each factor comes after its weights
    theta = [*np.log(rates_of(BETAS, SIZES)), 0.0, *np.log(1.0 / scales**2), 0.0]

    def definition(left, right):
        of_choices = graphs.heat(left[:, :6], right[:, :6], SIZES, BETAS)
        squares = hamming.squared_distances(left[:, 6:] / scales, right[:, 6:] / scales)
        r = np.sqrt(5.0 * squares)
        return of_choices * (1.0 + r + r**2 / 3.0) * np.exp(-r)

    assert_same(kernel_of(Model(), space), theta, definition, space=space)


def casmopolitan(left, right, ells):
    """Equation cas_kernel of the paper, over its diagonal."""
    matches = ~hamming.differs(left, right)
    return np.exp((matches * ells).mean(axis=-1)) / np.exp(np.mean(ells))


def test_casmopolitan():
    ells = np.array([3.0, 0.7, 1.0, 2.0, 5.0, 0.2])
    assert_same(kernel_of(Model("casmopolitan")), [*np.log(ells / 6), 0.0], casmopolitan, ells)
    numpy_kernel = kernel_of(Model("casmopolitan", ard=False))
    assert_same(numpy_kernel, [np.log(4.0 / 6)], casmopolitan, np.full(6, 4.0))


def test_one_hot_rbf():
    def definition(left, right):
        encoded = (hamming.one_hot(x, SIZES) for x in (left, right))
        return np.exp(-0.5 * hamming.squared_distances(*encoded) / 1.7**2)

    assert_same(kernel_of(Model("one-hot-rbf")), [-2.0 * np.log(1.7)], definition)


SCALES = np.array([0.8, 2.0, 1.0, 1.5, 3.0, 1.2])


def of_the_root(left, right, function, scales):
    return function(np.sqrt(hamming.distances(left, right, 1.0 / scales**2)))


@pytest.mark.parametrize("ard", [True, False])
def test_matern(ard):
    scales = SCALES if ard else np.full(6, SCALES[0])
    numpy_kernel, theta = kernel_of(Model("matern", ard=ard)), [*-2 * np.log(scales), 0.0]
    theta = theta if ard else theta[:1]
    assert_same(numpy_kernel, theta, of_the_root, hamming.matern52, scales)


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("alpha", [0.3, 5.0])
def test_rational_quadratic(alpha, ard):
    scales = SCALES if ard else np.full(6, SCALES[0])
    theta = [*(-2 * np.log(scales)), 0.0] if ard else [-2 * np.log(SCALES[0])]
    numpy_kernel = kernel_of(Model("rational-quadratic", ard=ard))

    def function(r):
        return (1.0 + r**2 / alpha) ** -alpha

    assert_same(numpy_kernel, [*theta, np.log(alpha)], of_the_root, function, scales)


def test_function_of_the_user():
    numpy_kernel = kernel_of(Model(lambda r: 3.0 / (1.0 + r**2) ** 2))
    theta = [*-2 * np.log(SCALES), 0.0]
    assert_same(numpy_kernel, theta, of_the_root, lambda r: (1.0 + r**2) ** -2, SCALES)


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


@pytest.mark.parametrize("known", GRAPHS.values(), ids=GRAPHS)
def test_combo(known):
    numpy_kernel = kernel_of(Model("combo", graphs=known))
    every = [known.get(name, "complete") for name in SPACE.names]
    times = [
        time_of(graph, g, weight) if g > 1 else 1.0
        for graph, g, weight in zip(every, SIZES, GRAPH_WEIGHTS.values(), strict=True)
    ]
    theta = [*np.log([GRAPH_WEIGHTS[name] for name in numpy_kernel.names]), 0.0]
    assert_same(numpy_kernel, theta, graphs.heat, SIZES, times, every)


def test_order_is_a_path_in_that_order():
    numpy_kernel = kernel_of(Model("combo", order={"x4": [2, 0, 3, 1]}))
    path = np.zeros((4, 4))
    for a, b in itertools.pairwise([2, 0, 3, 1]):
        path[a, b] = path[b, a] = 1.0
    every = ["complete"] * 4 + [path, "complete"]
    times = [
        time_of(graph, g, weight) if g > 1 else 1.0
        for graph, g, weight in zip(every, SIZES, GRAPH_WEIGHTS.values(), strict=True)
    ]
    theta = [*np.log([GRAPH_WEIGHTS[name] for name in numpy_kernel.names]), 0.0]
    assert_same(numpy_kernel, theta, graphs.heat, SIZES, times, every)


@pytest.mark.parametrize(("kappa", "nu"), [(0.8, 2.5), (2.0, 1.0), (1.0, 30.0)])
def test_graph_matern(kappa, nu):
    def phi(eigenvalues):
        return (1.0 + kappa**2 * eigenvalues / (2.0 * nu)) ** -nu

    numpy_kernel = kernel_of(Model("graph-matern"))
    assert_same(numpy_kernel, np.log([kappa, nu]), graphs.phi_kernel, SIZES, phi)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_inverse_polynomials(scale):
    """Only the ratio of the coefficients and epsilon matters; the NumPy kernel has epsilon 1."""
    coefficients = np.array([4e3, 0.3, 0.2])

    def phi(eigenvalues):
        return sum(1.0 / (scale * b * eigenvalues**p + scale) for p, b in enumerate(coefficients))

    numpy_kernel = kernel_of(Model("inverse-polynomial"))
    assert_same(numpy_kernel, np.log(coefficients), graphs.phi_kernel, SIZES, phi)


# ---------------------------------------------------------------------- invariance
BLOCK_SIZES = (3, 2, 3, 3, 5, 3)
BLOCK = [0, 2, 3, 5]
BLOCK_SPACE = space_of(BLOCK_SIZES)
BLOCK_NAMES = [f"x{i}" for i in BLOCK]
REST_BETAS = [0.6, 0.15]


@pytest.mark.parametrize("method", ["padded-sort", "sort"])
def test_projections(method):
    sizes = [2, 5, *([2] * 3 if method == "padded-sort" else [3] * 4)]
    rates = rates_of([*REST_BETAS, 0.3, 0.9, 0.5, 0.4][: len(sizes)], sizes)
    numpy_kernel = kernel_of(
        Model(structure=PermutationInvariant(BLOCK_NAMES, method)), BLOCK_SPACE
    )

    def definition(left, right):
        if method == "sort":
            projected = (permutations.sorted_block(x, BLOCK)[:, BLOCK] for x in (left, right))
            of_block = hamming.distances(*projected, rates[2:])
        else:
            projected = (permutations.padded_block(x, BLOCK, 3) for x in (left, right))
            of_block = hamming.distances(*projected, np.repeat(rates[2:], len(BLOCK)))
        rest = hamming.distances(left[:, [1, 4]], right[:, [1, 4]], rates[:2])
        return np.exp(-of_block - rest)

    assert_same(numpy_kernel, [*np.log(rates), 0.0], definition, space=BLOCK_SPACE)


def test_worked_example_of_the_paper():
    """Two changes are four in the padded strings, and seven in the sorted ones."""
    points = np.array([[0, 0, 0, 1, 1, 2, 3, 3, 4, 4], [4, 4, 0, 1, 1, 2, 3, 3, 4, 4.0]])
    space = space_of((5,) * 10)
    for method, distance in (("padded-sort", 4), ("sort", 7)):
        numpy_kernel = kernel_of(
            Model(structure=PermutationInvariant(list(space.names), method)), space
        )
        theta = np.full(numpy_kernel.n_hyperparameters, np.log(0.3))
        correlation = numpy_kernel.matrix(theta, numpy_kernel.prepare(points))[0, 1]
        assert correlation == pytest.approx(np.exp(-0.3 * distance), rel=1e-12)


def test_two_padded_blocks():
    sizes, blocks = (3, 2, 3, 2, 2), ([0, 2], [1, 3, 4])
    structure = PermutationInvariant([["x0", "x2"], ["x1", "x3", "x4"]])
    rates = rates_of([0.3, 0.9, 0.5, 0.7, 0.2], [2] * 5)

    def definition(left, right):
        total = 0.0
        for block, its in zip(blocks, (rates[:3], rates[3:]), strict=True):
            padded = (permutations.padded_block(x, block, len(its)) for x in (left, right))
            total = total + hamming.distances(*padded, np.repeat(its, len(block)))
        return np.exp(-total)

    numpy_kernel = kernel_of(Model(structure=structure), space_of(sizes))
    assert_same(numpy_kernel, [*np.log(rates), 0.0], definition, space=space_of(sizes))


def test_product_over_all_permutations():
    rest, of_block = rates_of(REST_BETAS, (2, 5)), rate(0.4, 3)
    rates = np.full(6, of_block)
    rates[[1, 4]] = rest
    numpy_kernel = kernel_of(
        Model(structure=PermutationInvariant(BLOCK_NAMES, "product")), BLOCK_SPACE
    )
    group = permutations.group_of(None, 6, BLOCK)
    definition = permutations.normalised(permutations.group_product)
    theta = [*np.log([*rest, of_block]), 0.0]
    assert_same(numpy_kernel, theta, definition, rates, group, space=BLOCK_SPACE)


def test_product_over_a_given_group():
    sizes, beta, names = (3, 3, 3, 3), 0.25, [f"x{i}" for i in range(4)]
    generators = [[1, 0, 2, 3]]
    structure = PermutationInvariant(names, "product", permutations=generators)
    numpy_kernel = kernel_of(Model(structure=structure), space_of(sizes))
    group, rates = permutations.group_of(generators, 4), np.full(4, rate(beta, 3))
    definition = permutations.normalised(permutations.group_product)
    theta = [np.log(rate(beta, 3)), 0.0]
    assert_same(numpy_kernel, theta, definition, rates, group, space=space_of(sizes))


GENERATORS = {
    "all": None,
    "rotations": [[1, 2, 3, 4, 0]],
    "reflections too": [[1, 2, 3, 4, 0], [4, 3, 2, 1, 0]],
    "two swaps": [[1, 0, 2, 3, 4], [0, 1, 3, 2, 4]],
}


@pytest.mark.parametrize("beta", [0.05, 0.5])
@pytest.mark.parametrize("generators", GENERATORS.values(), ids=GENERATORS)
def test_sum_over_a_group(generators, beta):
    n = 4 if generators is None else 5  # all pairs of 24 permutations are enough
    space, names = space_of((3,) * n), [f"x{i}" for i in range(n)]
    structure = PermutationInvariant(names, "sum", permutations=generators)
    numpy_kernel = kernel_of(Model(structure=structure), space)
    group, rates = permutations.group_of(generators, n), np.full(n, rate(beta, 3))
    definition = permutations.normalised(permutations.group_mean)
    assert_same(numpy_kernel, [np.log(rate(beta, 3))], definition, rates, group, space=space)


# ------------------------------------------------------------------ additive kernels
MANY = (2, 5, 3, 4, 3)
MANY_BETAS = np.array([0.9, 0.2, 0.7, 0.4, 0.3])
LOG_RATES = np.log(rates_of(MANY_BETAS, MANY))


RATES = np.exp(LOG_RATES)


def test_additive():
    structure = InteractionOrders(1, orthogonal=False)
    numpy_kernel = kernel_of(Model(structure=structure), space_of(MANY))
    components = [[i] for i in range(5)]
    theta = [*LOG_RATES, 0.0]
    assert_same(
        numpy_kernel, theta, additive.decomposition, RATES, components, space=space_of(MANY)
    )


@pytest.mark.parametrize("order_variance", [0.2, 1.7])
def test_additive_with_a_constant_of_its_own(order_variance):
    """The structure has an effect of each parameter, without mean, and a constant apart."""
    numpy_kernel = kernel_of(Model(structure=Additive(remainder=False)), space_of(MANY))
    theta = [*LOG_RATES, 0.0, np.log(order_variance)]
    definition = additive.orthogonal_orders
    assert_same(
        numpy_kernel, theta, definition, RATES, MANY, [1.0, order_variance], space=space_of(MANY)
    )


@pytest.mark.parametrize("max_order", [2, 3, 5])
def test_plain_interaction_orders(max_order):
    variances = np.array([1.3, 0.4, 0.9, 0.2, 0.6])[:max_order]
    numpy_kernel = kernel_of(
        Model(structure=InteractionOrders(max_order, orthogonal=False)), space_of(MANY)
    )
    theta, shares = [*LOG_RATES, 0.0, *np.log(variances)], variances / variances.sum()
    assert_same(numpy_kernel, theta, additive.plain_orders, RATES, shares, space=space_of(MANY))


@pytest.mark.parametrize("max_order", [1, 2, 4, 5])
def test_orthogonal_interaction_orders(max_order):
    order_variances = np.array([1.0, 0.7, 1.9, 0.3, 1.2, 0.8])[: max_order + 1]
    structure = InteractionOrders(max_order, remainder=False)
    numpy_kernel = kernel_of(Model(structure=structure), space_of(MANY))
    theta = [*LOG_RATES, 0.0, *np.log(order_variances[1:])]
    definition = additive.orthogonal_orders
    assert_same(
        numpy_kernel, theta, definition, RATES, MANY, order_variances, space=space_of(MANY)
    )


@pytest.mark.parametrize("n_edges", [None, 2])
def test_decomposition(n_edges):
    numpy_kernel = kernel_of(Model(structure=RandomDecomposition(n_edges, seed=3)), space_of(MANY))
    assert len([c for c in numpy_kernel.components if len(c) == 2]) == (n_edges or 4)
    definition = additive.decomposition
    assert_same(
        numpy_kernel,
        [0.0, *LOG_RATES],
        definition,
        RATES,
        numpy_kernel.components,
        space=space_of(MANY),
    )


def test_components_of_many_choices_are_the_same_kernel():
    """Pairs with more combinations than a table should hold are multiplied otherwise."""
    sizes = (20, 2, 15, 3)
    rates = rates_of([0.02, 0.5, 0.05, 0.4], sizes)
    numpy_kernel = kernel_of(Model(structure=RandomDecomposition()), space_of(sizes))
    definition, theta = additive.decomposition, [0.0, *np.log(rates)]
    assert_same(
        numpy_kernel, theta, definition, rates, numpy_kernel.components, space=space_of(sizes)
    )


# --------------------------------------------------------------- for comparison only
def test_hed():
    numpy_kernel, scale = kernel_of(Model("hed")), 0.6
    anchors = diverse_dictionary(SIZES, N_ANCHORS, np.random.default_rng(0))
    (log_scale,) = numpy_kernel.log_scales
    assert_same(numpy_kernel, [-2.0 * np.log(scale) - log_scale], hamming.hed, anchors, scale)


@pytest.mark.parametrize("pair", range(len(DECAYS)))
def test_ssk(pair):
    assert_same(kernel_of(Model("ssk")), [pair], strings.subsequences, *DECAYS[pair], LONGEST)
