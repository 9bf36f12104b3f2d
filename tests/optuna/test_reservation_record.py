"""What a trial was asked to be: written down, read again, and respected by other workers."""

import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

import heat_plugins.optuna.sampler
from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.optuna.distributions import space_of
from heat_plugins.optuna.reservation_record import (
    RESERVATION_KEY,
    reservation,
    reserved_params,
    reserved_region,
)
from heat_plugins.optuna.study_reader import StudyReader
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import PermutationInvariant
from heat_plugins.suggest import Settings, Suggestion

# Optuna warns of every choice that JSON changes; here that is the point.
tuples_are_intended = pytest.mark.filterwarnings(
    "ignore:Choices for a categorical distribution should be a tuple:UserWarning"
)
Points = Callable[[optuna.Study], list[tuple[object, ...]]]

# ------------------------------------------------------------------- written and read again
ODD = (None, math.nan, 0, 1, 1.0, True, False, "1", "", (1, 2), ((1,), 2), [1, 2])


def space_with_odd_choices() -> dict[str, BaseDistribution]:
    return {
        "odd": CategoricalDistribution(ODD),  # type: ignore[arg-type]
        "int": IntDistribution(1, 10**18, log=True),
        "float": FloatDistribution(-1.0, 1.0),
        "step": FloatDistribution(0.0, 1.0, step=0.1),
    }


def trial_with(attribute: Any) -> FrozenTrial:
    return create_trial(value=0.0, system_attrs={RESERVATION_KEY: attribute})


@tuples_are_intended
@pytest.mark.parametrize("position", range(len(ODD)))
@pytest.mark.parametrize("region", [NO_REGION, 0, 7])
def test_any_point_comes_back_from_json(position: int, region: int) -> None:
    space = space_with_odd_choices()
    params = {"odd": ODD[position], "int": 10**17 + 1, "float": 1 / 3, "step": 0.1 + 0.2}
    stored = json.loads(json.dumps(reservation(region, space, params)))
    trial = trial_with(stored)
    found = reserved_params(trial, space)
    assert found["odd"] is ODD[position]
    assert {name: found[name] for name in ("int", "float", "step")} == {
        name: params[name] for name in ("int", "float", "step")
    }
    assert type(found["int"]) is int and type(found["float"]) is float
    assert reserved_region(trial) == region


def test_only_what_a_trial_has_is_claimed() -> None:
    space: dict[str, BaseDistribution] = {
        "a": CategoricalDistribution(("x", "y")),
        "b": IntDistribution(0, 9),
    }
    assert reservation(2, space, {"b": 3}) == {"region": 2, "point": {"b": 3}}
    assert reservation(NO_REGION, space, {}) == {"region": NO_REGION, "point": {}}
    trial = trial_with({"region": 0, "point": {"a": 1, "b": 3, "gone": 5}})
    assert reserved_params(trial, space) == {"a": "y", "b": 3}
    assert reserved_params(trial, {"b": space["b"]}) == {"b": 3}
    assert reserved_params(trial, {}) == {}


@pytest.mark.parametrize(
    "region", [None, -2, -1, True, False, 0.0, 1.5, "0", [0], {}, math.nan, math.inf]
)
def test_what_is_no_region_is_none(region: Any) -> None:
    assert reserved_region(trial_with({"region": region})) == NO_REGION


@pytest.mark.parametrize("attribute", [None, 3, "text", [], [1, 2], {}, {"point": None}, math.nan])
def test_what_is_no_claim_claims_nothing(attribute: Any) -> None:
    space: dict[str, BaseDistribution] = {"b": IntDistribution(0, 9)}
    assert reserved_params(trial_with(attribute), space) == {}
    assert reserved_region(trial_with(attribute)) == NO_REGION
    assert reserved_params(create_trial(value=0.0), space) == {}


@pytest.mark.parametrize("value", [None, True, "x", [1], {}, -1, 2, 10**30, 0.0, 1.5, math.nan])
def test_what_is_no_position_is_no_choice(value: Any) -> None:
    space: dict[str, BaseDistribution] = {"a": CategoricalDistribution(("x", "y"))}
    assert reserved_params(trial_with({"point": {"a": value}}), space) == {}


@pytest.mark.parametrize("value", [None, True, "x", [1], {}])
def test_what_is_no_number_is_no_value(value: Any) -> None:
    space: dict[str, BaseDistribution] = {"b": IntDistribution(0, 9)}
    assert reserved_params(trial_with({"point": {"b": value}}), space) == {}


# --------------------------------------------------------- points that others are working on
NINE: dict[str, BaseDistribution] = {
    "x": CategoricalDistribution(("a", "b", "c")),
    "y": IntDistribution(0, 2),
}


def workers(study: optuna.Study, n: int, **arguments: Any) -> list[optuna.Study]:
    """Return the study as other processes have it, each with a sampler of its own."""
    return [
        optuna.load_study(
            study_name=study.study_name,
            storage=study._storage,
            sampler=HeatSampler(seed=seed, **arguments),
        )
        for seed in range(n)
    ]


@pytest.mark.parametrize("n_startup_trials", [1, 20], ids=["model", "startup"])
def test_the_points_of_other_workers_count_before_they_are_stored(
    storage: BaseStorage | None, n_startup_trials: int, points: Points
) -> None:
    """Each has asked for the first parameter only, when the next one has to choose."""
    study = optuna.create_study(storage=storage)
    known = create_trial(params={"x": "a", "y": 0}, distributions=NINE, value=1.0)
    study.add_trial(known)
    asked = []
    for worker in workers(study, 4, n_startup_trials=n_startup_trials) * 2:
        trial = worker.ask()
        trial.suggest_categorical("x", ("a", "b", "c"))
        asked.append(trial)
    for trial in asked:
        assert "y" not in trial.params
        trial.suggest_int("y", 0, 2)
    assert len(set(points(study))) == 9
    assert {trial.state for trial in study.trials[1:]} == {TrialState.RUNNING}


def test_a_claimed_point_is_under_evaluation_for_the_model_of_another_worker() -> None:
    study = optuna.create_study()
    for x, y in (("a", 0), ("b", 1)):
        params = {"x": x, "y": y}
        study.add_trial(create_trial(params=params, distributions=NINE, value=float(y)))
    (worker,) = workers(study, 1, n_startup_trials=1)
    trial = worker.ask()
    trial.suggest_categorical("x", ("a", "b", "c"))
    reader = StudyReader(NINE)
    history = reader.read(study.trials, study.directions, None, asked={})
    (pending,) = history.pending
    claimed = reader.space.decode(pending)
    assert claimed["x"] == trial.params["x"]
    assert trial.suggest_int("y", 0, 2) == claimed["y"]


def test_a_branch_is_claimed_as_a_whole() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("branch", ("a", "b")) == "a":
            return trial.suggest_float("of_a", 0.0, 1.0)
        return float(trial.suggest_int("of_b", 0, 9))

    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=4))
    study.optimize(objective, n_trials=12)
    trial = study.ask()
    branch = trial.suggest_categorical("branch", ("a", "b"))
    noted = study.trials[-1].system_attrs[RESERVATION_KEY]
    assert noted["point"].keys() == {"branch", f"of_{branch}"}


# ----------------------------------------------------------- the same point at the same time
class Stage:
    """Decides what the model chooses; nobody may sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[tuple[float, ...]] = []  # to be chosen, one after the other
        self.alternatives: list[tuple[float, ...]] = []
        self.is_new = True
        self.startups: list[int] = []  # how many start-up trials each search was told of
        self.thinking: Callable[[], None] = lambda: None  # what happens in the meantime
        monkeypatch.setattr(heat_plugins.optuna.sampler, "suggest", self._choose)
        monkeypatch.setattr(time, "sleep", self._sleep)

    @property
    def n_choices(self) -> int:
        return len(self.startups)

    def _choose(self, _: Any, __: Any, settings: Settings, *rest: Any) -> Suggestion:
        self.thinking()
        self.startups.append(settings.n_startup_trials)
        point = self.points.pop(0) if len(self.points) > 1 else self.points[0]
        alternatives = np.array(self.alternatives).reshape(-1, len(point))
        return Suggestion(np.array(point), 0, self.is_new, alternatives=alternatives)

    @staticmethod
    def _sleep(seconds: float) -> None:
        raise AssertionError("a sampler must not sleep: others wait for it")


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    yield Stage(monkeypatch)


P, Q = (1.0, 0.5), (2.0, 1.0)  # as encoded; in the space these are:
AT_P, AT_Q = {"x": "b", "y": 1}, {"x": "c", "y": 2}
FILES = pytest.mark.parametrize("storage", ["sqlite", "journal"], indirect=True)


def begun(storage: BaseStorage) -> tuple[optuna.Study, optuna.Trial, optuna.Trial]:
    """Return a study with one complete trial, and two trials of different workers."""
    study = optuna.create_study(storage=storage)
    study.add_trial(create_trial(params={"x": "a", "y": 0}, distributions=NINE, value=1.0))
    first, second = workers(study, 2, n_startup_trials=1)
    return study, first.ask(), second.ask()


def settle(trial: optuna.Trial) -> dict[str, Any]:
    """Ask for both parameters, of which the first makes the sampler choose."""
    return {"x": trial.suggest_categorical("x", "abc"), "y": trial.suggest_int("y", 0, 2)}


@FILES
def test_different_points_are_no_conflict(storage: BaseStorage, stage: Stage) -> None:
    _, first, second = begun(storage)
    stage.points = [P, Q]
    assert (settle(first), settle(second)) == (AT_P, AT_Q)
    assert stage.n_choices == 2


@FILES
@pytest.mark.parametrize("is_later", [False, True], ids=["earlier", "later"])
def test_a_point_that_another_worker_claims_is_left_for_the_next_best(
    storage: BaseStorage, stage: Stage, is_later: bool
) -> None:
    """Whichever trial came first: nobody can tell whether the other has looked already."""
    study, first, second = begun(storage)
    stage.points, stage.alternatives = [P], [Q]
    trials = (first, second) if is_later else (second, first)
    assert [settle(trial) for trial in trials] == [AT_P, AT_Q]
    assert stage.n_choices == 2, "an alternative takes no other search"


@FILES
def test_a_claim_that_comes_between_writing_and_reading_is_seen(
    storage: BaseStorage, stage: Stage
) -> None:
    study, first, second = begun(storage)
    inner, written = study._storage.set_trial_system_attr, []

    def write(trial_id: int, key: str, value: Any) -> None:
        inner(trial_id, key, value)
        if trial_id == first._trial_id and not written:
            inner(second._trial_id, RESERVATION_KEY, reservation(0, NINE, AT_P))
        written.append((trial_id, value))

    study._storage.set_trial_system_attr = write  # type: ignore[method-assign]
    stage.points, stage.alternatives = [P], [Q]
    assert settle(first) == AT_Q
    assert [value for _, value in written] == [
        reservation(0, NINE, AT_P),
        reservation(0, NINE, AT_Q),
    ]


@FILES
def test_a_point_that_was_evaluated_in_the_meantime_is_left(
    storage: BaseStorage, stage: Stage
) -> None:
    study, first, second = begun(storage)

    def evaluate() -> None:
        if first._trial_id in {trial._trial_id for trial in study.trials if trial.params == AT_P}:
            return
        for name, position in (("x", 1.0), ("y", 1.0)):
            study._storage.set_trial_param(first._trial_id, name, position, NINE[name])
        study.tell(first.number, 0.0)

    stage.thinking = evaluate
    stage.points = [P, Q]
    assert settle(second) == AT_Q
    assert stage.n_choices == 2


@FILES
def test_points_of_trials_that_had_finished_before_are_the_models_own_affair(
    storage: BaseStorage, stage: Stage
) -> None:
    _, first, _ = begun(storage)
    stage.points = [(0.0, 0.0)]  # that of the complete trial
    assert settle(first) == {"x": "a", "y": 0}
    assert stage.n_choices == 1


@FILES
def test_a_point_that_is_repeated_on_purpose_is_not_fought_for(
    storage: BaseStorage, stage: Stage
) -> None:
    _, first, second = begun(storage)
    stage.points, stage.is_new = [P], False
    assert settle(first) == settle(second) == AT_P
    assert stage.n_choices == 2


@FILES
def test_the_last_resort_is_a_random_point(storage: BaseStorage, stage: Stage) -> None:
    """After a few searches the model is left out: a random point is one that nobody wants."""
    _, first, second = begun(storage)
    stage.points = [P, P, P, P, Q]
    assert (settle(first), settle(second)) == (AT_P, AT_Q)
    assert stage.startups[:4] == [1] * 4 and stage.startups[4] > 10**9


@FILES
def test_nobody_tries_for_ever(storage: BaseStorage, stage: Stage) -> None:
    _, first, second = begun(storage)
    stage.points = [P]
    assert settle(first) == settle(second) == AT_P
    assert stage.n_choices <= 30


@FILES
def test_the_last_claim_is_the_one_that_counts(storage: BaseStorage, stage: Stage) -> None:
    study, first, second = begun(storage)
    stage.points, stage.alternatives = [P], [Q]
    settle(first), settle(second)
    noted = [trial.system_attrs[RESERVATION_KEY] for trial in study.trials[1:]]
    assert noted == [reservation(0, NINE, AT_P), reservation(0, NINE, AT_Q)]


@FILES
def test_attempts_differ_in_their_randomness(
    storage: BaseStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[float] = []

    def choose(_: Any, __: Any, ___: Any, rng: np.random.Generator, *rest: Any) -> Suggestion:
        drawn.append(rng.random())
        return Suggestion(np.array(P if len(drawn) < 3 else Q), 0, True)

    monkeypatch.setattr(heat_plugins.optuna.sampler, "suggest", choose)
    _, first, second = begun(storage)
    settle(first), settle(second)
    assert len(set(drawn)) == 3


def test_permutations_are_rivals_where_their_order_does_not_matter() -> None:
    space: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(("a", "b", "c")) for name in ("x", "y")
    }
    points = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.0, np.nan], [1.0, np.nan]])
    taken = [np.array([1.0, 0.0]), np.array([0.0, np.nan])]
    found = {}
    for structure in (None, PermutationInvariant(["x", "y"])):
        builder = KernelBuilder(space_of(space), Model(structure=structure))
        reader = StudyReader(space, builder.symmetry())
        found[structure is None] = reader.is_among(points, taken).tolist()
    assert found == {
        True: [False, True, False, True, False],
        False: [True, True, False, True, False],
    }


def test_what_was_reserved_since_the_history_was_read() -> None:
    study = optuna.create_study()
    reader = StudyReader(NINE)
    for number, x in enumerate("ab"):
        params = {"x": x, "y": number}
        study.add_trial(create_trial(params=params, distributions=NINE, value=0.0))
    study.enqueue_trial({"x": "c", "y": 0})
    current = study.ask()  # the one that waited
    reader.read(study.trials, study.directions, None, {})
    study.add_trial(create_trial(params={"x": "b", "y": 2}, distributions=NINE, value=0.0))
    study.enqueue_trial({"x": "a", "y": 1})
    running = study.ask()
    study.enqueue_trial({"x": "a", "y": 2})  # waits, as the history knows or will know
    found = reader.reserved_since(study.trials, study.trials[current.number], {})
    assert [trial.number for trial, _ in found] == [3, running.number]
    assert [point.tolist() for _, point in found] == [[1.0, 1.0], [0.0, 0.5]]
