"""What a report is made of: studies, facts about their problems, and who is a peer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heat_plugins.benchmarks.methods.graph_methods import GRAPH_METHODS
from heat_plugins.benchmarks.methods.method_list import (
    HEAT_AND_HAMMING,
    OTHER_KERNELS,
    PIPELINE_METHODS,
    STRUCTURES,
)
from heat_plugins.benchmarks.problems.cells import CELLS
from heat_plugins.benchmarks.problems.ehrlich import EHRLICH
from heat_plugins.benchmarks.problems.functions import SFU
from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.results import raw_lines
from heat_plugins.benchmarks.results.statistics import Facts, Results
from heat_plugins.spec.registry import built_in_kernels

__all__ = [
    "BIOLOGY",
    "FACTS_FILE",
    "FIRST_PROBLEMS",
    "FULL",
    "HALF",
    "OURS",
    "SPEED_FILE",
    "VARIANTS",
    "full_lengths",
    "load",
    "main_problems",
    "peers_of",
    "read_speed",
    "small_problems",
    "write_facts",
]

OURS = "HeatSampler"
FULL, HALF = 200, 100  # evaluations of the two main tables
SPEED_FILE = "speed.jsonl"
FACTS_FILE = "facts.json"  # for those without the data or the package of a problem

# Problems in the order in which readers look for them; others follow as the catalogue has them.
FIRST_PROBLEMS = ("pest", "contamination", "labs", "maxsat", "cluster", *SFU, "rna")
BIOLOGY = ("rna", "antibody")
VARIANTS = ("", "-relocated", "-relabelled")


def load(paths: Sequence[Path]) -> Results:
    """Read studies, and what is known about their problems.

    The catalogue knows it, and ``facts.json`` beside the studies where a problem cannot be made
    here.
    """
    lines = raw_lines.read(path for path in paths if path.name != SPEED_FILE)
    tasks, methods = _catalogue()
    kept = _read_facts(paths)
    facts = {}
    for problem in sorted({problem for problem, _, _ in lines}):
        known = _facts_of(tasks.get(problem), kept.get(problem))
        if known is not None:
            facts[problem] = known
    first = [name + variant for name in FIRST_PROBLEMS for variant in VARIANTS]
    return Results(lines.values(), facts, [*dict.fromkeys([*first, *tasks])], methods)


def write_facts(results: Results, folder: Path) -> None:
    """Keep what is known about the problems of some studies, for ``load``."""
    facts = {problem: results.facts(problem) for problem in results.problems}
    known = {problem: asdict(one) for problem, one in facts.items() if one != Facts()}
    text = json.dumps(known, indent=1, ensure_ascii=False)
    # Whole or not at all: half a file would stop the next report.
    partial = folder / f"{FACTS_FILE}.part"
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / FACTS_FILE)


def _read_facts(paths: Sequence[Path]) -> dict[str, Facts]:
    files = [folder / FACTS_FILE for folder in dict.fromkeys(path.parent for path in paths)]
    kept: dict[str, dict[str, Any]] = {}
    for file in files:
        try:
            kept |= json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        except json.JSONDecodeError as error:
            raise ValueError(f"{file} must be JSON, as a report writes it: {error}") from error
    return {problem: Facts(**facts) for problem, facts in kept.items()}


def _catalogue() -> tuple[Mapping[str, Callable[[], Any]], Sequence[str]]:
    from heat_plugins.benchmarks.methods.method_list import METHODS
    from heat_plugins.benchmarks.problems.catalogue import TASKS

    return TASKS, [*METHODS]


def _facts_of(make: Callable[[], Any] | None, kept: Facts | None) -> Facts | None:
    """Return what a task says of itself, or what was kept where it cannot be made here."""
    if make is None:
        return kept
    try:
        task = make()
    except (FileNotFoundError, ImportError) as error:
        if kept is None:
            print(f"without description, best known value and target: {error}", file=sys.stderr)
        return kept
    return Facts(task.description, task.larger_is_better, task.best_known, task.target)


def peers_of(results: Results) -> list[str]:
    """Return the methods that are not ours."""
    ours = {*HEAT_AND_HAMMING, *OTHER_KERNELS, *STRUCTURES, *PIPELINE_METHODS, *GRAPH_METHODS}
    ours |= {*built_in_kernels(), "Ax-heat"}
    return [
        name
        for name in results.methods
        if name not in ours
        and "+" not in name  # a kernel with a structure
        and not name.startswith(OURS)
        and not name.endswith("-workers")  # who have less to go by: a comparison of its own
    ]


def main_problems(results: Results) -> list[str]:
    """Return the problems of the main tables: the relocated and those without such a twin."""
    tasks, _ = _catalogue()
    known = {*tasks, *results.problems}
    small = {*small_problems(results), *CELLS}  # cells have a claim of their own
    return [
        problem
        for problem in results.problems
        if f"{problem}-relocated" not in known
        and not problem.endswith("-relabelled")
        and problem not in small
    ]


def small_problems(results: Results) -> list[str]:
    """Return the problems whose first evaluations matter: tables, numbers and sequences."""
    small = {*TABLES, *NUMBERS, *EHRLICH}
    return [problem for problem in results.problems if problem in small]


def full_lengths(results: Results, problems: Sequence[str]) -> dict[str, int]:
    """Return after how many evaluations each problem is looked at: 200, or all there are."""
    return {p: min(FULL, results.length(p, OURS)) for p in problems if results.studies(p, OURS)}


def read_speed(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows about the speed of kernels that lie beside the studies."""
    rows = []
    for folder in dict.fromkeys(path.parent for path in paths):
        file = folder / SPEED_FILE
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # half a line: its writer was killed
    return rows
