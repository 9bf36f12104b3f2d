"""Optimisers of other packages take the tasks, learn from points and propose legal ones."""

import gc
import math
import sys
import tempfile
import warnings
from functools import partial, partialmethod
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from gpytorch.settings import cholesky_jitter
from needs import need

from heat_plugins.benchmarks.methods import method as method_module
from heat_plugins.benchmarks.methods.method import Solver
from heat_plugins.benchmarks.methods.method_list import METHODS
from heat_plugins.benchmarks.methods.peers import Asked, fixed_values, only_value
from heat_plugins.benchmarks.problems.tasks import (
    Choice,
    Number,
    Parameter,
    Params,
    Result,
    Task,
    first_points,
)

WORDS = ("a", "b", "c")
CATEGORICAL = Task(
    "categorical",
    "how many of four choices are wrong",
    tuple(Choice(f"c{i}", WORDS) for i in range(4)),
    lambda p: Result((sum(p[f"c{i}"] != WORDS[i % 3] for i in range(4)) - 1.0,)),
)
MIXED = Task(
    "mixed",
    "choices of several types, and numbers of all kinds",
    (
        Choice("kind", (None, 2.5, True, "word")),
        Choice("only", ("one",)),
        Number("rate", 1e-5, 1e-1, log=True),
        Number("shift", -2.0, 3.0),
        Number("width", 1, 300, log=True, integer=True),
        Number("steps", -3, 7, integer=True),
        Number("flag", 0, 1, integer=True),
    ),
    lambda p: Result(
        (
            (p["kind"] != 2.5)
            + abs(math.log10(p["rate"]) + 3)
            + p["shift"] ** 2
            + abs(math.log(p["width"] / 20))
            + abs(p["steps"] - 2)
            + p["flag"],
        )
    ),
)
CONDITIONAL = Task(
    "conditional",
    "parameters that exist under some choices, and under two at once",
    (
        Choice("model", ("svm", "tree", "forest")),
        Number("c", 1e-3, 1e3, log=True, when={"model": ("svm",)}),
        Choice("kernel", ("rbf", "poly"), when={"model": ("svm",)}),
        Number("degree", 2, 5, integer=True, when={"model": ("svm",), "kernel": ("poly",)}),
        Number("depth", 1, 20, integer=True, when={"model": ("tree", "forest")}),
    ),
    lambda p: Result((abs(p.get("depth", 25) - 4.0) + (p["model"] != "tree"),)),
)
CONSTRAINED = Result((1.0,), (0.5,))


class Peer(NamedTuple):
    """How many suggestions of a peer the tests can afford."""

    categorical: int
    mixed: int
    solves: bool = True  # with so many it must have found the best of the categorical task


PEERS = {
    "CatCMAwM": Peer(200, 200),
    "SMAC3": Peer(71, 2),  # nothing comes twice, so that these are all there are
    "Ax-default": Peer(1, 1, solves=False),
    "Ax-mixed": Peer(8, 1),
    "HEBO": Peer(1, 1, solves=False),
    "HEBO-adam": Peer(1, 1, solves=False),
}
LEARNERS = [name for name in PEERS if METHODS[name].takes_first_points]


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let peers look at few candidates: it is not their quality that is tested."""
    if find_spec("smac"):
        from smac import HyperparameterOptimizationFacade as Facade
        from smac.model.random_forest import RandomForest

        # It makes room for a million leaves, which takes longer than the rest.
        small = partialmethod(RandomForest.__init__, max_leaf_nodes=100)
        monkeypatch.setattr(RandomForest, "__init__", small)
        fewer = partial(Facade.get_acquisition_maximizer, challengers=300)
        monkeypatch.setattr(Facade, "get_acquisition_maximizer", staticmethod(fewer))
    if find_spec("hebo"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from hebo.optimizers import hebo

        search, model = hebo.EvolutionOpt, hebo.get_model
        few, short = {"pop": 20, "iters": 5}, {"num_epochs": 20}
        monkeypatch.setattr(hebo, "EvolutionOpt", lambda *args, **kw: search(*args, **kw | few))
        monkeypatch.setattr(hebo, "get_model", lambda *args, **kw: model(*args, **kw | short))


def start(name: str, task: Task, seed: int = 0) -> Solver:
    """Start a peer, or skip the test; one that `make venv` installs may have to be there."""
    method = METHODS[name]
    if method.package == "hebo":
        pytest.importorskip("hebo", reason=method.how_to_install, exc_type=ImportError)
    need(method.package)
    assert method.why_not(task) is None
    return method.start(task, seed)


def give(solver: Solver, task: Task, n: int) -> list[Params]:
    """Tell points that were not asked for, all of them distinct and none the best."""
    drawn = {tuple(params.items()): params for params in first_points(task, 2 * n, seed=3)}
    given = list(drawn.values())[:n]
    assert len(given) == n
    for params in given:
        solver.tell(params, task.evaluate(params))
    return given


def play(solver: Solver, task: Task, n: int, until: float = -math.inf) -> list[Params]:
    """Ask and tell so often, or until a value is reached."""
    asked: list[Params] = []
    while len(asked) < n and best(task, asked) > until:
        asked.append(solver.ask())
        solver.tell(asked[-1], task.evaluate(asked[-1]))
    return asked


def best(task: Task, points: list[Params]) -> float:
    return min((task.evaluate(params).values[0] for params in points), default=math.inf)


def is_legal(parameter: Parameter, value: object) -> bool:
    if isinstance(parameter, Choice):
        return any(value is choice or value == choice for choice in parameter.choices)
    kind = int if parameter.integer else float
    return type(value) is kind and parameter.low <= value <= parameter.high


def assert_legal(task: Task, params: Params) -> None:
    expected = [
        p.name
        for p in task.parameters
        if all(params.get(name) in values for name, values in p.when.items())
    ]
    assert list(params) == expected
    assert all(is_legal(p, params[p.name]) for p in task.parameters if p.name in params), params


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_solves_a_categorical_task_and_repeats_with_the_seed(name: str) -> None:
    solver = start(name, CATEGORICAL, seed=3)
    given = give(solver, CATEGORICAL, 10)
    assert best(CATEGORICAL, given) > -1.0
    asked = play(solver, CATEGORICAL, PEERS[name].categorical, until=-1.0)
    for params in asked:
        assert_legal(CATEGORICAL, params)
    assert best(CATEGORICAL, asked) == -1.0 or not PEERS[name].solves

    again = start(name, CATEGORICAL, seed=3)
    give(again, CATEGORICAL, 10)
    assert play(again, CATEGORICAL, 1) == asked[:1]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_proposes_numbers_and_choices_of_all_kinds(name: str) -> None:
    solver = start(name, MIXED)
    given = give(solver, MIXED, 9)
    asked = play(solver, MIXED, PEERS[name].mixed)
    for params in asked:
        assert_legal(MIXED, params)
    if name == "CatCMAwM":  # of the others a longer run would be needed
        assert best(MIXED, asked) < min(1.5, best(MIXED, given))


def number_of_points(name: str, solver: Solver) -> int:
    """How many results a peer has in its own records."""
    if name == "SMAC3":
        return int(solver._facade.runhistory.finished)
    if name.startswith("Ax"):
        trials = solver._client._experiment.trials.values()
        return sum(trial.completed_successfully for trial in trials)
    return len(solver._hebo.X)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_peer_keeps_points_that_it_has_not_asked_for(name: str) -> None:
    solver = start(name, MIXED)
    give(solver, MIXED, 7)
    assert number_of_points(name, solver) == 7


def test_catcma_ignores_points_that_it_has_not_asked_for() -> None:
    with_others, alone = start("CatCMAwM", MIXED), start("CatCMAwM", MIXED)
    give(with_others, MIXED, 30)
    assert play(with_others, MIXED, 30) == play(alone, MIXED, 30)


def test_catcma_learns_as_soon_as_a_population_is_complete() -> None:
    solver = start("CatCMAwM", CATEGORICAL)
    size = solver._strategy.population_size
    under_way = [solver.ask() for _ in range(size)]  # told in another order than asked for
    for params in under_way[:0:-1]:
        solver.tell(params, CATEGORICAL.evaluate(params))
    assert solver._strategy.generation == 0
    solver.tell(under_way[0], CATEGORICAL.evaluate(under_way[0]))
    assert solver._strategy.generation == 1


def test_smac_takes_parameters_that_depend_on_others() -> None:
    solver = start("SMAC3", CONDITIONAL)
    given = give(solver, CONDITIONAL, 10)
    assert {len(params) for params in given} == {2, 3, 4}
    asked = play(solver, CONDITIONAL, 48, until=1.0)
    for params in asked:
        assert_legal(CONDITIONAL, params)
    assert best(CONDITIONAL, asked) <= 1.0


def test_smac_has_no_more_than_one_result_of_a_point() -> None:
    """In a deterministic scenario it must not try the best again to be sure of it."""
    solver = start("SMAC3", CATEGORICAL)
    points = give(solver, CATEGORICAL, 8) + play(solver, CATEGORICAL, 5)
    assert len({tuple(params.values()) for params in points}) == len(points)


def test_smac_leaves_no_files_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    solver = start("SMAC3", CATEGORICAL)
    give(solver, CATEGORICAL, 2)
    assert [path.name.startswith("smac-") for path in tmp_path.iterdir()] == [True]
    del solver
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SMAC3", "Ax-mixed"])
def test_an_exhausted_space_does_not_end_a_study(name: str) -> None:
    task = Task(
        "four",
        "four points in all",
        (Choice("a", (0, 1)), Choice("b", (0, 1))),
        lambda p: Result((float(p["a"] + p["b"]),)),
    )
    solver = start(name, task)
    for a in (0, 1):
        for b in (0, 1):
            solver.tell({"a": a, "b": b}, task.evaluate({"a": a, "b": b}))
    for params in play(solver, task, 2):
        assert_legal(task, params)


@pytest.mark.parametrize("name", ["SMAC3", "Ax-mixed"])
def test_several_suggestions_may_be_under_way(name: str) -> None:
    solver = start(name, CATEGORICAL)
    give(solver, CATEGORICAL, 6)
    first, second = solver.ask(), solver.ask()
    assert first != second
    for params in (second, first):
        solver.tell(params, CATEGORICAL.evaluate(params))
    assert number_of_points(name, solver) == 8


def test_hebo_leaves_everything_as_it_was() -> None:
    solver = start("HEBO", CATEGORICAL)
    give(solver, CATEGORICAL, 6)
    from hebo.acq_optimizers import evolution_optimizer

    np.random.seed(5)
    torch.manual_seed(5)
    before = (
        np.random.get_state()[1].tolist(),
        torch.random.get_rng_state().tolist(),
        cholesky_jitter.value(torch.float32),
        cholesky_jitter.value(torch.float64),
        evolution_optimizer.minimize,
    )
    solver.ask()
    after = (
        np.random.get_state()[1].tolist(),
        torch.random.get_rng_state().tolist(),
        cholesky_jitter.value(torch.float32),
        cholesky_jitter.value(torch.float64),
        evolution_optimizer.minimize,
    )
    assert before == after


def test_hebo_counts_suggestions_that_come_from_no_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = start("HEBO", CATEGORICAL)
    (params,) = give(solver, CATEGORICAL, 1)
    suggest = solver._hebo.suggest

    def without_model(**arguments: int) -> object:
        print("jitter is too large, output random predictions")
        return suggest(**arguments)

    solver.ask()
    assert solver.n_random_predictions == 0
    monkeypatch.setattr(solver._hebo, "suggest", without_model)
    solver.ask()
    assert solver.n_random_predictions == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", PEERS)
def test_peers_say_what_they_cannot_do(name: str) -> None:
    two = Task("two", "", CATEGORICAL.parameters, lambda p: Result((0.0, 1.0)), n_objectives=2)
    assert "one objective" in str(METHODS[name].why_not(two))
    refusal = METHODS[name].why_not(CONDITIONAL)
    assert refusal is None if name == "SMAC3" else "depend on others" in str(refusal)


@pytest.mark.parametrize("name", PEERS)
def test_constraints_are_refused_and_not_lost(name: str) -> None:
    solver = start(name, CATEGORICAL)
    with pytest.raises(ValueError, match="no constraints; got 1 values and 1 constraints"):
        solver.tell(first_points(CATEGORICAL, 1, 0)[0], CONSTRAINED)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("CatCMAwM", r"pip install 'heat-plugins\[peers\]'"),
        ("SMAC3", r"pip install 'heat-plugins\[peers\]'"),
        ("Ax-default", r"pip install 'heat-plugins\[ax\]'"),
        ("Ax-mixed", r"pip install 'heat-plugins\[ax\]'"),
        ("HEBO", "make peers"),
        ("GPSampler", r"pip install 'heat-plugins\[torch\]'"),
    ],
)
def test_a_missing_package_is_answered_with_the_command_that_installs_it(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = METHODS[name]
    monkeypatch.setattr(method_module, "find_spec", lambda package: None)
    assert not method.is_installed
    assert command.replace("\\", "") in method.how_to_install
    for module in [m for m in sys.modules if m.partition(".")[0] == method.package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, method.package, None)
    with pytest.raises(ImportError, match=f"needs the package .*{command}"):
        method.start(CATEGORICAL, 0)


def test_what_was_asked_for_is_told_by_identity() -> None:
    asked: Asked[str] = Asked()
    one, same = {"a": 1}, {"a": 1}
    asked.add(one, "first")
    asked.add(same, "second")
    assert asked.pop({"a": 1}) is None
    assert asked.pop(same) == "second"
    assert asked.pop(same) is None
    assert asked.pop(one) == "first"


def test_values_that_cannot_change_are_known() -> None:
    assert fixed_values(MIXED) == {"only": "one"}
    numbers = (Number("i", 2, 2, integer=True), Number("x", 0.5, 0.5), Number("y", 0.0, 1.0))
    fixed = fixed_values(Task("t", "", numbers, lambda p: Result((0.0,))))
    assert fixed == {"i": 2, "x": 0.5}
    assert type(fixed["i"]) is int
    assert only_value(Result((2,))) == 2.0
