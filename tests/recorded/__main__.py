"""Compare suggestions with recorded ones: ``make recorded``, or ``python tests/recorded``.

Changes that are not meant to change suggestions must leave all of them as they are, bit for
bit, on the machine where they were recorded; other machines may round differently.

    python tests/recorded                   compare with what is recorded
    python tests/recorded --against main~3  compare with that commit, run on this machine
    python tests/recorded --write           record them anew, after a change that is meant to
    python tests/recorded mixed binary      only those whose names contain one of the words
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import optuna
from histories import AX_CASES, CASES

RECORD = Path(__file__).with_name("suggestions.json")


def main() -> int:
    """Return the number of histories whose suggestions differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only histories with one of these in their name")
    parser.add_argument("--write", action="store_true", help="record the suggestions")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file of recorded ones")
    parser.add_argument("--against", metavar="COMMIT", help="record those of this commit first")
    arguments = parser.parse_args()
    if arguments.against:
        with tempfile.TemporaryDirectory() as folder:
            arguments.record = _record_of(arguments.against, arguments.words, Path(folder))
            return compare(arguments.words, arguments.record, write=False)
    return compare(arguments.words, arguments.record, write=arguments.write)


def compare(words: list[str], record: Path, *, write: bool) -> int:
    """Return the number of histories whose suggestions differ from those of a file."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    recorded: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
    began, different, n_compared = time.perf_counter(), [], 0
    for name, case in (CASES | AX_CASES).items():
        if words and not any(word in name for word in words):
            continue
        # Through JSON, as the record has been: its floats keep every bit.
        found = json.loads(json.dumps([*case.suggestions()]))
        n_compared += 1
        if found != recorded.get(name):
            different.append(name)
            print(f"differs: {name}: {_first_difference(recorded.get(name), found)}", flush=True)
        recorded[name] = found
    if write:
        known = [name for name in CASES | AX_CASES if name in recorded]
        lines = [f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in known]
        record.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    seconds = time.perf_counter() - began
    print(f"{n_compared} histories, {len(different)} differ, {seconds:.0f} s")
    return 0 if write else len(different)


def _record_of(commit: str, words: list[str], folder: Path) -> Path:
    """Record the suggestions of the package as it was at a commit; return the file."""
    archive = ["git", "archive", "--format=tar", f"--output={folder / 'package.tar'}", commit]
    subprocess.run([*archive, "heat_plugins"], check=True, cwd=Path(__file__).parents[2])
    with tarfile.open(folder / "package.tar") as package:
        package.extractall(folder, filter="data")
    record = folder / "suggestions.json"
    command = [sys.executable, __file__, *words, "--write", "--record", str(record)]
    subprocess.run(
        command,
        check=True,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.DEVNULL,
    )
    return record


def _first_difference(recorded: list[Any] | None, found: list[Any]) -> str:
    if recorded is None:
        return "not recorded"
    for position, (old, new) in enumerate(zip(recorded, found, strict=False)):
        if old != new:
            names = [n for n in {*old, *new} if old.get(n) != new.get(n)]
            pairs = [f"{n} {old.get(n)} -> {new.get(n)}" for n in sorted(names)[:3]]
            return f"suggestion {position}: {', '.join(pairs)}"
    return f"{len(recorded)} suggestions, now {len(found)}"


if __name__ == "__main__":
    sys.exit(main())
