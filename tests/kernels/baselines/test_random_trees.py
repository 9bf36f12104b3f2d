"""Random forests of the variables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels.baselines.random_trees import random_tree_components


@given(data=st.data(), n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_components_are_a_forest_that_covers_all_variables(data, n, seed):
    n_edges = data.draw(st.none() | st.integers(0, n - 1))
    components = random_tree_components(n, np.random.default_rng(seed), n_edges)
    edges = [c for c in components if len(c) == 2]
    assert len(edges) == (n - 1 if n_edges is None else n_edges)
    assert all(i < j for i, j in edges) and len(set(components)) == len(components)
    # A graph without cycles has rank(incidence) = number of edges.
    incidence = np.zeros((len(edges), n))
    for row, (i, j) in zip(incidence, edges, strict=True):
        row[[i, j]] = 1, -1
    assert not edges or np.linalg.matrix_rank(incidence) == len(edges)
    assert {i for c in components for i in c} == set(range(n))
    assert all(c not in {(i,) for e in edges for i in e} for c in components)


def test_each_edge_is_equally_likely_and_the_draw_is_reproducible():
    rng = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    for _ in range(2000):
        for i, j in random_tree_components(5, rng):
            counts[i, j] += 1
    # 4 of 10 edges: frequency 0.4 with standard error 0.011.
    assert np.abs(counts[np.triu_indices(5, 1)] / 2000 - 0.4).max() < 0.05
    draws = [random_tree_components(30, np.random.default_rng(7), 20) for _ in range(2)]
    assert draws[0] == draws[1]
    assert all(type(i) is int for c in draws[0] for i in c)


def test_errors_give_expected_and_actual():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n_variables must be at least 1, got 0"):
        random_tree_components(0, rng)
    with pytest.raises(ValueError, match="n_edges must be from 0 to 2, got 3"):
        random_tree_components(3, rng, 3)
