"""What is minimised: problems on integer codes, and tasks with any parameters.

``problem`` says what a problem is and ``tasks`` what a task is; ``catalogue`` has all of them by
name. The names below are those of the published problems.
"""

from heat_plugins.benchmarks.problems.clauses import maxsat, read_wcnf
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE, RELOCATION_SEED, Codes, Problem
from heat_plugins.benchmarks.problems.published import (
    PROBLEMS,
    ackley,
    contamination,
    labs,
    pest_control,
)

__all__ = [
    "DATA_VARIABLE",
    "PROBLEMS",
    "RELOCATION_SEED",
    "Codes",
    "Problem",
    "ackley",
    "contamination",
    "labs",
    "maxsat",
    "pest_control",
    "read_wcnf",
]
