"""Antibody design: a loop of eleven amino acids that binds to an antigen.

In the form of Absolut! (Robert et al., "Unconstrained generation of synthetic antibody-antigen
structures to guide machine learning methodology for antibody specificity prediction", Nature
Computational Science 2, 2022), which MCBO (Dreczkowski et al., 2023) optimises: residues sit on a
cubic lattice, and of many loops next to the antigen a sequence takes the one with the least total
energy: its contacts with the antigen and those within the loop. The value is the binding energy
there: its contacts with the antigen alone. Antigen and loops are drawn here, from a seed; those
of Absolut! are made from proteins, and cannot be shipped.

The limits on sequences are those of MCBO and known before an evaluation: charge, repeats of a
residue, and the motif of N-glycosylation.

Notation
    ======  ==========================================================================
    n, S    residues of the loop, and number of loops
    x       (n,) codes of a sequence: places in ``AMINO_ACIDS``
    ======  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_plugins.benchmarks.problems.contact_energies import AMINO_ACIDS, contact_energies
from heat_plugins.benchmarks.problems.lattice import (
    Cells,
    cells_around,
    random_chain,
    random_loops,
)
from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = ["ANTIBODY", "Docking", "antibody", "is_developable", "random_docking"]

ENERGIES = contact_energies()
LOOP_LENGTH = 11
ANTIGEN_LENGTH = 120
N_LOOPS = 100_000
MIN_CONTACTS = 11  # of a loop with the antigen: about one a residue
ANTIGEN_SEED = 0

CHARGES = {"R": 1.0, "K": 1.0, "H": 0.1, "D": -1.0, "E": -1.0}
MAX_CHARGE = 2.0
TOO_MANY_REPEATS = re.compile(r"(.)\1{5}")  # six in a row
# Sugar is bound to N in N-X-S and N-X-T, where X is not proline. MCBO asks for one more residue
# after these, so that it allows the motif at the end of the loop, where the antibody goes on.
GLYCOSYLATION = re.compile("N[^P][ST]")


def is_developable(codes: Codes) -> bool:
    """Whether a sequence (n,) keeps the limits on charge, repeats and motifs."""
    sequence = "".join(AMINO_ACIDS[code] for code in codes)
    charge = sum(CHARGES.get(residue, 0.0) for residue in sequence)
    return (
        abs(charge) <= MAX_CHARGE + 1e-9
        and TOO_MANY_REPEATS.search(sequence) is None
        and GLYCOSYLATION.search(sequence) is None
    )


class Docking(NamedTuple):
    """An antigen and the loops next to it, prepared for fast evaluations.

    Args:
        cells: Where the antigen is.
        antigen: (m,) its residues, as codes.
        loops: (S, n) the numbers of the loops' sites.
        site_energies: (20, sites) energies of each residue on a site with the antigen; the first
            site stands for all that do not touch it.
        sites: (n, S) the sites of each residue, as columns of ``site_energies``.
        pairs: (pairs, 2) residues of a loop that can be in contact.
        folds: (folds, pairs) whether they are, for each way in which a loop is folded.
        fold_of: (S,) the way in which each loop is folded.
    """

    cells: Cells
    antigen: Codes
    loops: NDArray[np.int64]
    site_energies: NDArray[np.int32]
    sites: NDArray[np.intp]
    pairs: NDArray[np.int64]
    folds: NDArray[np.int32]
    fold_of: NDArray[np.intp]

    def energies(self, codes: Codes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return binding and total energies (S,) of a sequence (n,), in hundredths of RT."""
        binding = np.zeros(self.sites.shape[1], dtype=np.int32)
        for code, sites in zip(codes, self.sites, strict=True):
            binding += self.site_energies[code].take(sites)
        ends = codes[self.pairs]  # (pairs, 2)
        within = self.folds @ ENERGIES[ends[:, 0], ends[:, 1]]
        return binding, binding + within.take(self.fold_of)

    def __call__(self, codes: Codes) -> float:
        """Return the binding energy where the total energy is least, in RT."""
        binding, total = self.energies(codes)
        return float(binding[total == total.min()].min()) / 100.0


def random_docking(
    seed: int = ANTIGEN_SEED,
    antigen_length: int = ANTIGEN_LENGTH,
    n_loops: int = N_LOOPS,
    loop_length: int = LOOP_LENGTH,
    min_contacts: int = MIN_CONTACTS,
) -> Docking:
    """Return a random antigen with random loops next to it.

    Args:
        seed: Seed of both.
        antigen_length: Residues of the antigen.
        n_loops: Number of different loops.
        loop_length: Residues of a loop.
        min_contacts: The least number of contacts of a loop with the antigen.
    """
    rng = np.random.default_rng([seed, antigen_length, n_loops, loop_length, min_contacts])
    cells = cells_around(random_chain(antigen_length, rng), margin=loop_length + 1)
    antigen = rng.integers(0, len(AMINO_ACIDS), antigen_length)
    loops = random_loops(cells, loop_length, n_loops, min_contacts, rng)
    site_energies, sites = _binding(cells, antigen, loops)
    pairs, folds, fold_of = _folding(cells, loops)
    return Docking(cells, antigen, loops, site_energies, sites, pairs, folds, fold_of)


def _binding(
    cells: Cells, antigen: Codes, loops: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return ``site_energies`` and ``sites`` of a ``Docking``."""
    energies = np.zeros((len(AMINO_ACIDS), cells.side**3), dtype=np.int32)
    for move in cells.moves:  # no two residues of the antigen are on one site
        energies[:, cells.antigen + move] += ENERGIES[:, antigen]
    touching = np.unique(loops[energies[0, loops] != 0])  # every contact has an energy below 0
    column = np.zeros(cells.side**3, dtype=np.intp)
    column[touching] = 1 + np.arange(len(touching))
    site_energies = np.pad(energies[:, touching], ((0, 0), (1, 0)))
    return np.ascontiguousarray(site_energies), np.ascontiguousarray(column[loops].T)


def _folding(
    cells: Cells, loops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.intp]]:
    """Return ``pairs``, ``folds`` and ``fold_of`` of a ``Docking``."""
    i, j = np.triu_indices(loops.shape[1], k=3)
    can_touch = (j - i) % 2 == 1  # the lattice is a chessboard
    pairs = np.column_stack([i, j])[can_touch]
    steps = loops[:, pairs[:, 1]] - loops[:, pairs[:, 0]]
    touches = np.isin(steps, cells.moves)  # (S, pairs)
    words = touches @ (1 << np.arange(len(pairs)))
    words, first, fold_of = np.unique(words, return_index=True, return_inverse=True)
    return pairs, touches[first].astype(np.int32), fold_of


@cache
def _default_docking() -> Docking:
    return random_docking()


# The least that 22 annealings of 4,000 evaluations found; not proved to be the optimum.
BEST_SEQUENCE = "FLFIFLFLLIF"
BEST_KNOWN = -102.59


def antibody() -> Problem:
    """Which amino acid at each of eleven positions, so that the loop binds to the antigen."""
    return Problem(
        "antibody",
        f"antibody design: {LOOP_LENGTH} amino acids, binding energy to a generated antigen",
        (len(AMINO_ACIDS),) * LOOP_LENGTH,
        lambda codes: _default_docking()(codes),
        best_known=BEST_KNOWN,
        is_feasible=is_developable,
    )


ANTIBODY: dict[str, Callable[[], Problem]] = {"antibody": antibody}
