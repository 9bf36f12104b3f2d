"""Problems with a known structure, and what is measured on them."""

import itertools

import numpy as np
import pytest

from heat_plugins.benchmarks.methods.method_list import METHODS
from heat_plugins.benchmarks.problems.catalogue import task_named
from heat_plugins.benchmarks.problems.functions import SFU, relabelled, sequence
from heat_plugins.benchmarks.run import kernel_speed
from heat_plugins.benchmarks.run.runner import Job, run_study

SLOW_DEFINITIONS = {
    "rastrigin": (5.12, lambda x: sum(v**2 - 10 * np.cos(2 * np.pi * v) + 10 for v in x)),
    "schwefel": (500.0, lambda x: sum(418.9829 - v * np.sin(np.sqrt(abs(v))) for v in x)),
    "sphere": (5.12, lambda x: sum(v * v for v in x)),
    "styblinski-tang": (5.0, lambda x: sum(v**4 - 16 * v**2 + 5 * v for v in x) / 2),
}


@pytest.mark.parametrize("name", SLOW_DEFINITIONS)
def test_functions_are_those_of_the_collection(name: str) -> None:
    reach, slow = SLOW_DEFINITIONS[name]
    problem = SFU[name](6, 11)
    grid = np.linspace(-reach, reach, 11)
    for codes in np.random.default_rng(0).integers(11, size=(20, 6)):
        assert problem(codes) == pytest.approx(slow(grid[codes]), rel=1e-12)


@pytest.mark.parametrize("name", SFU)
def test_functions_do_not_mind_permutations_and_know_their_optimum(name: str) -> None:
    rng = np.random.default_rng(1)
    for problem in (SFU[name](20, 11), relabelled(SFU[name](20, 11))):
        for codes in rng.integers(11, size=(10, 20)):
            assert problem(rng.permutation(codes)) == pytest.approx(problem(codes), rel=1e-12)
    small = SFU[name](3, 5)
    values = [small(np.array(codes)) for codes in itertools.product(range(5), repeat=3)]
    assert min(values) == pytest.approx(small.best_known, abs=1e-9)


def test_relabelling_moves_the_optimum_and_keeps_the_values() -> None:
    plain, moved = SFU["sphere"](4, 5), relabelled(SFU["sphere"](4, 5))
    every = [np.array(codes) for codes in itertools.product(range(5), repeat=4)]
    assert sorted(map(plain, every)) == pytest.approx(sorted(map(moved, every)))
    assert min(every, key=plain).tolist() != min(every, key=moved).tolist()


def test_the_best_sequence_is_the_smallest_of_all() -> None:
    problem = sequence(length=6, n_letters=3, pairs=0.8, seed=5)
    values = [problem(np.array(codes)) for codes in itertools.product(range(3), repeat=6)]
    assert min(values) == pytest.approx(problem.best_known, rel=1e-12)
    assert problem(np.zeros(6, int)) == sequence(6, 3, 0.8, 5)(np.zeros(6, int))


def test_without_pairs_the_letters_of_a_sequence_add_up() -> None:
    problem = sequence(length=5, n_letters=3, pairs=0.0, seed=2)
    base = problem(np.zeros(5, int))
    changed = [problem(np.eye(5, dtype=int)[i]) - base for i in range(5)]
    assert problem(np.ones(5, int)) == pytest.approx(base + sum(changed), rel=1e-12)


def test_all_kernels_are_measured_against_the_default(monkeypatch) -> None:
    monkeypatch.setattr(kernel_speed, "N_TRIALS", 12)
    monkeypatch.setattr(kernel_speed, "N_MEASURED", 1)
    rows = list(kernel_speed.structures_against_default())
    assert rows[0]["kernel_or_structure"] == "heat (default)"
    assert all(row["ratio_to_default"] > 0.0 for row in rows)
    assert {row["kernel_or_structure"] for row in rows} >= {"combo", "ssk", "padded sort", "auto"}
    assert all(row["seconds"] > 0.0 for row in rows)


def test_closed_form_and_eigenvectors_are_the_same_kernel() -> None:
    spectral = kernel_speed._by_eigenvectors((2,) * 6)
    points = np.random.default_rng(0).integers(2, size=(9, 6)).astype(float)
    weights = np.linspace(0.1, 1.0, 6)
    theta = np.append(np.log(weights), 0.0)
    expected = np.exp(-((points[:, None] != points[None]) @ weights))
    matrix = spectral.matrix(theta, spectral.prepare(points))
    np.testing.assert_allclose(matrix, expected, rtol=1e-10)


def test_structures_find_better_points_where_they_hold() -> None:
    """Padded sorting solves in 60 trials what takes hundreds without it."""
    task = task_named("styblinski-tang-relabelled")
    best = {
        name: run_study(task, METHODS[name], Job(task.name, name, 0, 60, 10)).scores[-1]
        for name in ("heat", "padded-sort")
    }
    assert best["padded-sort"] == pytest.approx(task.best_known)
    assert best["heat"] > task.best_known + 50.0
