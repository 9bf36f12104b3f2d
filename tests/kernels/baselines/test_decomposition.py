"""Random decompositions: sums over components of products of base kernels."""

import numpy as np
import pytest

from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.base_kernels import ChoiceKernel, FixedDistance, NumberKernel
from heat_plugins.kernels.baselines.decomposition import DecompositionKernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Ordinal, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import PermutationInvariant, RandomDecomposition

SPACE = Space(
    (
        *(Categorical(f"x{i}", range(2 + i % 3)) for i in range(5)),
        Ordinal("o", range(4)),
        Float("f", 0, 1),
        Categorical("many", range(30)),
    )
)


def kernel_of(space=SPACE, n_edges=None, seed=0, n_observations=0, **model):
    structure = RandomDecomposition(n_edges, seed)
    return KernelBuilder(space, Model(structure=structure, **model)).kernel(
        structure, n_observations
    )


def test_components_depend_on_the_seed_and_the_number_of_observations_alone():
    found = [kernel_of(n_observations=n).components for n in range(30)]
    structure = RandomDecomposition()
    builder = KernelBuilder(SPACE, Model(structure=structure))
    order = np.random.default_rng(0).permutation(30)  # whatever was asked for before
    again = {n: builder.kernel(structure, int(n)).components for n in order}
    assert found == [again[n] for n in range(30)]
    assert len(set(found)) > 25
    assert kernel_of().components == found[0]
    others = [kernel_of(seed=1, n_observations=n).components for n in range(30)]
    assert sum(a != b for a, b in zip(found, others, strict=True)) > 25


def test_kernel_of_two_points_does_not_depend_on_the_others():
    """What is observed, or pending, besides them: the components stay as they are."""
    kernel = kernel_of(n_observations=8)
    points = SPACE.sample(12, np.random.default_rng(0))
    theta = kernel.start(2.0)
    some = kernel.matrix(theta, kernel.prepare(points[:8]))
    more = kernel.matrix(theta, kernel.prepare(points))
    np.testing.assert_allclose(more[:8, :8], some, rtol=0.0, atol=1e-15)
    few, many = kernel.cross_covariance(theta, points[:8]), kernel.cross_covariance(theta, points)
    np.testing.assert_allclose(many(points)[:, :8], few(points), rtol=0.0, atol=1e-15)
    other = kernel_of(n_observations=9)
    assert np.abs(other.matrix(theta, other.prepare(points)) - more).max() > 1e-3


@pytest.mark.parametrize("n_edges", [None, 1, 4, 100])
def test_components_cover_every_base_kernel_with_a_forest(n_edges):
    for n in range(12):
        components = kernel_of(n_edges=n_edges, n_observations=n).components
        assert {base for component in components for base in component} == set(range(8))
        edges = [component for component in components if len(component) == 2]
        assert len(edges) == min(7, n_edges or 7)
        trees = [{base} for base in range(8)]
        for a, b in edges:
            (left,) = (tree for tree in trees if a in tree)
            (right,) = (tree for tree in trees if b in tree)
            assert left is not right  # no cycle
            trees = [t for t in trees if t is not left and t is not right] + [left | right]


def test_one_component_of_all_is_the_product():
    space = Space((Categorical("a", range(3)), Categorical("b", range(5))))
    kernel, heat = kernel_of(space), KernelBuilder(space, Model()).kernel()
    assert kernel.components == ((0, 1),)
    points = space.sample(12, np.random.default_rng(1))
    np.testing.assert_allclose(
        kernel.matrix(np.array([0.0, -0.4, 0.6]), kernel.prepare(points)),
        heat.matrix(np.array([-0.4, 0.6, 0.0]), heat.prepare(points)),
        rtol=0.0,
        atol=1e-14,
    )


def test_single_parameter_is_its_own_component():
    space = Space((Categorical("a", range(3)),))
    kernel = kernel_of(space, n_edges=3)
    assert kernel.components == ((0,),)
    matrix = kernel.matrix(np.array([0.0, 0.5]), kernel.prepare(np.array([[0.0], [1.0], [0.0]])))
    rho = np.exp(-np.exp(0.5))
    np.testing.assert_allclose(matrix, [[1, rho, 1], [rho, 1, rho], [1, rho, 1]], atol=1e-15)


def base_kernels_of(kernel: Kernel, theta, points):
    """Kernel matrices of the base kernels, each through a space of its own columns alone."""
    matrices = []
    parts = kernel._base_kernels.split(theta)
    for base, part in zip(kernel._base_kernels.kernels, parts, strict=True):
        matrices.append(base.matrix(part, base.prepare(points)))
    return matrices


@pytest.mark.parametrize("n_edges", [None, 3])
def test_kernel_is_the_mean_of_the_products_of_its_components(n_edges):
    rng = np.random.default_rng(2)
    names = ["x0", "x3"]
    for model in ({}, {"graphs": {"x1": "path"}, "quantitative": ["x2"]}):
        kernel = kernel_of(n_edges=n_edges, **model)
        theta = kernel.start(2.0) + 0.2 * rng.standard_normal(kernel.n_hyperparameters)
        points = SPACE.sample(14, rng)
        base_kernels = base_kernels_of(kernel, theta, points)
        products = [np.prod([base_kernels[u] for u in c], axis=0) for c in kernel.components]
        np.testing.assert_allclose(
            kernel.matrix(theta, kernel.prepare(points)),
            np.mean(products, axis=0),
            rtol=0.0,
            atol=1e-13,
        )
    structure = [PermutationInvariant(names), RandomDecomposition()]
    model = Model(structure=structure)
    grouped = KernelBuilder(SPACE, model).kernel(model.combination)
    assert len({base for c in grouped.components for base in c}) == len(SPACE) - 1


@pytest.mark.parametrize(
    "components",
    [[(0, 1, 2), (3,)], [(2, 0), (1, 3), (0,)], [(3, 1), (4, 2, 0)], [(4, 3, 2, 1, 0)]],
    ids=["three at once", "in any order", "two large ones", "all"],
)
def test_any_components_may_be_given(components):
    """Tables of several choices, products with numbers and with many choices, and slopes."""
    space = Space(
        (*(Categorical(f"x{i}", range(g)) for i, g in enumerate((3, 2, 4, 30))), Float("f", 0, 1))
    )
    sizes = space.n_levels[:4].astype(int)
    base_kernels = [ChoiceKernel(i, FixedDistance.unordered(g)) for i, g in enumerate(sizes)]
    kernel = DecompositionKernel([*base_kernels, NumberKernel(4)], components)
    assert kernel.components == tuple(components)
    rng = np.random.default_rng(3)
    points, others = space.sample(12, rng), space.sample(7, rng)
    theta = kernel.start(2.0) + 0.3 * rng.standard_normal(6)
    matrices = base_kernels_of(kernel, theta, points)
    expected = np.mean([np.prod([matrices[u] for u in c], axis=0) for c in components], axis=0)
    prepared = kernel.prepare(points)
    matrix, pullback = kernel.matrix_and_pullback(theta, prepared)
    np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-14)
    joint = kernel.matrix(theta, kernel.prepare(np.concatenate([points, others])))
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, points)(others), joint[12:, :12], rtol=0.0, atol=1e-14
    )
    by_kernel = rng.standard_normal((12, 12))
    by_kernel += by_kernel.T
    slopes = [
        np.vdot(
            by_kernel,
            kernel.matrix(theta + move, prepared) - kernel.matrix(theta - move, prepared),
        )
        for move in 1e-5 * np.eye(6)
    ]
    np.testing.assert_allclose(pullback(by_kernel), np.array(slopes) / 2e-5, atol=1e-7)
