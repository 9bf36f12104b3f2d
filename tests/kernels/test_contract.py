"""What every kernel of the surrogate must do, whatever it is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate, fit
from heat_plugins.gp.outcome_transform import standardise
from heat_plugins.kernels.base import STARTING_TOTALS, CrossCovariance
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.domain import Domain
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space, apply_changes
from heat_plugins.spec.model import Model
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    LabelledGraph,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.suggest import History, Problem, Settings, suggest


def laplace(r):
    return 2.0 * np.exp(-r)


CHOICES = (
    *(Categorical(f"x{i}", range(4)) for i in range(4)),
    Categorical("b0", (0, 1)),
    Categorical("b1", (0, 1)),
    Categorical("c", ("s", "m", "l")),
    Categorical("one", ("only",)),
)
OTHERS = (
    Float("f", 0, 1),
    Integer("i", 0, 10),
    Ordinal("o", (1, 2, 3, 4, 5)),
    Categorical("q", (1, 10, 100)),
)
SPACES = {"choices": Space(CHOICES), "mixed": Space((*CHOICES, *OTHERS))}
NUMERIC = np.flatnonzero(~SPACES["mixed"].is_discrete)

NAMES = ["x0", "x1", "x2", "x3"]
STAR = [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
KNOWN = {"graphs": {"x0": "cycle", "x2": STAR}, "order": {"c": ["m", "s", "l"]}}
ANCHORS = Anchors(({"x0": 1, "x1": 2}, {"b0": 1}))
TWO_SWAPS = [[1, 0, 2, 3], [0, 1, 3, 2]]
WHOLE_GROUP = [[1, 2, 3, 0], [1, 0, 2, 3]]  # too large for nine samples
GRAPH = LabelledGraph(
    ["x0", "x1", "x2", "in"],
    {("in", "x0"): "b0", ("x0", "x1"): "b1", ("x1", "x2"): "x3", ("x0", "x2"): True},
    fixed=["in"],
    directed=True,
    absent=[3],
)
MANY_NODES = LabelledGraph([*NAMES, "b0"], {("x0", "x1"): "b1", ("x2", "b0"): True}, n_samples=9)

MODELS = {
    **{name: Model(name) for name in kernels_without_graph()},
    "heat isotropic": Model(ard=False),
    "casmopolitan isotropic": Model("casmopolitan", ard=False),
    "matern isotropic": Model("matern", ard=False),
    "function": Model(laplace),
    "graphs": Model("combo", quantitative={"q": "log"}, **KNOWN),
    "graphs isotropic": Model("combo", ard=False, quantitative={"q": "log"}, **KNOWN),
    "matern with graphs": Model("matern", **KNOWN),
    "rational quadratic with quantities": Model("rational-quadratic", quantitative=["q"]),
    "graph-matern with graphs": Model("graph-matern", **KNOWN),
    "numeric choices": Model(numeric_choices="auto"),
    "numeric choices and graphs": Model(numeric_choices="auto", **KNOWN),
    "numeric choices with anchors": Model(numeric_choices="auto", structure=ANCHORS),
    "sum with numbers": Model(mixing="sum"),
    "mixture with numbers": Model(mixing="mixture"),
    "hed plus numbers": Model("hed", mixing="sum"),
    "padded sort": Model(structure=PermutationInvariant(NAMES)),
    "two groups": Model(structure=PermutationInvariant([NAMES, ["b0", "b1"]])),
    "sort": Model(structure=PermutationInvariant(NAMES, "sort")),
    "group product": Model(structure=PermutationInvariant(NAMES, "product")),
    "group product of swaps": Model(
        structure=PermutationInvariant(NAMES, "product", permutations=TWO_SWAPS)
    ),
    "group sum": Model(structure=PermutationInvariant(NAMES, "sum")),
    "group sum of rotations": Model(
        structure=PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 3, 0]])
    ),
    "group sum by samples": Model(
        structure=PermutationInvariant(NAMES, "sum", n_samples=4, permutations=WHOLE_GROUP)
    ),
    "padded sort of a matern": Model("matern", structure=PermutationInvariant(NAMES)),
    "anchors": Model(structure=ANCHORS),
    "labelled graph": Model(structure=GRAPH),
    "labelled graph isotropic": Model(ard=False, structure=GRAPH),
    "labelled graph by samples": Model(structure=MANY_NODES),
    "labelled graph plus numbers": Model(structure=GRAPH, mixing="mixture"),
    "weisfeiler-lehman": Model("weisfeiler-lehman", structure=GRAPH),
    "additive": Model(structure=Additive()),
    "additive without remainder": Model(structure=Additive(remainder=False)),
    "additive mixture": Model(structure=Additive(), mixing="mixture"),
    "additive with graphs": Model(structure=Additive(), **KNOWN),
    "additive groups": Model(structure=[PermutationInvariant(NAMES, "sum"), Additive()]),
    "additive graph": Model(structure=[GRAPH, Additive()]),
    "additive anchors": Model(structure=[ANCHORS, Additive()]),
    "plain orders": Model(structure=InteractionOrders(2, orthogonal=False)),
    "orthogonal order": Model(structure=InteractionOrders(1)),
    "orthogonal orders": Model(structure=InteractionOrders(3)),
    "orthogonal without remainder": Model(structure=InteractionOrders(2, remainder=False)),
    "orthogonal graphs": Model(structure=InteractionOrders(2), quantitative=["q"], **KNOWN),
    "orthogonal groups": Model(structure=[PermutationInvariant(NAMES), InteractionOrders(2)]),
    "orthogonal sum": Model(structure=InteractionOrders(2), mixing="sum"),
    "decomposition": Model(structure=RandomDecomposition()),
    "few edges": Model(structure=RandomDecomposition(n_edges=3, seed=5)),
    "decomposed groups": Model(structure=[PermutationInvariant(NAMES), RandomDecomposition()]),
    "decomposed graphs": Model(structure=RandomDecomposition(), quantitative=["q"], **KNOWN),
}

# The number of a pair of decays, or of rounds, is chosen, not climbed.
CHOSEN = ("ssk", "weisfeiler-lehman")

CASES = pytest.mark.parametrize(
    ("space_name", "name"),
    [(space_name, name) for name in MODELS for space_name in SPACES],
)


def kernel_of(space_name, name):
    model = MODELS[name]
    return KernelBuilder(SPACES[space_name], model).kernel(model.combination)


def some_theta(kernel, name, rng):
    """Hyperparameters away from the symmetric ones that a fit starts from."""
    theta = kernel.start(3.0)
    moved = theta + 0.3 * rng.standard_normal(len(theta))
    if name in CHOSEN:
        moved[0] = theta[0]
    return moved


def finite_differences(function, theta, step=1e-5):
    return np.array(
        [
            (function(theta + move) - function(theta - move)) / (2.0 * step)
            for move in step * np.eye(len(theta))
        ]
    )


@CASES
def test_kernel_matrix_is_one(space_name, name):
    """Symmetric, positive semi-definite, with a diagonal of one, or of one in the mean."""
    rng = np.random.default_rng(0)
    kernel, points = kernel_of(space_name, name), SPACES[space_name].sample(30, rng)
    theta, prepared = some_theta(kernel, name, rng), kernel.prepare(points)
    matrix = kernel.matrix(theta, prepared)
    assert matrix.shape == (30, 30)
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-15)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10
    np.testing.assert_allclose(
        kernel.matrix_and_pullback(theta, prepared)[0], matrix, rtol=0.0, atol=1e-15
    )
    cross = kernel.cross_covariance(theta, points)
    # The square root of a rounded zero is not that of zero, and a Laplace kernel feels it.
    atol = 1e-6 if name == "function" else 1e-12
    np.testing.assert_allclose(cross(points), matrix, rtol=0.0, atol=atol)
    np.testing.assert_allclose(cross.diagonal(points), np.diagonal(matrix), rtol=0.0, atol=1e-12)
    if cross.has_unit_diagonal:
        np.testing.assert_allclose(np.diagonal(matrix), 1.0, rtol=0.0, atol=1e-12)
    else:
        # Nearly: to the kernel integers are numbers between their bounds, groups a sample.
        many = cross.diagonal(SPACES[space_name].sample(4000, rng))
        assert np.mean(many) == pytest.approx(1.0, abs=0.1)
    elsewhere = SPACES[space_name].sample(9, rng)
    np.testing.assert_allclose(
        cross(elsewhere), [cross(point[None])[0] for point in elsewhere], rtol=0.0, atol=1e-13
    )


@CASES
@given(data=st.data())
@settings(deadline=None, max_examples=5)
def test_companions_change_nothing(space_name, name, data):
    """A covariance is one of two points: whatever else they come with, and how often."""
    seed = data.draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    kernel, points = kernel_of(space_name, name), SPACES[space_name].sample(12, rng)
    theta = some_theta(kernel, name, rng)
    whole = kernel.matrix(theta, kernel.prepare(points))
    # Some of them, in any order, some of them twice.
    chosen = np.array(data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=8)))
    some = points[chosen]
    expected = whole[np.ix_(chosen, chosen)]
    close = {"rtol": 0.0, "atol": 1e-6 if name == "function" else 1e-12}
    np.testing.assert_allclose(kernel.matrix(theta, kernel.prepare(some)), expected, **close)
    np.testing.assert_allclose(
        kernel.matrix_and_pullback(theta, kernel.prepare(some))[0], expected, **close
    )
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, some)(points), whole[:, chosen], **close
    )
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, points)(some), whole[chosen], **close
    )
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, some[:1]).diagonal(points), np.diagonal(whole), **close
    )


@CASES
def test_joint_matrix_of_observations_and_other_points_is_a_covariance(space_name, name):
    """The cross-covariances belong to one process: no correlation leaves [-1, 1]."""
    rng = np.random.default_rng(1)
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    points, others = space.sample(20, rng), space.sample(15, rng)
    theta = some_theta(kernel, name, rng)
    cross = kernel.cross_covariance(theta, points)
    whitened = np.linalg.solve(
        kernel.matrix(theta, kernel.prepare(points)) + 1e-8 * np.eye(20), cross(others).T
    )
    explained = np.einsum("ij,ji->i", cross(others), whitened)
    assert np.all(explained <= cross.diagonal(others) + 1e-6)


@CASES
def test_pullback_is_the_derivative_of_the_matrix(space_name, name):
    rng = np.random.default_rng(2)
    kernel, points = kernel_of(space_name, name), SPACES[space_name].sample(25, rng)
    theta, prepared = some_theta(kernel, name, rng), kernel.prepare(points)
    by_kernel = rng.standard_normal((25, 25))
    by_kernel += by_kernel.T
    given = by_kernel.copy()
    gradient = kernel.matrix_and_pullback(theta, prepared)[1](given)
    np.testing.assert_array_equal(given, by_kernel)
    if name in CHOSEN:
        assert gradient[0] == 0.0
        fixed, theta, gradient = theta[:1], theta[1:], gradient[1:]
    else:
        fixed = theta[:0]

    def number(moved):
        return np.vdot(by_kernel, kernel.matrix(np.concatenate([fixed, moved]), prepared))

    expected = finite_differences(number, theta)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-6 * scale)


@CASES
def test_gradient_of_the_prior_is_that_of_its_value(space_name, name):
    rng = np.random.default_rng(3)
    kernel = kernel_of(space_name, name)
    theta = some_theta(kernel, name, rng)
    value, gradient = kernel.prior(theta)
    assert np.isfinite(value) and gradient.shape == theta.shape
    expected = finite_differences(lambda moved: kernel.prior(moved)[0], theta)
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-7)


@CASES
def test_every_start_is_inside_the_bounds(space_name, name):
    kernel = kernel_of(space_name, name)
    assert kernel.bounds.shape == (kernel.n_hyperparameters, 2)
    assert np.all(kernel.bounds[:, 0] < kernel.bounds[:, 1])
    for total in STARTING_TOTALS:
        start = kernel.start(total)
        assert start.shape == (kernel.n_hyperparameters,)
        assert np.all((start >= kernel.bounds[:, 0]) & (start <= kernel.bounds[:, 1]))


@pytest.mark.parametrize("space_name", SPACES)
@pytest.mark.parametrize(
    # The decays of strings have no such order, and inverse polynomials start near white noise.
    "name",
    [name for name in MODELS if name not in ("ssk", "inverse-polynomial")],
)
def test_correlations_fall_as_the_total_of_the_weights_rises(space_name, name):
    """That is what a total means: a fit that starts from all of them sees different kernels."""
    kernel = kernel_of(space_name, name)
    points = SPACES[space_name].sample(30, np.random.default_rng(4))
    prepared = kernel.prepare(points)
    means = [
        kernel.matrix(kernel.start(t), prepared)[~np.eye(30, dtype=bool)].mean()
        for t in STARTING_TOTALS
    ]
    assert means[0] > means[-1] + 0.05
    assert np.all(np.diff(means) <= 1e-12)


@CASES
def test_covariances_of_changes_are_those_of_the_changed_points(space_name, name):
    rng = np.random.default_rng(5)
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    points = space.sample(20, rng)
    cross = kernel.cross_covariance(some_theta(kernel, name, rng), points)
    atol = 1e-6 if name == "function" else 1e-12
    for point in (space.sample(1, rng)[0], points[0]):
        columns, coordinates = Domain(space).changes(point)
        assert set(columns) == set(np.flatnonzero(space.n_levels > 1))
        before = point.copy()
        changed = cross.of_changes(point, columns, coordinates)
        np.testing.assert_array_equal(point, before)
        expected = cross(apply_changes(point, columns, coordinates))
        np.testing.assert_allclose(changed, expected, rtol=0.0, atol=atol)


@pytest.mark.parametrize("name", MODELS)
def test_slopes_are_the_derivatives_of_the_covariances(name):
    rng = np.random.default_rng(6)
    space, kernel = SPACES["mixed"], kernel_of("mixed", name)
    cross = kernel.cross_covariance(some_theta(kernel, name, rng), space.sample(20, rng))
    step = 1e-4  # another one than the kernels' own
    for point in space.sample(3, rng):
        covariances, slopes = cross.slopes(point, NUMERIC)
        own, own_slopes = cross.own_slopes(point, NUMERIC)
        np.testing.assert_allclose(covariances, cross(point[None])[0], rtol=0.0, atol=1e-12)
        assert own == pytest.approx(cross.diagonal(point[None])[0], abs=1e-12)
        for i, column in enumerate(NUMERIC):
            ends = np.repeat(point[None], 2, axis=0)
            ends[:, column] += [step, -step]
            above, below = cross(ends)
            np.testing.assert_allclose(slopes[:, i], (above - below) / (2 * step), atol=1e-6)
            above, below = cross.diagonal(ends)
            assert own_slopes[i] == pytest.approx((above - below) / (2 * step), abs=1e-6)


@pytest.mark.parametrize(
    "name",
    ["heat", "graphs", "heat isotropic", "numeric choices", "sum with numbers"]
    + [name for name in MODELS if name.startswith(("additive", "plain orders", "orthogonal"))],
)
def test_fast_slopes_are_those_of_the_differences(name):
    rng = np.random.default_rng(7)
    space, kernel = SPACES["mixed"], kernel_of("mixed", name)
    cross = kernel.cross_covariance(some_theta(kernel, name, rng), space.sample(20, rng))
    point = space.sample(1, rng)[0]
    assert type(cross).slopes is not CrossCovariance.slopes
    for fast, plain in zip(
        cross.slopes(point, NUMERIC), CrossCovariance.slopes(cross, point, NUMERIC), strict=True
    ):
        np.testing.assert_allclose(fast, plain, atol=1e-8)
    for fast, plain in zip(
        cross.own_slopes(point, NUMERIC),
        CrossCovariance.own_slopes(cross, point, NUMERIC),
        strict=True,
    ):
        np.testing.assert_allclose(fast, plain, atol=1e-8)


@CASES
def test_order_of_the_observations_does_not_matter(space_name, name):
    rng = np.random.default_rng(8)
    kernel, points = kernel_of(space_name, name), SPACES[space_name].sample(20, rng)
    theta, order = some_theta(kernel, name, rng), rng.permutation(20)
    matrix = kernel.matrix(theta, kernel.prepare(points))
    again = kernel.matrix(theta, kernel.prepare(points[order]))
    np.testing.assert_allclose(again, matrix[np.ix_(order, order)], rtol=0.0, atol=1e-13)


@CASES
def test_pending_points_leave_the_mean_as_it_is(space_name, name):
    rng = np.random.default_rng(14)
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    points, pending, others = space.sample(15, rng), space.sample(3, rng), space.sample(9, rng)
    values = rng.standard_normal(15)
    hyperparameters = Hyperparameters(some_theta(kernel, name, rng), -4.0)
    plain = Surrogate(kernel, hyperparameters, points, values)
    model = Surrogate(kernel, hyperparameters, points, values, pending)
    mean, variance = model.posterior(np.concatenate([others, pending]))
    expected, before = plain.posterior(np.concatenate([others, pending]))
    np.testing.assert_allclose(mean, expected, rtol=0.0, atol=1e-9)
    assert np.all(variance <= before + 1e-9) and np.all(variance[9:] < before[9:])


INVARIANT = {
    "padded sort": NAMES,
    "sort": NAMES,
    "group product": NAMES,
    "group sum": NAMES,
    "additive groups": NAMES,
    "orthogonal groups": NAMES,
    "decomposed groups": NAMES,
    "padded sort of a matern": NAMES,
}


@pytest.mark.parametrize("space_name", SPACES)
@pytest.mark.parametrize("name", INVARIANT)
def test_permutations_of_a_point_are_the_same_point_to_an_invariant_kernel(name, space_name):
    rng = np.random.default_rng(9)
    space, kernel = SPACES[space_name], kernel_of(space_name, name)
    points, others = space.sample(20, rng), space.sample(10, rng)
    cross = kernel.cross_covariance(some_theta(kernel, name, rng), points)
    block = [space.column[n] for n in INVARIANT[name]]
    permuted = others.copy()
    permuted[:, block] = rng.permuted(others[:, block], axis=1)
    assert not np.array_equal(permuted, others)
    np.testing.assert_allclose(cross(permuted), cross(others), rtol=0.0, atol=1e-12)
    # and other changes are seen
    moved = others.copy()
    moved[:, block[0]] = (moved[:, block[0]] + 1) % 4
    assert np.abs(cross(moved) - cross(others)).max() > 1e-3


def test_rotations_alone_are_the_same_to_a_kernel_of_rotations():
    rng = np.random.default_rng(10)
    space, kernel = SPACES["choices"], kernel_of("choices", "group sum of rotations")
    cross = kernel.cross_covariance(kernel.start(3.0), space.sample(20, rng))
    point = np.zeros((1, len(space)))
    point[0, :4] = [0, 1, 2, 3]
    rotated, swapped = point.copy(), point.copy()
    rotated[0, :4], swapped[0, :4] = [2, 3, 0, 1], [1, 0, 2, 3]
    np.testing.assert_allclose(cross(rotated), cross(point), rtol=0.0, atol=1e-13)
    assert np.abs(cross(swapped) - cross(point)).max() > 1e-3


# ---------------------------------------------------------------------- fit and suggest
SMALL_SEARCH = SearchBudget(
    population=12, generations=1, parents=6, ascents=1, ascent_steps=2, enumerate_up_to=10
)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("space_name", "data"),
    [("mixed", "one observation"), ("mixed", "constant"), ("choices", "some")],
)
def test_every_kernel_fits_and_suggests(space_name, name, data):
    space, rng = SPACES[space_name], np.random.default_rng(11)
    points = space.sample(1 if data == "one observation" else 10, rng)
    values = np.full(len(points), 7.5) if data == "constant" else points.sum(axis=1)
    history = History.of(space, points, values, pending=space.sample(1, rng))
    settings = Settings(
        n_startup_trials=1, trust_region=None, search=SMALL_SEARCH, model=MODELS[name]
    )
    found = suggest(Problem(space), history, settings, np.random.default_rng(12))
    assert found.is_new and found.kernel_fit is not None
    assert np.all(np.isfinite(found.kernel_fit.hyperparameters.to_vector()))
    assert np.array_equal(space.snap(found.point[None])[0], found.point)
    assert not np.any(np.all(found.point == history.points, axis=1))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "inverse-polynomial"])
def test_every_kernel_learns_something(name):
    """The fitted model predicts better than the mean value does, where it has not been."""
    space, rng = SPACES["choices"], np.random.default_rng(13)
    everything = space.sample(90, rng)
    all_values = standardise((everything[:, :4] == 2).sum(axis=1) + 0.5 * everything[:, 4])
    points, values, others = everything[:40], all_values[:40], everything[40:]
    kernel = kernel_of("choices", name)
    found = fit(kernel, points, values, deterministic=False)
    assert np.isfinite(found.negative_log_density)
    theta = found.hyperparameters.theta
    assert np.all((theta >= kernel.bounds[:, 0]) & (theta <= kernel.bounds[:, 1]))
    model = Surrogate(kernel, found.hyperparameters, points, values)
    mean, variance = model.posterior(others)
    assert np.all(variance > 0.0)
    unexplained = np.mean((mean - all_values[40:]) ** 2)
    assert unexplained < 0.8 * np.mean(all_values[40:] ** 2)
