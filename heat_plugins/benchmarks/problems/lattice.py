"""Chains on the cubic lattice: a random antigen, and loops that lie next to it.

Notation
    =====  =======================================================================
    m, n   residues of the antigen, and of a loop
    S      number of loops
    cells  a cube of lattice sites, numbered through, with the antigen in its middle
    =====  =======================================================================

Residues sit on lattice sites, neighbours of a chain on sites of distance 1, and no two residues on
one site. Two residues that are not neighbours of a chain are in contact where their distance is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOVES", "Cells", "cells_around", "random_chain", "random_loops"]

Sites = NDArray[np.int64]

MOVES: Sites = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])

COMPACTNESS = 1.0  # of a random chain: log weight of a site for each neighbour that is taken
STEP_BACK = 10  # residues that are taken back where a chain has closed itself in
N_WALKS = 50_000  # loops that are grown at once
MAX_ROUNDS = 200  # of growing loops


def random_chain(length: int, rng: np.random.Generator) -> Sites:
    """Return a compact self-avoiding chain (length, 3)."""
    chain: list[tuple[int, ...]] = [(0, 0, 0)]
    while len(chain) < length:
        taken = {*chain}
        free = [site for site in _neighbours(chain[-1]) if site not in taken]
        if not free:
            del chain[max(1, len(chain) - STEP_BACK) :]
            continue
        crowd = [sum(site in taken for site in _neighbours(f)) for f in free]
        weights = np.exp(COMPACTNESS * np.array(crowd, dtype=float))
        chain.append(free[rng.choice(len(free), p=weights / weights.sum())])
    return np.array(chain)


def _neighbours(site: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(place) for place in (np.array(site) + MOVES).tolist()]


class Cells(NamedTuple):
    """A cube of lattice sites around an antigen.

    Args:
        side: Sites along an edge of the cube; site (x, y, z) has the number
            (x side + y) side + z.
        antigen: (m,) the numbers of its sites.
    """

    side: int
    antigen: NDArray[np.int64]

    @property
    def moves(self) -> NDArray[np.int64]:
        """What the six moves add to the number of a site: (6,)."""
        steps: NDArray[np.int64] = MOVES @ np.array([self.side**2, self.side, 1])
        return steps

    def coordinates(self, numbers: NDArray[np.int64]) -> Sites:
        """Return the coordinates (..., 3) of sites by their numbers."""
        return np.stack(np.unravel_index(numbers, (self.side,) * 3), axis=-1)


def cells_around(antigen: Sites, margin: int) -> Cells:
    """Return a cube that leaves so many free sites on all sides of an antigen (m, 3)."""
    low, high = antigen.min(axis=0), antigen.max(axis=0)
    side = int((high - low).max()) + 1 + 2 * margin
    return Cells(side, (antigen - low + margin) @ np.array([side**2, side, 1]))


def random_loops(
    cells: Cells, length: int, n_loops: int, min_contacts: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return different self-avoiding chains (S, length) that touch the antigen, by site numbers.

    They begin next to the antigen and go on to free sites, more often to those that touch it.

    Args:
        cells: Where the antigen is.
        length: Residues of a loop.
        n_loops: How many, S.
        min_contacts: With the antigen, of a loop.
        rng: The source of randomness.

    Raises:
        ValueError: If so many different loops were not found.
    """
    is_taken = np.zeros(cells.side**3, dtype=bool)
    is_taken[cells.antigen] = True
    n_contacts = np.zeros(cells.side**3, dtype=np.int64)
    np.add.at(n_contacts, (cells.antigen[:, None] + cells.moves).ravel(), 1)
    found = np.zeros((0, length), dtype=np.int64)
    for _ in range(MAX_ROUNDS):
        walks = _walks(cells, is_taken, n_contacts, length, rng)
        walks = walks[n_contacts[walks].sum(axis=1) >= min_contacts]
        found = _different(np.concatenate([found, walks]))
        if len(found) >= n_loops:
            return found[:n_loops]
    raise ValueError(
        f"n_loops must be at most the number of loops with {min_contacts} contacts that are found "
        f"in {MAX_ROUNDS} rounds, {len(found)}; got {n_loops}"
    )


def _walks(
    cells: Cells,
    is_taken: NDArray[np.bool_],
    n_contacts: NDArray[np.int64],
    length: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return self-avoiding walks from sites next to the antigen; those that get stuck are left."""
    starts = np.flatnonzero((n_contacts > 0) & ~is_taken)
    walks = rng.choice(starts, (N_WALKS, 1))
    for _ in range(length - 1):
        targets = walks[:, -1:] + cells.moves  # (walks, 6)
        is_free = ~is_taken[targets] & (targets[:, :, None] != walks[:, None, :]).all(axis=2)
        # The largest of u^(1/w) is drawn with probabilities in proportion to the weights w.
        keys = rng.random(targets.shape) ** (1.0 / (1 + n_contacts[targets]) ** 2)
        chosen = np.where(is_free, keys, -1.0).argmax(axis=1)
        goes_on = is_free.any(axis=1)
        walks = np.column_stack([walks, targets[np.arange(len(walks)), chosen]])[goes_on]
    return walks


def _different(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows without repeats, in the order in which they came."""
    # A row is one item to NumPy: much faster than comparing columns.
    items = np.ascontiguousarray(rows).view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, first = np.unique(items, return_index=True)
    return rows[np.sort(first)]
