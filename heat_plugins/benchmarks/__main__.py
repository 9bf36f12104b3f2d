"""``python -m heat_plugins.benchmarks bench``: speed and quality, measured here and now."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heat_plugins._extras import require
from heat_plugins.benchmarks.problems import DATA_VARIABLE, PROBLEMS

if TYPE_CHECKING:
    from heat_plugins.benchmarks.comparisons import Comparison, Standing


def main() -> None:
    """Parse the command line and run what it asks for."""
    parser = argparse.ArgumentParser(prog="python -m heat_plugins.benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the problems, a line each")
    bench = commands.add_parser("bench", help="speed against GPSampler, growth, and quality")
    bench.add_argument("--seeds", type=int, default=5, help="studies a problem (default 5)")
    bench.add_argument("--first-seed", type=int, default=0, help="the first seed (default 0)")
    bench.add_argument("--processes", type=int, default=2, help="for quality (default 2)")
    bench.add_argument("--only", choices=[*PARTS], help="one part only")
    bench.add_argument("--problems", nargs="*", help="for quality and comparisons, these only")
    bench.add_argument("--samplers", nargs="*", help="for comparisons and ax, these only")
    bench.add_argument(
        "--resume", action="store_true", help="for comparisons, leave out what the log has"
    )
    bench.add_argument(
        "--log", type=Path, default=Path("bench.jsonl"), help="where raw results are appended"
    )
    arguments = parser.parse_args()
    if arguments.command == "list":
        _list()
    else:
        _bench(arguments)


def _list() -> None:
    for name, make in PROBLEMS.items():
        try:
            problem = make()
        except FileNotFoundError as error:
            print(f"{name:15s} {error}")
        else:
            print(f"{name:15s} {problem.description}; best known {problem.best_known}")


def _bench(arguments: argparse.Namespace) -> None:
    # Before NumPy and PyTorch start their thread pools: figures are for one thread.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name, part in PARTS.items():
        if arguments.only == name or (arguments.only is None and name not in LONG_PARTS):
            part(arguments)
    print(f"\nraw results: {arguments.log.resolve()}")


def _speed(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import speed

    print("\nCPU seconds a suggestion after 200 trials, one thread, the same history")
    _table(_logged(speed.against_gp_sampler(), arguments.log))


def _kernels(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import kernel_speed

    print("\nCPU seconds a suggestion after 200 trials of 25 x 5, by kernel and structure")
    _table(_logged(kernel_speed.structures_against_default(), arguments.log))
    print("\nThe same with numbers: 10 x 5 choices and 5 floats")
    _table(_logged(kernel_speed.structures_with_numbers(), arguments.log))
    print("\nThe likelihood and its gradient at 200 points: closed form, eigenvectors")
    _table(_logged(kernel_speed.closed_form_against_eigenvectors(), arguments.log))


def _growth(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import speed

    print("\nMedian CPU seconds a suggestion in large studies, and peak memory")
    _table(_logged(speed.growth(), arguments.log))


def _quality(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import quality

    names = _chosen(arguments.problems, PROBLEMS)
    if "maxsat" in names and not os.environ.get(DATA_VARIABLE):
        names.remove("maxsat")
        print(f"\nmaxsat is left out: its file is found through {DATA_VARIABLE}")
    seeds = _seeds(arguments)
    jobs = quality.outcomes(names, seeds, arguments.processes)
    results = list(_logged(_progress(jobs, len(names) * len(seeds)), arguments.log))
    print("\nBest value after 200 evaluations, relocated problems, default sampler")
    _table(quality.summary(results))


def _structures(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import structure_quality

    cases, seeds = structure_quality.CASES, _seeds(arguments)
    jobs = structure_quality.outcomes([*cases], seeds, arguments.processes)
    n_studies = len(seeds) * sum(map(len, cases.values()))
    results = list(_logged(_progress(jobs, n_studies), arguments.log))
    print("\nBest value with and without a structure, mean ± standard error")
    _table(structure_quality.summary(results))


def _compare(comparison: Comparison, arguments: argparse.Namespace) -> list[Standing]:
    from heat_plugins.benchmarks import comparisons

    problems = _chosen(arguments.problems, comparison.tasks)
    samplers = _chosen(arguments.samplers, comparison.contenders)
    results = comparisons.read(arguments.log, comparison) if arguments.resume else []
    done = {standing.key for standing in results}
    jobs = [
        job
        for job in comparisons.jobs_of(comparison, problems, samplers, _seeds(arguments))
        if (comparison.name, *job[1:]) not in done
    ]
    studies = comparisons.run(jobs, arguments.processes)
    results += _logged(_progress(studies, len(jobs)), arguments.log)
    return results


def _conditional(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.comparisons import summary
    from heat_plugins.benchmarks.conditional import CONDITIONAL

    results = _compare(CONDITIONAL, arguments)
    print("\nConditional parameters: best value, mean ± standard error")
    _table(summary(CONDITIONAL, results))


def _objectives(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.comparisons import summary
    from heat_plugins.benchmarks.objectives import OBJECTIVES

    results = _compare(OBJECTIVES, arguments)
    print("\nSeveral objectives: share of the hypervolume, mean ± standard error")
    _table(summary(OBJECTIVES, results))


def _parallel(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.comparisons import summary
    from heat_plugins.benchmarks.parallel import PARALLEL, bars

    results = _compare(PARALLEL, arguments)
    print("\nFour workers at once: best value after 200 evaluations, mean ± standard error")
    _table(summary(PARALLEL, results))
    print("\nDistance of the mean from the best known value")
    _table(bars(results))


def _ax(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks import ax_clients

    print("\nCPU seconds a suggestion after the same 100 random arms, one thread")
    _table(_logged(ax_clients.at_one_history(), arguments.log))
    problems = _chosen(arguments.problems, ax_clients.PROBLEM_NAMES)
    strategies = _chosen(arguments.samplers, ax_clients.STRATEGIES)
    results = ax_clients.read(arguments.log) if arguments.resume else []
    done = {outcome.key for outcome in results}
    jobs = [
        job
        for job in itertools.product(problems, strategies, _seeds(arguments))
        if job not in done
    ]
    # The seeds of all strategies together: what is there when time is up can be compared.
    jobs.sort(key=lambda job: job[2])
    outcomes = ax_clients.outcomes(jobs, n_processes=arguments.processes)
    results += _logged(_progress(outcomes, len(jobs)), arguments.log)
    print("\nGeneration strategies of Ax: best value, CPU seconds a suggestion, one thread")
    _table(ax_clients.summary(results))


def _constrained(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.comparisons import summary
    from heat_plugins.benchmarks.constrained import CONSTRAINED

    results = _compare(CONSTRAINED, arguments)
    print("\nConstraints: best feasible value after 100 trials, mean ± standard error")
    _table(summary(CONSTRAINED, results))


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "speed": _speed,
    "kernels": _kernels,
    "growth": _growth,
    "quality": _quality,
    "structures": _structures,
    "conditional": _conditional,
    "objectives": _objectives,
    "parallel": _parallel,
    "constrained": _constrained,
    "ax": _ax,
}
# Left out unless asked for: hours, nearly all of which Ax's own strategies take.
LONG_PARTS = ("ax",)


def _chosen(names: list[str] | None, known: Iterable[str]) -> list[str]:
    """Return the names that were asked for, or all."""
    unknown = sorted({*(names or [])} - {*known})
    if unknown:
        raise SystemExit(f"error: names must be of {', '.join(known)}; got {', '.join(unknown)}")
    return names or [*known]


def _seeds(arguments: argparse.Namespace) -> range:
    return range(arguments.first_seed, arguments.first_seed + arguments.seeds)


def _progress(rows: Iterator[Any], total: int) -> Iterable[Any]:
    tqdm = require("tqdm", extra="benchmarks").tqdm
    bar: Iterable[Any] = tqdm(rows, total=total, unit="study", file=sys.stderr)
    return bar


def _logged(rows: Iterable[Any], path: Path) -> Iterator[Any]:
    """Append each row to a file of JSON lines as it comes."""
    for row in rows:
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(row, default=asdict) + "\n")
        yield row


def _table(rows: Iterable[dict[str, Any]]) -> None:
    """Print rows as a Markdown table, each as soon as it is known."""
    for i, row in enumerate(rows):
        if i == 0:
            print("| " + " | ".join(name.replace("_", " ") for name in row) + " |")
            print("|" + "---|" * len(row))
        cells = [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
