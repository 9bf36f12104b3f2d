"""Random decompositions of the variables into components, the groups that may interact.

References:
    Ziomek and Bou-Ammar, "Are random decompositions all we need in high dimensional Bayesian
    optimisation?", ICML 2023 (RDUCB).
"""

import numpy as np

__all__ = ["random_tree_components"]


def random_tree_components(
    n_variables: int, rng: np.random.Generator, n_edges: int | None = None
) -> tuple[tuple[int, ...], ...]:
    """Draw the edges of a random forest on the variables.

    Each edge is drawn uniformly among those that close no cycle with the edges before it, as
    RDUCB does. (This is not the uniform distribution over spanning trees.)

    Args:
        n_variables: number of variables d, at least 1.
        rng: source of randomness.
        n_edges: number of edges, from 0 to d - 1; None for d - 1, a spanning tree.

    Returns:
        The edges (i, j) with i < j, followed by (i,) for each variable in no edge; both sorted.
    """
    if n_variables < 1:
        raise ValueError(f"n_variables must be at least 1, got {n_variables}")
    wanted = n_variables - 1 if n_edges is None else n_edges
    if not 0 <= wanted < n_variables:
        raise ValueError(f"n_edges must be from 0 to {n_variables - 1}, got {n_edges}")
    first, second = np.triu_indices(n_variables, k=1)
    tree_of = list(range(n_variables))  # Variables of one tree carry the same label.
    edges: list[tuple[int, ...]] = []
    # Going through all pairs in random order draws from the pairs that are left, so taking the
    # first that closes no cycle is a uniform draw among those.
    for pair in rng.permutation(len(first)):
        if len(edges) == wanted:
            break
        i, j = int(first[pair]), int(second[pair])
        if tree_of[i] != tree_of[j]:
            edges.append((i, j))
            tree_of = [tree_of[i] if tree == tree_of[j] else tree for tree in tree_of]
    touched = {i for edge in edges for i in edge}
    alone = [(i,) for i in range(n_variables) if i not in touched]
    return (*sorted(edges), *alone)
