"""Samplers that look for the next point with little work.

For tests that are not about how good a point is: it still is one that the model chose.
"""

import dataclasses
from typing import Any

from heat_plugins import HeatSampler
from heat_plugins.search.search_task import SearchBudget

# Enough to be led by the model, and no more.
SMALL_SEARCH = SearchBudget(
    population=16, generations=2, parents=8, ascents=1, ascent_steps=3, enumerate_up_to=50
)


def quick_sampler(**arguments: Any) -> HeatSampler:
    """Return a sampler with a small budget for its search."""
    sampler = HeatSampler(**arguments)
    sampler._settings = dataclasses.replace(sampler._settings, search=SMALL_SEARCH)
    return sampler
