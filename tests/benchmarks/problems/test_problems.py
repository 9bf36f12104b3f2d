"""The comparison problems against slow programs written from their descriptions."""

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from heat_plugins.benchmarks.problems.clauses import maxsat, read_wcnf
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE, Problem
from heat_plugins.benchmarks.problems.published import (
    PROBLEMS,
    ackley,
    contamination,
    labs,
    pest_control,
)

CHECKED = settings(deadline=None, max_examples=30)
WITHOUT_DATA = [pest_control, contamination, labs, ackley]


# -------------------------------------------------------------- slow definitions
def slow_pest(codes):
    """25 stages, 100 simulations, one number at a time."""
    prices = {1: 1.0, 2: 0.8, 3: 0.7, 4: 0.5}
    discounts = {1: 0.2, 2: 0.3, 3: 0.3, 4: 0.0}
    tolerance = {1: 1.0 / 7.0, 2: 2.5 / 7.0, 3: 2.0 / 7.0, 4: 0.5 / 7.0}
    b = {1: 2.0 / 7.0, 2: 3.0 / 7.0, 3: 3.0 / 7.0, 4: 5.0 / 7.0}
    codes = [int(code) for code in codes]
    fractions = list(RandomState(0).beta(1.0, 30.0, size=100))
    total = 0.0
    for code in codes:
        alarmed = sum(fraction > 0.1 for fraction in fractions)
        if code == 0:
            spread = RandomState(0).beta(1.0, 17.0 / 3.0, size=100)
            fractions = [s * (1.0 - f) + f for s, f in zip(spread, fractions, strict=True)]
            price = 0.0
        else:
            rate = RandomState(0).beta(1.0, b[code], size=100)
            fractions = [(1.0 - r) * f for r, f in zip(rate, fractions, strict=True)]
            b[code] += tolerance[code] / 25.0
            price = prices[code] * (1.0 - discounts[code] / 25.0 * codes.count(code))
        total += price + alarmed / 100.0
    return total


def slow_contamination(codes):
    z = RandomState(42).beta(1.0, 30.0, size=100)
    spread = RandomState(42).beta(1.0, 17.0 / 3.0, size=(25, 100))
    cleaned = RandomState(42).beta(1.0, 3.0 / 7.0, size=(25, 100))
    total = 0.0
    for i in range(25):
        x = int(codes[i])
        z = [
            spread[i, k] * (1 - x) * (1.0 - z[k]) + (1.0 - cleaned[i, k] * x) * z[k]
            for k in range(100)
        ]
        constraint = sum(number < 0.1 for number in z) / 100.0 - 0.95
        total += x - constraint
    return total + 0.01 * sum(int(x) for x in codes)


def slow_labs(codes):
    signs = [2 * int(x) - 1 for x in codes]
    n = len(signs)
    energy = sum(
        sum(signs[i] * signs[i + lag] for i in range(n - lag)) ** 2 for lag in range(1, n)
    )
    return -(n**2) / (2.0 * energy)


def slow_ackley(codes):
    x = [-32.768 + int(code) * 65.536 / 10.0 for code in codes]
    squares = sum(number * number for number in x) / len(x)
    cosines = sum(math.cos(2.0 * math.pi * number) for number in x) / len(x)
    return -20.0 * math.exp(-0.2 * math.sqrt(squares)) - math.exp(cosines) + 20.0 + math.e


SLOW = {
    "pest": (pest_control, slow_pest),
    "contamination": (contamination, slow_contamination),
    "labs": (labs, slow_labs),
    "ackley": (ackley, slow_ackley),
}
PAIRS = pytest.mark.parametrize(("make", "slow"), SLOW.values(), ids=SLOW.keys())


def random_codes(problem, n, seed):
    return np.random.default_rng(seed).integers(
        problem.n_choices, size=(n, len(problem.n_choices))
    )


@PAIRS
def test_values_are_those_of_the_slow_definition(make, slow):
    problem = make()
    constant = [np.full(len(problem.n_choices), k) for k in range(problem.n_choices[0])]
    for codes in [*random_codes(problem, 25, 0), *constant]:
        assert problem(codes) == pytest.approx(slow(codes), rel=1e-12, abs=1e-12)


def relocation(n_choices):
    """Return the map from codes to what the relocated function sees, as published."""
    rng = RandomState(2024)
    if set(n_choices) == {2}:
        mask = rng.randint(0, 2, size=len(n_choices))
        return lambda codes: [int(c) ^ int(m) for c, m in zip(codes, mask, strict=True)]
    permutations = [rng.permutation(k) for k in n_choices]
    return lambda codes: [int(p[c]) for p, c in zip(permutations, codes, strict=True)]


@PAIRS
def test_the_relocated_problem_sees_moved_codes(make, slow):
    problem = make()
    moved, seen = problem.relocated(), relocation(problem.n_choices)
    for codes in random_codes(problem, 15, 1):
        assert moved(codes) == pytest.approx(slow(seen(codes)), rel=1e-12, abs=1e-12)
        assert problem(codes) == pytest.approx(slow(codes), rel=1e-12, abs=1e-12)
    assert moved.n_choices == problem.n_choices
    assert moved.best_known == problem.best_known
    assert moved.name == problem.name


@PAIRS
def test_relocation_is_the_same_every_time(make, slow):
    one, other = make().relocated(), make().relocated()
    for codes in random_codes(one, 5, 2):
        assert one(codes) == other(codes)


@pytest.mark.parametrize("make", WITHOUT_DATA)
def test_nothing_random_beats_the_best_known_value(make):
    problem = make()
    for variant in (problem, problem.relocated()):
        values = [variant(codes) for codes in random_codes(problem, 400, 3)]
        assert min(values) >= problem.best_known - 1e-9


def test_shapes_are_the_published_ones():
    assert pest_control().n_choices == (5,) * 25
    assert contamination().n_choices == (2,) * 25
    assert labs().n_choices == (2,) * 50
    assert ackley().n_choices == (11,) * 20


def test_the_name_is_the_one_in_the_list():
    assert {make().name for make in WITHOUT_DATA} | {"maxsat"} <= set(PROBLEMS)
    for name in ("pest", "contamination", "labs", "ackley"):
        assert PROBLEMS[name]().name == name


@pytest.mark.parametrize("make", WITHOUT_DATA)
def test_calls_leave_codes_and_each_other_alone(make):
    problem = make().relocated()
    codes = random_codes(problem, 2, 4)
    before = codes.copy()
    first = problem(codes[0])
    problem(codes[1])
    assert problem(codes[0]) == first
    assert problem(codes[0].tolist()) == problem(codes[0].astype(np.int8)) == first
    np.testing.assert_array_equal(codes, before)


@pytest.mark.parametrize("make", WITHOUT_DATA)
def test_codes_of_another_length_are_refused(make):
    problem = make()
    n = len(problem.n_choices)
    with pytest.raises(ValueError, match=rf"{problem.name} takes {n} codes, got shape \(3,\)"):
        problem(np.zeros(3, dtype=int))


# ------------------------------------------------------------------- known optima
def test_ackley_is_zero_in_the_middle_and_only_there():
    problem = ackley()
    middle = np.full(20, 5)
    assert problem(middle) == pytest.approx(0.0, abs=1e-12)
    for i, step in itertools.product(range(20), (-1, 1)):
        neighbour = middle.copy()
        neighbour[i] += step
        assert problem(neighbour) > 1.0


def test_the_relocated_ackley_is_zero_where_the_middle_went():
    rng = RandomState(2024)
    place = np.array([int(np.flatnonzero(rng.permutation(11) == 5)[0]) for _ in range(20)])
    assert ackley().relocated()(place) == pytest.approx(0.0, abs=1e-12)


BARKER_13 = [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1]


def test_barkers_sequence_has_its_merit_factor():
    assert labs(13)(BARKER_13) == pytest.approx(-(13**2) / 12.0)  # all side lobes 0 or 1
    assert labs(13)(BARKER_13) == pytest.approx(-14.08, abs=0.01)
    values = [labs(13)(codes) for codes in itertools.product([0, 1], repeat=13)]
    assert min(values) == pytest.approx(-(13**2) / 12.0)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40))
@CHECKED
def test_labs_does_not_see_reversal_or_a_change_of_sign(codes):
    problem = labs(len(codes))
    value = problem(codes)
    assert problem(codes[::-1]) == pytest.approx(value)
    assert problem([1 - x for x in codes]) == pytest.approx(value)
    assert problem([x ^ (i % 2) for i, x in enumerate(codes)]) == pytest.approx(value)


def test_cleaning_everywhere_costs_about_one_a_stage():
    """Each stage costs 1.01, and no constraint gives back more than 0.05."""
    value = contamination()(np.ones(25, dtype=int))
    assert 25.25 - 25 * 0.05 - 1e-9 <= value <= 25.25


# ----------------------------------------------------------------------- MaxSAT
TINY = """c a comment
c another
p wcnf 4 5
3 1 -2 0
1.5 2 3 0
2 -1 0
7 -3 -4 1 0

10 4 0
"""


def slow_maxsat(weights, clauses, codes):
    """Count each clause by looking at its literals one after the other."""
    mean = sum(weights) / len(weights)
    deviation = math.sqrt(sum((w - mean) ** 2 for w in weights) / len(weights))
    total = 0.0
    for weight, clause in zip(weights, clauses, strict=True):
        for literal in clause:
            if (codes[abs(literal) - 1] == 1) == (literal > 0):
                total += (weight - mean) / deviation
                break
    return -total


def test_a_tiny_formula_has_the_values_of_its_truth_table(tmp_path):
    path = tmp_path / "tiny.wcnf"
    path.write_text(TINY)
    problem = maxsat(path)
    weights = [3.0, 1.5, 2.0, 7.0, 10.0]
    clauses = [[1, -2], [2, 3], [-1], [-3, -4, 1], [4]]
    assert problem.n_choices == (2,) * 4
    for codes in itertools.product([0, 1], repeat=4):
        assert problem(codes) == pytest.approx(slow_maxsat(weights, clauses, codes), abs=1e-12)
    assert problem.best_known is None


@st.composite
def formulas(draw):
    n = draw(st.integers(1, 5))
    literals = st.integers(1, n).flatmap(lambda i: st.sampled_from([i, -i]))
    clauses = draw(st.lists(st.lists(literals, min_size=1, max_size=4), min_size=2, max_size=8))
    weights = draw(st.permutations(range(1, len(clauses) + 1)))
    return n, [float(w) for w in weights], clauses


@given(formula=formulas())
@CHECKED
def test_any_formula_has_the_values_of_its_truth_table(tmp_path_factory, formula):
    n, weights, clauses = formula
    path = tmp_path_factory.mktemp("formula") / "any.wcnf"
    lines = [f"p wcnf {n} {len(clauses)}"]
    lines += [" ".join(map(str, [w, *c, 0])) for w, c in zip(weights, clauses, strict=True)]
    path.write_text("\n".join(lines))
    assert read_wcnf(path) == (n, list(zip(weights, clauses, strict=True)))
    problem = maxsat(path)
    for codes in itertools.product([0, 1], repeat=n):
        assert problem(codes) == pytest.approx(slow_maxsat(weights, clauses, codes), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p wcnf 2 1\n3 1 2\n", "must end in 0, got '3 1 2'"),
        ("p wcnf 2 0\n", "must hold a 'p wcnf' line and at least one clause"),
        ("3 1 2 0\n", "must hold a 'p wcnf' line and at least one clause"),
        ("", "must hold a 'p wcnf' line and at least one clause"),
    ],
)
def test_a_broken_file_is_refused_with_its_name(tmp_path, text, message):
    path = tmp_path / "broken.wcnf"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        maxsat(path)
    assert "broken.wcnf" in str(caught.value)


@pytest.mark.parametrize("folder", [None, "", "empty"])
def test_missing_data_is_reported_with_the_variable_to_set(monkeypatch, tmp_path, folder):
    if folder is None:
        monkeypatch.delenv(DATA_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(DATA_VARIABLE, folder and str(tmp_path))
    with pytest.raises(FileNotFoundError, match="HEAT_PLUGINS_DATA") as caught:
        PROBLEMS["maxsat"]()
    assert "frb-frb10-6-4.wcnf" in str(caught.value)


@pytest.fixture
def maxsat_60():
    if not os.environ.get(DATA_VARIABLE):
        pytest.skip(f"{DATA_VARIABLE} is not set")
    return PROBLEMS["maxsat"]()


def read_again(path):
    """Read the clauses of a file by splitting all of it, comments left out."""
    text = Path(path).read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line[0] not in "cp"]
    return [float(line[0]) for line in lines], [list(map(int, line[1:-1])) for line in lines]


@pytest.mark.data
def test_maxsat_60_is_the_published_problem(maxsat_60):
    assert maxsat_60.n_choices == (2,) * 60
    assert maxsat_60.best_known == -195.6528
    path = os.path.join(os.environ[DATA_VARIABLE], "maxsat", "frb-frb10-6-4.wcnf")
    weights, clauses = read_again(path)
    assert max(abs(literal) for clause in clauses for literal in clause) == 60
    for codes in random_codes(maxsat_60, 10, 5):
        assert maxsat_60(codes) == pytest.approx(slow_maxsat(weights, clauses, codes), abs=1e-8)
    assert maxsat_60.relocated()(np.zeros(60, dtype=int)) == pytest.approx(
        slow_maxsat(weights, clauses, RandomState(2024).randint(0, 2, size=60)), abs=1e-8
    )


@pytest.mark.data
def test_the_weights_of_maxsat_60_are_standardised(maxsat_60):
    """Mean 0 and deviation 1, so the weights of all clauses add up to nothing."""
    path = os.path.join(os.environ[DATA_VARIABLE], "maxsat", "frb-frb10-6-4.wcnf")
    weights = np.array(read_again(path)[0])
    standard = (weights - weights.mean()) / weights.std()
    assert standard.sum() == pytest.approx(0.0, abs=1e-9)
    assert (standard**2).mean() == pytest.approx(1.0)
    # what is not satisfied is what the satisfied clauses add up to, with the other sign
    _, clauses = read_again(path)
    codes = random_codes(maxsat_60, 1, 6)[0]
    broken = [all((codes[abs(i) - 1] == 1) != (i > 0) for i in clause) for clause in clauses]
    assert maxsat_60(codes) == pytest.approx(standard[np.array(broken)].sum(), abs=1e-8)


@pytest.mark.data
def test_the_optimum_of_maxsat_60_is_not_beaten_by_descent(maxsat_60):
    """Descent over single flips from random points, which comes close to the optimum."""
    best = math.inf
    for codes in random_codes(maxsat_60, 4, 7):
        value = maxsat_60(codes)
        while True:
            flips = [codes ^ row for row in np.eye(60, dtype=int)]
            values = [maxsat_60(flip) for flip in flips]
            if min(values) >= value:
                break
            codes, value = flips[int(np.argmin(values))], min(values)
        best = min(best, value)
    assert -195.6528 - 1e-3 <= best < -190.0


def test_a_problem_is_what_it_is_made_of():
    problem = Problem("sum", "adds up", (2, 3), lambda codes: codes.sum(), best_known=0.0)
    assert problem([1, 2]) == 3.0
    assert isinstance(problem([1, 2]), float)
    assert problem.relocated()([1, 2]) == sum(relocation((2, 3))([1, 2]))
