"""Studies whose results are known, for the tests of claims and reports."""

import json
from dataclasses import asdict

import numpy as np

from heat_plugins.benchmarks.results.raw_lines import StudyLine
from heat_plugins.benchmarks.results.statistics import Results

N_FIRST = 5


def study(problem, method, seed, end, n=60, seconds=0.1, n_first=N_FIRST, start=10.0):
    """Return a study that goes from its first points to its end in even steps."""
    descent = np.linspace(start, end, n - N_FIRST + 1)[1:]
    return StudyLine(
        problem=problem,
        method=method,
        seed=seed,
        n_first=n_first,
        scores=[start] * N_FIRST + [float(f"{score:.8g}") for score in descent],
        seconds=[0.0] * N_FIRST + [seconds] * (n - N_FIRST),
        n_repeats=seed,
        versions={"optuna": "5.0.0"},
        machine="a machine",
        finished=f"2026-01-{1 + seed:02d}T00:00:00+00:00",
    )


def studies(problem, ends, n_seeds=10, spread=0.01, **arguments):
    """Return studies of several methods with a little noise, different for each seed."""
    rng = np.random.default_rng(0)
    return [
        study(problem, method, seed, end + spread * rng.random(), **arguments)
        for method, end in ends.items()
        for seed in range(n_seeds)
    ]


def written(lines, path):
    text = "".join(json.dumps(asdict(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def results_of(lines, facts=None):
    return Results(lines, facts or {})


def rows_of(text):
    """Return the cells of the rows of a table, by the first of them."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {cells[0]: cells for cells in lines}
