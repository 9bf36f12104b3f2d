"""Branches of a conditional space in which every trial fails, and points that failed."""

from itertools import pairwise

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from small_search import quick_sampler

from heat_plugins import HeatSampler
from heat_plugins.optuna.reservation_record import RESERVATION_KEY

SEEDS = pytest.mark.parametrize("seed", range(3))


class Objective:
    """Three models, of which one fails: at once, or when it has asked for its parameters."""

    def __init__(self, error: type[Exception], has_parameters: bool) -> None:
        self._error = error
        self._has_parameters = has_parameters

    def __call__(self, trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ("svm", "tree", "gpu"))
        if model == "gpu":
            if self._has_parameters:
                trial.suggest_float("share", 0.0, 1.0)
                trial.suggest_int("blocks", 1, 50)
            raise self._error
        if model == "svm":
            penalty = trial.suggest_float("penalty", 1e-3, 10.0, log=True)
            return penalty / 5.0 + (trial.suggest_categorical("kernel", ("rbf", "lin")) == "lin")
        return abs(trial.suggest_int("depth", 1, 20) - 7) / 5.0 + 0.1


@SEEDS
def test_a_branch_that_fails_at_once_is_tried_once(seed: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed))
    study.optimize(Objective(RuntimeError, False), n_trials=25, catch=(RuntimeError,))
    assert [t.params for t in study.trials].count({"model": "gpu"}) == 1
    assert study.best_value < 0.01


@SEEDS
@pytest.mark.parametrize("error", [RuntimeError, optuna.TrialPruned])
def test_a_branch_that_always_fails_is_left(seed: int, error: type[Exception]) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed))
    study.optimize(Objective(error, True), n_trials=25, catch=(RuntimeError,))
    assert sum(t.params["model"] == "gpu" for t in study.trials) <= 6
    assert study.best_value < 0.01


@SEEDS
def test_failures_that_depend_on_nothing_do_not_keep_a_branch_away(seed: int) -> None:
    """Every third trial crashes, whatever its parameters are."""

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ("svm", "tree")) == "svm":
            value = 1.0 + trial.suggest_float("penalty", 0.0, 1.0)
        else:
            value = abs(trial.suggest_int("depth", 1, 20) - 7) / 5.0
        if trial.number % 3 == 1:
            raise RuntimeError
        return value

    study = optuna.create_study(sampler=HeatSampler(seed=seed))
    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    assert study.best_params["model"] == "tree"
    assert study.best_value <= 0.6  # three away at the most, where the very best crashed


@SEEDS
def test_where_nearly_everything_fails_the_search_stays_near_what_did_not(seed: int) -> None:
    """One sequence is known, and most of those with a new letter cannot be made."""

    def objective(trial: optuna.Trial) -> float:
        letters = [trial.suggest_categorical(f"x{i}", range(10)) for i in range(24)]
        if any((b - a) % 10 in (4, 5, 6) for a, b in pairwise(letters)):
            raise RuntimeError
        return sum(letter != i % 3 for i, letter in enumerate(letters))

    study = optuna.create_study(sampler=HeatSampler(seed=seed))
    study.enqueue_trial({f"x{i}": 9 for i in range(24)})
    study.optimize(objective, n_trials=90, catch=(RuntimeError,))
    assert sum(t.state == TrialState.COMPLETE for t in study.trials) >= 15
    assert study.best_value < 24


def test_a_failed_point_is_not_proposed_again() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_int("x", 0, 3), trial.suggest_categorical("y", "abc")
        if x == 2 or y == "c":
            raise RuntimeError
        return float(x)

    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 12


def test_a_point_that_fails_half_way_is_not_proposed_again() -> None:
    """The only complete trial came from elsewhere and has a parameter more."""
    space = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    study.add_trial(
        create_trial(
            params={"x": 0.5, "y": 0.5, "extra": 0.5},
            distributions={**space, "extra": FloatDistribution(0.0, 1.0)},
            value=0.0,
        )
    )

    def objective(trial: optuna.Trial) -> float:
        for name in space:
            trial.suggest_float(name, 0.0, 1.0)
        raise RuntimeError

    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    points = {tuple(round(value, 6) for value in t.params.values()) for t in study.trials[1:]}
    assert len(points) == 10


# -------------------------------------------------------------- values that a trial brings along
def test_stored_parameters_of_a_waiting_trial_are_kept_and_optimised_for() -> None:
    """As ``RetryFailedTrialCallback`` makes them: stored with the trial, not enqueued."""
    space = {
        "x": CategoricalDistribution(("a", "b", "c")),
        "y": CategoricalDistribution(("a", "b", "c")),
    }
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=1))
    # Where x is "a" the best y is "b"; where it is not, "c".
    for x in "abc":
        for y in "abc":
            if (x, y) not in {("a", "b"), ("b", "c"), ("c", "c"), ("a", "c")}:
                value = float(y != ("b" if x == "a" else "c"))
                study.add_trial(
                    create_trial(params={"x": x, "y": y}, distributions=space, value=value)
                )
    retried = create_trial(
        state=TrialState.WAITING, params={"x": "a"}, distributions={"x": space["x"]}
    )
    study.add_trial(retried)
    fixed: list[dict[int, float]] = []
    sampler = study.sampler
    assert isinstance(sampler, HeatSampler)
    inner = sampler._suggest

    def suggest(*args: object) -> object:
        fixed.append(dict(args[-1]))  # type: ignore[call-overload]
        return inner(*args)  # type: ignore[arg-type]

    sampler._suggest = suggest  # type: ignore[assignment,method-assign]
    trial = study.ask()
    assert trial.suggest_categorical("y", ("a", "b", "c")) in ("b", "c")
    assert trial.params["x"] == "a"
    assert fixed == [{0: 0.0}]


# ------------------------------------------------------------------------ all points are tried
@pytest.mark.parametrize("seed", range(4))
def test_an_exhausted_conditional_space_ends_a_deterministic_study(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ("a", "b")) == "a":
            return float(trial.suggest_int("n", 0, 2))
        x = trial.suggest_categorical("x", ("p", "q"))
        return 1.5 + trial.suggest_categorical("y", (0, 1)) + (x == "p")

    sampler = HeatSampler(seed=seed, n_startup_trials=3, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler)
    optuna.logging.enable_propagation()
    try:
        study.optimize(objective, n_trials=30)
    finally:
        optuna.logging.disable_propagation()
    assert len(study.trials) == 7
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 7
    assert "Every point of the search space has been tried" in caplog.text


# ------------------------------------------------------------- parameters that were once others
FOREIGN = {
    "more choices": CategoricalDistribution(("z", "y", "a", "b", "c", "d")),
    "fewer choices": CategoricalDistribution(("c",)),
    "a number": FloatDistribution(0.0, 1.0),
    "a whole number": IntDistribution(0, 9),
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN.keys())
@pytest.mark.parametrize("comes_last", [False, True])
@pytest.mark.parametrize("value", [0.5, None], ids=["complete", "failed"])
@pytest.mark.parametrize("names", ["xy", "yx"], ids=["asked first", "asked last"])
def test_added_trials_with_another_form_of_a_parameter_do_no_harm(
    foreign: optuna.distributions.BaseDistribution,
    comes_last: bool,
    value: float | None,
    names: str,
) -> None:
    def objective(trial: optuna.Trial) -> float:
        ask = {
            "x": lambda: float(trial.suggest_categorical("x", ("a", "b", "c")) != "b"),
            "y": lambda: trial.suggest_float("y", 0.0, 1.0),
        }
        return sum(ask[name]() for name in names)

    study = optuna.create_study(sampler=quick_sampler(seed=0, n_startup_trials=3))
    if comes_last:
        study.optimize(objective, n_trials=6)
    is_number = isinstance(foreign, FloatDistribution | IntDistribution)
    study.add_trial(
        create_trial(
            state=TrialState.FAIL if value is None else TrialState.COMPLETE,
            params={"x": 1 if is_number else "c", "y": 0.5},
            distributions={"x": foreign, "y": FloatDistribution(0.0, 1.0)},
            value=value,
        )
    )
    # Where nothing else is known Optuna itself refuses the first trial.
    study.optimize(objective, n_trials=9, catch=(ValueError,))
    n_refused = sum(t.state == TrialState.FAIL for t in study.trials[-9:])
    assert n_refused <= (not comes_last)
    # The parameter is still one that the model chooses.
    assert all("x" in t.system_attrs[RESERVATION_KEY]["point"] for t in study.trials[-4:])
    assert "b" in [t.params["x"] for t in study.trials[-4:]]
