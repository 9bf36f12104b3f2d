"""Antibody design: energies contact by contact, self-avoiding chains, and limits on sequences."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from heat_plugins.benchmarks.problems import antibody as module
from heat_plugins.benchmarks.problems.antibody import antibody, is_developable, random_docking
from heat_plugins.benchmarks.problems.contact_energies import AMINO_ACIDS, contact_energies
from heat_plugins.benchmarks.problems.lattice import cells_around, random_chain, random_loops

CHECKED = settings(deadline=None, max_examples=20)

SEQUENCES = st.lists(st.sampled_from(AMINO_ACIDS), min_size=11, max_size=11).map("".join)


def codes_of(sequence):
    return np.array([AMINO_ACIDS.index(residue) for residue in sequence])


@pytest.fixture(scope="module")
def docking():
    return random_docking(seed=3, antigen_length=20, n_loops=400, min_contacts=6)


# ------------------------------------------------------------------- contact energies
def test_energies_are_those_of_the_paper():
    energies = contact_energies()
    assert energies.shape == (20, 20)
    np.testing.assert_array_equal(energies, energies.T)
    # Of AAindex, MIYS960101; the pairs with N and Q, D and E tell the two orders apart.
    known = {
        "LL": -737, "CC": -544, "AA": -272, "KK": -12, "FI": -684, "WY": -466, "CP": -307,
        "NN": -168, "QQ": -154, "DD": -121, "EE": -91, "RD": -229, "RE": -227, "KD": -168,
        "KE": -180, "ND": -168, "QE": -142, "RK": -59, "HP": -225,
    }  # fmt: skip
    for (a, b), energy in known.items():
        assert energies[AMINO_ACIDS.index(a), AMINO_ACIDS.index(b)] == energy
    assert (energies.min(), energies.max()) == (-737, -12)
    assert energies.sum() == -126640
    assert np.triu(energies).sum() + np.tril(energies, -1).sum() == energies.sum()


# -------------------------------------------------------------------------- structures
def are_neighbours(a, b):
    return np.abs(np.subtract(a, b)).sum() == 1


def is_chain(sites):
    steps = (are_neighbours(a, b) for a, b in itertools.pairwise(sites))
    return all(steps) and len({*map(tuple, sites)}) == len(sites)


@given(length=st.integers(1, 80), seed=st.integers(0, 1000))
@CHECKED
def test_antigens_are_self_avoiding_chains(length, seed):
    chain = random_chain(length, np.random.default_rng(seed))
    assert chain.shape == (length, 3) and is_chain(chain)


def test_loops_are_different_chains_next_to_the_antigen(docking):
    antigen = [*map(tuple, docking.cells.coordinates(docking.cells.antigen))]
    assert is_chain(antigen)
    assert len(np.unique(docking.loops, axis=0)) == len(docking.loops) == 400
    for loop in docking.cells.coordinates(docking.loops):
        assert is_chain(loop) and not {*map(tuple, loop)} & {*antigen}
        assert sum(are_neighbours(a, b) for a in loop for b in antigen) >= 6


def test_all_loops_of_two_residues_are_found_and_no_more():
    """A single site has six neighbours, each of which has five free ones."""
    cells = cells_around(np.zeros((1, 3), dtype=np.int64), 3)
    loops = random_loops(cells, 2, 30, 1, np.random.default_rng(0))
    assert {*map(tuple, cells.coordinates(loops)[:, 0].tolist())} == {
        tuple(cells.coordinates(cells.antigen[0] + move)) for move in cells.moves
    }


def test_more_loops_than_there_are_is_refused(monkeypatch):
    monkeypatch.setattr("heat_plugins.benchmarks.problems.lattice.MAX_ROUNDS", 2)
    cells = cells_around(np.zeros((1, 3), dtype=np.int64), 3)
    with pytest.raises(ValueError, match="n_loops must be at most.*30; got 31"):
        random_loops(cells, 2, 31, 1, np.random.default_rng(0))


def test_the_same_seed_gives_the_same_antigen_and_loops():
    small = {"antigen_length": 12, "n_loops": 50, "min_contacts": 4}
    one, same, other = (random_docking(seed, **small) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.loops, same.loops)
    np.testing.assert_array_equal(one.antigen, same.antigen)
    assert not np.array_equal(one.antigen, other.antigen)


# ---------------------------------------------------------------------------- energies
def slow_energies(docking, sequence):
    """Binding and total energy of each loop: pair by pair, in coordinates."""
    table = contact_energies()
    antigen = docking.cells.coordinates(docking.cells.antigen)
    for loop in docking.cells.coordinates(docking.loops):
        binding = sum(
            table[a, b]
            for a, here in zip(sequence, loop, strict=True)
            for b, there in zip(docking.antigen, antigen, strict=True)
            if are_neighbours(here, there)
        )
        within = sum(
            table[sequence[i], sequence[j]]
            for i, j in itertools.combinations(range(len(loop)), 2)
            if j > i + 1 and are_neighbours(loop[i], loop[j])
        )
        yield binding, binding + within


@given(sequence=SEQUENCES)
@settings(deadline=None, max_examples=4)
def test_energies_are_sums_over_contacts(docking, sequence):
    codes = codes_of(sequence)
    slow = np.array([*slow_energies(docking, codes)])
    np.testing.assert_array_equal(np.column_stack(docking.energies(codes)), slow)
    least = slow[:, 1].min()
    assert docking(codes) == slow[slow[:, 1] == least, 0].min() / 100.0


def test_some_loops_are_in_contact_with_themselves(docking):
    codes = codes_of("ACDEFGHIKLM")
    binding, total = docking.energies(codes)
    assert np.any(total < binding) and np.any(total == binding)


# ------------------------------------------------------------------------------ limits
@pytest.mark.parametrize(
    ("sequence", "may"),
    [
        ("AAAAAGAAAAA", True),
        ("AAAAAAGGGGG", False),  # six in a row
        ("RRAAAAGGGGG", True),
        ("RRKAAAGGGGG", False),  # charge 3
        ("RRKDAAGGGGG", True),
        ("DDEAAAGGGGG", False),
        ("RRHAAAGGGGG", False),  # charge 2.1
        ("GGNGSGGAAAA", False),
        ("GGNGTGGAAAA", False),
        ("GGNPSGGAAAA", True),
        ("GGNGGSGAAAA", True),
        ("GGGAAAAGNAS", False),  # at the end
        ("GGNNTGGAAAA", False),
    ],
)
def test_limits_on_sequences(sequence, may):
    assert is_developable(codes_of(sequence)) == may


@given(sequence=SEQUENCES)
@CHECKED
def test_limits_are_those_of_their_definition(sequence):
    charge = 10 * (sequence.count("R") + sequence.count("K")) + sequence.count("H")
    charge -= 10 * (sequence.count("D") + sequence.count("E"))
    repeats = max(len([*group]) for _, group in itertools.groupby(sequence))
    motif = any(
        sequence[i] == "N" and sequence[i + 1] != "P" and sequence[i + 2] in "ST" for i in range(9)
    )
    expected = -20 <= charge <= 20 and repeats <= 5 and not motif
    assert is_developable(codes_of(sequence)) == expected


@given(sequence=SEQUENCES)
@CHECKED
def test_the_relocated_problem_has_its_limits_relocated_too(sequence):
    rng = RandomState(2024)
    codes = [int(np.flatnonzero(rng.permutation(20) == code)[0]) for code in codes_of(sequence)]
    assert antibody().relocated().is_feasible(np.array(codes)) == is_developable(
        codes_of(sequence)
    )


@pytest.mark.slow
def test_the_best_known_sequence_has_the_best_known_energy():
    codes = codes_of(module.BEST_SEQUENCE)
    assert antibody()(codes) == module.BEST_KNOWN
    assert is_developable(codes)
