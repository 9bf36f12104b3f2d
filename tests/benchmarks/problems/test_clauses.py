"""Weighted clauses: files, generated families, and what is known of their optima."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from heat_plugins.benchmarks.problems.clauses import (
    CLUSTER_FILE,
    Formula,
    cluster,
    cluster_of_competition,
    hidden_solution,
    ising_formula,
    maxsat,
    maxsat_rb,
    of_formula,
    rb_formula,
    read_wcnf,
    write_wcnf,
)
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE

CHECKED = settings(deadline=None, max_examples=50)


def holds(literals, codes):
    return any((codes[abs(literal) - 1] == 1) == (literal > 0) for literal in literals)


def slow_value(formula, codes):
    """Minus the standardised weight of satisfied clauses, one literal after the other."""
    weights = [weight for weight, _ in formula.clauses]
    mean = sum(weights) / len(weights)
    deviation = math.sqrt(sum((w - mean) ** 2 for w in weights) / len(weights))
    satisfied = [w for w, literals in formula.clauses if holds(literals, codes)]
    return -sum((w - mean) / deviation for w in satisfied)


def random_codes(n, length, seed):
    return np.random.default_rng(seed).integers(0, 2, (n, length))


# --------------------------------------------------------------------------- files
@st.composite
def formulas(draw):
    n = draw(st.integers(1, 6))
    literals = st.integers(1, n).flatmap(lambda i: st.sampled_from([i, -i]))
    weights = st.floats(-1e9, 1e9) | st.integers(0, 100).map(float)
    clauses = st.tuples(weights, st.lists(literals, min_size=1, max_size=4))
    return Formula(n, draw(st.lists(clauses, min_size=1, max_size=8)))


@given(formula=formulas())
@CHECKED
def test_what_is_written_is_read_back_as_it_was(tmp_path_factory, formula):
    path = tmp_path_factory.mktemp("formula") / "any.wcnf"
    write_wcnf(path, formula, ["for people", "p wcnf in a comment"])
    assert read_wcnf(path) == formula


@pytest.mark.parametrize("formula", [ising_formula(), rb_formula()], ids=["ising", "rb"])
def test_generated_problems_survive_a_file(tmp_path, formula):
    path = tmp_path / "generated.wcnf"
    write_wcnf(path, formula)
    assert read_wcnf(path) == formula
    problem, read = of_formula("given", "", formula), maxsat(path)
    for codes in random_codes(3, formula.n_variables, 0):
        assert read(codes) == problem(codes)


def test_a_clause_file_of_the_competition_is_read_where_there_is_one(tmp_path, monkeypatch):
    (tmp_path / "maxsat").mkdir()
    write_wcnf(tmp_path / "maxsat" / CLUSTER_FILE, ising_formula(3))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    problem = cluster_of_competition()
    codes = random_codes(1, 125, 1)[0]
    assert problem(codes) == cluster(3)(codes)
    assert problem.best_known is None


def test_clauses_of_equal_weight_are_refused():
    with pytest.raises(ValueError, match="clauses of equal must differ in weight, all have 2.0"):
        of_formula("equal", "", Formula(2, [(2.0, [1]), (2.0, [-2])]))


# ------------------------------------------------------------------------- model RB
def test_the_family_is_that_of_the_competition():
    """The file frb-frb10-6-4 has 60 clauses of weight 1 and 638 of weight 61.

    Of the latter 150 are those that keep a variable from two values; the others are 64 constraints
    with 9 pairs each, fewer where constraints overlap.
    """
    formula = rb_formula()
    assert formula.n_variables == 60
    assert [clause for clause in formula.clauses if clause[0] == 1.0] == [
        (1.0, [i]) for i in range(1, 61)
    ]
    heavy = [literals for weight, literals in formula.clauses if weight == 61.0]
    assert len(heavy) == len(formula.clauses) - 60
    assert len({tuple(literals) for literals in heavy}) == len(heavy)
    assert all(len(pair) == 2 and max(pair) < 0 for pair in heavy)
    within = [pair for pair in heavy if (-pair[0] - 1) // 6 == (-pair[1] - 1) // 6]
    assert len(within) == 10 * 15
    assert 400 < len(heavy) - 150 <= 64 * 9


@pytest.mark.parametrize("seed", range(5))
def test_the_hidden_solution_has_no_conflict_and_one_value_a_variable(seed):
    hidden = hidden_solution(seed)
    np.testing.assert_array_equal(hidden.reshape(10, 6).sum(axis=1), 1)
    clauses = rb_formula(seed).clauses
    assert all(holds(literals, hidden) for weight, literals in clauses if weight == 61.0)
    # Ten is the most that can be satisfied of the others: one value a variable.
    assert sum(holds(literals, hidden) for weight, literals in clauses if weight == 1.0) == 10


def test_constraints_forbid_nine_pairs_of_values():
    """Pairs of variables with one constraint have nine, those with more have more."""
    heavy = [literals for weight, literals in rb_formula().clauses if weight == 61.0]
    pairs = Counter(tuple(sorted((-i - 1) // 6 for i in pair)) for pair in heavy)
    counts = [count for (first, second), count in pairs.items() if first != second]
    assert min(counts) == 9
    assert max(counts) <= 35  # all but the pair of the hidden solution
    assert len(counts) <= 45


@pytest.mark.parametrize("seed", range(3))
def test_the_best_known_of_model_rb_cannot_be_beaten(seed):
    """It is the weight of all clauses that count for an assignment, without any that does not."""
    problem, formula = maxsat_rb(seed), rb_formula(seed)
    assert problem.best_known == pytest.approx(problem(np.zeros(60)), abs=1e-9)
    assert problem.best_known < problem(hidden_solution(seed))
    weights = np.array([weight for weight, _ in formula.clauses])
    standard = (weights - weights.mean()) / weights.std()
    assert problem.best_known == pytest.approx(-standard[standard > 0].sum(), abs=1e-9)


def test_relocation_moves_the_optimum_of_model_rb_to_the_mask():
    problem = maxsat_rb()
    mask = RandomState(2024).randint(0, 2, size=60)
    assert problem.relocated()(mask) == problem(np.zeros(60))
    assert problem.relocated()(mask) == pytest.approx(problem.best_known, abs=1e-9)


@pytest.mark.parametrize("make", [maxsat_rb, cluster])
def test_generated_problems_have_the_values_of_their_clauses(make):
    problem = make()
    formula = {maxsat_rb: rb_formula, cluster: ising_formula}[make]()
    for codes in random_codes(3, formula.n_variables, 2):
        assert problem(codes) == pytest.approx(slow_value(formula, codes), abs=1e-8)


# --------------------------------------------------------------------- Ising model
def test_the_lattice_is_periodic_and_has_three_couplings_a_site():
    formula = ising_formula()
    assert formula.n_variables == 125
    fields = [literals for _, literals in formula.clauses if len(literals) == 1]
    couplings = [literals for _, literals in formula.clauses if len(literals) == 2]
    assert sorted(abs(i) for (i,) in fields) == [*range(1, 126)]
    assert len(couplings) == 2 * 3 * 125
    # Two clauses with opposite literals for each pair of neighbours.
    assert couplings[1::2] == [[-i, -j] for i, j in couplings[::2]]
    pairs = {frozenset(abs(i) - 1 for i in pair) for pair in couplings}
    sites = [*itertools.product(range(5), repeat=3)]
    neighbours = set()
    for x, y, z in sites:
        for other in (((x + 1) % 5, y, z), (x, (y + 1) % 5, z), (x, y, (z + 1) % 5)):
            neighbours.add(frozenset({25 * x + 5 * y + z, np.dot((25, 5, 1), other).item()}))
    assert pairs == neighbours
    assert len(pairs) == 375


def test_the_clauses_are_an_ising_energy():
    """Up to a constant, with the standardised weights as fields and couplings of spins -1, 1."""
    formula, problem = ising_formula(), cluster()
    weights = np.array([weight for weight, _ in formula.clauses])
    standard = (weights - weights.mean()) / weights.std()

    def energy(codes):
        spins = 2 * np.asarray(codes) - 1
        total = 0.0
        rows = iter(zip(standard, formula.clauses, strict=True))
        for weight, (_, literals) in rows:
            factors = [math.copysign(1, i) * spins[abs(i) - 1] for i in literals]
            if len(literals) == 1:
                total -= weight * factors[0] / 2.0
            else:
                next(rows)  # its opposite is the other half of the same coupling
                total += weight * factors[0] * factors[1] / 2.0
        return total

    first, *others = random_codes(5, 125, 4)
    for codes in others:
        assert problem(codes) - problem(first) == pytest.approx(
            energy(codes) - energy(first), abs=1e-8
        )


# Where annealing ended; each row of 25 is a layer of the lattice.
BEST_CLUSTER = (
    "1100000001110011100010111"
    "0001111000110101101100010"
    "1111010110011010000010111"
    "0101101111101110000111011"
    "0000000001010100111101010"
)


def test_the_best_known_of_the_lattice_is_reached_and_no_flip_improves_it():
    problem = cluster()
    best = np.array([int(code) for code in BEST_CLUSTER])
    assert problem(best) == pytest.approx(problem.best_known, abs=1e-6)
    assert all(problem(best ^ row) > problem(best) for row in np.eye(125, dtype=int))
    mask = RandomState(2024).randint(0, 2, size=125)
    assert problem.relocated()(best ^ mask) == problem(best)


def test_other_seeds_are_other_problems_of_which_no_optimum_is_known():
    assert cluster(1).best_known is None
    codes = random_codes(1, 125, 0)[0]
    assert len({cluster(seed)(codes) for seed in range(3)}) == 3
