"""The best value so far over evaluations or over time: what figures of studies show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heat_plugins.benchmarks.results.statistics import Results, estimate, time_after
from heat_plugins.space import Array

__all__ = ["Curve", "Grid", "correlations_of", "curve", "curves_of"]

Grid = Sequence[Sequence[str]]  # names of problems, rows of panels; empty for no panel


class Curve(NamedTuple):
    """The mean score of a method.

    Args:
        x: (n,) evaluations, seconds, or cells that a kernel knows.
        mean: (n,) mean score; no number where it is infinite.
        error: (n,) standard error; 0 for one seed.
    """

    x: Array
    mean: Array
    error: Array


def curve(
    results: Results, problem: str, method: str, objective_seconds: float | None = None
) -> Curve | None:
    """Return the best value so far from the first points on, mean over seeds.

    Studies that are shorter than half of the others are left out, so that no curve jumps where
    one ends.

    Args:
        results: All studies.
        problem: The problem.
        method: The method.
        objective_seconds: What an evaluation takes, for a curve over seconds; None for one over
            evaluations.
    """
    n, start = results.length(problem, method), max(results.n_first(problem), 1)
    if objective_seconds is not None:
        start += 1  # no suggestion before, and nothing to be seen on a logarithmic scale
    studies = [s for s in results.studies(problem, method).values() if s.n_trials >= n]
    if not studies or n < start:
        return None
    scores = np.array([line.scores[start - 1 : n] for line in studies])
    scores[:, ~np.isfinite(scores).all(axis=0)] = np.nan
    if objective_seconds is None:
        x = np.arange(start, n + 1, dtype=float)
    else:
        times = [time_after(line, objective_seconds)[start - 1 : n] for line in studies]
        x = np.mean(times, axis=0)
    error = np.zeros(scores.shape[1])
    if len(studies) > 1:
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(studies))
    return Curve(x, scores.mean(axis=0), error)


def curves_of(
    results: Results,
    grid: Grid,
    methods: Sequence[str],
    objective_seconds: float | None = None,
) -> dict[str, dict[str, Curve]]:
    """Return the curves of each problem that has any."""
    found: dict[str, dict[str, Curve]] = {}
    for problem in (name for row in grid for name in row if name):
        for method in methods:
            one = curve(results, problem, method, objective_seconds)
            if one is not None and np.isfinite(one.mean).any():
                found.setdefault(problem, {})[method] = one
        if methods[0] in found.get(problem, {}):
            found[problem] = _cut(results, problem, methods[0], found[problem])
    return found


def _cut(
    results: Results, problem: str, first: str, found: Mapping[str, Curve]
) -> dict[str, Curve]:
    """Return curves no longer than those of methods with as few evaluations as the first.

    A method that costs next to nothing may have made a hundred times as many.
    """
    usual = results.length(problem, first)
    end = max(one.x[-1] for m, one in found.items() if results.length(problem, m) <= usual)
    cut = {}
    for method, one in found.items():
        n = max(int(np.searchsorted(one.x, end, side="right")), 1)
        cut[method] = Curve(one.x[:n], one.mean[:n], one.error[:n])
    return cut


def correlations_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Curve]]:
    """Return rank correlations over the number of known cells, by problem and method.

    Args:
        rows: Those of ``cell_regression``, and others.
    """
    values: dict[str, dict[str, dict[int, dict[int, float]]]] = {}
    for row in rows:
        if row.get("kind") == "cells":
            by_size = values.setdefault(row["problem"], {}).setdefault(row["method"], {})
            by_size.setdefault(int(row["cells"]), {})[int(row["seed"])] = row["correlation"]
    found: dict[str, dict[str, Curve]] = {}
    for problem, methods in values.items():
        for method, by_size in methods.items():
            sizes = sorted(by_size)
            known = [estimate(by_size[size].values()) for size in sizes]
            mean, error = [e.mean for e in known], [e.error or 0.0 for e in known]
            curve_of = Curve(np.array(sizes, dtype=float), np.array(mean), np.array(error))
            found.setdefault(problem, {})[method] = curve_of
    return found
