"""Comparisons of samplers on a small scale, and that their tasks are what they say."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import Trial

from heat_plugins.benchmarks import __main__ as command
from heat_plugins.benchmarks import comparisons, conditional, constrained, objectives, parallel
from heat_plugins.benchmarks.comparisons import (
    Comparison,
    Contender,
    Result,
    Standing,
    Task,
    _first_points,
    _results,
    _standing,
    ask_for_codes,
    best_feasible,
    codes_of,
    jobs_of,
    summary,
)
from heat_plugins.benchmarks.problems import PROBLEMS
from heat_plugins.optuna import HeatSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)

ALL = [conditional.CONDITIONAL, objectives.OBJECTIVES, parallel.PARALLEL, constrained.CONSTRAINED]
TASKS = [(c, name) for c in ALL for name in c.tasks]


def _count() -> Task:
    return Task(
        "how many of 12 codes are not zero",
        30,
        ask_for_codes((3,) * 12),
        lambda params: Result((float(np.sum(codes_of(params) != 0)),)),
        best_known=0.0,
    )


COUNT = Comparison(
    "count",
    "best value",
    {"count": _count},
    {
        "HeatSampler": Contender(HeatSampler),
        "RandomSampler": Contender(RandomSampler),
        "RandomSampler, 4 workers": Contender(RandomSampler, n_workers=4),
    },
)


@pytest.mark.parametrize(("comparison", "name"), TASKS)
def test_every_task_has_finite_results_that_repeat(comparison: Comparison, name: str) -> None:
    task = comparison.tasks[name]()
    points = _first_points(task, 12, 0)
    results = [task.evaluate(params) for params in points]
    assert [task.evaluate(params) for params in points] == results
    assert np.all(np.isfinite([[*r.values, *r.constraints] for r in results]))
    assert {len(r.values) for r in results} == {task.n_objectives}
    if task.best_known is not None:
        assert task.best_known < task.score(results)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("comparison", ALL, ids=lambda c: c.name)
def test_every_contender_can_be_made_of_a_seed(comparison: Comparison) -> None:
    for contender in comparison.contenders.values():
        contender.make(seed=0)
    assert [*comparison.contenders][0] == "HeatSampler"


def test_all_contenders_of_a_seed_begin_with_the_same_points() -> None:
    heat, random, four = (_standing((COUNT, "count", name, 5)) for name in COUNT.contenders)
    assert heat.curve[0] == random.curve[0] == four.curve[0]
    assert heat.score < random.score
    assert random.n_repeats == 0  # its own points are not the first ones again
    assert [heat.n_trials, len(heat.curve), heat.curve[-1]] == [30, 3, heat.score]
    assert heat.cpu_seconds > 0.0


def test_a_study_repeats() -> None:
    first, again = (_standing((COUNT, "count", "HeatSampler", 1)) for _ in range(2))
    assert replace(first, cpu_seconds=0.0) == replace(again, cpu_seconds=0.0)


def test_so_many_trials_run_at_once() -> None:
    task = _count()
    running = []

    def evaluate(params: dict[str, int]) -> Result:
        states = [trial.state for trial in study.trials]
        running.append(states.count(optuna.trial.TrialState.RUNNING))
        return task.evaluate(params)

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    results, seconds = _results(study, replace(task, evaluate=evaluate, n_trials=9), 4)
    assert running == [4, 4, 4, 4, 4, 4, 3, 2, 1]
    assert len(results) == len(seconds) == 9


@pytest.mark.skipif(not hasattr(Trial, "set_constraint"), reason="new in Optuna 5")
def test_constraints_reach_the_trials() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    results, _ = _results(study, replace(constrained.letters(), n_trials=3), 1)
    for trial, result in zip(study.trials, results, strict=True):
        assert (trial.value,) == result.values
        assert tuple(trial.constraints.values()) == result.constraints


def test_the_best_feasible_value_is_infinite_where_nothing_is_feasible() -> None:
    results = [Result((1.0,), (0.5,)), Result((2.0,), (0.0, -1.0)), Result((3.0,), (-1.0,))]
    assert best_feasible(results) == 2.0
    assert best_feasible(results[:1]) == math.inf


def _standing_of(sampler: str, seed: int, score: float) -> Standing:
    return Standing("count", "count", sampler, seed, 30, score, (score,), 0, 0.1)


def test_differences_are_taken_within_the_seeds_that_both_have_run() -> None:
    results = [_standing_of("HeatSampler", seed, float(seed)) for seed in range(3)]
    results += [_standing_of("RandomSampler", 1, 4.0), _standing_of("RandomSampler", 2, 1.0)]
    heat, random = summary(COUNT, results)
    assert (heat["best value"], heat["seeds"], heat["HeatSampler ahead by"]) == (
        "1 ± 0.58",
        "3",
        "",
    )
    assert (random["HeatSampler ahead by"], random["in seeds"]) == ("1 ± 2", "1 of 2")
    _, opposite = summary(replace(COUNT, larger_is_better=True), results)
    assert (opposite["HeatSampler ahead by"], opposite["in seeds"]) == ("-1 ± 2", "1 of 2")


def test_equal_scores_are_not_ahead() -> None:
    results = [_standing_of(name, 0, 1.0) for name in ("HeatSampler", "RandomSampler")]
    assert [row["in seeds"] for row in summary(COUNT, results)] == ["", "0 of 1, 1 equal"]


def test_what_the_log_has_is_not_run_again(tmp_path, capsys, monkeypatch) -> None:
    log = tmp_path / "bench.jsonl"
    log.write_text('{"problem": "of another part"}\n')
    asked = []

    def run(jobs: list[comparisons.Job], n_processes: int) -> list[Standing]:
        asked.append([job[1:] for job in jobs])
        return [Standing("parallel", *job[1:], 200, -4.0, (-4.0,), 0, 0.1) for job in jobs]

    monkeypatch.setattr(comparisons, "run", run)
    monkeypatch.setattr(command, "_progress", lambda rows, total: rows)
    line = ["bench", "--only", "parallel", "--problems", "labs", "--log", str(log), "--resume"]
    for n_seeds in ("1", "2"):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *line, "--seeds", n_seeds])
        command.main()
    contenders = [*parallel.PARALLEL.contenders]
    assert asked == [[("labs", name, seed) for name in contenders] for seed in (0, 1)]
    assert len([json.loads(row) for row in log.read_text().splitlines()]) == 1 + 6
    assert "| labs | 4.17 | 4.17 | 4.17 | yes |" in capsys.readouterr().out


def test_a_name_that_is_not_known_is_named(monkeypatch) -> None:
    line = ["benchmarks", "bench", "--only", "constrained", "--samplers", "Sampler"]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit, match="HeatSampler.*got Sampler"):
        command.main()


def test_other_processes_find_the_tasks() -> None:
    random = replace(parallel.PARALLEL, contenders={"RandomSampler": Contender(RandomSampler)})
    (standing,) = comparisons.run(jobs_of(random, ["pest"], ["RandomSampler"], [0]))
    assert standing.key == ("parallel", "pest", "RandomSampler", 0)


def test_four_workers_may_leave_a_tenth_more_regret_or_less_than_the_others() -> None:
    best_known = PROBLEMS["labs"]().best_known
    assert best_known is not None

    def reached(*regrets: float) -> str:
        results = [
            Standing("parallel", "labs", name, 0, 200, best_known + regret, (), 0, 0.1)
            for name, regret in zip(parallel.PARALLEL.contenders, regrets, strict=True)
        ]
        (row,) = parallel.bars(results)
        return str(row["reached"])

    assert [reached(1.0, 1.05, 1.0), reached(1.0, 1.2, 1.3)] == ["yes", "yes"]
    assert reached(1.0, 1.2, 1.1) == "no"


# ----------------------------------------------------------------------------- tasks
def test_the_best_load_is_that_of_all_loads() -> None:
    rng = np.random.default_rng(0)
    weights, worth = rng.integers(1, 9, (2, 4, 3))
    loads = np.stack(np.meshgrid(*[np.arange(3)] * 4), axis=-1).reshape(-1, 4)
    places = np.arange(4)
    light = weights[places, loads].sum(axis=1) <= 15
    best = worth[places, loads].sum(axis=1)[light].max()
    assert constrained._most_worth(weights, worth, 15) == best


@pytest.mark.parametrize("make", [constrained.knapsack, constrained.letters])
def test_about_a_tenth_of_all_points_is_feasible(make) -> None:
    task = make()
    results = [task.evaluate(params) for params in _first_points(task, 400, 0)]
    assert 0.05 < np.mean([all(c <= 0.0 for c in r.constraints) for r in results]) < 0.15


def test_the_error_of_features_is_that_of_the_best_linear_prediction() -> None:
    """Least squares on many drawn rows leave the same variance."""
    n, n_factors = 6, 3
    rng = np.random.default_rng([4, n])
    loadings = rng.standard_normal((n, n_factors)) * (rng.random((n, n_factors)) < 0.4)
    effects = rng.standard_normal(n_factors)
    noise = np.sqrt(rng.uniform(0.2, 2.0, n))
    factors = rng.standard_normal((100_000, n_factors))
    rows = factors @ loadings.T + noise * rng.standard_normal((100_000, n))
    target = factors @ effects
    used = [0, 2, 3]
    weights = np.linalg.lstsq(rows[:, used], target, rcond=None)[0]
    expected = np.mean((target - rows[:, used] @ weights) ** 2) / np.mean(target**2)
    params = {f"x{i}": int(i in used) for i in range(n)}
    error, share = objectives.features(n, n_factors, 4).evaluate(params).values
    assert error == pytest.approx(expected, rel=0.02)
    assert share == 0.5
    nothing = objectives.features(n, n_factors, 4).evaluate(dict.fromkeys(params, 0))
    assert nothing.values == (1.0, 0.0)


def test_hypervolume_is_a_share_of_the_unit_box() -> None:
    corners = [Result((0.5, 0.0)), Result((0.0, 0.5)), Result((2.0, -1.0))]
    assert objectives.share_of_hypervolume(corners) == pytest.approx(0.75)


def test_the_tree_is_as_published() -> None:
    task = conditional.tree()
    assert task.evaluate({"x1": 0, "r8": 0.0, "x2": 0, "x4": 0.0}).values == (0.1,)
    assert task.evaluate({"x1": 1, "r9": 0.5, "x3": 1, "x7": -1.0}).values == (1.9,)
    names = {frozenset(params) for params in _first_points(task, 50, 0)}
    assert len(names) == 4


def test_no_method_is_better_than_the_best_known() -> None:
    """Improve one parameter after the other: effects add up, so that this ends at the best."""
    task = conditional.methods()
    ends = []
    for method in range(conditional.N_METHODS):
        params = next(p for p in _first_points(task, 99, 0) if p["method"] == method)
        params |= {f"refined_{method}": True, f"rounds_{method}": 1}
        for name in params.keys() - {"method", f"refined_{method}"}:
            options = np.arange(conditional.N_CHOICES).tolist()
            if name.startswith("level"):
                options = np.linspace(0.0, 1.0, 2001).tolist()
            elif name.startswith("rounds"):
                options = [*range(1, 9)]
            params[name] = min(options, key=lambda o: task.evaluate(params | {name: o}).values)  # noqa: B023
        ends.append(task.evaluate(params).values[0])
    assert min(ends) == pytest.approx(task.best_known, abs=1e-5)


def test_every_model_of_the_pipeline_is_tried() -> None:
    points = _first_points(conditional.pipeline(), 60, 0)
    assert {params["model"] for params in points} == {*conditional._MODELS}
    assert {params["reduction"] for params in points} == {"none", "best", "pca"}
    assert {params["scaler"] for params in points} == {"none", "standard", "minmax", "quantile"}
