"""Additive kernels against sums over all sets of base kernels."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels import order_terms
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.order_terms import elementary_symmetric, loses_digits, one_by_one
from heat_plugins.kernels.orthogonal import N_NODES
from heat_plugins.space import Categorical, Float, Ordinal, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive, InteractionOrders, PermutationInvariant

CHECKED = settings(deadline=None, max_examples=60)
SIZES = (2, 5, 3, 4)
CHOICES = Space(tuple(Categorical(f"x{i}", range(g)) for i, g in enumerate(SIZES)))
MIXED = Space(
    (
        Categorical("c", range(3)),
        Ordinal("o", range(4)),
        Float("f", 0, 1),
        Categorical("q", (1, 2, 8)),
    )
)


def kernel_of(space, max_order, orthogonal=True, remainder=False, **model):
    structure = InteractionOrders(max_order, orthogonal, remainder)
    return KernelBuilder(space, Model(structure=structure, **model)).kernel(structure)


def all_points(space):
    """Every point, each number at the nodes of a quadrature; and what each counts for."""
    nodes, shares = np.polynomial.legendre.leggauss(N_NODES)
    places, counts = [], []
    for parameter in space.parameters:
        if np.isinf(parameter.n_levels):
            places.append(0.5 * (nodes + 1.0))
            counts.append(0.5 * shares)
        else:
            places.append(parameter.levels())
            counts.append(np.full(int(parameter.n_levels), 1.0 / parameter.n_levels))
    points = np.array(list(itertools.product(*places)))
    return points, np.array([np.prod(c) for c in itertools.product(*counts)])


# ------------------------------------------------------------------ the polynomials
@given(st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=7), st.integers(1, 7))
@CHECKED
def test_polynomials_are_sums_over_all_sets(values, max_order):
    power_sums = [np.array([sum(v**s for v in values)]) for s in range(1, max_order + 1)]
    found = elementary_symmetric(power_sums)
    assert len(found) == max_order + 1
    for q, polynomial in enumerate(found):
        expected = sum(np.prod(some) for some in itertools.combinations(values, q))
        assert polynomial[0] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_polynomials_work_on_whole_matrices():
    values = np.random.default_rng(0).random((5, 3, 4))
    found = elementary_symmetric([(values**s).sum(axis=0) for s in (1, 2)])
    pairs = sum(a * b for a, b in itertools.combinations(values, 2))
    np.testing.assert_allclose(found[2], pairs, rtol=1e-12)
    np.testing.assert_array_equal(found[0], np.ones((3, 4)))


# ------------------------------------------------------------- orders that lose digits
def test_power_sums_are_used_while_they_keep_digits():
    """All that users ask for: up to three orders of any number, eight of eight, ten of twelve."""
    for n_kernels, max_order in [(3, 3), (500, 3), (8, 8), (12, 10), (50, 20)]:
        assert not loses_digits(n_kernels, max_order)
        rng = np.random.default_rng(0)
        values = np.where(rng.random((n_kernels, 200)) < 0.5, 1.0, rng.random((n_kernels, 1)))
        exact = one_by_one(values, max_order)
        sums = [(values**s).sum(axis=0) for s in range(1, max_order + 1)]
        for q, polynomial in enumerate(elementary_symmetric(sums)):
            assert np.abs(polynomial - exact[q]).max() < 3e-14 * comb(n_kernels, q)
    for n_kernels, max_order in [(9, 9), (25, 25), (30, 20)]:
        assert loses_digits(n_kernels, max_order)


def test_base_kernels_one_by_one_are_exact():
    values = np.linspace(0.1, 1.0, 25)
    by_sums = elementary_symmetric([np.array([(values**s).sum()]) for s in range(1, 26)])
    assert abs(by_sums[25][0] / values.prod() - 1.0) > 1e-6  # what is to be avoided
    exact = one_by_one(values[:, None], 25)
    assert exact[25][0] == pytest.approx(values.prod(), rel=1e-14)
    assert exact[1][0] == pytest.approx(values.sum(), rel=1e-14)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_all_orders_of_many_parameters_are_the_product(orthogonal):
    """prod_u (1 + k_u), of which Newton's identities leave few digits."""
    space = Space(tuple(Categorical(f"x{i}", range(3)) for i in range(25)))
    kernel = kernel_of(space, 25, orthogonal)
    points = space.sample(12, np.random.default_rng(0))
    log_weights = np.linspace(-3.0, 0.5, 25)
    theta = kernel.start(1.0)
    is_weight = np.arange(len(theta)) - (len(theta) - 25 - kernel.max_order)
    theta[(is_weight >= 0) & (is_weight < 25)] = log_weights
    differs = points[:, None] != points[None, :]
    base_kernels = np.exp(-np.exp(log_weights) * differs)
    if orthogonal:
        theta[-25:] = 0.0
        expected = np.prod(base_kernels, axis=2)  # as 1 + k~ is the kernel over its mean
    else:
        theta[-25:] = np.log([comb(25, q) for q in range(1, 26)])
        expected = (np.prod(1.0 + base_kernels, axis=2) - 1.0) / (2.0**25 - 1.0)
    np.testing.assert_allclose(kernel.matrix(theta, kernel.prepare(points)), expected, rtol=1e-12)
    covariances = kernel.cross_covariance(theta, points)(points[:5])
    np.testing.assert_allclose(covariances, expected[:5], rtol=1e-12)


@pytest.mark.parametrize("model", [{}, {"quantitative": ["q"]}])
def test_pullback_of_base_kernels_one_by_one(model):
    names = [f"x{i}" for i in range(9)]
    choices = tuple(Categorical(name, range(3)) for name in names)
    space = Space((*choices, Float("f", 0, 1), Categorical("q", (1, 2, 8))))
    for orthogonal, max_order in itertools.product([False, True], [11, 10]):
        kernel = kernel_of(space, max_order, orthogonal, remainder=orthogonal, **model)
        rng = np.random.default_rng(1)
        theta = kernel.start(2.0) + 0.3 * rng.standard_normal(kernel.n_hyperparameters)
        prepared = kernel.prepare(space.sample(8, rng))
        weights = rng.standard_normal((8, 8))
        weights += weights.T
        _, pullback = kernel.matrix_and_pullback(theta, prepared)
        expected = [
            np.vdot(weights, kernel.matrix(theta + move, prepared))
            - np.vdot(weights, kernel.matrix(theta - move, prepared))
            for move in 1e-5 * np.eye(len(theta))
        ]
        np.testing.assert_allclose(pullback(weights), np.divide(expected, 2e-5), atol=1e-7)


def test_slopes_of_many_pairs_are_the_same_in_pieces(monkeypatch):
    base_kernels = list(np.random.default_rng(0).random((6, 7, 5)))
    coefficients = np.arange(5.0)
    whole = order_terms._slopes_one_by_one(base_kernels, coefficients)
    monkeypatch.setattr(order_terms, "MOST_NUMBERS", 100)
    pieces = order_terms._slopes_one_by_one(base_kernels, coefficients)
    np.testing.assert_array_equal(whole, pieces)
    others = elementary_symmetric(
        [np.sum(np.array(base_kernels[1:]) ** s, axis=0) for s in (1, 2, 3)]
    )
    np.testing.assert_allclose(
        whole[0], sum(c * e for c, e in zip(coefficients[1:], others, strict=True)), rtol=1e-12
    )


# ------------------------------------------------------------------------ plain orders
def test_first_plain_order_is_the_mean_of_the_base_kernels():
    kernel = kernel_of(CHOICES, 1, orthogonal=False)
    points = CHOICES.sample(20, np.random.default_rng(0))
    log_weights = np.array([-1.0, 0.3, -0.2, 0.9])
    matrix = kernel.matrix(np.append(log_weights, 0.0), kernel.prepare(points))
    differs = points[:, None, :] != points[None, :, :]
    expected = np.exp(-np.exp(log_weights) * differs).mean(axis=2)
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("max_order", [2, 3, 4])
def test_plain_orders_are_means_over_sets(max_order):
    kernel = kernel_of(CHOICES, max_order, orthogonal=False)
    points = CHOICES.sample(20, np.random.default_rng(1))
    log_weights = np.array([-1.0, 0.3, -0.2, 0.9])
    log_order_variances = np.array([0.2, -0.7, 0.5, 0.1])
    log_order_variances = log_order_variances[:max_order]
    theta = np.concatenate([log_weights, [0.0], log_order_variances])
    differs = points[:, None, :] != points[None, :, :]
    base_kernels = np.exp(-np.exp(log_weights) * differs)
    expected = sum(
        np.exp(log_order_variances[q - 1])
        * np.mean(
            [
                base_kernels[:, :, list(s)].prod(axis=2)
                for s in itertools.combinations(range(4), q)
            ],
            axis=0,
        )
        for q in range(1, max_order + 1)
    )
    expected /= np.exp(log_order_variances).sum()
    matrix = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-13)


# ------------------------------------------------------------------- orthogonal orders
def test_all_orders_of_variance_one_are_the_product():
    kernel = kernel_of(CHOICES, len(CHOICES))
    heat = KernelBuilder(CHOICES, Model()).kernel()
    log_weights = np.array([-1.0, 0.3, -2.0, 0.9])
    points = CHOICES.sample(30, np.random.default_rng(2))
    matrix = kernel.matrix(np.append(log_weights, np.zeros(5)), kernel.prepare(points))
    product = heat.matrix(np.append(log_weights, 0.0), heat.prepare(points))
    np.testing.assert_allclose(matrix, product, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("max_order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("space", "known"),
    [(CHOICES, {}), (CHOICES, {"graphs": {"x1": "cycle", "x3": "path"}}), (MIXED, {}),
     (MIXED, {"quantitative": {"q": "log"}})],
    ids=["choices", "graphs", "mixed", "quantities"],
)  # fmt: skip
def test_effects_have_no_mean(space, known, max_order):
    """Averaged over all values alike, nothing but the constant is left."""
    kernel = kernel_of(space, max_order, **known)
    rng = np.random.default_rng(3)
    theta = kernel.start(2.0) + 0.3 * rng.standard_normal(kernel.n_hyperparameters)
    observed = space.sample(15, rng)
    points, shares = all_points(space)
    means = shares @ kernel.cross_covariance(theta, observed)(points)
    np.testing.assert_allclose(means, means[0], rtol=0.0, atol=1e-12)
    assert 0.0 < means[0] < 1.0


@pytest.mark.parametrize(
    ("space", "known"),
    [
        (CHOICES, {}),
        (CHOICES, {"graphs": {"x1": "cycle", "x3": "path"}, "quantitative": ["x2"]}),
        (MIXED, {}),
        (MIXED, {"quantitative": {"q": "log"}, "graphs": {"c": "path"}}),
    ],
    ids=["choices", "graphs", "mixed", "mixed graphs"],
)
@pytest.mark.parametrize("max_order", [1, 3])
def test_share_of_the_constant_is_its_part_of_the_mean_prior_variance(space, known, max_order):
    kernel = kernel_of(space, max_order, **known)
    theta = kernel.start(2.0) + 0.3
    points, shares = all_points(space)
    cross = kernel.cross_covariance(theta, space.sample(15, np.random.default_rng(4)))
    constant = float((shares @ cross(points))[0])
    variance = float(shares @ cross.diagonal(points))
    assert variance == pytest.approx(1.0, abs=1e-10)
    assert constant / variance == pytest.approx(kernel.order_shares(theta)[0], abs=1e-10)


@pytest.mark.parametrize("max_order", [1, 3])
def test_single_effects_do_not_overlap_with_pairs(max_order):
    """Averaged over all but one parameter, a kernel of any order is one of single effects."""
    kernel = kernel_of(CHOICES, max_order)
    theta = kernel.start(3.0)
    points, _ = all_points(CHOICES)
    covariances = kernel.cross_covariance(theta, points[:1])(points)[:, 0].reshape(SIZES)
    of_second = covariances.mean(axis=(0, 2, 3))
    single = kernel_of(CHOICES, 1)
    first_theta = theta[: single.n_hyperparameters]
    expected = single.cross_covariance(first_theta, points[:1])(points)[:, 0].reshape(SIZES)
    expected = expected.mean(axis=(0, 2, 3))
    # up to the common scale, which makes the mean variance of each kernel one
    ratio = of_second / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)


def test_shares_of_the_orders():
    log_weights, log_order_variances = np.array([-1.0, 0.3, -2.0, 0.9]), np.array([0.4, -0.6, 0.2])
    rho, g = np.exp(-np.exp(log_weights)), np.array(SIZES)
    own = (1 - rho) * (1 - 1 / g) / (rho + (1 - rho) / g)
    variances = np.array(
        [
            np.exp(np.append(0.0, log_order_variances)[q])
            * sum(np.prod(own[list(some)]) for some in itertools.combinations(range(4), q))
            for q in range(4)
        ]
    )
    theta = np.concatenate([log_weights, [0.0], log_order_variances])
    shares = kernel_of(CHOICES, 3).order_shares(theta)
    np.testing.assert_allclose(shares, variances / variances.sum(), rtol=1e-12)


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("space", [CHOICES, MIXED], ids=["choices", "mixed"])
def test_shares_add_up_to_one(space, orthogonal):
    for max_order in (1, 2, 4):
        kernel = kernel_of(space, max_order, orthogonal)
        shares = kernel.order_shares(kernel.start(2.0) + 0.1)
        assert shares.shape == (max_order + 1,)
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(shares >= 0.0)
        assert (shares[0] == 0.0) == (not orthogonal)


def test_strong_orders_have_large_shares():
    kernel = kernel_of(CHOICES, 2)
    theta = kernel.start(2.0)
    more = theta.copy()
    more[-1] += 3.0
    assert kernel.order_shares(more)[2] > kernel.order_shares(theta)[2] + 0.2


@pytest.mark.parametrize("remainder", [True, False])
def test_additive_is_the_first_orthogonal_order(remainder):
    points = MIXED.sample(12, np.random.default_rng(4))
    structure = Additive(remainder)
    additive = KernelBuilder(MIXED, Model(structure=structure)).kernel(structure)
    first = kernel_of(MIXED, 1, remainder=remainder)
    theta = first.start(2.0)
    np.testing.assert_array_equal(theta, additive.start(2.0))
    np.testing.assert_array_equal(
        additive.matrix(theta, additive.prepare(points)),
        first.matrix(theta, first.prepare(points)),
    )


def test_additive_functions_have_no_interactions():
    """In a kernel of single effects, k of four corners of a rectangle adds up to nothing."""
    kernel = kernel_of(CHOICES, 1)
    corners = np.zeros((4, 4))
    corners[[1, 3], 1] = 2.0
    corners[[2, 3], 3] = 1.0
    cross = kernel.cross_covariance(
        kernel.start(2.0), CHOICES.sample(9, np.random.default_rng(5))
    )(corners)
    np.testing.assert_allclose(cross[0] - cross[1] - cross[2] + cross[3], 0.0, atol=1e-13)
    pairs = kernel_of(CHOICES, 2)
    cross = pairs.cross_covariance(pairs.start(2.0), CHOICES.sample(9, np.random.default_rng(5)))(
        corners
    )
    assert np.abs(cross[0] - cross[1] - cross[2] + cross[3]).max() > 1e-3


# ------------------------------------------------------------------------ the remainder
@pytest.mark.parametrize("max_order", [1, 2, 3])
@pytest.mark.parametrize(
    ("space", "known"),
    [(CHOICES, {}), (CHOICES, {"graphs": {"x1": "cycle"}, "quantitative": ["x2"]}), (MIXED, {})],
    ids=["choices", "graphs", "mixed"],
)
def test_remainder_is_all_higher_orders_of_one_variance(space, known, max_order):
    """Against the kernel of all orders, in which the higher ones have the same variance."""
    kernel = kernel_of(space, max_order, remainder=True, **known)
    every = kernel_of(space, len(space), remainder=True, **known)
    assert kernel.has_remainder and not every.has_remainder
    rng = np.random.default_rng(6)
    theta = kernel.start(2.0) + 0.4 * rng.standard_normal(kernel.n_hyperparameters)
    more = np.concatenate([theta, np.full(len(space) - max_order - 1, theta[-1])])
    assert len(more) == every.n_hyperparameters
    points, others = space.sample(15, rng), space.sample(9, rng)
    np.testing.assert_allclose(
        kernel.matrix(theta, kernel.prepare(points)),
        every.matrix(more, every.prepare(points)),
        rtol=0.0,
        atol=1e-12,
    )
    cross, expected = kernel.cross_covariance(theta, points), every.cross_covariance(more, points)
    np.testing.assert_allclose(cross(others), expected(others), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(cross.diagonal(others), expected.diagonal(others), atol=1e-12)
    shares, of_every = kernel.order_shares(theta), every.order_shares(more)
    assert shares.shape == (max_order + 2,) and shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(shares[:-1], of_every[: max_order + 1], rtol=1e-9)
    assert shares[-1] == pytest.approx(of_every[max_order + 1 :].sum(), rel=1e-9)


def test_remainder_is_expected_to_be_small_and_may_vanish():
    kernel, without = kernel_of(CHOICES, 2, remainder=True), kernel_of(CHOICES, 2)
    theta = kernel.start(2.0)
    np.testing.assert_array_equal(theta[:-1], without.start(2.0))
    assert theta[-1] < -1.0 and kernel.prior(theta)[0] == 0.0
    assert 0.0 < kernel.order_shares(theta)[-1] < 0.05
    gone = theta.copy()
    gone[-1] = -40.0
    points = CHOICES.sample(20, np.random.default_rng(7))
    np.testing.assert_allclose(
        kernel.matrix(gone, kernel.prepare(points)),
        without.matrix(theta[:-1], without.prepare(points)),
        rtol=0.0,
        atol=1e-13,
    )


def test_where_there_is_no_higher_order_there_is_no_remainder():
    for kernel in (
        kernel_of(CHOICES, len(CHOICES), remainder=True),
        kernel_of(CHOICES, 99, remainder=True),
        kernel_of(CHOICES, 2, orthogonal=False, remainder=True),
        kernel_of(Space(CHOICES.parameters[:1]), 1, remainder=True),
    ):
        assert not kernel.has_remainder
        assert len(kernel.order_shares(kernel.start(2.0))) == kernel.max_order + 1


def test_extreme_weights_of_a_remainder_stay_finite():
    kernel = kernel_of(MIXED, 1, remainder=True)
    points = MIXED.sample(12, np.random.default_rng(8))
    prepared = kernel.prepare(points)
    for theta in (kernel.bounds[:, 0], kernel.bounds[:, 1]):
        matrix, pullback = kernel.matrix_and_pullback(theta, prepared)
        assert np.all(np.isfinite(matrix)) and np.all(np.isfinite(pullback(np.ones((12, 12)))))
        assert np.linalg.eigvalsh(matrix)[0] > -1e-8


def test_more_orders_than_base_kernels_are_all_orders():
    kernel = kernel_of(CHOICES, 99)
    assert kernel.max_order == 4
    assert kernel.n_hyperparameters == 4 + 1 + 4


def test_group_counts_as_one_base_kernel():
    names = ["x0", "x1", "x2"]
    space = Space((*(Categorical(n, range(3)) for n in names), Categorical("y", range(4))))
    structure = [PermutationInvariant(names), InteractionOrders(5)]
    model = Model(structure=structure)
    kernel = KernelBuilder(space, model).kernel(model.combination)
    assert kernel.max_order == 2 == comb(2, 1)
