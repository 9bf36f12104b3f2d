"""Logic synthesis as published: ABC's operators on EPFL's sine, counted in look-up tables.

The task ``aig_optimization`` of MCBO (Dreczkowski et al., 2023) on its circuit ``sin``: twenty of
ten operators, then a mapping to look-up tables (LUT) of six inputs. The value is the number of
tables over that after the script ``resyn2``, plus levels over levels after ``resyn2``. ABC is run
as a programme of its own: ``yosys-abc``, as MCBO can do, which the package ``pyosys`` brings.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from heat_plugins.benchmarks.problems.problem import Codes, Problem, data_file

__all__ = ["ABC_OPERATORS", "ABC_SYNTHESIS", "abc_sine", "tables_and_levels"]

N_OPERATORS = 20

# Commands that begin with & work on another copy of the circuit.
ABC_OPERATORS = (
    "rewrite",
    "rewrite -z",
    "refactor",
    "refactor -z",
    "resub",
    "balance",
    "&get -n; &blut; &put",
    "&get -n; &sopb; &put",
    "&get -n; &dsdb; &put",
    "&get -n; &fraig; &put",
)
RESYN2 = (
    "balance; rewrite; refactor; balance; rewrite; rewrite -z; balance; refactor -z; "
    "rewrite -z; balance"
).split("; ")
STATISTICS = re.compile(r"nd = *(\d+).*lev = *(\d+)")


def _abc() -> Path:
    spec = find_spec("pyosys")
    for folder in (spec and spec.submodule_search_locations) or ():
        programme = Path(folder) / "yosys-abc"
        if programme.exists():
            return programme
    raise ImportError(
        "problem 'aig' needs the package 'pyosys', which brings ABC and is not installed; "
        "install it with: pip install 'heat-plugins[peers]'"
    )


@cache
def tables_and_levels(operators: tuple[str, ...], circuit: Path) -> tuple[int, int]:
    """Return the size and depth of a circuit in look-up tables of six inputs, after operators."""
    script = "; ".join([f"read {circuit}", "strash", *operators, "if -K 6", "print_stats"])
    command = [str(_abc()), "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = STATISTICS.search(printed)
    if found is None:
        raise RuntimeError(f"ABC must print statistics after {script!r}, got {printed!r}")
    return int(found[1]), int(found[2])


def abc_sine() -> Problem:
    """Which of ABC's operators at each of twenty places, on EPFL's sine."""
    circuit = data_file("aig", "circuits", "sin.aig")
    _abc()

    def value(codes: Codes) -> float:
        tables, levels = tables_and_levels(tuple(ABC_OPERATORS[c] for c in codes), circuit)
        reference = tables_and_levels(tuple(RESYN2), circuit)
        return tables / reference[0] + levels / reference[1]

    return Problem(
        "aig",
        f"logic synthesis by ABC, {N_OPERATORS} operators on EPFL's sine, relative to resyn2",
        (len(ABC_OPERATORS),) * N_OPERATORS,
        value,
    )


ABC_SYNTHESIS: dict[str, Callable[[], Problem]] = {"aig": abc_sine}
