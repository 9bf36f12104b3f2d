"""How long the suggestions of methods take, as multiples of the fastest method's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from heat_plugins.benchmarks.results.statistics import Results

__all__ = ["WITHOUT_MODEL", "Ratios", "time_ratios"]

# These learn nothing that costs time, so that being slower than they are says little.
WITHOUT_MODEL = ("Random", "NSGA-II")


class Ratios(NamedTuple):
    """Times as multiples of the fastest method's.

    Args:
        fastest: The method with a model whose times are the least.
        ratios: For each method the mean of its ratios, and over how many problems.
    """

    fastest: str
    ratios: dict[str, tuple[float, int]]


def time_ratios(
    results: Results, evaluations: Mapping[str, int], among: Collection[str] | None = None
) -> Ratios | None:
    """Return how long methods take, as the paper does: ratios by problem, and their mean.

    The fastest is the method with a model that takes the least time on the (geometric) mean of
    the problems, of those methods that have the most of the problems.

    Args:
        results: All studies.
        evaluations: The problems, and how many evaluations of a study count.
        among: The methods to compare; None for all.
    """
    seconds: dict[str, dict[str, float]] = {}
    for problem, n in evaluations.items():
        for method in results.methods_of(problem):
            if among is not None and method not in among:
                continue
            total = results.seconds(problem, method, n)
            if total is not None and total.mean > 0.0:
                seconds.setdefault(method, {})[problem] = total.mean
    candidates = [method for method in seconds if method not in WITHOUT_MODEL]
    if not candidates:
        return None
    most = max(len(seconds[method]) for method in candidates)
    complete = [method for method in candidates if len(seconds[method]) == most]
    fastest = min(complete, key=lambda m: float(np.mean(np.log([*seconds[m].values()]))))
    means = {}
    for method in results.methods:
        common = [p for p in seconds.get(method, {}) if p in seconds[fastest]]
        if common:
            each = [seconds[method][p] / seconds[fastest][p] for p in common]
            means[method] = float(np.mean(each)), len(each)
    return Ratios(fastest, dict(sorted(means.items(), key=lambda item: item[1][0])))
