"""The bound of each term of a sum, against Gaussian processes written out."""

import math

import numpy as np
import pytest

from heat_plugins.acquisition.component_bound import ComponentBound
from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Array, Categorical, Float, Integer, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import PermutationInvariant, RandomDecomposition

SPACE = Space(
    (
        *(Categorical(f"c{i}", range(k)) for i, k in enumerate((3, 2, 4))),
        Integer("i", 0, 9),
        Float("x", -1, 1),
    )
)
POINTS = SPACE.sample(25, np.random.default_rng(0))
VALUES = np.sin(POINTS @ np.arange(1.0, 6.0))
NEW = SPACE.sample(9, np.random.default_rng(1))
NOISE = 1e-2


def kernel_with(n_edges: int | None) -> tuple[Kernel, Array]:
    structure = RandomDecomposition(n_edges=n_edges)
    model = Model(structure=structure)
    kernel = KernelBuilder(SPACE, model).kernel(structure, n_observations=25)
    theta = kernel.start(3.0) + 0.3 * np.random.default_rng(2).standard_normal(
        kernel.n_hyperparameters
    )
    return kernel, theta


def surrogate_with(n_edges: int | None) -> Surrogate:
    kernel, theta = kernel_with(n_edges)
    return Surrogate(kernel, Hyperparameters(theta, math.log(NOISE)), POINTS, VALUES)


@pytest.mark.parametrize("n_edges", [1, 2, None])
def test_terms_add_up_to_the_kernel(n_edges: int | None) -> None:
    kernel, theta = kernel_with(n_edges)
    terms = kernel.terms(theta, POINTS)
    assert sorted(np.concatenate([t.columns for t in terms]).tolist())[0] == 0
    total = np.sum([term.covariances(NEW) for term in terms], axis=0)
    np.testing.assert_allclose(total, kernel.cross_covariance(theta, POINTS)(NEW), atol=1e-12)
    assert sum(term.variance for term in terms) == pytest.approx(1.0)


@pytest.mark.parametrize("n_edges", [1, None])
def test_a_term_has_the_posterior_of_its_part_of_the_sum(n_edges: int | None) -> None:
    """mu_c = k_c K^-1 y and s_c^2 = sigma^2 (k_c(x, x) - k_c K^-1 k_c^T)."""
    kernel, theta = kernel_with(n_edges)
    surrogate = surrogate_with(n_edges)
    matrix = kernel.cross_covariance(theta, POINTS)(POINTS) + NOISE * np.eye(len(POINTS))
    for term, posterior in zip(kernel.terms(theta, POINTS), surrogate.terms(), strict=True):
        cross = term.covariances(NEW)
        mean, variance = posterior.posterior(NEW)
        np.testing.assert_allclose(mean, cross @ np.linalg.solve(matrix, VALUES), atol=1e-9)
        explained = np.einsum("ij,ji->i", cross, np.linalg.solve(matrix, cross.T))
        expected = surrogate.variance * (term.variance - explained)
        np.testing.assert_allclose(variance, expected, atol=1e-9)


def test_a_term_does_not_depend_on_other_columns() -> None:
    for posterior in surrogate_with(None).terms():
        others = SPACE.sample(len(NEW), np.random.default_rng(3))
        others[:, posterior.columns] = NEW[:, posterior.columns]
        for here, there in zip(posterior.posterior(NEW), posterior.posterior(others), strict=True):
            np.testing.assert_allclose(here, there, atol=1e-12)


def test_without_deviations_the_bound_is_minus_the_mean() -> None:
    surrogate = surrogate_with(None)
    bound = ComponentBound(surrogate.terms(), 0.0)
    np.testing.assert_allclose(bound(NEW), -surrogate.mean(NEW), atol=1e-9)


def test_the_bound_of_the_terms_is_above_that_of_the_sum() -> None:
    surrogate = surrogate_with(None)
    _, variance = surrogate.posterior(NEW)
    terms = ComponentBound(surrogate.terms(), 1.0)(NEW)
    assert np.all(terms >= np.sqrt(variance) - surrogate.mean(NEW) - 1e-9)


def test_changes_and_gradients_are_those_of_the_values() -> None:
    bound = ComponentBound(surrogate_with(None).terms(), 1.5)
    point, columns = NEW[0], np.array([0, 3, 4])
    changed = np.repeat(point[None], 3, axis=0)
    changed[np.arange(3), columns] = [1.0, 0.2, 0.7]
    np.testing.assert_allclose(
        bound.of_changes(point, columns, np.array([1.0, 0.2, 0.7])), bound(changed)
    )
    value, gradient = bound.value_and_gradient(point, np.array([4]))
    near = np.repeat(point[None], 2, axis=0)
    near[:, 4] += [1e-4, -1e-4]
    assert value == pytest.approx(bound(point[None])[0])
    assert gradient[0] == pytest.approx(np.subtract(*bound(near)) / 2e-4, rel=1e-4)


def test_groups_of_parameters_are_no_terms_of_columns() -> None:
    structure = RandomDecomposition()
    model = Model(structure=(structure, PermutationInvariant(["a", "b"])))
    space = Space(tuple(Categorical(name, range(3)) for name in "abcd"))
    kernel = KernelBuilder(space, model).kernel(structure, n_observations=4)
    assert kernel.terms(kernel.start(1.0), space.sample(4, np.random.default_rng(0))) == []
    plain = KernelBuilder(space, Model()).kernel()
    assert plain.terms(plain.start(1.0), space.sample(4, np.random.default_rng(0))) == []
