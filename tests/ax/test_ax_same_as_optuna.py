"""Both integrations use one ``suggest``: same settings, seed and values, same suggestions."""

from collections.abc import Callable
from typing import Any

import optuna
import pytest
from ax.api.client import Client
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from heat_plugins import Additive, HeatSampler, PermutationInvariant

Params = dict[str, Any]
LETTERS = "abcd"
NAMES = [f"x{i}" for i in range(5)]
NUMBERS: dict[str, BaseDistribution] = {
    "y_rate": FloatDistribution(1e-4, 1.0, log=True),
    "y_steps": IntDistribution(1, 50),
    "y_units": IntDistribution(2, 512, log=True),
    "y_weight": FloatDistribution(-1.0, 2.0),
}
N_TRIALS = 8  # half of them by the model


def value_of(params: Params) -> float:
    """Some parameters matter more than others, numbers among them."""
    value = sum(LETTERS.index(params[name]) * (i % 3 - 1) for i, name in enumerate(NAMES))
    if "y_rate" in params:
        value += params["y_rate"] - params["y_steps"] / 50 + params["y_weight"] ** 2
        value += params["y_units"] / 512
    return value


@pytest.fixture(autouse=True)
def _only_warnings_of_optuna_are_logged() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture(scope="module")
def parameters_of(
    choice: Callable[..., Any], number: Callable[..., Any]
) -> Callable[[dict[str, BaseDistribution]], list[Any]]:
    """Return what Ax calls the distributions of Optuna."""

    def of(space: dict[str, BaseDistribution]) -> list[Any]:
        found = []
        for name, d in space.items():
            if isinstance(d, CategoricalDistribution):
                found.append(choice(name, d.choices))
            else:
                assert isinstance(d, IntDistribution | FloatDistribution)
                found.append(number(name, d.low, d.high, scaling="log" if d.log else "linear"))
        return found

    return of


def space_of(with_numbers: bool) -> dict[str, BaseDistribution]:
    choices = {name: CategoricalDistribution(tuple(LETTERS)) for name in NAMES}
    return {**choices, **(NUMBERS if with_numbers else {})}


def ask_both(client: Client, study: optuna.Study, space: Any) -> tuple[int, optuna.Trial]:
    """Ask both integrations for the next trial, and compare what they say."""
    ((index, params),) = client.get_next_trials(1).items()
    if not study.get_trials(deepcopy=False):  # Optuna does not know the space before the first
        study.enqueue_trial(params)
    trial = study.ask(space)
    for name, value in trial.params.items():
        assert params[name] == (pytest.approx(value) if type(value) is float else value)
    return index, trial


SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "additive": {"structure": Additive()},
    "Matérn kernel": {"kernel": "matern"},
    "no trust region": {"trust_region": False},
    "deterministic": {"deterministic_objective": True},
    "graphs": {"graphs": {"x0": "cycle"}, "order": {"x1": list("dcba")}},
    "interchangeable": {"structure": PermutationInvariant(["x0", "x3"])},
}
CHOICES_ALONE = ["defaults", "graphs", "interchangeable"]


@pytest.mark.parametrize(
    ("settings", "with_numbers"),
    [
        *[pytest.param(SETTINGS[name], False, id=f"{name}, choices") for name in CHOICES_ALONE],
        *[pytest.param(SETTINGS[name], True, id=f"{name}, mixed") for name in SETTINGS],
    ],
)
def test_the_same_trials(
    client_of: Any, parameters_of: Any, settings: dict[str, Any], with_numbers: bool
) -> None:
    space = space_of(with_numbers)
    client = client_of(parameters_of(space), seed=7, **settings)
    study = optuna.create_study(sampler=HeatSampler(seed=7, n_startup_trials=4, **settings))
    for _ in range(N_TRIALS):
        index, trial = ask_both(client, study, space)
        client.complete_trial(index, raw_data={"y": value_of(trial.params)})
        study.tell(trial, value_of(trial.params))


def test_the_same_trials_after_failures_and_beside_running_ones(
    client_of: Any, parameters_of: Any
) -> None:
    space = space_of(with_numbers=True)
    client = client_of(parameters_of(space), seed=3)
    study = optuna.create_study(sampler=HeatSampler(seed=3, n_startup_trials=4))
    for k in range(10):
        index, trial = ask_both(client, study, space)
        if k in (2, 6):
            client.mark_trial_failed(index)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        elif k not in (3, 7):  # which keep running
            client.complete_trial(index, raw_data={"y": value_of(trial.params)})
            study.tell(trial, value_of(trial.params))


def test_the_same_trials_when_maximising(client_of: Any, parameters_of: Any) -> None:
    space = space_of(with_numbers=True)
    client = client_of(parameters_of(space), objective="y", seed=3)
    sampler = HeatSampler(seed=3, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    for _ in range(N_TRIALS):
        index, trial = ask_both(client, study, space)
        client.complete_trial(index, raw_data={"y": value_of(trial.params)})
        study.tell(trial, value_of(trial.params))


@pytest.mark.skipif(
    not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 5 has set_constraint"
)
def test_the_same_trials_under_an_outcome_constraint(client_of: Any, parameters_of: Any) -> None:
    space = space_of(with_numbers=True)
    client = client_of(parameters_of(space), outcome_constraints=["z <= 20.0"], seed=3)
    study = optuna.create_study(sampler=HeatSampler(seed=3, n_startup_trials=4))
    for _ in range(N_TRIALS):
        index, trial = ask_both(client, study, space)
        z = float(trial.params["y_steps"])
        client.complete_trial(index, raw_data={"y": value_of(trial.params), "z": z})
        trial.set_constraint("z", z - 20.0)
        study.tell(trial, value_of(trial.params))


def test_the_same_trials_for_two_objectives(client_of: Any, parameters_of: Any) -> None:
    space = space_of(with_numbers=True)
    client = client_of(parameters_of(space), objective="-y, -z", seed=3)
    sampler = HeatSampler(seed=3, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * 2)
    for _ in range(N_TRIALS):
        index, trial = ask_both(client, study, space)
        y, z = value_of(trial.params), float(trial.params["y_steps"])
        client.complete_trial(index, raw_data={"y": y, "z": z})
        study.tell(trial, (y, z))
