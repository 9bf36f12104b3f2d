"""The searches by name: each maximises an acquisition in its own way.

=================  ============================================================================
name               how it looks for the maximum
=================  ============================================================================
genetic            a genetic algorithm, its best few points finished by ascents
hill-climbing      ascents by the best single change from many starts (COMBO, BODi)
interleaved        random changes of choices and gradient steps of numbers in turn (CASMOPOLITAN)
message-passing    exactly, where the acquisition is a sum over the edges of a tree (RDUCB)
bandit             choices drawn by bandits that learn from the trials, numbers by their
                   acquisition (CoCaBO)
pool               the best of a pool: random points, and mutations of the best trials (NASBOWL)
=================  ============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heat_plugins.search.bandit import bandit
from heat_plugins.search.genetic import genetic
from heat_plugins.search.hill_climbing import hill_climbing
from heat_plugins.search.interleaved import interleaved
from heat_plugins.search.message_passing import message_passing
from heat_plugins.search.pool import pool
from heat_plugins.search.search_task import SearchTask
from heat_plugins.space import Array

__all__ = ["SEARCHES", "SearchEntry", "SearchName", "maximise"]

SearchName = Literal[
    "genetic", "hill-climbing", "interleaved", "message-passing", "bandit", "pool"
]


@dataclass(frozen=True)
class SearchEntry:
    """A search, and what it can be used with.

    Args:
        run: Returns the best points (k, d) of a task.
        is_maximiser: Whether it looks for nothing but the maximum: then small finite domains are
            enumerated instead.
        needs_components: Whether the acquisition must be a sum over parts of a point.
        works_embedded: Whether parameters may move together.
    """

    run: Callable[[SearchTask], Array]
    is_maximiser: bool = True
    needs_components: bool = False
    works_embedded: bool = True


SEARCHES: dict[SearchName, SearchEntry] = {
    "genetic": SearchEntry(genetic),
    "hill-climbing": SearchEntry(hill_climbing),
    "interleaved": SearchEntry(interleaved),
    "message-passing": SearchEntry(message_passing, needs_components=True, works_embedded=False),
    "bandit": SearchEntry(bandit, is_maximiser=False, works_embedded=False),
    "pool": SearchEntry(pool, is_maximiser=False),
}


def maximise(task: SearchTask, name: SearchName = "genetic") -> Array:
    """Return the best points (k, d) found, the best first; k is 0 where all met are to be avoided.

    Args:
        task: What to maximise, and where.
        name: Which search.
    """
    search, budget, is_listed = SEARCHES[name], task.budget, task.domain.listed is not None
    if not search.is_maximiser:
        return search.run(task)
    if task.domain.size <= (budget.list_up_to if is_listed else budget.enumerate_up_to):
        return task.enumerated()
    return search.run(_with_listed_starts(task) if is_listed else task)


def _with_listed_starts(task: SearchTask) -> SearchTask:
    """Begin also with the best of many listed points: what varies them is rarely listed itself."""
    points = task.domain.sample(task.budget.from_list, task.rng)
    values = task.score(points)
    best = points[np.argsort(-values, kind="stable")[: task.budget.parents]]
    return replace(task, starts=np.concatenate([task.starts, best]))
