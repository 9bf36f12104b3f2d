"""Results as lines of JSON: one a study, appended, never changed."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any

__all__ = ["StudyLine", "append", "machine", "pack", "read", "versions"]


@dataclass(frozen=True)
class StudyLine:
    """One study.

    Args:
        problem: Name of the task.
        method: Name of the method.
        seed: Seed of the method and of the first points.
        n_first: How many first points, the same for all methods of a seed, were given.
        scores: What the results so far are worth, after each evaluation.
        seconds: CPU seconds that each suggestion took, and what the method then learnt from a
            result; all threads together.
        n_repeats: How many evaluations were at the parameters of an earlier one.
        n_failed: How many failed.
        versions: Releases of what was measured.
        machine: Processor and Python.
        finished: When, in UTC.
    """

    problem: str
    method: str
    seed: int
    n_first: int
    scores: list[float]
    seconds: list[float]
    n_repeats: int
    versions: dict[str, str]
    machine: str
    finished: str
    n_failed: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells this study from the others."""
        return self.problem, self.method, self.seed

    @property
    def n_trials(self) -> int:
        """Number of evaluations."""
        return len(self.scores)


def append(path: Path, line: StudyLine) -> None:
    """Add a line at the end, whole or not at all where the system can do that.

    A file whose writer was killed may end in half a line, which is left alone as one that
    cannot be read; the new one begins below it.
    """
    text = _text(line)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+", buffering=0) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                text = "\n" + text
        file.write(text.encode())
        os.fsync(file.fileno())


def read(paths: Iterable[Path]) -> dict[tuple[str, str, int], StudyLine]:
    """Return the studies of some files, plain or compressed.

    Of several with the same key the longest counts, and of those the last.

    Raises:
        ValueError: If a file has lines about something else.
    """
    names = {field.name for field in fields(StudyLine)}
    required = {field.name for field in fields(StudyLine) if field.default is MISSING}
    studies: dict[tuple[str, str, int], StudyLine] = {}
    for path in paths:
        for row in _rows(path):
            if required - row.keys():
                raise ValueError(f"{path} must have a study on each line, got {str(row)[:80]}...")
            line = StudyLine(**{name: row[name] for name in names & row.keys()})
            known = studies.get(line.key)
            if known is None or line.n_trials >= known.n_trials:
                studies[line.key] = line
    return studies


def pack(paths: Iterable[Path], target: Path) -> int:
    """Write the studies of some files into one compressed file; return how many there are.

    Sorted, and the same for the same studies: what is under version control changes where
    results do.
    """
    studies = read(paths)
    lines = [_text(studies[key]) for key in sorted(studies)]
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    partial.write_bytes(lzma.compress("".join(lines).encode(), preset=9))
    partial.replace(target)
    return len(lines)


def _text(line: StudyLine) -> str:
    return json.dumps(asdict(line), separators=(",", ":")) + "\n"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with _open(path) as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # half a line: its writer was killed


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return open(path, encoding="utf-8")


@cache
def versions() -> dict[str, str]:
    """Return the releases of the packages that are compared, of those that are there."""
    found = {}
    for name in (
        "heat-plugins optuna ax-platform botorch gpytorch torch numpy scipy HEBO smac cmaes "
        "scikit-learn ViennaRNA"
    ).split():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def machine() -> str:
    """Return the processor, how many there are, the system and the Python."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
            processor = names[0] if names else processor
    except OSError:
        pass  # not Linux
    return (
        f"{os.cpu_count()} x {processor}, {platform.system()}, Python {platform.python_version()}"
    )
