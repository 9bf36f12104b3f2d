"""Logic synthesis: sequences of operators that make a circuit smaller and shallower.

In the form of MCBO (Dreczkowski et al., 2023): twenty operators one after the other, and the
value is size over the size before plus depth over the depth before. Circuits are and-inverter
graphs (AIG), size is the number of their AND gates and depth that of gates on the longest path.
Operators and their names are those of MCBO's majority-inverter task as far as ``aigverse`` has
them, and a second balancing instead of functional reduction. MCBO counts after a mapping to
look-up tables of six inputs, which aigverse does not have; ``abc_synthesis`` has that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from heat_plugins.benchmarks.problems import circuits
from heat_plugins.benchmarks.problems.circuits import Aig, aigverse
from heat_plugins.benchmarks.problems.problem import Codes, Problem

__all__ = ["OPERATORS", "SYNTHESIS", "applied", "circuit_of", "index_list_of", "size_and_depth"]

IndexList = tuple[int, ...]  # a circuit gate by gate, as ``AigIndexList`` has it

N_OPERATORS = 20
N_REMEMBERED = 4096  # results of operators; sequences have their beginnings in common


class Operator(NamedTuple):
    """A function of ``aigverse.algorithms`` and its settings."""

    name: str
    function: str
    settings: dict[str, Any]


# Cut and window sizes are those of MCBO; other settings are the defaults of aigverse.
OPERATORS = (
    Operator("balance", "balancing", {"cut_size": 6}),
    Operator("balance by ESOP", "balancing", {"rebalance_function": "esop"}),
    Operator("rewrite", "aig_cut_rewriting", {}),
    Operator("rewrite -z", "aig_cut_rewriting", {"allow_zero_gain": True}),
    Operator("refactor", "sop_refactoring", {}),
    Operator("refactor -z", "sop_refactoring", {"allow_zero_gain": True}),
    Operator("resubstitute", "aig_resubstitution", {}),
)


def index_list_of(aig: Aig) -> IndexList:
    """Return a circuit without its unused gates as numbers, which can be compared."""
    return tuple(aigverse("algorithms").cleanup_dangling(aig).to_index_list().raw())


def circuit_of(numbers: IndexList) -> Aig:
    """Return the circuit of an index list."""
    return aigverse("networks").AigIndexList(list(numbers)).to_aig()


@lru_cache(maxsize=N_REMEMBERED)
def applied(code: int, numbers: IndexList) -> IndexList:
    """Return the circuit that an operator makes of a circuit."""
    _, function, settings = OPERATORS[code]
    operator = getattr(aigverse("algorithms"), function)
    return index_list_of(operator(circuit_of(numbers), **settings))


def size_and_depth(aig: Aig) -> tuple[int, int]:
    """Return the number of AND gates, and of those on the longest path."""
    return aig.num_gates, aigverse("networks").DepthAig(aig).num_levels


def synthesis(name: str, description: str, make: Callable[[], Aig]) -> Problem:
    """Return the problem of a circuit.

    Args:
        name: Name of the problem.
        description: What the circuit computes.
        make: Makes the circuit.
    """
    aig = make()
    start = index_list_of(aig)
    size, depth = size_and_depth(circuit_of(start))

    def value(codes: Codes) -> float:
        numbers = start
        for code in codes.tolist():
            numbers = applied(code, numbers)
        new_size, new_depth = size_and_depth(circuit_of(numbers))
        return new_size / size + new_depth / depth

    return Problem(
        name,
        f"logic synthesis, {N_OPERATORS} operators on {description}: {size} gates, depth {depth}",
        (len(OPERATORS),) * N_OPERATORS,
        value,
    )


SYNTHESIS: dict[str, Callable[[], Problem]] = {
    name: partial(synthesis, name, description, make)
    for name, description, make in (
        ("aig-multiplier", "a multiplier of 8 bits", partial(circuits.multiplier, 8)),
        ("aig-shifter", "a barrel shifter of 16 bits", partial(circuits.barrel_shifter, 16)),
        ("aig-sine", "a sine by CORDIC, 8 bits", partial(circuits.sine, 8)),
        *(
            (f"aig-epfl-{name}", f"EPFL's circuit {name}", partial(circuits.epfl, name))
            for name in ("router", "i2c")
        ),
    )
}
