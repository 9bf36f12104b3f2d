"""Studies are run, noted, resumed and never repeated."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from heat_plugins.benchmarks.methods.method import Method
from heat_plugins.benchmarks.methods.method_list import METHODS, method_named
from heat_plugins.benchmarks.problems.catalogue import TASKS
from heat_plugins.benchmarks.problems.tasks import (
    Choice,
    Number,
    Params,
    Result,
    Task,
    first_points,
)
from heat_plugins.benchmarks.results import raw_lines
from heat_plugins.benchmarks.results.raw_lines import StudyLine
from heat_plugins.benchmarks.run.plan import PLAN, QUICK, Block, jobs_of
from heat_plugins.benchmarks.run.runner import (
    Failure,
    Job,
    expected_seconds,
    run_jobs,
    run_study,
    to_do,
)

TINY = Task(
    "tiny",
    "three choices and a number",
    (*(Choice(f"c{i}", ("a", "b", "c")) for i in range(3)), Number("x", 0.0, 1.0)),
    lambda p: Result((sum(p[f"c{i}"] != "b" for i in range(3)) + (p["x"] - 0.3) ** 2,)),
)


def a_line(problem: str = "p", method: str = "m", seed: int = 0, **changes: object) -> StudyLine:
    values = {
        "problem": problem,
        "method": method,
        "seed": seed,
        "n_first": 1,
        "scores": [2.0, 1.0],
        "seconds": [0.1, 0.2],
        "n_repeats": 0,
        "versions": {"optuna": "5"},
        "machine": "one",
        "finished": "2026-01-01",
    }
    return StudyLine(**{**values, **changes})


def test_a_study_notes_the_best_so_far_and_the_time_of_each_suggestion() -> None:
    line = run_study(TINY, METHODS["Random"], Job("tiny", "Random", 3, 12, 5))
    assert line.key == ("tiny", "Random", 3)
    assert line.n_trials == len(line.seconds) == 12
    assert line.n_first == 5
    assert line.scores == sorted(line.scores, reverse=True)
    firsts = [TINY.evaluate(params).values[0] for params in first_points(TINY, 5, 3)]
    assert line.scores[:5] == pytest.approx(np.minimum.accumulate(firsts), rel=1e-9)
    assert min(line.seconds) >= 0.0
    assert "optuna" in line.versions and "Python" in line.machine


@pytest.mark.parametrize("name", ["HeatSampler", "TPE"])
def test_the_same_job_gives_the_same_study(name: str) -> None:
    job = Job("tiny", name, 1, 15, 10)
    one, other = (run_study(TINY, METHODS[name], job) for _ in range(2))
    assert one.scores == other.scores


def test_all_methods_of_a_seed_begin_with_the_same_points() -> None:
    lines = [
        run_study(TINY, METHODS[name], Job("tiny", name, 2, 8, 8))
        for name in ("Random", "TPE", "HeatSampler")
    ]
    assert lines[0].scores == lines[1].scores == lines[2].scores
    other = run_study(TINY, METHODS["Random"], Job("tiny", "Random", 3, 8, 8))
    assert other.scores != lines[0].scores


class Recorder:
    """A solver that says what was asked and told, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def ask(self) -> Params:
        self.events.append("ask")
        return {"c0": "a", "c1": "a", "c2": "b", "x": float(len(self.events))}

    def tell(self, params: Params, result: Result) -> None:
        self.events.append("tell")


def test_so_many_are_under_way_at_once_and_all_end() -> None:
    solver = Recorder()
    method = Method("recorder", lambda task, seed: solver, n_workers=3)
    line = run_study(TINY, method, Job("tiny", "recorder", 0, 6, 2))
    assert solver.events == [*["tell"] * 2, *["ask"] * 3, "tell", "ask", *["tell"] * 3]
    assert len(line.scores) == 6


def test_one_that_takes_no_first_points_begins_by_itself() -> None:
    method = Method("recorder", lambda task, seed: Recorder(), takes_first_points=False)
    line = run_study(TINY, method, Job("tiny", "recorder", 0, 3, 2))
    assert line.n_first == 0


def test_what_may_not_be_tried_costs_no_evaluation() -> None:
    """A method that cannot be told what may be tried is asked again, and told of a failure."""
    told: list[Result] = []

    class Counter(Recorder):
        def ask(self) -> Params:
            return {**super().ask(), "x": len(self.events) % 3 / 2}

        def tell(self, params: Params, result: Result) -> None:
            told.append(result)

    task = dataclasses.replace(TINY, is_feasible=lambda params: params["x"] > 0.0)
    method = Method("counter", lambda task, seed: Counter(), takes_first_points=False)
    line = run_study(task, method, Job("tiny", "counter", 0, 6, 0))
    assert [result.has_failed for result in told] == [False, False, True] * 2 + [False, False]
    assert line.n_trials == 6 and line.n_failed == 0


def test_a_method_that_finds_nothing_that_may_be_tried_ends_too() -> None:
    task = dataclasses.replace(
        TINY, is_feasible=lambda params: False, evaluate=lambda params: Result(())
    )
    line = run_study(task, METHODS["Random"], Job("tiny", "Random", 0, 3, 0))
    assert line.n_failed == 3


@pytest.mark.parametrize("name", ["HeatSampler", "heat"])
def test_our_sampler_is_told_what_may_be_tried(name: str) -> None:
    """So it proposes nothing else, and is asked once a trial."""
    asked: list[Params] = []
    task = dataclasses.replace(TINY, is_feasible=lambda params: params["c0"] != params["c1"])
    solver = METHODS[name].start(task, 0)
    for _ in range(12):
        asked.append(solver.ask())
        solver.tell(asked[-1], task.evaluate(asked[-1]))
    assert all(params["c0"] != params["c1"] for params in asked)
    points = first_points(task, 20, 0)
    assert all(params["c0"] != params["c1"] for params in points)


def test_several_objectives_are_scored_by_all_results() -> None:
    task = dataclasses.replace(
        TINY,
        evaluate=lambda p: Result((p["x"], 1.0 - p["x"])),
        score=lambda results: float(len(results)),
        n_objectives=2,
    )
    line = run_study(task, METHODS["Random"], Job("tiny", "Random", 0, 4, 2))
    assert line.scores == [1.0, 2.0, 3.0, 4.0]


# ---------------------------------------------------------------------------- raw lines
def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    lines = [a_line(seed=s, scores=[math.inf, 1.0 / 3.0]) for s in range(3)]
    for line in lines:
        raw_lines.append(path, line)
    assert [*raw_lines.read([path]).values()] == lines


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_compressed_files_are_read_too(tmp_path: Path, suffix: str) -> None:
    import gzip
    import lzma

    plain = tmp_path / "results.jsonl"
    raw_lines.append(plain, a_line())
    pack = gzip.compress if suffix == ".gz" else lzma.compress
    packed = tmp_path / f"results.jsonl{suffix}"
    packed.write_bytes(pack(plain.read_bytes()))
    assert raw_lines.read([packed]) == raw_lines.read([plain])


def test_half_a_line_is_left_alone(tmp_path: Path) -> None:
    """Its writer was killed; what comes after it must not be lost with it."""
    path = tmp_path / "results.jsonl"
    raw_lines.append(path, a_line(seed=0))
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    raw_lines.append(path, a_line(seed=1))
    assert {key[2] for key in raw_lines.read([path])} == {0, 1}


def test_of_two_lines_of_a_study_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for best in (1.0, 0.5):
        raw_lines.append(path, a_line(scores=[best]))
    (line,) = raw_lines.read([path]).values()
    assert line.scores == [0.5]
    assert raw_lines.read([tmp_path / "none.jsonl"]) == {}


# --------------------------------------------------------------------------------- plan
def test_the_plan_knows_its_problems_and_methods() -> None:
    for block in (*PLAN, *QUICK):
        assert set(block.problems) <= set(TASKS)
        assert set(block.methods) <= set(METHODS)


def test_jobs_begin_with_the_first_seed_of_everything() -> None:
    jobs = jobs_of([Block(("a", "b"), ("m",), 2), Block(("a",), ("n",), 1)])
    assert [job.seed for job in jobs] == [0, 0, 0, 1, 1]
    assert len({job.key for job in jobs}) == 5


def test_of_overlapping_blocks_the_longer_study_counts() -> None:
    jobs = jobs_of([Block(("a",), ("m",), 1, 100), Block(("a",), ("m",), 2, 200)])
    assert [(job.seed, job.n_trials) for job in jobs] == [(0, 200), (1, 200)]


def test_a_part_of_the_plan_can_be_chosen() -> None:
    plan = [Block(("a", "b"), ("m", "n"), 3, 200)]
    jobs = jobs_of(plan, problems=["b"], methods=["n"], seeds=[7], n_trials=50)
    assert jobs == [Job("b", "n", 7, 50)]


def test_what_is_done_is_not_done_again_unless_it_is_longer() -> None:
    done = {a_line("p", "m", 0).key: a_line("p", "m", 0)}
    assert to_do([Job("p", "m", 0, 2), Job("p", "m", 1, 2)], done) == [Job("p", "m", 1, 2)]
    assert to_do([Job("p", "m", 0, 3)], done) == [Job("p", "m", 0, 3)]


def test_the_time_a_study_takes_is_judged_by_those_like_it() -> None:
    lines = [a_line("p", "m", seconds=[1.0, 1.0]), a_line("q", "m", seconds=[5.0, 5.0])]
    assert expected_seconds(Job("p", "m", 1, 2), lines) == 2.0
    assert expected_seconds(Job("p", "m", 1, 4), lines) == 8.0
    assert expected_seconds(Job("r", "m", 1, 2), lines) == 6.0
    assert math.isnan(expected_seconds(Job("p", "n", 1, 2), lines))


# ------------------------------------------------------------------------------ command
def run_command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "heat_plugins.benchmarks", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """Whatever has ended is there, once, and the same as in a run that was left alone."""
    arguments = "run --problems ackley --methods Random --seeds 6 --trials 40 --processes 1"
    command = [sys.executable, "-m", "heat_plugins.benchmarks", *arguments.split()]
    path = tmp_path / "results.jsonl"
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while process.poll() is None and not (path.exists() and path.read_text()):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = len(raw_lines.read([path]))
    assert before >= 1
    finished = run_command(*arguments.split(), folder=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert f"{before} of them done" in finished.stderr
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    assert sorted(row["seed"] for row in rows) == [*range(6)]
    alone = run_study(TASKS["ackley"](), METHODS["Random"], Job("ackley", "Random", 4, 40))
    assert raw_lines.read([path])["ackley", "Random", 4].scores == alone.scores


def test_other_processes_append_what_they_ran(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    jobs = [Job("ackley", "Random", seed, 3, 2) for seed in range(3)]
    lines = {line.key: line for line in run_jobs(jobs, path, 2)}
    assert lines == raw_lines.read([path])


def test_names_that_are_not_known_are_named(tmp_path: Path) -> None:
    finished = run_command("run", "--problems", "pets", "--methods", "Random", folder=tmp_path)
    assert finished.returncode == 1
    assert "pets" in finished.stderr and "pest-relocated" in finished.stderr


def test_what_cannot_be_run_is_left_out_with_a_message(capsys, monkeypatch) -> None:
    from heat_plugins.benchmarks import __main__ as command

    absent = dataclasses.replace(METHODS["Random"], package="no_such_package")
    monkeypatch.setitem(METHODS, "absent", absent)
    monkeypatch.delenv("HEAT_PLUGINS_DATA", raising=False)
    jobs = [
        Job("ackley", "absent", 0, 5),
        Job("maxsat", "Random", 0, 5),
        Job("ackley", "NSGA-II", 0, 5),  # has one objective
        Job("ackley", "Random", 0, 5),
    ]
    assert command._possible(jobs) == jobs[-1:]
    printed = capsys.readouterr().err
    assert "no_such_package" in printed and "HEAT_PLUGINS_DATA" in printed
    assert "NSGA-II on ackley is left out: it is for several objectives" in printed


def test_list_names_every_problem_and_method(capsys, monkeypatch, tmp_path) -> None:
    from heat_plugins.benchmarks import __main__ as command

    monkeypatch.delenv("HEAT_PLUGINS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    command.main(["list"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*TASKS, *METHODS))
    assert "HEAT_PLUGINS_DATA" in printed  # says how to get the one that needs a file
    assert "; 0 have been." in printed


def test_packed_lines_are_those_that_went_in_and_what_was_there(tmp_path: Path) -> None:
    """The same studies give the same bytes, whatever their order."""
    first, second, packed = (tmp_path / n for n in ("a.jsonl", "b.jsonl", "packed.jsonl.xz"))
    for seed in (2, 0):
        raw_lines.append(first, a_line(seed=seed))
    assert raw_lines.pack([packed, first], packed) == 2
    raw_lines.append(second, a_line(seed=1))
    raw_lines.append(second, a_line(seed=2, scores=[0.5, 0.4]))
    raw_lines.append(second, a_line(seed=0, scores=[0.1]))  # shorter than what is there
    assert raw_lines.pack([packed, second], packed) == 3
    studies = raw_lines.read([packed])
    assert [key[2] for key in studies] == [0, 1, 2]
    assert studies["p", "m", 2].scores == [0.5, 0.4]
    assert studies["p", "m", 0].scores == [2.0, 1.0]
    before = packed.read_bytes()
    raw_lines.pack([packed], packed)
    assert packed.read_bytes() == before


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    finished = run_command("report", "--results", "none.jsonl", folder=tmp_path)
    assert finished.returncode == 1
    assert "none.jsonl" in finished.stderr


@pytest.mark.parametrize("name", ["matern+sort", "inverse-polynomial", "heat+interactions-3"])
def test_any_kernel_and_structure_is_a_method(name: str) -> None:
    task = TASKS["ackley"]()
    line = run_study(task, method_named(name), Job("ackley", name, 0, 7, 5))
    assert line.n_trials == 7


@pytest.mark.parametrize("name", ["heet", "heat+sorted", "+sort", "TPE+sort", "heat+"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="KERNEL.STRUCTURE.*padded-sort.*got"):
        method_named(name)


def test_a_study_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    bad, good = Job("knapsack", "CatCMAwM", 0, 3), Job("ackley", "Random", 1, 3, 2)
    outcomes = [*run_jobs([bad, good], path)]
    (failure,) = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert failure.job == bad and "constraints" in failure.error
    assert [*raw_lines.read([path])] == [good.key]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--seeds", "0"], "at least 1"),
        (["run", "--trials", "-5"], "at least 1"),
        (["run", "--first-seed", "-1"], "at least 0"),
        (["run", "--methods", "Ax-heat"], "Ax-heat must be in the plan"),
        (["run", "--problems", "knapsack"], "knapsack must be in the plan"),
        (["pack", "--into", "packed.jsonl"], "must end in .jsonl.xz"),
        (["pack", "--into", "packed.jsonl.xz"], "must name files, got results.jsonl"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, capsys, monkeypatch, tmp_path) -> None:
    from heat_plugins.benchmarks import __main__ as command

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as refusal:
        command.main(arguments)
    assert message in f"{refusal.value} {capsys.readouterr().err}"


def test_lines_about_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "speed.jsonl"
    path.write_text('{"kind": "closed-form"}\n')
    with pytest.raises(ValueError, match="speed.jsonl must have a study on each line"):
        raw_lines.read([path])


def test_constraints_and_unlike_parameters_are_refused_in_advance() -> None:
    knapsack, mixed = TASKS["knapsack"](), TASKS["ackley53"]()
    for name in ("SMAC3", "Ax-default", "CatCMAwM", "HEBO"):
        assert METHODS[name].why_not(knapsack) is not None
    for name in ("HeatSampler", "TPE", "GPSampler"):
        assert METHODS[name].why_not(knapsack) is None
    assert METHODS["padded-sort"].why_not(mixed) is not None
    assert METHODS["padded-sort"].why_not(TASKS["ackley"]()) is None
    with pytest.raises(ValueError, match="hed"):
        method_named("hed+sort")
