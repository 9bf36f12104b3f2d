r"""Groups of permutations of the variables, without PyTorch.

A permutation is a row p of the numbers 0, ..., d - 1 and acts on a point by

    (p x)_i = x_{p[i]},    in NumPy: x[p],

so "first p, then q" is x[p][q] = x[p[q]]. A group is given by generators, which may but need not
be all its elements.
"""

import numpy as np
import numpy.typing as npt

from heat_plugins.space import Indices

__all__ = ["checked_permutations", "closure", "orbits", "sample"]


_ENUMERABLE = 10_000  # Groups up to this order are listed before sampling.


def checked_permutations(permutations: npt.ArrayLike) -> Indices:
    """Return permutations as (k, d) integers, k > 0; refuse anything else."""
    rows = np.asarray(permutations)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"permutations must have shape (k, d) with k, d > 0, got {rows.shape}")
    wrong = (np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"each permutation must hold 0, ..., {rows.shape[1] - 1} once, "
            f"got {rows[wrong][0].tolist()}"
        )
    return rows.astype(np.int64)


def closure(permutations: npt.ArrayLike, limit: int) -> Indices:
    """List the elements (|G|, d) of the group that permutations (k, d) generate, identity first.

    Raises:
        ValueError: if the group has more than ``limit`` elements.
    """
    generators = checked_permutations(permutations)
    identity = np.arange(generators.shape[1])
    elements = {identity.tobytes(): identity}
    newest = [identity]
    # Inverses are powers in a finite group, so products on one side reach all elements.
    while newest:
        found = []
        for product in (p[g] for p in newest for g in generators):
            if product.tobytes() not in elements:
                elements[product.tobytes()] = product
                found.append(product)
                if len(elements) > limit:
                    raise ValueError(f"the group must have at most {limit} elements, got more")
        newest = found
    return np.stack(list(elements.values()))


def orbits(permutations: npt.ArrayLike) -> tuple[tuple[int, ...], ...]:
    """Partition the variables into those that the group of generators (k, d) can exchange.

    The orbits are ascending, and ordered by their first variable.
    """
    from scipy.sparse import coo_array, csgraph  # here: loading takes a while, and few need it

    generators = checked_permutations(permutations)
    k, d = generators.shape
    moves = np.tile(np.arange(d), k), generators.ravel()  # from a variable to another
    joined = coo_array((np.ones(k * d), moves), shape=(d, d))
    n_orbits, label = csgraph.connected_components(joined, directed=False)
    found = (tuple(np.flatnonzero(label == orbit).tolist()) for orbit in range(n_orbits))
    return tuple(sorted(found))


def sample(permutations: npt.ArrayLike, n: int, rng: np.random.Generator) -> Indices:
    """Draw n elements (n, d) of the group of generators (k, d), independently and uniformly.

    Groups of up to 10,000 elements are sampled exactly. Larger groups are sampled by product
    replacement (Celler et al., "Generating random elements of a finite group", Communications
    in Algebra, 1995), whose draws are close to uniform.
    """
    generators = checked_permutations(permutations)
    try:
        elements = closure(generators, _ENUMERABLE)
    except ValueError:
        return _product_replacement(generators, n, rng)
    return np.asarray(elements[rng.integers(len(elements), size=n)])


def _product_replacement(generators: Indices, n: int, rng: np.random.Generator) -> Indices:
    """Random products of random products, in the form with an accumulator ("rattle")."""
    slots = max(10, len(generators))
    state = [generators[i % len(generators)] for i in range(slots)]
    accumulator = np.arange(generators.shape[1])
    burn_in, thinning = 100 + 20 * slots, 10  # The accumulator is a walk: take every tenth.
    drawn = []
    for step in range(burn_in + n * thinning):
        i, j = rng.choice(slots, size=2, replace=False)
        other = state[j] if rng.random() < 0.5 else np.argsort(state[j])  # argsort inverts.
        state[i] = state[i][other] if rng.random() < 0.5 else other[state[i]]
        accumulator = accumulator[state[i]]
        if step >= burn_in and (step - burn_in) % thinning == 0:
            drawn.append(accumulator)
    return np.stack(drawn)
