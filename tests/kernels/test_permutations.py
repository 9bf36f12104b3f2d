"""Permutation groups against known orders, orbits and distributions."""

import subprocess
import sys

import numpy as np
import pytest

from heat_plugins.kernels import permutations
from heat_plugins.kernels.permutations import closure, orbits, sample

ROTATION = [[1, 2, 3, 4, 0]]
DIHEDRAL = [[1, 2, 3, 4, 0], [4, 3, 2, 1, 0]]


def all_permutations(d):
    """Generators of all permutations: a transposition and a cycle."""
    return [[1, 0, *range(2, d)], [*range(1, d), 0]]


def as_set(rows):
    return {tuple(row) for row in np.asarray(rows).tolist()}


@pytest.mark.parametrize(
    ("generators", "order"),
    [
        ([[0, 1, 2]], 1),
        (ROTATION, 5),
        (DIHEDRAL, 10),
        ([[1, 0, 2, 3, 4], [1, 2, 3, 4, 0]], 120),
        ([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]], 60),  # The alternating group.
    ],
)
def test_closure_lists_groups_of_known_order(generators, order):
    elements = closure(generators, limit=order)
    assert elements.shape == (order, len(generators[0])) and len(as_set(elements)) == order
    assert elements[0].tolist() == list(range(len(generators[0])))
    assert as_set(elements[:, elements[-1]]) == as_set(elements)  # Products stay inside.
    if order > 1:
        with pytest.raises(ValueError, match=f"at most {order - 1} elements"):
            closure(generators, limit=order - 1)


def test_orbits_are_the_variables_that_can_be_exchanged():
    assert orbits([[2, 1, 0, 4, 5, 3]]) == ((0, 2), (1,), (3, 4, 5))
    assert orbits(all_permutations(4)) == ((0, 1, 2, 3),)
    long_cycle = np.roll(np.arange(200), 1)[None]
    assert orbits(long_cycle) == (tuple(range(200)),)
    elements = closure(DIHEDRAL, 10)
    reached = {frozenset(elements[:, i].tolist()) for i in range(5)}
    assert reached == {frozenset(orbit) for orbit in orbits(DIHEDRAL)}


def frequencies(rows):
    _, counts = np.unique(rows, axis=0, return_counts=True)
    return counts / len(rows)


def test_samples_are_uniform():
    rows = sample(all_permutations(4), 24_000, np.random.default_rng(0))
    counts = frequencies(rows)
    assert len(counts) == 24 and np.abs(counts * 24 - 1.0).max() < 0.15  # Five standard errors.


def test_product_replacement_is_close_to_uniform():
    generators = np.array(all_permutations(4))
    rows = permutations._product_replacement(generators, 6_000, np.random.default_rng(0))
    counts = frequencies(rows)
    assert len(counts) == 24 and np.abs(counts * 24 - 1.0).max() < 0.35


def test_groups_too_large_to_list_are_sampled_too():
    generators = all_permutations(20)
    rows = sample(generators, 400, np.random.default_rng(0))
    assert rows.shape == (400, 20) and len(as_set(rows)) == 400
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(20), (400, 1)))
    assert abs((rows == np.arange(20)).sum(axis=1).mean() - 1.0) < 0.25  # Mean of fixed points.
    again = sample(generators, 400, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, again)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closure([[0, 1, 1]], 5), r"hold 0, ..., 2 once, got \[0, 1, 1\]"),
        (lambda: closure([[1, 2]], 5), r"hold 0, ..., 1 once, got \[1, 2\]"),
        (lambda: closure([], 5), r"shape \(k, d\) with k, d > 0, got \(0,\)"),
        (lambda: closure([0, 1], 5), r"got \(2,\)"),
    ],
)
def test_errors_give_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numpy_helpers_do_not_load_pytorch():
    load = "import sys; from heat_plugins.kernels import build, formulas, permutations"
    code = f"{load}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
