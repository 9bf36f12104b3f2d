"""Kernels and structures through the sampler: all run, symmetry saves trials, effects show."""

import logging
import math
import pickle
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial
from small_search import quick_sampler

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

Points = Callable[[optuna.Study], list[tuple[object, ...]]]
NAMES = ["x0", "x1", "x2"]


def laplace(r: Any) -> Any:
    return np.exp(-r)


def mixed_objective(trial: optuna.Trial) -> float:
    letters = [trial.suggest_categorical(name, ("a", "b", "c")) for name in NAMES]
    size = trial.suggest_categorical("size", ("s", "m", "l"))
    batch = trial.suggest_categorical("batch", (8, 64, 512))
    rate = trial.suggest_float("rate", 0.0, 1.0)
    steps = trial.suggest_int("steps", 1, 20)
    return letters.count("a") + (size != "m") + abs(math.log(batch / 64)) + rate + steps / 20


ARGUMENTS: dict[str, dict[str, Any]] = {
    **{kernel: {"kernel": kernel} for kernel in kernels_without_graph()},
    "function": {"kernel": laplace},
    "isotropic": {"ard": False},
    "sum with numbers": {"mixing": "sum"},
    "mixture with numbers": {"mixing": "mixture"},
    "padded sort": {"structure": PermutationInvariant(NAMES)},
    "sort": {"structure": PermutationInvariant(NAMES, "sort")},
    "group sum": {"structure": PermutationInvariant(NAMES, "sum")},
    "group product": {"structure": PermutationInvariant(NAMES, "product")},
    "rotations": {"structure": PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 0]])},
    "additive": {"structure": Additive()},
    "interactions": {"structure": InteractionOrders(2)},
    "plain interactions": {"structure": InteractionOrders(2, orthogonal=False)},
    "decomposition": {"structure": RandomDecomposition()},
    "anchors": {"structure": Anchors(({"x0": "a", "x1": "a"}, {"size": "m"}))},
    "auto": {"structure": "auto"},
    "group and auto": {"structure": [PermutationInvariant(NAMES), "auto"]},
    "graphs": {
        "kernel": "combo",
        "graphs": {"x0": "cycle", "x1": [[0, 1, 0], [1, 0, 2], [0, 2, 0]]},
        "order": {"size": ["s", "m", "l"]},
        "quantitative": {"batch": "log"},
    },
    "heat on graphs": {"order": {"size": ["l", "m", "s"]}, "quantitative": ["batch"]},
}
EVERY = pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)


def sampler_of(arguments: dict[str, Any], seed: int = 0, n_startup_trials: int = 5) -> HeatSampler:
    return quick_sampler(seed=seed, n_startup_trials=n_startup_trials, **arguments)


@EVERY
def test_every_kernel_and_structure_runs(arguments: dict[str, Any], points: Points) -> None:
    study = optuna.create_study(sampler=sampler_of(arguments, n_startup_trials=4))
    study.optimize(mixed_objective, n_trials=8)
    assert len(study.trials) == 8 == len(set(points(study)))
    values = [trial.value for trial in study.trials]
    assert np.all(np.isfinite(values))
    asked = [trial.system_attrs.get("heat_plugins:asked", {}) for trial in study.trials]
    regions = [attribute.get("region", NO_REGION) for attribute in asked]
    assert regions == [NO_REGION] * 4 + [0] * 4  # by the model, after the start
    assert min(values[4:]) < np.mean(values[:4])


SOME = pytest.mark.parametrize(
    "arguments",
    [ARGUMENTS[name] for name in ("group sum", "graphs", "auto", "function")],
    ids=["group sum", "graphs", "auto", "function"],
)


@SOME
def test_the_same_seed_gives_the_same_trials_and_pickling_changes_nothing(
    arguments: dict[str, Any], points: Points
) -> None:
    whole = optuna.create_study(sampler=sampler_of(arguments))
    whole.optimize(mixed_objective, n_trials=9)
    parts = optuna.create_study(sampler=sampler_of(arguments))
    for n_trials in (3, 3, 3):  # a new sampler for each part, as after resuming
        parts.optimize(mixed_objective, n_trials=n_trials)
        parts.sampler = pickle.loads(pickle.dumps(parts.sampler))
    assert points(parts) == points(whole)
    renewed = optuna.create_study()
    for _ in range(9):
        renewed.sampler = sampler_of(arguments)
        renewed.optimize(mixed_objective, n_trials=1)
    assert points(renewed) == points(whole)
    other = optuna.create_study(sampler=sampler_of(arguments, seed=1))
    other.optimize(mixed_objective, n_trials=2)
    assert points(other) != points(whole)[:2]


STORED = {"structure": [PermutationInvariant(NAMES), InteractionOrders(2)]}


@pytest.fixture(scope="module")
def uninterrupted() -> optuna.Study:
    study = optuna.create_study(sampler=sampler_of(STORED))
    study.optimize(mixed_objective, n_trials=9)
    return study


def test_a_stored_study_is_resumed(
    storage: Any, points: Points, uninterrupted: optuna.Study
) -> None:
    study = optuna.create_study(storage=storage, sampler=sampler_of(STORED))
    study.optimize(mixed_objective, n_trials=7)
    study = optuna.load_study(
        study_name=study.study_name, storage=study._storage, sampler=sampler_of(STORED)
    )
    study.optimize(mixed_objective, n_trials=2)
    assert points(study) == points(uninterrupted)


# ------------------------------------------------------------------------- permutations
def orbits_of(study: optuna.Study, names: list[str] = NAMES) -> list[tuple[Any, ...]]:
    """What a trial is when the order of some parameters does not matter."""
    return [
        (
            tuple(sorted(t.params[name] for name in names)),
            tuple(v for name, v in sorted(t.params.items()) if name not in names),
        )
        for t in study.trials
    ]


def letters_objective(trial: optuna.Trial) -> float:
    return float(
        sum("abc".index(trial.suggest_categorical(name, ("a", "b", "c"))) for name in NAMES)
    )


METHODS = pytest.mark.parametrize("method", ["padded-sort", "sort", "sum", "product"])


@METHODS
@pytest.mark.parametrize("seed", [0, 1])
def test_a_deterministic_study_stops_when_all_orbits_are_tried(method: Any, seed: int) -> None:
    sampler = HeatSampler(
        seed=seed,
        n_startup_trials=4,
        deterministic_objective=True,
        structure=PermutationInvariant(NAMES, method),
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(letters_objective, n_trials=40)
    orbits = orbits_of(study)
    assert len(orbits) == 10 == len(set(orbits))  # of 27 points


def test_rotations_have_orbits_of_their_own() -> None:
    structure = PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 0]])
    sampler = HeatSampler(
        seed=0, n_startup_trials=4, deterministic_objective=True, structure=structure
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(letters_objective, n_trials=40)
    assert len(study.trials) == 11  # necklaces of three beads in three colours
    tried = [tuple(t.params[name] for name in NAMES) for t in study.trials]
    rotations = [{t[i:] + t[:i] for i in range(3)} for t in tried]
    assert all(other not in orbit for orbit, other in zip(rotations, tried[1:], strict=False))
    assert len({frozenset(orbit) for orbit in rotations}) == 11


def test_without_the_structure_all_points_are_tried() -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=4, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    study.optimize(letters_objective, n_trials=40)
    assert len(study.trials) == 27


@METHODS
def test_no_trial_is_a_permutation_of_another_while_there_are_others(method: Any) -> None:
    """At start-up, in the model's search, and with trials that fail or are still running."""
    structure = PermutationInvariant(NAMES, method)
    study = optuna.create_study(
        sampler=HeatSampler(seed=3, n_startup_trials=6, structure=structure)
    )
    for number in range(20):
        trial = study.ask()
        for name in NAMES:
            trial.suggest_categorical(name, ("a", "b", "c"))
        trial.suggest_categorical("y", (0, 1))
        if number % 5 == 3:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        elif number % 5 != 4:
            study.tell(trial, float(number % 7))
    assert len(set(orbits_of(study))) == 20  # all there are


def test_a_noisy_study_goes_on_and_says_so(optuna_log: pytest.LogCaptureFixture) -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=4, structure=PermutationInvariant(NAMES))
    study = optuna.create_study(sampler=sampler)
    study.optimize(letters_objective, n_trials=12)
    assert len(study.trials) == 12 and len(set(orbits_of(study))) == 10
    said = [r.getMessage() for r in optuna_log.records if "has been tried" in r.getMessage()]
    assert len(said) == 1 and "further trials repeat points" in said[0]


def test_large_symmetric_spaces_are_exhausted_too() -> None:
    """59049 points, 66 orbits: nearly all random points are permutations of old ones."""
    names = [f"x{i}" for i in range(10)]
    sampler = HeatSampler(
        seed=0,
        n_startup_trials=5,
        deterministic_objective=True,
        structure=PermutationInvariant(names),
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda trial: float(sum(trial.suggest_categorical(n, (0, 1, 2)) ** 2 for n in names)),
        n_trials=80,
    )
    assert len(study.trials) == 66 == len(set(orbits_of(study, names)))


# ------------------------------------------------------------------------- explanations
def additive_objective(trial: optuna.Trial) -> float:
    colour = trial.suggest_categorical("colour", ("red", "green", "blue"))
    size = trial.suggest_categorical("size", ("s", "m", "l"))
    rate = trial.suggest_float("rate", 0.0, 2.0)
    trial.suggest_categorical("idle", (True, False))
    return 40.0 + {"red": 30.0, "green": 0.0, "blue": -30.0}[colour] + 10.0 * (size == "m") - rate


COLOURS = {"red": 30.0, "green": 0.0, "blue": -30.0}


@pytest.fixture(scope="module", params=["minimize", "maximize"])
def additive_study(request: pytest.FixtureRequest) -> optuna.Study:
    """Thirty random trials; the direction must not change what there is to learn."""
    study = optuna.create_study(
        direction=request.param, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(additive_objective, n_trials=60)
    return study


@pytest.mark.parametrize("structure", [None, Additive(), "auto"], ids=["none", "additive", "auto"])
def test_effects_are_in_the_words_and_units_of_the_user(
    additive_study: optuna.Study, structure: Any
) -> None:
    sampler = HeatSampler(seed=0, deterministic_objective=True, structure=structure)
    found = sampler.explain(additive_study)
    assert set(found.effects) == {"colour", "size", "rate", "idle"}
    effects = {name: dict(rows) for name, rows in found.effects.items()}
    middle = np.mean(list(effects["colour"].values()))
    for colour, expected in COLOURS.items():
        assert effects["colour"][colour] - middle == pytest.approx(expected, abs=3.0)
    others = 0.5 * (effects["size"]["s"] + effects["size"]["l"])
    assert effects["size"]["m"] - others == pytest.approx(10.0, abs=2.0)
    assert set(effects["idle"]) == {True, False}
    assert abs(effects["idle"][True] - effects["idle"][False]) < 2.0
    places = list(effects["rate"])
    assert places[0] == 0.0 and places[-1] == 2.0 and len(places) == 11
    assert all(a < b for a, b in pairwise(places))
    assert found.order_shares is not None
    assert sum(found.order_shares.values()) == pytest.approx(1.0)
    if structure == "auto":
        assert found.structure == "additive"
        assert set(found.evidence) == {"product", "additive", "interactions"}
        assert found.evidence["additive"] == max(found.evidence.values())
    else:
        assert not found.evidence
        assert found.structure == ("product" if structure is None else "additive")


def test_explanation_as_text(additive_study: optuna.Study) -> None:
    text = str(HeatSampler(seed=0, structure="auto").explain(additive_study))
    lines = text.splitlines()
    assert lines[0] == "structure: additive"
    assert lines[1].startswith("log evidence: product ")
    assert lines[2] == "share of variance by order: 1: 100%, 2: 0%"
    assert lines[4].startswith("  colour: 'red' +")  # the largest effect comes first
    assert "'blue' -" in lines[4]


def test_explaining_changes_no_trial(points: Points) -> None:
    plain = optuna.create_study(sampler=sampler_of({"structure": "auto"}))
    plain.optimize(mixed_objective, n_trials=8)
    asked = optuna.create_study(sampler=sampler_of({"structure": "auto"}))
    for _ in range(8):
        asked.optimize(mixed_objective, n_trials=1)
        assert isinstance(asked.sampler, HeatSampler)
        asked.sampler.explain(asked)
    assert points(asked) == points(plain)


@EVERY
def test_every_model_is_explained(arguments: dict[str, Any]) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(mixed_objective, n_trials=8)
    found = sampler_of(arguments).explain(study)
    assert list(found.effects) == sorted([*NAMES, "size", "batch", "rate", "steps"])
    assert all(np.isfinite(effect) for rows in found.effects.values() for _, effect in rows)
    assert found.structure in str(found)


@pytest.mark.parametrize(
    "structure",
    [
        [PermutationInvariant(NAMES)],
        [PermutationInvariant(NAMES, "sort"), Additive()],
        [PermutationInvariant(NAMES, "sum", permutations=[[1, 2, 0]])],
        [PermutationInvariant(NAMES, "product"), "auto"],
    ],
    ids=["padded sort", "additive sort", "rotations", "auto"],
)
def test_permuted_trials_have_the_same_explanation(structure: Any) -> None:
    """Exactly: they are the same points, and a repeated one may have another value."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(mixed_objective, n_trials=7)
    plain, moved = optuna.create_study(), optuna.create_study()
    for number, trial in enumerate([*study.trials, study.trials[0]]):
        shift = 1 + number % 2
        turned = {name: trial.params[NAMES[(i + shift) % 3]] for i, name in enumerate(NAMES)}
        for other, params in ((plain, trial.params), (moved, {**trial.params, **turned})):
            other.add_trial(
                optuna.create_trial(
                    params=params, distributions=trial.distributions, value=trial.value + number
                )
            )
    arguments = {"structure": structure, "deterministic_objective": True}
    assert sampler_of(arguments).explain(moved) == sampler_of(arguments).explain(plain)


def test_nothing_to_explain() -> None:
    study = optuna.create_study()
    with pytest.raises(ValueError, match="at least 1 complete trial"):
        HeatSampler().explain(study)


@pytest.mark.parametrize("objective", [-1, 2])
def test_an_objective_that_does_not_exist_is_not_explained(objective: int) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match=rf"objective must be one of 0 .. 1, got {objective}"):
        HeatSampler().explain(study, objective)


def test_auto_says_what_it_chose(optuna_log: pytest.LogCaptureFixture) -> None:
    optuna.logging.set_verbosity(optuna.logging.INFO)
    sampler = HeatSampler(
        seed=0, n_startup_trials=20, structure="auto", deterministic_objective=True
    )
    study = optuna.create_study(sampler=sampler)
    with optuna_log.at_level(logging.INFO, logger="optuna"):
        study.optimize(additive_objective, n_trials=26)
    said = [record for record in optuna_log.records if "log evidence" in record.getMessage()]
    assert said and all(record.levelno == logging.INFO for record in said)
    assert all(record.name == "optuna.heat_plugins" for record in said)
    chosen = [record.getMessage().split("'")[1] for record in said]
    assert chosen[-1] == "additive" == sampler.explain(study).structure
    assert all(a != b for a, b in pairwise(chosen))  # said once, until it changes
    for name in ("product", "additive", "interactions"):
        assert re.search(rf"{name} -?\d+\.\d", said[0].getMessage())


def test_a_given_structure_is_not_announced(optuna_log: pytest.LogCaptureFixture) -> None:
    optuna.logging.set_verbosity(optuna.logging.INFO)
    study = optuna.create_study(sampler=sampler_of({"structure": Additive()}))
    with optuna_log.at_level(logging.INFO, logger="optuna"):
        study.optimize(mixed_objective, n_trials=7)
    assert not [r for r in optuna_log.records if "log evidence" in r.getMessage()]


# ------------------------------------------------------------------------ bad arguments
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "kernel": ({"kernel": "rbf"}, r"kernel must be one of .* got 'rbf'"),
    "structure": ({"structure": "additive"}, r"structure must be .* got 'additive'"),
    "mixing": ({"mixing": "both"}, r"mixing must be one of .* got 'both'"),
    "ard": ({"kernel": "ssk", "ard": True}, r"kernel 'ssk' .* ard must not be True"),
    "graphs": ({"graphs": {"size": "ring"}}, r"graph of 'size' must be one of .* got 'ring'"),
    "quantitative": ({"quantitative": "batch"}, r"quantitative must be a list of names"),
    "scale": ({"quantitative": {"batch": "cube"}}, r"quantitative\['batch'\] .* got 'cube'"),
    "twice": (
        {"order": {"size": ["s", "m", "l"]}, "graphs": {"size": "path"}},
        r"parameters \['size'\] must be in one of graphs, order, quantitative",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_arguments_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeatSampler(**arguments)


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "graph of wrong size": (
        {"graphs": {"size": [[0, 1], [1, 0]]}},
        r"graph of 'size' must have 3 vertices",
    ),
    "incomplete order": (
        {"order": {"size": ["s", "m"]}},
        r"order of 'size' must hold each of \('s', 'm', 'l'\) once, got \('s', 'm'\)",
    ),
    "order with another choice": (
        {"order": {"size": ["s", "m", "l", "xl"]}},
        r"order of 'size' must hold each of \('s', 'm', 'l'\) once, got \('s', 'm', 'l', 'xl'\)",
    ),
    "words for quantities": (
        {"quantitative": ["size"]},
        r"quantitative parameter 'size' must be numbers",
    ),
    "graph of a number": ({"graphs": {"rate": "path"}}, r"parameter 'rate' must have listed"),
    "unlike parameters": (
        {"structure": PermutationInvariant(["x0", "size"])},
        r"same choices or range: 'x0' has \['a', 'b', 'c'\], 'size' has \['s', 'm', 'l'\]",
    ),
    "interchangeable numbers": (
        {"structure": PermutationInvariant(["rate", "steps"])},
        r"same choices or range: 'rate' has",
    ),
    "anchors": (
        {"structure": Anchors(({"size": "xl"},))},
        r"points of Anchors must hold possible values: value of 'size' must be one of .* got 'xl'",
    ),
    "anchors of numbers": (
        {"structure": Anchors(({"rate": 0.5},))},
        r"points of Anchors must name parameters with listed choices, 'rate' is Float",
    ),
}


@pytest.mark.parametrize("catch", [(), (Exception,)], ids=["", "whatever is caught"])
@pytest.mark.parametrize(("arguments", "message"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_the_parameters_is_refused_with_the_first_trial(
    arguments: dict[str, Any], message: str, catch: tuple[type[Exception], ...]
) -> None:
    study = optuna.create_study(sampler=sampler_of(arguments))
    with pytest.raises(ValueError, match=message):
        study.optimize(mixed_objective, n_trials=8, catch=catch)
    # Its value is not lost, and is enough to go on with once the settings are right.
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE]
    study.sampler = sampler_of({})
    study.optimize(mixed_objective, n_trials=4)
    assert len(study.trials) == 5


@pytest.mark.parametrize(("arguments", "message"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_a_stored_study_costs_one_trial(
    arguments: dict[str, Any], message: str
) -> None:
    study = optuna.create_study(sampler=sampler_of({}))
    study.optimize(mixed_objective, n_trials=5)
    study.sampler = sampler_of(arguments)
    with pytest.raises(ValueError, match=message):
        study.optimize(mixed_objective, n_trials=8, catch=(Exception,))
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 6


def two_rates(trial: optuna.Trial) -> float:
    return sum(trial.suggest_float(name, 0.0, 1.0) for name in ("first", "second"))


@pytest.mark.parametrize("is_resumed", [False, True], ids=["", "resumed"])
def test_trials_from_elsewhere_are_no_reason_to_refuse_settings(is_resumed: bool) -> None:
    """In the latest trial the two cannot change places; in those of the objective they can."""
    arguments = {"structure": PermutationInvariant(["first", "second"], method="sort")}
    study = optuna.create_study(sampler=sampler_of(arguments))
    study.optimize(two_rates, n_trials=6)
    study.add_trial(
        create_trial(
            params={"first": 50.0, "second": 0.5},
            distributions={
                "first": FloatDistribution(0.0, 100.0),
                "second": FloatDistribution(0.0, 1.0),
            },
            value=50.5,
        )
    )
    if is_resumed:
        study.sampler = sampler_of(arguments)
    study.optimize(two_rates, n_trials=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 11
    assert study.best_value < 0.5


# Optuna itself, where a trial has parameters in another form than the objective asks for.
@pytest.mark.filterwarnings("ignore:Inconsistent parameter values:RuntimeWarning")
def test_a_waiting_trial_from_elsewhere_says_nothing_about_settings() -> None:
    """Its parameters are stored with it, in the form that they had there."""
    arguments = {"structure": PermutationInvariant(["first", "second"], method="sort")}
    study = optuna.create_study(sampler=sampler_of(arguments))
    distributions = {
        "first": FloatDistribution(0.0, 100.0),
        "second": FloatDistribution(0.0, 1.0),
    }
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params={"first": 0.5, "second": 0.5},
            distributions=distributions,
        )
    )
    study.optimize(two_rates, n_trials=6)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 6
    assert study.trials[0].params == {"first": 0.5, "second": 0.5}


def test_names_that_never_come_are_warned_of_once_and_do_not_matter(
    points: Points, optuna_log: pytest.LogCaptureFixture
) -> None:
    plain = optuna.create_study(sampler=sampler_of({}))
    plain.optimize(mixed_objective, n_trials=8)
    other = optuna.create_study(
        sampler=sampler_of({"graphs": {"nowhere": "path"}, "quantitative": ["absent"]})
    )
    other.optimize(mixed_objective, n_trials=8)
    assert points(other) == points(plain)
    said = [r.getMessage() for r in optuna_log.records if r.levelno == logging.WARNING]
    assert len(said) == 2
    assert "'absent'" in said[0] and "'nowhere'" in said[1] and "'size'" in said[0]


def test_a_name_may_be_warned_of_as_unknown_and_as_conditional(
    optuna_log: pytest.LogCaptureFixture,
) -> None:
    """They are two warnings, each said once, also by a copy of the sampler."""

    def objective(trial: optuna.Trial) -> float:
        letter = trial.suggest_categorical("letter", ("a", "b", "c"))
        late = trial.suggest_categorical("late", (1, 2, 3)) if trial.number > 6 else 0
        return float("abc".index(letter) + late)

    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=4, graphs={"late": "path"})
    )
    for n_trials in (6, 3, 2):
        study.optimize(objective, n_trials=n_trials)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
    said = [r.getMessage() for r in optuna_log.records if "'late'" in r.getMessage()]
    assert len(said) == 2
    assert "is named in" in said[0] and "no trial has it" in said[0]
    assert "has no effect, because not every trial has it" in said[1]


# ------------------------------------------------------------- graphs and quantities
def test_networkx_graphs_are_taken(points: Points) -> None:
    networkx = pytest.importorskip("networkx")
    path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    studies = []
    for graph in (networkx.Graph([("s", "m"), ("m", "l")]), networkx.path_graph(3), path, "path"):
        study = optuna.create_study(sampler=sampler_of({"graphs": {"size": graph}}))
        study.optimize(mixed_objective, n_trials=8)
        studies.append(points(study))
    assert studies[0] == studies[1] == studies[2] == studies[3]


def test_order_and_quantities_change_what_the_model_expects() -> None:
    """Of choices that were never tried, those near good ones are expected to be good."""
    study = optuna.create_study()
    values = tuple(range(1, 10))
    distributions = {
        "level": CategoricalDistribution(values),
        "rate": FloatDistribution(0.0, 1.0),
    }
    rng = np.random.default_rng(0)
    for level in (1, 2, 4, 6, 8, 9) * 4:
        study.add_trial(
            optuna.create_trial(
                params={"level": level, "rate": float(rng.random())},
                distributions=distributions,
                value=float((level - 7) ** 2),
            )
        )
    arguments: tuple[dict[str, Any], ...] = (
        {"quantitative": ["level"]},
        {"order": {"level": values}, "kernel": "combo"},
    )
    for known in arguments:
        sampler = HeatSampler(seed=0, deterministic_objective=True, **known)
        effects = dict(sampler.explain(study).effects["level"])
        assert effects[7] < effects[5] < effects[3]
    found_out = HeatSampler(seed=0, deterministic_objective=True)
    effects = dict(found_out.explain(study).effects["level"])
    assert effects[7] < effects[5] < effects[3]
    plain = HeatSampler(seed=0, deterministic_objective=True, numeric_choices="unordered")
    effects = dict(plain.explain(study).effects["level"])
    assert effects[3] == pytest.approx(effects[5]) == pytest.approx(effects[7])
