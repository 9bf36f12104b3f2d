"""The paper's statements about these kernels, each computed on all vertices of small spaces.

"Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization", NeurIPS 2025.
The names in the comments are the labels of the paper's theorems, equations and appendices.
"""

from functools import cache, reduce
from itertools import permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from heat_plugins.graphs import adjacency, laplacian
from heat_plugins.kernels import HeatKernel, formulas
from heat_plugins.kernels.hamming import (
    CasmopolitanKernel,
    HammingKernel,
    MaternHammingKernel,
    OneHotRBFKernel,
    RationalQuadraticHammingKernel,
)
from heat_plugins.kernels.spectral import GraphMaternKernel, PhiKernel
from heat_plugins.torch.graph_heat import GraphHeatKernel

EXACT = {"rtol": 1e-10, "atol": 1e-12}
EQUAL_SIZES = [(2, 2, 2, 2), (3, 3, 3), (5, 5), (7,)]
UNEQUAL_SIZES = [(2, 3, 4), (2, 2, 4), (5, 1, 2), (3, 2, 3)]

some_sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(
    lambda sizes: np.prod(sizes) <= 120
)
some_equal_sizes = st.sampled_from([(2,) * 5, (3,) * 4, (4,) * 3, (5, 5), (2,), (6,)])


@cache
def vertices(sizes):
    return torch.tensor(list(product(*map(range, sizes))), dtype=torch.float64)


def hamming_distances(sizes):
    x = vertices(tuple(sizes)).numpy()
    return (x[:, None] != x[None, :]).sum(axis=-1)


def product_laplacian(sizes, betas=None):
    """sum_i b_i L_i of complete graphs, as one matrix over all vertices."""
    total = np.zeros((1, 1))
    for g, beta in zip(sizes, betas or [1.0] * len(sizes), strict=True):
        factor = beta * laplacian(adjacency("complete", g))
        total = np.kron(total, np.eye(g)) + np.kron(np.eye(len(total)), factor)
    return total


def on_all_vertices(kernel, sizes):
    with torch.no_grad():
        return kernel.double()(vertices(tuple(sizes))).to_dense().numpy()


def with_values(kernel, **values):
    kernel = kernel.double()
    for name, value in values.items():
        setattr(kernel, name, value)
    return kernel


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
    x = vertices(sizes).numpy()
    np.testing.assert_allclose(formulas.heat_kernel(x, x, rates), expected, **EXACT)
    tied = {"ard_num_dims": d}
    kernels = [
        with_values(HeatKernel(sizes, **tied), beta=betas),
        with_values(GraphHeatKernel(sizes, **tied), beta=betas),
        with_values(GraphHeatKernel(sizes, spectral=True, **tied), beta=betas),
        # The proof's gamma_i = ell_i / n. A positive ell cannot be 0, as g = 1 would have it.
        with_values(
            CasmopolitanKernel(sizes, **tied), ell=np.maximum(d * np.asarray(rates), 1e-300)
        ),
    ]
    for kernel in kernels:
        np.testing.assert_allclose(on_all_vertices(kernel, sizes), expected, **EXACT)


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
    x = vertices(sizes).numpy()
    ell = n * formulas.rate(beta, sizes)
    casmopolitan = np.exp(((x[:, None] == x[None, :]) * ell).sum(axis=-1) / n)
    combo = on_all_vertices(
        with_values(GraphHeatKernel(sizes, normalize=False, spectral=True), beta=beta), sizes
    )
    ratios = casmopolitan / combo
    np.testing.assert_allclose(ratios, ratios[0, 0], **EXACT)


# Section 3.3.2 and equation onehot: RBF after one-hot encoding.


def test_hamming_distance_is_half_the_squared_distance_of_one_hot_vectors():
    sizes = (2, 4, 3)
    x = vertices(sizes).long()
    z = torch.cat([torch.nn.functional.one_hot(x[:, i], g) for i, g in enumerate(sizes)], 1)
    squared = (z[:, None] - z[None, :]).pow(2).sum(-1)
    np.testing.assert_array_equal(squared / 2, hamming_distances(sizes))


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
def test_isotropic_heat_kernel_of_equal_sizes_is_the_one_hot_rbf_kernel(sizes, beta):
    heat = on_all_vertices(with_values(HeatKernel(sizes), beta=beta), sizes)
    lengthscale = formulas.rate(beta, sizes[0]) ** -0.5
    rbf = with_values(OneHotRBFKernel(sizes), lengthscale=lengthscale)
    np.testing.assert_allclose(on_all_vertices(rbf, sizes), heat, **EXACT)
    # And back: a lengthscale is a diffusion time.
    back = formulas.beta_from_rate(rbf.lengthscale.item() ** -2, sizes[0])
    np.testing.assert_allclose(back, beta, rtol=1e-10)


def test_isotropic_heat_kernel_of_unequal_sizes_is_no_function_of_the_hamming_distance():
    sizes = (2, 2, 4)
    matrix = on_all_vertices(with_values(HeatKernel(sizes), beta=0.3), sizes)
    assert len(distinct(matrix[hamming_distances(sizes) == 1])) == 2


# Proposition isohamming: isotropic kernels of sqrt(h) are positive semi-definite.

ISOTROPIC = {
    "gaussian": lambda r: torch.exp(-r.square()),
    "laplace": lambda r: torch.exp(-r),
    "matern": lambda r: (1 + r) * torch.exp(-r),
    "cauchy": lambda r: 1 / (1 + r.square()),
    "stretched": lambda r: torch.exp(-r.pow(1.5)),
    "mixture": lambda r: 2 * torch.exp(-5 * r.square()) + 0.3,
}


@pytest.mark.parametrize("name", ISOTROPIC)
@given(sizes=some_sizes, data=st.data())
@settings(deadline=None, max_examples=12)
def test_isotropic_functions_of_the_root_are_positive_semidefinite(name, sizes, data):
    scales = st.lists(st.floats(0.2, 5.0), min_size=len(sizes), max_size=len(sizes))
    for lengthscale in (data.draw(st.floats(0.2, 5.0)), data.draw(scales)):
        ard = len(sizes) if isinstance(lengthscale, list) else None
        kernel = HammingKernel(ISOTROPIC[name], sizes, ard_num_dims=ard)
        matrix = on_all_vertices(with_values(kernel, lengthscale=lengthscale), sizes)
        np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-14)
        assert smallest_eigenvalue(matrix) > -1e-12


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@given(sizes=some_sizes, lengthscale=st.floats(0.2, 5.0), alpha=st.floats(0.05, 50.0))
@settings(deadline=None, max_examples=12)
def test_matern_and_rational_quadratic_kernels_are_positive_semidefinite(
    nu, sizes, lengthscale, alpha
):
    matern = with_values(MaternHammingKernel(sizes, nu=nu), lengthscale=lengthscale)
    rational = RationalQuadraticHammingKernel(sizes)
    rational = with_values(rational, lengthscale=lengthscale, alpha=alpha)
    for kernel in (matern, rational):
        assert smallest_eigenvalue(on_all_vertices(kernel, sizes)) > -1e-12


def test_the_proposition_needs_the_dimension_of_the_one_hot_vectors():
    # The proposition speaks of R^n with n variables, its proof of one-hot vectors, which span
    # sum_i (g_i - 1) dimensions. cos(pi r) is positive semi-definite on the line but not in
    # the plane, so it serves one variable with two choices and not one with three.
    line = np.random.default_rng(0).uniform(-3.0, 3.0, 12)
    assert smallest_eigenvalue(np.cos(np.pi * (line[:, None] - line[None, :]))) > -1e-12
    kernel = with_values(HammingKernel(lambda r: torch.cos(torch.pi * r)), lengthscale=1.0)
    assert smallest_eigenvalue(on_all_vertices(kernel, (2,))) > -1e-12
    np.testing.assert_allclose(smallest_eigenvalue(on_all_vertices(kernel, (3,))), -1.0, **EXACT)


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
        values = [max(self.phi[round(value, 8)], 0.0) for value in eigenvalues.tolist()]
        return torch.tensor(values, dtype=torch.float64)


def hamming_kernels(sizes):
    return [
        *(with_values(HammingKernel(f, sizes), lengthscale=1.4) for f in ISOTROPIC.values()),
        *(
            with_values(MaternHammingKernel(sizes, nu=nu), lengthscale=0.9)
            for nu in (0.5, 1.5, 2.5)
        ),
        with_values(RationalQuadraticHammingKernel(sizes), lengthscale=0.7, alpha=0.3),
        with_values(CasmopolitanKernel(sizes), ell=1.8),
    ]


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
def test_hamming_kernels_are_phi_kernels(sizes):
    for kernel in hamming_kernels(sizes):
        matrix = on_all_vertices(kernel, sizes)
        phi = recovered_phi(matrix, sizes)
        assert len(phi) == len(sizes) + 1 and min(phi.values()) > -1e-12
        rebuilt = on_all_vertices(PhiKernel(sizes, Tabulated(phi)), sizes)
        np.testing.assert_allclose(rebuilt, matrix, **EXACT)


def exponential(values):
    return torch.exp(-0.1 * values)


def band(values):
    return ((values > 0.0) & (values < 8.0)).double()


def rough(values):
    return values.square() + 0.5


@pytest.mark.parametrize("sizes", EQUAL_SIZES)
@pytest.mark.parametrize("phi", [exponential, band, rough])
def test_phi_kernels_are_hamming_kernels(sizes, phi):
    values, vectors = np.linalg.eigh(product_laplacian(sizes))
    explicit = vectors * phi(torch.from_numpy(values.round(10))).numpy() @ vectors.T
    explicit = explicit / explicit[0, 0]
    h = hamming_distances(sizes)
    by_distance = [explicit[h == distance] for distance in range(len(sizes) + 1)]
    for entries in by_distance:
        np.testing.assert_allclose(entries, entries[0], **EXACT)
    kernel = PhiKernel(sizes, phi)
    np.testing.assert_allclose(on_all_vertices(kernel, sizes), explicit, **EXACT)
    # The kernel's table is that function of the distance.
    np.testing.assert_allclose(kernel.table(sizes), [e[0] for e in by_distance], **EXACT)


@given(sizes=some_equal_sizes, data=st.data())
@settings(deadline=None, max_examples=25)
def test_any_phi_can_be_recovered_from_its_kernel(sizes, data):
    numbers = st.floats(0.01, 10.0)
    d, g = len(sizes), sizes[0]
    drawn = data.draw(st.lists(numbers, min_size=d + 1, max_size=d + 1))
    phi = {float(g * level): value for level, value in enumerate(drawn)}
    matrix = on_all_vertices(PhiKernel(sizes, Tabulated(phi)), sizes)
    recovered = recovered_phi(matrix, sizes)
    scale = recovered[0.0] / phi[0.0]  # The kernel was divided by its diagonal.
    np.testing.assert_allclose(
        [recovered[value] for value in phi], [scale * p for p in phi.values()], rtol=1e-9
    )


@pytest.mark.parametrize("phi", [exponential, band, rough])
def test_phi_kernels_are_isotropic(phi):
    # Lemma phi_impl_isotropic, on the automorphisms of 3 x 3 x 2: relabel the choices of each
    # variable, and exchange variables with equally many choices.
    sizes = (3, 3, 2)
    matrix = on_all_vertices(PhiKernel(sizes, phi), sizes)
    x = vertices(sizes).long().numpy()
    for order, relabel in product([(0, 1, 2), (1, 0, 2)], permutations(range(3))):
        moved = x[:, order].copy()
        moved[:, 0] = np.array(relabel)[moved[:, 0]]
        moved[:, 2] = 1 - moved[:, 2]
        rows = np.ravel_multi_index(tuple(moved.T), sizes)
        np.testing.assert_allclose(matrix[np.ix_(rows, rows)], matrix, **EXACT)


@pytest.mark.parametrize("sizes", EQUAL_SIZES + UNEQUAL_SIZES)
def test_the_table_equals_the_explicit_eigendecomposition(sizes):
    values, vectors = np.linalg.eigh(product_laplacian(sizes))
    for phi in (exponential, band, rough):
        explicit = vectors * phi(torch.from_numpy(values.round(10))).numpy() @ vectors.T
        matrix = on_all_vertices(PhiKernel(sizes, phi), sizes)
        np.testing.assert_allclose(matrix, explicit / explicit[0, 0], **EXACT)


@pytest.mark.parametrize("sizes", EQUAL_SIZES + UNEQUAL_SIZES)
def test_exponential_phi_is_the_isotropic_heat_kernel(sizes):
    heat = with_values(HeatKernel(sizes), beta=0.1)
    np.testing.assert_allclose(
        on_all_vertices(PhiKernel(sizes, exponential), sizes),
        on_all_vertices(heat, sizes),
        **EXACT,
    )


# The example on 2 x 2 x 4 at the end of appendix app:hamphi_proof.


def test_counter_example_has_six_eigenvalues_and_phi_kernels_at_most_five():
    sizes = (2, 2, 4)
    values = torch.tensor([10.0, 6.0, 4.0, 3.0], dtype=torch.float64)
    kernel = HammingKernel(lambda r: values[r.square().round().long()], sizes)
    kernel = with_values(kernel, lengthscale=1.0)
    matrix = 10.0 * on_all_vertices(kernel, sizes)  # The kernel divides by f(0).
    np.testing.assert_allclose(matrix, values.numpy()[hamming_distances(sizes)], **EXACT)
    expected = [77, 15, 15, 9, 9, 9, 5, 3, 3, 3, 3, 3, 3, 1, 1, 1]
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix)[::-1], expected, atol=1e-12)
    spectrum = np.linalg.eigvalsh(product_laplacian(sizes))
    np.testing.assert_array_equal(distinct(spectrum), [0, 2, 4, 6, 8])
    for phi in (exponential, band, rough):
        phi_matrix = on_all_vertices(PhiKernel(sizes, phi), sizes)
        assert len(distinct(np.linalg.eigvalsh(phi_matrix))) <= 5
    # 4 = 2 + 2 + 0 = 0 + 0 + 4 is where the Hamming kernel does not act as a number.
    basis = dict(eigenspaces(sizes))[4.0]
    assert list(distinct(np.linalg.eigvalsh(basis.T @ matrix @ basis))) == [5.0, 9.0]


def test_on_unequal_sizes_phi_kernels_are_not_hamming_kernels_either():
    sizes = (2, 2, 4)
    matrix = on_all_vertices(PhiKernel(sizes, exponential), sizes)
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
    kernel = with_values(HeatKernel(g), beta=beta)
    with torch.no_grad():
        value = kernel(vertices((2,))).to_dense()[0, 1].item()
    np.testing.assert_allclose(value, formulas.rho(beta, g), rtol=1e-10)
    assert 0.0 < value < 1.0


def test_negative_correlations_need_another_kernel_than_the_heat_kernel():
    # rho in (-1 / (g - 1), 0) is a Phi-kernel still, one that prefers the larger eigenvalue.
    kernel = PhiKernel((4,), rough)
    value = on_all_vertices(kernel, (4,))[0, 1]
    np.testing.assert_allclose(value, (0.5 - 16.5) / (0.5 + 3 * 16.5), **EXACT)
    assert -1 / 3 < value < 0.0


# Appendix app:bodi: BODi's kernel is not a function of the Hamming distance.


def bodi_distance(x1, x2, anchors):
    embed = [(np.array(anchors) != np.array(x)).sum(axis=1) for x in (x1, x2)]
    return int(((embed[0] - embed[1]) ** 2).sum())


def test_bodi_gives_two_values_to_pairs_at_the_same_hamming_distance():
    anchors = [[1, 1, 1]]
    scenarios = [([1, 1, 1], [1, 1, 2]), ([1, 1, 2], [1, 1, 3])]
    assert [np.sum(np.array(a) != np.array(b)) for a, b in scenarios] == [1, 1]
    assert [bodi_distance(a, b, anchors) for a, b in scenarios] == [1, 0]

    def matern(d):
        return (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d)

    values = [matern(bodi_distance(a, b, anchors)) for a, b in scenarios]
    assert values[1] == 1.0 and values[0] < 0.6
    for kernel in hamming_kernels((4, 4, 4)):
        pairs = [torch.tensor(pair, dtype=torch.float64) for pair in scenarios]
        one, two = (kernel(pair).to_dense()[0, 1].item() for pair in pairs)
        assert one == two


# Appendix app:ordinal: other graphs than complete ones.


@pytest.mark.parametrize("graph", ["path", "cycle"])
@pytest.mark.parametrize("sizes", [(6,), (3, 5), (4, 2, 3)])
@pytest.mark.parametrize("beta", [0.05, 0.8, 6.0])
def test_heat_kernel_of_paths_and_cycles_is_the_matrix_exponential(graph, sizes, beta):
    factors = [expm(-beta * laplacian(adjacency(graph, g))) for g in sizes]
    expected = reduce(np.kron, factors)
    plain = with_values(GraphHeatKernel(sizes, graph, normalize=False), beta=beta)
    np.testing.assert_allclose(on_all_vertices(plain, sizes), expected, **EXACT)
    scale = np.sqrt(np.diag(expected))
    unit = with_values(GraphHeatKernel(sizes, graph), beta=beta)
    np.testing.assert_allclose(
        on_all_vertices(unit, sizes), expected / np.outer(scale, scale), **EXACT
    )


def test_a_path_of_two_and_a_cycle_of_three_are_complete():
    sizes = (2, 3, 2)
    named = with_values(GraphHeatKernel(sizes, ["path", "cycle", "cycle"]), beta=0.4)
    heat = with_values(HeatKernel(sizes), beta=0.4)
    np.testing.assert_array_equal(on_all_vertices(named, sizes), on_all_vertices(heat, sizes))


def test_on_a_path_neighbours_are_closer_than_the_ends():
    matrix = on_all_vertices(with_values(GraphHeatKernel((7,), "path"), beta=0.5), (7,))
    assert np.all(np.diff(matrix[0]) < 0.0)


# Limits that connect the families.


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 4)])
def test_rational_quadratic_tends_to_the_heat_kernel(sizes):
    limit = on_all_vertices(with_values(OneHotRBFKernel(sizes), lengthscale=1.3), sizes)
    errors = []
    for alpha in (1e2, 1e4, 1e6):
        kernel = RationalQuadraticHammingKernel(sizes)
        kernel = with_values(kernel, lengthscale=1.3, alpha=alpha)
        errors.append(np.abs(on_all_vertices(kernel, sizes) - limit).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 100.0, rtol=0.05)  # 1 / alpha


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 4)])
def test_graph_matern_tends_to_the_heat_kernel(sizes):
    # (1 + kappa^2 lambda / (2 nu))^-nu tends to exp(-kappa^2 lambda / 2).
    kappa = 0.5
    limit = on_all_vertices(with_values(HeatKernel(sizes), beta=kappa**2 / 2), sizes)
    errors = []
    for nu in (1e2, 1e4, 1e6):
        kernel = with_values(GraphMaternKernel(sizes, nu=nu), kappa=kappa)
        errors.append(np.abs(on_all_vertices(kernel, sizes) - limit).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 100.0, rtol=0.05)  # 1 / nu


def test_short_and_long_diffusion_are_independence_and_constancy():
    sizes = (3, 2, 4)
    short = with_values(GraphHeatKernel(sizes, "path"), beta=1e-12)
    np.testing.assert_allclose(on_all_vertices(short, sizes), np.eye(24), atol=1e-11)
    long = with_values(GraphHeatKernel(sizes, "path"), beta=100.0)
    np.testing.assert_allclose(on_all_vertices(long, sizes), 1.0, **EXACT)


def test_on_many_variables_a_graph_matern_kernel_is_a_constant_plus_white_noise():
    # What the kernel's docstring warns of: beyond a constant, nothing is left to learn from.
    for kappa in np.logspace(-1, 4, 26):
        table = with_values(GraphMaternKernel(5), kappa=kappa).table([5] * 20).detach()
        assert table[1] - table[-1] < 0.04
    # With a smoothness that grows with the number of variables it is a kernel to learn from.
    table = with_values(GraphMaternKernel(5, nu=50.0), kappa=1.0).table([5] * 20).detach()
    assert table[1] - table[-1] > 0.3
