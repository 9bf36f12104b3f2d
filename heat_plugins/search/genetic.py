"""Memetic search: a genetic algorithm whose best points are refined by local search.

Everything works on whole populations: a Python loop runs over generations, never over points.
"""

from __future__ import annotations

import numpy as np

from heat_plugins.search.ascent import ascended, best_different
from heat_plugins.search.mutation import mutate
from heat_plugins.search.search_task import SearchBudget, SearchTask
from heat_plugins.space import Array

__all__ = ["SearchBudget", "genetic"]  # pickles of samplers look for the budget here


def genetic(task: SearchTask) -> Array:
    """Return the best points (k, d) of the last population and of ascents from its best few."""
    population, fitness = _evolve(task)
    top = best_different(population, fitness, task.domain, task.budget.ascents)
    good = np.concatenate([task.starts, population])
    points, values = ascended(task, population[top], fitness[top], good)
    return task.ranked(np.concatenate([points, population]), np.concatenate([values, fitness]))


def _evolve(task: SearchTask) -> tuple[Array, Array]:
    """Run the genetic algorithm; return the last population, the best of all among it."""
    domain, starts, rng, budget = task.domain, task.starts, task.rng, task.budget
    size = budget.population
    if not len(starts):
        starts = domain.sample(1, rng)
    varied = mutate(starts[rng.integers(len(starts), size=size // 2)], domain, 1.0, rng)
    points = np.concatenate([starts, varied, domain.sample(size - size // 2, rng)])
    points = domain.project(points, rng)
    values = task.score(points)
    for _ in range(budget.generations):
        best = np.argsort(-values, kind="stable")[: budget.parents]
        parents, kept = points[best], values[best]
        mothers, fathers = rng.integers(len(parents), size=(2, size))
        from_mother = rng.random((size, points.shape[1])) < 0.5
        children = np.where(from_mother, parents[mothers], parents[fathers])
        children = domain.project(mutate(children, domain, 0.5, rng), rng)
        points = np.concatenate([parents, children])
        values = np.concatenate([kept, task.score(children)])
    return points, values
