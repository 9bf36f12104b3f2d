"""All tasks by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from heat_plugins.benchmarks.problems.abc_synthesis import ABC_SYNTHESIS
from heat_plugins.benchmarks.problems.antibody import ANTIBODY
from heat_plugins.benchmarks.problems.cells import CELLS
from heat_plugins.benchmarks.problems.clauses import CLAUSES
from heat_plugins.benchmarks.problems.conditional import CONDITIONAL
from heat_plugins.benchmarks.problems.constrained import CONSTRAINED
from heat_plugins.benchmarks.problems.ehrlich import EHRLICH
from heat_plugins.benchmarks.problems.functions import LETTERS, SFU, relabelled
from heat_plugins.benchmarks.problems.mixed import ackley53, svm
from heat_plugins.benchmarks.problems.multi_objective import OBJECTIVES
from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.problem import Problem
from heat_plugins.benchmarks.problems.published import PROBLEMS
from heat_plugins.benchmarks.problems.rna import rna
from heat_plugins.benchmarks.problems.synthesis import SYNTHESIS
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import Task, of_codes, relocated

__all__ = ["TASKS", "task_named"]

# Scores worth reaching, between what Optuna's TPE and a good Gaussian process have after 200
# evaluations; the same however a problem is relocated or relabelled.
TARGETS: dict[str, float] = {
    "pest": 12.5,
    "labs": -3.5,
    "contamination": 21.6,
    "maxsat": -190.0,
    "maxsat-rb": -188.0,
    "cluster": -80.0,
    "rna": 14.0,
    "antibody": -95.0,
    "ackley": 15.0,
    "rastrigin": 40.0,
    "schwefel": 2000.0,
    "sphere": 30.0,
    "styblinski-tang": -650.0,
    "ackley53": 1.0,
    "svm": 0.745,
    "pipeline": 0.2,
    "tree": 0.11,
    "methods": -14.5,
    "letters-30-no-pairs": -28.0,
    "letters-30": -27.0,
    "letters-50": -45.0,
    "letters-25": -33.0,
    "letters-30-strong-pairs": -43.0,
    "letters-2": 0.4,
    "features": 0.8,
    "letters-3": 0.15,
    "knapsack": -440.0,
    "letters-constrained": -30.0,
}

CODED: dict[str, Callable[..., Problem]] = {
    **PROBLEMS,
    **SFU,
    **CLAUSES,
    "rna": rna,
    **ANTIBODY,
    **ABC_SYNTHESIS,
    **SYNTHESIS,
}


def _original(make: Callable[..., Problem]) -> Task:
    return of_codes(make())


def _relocated(make: Callable[..., Problem]) -> Task:
    return relocated(make())


def _relabelled(make: Callable[..., Problem]) -> Task:
    """Return the task with its choices renamed alike for all variables."""
    problem = make()
    moved = replace(relabelled(problem), description=f"{problem.description}; relabelled")
    return of_codes(moved, f"{problem.name}-relabelled")


def _makers() -> dict[str, Callable[[], Task]]:
    """Return what makes each task; data and packages are looked for when it is made."""
    makers: dict[str, Callable[[], Task]] = {}
    for name, make in CODED.items():
        makers[name] = partial(_original, make)
        makers[f"{name}-relocated"] = partial(_relocated, make)
        if name in SFU:
            makers[f"{name}-relabelled"] = partial(_relabelled, make)
    makers |= {name: partial(_original, make) for name, make in LETTERS.items()}
    makers["ackley53"] = ackley53
    makers["ackley53-relocated"] = partial(ackley53, relocated=True)
    makers["svm"] = svm
    users = {**CONDITIONAL, **OBJECTIVES, **CONSTRAINED}
    return {**makers, **users, **TABLES, **NUMBERS, **EHRLICH, **CELLS}


def _with_target(name: str, make: Callable[[], Task]) -> Task:
    plain = name.removesuffix("-relocated").removesuffix("-relabelled")
    return replace(make(), target=TARGETS.get(plain))


TASKS: dict[str, Callable[[], Task]] = {
    name: partial(_with_target, name, make) for name, make in _makers().items()
}


def task_named(name: str) -> Task:
    """Return a task, or say which there are."""
    if name not in TASKS:
        raise ValueError(f"problem must be one of {', '.join(TASKS)}; got {name!r}")
    return TASKS[name]()
