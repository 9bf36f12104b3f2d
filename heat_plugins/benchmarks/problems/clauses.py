"""Weighted clauses: files of them, what they are worth, and two families that are generated.

The value of an assignment is minus the summed weight of the clauses that it satisfies, after
the weights are standardised: mean 0, deviation 1. Clauses that are lighter than the mean thus
count against an assignment that satisfies them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heat_plugins.benchmarks.problems.problem import Codes, Problem, data_file

__all__ = [
    "CLAUSES",
    "Formula",
    "cluster",
    "hidden_solution",
    "ising_formula",
    "maxsat",
    "maxsat_rb",
    "of_formula",
    "rb_formula",
    "read_wcnf",
    "write_wcnf",
]

Clause = tuple[float, list[int]]

FRB_FILE = "frb-frb10-6-4.wcnf"
CLUSTER_FILE = "cluster-expansion-IS1_5.0.5.0.0.5_softer_periodic.wcnf"


class Formula(NamedTuple):
    """Weighted clauses. A literal i wants variable i true, -i wants it false; i is 1, 2, ..."""

    n_variables: int
    clauses: list[Clause]  # (weight, literals): satisfied where at least one literal holds


# --------------------------------------------------------------------------- files
def read_wcnf(path: str | Path) -> Formula:
    """Read a weighted clause file: the number of variables and ``(weight, literals)`` rows."""
    n_variables = 0
    clauses: list[Clause] = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if not words or words[0] == "c":
                continue
            if words[0] == "p":
                n_variables = int(words[2])
                continue
            literals = [int(word) for word in words[1:]]
            if not literals or literals[-1] != 0:
                raise ValueError(f"clause in {path} must end in 0, got {line.strip()!r}")
            clauses.append((float(words[0]), literals[:-1]))
    if not n_variables or not clauses:
        raise ValueError(f"{path} must hold a 'p wcnf' line and at least one clause, got neither")
    return Formula(n_variables, clauses)


def write_wcnf(path: str | Path, formula: Formula, comments: Sequence[str] = ()) -> None:
    """Write a weighted clause file, which ``read_wcnf`` reads back as it was.

    Weights need not be whole numbers, which solvers of competitions would insist on.

    Args:
        path: The file.
        formula: What to write.
        comments: Lines for people, at the top.
    """
    lines = [f"c {comment}" for comment in comments]
    lines.append(f"p wcnf {formula.n_variables} {len(formula.clauses)}")
    for weight, literals in formula.clauses:
        # The shortest digits that give the same number again.
        number = str(int(weight)) if float(weight).is_integer() else repr(float(weight))
        lines.append(" ".join([number, *map(str, literals), "0"]))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


# -------------------------------------------------------------------------- values
def of_formula(
    name: str, description: str, formula: Formula, best_known: float | None = None
) -> Problem:
    """Return the problem of satisfying clauses: a code of 1 is true.

    Raises:
        ValueError: Where all clauses have the same weight, which cannot be standardised.
    """
    n_variables, clauses = formula
    weights = np.array([weight for weight, _ in clauses])
    if weights.std() == 0.0:
        raise ValueError(f"clauses of {name} must differ in weight, all have {weights[0]}")
    weights = (weights - weights.mean()) / weights.std()
    # wanted[v][c, i]: whether clause c holds when variable i has the value v
    wanted = np.zeros((2, len(clauses), n_variables), dtype=bool)
    for row, (_, literals) in enumerate(clauses):
        for literal in literals:
            wanted[int(literal > 0), row, abs(literal) - 1] = True

    def value(codes: Codes) -> float:
        satisfied = np.any(np.where(codes == 1, wanted[1], wanted[0]), axis=1)
        return -float(weights[satisfied].sum())

    return Problem(name, description, (2,) * n_variables, value, best_known)


def maxsat(path: str | Path, name: str = "maxsat") -> Problem:
    """Weighted satisfiability: minus the summed standardised weight of satisfied clauses."""
    formula = read_wcnf(path)
    best = -195.6528 if Path(path).name == FRB_FILE else None
    return of_formula(name, f"weighted MaxSAT, {formula.n_variables} variables", formula, best)


def maxsat_60() -> Problem:
    """The problem of the MaxSAT competition that the literature calls MaxSAT60."""
    return maxsat(data_file("maxsat", "maxsat", FRB_FILE))


# --------------------------------------------------- forced satisfiable Model RB, frb
N_RB_VARIABLES = 10
N_RB_VALUES = 6  # 10 to the power 0.8
RB_TIGHTNESS = 0.25  # share of the pairs of values that a constraint forbids
# At the threshold of satisfiability; the logarithm of 4/3 belongs to the tightness.
N_RB_CONSTRAINTS = round(0.8 / math.log(4 / 3) * N_RB_VARIABLES * math.log(N_RB_VARIABLES))
RB_SEED = 0


def hidden_solution(seed: int = RB_SEED) -> Codes:
    """Return the assignment (60,) that ``rb_formula`` never forbids: one value a variable."""
    values = np.random.default_rng([seed, 0]).integers(0, N_RB_VALUES, N_RB_VARIABLES)
    codes = np.zeros((N_RB_VARIABLES, N_RB_VALUES), dtype=np.int64)
    codes[np.arange(N_RB_VARIABLES), values] = 1
    return codes.reshape(-1)


def rb_formula(seed: int = RB_SEED) -> Formula:
    """Return clauses of the family of frb10-6, Ke Xu's benchmarks with hidden solutions.

    Ten variables with six values each are 60 booleans. That two values of a variable, or two
    values that some constraint forbids, hold together is one clause each; all of these weigh
    more than all others together, which ask for every value. So the heaviest set of clauses
    that can be satisfied together picks one value a variable without a conflict.

    Args:
        seed: Seed of the hidden solution and of the constraints.
    """
    hidden = hidden_solution(seed).astype(bool)
    rng = np.random.default_rng([seed, 1])
    conflicts: set[tuple[int, int]] = set()
    for variable in range(N_RB_VARIABLES):
        first = variable * N_RB_VALUES
        conflicts.update(itertools.combinations(range(first, first + N_RB_VALUES), 2))
    pairs_of_values = np.array(list(itertools.product(range(N_RB_VALUES), repeat=2)))  # (36, 2)
    n_forbidden = round(RB_TIGHTNESS * len(pairs_of_values))
    for _ in range(N_RB_CONSTRAINTS):  # two variables may get several constraints
        variables = np.sort(rng.choice(N_RB_VARIABLES, 2, replace=False))
        literals = variables * N_RB_VALUES + pairs_of_values  # (36, 2)
        allowed_to_forbid = literals[~hidden[literals].all(axis=1)]  # (35, 2)
        forbidden = rng.choice(allowed_to_forbid, n_forbidden, replace=False)
        conflicts.update((int(i), int(j)) for i, j in forbidden)
    n_booleans = N_RB_VARIABLES * N_RB_VALUES
    clauses: list[Clause] = [(1.0, [i + 1]) for i in range(n_booleans)]
    clauses += [(n_booleans + 1.0, [-i - 1, -j - 1]) for i, j in sorted(conflicts)]
    return Formula(n_booleans, clauses)


def maxsat_rb(seed: int = RB_SEED) -> Problem:
    """A generated relative of ``maxsat`` that needs no file.

    The standardised weight of a wish for a value is negative, as it is in the competition's
    problem, so the optimum is to grant none and to have no conflict.
    """
    formula = rb_formula(seed)
    weights = np.array([weight for weight, _ in formula.clauses])
    heavy = weights > weights.mean()  # the conflicts
    best = -float(((weights - weights.mean()) / weights.std())[heavy].sum())
    return of_formula(
        "maxsat-rb",
        f"weighted MaxSAT of Model RB, generated, {formula.n_variables} variables",
        formula,
        best,
    )


# -------------------------------------------------------------- an Ising-like model
N_SITES_A_SIDE = 5
ISING_SEED = 0
# 42 of 969 annealings from random starts end here and none below; not proved to be the optimum.
BEST_KNOWN_CLUSTER = -116.162854


def ising_formula(seed: int = ISING_SEED) -> Formula:
    """Return clauses of a random Ising-like model on the periodic 5 x 5 x 5 lattice.

    A site wants to be one thing with the weight of its field. Two neighbours want to be alike,
    or to differ, with the weight of their coupling: two clauses of which at most one is broken.
    Fields and couplings are normal and independent, so not all wishes can come true.

    Args:
        seed: Seed of fields and couplings.
    """
    rng = np.random.default_rng([seed, N_SITES_A_SIDE])
    shape = (N_SITES_A_SIDE,) * 3
    sites = np.arange(1, N_SITES_A_SIDE**3 + 1).reshape(shape)
    clauses: list[Clause] = []
    for site, field in zip(sites.ravel(), rng.standard_normal(sites.size), strict=True):
        clauses.append((abs(float(field)), [int(math.copysign(site, field))]))
    for axis in range(3):
        neighbours = np.roll(sites, -1, axis=axis)
        couplings = rng.standard_normal(sites.size)
        pairs = zip(sites.ravel(), neighbours.ravel(), couplings, strict=True)
        for site, neighbour, coupling in pairs:
            i, j = int(site), int(math.copysign(neighbour, coupling))
            # "i or j" and "not i or not j" together: i is the opposite of j
            clauses += [(abs(float(coupling)), [i, j]), (abs(float(coupling)), [-i, -j])]
    return Formula(sites.size, clauses)


def cluster(seed: int = ISING_SEED) -> Problem:
    """Cluster expansion, generated: which of two kinds of atom sits at each of 125 sites.

    The literature's problem of this shape is a file of the MaxSAT competition, which
    ``cluster_of_competition`` reads.
    """
    formula = ising_formula(seed)
    return of_formula(
        "cluster",
        f"cluster expansion, generated: {formula.n_variables} sites of a periodic lattice",
        formula,
        BEST_KNOWN_CLUSTER if seed == ISING_SEED else None,
    )


def cluster_of_competition() -> Problem:
    """Cluster expansion as in Bounce (Papenmeier et al., 2023), but with standardised weights.

    The file is one of the MaxSAT Evaluation 2018, in the folder that ``HEAT_PLUGINS_DATA``
    names: maxsat/cluster-expansion-IS1_5.0.5.0.0.5_softer_periodic.wcnf.
    """
    formula = read_wcnf(data_file("cluster-file", "maxsat", CLUSTER_FILE))
    return of_formula(
        "cluster-file",
        f"cluster expansion of the MaxSAT Evaluation 2018, {formula.n_variables} sites",
        formula,
    )


CLAUSES: dict[str, Callable[[], Problem]] = {
    "maxsat-rb": maxsat_rb,
    "cluster": cluster,
    "cluster-file": cluster_of_competition,
}
