"""Parameters that exist under some choices only: the model learns when, and chooses them."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from small_search import quick_sampler

from heat_plugins import HeatSampler
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

Objective = Callable[[optuna.Trial], float]


class Watched(HeatSampler):
    """Notes which values the model did not choose: trial and parameter."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.independent: list[tuple[int, str]] = []

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        self.independent.append((trial.number, name))
        return super().sample_independent(study, trial, name, distribution)


def expected(trial: FrozenTrial) -> set[str]:
    """Return the parameters that the model expected a trial to ask for."""
    return set(trial.system_attrs.get("heat_plugins:asked", {"point": {}})["point"])


def pipeline(trial: optuna.Trial) -> float:
    """Branches with conditions inside them; the best support vector machine is the best."""
    shrink = trial.suggest_categorical("shrink", (False, True))
    model = trial.suggest_categorical("model", ("forest", "svm", "linear"))
    if model == "forest":
        return 0.5 + abs(trial.suggest_int("trees", 10, 500, log=True) - 100) / 500 + shrink
    if model == "linear":
        return 0.7 + trial.suggest_float("penalty", 0.0, 1.0)
    cost = trial.suggest_float("cost", 1e-3, 1e3, log=True)
    loss = 0.2 * abs(math.log10(cost) - 1.0) + 0.2 * shrink
    if trial.suggest_categorical("kernel", ("linear", "rbf")) == "rbf":
        return loss + 0.3 * abs(math.log10(trial.suggest_float("gamma", 1e-4, 1.0, log=True)) + 2)
    return loss + 0.4


def layers(trial: optuna.Trial) -> float:
    """As many parameters as another one says."""
    n_layers = trial.suggest_int("n_layers", 1, 4)
    units = [trial.suggest_int(f"units_{i}", 4, 64) for i in range(n_layers)]
    return abs(n_layers - 2) + sum(abs(u - 32) for u in units) / 60


def branches(trial: optuna.Trial) -> float:
    """Two branches, each with an optimum of its own."""
    if trial.suggest_categorical("branch", ("left", "right")) == "left":
        return abs(trial.suggest_float("left", 0.0, 1.0) - 0.8)
    return 0.05 + abs(trial.suggest_float("right", 0.0, 10.0) - 2.0) / 10.0


OBJECTIVES: dict[str, Objective] = {"pipeline": pipeline, "layers": layers, "branches": branches}
EVERY_OBJECTIVE = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)


@EVERY_OBJECTIVE
@pytest.mark.parametrize(("n_startup_trials", "n_trials"), [(0, 10), (10, 30)])
def test_every_parameter_comes_from_the_model_once_it_was_seen(
    objective: Objective, n_startup_trials: int, n_trials: int
) -> None:
    sampler = Watched(seed=1, n_startup_trials=n_startup_trials)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    seen: set[str] = set()
    for trial in study.trials:
        new = {name for number, name in sampler.independent if number == trial.number}
        assert new == trial.params.keys() - seen
        seen |= trial.params.keys()
    # Not only are there values for whatever is asked for: the model knew what would be.
    assert all(expected(trial) == trial.params.keys() for trial in study.trials[20:])


def test_the_best_of_the_best_branch_is_found() -> None:
    study = optuna.create_study(
        direction="maximize", sampler=HeatSampler(seed=0, deterministic_objective=True)
    )
    study.optimize(lambda trial: -pipeline(trial), n_trials=40)
    assert study.best_params["model"] == "svm" and study.best_params["kernel"] == "rbf"
    assert study.best_value > -0.15


def test_each_branch_has_an_optimum_of_its_own() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))
    study.optimize(branches, n_trials=30)
    best = {
        side: min(t.value for t in study.trials if side in t.params) for side in ("left", "right")
    }
    assert best["left"] < 0.02
    assert best["right"] < 0.25  # looked into as well, and left where it is


def test_the_number_of_parameters_is_optimised_together_with_them() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))
    study.optimize(layers, n_trials=40)
    assert study.best_params["n_layers"] == 2
    assert study.best_value < 0.25


def test_a_name_may_be_used_in_several_branches_with_different_ranges() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=4, warn_independent_sampling=False)
    )

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("branch", ("a", "b")) == "a":
            rate = trial.suggest_float("rate", 0.0, 1.0)
            assert 0.0 <= rate <= 1.0
            return rate
        rate = trial.suggest_float("rate", 10.0, 20.0)
        assert 10.0 <= rate <= 20.0
        return rate - 10.0 + trial.suggest_float("momentum", 0.0, 1.0)

    study.optimize(objective, n_trials=16)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert study.best_value < 0.2


def test_a_study_of_branches_is_explained() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(branches, n_trials=40)
    found = HeatSampler(seed=0, deterministic_objective=True).explain(study)
    assert set(found.effects) == {"branch", "left", "right"}
    left = dict(found.effects["left"])
    assert min(left, key=lambda place: left[place]) == pytest.approx(0.8, abs=0.11)
    right = dict(found.effects["right"])
    assert min(right, key=lambda place: right[place]) == pytest.approx(2.0, abs=1.1)
    assert "left" in str(found)


# ------------------------------------------------------------------------ finite spaces
def finite(trial: optuna.Trial) -> float:
    """Seventeen points: five, two times four, and four."""
    branch = trial.suggest_categorical("branch", ("a", "b", "c"))
    if branch == "a":
        return float(trial.suggest_int("of_a", 0, 4))
    if branch == "b":
        solver = trial.suggest_categorical("solver", ("sgd", "adam"))
        return trial.suggest_float("rate", 0.1, 0.4, step=0.1) + (solver == "sgd")
    return 9.0 + trial.suggest_categorical("of_c", (0, 1, 2, 3))


def distinct(study: optuna.Study) -> set[tuple[tuple[str, Any], ...]]:
    return {tuple(sorted(trial.params.items())) for trial in study.trials}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_startup_trials", [3, 30])
def test_no_point_of_a_finite_space_is_repeated_while_another_is_left(
    seed: int, n_startup_trials: int
) -> None:
    sampler = HeatSampler(seed=seed, n_startup_trials=n_startup_trials)
    study = optuna.create_study(sampler=sampler)
    study.optimize(finite, n_trials=17)
    assert len(distinct(study)) == 17
    study.optimize(finite, n_trials=2)  # then points are repeated
    assert len(study.trials) == 19 and len(distinct(study)) == 17


def test_running_trials_of_a_finite_space_are_not_repeated_either() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(finite, n_trials=9)
    for _ in range(8):
        finite(study.ask())
    assert len(distinct(study)) == 17


# ----------------------------------------------------------- kernels, structures, notices
NAMES = ["x0", "x1", "x2"]


def with_everything(trial: optuna.Trial) -> float:
    """Parameters of all kinds, each kind once for every trial and once for some."""
    letters = [trial.suggest_categorical(name, ("a", "b", "c")) for name in NAMES]
    size = trial.suggest_categorical("size", ("s", "m", "l"))
    value = letters.count("a") + (size != "m") + trial.suggest_float("rate", 0.0, 1.0)
    if size == "s":
        value += trial.suggest_categorical("y0", ("a", "b", "c")) == "a"
        value += trial.suggest_categorical("y1", ("a", "b", "c")) == "a"
    if size != "m":
        value += trial.suggest_float("late_rate", 0.0, 1.0)
        value += abs(math.log(trial.suggest_categorical("batch", (8, 64, 512)) / 64))
    return value


ARGUMENTS: dict[str, dict[str, Any]] = {
    **{kernel: {"kernel": kernel} for kernel in kernels_without_graph()},
    "function": {"kernel": lambda r: np.exp(-r)},
    "isotropic": {"ard": False},
    "sum": {"mixing": "sum"},
    "mixture": {"mixing": "mixture"},
    "padded sort": {"structure": PermutationInvariant(NAMES)},
    "group sum": {"structure": PermutationInvariant(NAMES, "sum")},
    "rotations": {"structure": PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 0]])},
    "additive": {"structure": Additive()},
    "interactions": {"structure": InteractionOrders(2)},
    "plain interactions": {"structure": InteractionOrders(2, orthogonal=False)},
    "decomposition": {"structure": RandomDecomposition()},
    "anchors": {"structure": Anchors(({"x0": "a", "x1": "a"}, {"size": "m"}))},
    "auto": {"structure": "auto"},
    "graphs": {"kernel": "combo", "graphs": {"x0": "cycle"}, "order": {"size": ["s", "m", "l"]}},
    "heat on graphs": {"graphs": {"x0": "path"}, "order": {"size": ["s", "m", "l"]}},
}


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_every_kernel_and_structure_runs_on_branches(
    arguments: dict[str, Any], optuna_log: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=quick_sampler(seed=0, n_startup_trials=5, **arguments))
    study.optimize(with_everything, n_trials=9)
    assert len(distinct(study)) == 9
    regions = [trial.system_attrs["heat_plugins:asked"]["region"] for trial in study.trials[5:]]
    assert regions == [0, 0, 0, 0]
    assert min(t.value for t in study.trials[5:]) < np.mean([t.value for t in study.trials[:5]])
    assert not optuna_log.records
    found = HeatSampler(seed=0, **arguments).explain(study)
    assert found.effects.keys() == {name for trial in study.trials for name in trial.params}
    assert all(np.isfinite(effect) for rows in found.effects.values() for _, effect in rows)


ABOUT_SOME: dict[str, tuple[dict[str, Any], set[str]]] = {
    "graphs": ({"graphs": {"y0": "path", "x0": "path"}}, {"y0"}),
    "combo": ({"kernel": "combo", "graphs": {"y0": "cycle"}}, {"y0"}),
    "order": ({"order": {"y0": ["a", "b", "c"], "size": ["s", "m", "l"]}}, {"y0"}),
    "quantitative": ({"quantitative": {"batch": "log"}}, {"batch"}),
    "group": ({"structure": PermutationInvariant(["y0", "y1"])}, {"y0", "y1"}),
    "group of both": ({"structure": PermutationInvariant(["x0", "x1", "y0"])}, {"y0"}),
    "rotations": (
        {"structure": PermutationInvariant(["x0", "x1", "y1"], "sum", permutations=[[1, 2, 0]])},
        {"y1"},
    ),
    "anchors": ({"structure": Anchors(({"x0": "a", "y0": "a"}, {"size": "m"}))}, {"y0"}),
}


@pytest.mark.parametrize(("arguments", "names"), ABOUT_SOME.values(), ids=ABOUT_SOME)
def test_structure_of_what_does_not_always_exist_is_warned_of_once_and_left_out(
    arguments: dict[str, Any],
    names: set[str],
    optuna_log: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    study = optuna.create_study(
        # Where other workers may be: points are compared with theirs.
        storage=JournalStorage(JournalFileBackend(str(tmp_path / "study.log"))),
        sampler=quick_sampler(seed=0, n_startup_trials=4, **arguments),
    )
    for size in ("s", "m", "l"):
        study.enqueue_trial({"size": size})
    study.optimize(with_everything, n_trials=8)
    assert len(distinct(study)) == 8
    said = [r.getMessage() for r in optuna_log.records if "has no effect" in r.getMessage()]
    assert len(said) == len(names)
    for name in names:
        assert sum(f"'{name}'" in message for message in said) == 1


# ------------------------------------------------------------------- given in advance
def test_a_branch_that_was_enqueued_is_completed_by_the_model() -> None:
    sampler = Watched(seed=0, n_startup_trials=10)
    study = optuna.create_study(sampler=sampler)
    study.optimize(pipeline, n_trials=25)
    sampler.independent.clear()
    rbf = {"model": "svm", "kernel": "rbf"}
    for fixed in (*[rbf] * 5, {"model": "forest"}, {"model": "svm", "cost": 10.0}):
        study.enqueue_trial(fixed)
        study.optimize(pipeline, n_trials=1)
        trial = study.trials[-1]
        assert fixed.items() <= trial.params.items()
        assert expected(trial) == trial.params.keys()
    assert not sampler.independent
    gammas = [trial.params["gamma"] for trial in study.trials[25:30]]
    assert min(abs(math.log10(gamma) + 2.0) for gamma in gammas) < 0.5  # near what is best


def test_an_enqueued_value_of_another_branch_does_no_harm() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=10))
    study.optimize(pipeline, n_trials=20)
    for _ in range(2):
        study.enqueue_trial({"model": "forest", "gamma": 0.5})
    study.optimize(pipeline, n_trials=2)
    assert [set(t.params) for t in study.trials[20:]] == [{"shrink", "model", "trees"}] * 2
    assert len(distinct(study)) == 22


def test_enqueued_values_of_another_branch_lead_to_no_repetition() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=1, n_startup_trials=3))
    study.optimize(finite, n_trials=9)
    for branch in ("a", "b", "c"):
        left = {"a": 5, "b": 8, "c": 4}[branch]
        left -= sum(trial.params["branch"] == branch for trial in study.trials)
        for number in range(left):
            others = {"a": {"of_c": 0}, "b": {"of_a": 1}, "c": {"solver": "sgd", "of_a": 2}}
            study.enqueue_trial({"branch": branch, **others[branch]})
            study.optimize(finite, n_trials=1)
            assert study.trials[-1].params["branch"] == branch, number
    assert len(study.trials) == len(distinct(study)) == 17


# PartialFixedSampler is marked as experimental, and says so.
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize(("model", "enough"), [("svm", 0.4), ("forest", 0.6)])
def test_a_branch_can_be_fixed(model: str, enough: float, seed: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed, n_startup_trials=10))
    study.optimize(pipeline, n_trials=12)
    study.sampler = PartialFixedSampler({"model": model}, study.sampler)
    study.optimize(pipeline, n_trials=13)
    fixed = study.trials[12:]
    assert {trial.params["model"] for trial in fixed} == {model}
    assert len(distinct(study)) == 25
    assert min(trial.value for trial in fixed) < enough


# ---------------------------------------------------------------- storages and resuming
@pytest.fixture(scope="module")
def plain() -> optuna.Study:
    """A study in memory that was never interrupted."""
    study = optuna.create_study(sampler=HeatSampler(seed=3, n_startup_trials=4))
    study.optimize(pipeline, n_trials=12)
    return study


def test_every_storage_gives_the_same_trials_with_a_new_sampler_for_each(
    storage: BaseStorage | None, plain: optuna.Study
) -> None:
    """The suggestions follow from the history, wherever it is kept and whoever goes on."""
    study = optuna.create_study(storage=storage)
    for _ in range(12):
        study.sampler = HeatSampler(seed=3, n_startup_trials=4)
        study.optimize(pipeline, n_trials=1)
    assert [t.params for t in study.trials] == [t.params for t in plain.trials]
    attributes = [[t.system_attrs for t in s.trials] for s in (study, plain)]
    assert attributes[0] == attributes[1]


def test_trials_added_in_one_go_are_learnt_from_as_if_they_had_been_run() -> None:
    known = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    known.optimize(pipeline, n_trials=25)
    asked = []
    for _ in range(2):
        study = optuna.create_study(sampler=HeatSampler(seed=0))
        study.add_trials(known.trials)
        study.optimize(pipeline, n_trials=1)
        asked.append(study.trials[-1].params)
        assert expected(study.trials[-1]) == study.trials[-1].params.keys()
    assert asked[0] == asked[1]


# ------------------------------------------------------------------- trials cut short
@pytest.mark.parametrize(
    ("how", "reports"),
    [(RuntimeError, False), (optuna.TrialPruned, False), (optuna.TrialPruned, True)],
    ids=["failed", "pruned", "pruned with a report"],
)
def test_trials_that_end_half_way_do_not_teach_wrong_conditions(
    how: type[Exception], reports: bool
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=6))

    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ("a", "b", "c"))
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number % 4 == 3:
            if reports:
                trial.report(x, 0)
            raise how
        value = x + (trial.suggest_float("of_a", 0.0, 1.0) if model == "a" else 1.0)
        return value + abs(trial.suggest_int("last", 0, 9) - 4) / 9

    study.optimize(objective, n_trials=32, catch=RuntimeError)
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    assert len(complete) == 24
    known = [expected(trial) == trial.params.keys() for trial in complete[-10:]]
    assert sum(known) >= 9
    assert study.best_value < 1.1


def test_conditions_of_every_depth_are_learnt_whatever_the_order_of_trials() -> None:
    """Three conditions inside each other, seen in all orders of the branches."""

    def objective(trial: optuna.Trial) -> float:
        depth = 0
        while depth < 3 and trial.suggest_categorical(f"deeper_{depth}", (True, False)):
            depth += 1
        return 3.0 - depth + trial.suggest_float(f"at_{depth}", 0.0, 1.0)

    names = [f"deeper_{i}" for i in range(3)]
    paths = [{}, *({name: True for name in names[:i]} for i in range(1, 4))]
    for order in itertools.islice(itertools.permutations(range(4)), 5, 24, 11):
        study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))
        for depth in order:
            stop = {} if depth == 3 else {f"deeper_{depth}": False}
            study.enqueue_trial({**paths[depth], **stop})
        study.optimize(objective, n_trials=15)
        assert study.best_value < 0.25
        assert all(expected(trial) == trial.params.keys() for trial in study.trials[-5:])
