"""``python -m heat_plugins.benchmarks``: is this better than what you use? Measure it.

list     problems, methods, and what of the plan has been run
run      problems x methods x seeds; stop it at any time and start it again
report   tables and figures of what was run
pack     put raw results into one compressed file
bench    speed at equal histories, here and now
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heat_plugins._extras import MissingExtra, require

RESULTS = Path("results.jsonl")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run what it asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m heat_plugins.benchmarks", description="Compare samplers on problems."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_list(commands.add_parser("list", help="problems, methods and what has been run"))
    _add_run(commands.add_parser("run", help="run studies, those that have not been run yet"))
    _add_report(commands.add_parser("report", help="tables and figures of what was run"))
    _add_pack(commands.add_parser("pack", help="raw results into one compressed file"))
    _add_bench(commands.add_parser("bench", help="speed at equal histories"))
    parsed = parser.parse_args(arguments)
    # Before NumPy and PyTorch start their thread pools: figures are for one thread.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        parsed.do(parsed)
    except KeyboardInterrupt:
        raise SystemExit("stopped; what has ended is kept") from None
    except (MissingExtra, ValueError) as error:
        raise SystemExit(f"error: {error}") from None


def _at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number of an option."""

    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {number}")
        return number

    return read


# ------------------------------------------------------------------------------- list
def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, nargs="*", default=[RESULTS], help=_RESULTS_HELP)
    parser.set_defaults(do=_list)


def _list(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.methods.method_list import METHODS
    from heat_plugins.benchmarks.problems.catalogue import TASKS
    from heat_plugins.benchmarks.results import raw_lines
    from heat_plugins.benchmarks.run.plan import PLAN, jobs_of
    from heat_plugins.benchmarks.run.runner import to_do

    print("Problems")
    for name, make in TASKS.items():
        try:
            task = make()
        except (FileNotFoundError, ImportError) as error:
            print(f"  {name:27s} not here: {error}")
            continue
        best = "" if task.best_known is None else f"; best known {task.best_known:.6g}"
        print(f"  {name:27s} {task.description}{best}")
    print("\nMethods")
    for name, method in METHODS.items():
        missing = "" if method.is_installed else f" (not here: {method.how_to_install})"
        print(f"  {name:27s} {method.description}{missing}")
    print("  KERNEL, KERNEL+STRUCTURE    any others of ours, such as matern+sort")
    plan = _possible(jobs_of(PLAN), quiet=True)
    left = to_do(plan, raw_lines.read(arguments.results))
    print(f"\nOf the plan {len(plan)} studies can be run here; {len(plan) - len(left)} have been.")


_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


# -------------------------------------------------------------------------------- run
_RESULTS_HELP = f"files of raw results (default {RESULTS})"


def _add_run(parser: argparse.ArgumentParser) -> None:
    for option in ("--problems", "--methods"):
        parser.add_argument(
            option,
            nargs="+",
            metavar="NAME",
            help="names as list shows them (default: those of the plan; name problems and methods "
            "for any others)",
        )
    parser.add_argument("--seeds", type=_at_least(1), help="how many (default: as planned)")
    parser.add_argument(
        "--first-seed",
        type=_at_least(0),
        help="the first one (default 0); one seed only unless --seeds says how many",
    )
    parser.add_argument(
        "--trials", type=_at_least(1), help="evaluations a study (default: as planned)"
    )
    parser.add_argument("--processes", type=_at_least(1), default=2, help="at once (default 2)")
    parser.add_argument(
        "--quick", action="store_true", help="a plan of a few minutes instead of the whole"
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help=f"file to append to (default {RESULTS})"
    )
    parser.add_argument(
        "--also",
        type=Path,
        nargs="*",
        default=[],
        help="more files of raw results, whose studies are not run again",
    )
    parser.set_defaults(do=_run)


def _run(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.results import raw_lines
    from heat_plugins.benchmarks.run.runner import run_jobs, to_do

    jobs = _possible(_wanted(arguments))
    done = raw_lines.read([*arguments.also, arguments.results])
    left = to_do(jobs, done)
    print(
        f"{len(jobs)} studies, {len(jobs) - len(left)} of them done; results: "
        f"{arguments.results.resolve()}",
        file=sys.stderr,
    )
    studies = run_jobs(left, arguments.results, arguments.processes)
    failures = [*_progress(studies, left, [*done.values()], arguments.processes)]
    for failure in failures:
        print(f"{', '.join(map(str, failure.job.key))} failed: {failure.error}", file=sys.stderr)
    if failures:
        raise SystemExit(1)


def _wanted(arguments: argparse.Namespace) -> list[Any]:
    """Return the jobs that were asked for: of the plan, or any others by name."""
    from heat_plugins.benchmarks.methods.method_list import method_named
    from heat_plugins.benchmarks.problems.catalogue import task_named
    from heat_plugins.benchmarks.run.plan import PLAN, QUICK, Block, jobs_of

    _check_names("--problems", arguments.problems, task_named)
    _check_names("--methods", arguments.methods, method_named)
    seeds = None
    if arguments.seeds is not None or arguments.first_seed is not None:
        first = arguments.first_seed or 0
        seeds = range(first, first + (arguments.seeds or 1))
    plan: Sequence[Block] = QUICK if arguments.quick else PLAN
    if arguments.problems and arguments.methods:
        # Whoever names both means these, whether they are planned or not.
        planned = jobs_of(plan, arguments.problems, arguments.methods, seeds, arguments.trials)
        plan = [Block((*arguments.problems,), (*arguments.methods,))]
        every = jobs_of(plan, seeds=seeds, n_trials=arguments.trials)
        # A method has the seeds and evaluations that are planned for it on this problem.
        known = {(job.problem, job.method) for job in planned}
        others = [job for job in every if (job.problem, job.method) not in known]
        return sorted(planned + others, key=lambda job: job.seed)
    jobs = jobs_of(plan, arguments.problems, arguments.methods, seeds, arguments.trials)
    unplanned = {*(arguments.problems or ())} - {job.problem for job in jobs}
    unplanned |= {*(arguments.methods or ())} - {job.method for job in jobs}
    if unplanned:
        raise SystemExit(
            f"error: {', '.join(sorted(unplanned))} must be in the plan, or name both --problems "
            "and --methods"
        )
    return jobs


def _check_names(option: str, names: Sequence[str] | None, known: Callable[[str], object]) -> None:
    for name in names or ():
        try:
            known(name)
        except ValueError as error:
            raise SystemExit(f"error: {option}: {error}") from None
        except (FileNotFoundError, ImportError):
            continue  # it exists, but not here, which is said later


def _possible(jobs: Sequence[Any], quiet: bool = False) -> list[Any]:
    """Return the jobs that can be run here; say once why others cannot."""
    from heat_plugins.benchmarks.methods.method_list import method_named
    from heat_plugins.benchmarks.problems.catalogue import task_named

    tasks: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name in dict.fromkeys(job.problem for job in jobs):
        try:
            tasks[name] = task_named(name)
        except (FileNotFoundError, ImportError) as error:
            reasons[name] = str(error)
    methods = {name: method_named(name) for name in dict.fromkeys(job.method for job in jobs)}
    for name, method in methods.items():
        if not method.is_installed:
            reasons[name] = method.how_to_install
    for problem, name in dict.fromkeys((job.problem, job.method) for job in jobs):
        if problem not in reasons and name not in reasons:
            why = methods[name].why_not(tasks[problem])
            if why is not None:
                reasons[f"{name} on {problem}"] = why
    if not quiet:
        for name, why in reasons.items():
            print(f"{name} is left out: {why}", file=sys.stderr)
    return [
        job
        for job in jobs
        if not {job.problem, job.method, f"{job.method} on {job.problem}"} & reasons.keys()
    ]


def _progress(
    studies: Iterator[Any], jobs: Sequence[Any], known: list[Any], n_processes: int
) -> Iterator[Any]:
    """Show how many studies have ended, and about how long the rest takes; yield failures."""
    tqdm = require("tqdm", extra="benchmarks").tqdm
    from heat_plugins.benchmarks.run.runner import Failure, expected_seconds

    left = {job.key: job for job in jobs}
    with tqdm(
        total=len(jobs),
        unit="study",
        file=sys.stderr,
        disable=None,  # on a terminal only
        bar_format=_BAR,
    ) as bar:
        for line in studies:
            bar.update()
            if isinstance(line, Failure):
                left.pop(line.job.key, None)
                yield line
                continue
            known.append(line)
            left.pop(line.key, None)
            seconds = _mean_known([expected_seconds(job, known) for job in left.values()])
            minutes = seconds * len(left) / n_processes / 60.0
            bar.set_postfix_str(f"about {minutes:.0f} min left; {line.problem}, {line.method}")


def _mean_known(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if number == number]
    return sum(known) / len(known) if known else 0.0


# ----------------------------------------------------------------------------- report
def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, nargs="+", default=[RESULTS], help=_RESULTS_HELP)
    parser.add_argument(
        "--folder", type=Path, default=Path("report"), help="where to (default report)"
    )
    parser.add_argument("--no-figures", action="store_true", help="tables only")
    parser.add_argument("--html", action="store_true", help="figures to zoom in too")
    parser.add_argument("--readme", type=Path, help="a page to put the main table into")
    parser.set_defaults(do=_report)


def _report(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.report import pages as report

    _check_files(arguments.results)
    tqdm = require("tqdm", extra="benchmarks").tqdm
    with tqdm(unit="step", file=sys.stderr, disable=None, bar_format=_BAR) as bar:
        begun: list[str] = []

        def show(step: str, n_steps: int) -> None:
            bar.update(len(begun) and 1)  # the step before has ended
            begun.append(step)
            bar.total = n_steps
            bar.set_description(step)

        report.write(
            arguments.results,
            arguments.folder,
            figures=not arguments.no_figures,
            html=arguments.html,
            readme=arguments.readme,
            on_step=show,
        )
        bar.update()
    print(f"written: {(arguments.folder / 'README.md').resolve()}")


# ------------------------------------------------------------------------------- pack
def _check_files(paths: Sequence[Path]) -> None:
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise SystemExit(f"error: --results must name files, got {', '.join(missing)}")


def _add_pack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, nargs="+", default=[RESULTS], help=_RESULTS_HELP)
    parser.add_argument(
        "--into", type=Path, required=True, help="file .jsonl.xz; what it has stays in it"
    )
    parser.set_defaults(do=_pack)


def _pack(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.results import raw_lines

    if arguments.into.suffix != ".xz":
        raise SystemExit(f"error: --into must end in .jsonl.xz, got {arguments.into}")
    _check_files(arguments.results)
    n_studies = raw_lines.pack([arguments.into, *arguments.results], arguments.into)
    print(f"{n_studies} studies in {arguments.into.resolve()}")


# ------------------------------------------------------------------------------ bench
def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", choices=[*PARTS], help="one part only")
    parser.add_argument(
        "--log", type=Path, default=Path("speed.jsonl"), help="where raw results are appended"
    )
    parser.add_argument(
        "--seeds", type=_at_least(1), default=10, help="studies of each kind of transfer"
    )
    parser.set_defaults(do=_bench)


def _bench(arguments: argparse.Namespace) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name, part in PARTS.items():
        if arguments.only == name or (arguments.only is None and name not in LONG_PARTS):
            part(arguments)
    print(f"\nraw results: {arguments.log.resolve()}")


def _speed(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import speed

    print("\nCPU seconds a suggestion after 200 trials, one thread, the same history")
    _table(_logged(speed.against_gp_sampler(), arguments.log))


def _kernels(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import kernel_speed

    print("\nCPU seconds a suggestion after 200 trials of 25 x 5, by kernel and structure")
    _table(_logged(kernel_speed.structures_against_default(), arguments.log))
    print("\nThe same with numbers: 10 x 5 choices and 5 floats")
    _table(_logged(kernel_speed.structures_with_numbers(), arguments.log))


def _closed_form(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import kernel_speed

    print("\nThe likelihood and its gradient at 200 points: closed form, eigenvectors")
    _table(_logged(kernel_speed.closed_form_against_eigenvectors(), arguments.log))


def _growth(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import speed

    print("\nMedian CPU seconds a suggestion in large studies, and peak memory")
    _table(_logged(speed.growth(), arguments.log))


def _extremes(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import extremes

    print(
        "\nCPU seconds of the first and of later suggestions, one thread, and megabytes for them"
    )
    _table(_logged(extremes.extremes(), arguments.log))


def _cells(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run.cell_regression import cell_regression

    print("\nSpearman's correlation of predicted and true errors of cells")
    _table(_logged(cell_regression(), arguments.log))


def _ax(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import speed

    print("\nCPU seconds a suggestion after the same 100 random arms, one thread")
    _table(_logged(speed.against_ax(), arguments.log))


def _kernel_tuner(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import gpu_tuning

    known = gpu_tuning.read_rows(arguments.log)
    for row in _logged(gpu_tuning.tuning_studies(known), arguments.log):
        print(f"seed {row['seed']}, {row['problem']}, {row['strategy']}", file=sys.stderr)
        known.append(row)
    print("\nBest time in milliseconds after so many configurations, simulated by Kernel Tuner\n")
    for text in gpu_tuning.summary(known):
        print(text)


def _transfer(arguments: argparse.Namespace) -> None:
    from heat_plugins.benchmarks.run import transfer

    known = transfer.known_rows(arguments.log)
    rows = _logged(transfer.transfer(range(arguments.seeds), known=known), arguments.log)
    print("\nBest value with and without earlier studies, mean ± standard error")
    _table(transfer.summary([*known, *rows]))


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "speed": _speed,
    "kernels": _kernels,
    "closed-form": _closed_form,
    "growth": _growth,
    "extremes": _extremes,
    "ax": _ax,
    "cells": _cells,
    "kernel-tuner": _kernel_tuner,
    "transfer": _transfer,
}
# Left out unless asked for: minutes each.
LONG_PARTS = ("kernels", "growth", "extremes", "ax", "cells", "kernel-tuner", "transfer")


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
