"""The paper's statements about these kernels, each computed on all vertices of small spaces.

"Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization", NeurIPS 2025.
The names in the comments are the labels of the paper's theorems, equations and appendices.
"""

from functools import reduce
from itertools import permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from heat_plugins.kernels import formulas
from heat_plugins.kernels.baselines.spectral import GraphMatern, Phi, SpectralKernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Space
from heat_plugins.space.graphs import adjacency, laplacian
from heat_plugins.spec.model import Model
from heat_plugins.torch import GraphHeatKernel, HeatKernel

from ..oracles.graphs import product_laplacian, vertices
from ..oracles.hamming import differs, hed, one_hot

EXACT = {"rtol": 1e-10, "atol": 1e-12}
EQUAL_SIZES = [(2, 2, 2, 2), (3, 3, 3), (5, 5), (7,)]
UNEQUAL_SIZES = [(2, 3, 4), (2, 2, 4), (5, 1, 2), (3, 2, 3)]

some_sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(
    lambda sizes: np.prod(sizes) <= 120
)
some_equal_sizes = st.sampled_from([(2,) * 5, (3,) * 4, (4,) * 3, (5, 5), (2,), (6,)])


def hamming_distances(sizes):
    return differs(vertices(sizes), vertices(sizes)).sum(axis=-1)


def space_of(sizes):
    return Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(sizes)))


class FixedPhi(Phi):
    """A Phi without hyperparameters."""

    centre = np.zeros(0)

    def __init__(self, function):
        self._function = function

    def start(self, beta):
        return self.centre

    def __call__(self, theta, eigenvalues):
        return self._function(eigenvalues), []


def phi_kernel(sizes, phi):
    phi = phi if isinstance(phi, Phi) else FixedPhi(phi)
    return SpectralKernel(space_of(sizes), np.arange(len(sizes)), phi)


def by_numpy(model, theta, sizes, points=None):
    """Kernel matrix of a NumPy kernel, of all vertices unless points are given."""
    numpy_kernel = (
        KernelBuilder(space_of(sizes), model).kernel() if isinstance(model, Model) else model
    )
    points = vertices(sizes) if points is None else points
    return numpy_kernel.matrix(np.asarray(theta, dtype=float), numpy_kernel.prepare(points))


def by_phi(phi, sizes, theta=()):
    return by_numpy(phi_kernel(sizes, phi), theta, sizes)


def of_the_root(kernel, lengthscale, sizes, *shape, points=None):
    """A Hamming kernel by name or function, with one lengthscale or one for each variable."""
    has_ard = np.ndim(lengthscale) > 0
    theta = -2.0 * np.log(np.atleast_1d(lengthscale))
    theta = [*theta, *[0.0] * has_ard, *np.log(shape)]
    return by_numpy(Model(kernel, ard=has_ard), theta, sizes, points)


def by_torch(kernel, sizes, **values):
    """Kernel matrix of a native kernel with given parameters, of all vertices."""
    kernel = kernel.double()
    for name, value in values.items():
        setattr(kernel, name, value)
    with torch.no_grad():
        return kernel(torch.from_numpy(vertices(sizes))).to_dense().numpy()


def distinct(values, digits=9):
    return np.unique(np.round(values, digits))


def smallest_eigenvalue(matrix):
    return np.linalg.eigvalsh(matrix).min()


# Theorem cascom: CASMOPOLITAN = COMBO = closed form = exp(-L).


def assert_all_heat_kernels_agree(sizes, betas):
    sizes, d = tuple(sizes), len(sizes)
    exponential = expm(-product_laplacian(sizes, list(betas)))
    expected = exponential / exponential[0, 0]
    np.testing.assert_allclose(np.diag(expected), 1.0, **EXACT)  # A constant diagonal.
    rates = formulas.rate(betas, sizes)
    x = vertices(sizes)
    # The rate of a variable with one choice is 0, and its logarithm is of no consequence.
    theta = [*np.log(np.maximum(rates, 1e-300)), 0.0]
    found = [
        formulas.heat_kernel(x, x, rates),
        by_numpy(Model("heat"), theta, sizes),
        by_numpy(Model("combo"), theta, sizes),
        by_numpy(Model("casmopolitan"), theta, sizes),  # The proof's gamma_i = ell_i / n.
        by_torch(HeatKernel(sizes, ard_num_dims=d), sizes, beta=betas),
        by_torch(GraphHeatKernel(sizes, ard_num_dims=d), sizes, beta=betas),
        by_torch(GraphHeatKernel(sizes, spectral=True, ard_num_dims=d), sizes, beta=betas),
    ]
    for matrix in found:
        np.testing.assert_allclose(matrix, expected, **EXACT)


@pytest.mark.parametrize("sizes", EQUAL_SIZES + UNEQUAL_SIZES)
def test_casmopolitan_combo_closed_form_and_matrix_exponential_agree(sizes):
    rng = np.random.default_rng(0)
    assert_all_heat_kernels_agree(sizes, tuple(rng.uniform(0.05, 0.6, len(sizes))))


@given(sizes=some_sizes, data=st.data())
@settings(deadline=None, max_examples=40)
def test_they_agree_for_all_sizes_and_diffusion_times(sizes, data):
    times = st.lists(st.floats(1e-3, 2.0), min_size=len(sizes), max_size=len(sizes))
    assert_all_heat_kernels_agree(sizes, tuple(data.draw(times)))


@pytest.mark.parametrize("sizes", [(2, 3), (4, 2, 2)])
def test_casmopolitan_before_dividing_is_a_multiple_of_the_heat_kernel(sizes):
    # Equation cas_kernel as written, against equation combo_kernel as written.
    beta, n = 0.3, len(sizes)
    x = vertices(sizes)
    ell = n * formulas.rate(beta, sizes)
    casmopolitan = np.exp((~differs(x, x) * ell).sum(axis=-1) / n)
    combo = by_torch(GraphHeatKernel(sizes, normalize=False, spectral=True), sizes, beta=beta)
    ratios = casmopolitan / combo
    np.testing.assert_allclose(ratios, ratios[0, 0], **EXACT)


# Section 3.3.2 and equation onehot: RBF after one-hot encoding.


def test_hamming_distance_is_half_the_squared_distance_of_one_hot_vectors():
    sizes = (2, 4, 3)
    z = one_hot(vertices(sizes), sizes)
    squared = ((z[:, None] - z[None, :]) ** 2).sum(-1)
    np.testing.assert_array_equal(squared / 2, hamming_distances(sizes))


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
def test_isotropic_heat_kernel_of_equal_sizes_is_the_one_hot_rbf_kernel(sizes, beta):
    heat = by_torch(HeatKernel(sizes), sizes, beta=beta)
    lengthscale = formulas.rate(beta, sizes[0]) ** -0.5
    rbf = by_numpy(Model("one-hot-rbf"), [-2.0 * np.log(lengthscale)], sizes)
    np.testing.assert_allclose(rbf, heat, **EXACT)
    np.testing.assert_allclose(
        by_numpy(Model(ard=False), [np.log(formulas.rate(beta, sizes[0]))], sizes), heat, **EXACT
    )
    # And back: a lengthscale is a diffusion time.
    back = formulas.beta_from_rate(lengthscale**-2, sizes[0])
    np.testing.assert_allclose(back, beta, rtol=1e-10)


def test_isotropic_heat_kernel_of_unequal_sizes_is_no_function_of_the_hamming_distance():
    sizes = (2, 2, 4)
    for matrix in (
        by_torch(HeatKernel(sizes), sizes, beta=0.3),
        by_numpy(Model(ard=False), [-1.0], sizes),
    ):
        assert len(distinct(matrix[hamming_distances(sizes) == 1])) == 2


# Proposition isohamming: isotropic kernels of sqrt(h) are positive semi-definite.

ISOTROPIC = {
    "gaussian": lambda r: np.exp(-(r**2)),
    "laplace": lambda r: np.exp(-r),  # Matern of smoothness 1/2
    "matern": lambda r: (1 + r) * np.exp(-r),  # of smoothness 3/2
    "cauchy": lambda r: 1 / (1 + r**2),
    "stretched": lambda r: np.exp(-(r**1.5)),
    "mixture": lambda r: 2 * np.exp(-5 * r**2) + 0.3,
}


@pytest.mark.parametrize("name", [*ISOTROPIC, "matern52"])
@given(sizes=some_sizes, data=st.data())
@settings(deadline=None, max_examples=12)
def test_isotropic_functions_of_the_root_are_positive_semidefinite(name, sizes, data):
    scales = st.lists(st.floats(0.2, 5.0), min_size=len(sizes), max_size=len(sizes))
    for lengthscale in (data.draw(st.floats(0.2, 5.0)), data.draw(scales)):
        matrix = of_the_root(ISOTROPIC.get(name, "matern"), lengthscale, sizes)
        np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-14)
        assert smallest_eigenvalue(matrix) > -1e-12


@given(sizes=some_sizes, lengthscale=st.floats(0.2, 5.0), alpha=st.floats(0.05, 50.0))
@settings(deadline=None, max_examples=36)
def test_rational_quadratic_kernels_are_positive_semidefinite(sizes, lengthscale, alpha):
    matrix = of_the_root("rational-quadratic", lengthscale, sizes, alpha)
    assert smallest_eigenvalue(matrix) > -1e-12


def test_the_proposition_needs_the_dimension_of_the_one_hot_vectors():
    # The proposition speaks of R^n with n variables, its proof of one-hot vectors, which span
    # sum_i (g_i - 1) dimensions. cos(pi r) is positive semi-definite on the line but not in
    # the plane, so it serves one variable with two choices and not one with three.
    line = np.random.default_rng(0).uniform(-3.0, 3.0, 12)
    assert smallest_eigenvalue(np.cos(np.pi * (line[:, None] - line[None, :]))) > -1e-12

    def wave(r):
        return np.cos(np.pi * r)

    assert smallest_eigenvalue(of_the_root(wave, 1.0, (2,))) > -1e-12
    np.testing.assert_allclose(smallest_eigenvalue(of_the_root(wave, 1.0, (3,))), -1.0, **EXACT)


# Theorem hamphi: on equal sizes, Hamming kernels are Phi-kernels and the reverse.


def eigenspaces(sizes):
    """Pairs of an eigenvalue of the product's Laplacian and the basis of its eigenspace."""
    values, vectors = np.linalg.eigh(product_laplacian(sizes))
    rounded = values.round(8)
    return [(value, vectors[:, rounded == value]) for value in np.unique(rounded)]


def recovered_phi(matrix, sizes):
    """Phi(lambda) of a kernel matrix, with a check that it acts as a number on eigenspaces."""
    phi = {}
    for value, basis in eigenspaces(sizes):
        action = basis.T @ matrix @ basis
        phi[value] = np.trace(action) / len(action)
        np.testing.assert_allclose(matrix @ basis, phi[value] * basis, rtol=0.0, atol=1e-12)
    return phi


class Tabulated:
    """A Phi that is known at the eigenvalues only."""

    def __init__(self, phi):
        self.phi = phi

    def __call__(self, eigenvalues):
        # Rounding may have made a zero negative.
        values = [max(self.phi[round(value, 8)], 0.0) for value in eigenvalues.ravel().tolist()]
        return np.array(values).reshape(eigenvalues.shape)


def hamming_kernels(sizes, points=None):
    """Kernel matrices, of all vertices unless points are given."""
    return [
        *(of_the_root(f, 1.4, sizes, points=points) for f in ISOTROPIC.values()),
        of_the_root("matern", 0.9, sizes, points=points),
        of_the_root("rational-quadratic", 0.7, sizes, 0.3, points=points),
        of_the_root("casmopolitan", 1.3, sizes, points=points),
    ]


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
def test_hamming_kernels_are_phi_kernels(sizes):
    for matrix in hamming_kernels(sizes):
        phi = recovered_phi(matrix, sizes)
        assert len(phi) == len(sizes) + 1 and min(phi.values()) > -1e-12
        np.testing.assert_allclose(by_phi(Tabulated(phi), sizes), matrix, **EXACT)


def exponential(values):
    return np.exp(-0.1 * values)


def band(values):
    return ((values > 0.0) & (values < 8.0)).astype(float)


def rough(values):
    return values**2 + 0.5


def explicit(sizes, phi):
    """The definition, from the eigenvectors of the whole graph."""
    values, vectors = np.linalg.eigh(product_laplacian(sizes))
    matrix = vectors * phi(values.round(10)) @ vectors.T
    return matrix / matrix[0, 0]


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
@pytest.mark.parametrize("phi", [exponential, band, rough])
def test_phi_kernels_are_hamming_kernels(sizes, phi):
    matrix, h = explicit(sizes, phi), hamming_distances(sizes)
    by_distance = [matrix[h == distance] for distance in range(len(sizes) + 1)]
    for entries in by_distance:
        np.testing.assert_allclose(entries, entries[0], **EXACT)
    np.testing.assert_allclose(by_phi(phi, sizes), matrix, **EXACT)
    # The kernel's table is that function of the distance.
    table, _ = phi_kernel(sizes, phi)._table(np.zeros(0))
    np.testing.assert_allclose(table, [e[0] for e in by_distance], **EXACT)


@given(sizes=some_equal_sizes, data=st.data())
@settings(deadline=None, max_examples=25)
def test_any_phi_can_be_recovered_from_its_kernel(sizes, data):
    numbers = st.floats(0.01, 10.0)
    d, g = len(sizes), sizes[0]
    drawn = data.draw(st.lists(numbers, min_size=d + 1, max_size=d + 1))
    phi = {float(g * level): value for level, value in enumerate(drawn)}
    recovered = recovered_phi(by_phi(Tabulated(phi), sizes), sizes)
    scale = recovered[0.0] / phi[0.0]  # The kernel was divided by its diagonal.
    np.testing.assert_allclose(
        [recovered[value] for value in phi], [scale * p for p in phi.values()], rtol=1e-9
    )


@pytest.mark.parametrize("phi", [exponential, band, rough])
def test_phi_kernels_are_isotropic(phi):
    # Lemma phi_impl_isotropic, on the automorphisms of 3 x 3 x 2: relabel the choices of each
    # variable, and exchange variables with equally many choices.
    sizes = (3, 3, 2)
    matrix = by_phi(phi, sizes)
    x = vertices(sizes).astype(int)
    for order, relabel in product([(0, 1, 2), (1, 0, 2)], permutations(range(3))):
        moved = x[:, order].copy()
        moved[:, 0] = np.array(relabel)[moved[:, 0]]
        moved[:, 2] = 1 - moved[:, 2]
        rows = np.ravel_multi_index(tuple(moved.T), sizes)
        np.testing.assert_allclose(matrix[np.ix_(rows, rows)], matrix, **EXACT)


@pytest.mark.parametrize("sizes", EQUAL_SIZES + UNEQUAL_SIZES)
def test_the_table_equals_the_explicit_eigendecomposition(sizes):
    for phi in (exponential, band, rough):
        np.testing.assert_allclose(by_phi(phi, sizes), explicit(sizes, phi), **EXACT)


@pytest.mark.parametrize("sizes", EQUAL_SIZES + UNEQUAL_SIZES)
def test_exponential_phi_is_the_isotropic_heat_kernel(sizes):
    heat = by_torch(HeatKernel(sizes), sizes, beta=0.1)
    np.testing.assert_allclose(by_phi(exponential, sizes), heat, **EXACT)


# The example on 2 x 2 x 4 at the end of appendix app:hamphi_proof.


def test_counter_example_has_six_eigenvalues_and_phi_kernels_at_most_five():
    sizes = (2, 2, 4)
    values = np.array([10.0, 6.0, 4.0, 3.0])

    def tabulated(r):
        return values[np.minimum(np.rint(np.asarray(r) ** 2), 3).astype(int)]

    matrix = 10.0 * of_the_root(tabulated, 1.0, sizes)  # The kernel divides by f(0).
    np.testing.assert_allclose(matrix, values[hamming_distances(sizes)], **EXACT)
    expected = [77, 15, 15, 9, 9, 9, 5, 3, 3, 3, 3, 3, 3, 1, 1, 1]
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix)[::-1], expected, atol=1e-12)
    spectrum = np.linalg.eigvalsh(product_laplacian(sizes))
    np.testing.assert_array_equal(distinct(spectrum), [0, 2, 4, 6, 8])
    for phi in (exponential, band, rough):
        assert len(distinct(np.linalg.eigvalsh(by_phi(phi, sizes)))) <= 5
    # 4 = 2 + 2 + 0 = 0 + 0 + 4 is where the Hamming kernel does not act as a number.
    basis = dict(eigenspaces(sizes))[4.0]
    assert list(distinct(np.linalg.eigvalsh(basis.T @ matrix @ basis))) == [5.0, 9.0]


def test_on_unequal_sizes_phi_kernels_are_not_hamming_kernels_either():
    sizes = (2, 2, 4)
    matrix = by_phi(exponential, sizes)
    assert len(distinct(matrix[hamming_distances(sizes) == 1])) == 2


# Appendix app:B2 and app:B3: compound symmetry and the range of rho.


@given(g=st.integers(2, 12), position=st.floats(-2.0, 3.0))
@settings(deadline=None)
def test_compound_symmetry_is_positive_semidefinite_exactly_in_its_range(g, position):
    # position 0 and 1 are the ends of the closed range, [-1 / (g - 1), 1].
    low = -1.0 / (g - 1)
    rho = low + position * (1.0 - low)
    matrix = (1.0 - rho) * np.eye(g) + rho
    smallest = smallest_eigenvalue(matrix)
    # The eigenvalues are 1 - rho and 1 + (g - 1) rho.
    np.testing.assert_allclose(smallest, min(1.0 - rho, 1.0 + (g - 1) * rho), atol=1e-12)
    if 0.0 <= position <= 1.0:
        assert smallest > -1e-12
    elif min(abs(position), abs(position - 1.0)) > 1e-6:
        assert smallest < 0.0


@given(g=st.integers(2, 50), beta=st.floats(1e-6, 0.5))
def test_correlations_of_the_heat_kernel_are_strictly_between_zero_and_one(g, beta):
    value = by_torch(HeatKernel(g), (2,), beta=beta)[0, 1]
    np.testing.assert_allclose(value, formulas.rho(beta, g), rtol=1e-10)
    assert 0.0 < value < 1.0


def test_negative_correlations_need_another_kernel_than_the_heat_kernel():
    # rho in (-1 / (g - 1), 0) is a Phi-kernel still, one that prefers the larger eigenvalue.
    value = by_phi(rough, (4,))[0, 1]
    np.testing.assert_allclose(value, (0.5 - 16.5) / (0.5 + 3 * 16.5), **EXACT)
    assert -1 / 3 < value < 0.0


# Appendix app:bodi: BODi's kernel is not a function of the Hamming distance.


def test_bodi_gives_two_values_to_pairs_at_the_same_hamming_distance():
    anchors = np.array([[1.0, 1, 1]])
    points = np.array([[1.0, 1, 1], [1, 1, 2], [1, 1, 3]])
    np.testing.assert_array_equal(differs(points, points).sum(axis=-1), 1 - np.eye(3))
    values = hed(points, points, anchors, 1.0 / 3.0)
    assert values[1, 2] == 1.0 and values[0, 1] < 0.6
    for matrix in hamming_kernels((4, 4, 4), points):
        assert matrix[0, 1] == matrix[1, 2]


# Appendix app:ordinal: other graphs than complete ones.


@pytest.mark.parametrize("graph", ["path", "cycle"])
@pytest.mark.parametrize("sizes", [(6,), (3, 5), (4, 2, 3)])
@pytest.mark.parametrize("beta", [0.05, 0.8, 6.0])
def test_heat_kernel_of_paths_and_cycles_is_the_matrix_exponential(graph, sizes, beta):
    factors = [expm(-beta * laplacian(adjacency(graph, g))) for g in sizes]
    expected = reduce(np.kron, factors)
    plain = by_torch(GraphHeatKernel(sizes, graph, normalize=False), sizes, beta=beta)
    np.testing.assert_allclose(plain, expected, **EXACT)
    scale = np.sqrt(np.diag(expected))
    unit = by_torch(GraphHeatKernel(sizes, graph), sizes, beta=beta)
    np.testing.assert_allclose(unit, expected / np.outer(scale, scale), **EXACT)


def test_a_path_of_two_and_a_cycle_of_three_are_complete():
    sizes = (2, 3, 2)
    named = by_torch(GraphHeatKernel(sizes, ["path", "cycle", "cycle"]), sizes, beta=0.4)
    np.testing.assert_array_equal(named, by_torch(HeatKernel(sizes), sizes, beta=0.4))


def test_on_a_path_neighbours_are_closer_than_the_ends():
    for matrix in (
        by_torch(GraphHeatKernel((7,), "path"), (7,), beta=0.5),
        by_numpy(Model("combo", graphs={"x0": "path"}), [0.0, 0.0], (7,)),
    ):
        assert np.all(np.diff(matrix[0]) < 0.0)


# Limits that connect the families.


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 4)])
def test_rational_quadratic_tends_to_the_heat_kernel(sizes):
    limit = by_numpy(Model("one-hot-rbf"), [-2.0 * np.log(1.3)], sizes)
    errors = [
        np.abs(of_the_root("rational-quadratic", 1.3, sizes, alpha) - limit).max()
        for alpha in (1e2, 1e4, 1e6)
    ]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 100.0, rtol=0.05)  # 1 / alpha


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 4)])
def test_graph_matern_tends_to_the_heat_kernel(sizes):
    # (1 + kappa^2 lambda / (2 nu))^-nu tends to exp(-kappa^2 lambda / 2).
    kappa = 0.5
    limit = by_torch(HeatKernel(sizes), sizes, beta=kappa**2 / 2)
    errors = [
        np.abs(by_phi(GraphMatern(1), sizes, np.log([kappa, nu])) - limit).max()
        for nu in (1e2, 1e4, 1e6)
    ]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 100.0, rtol=0.05)  # 1 / nu


def test_short_and_long_diffusion_are_independence_and_constancy():
    sizes = (3, 2, 4)
    short = by_torch(GraphHeatKernel(sizes, "path"), sizes, beta=1e-12)
    np.testing.assert_allclose(short, np.eye(24), atol=1e-11)
    long = by_torch(GraphHeatKernel(sizes, "path"), sizes, beta=100.0)
    np.testing.assert_allclose(long, 1.0, **EXACT)


def test_on_many_variables_a_graph_matern_kernel_is_a_constant_plus_white_noise():
    # What the kernel's docstring warns of: beyond a constant, nothing is left to learn from.
    kernel = phi_kernel([5] * 20, GraphMatern(20))
    for kappa in np.logspace(-1, 4, 26):
        table, _ = kernel._table(np.log([kappa, 2.5]))
        assert table[1] - table[-1] < 0.04
    # With a smoothness that grows with the number of variables it is a kernel to learn from.
    table, _ = kernel._table(np.log([1.0, 50.0]))
    assert table[1] - table[-1] > 0.3
