"""What a method of the comparison is.

A method starts a *solver* for a task and a seed. A solver is asked for parameters and told what
came of them, whether it had asked for these parameters or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from heat_plugins.benchmarks.problems.tasks import Params, Result, Task

__all__ = ["Method", "Solver", "anything", "only_one_objective"]


class Solver(Protocol):
    """Something that proposes parameters and learns from results."""

    def ask(self) -> Params:
        """Return parameters to try next."""

    def tell(self, params: Params, result: Result) -> None:
        """Learn what came of parameters, proposed or not."""


def anything(task: Task) -> str | None:
    """Return None: a method that can solve every task."""
    return None


def only_one_objective(task: Task) -> str | None:
    """Return why a method with one objective and no constraints cannot solve the task."""
    plain = task.n_objectives == 1 and not task.n_constraints
    return None if plain else "it has one objective and no constraints"


@dataclass(frozen=True)
class Method:
    """A method, and what it can do.

    Args:
        description: One line for people.
        start: Makes a solver of a task and a seed.
        why_not: Why it cannot solve a task; None where it can.
        package: What must be installed, by the name it is imported as.
        extra: How to install it, where ``pip install`` and that name will not do.
        takes_first_points: Whether it learns from points it has not asked for. One that does
            not begins by itself, without the first points of the others.
        n_workers: How many evaluations are under way at once.
    """

    description: str
    start: Callable[[Task, int], Solver]
    why_not: Callable[[Task], str | None] = anything
    package: str = "optuna"
    extra: str = ""
    takes_first_points: bool = True
    n_workers: int = 1

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.package) is not None

    @property
    def how_to_install(self) -> str:
        """How to get its package, in a sentence."""
        return f"it needs {self.package}: {self.extra or 'pip install ' + self.package}"
