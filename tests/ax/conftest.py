"""What the tests of the integration with Ax share."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.core.experiment import Experiment
from ax.core.parameter import Parameter
from ax.core.search_space import SearchSpace
from ax.utils.common.logger import set_ax_logger_levels

from heat_plugins.ax import heat_generation_strategy

Params = dict[str, Any]

# Warnings that Ax gives to itself, and about parameters that leave something to it.
WARNINGS = [
    "ignore:.*deprecated:DeprecationWarning:ax.",
    "ignore::ax.exceptions.core.AxParameterWarning",
    "ignore:divide by zero:RuntimeWarning:ax.utils.stats",
    "ignore:To copy construct from a tensor:UserWarning:ax.",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Do not fail over what is not about us."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True, scope="session")
def _only_errors_are_logged() -> None:
    set_ax_logger_levels(logging.ERROR)


@pytest.fixture(scope="session")
def choice() -> Callable[..., ChoiceParameterConfig]:
    """Return a parameter of unordered strings, unless something else is asked for."""

    def of(name: str, values: Sequence[Any] = "abc", **arguments: Any) -> ChoiceParameterConfig:
        values = list(values)
        arguments = {"parameter_type": type(values[0]).__name__, "is_ordered": False, **arguments}
        return ChoiceParameterConfig(name=name, values=values, **arguments)

    return of


@pytest.fixture(scope="session")
def number() -> Callable[..., RangeParameterConfig]:
    """Return a range of floats, or of whole numbers where both bounds are ints."""

    def of(name: str, low: float = 0.0, high: float = 1.0, **arguments: Any) -> Any:
        kind = "int" if isinstance(low, int) and isinstance(high, int) else "float"
        arguments = {"parameter_type": kind, **arguments}
        return RangeParameterConfig(name=name, bounds=(low, high), **arguments)

    return of


@pytest.fixture(scope="session")
def client_of() -> Callable[..., Client]:
    """Return a client that minimises y with the settings given."""

    def of(
        parameters: Sequence[Any],
        objective: str = "-y",
        constraints: Sequence[Any] = (),
        outcome_constraints: Sequence[str] = (),
        **settings: Any,
    ) -> Client:
        client = Client()
        if isinstance(parameters[0], Parameter):  # of Ax itself, not of its client
            space = SearchSpace(list(parameters), list(constraints))
            client.set_experiment(Experiment(search_space=space, name="experiment"))
        else:
            client.configure_experiment(
                parameters=list(parameters), parameter_constraints=list(constraints)
            )
        client.configure_optimization(
            objective=objective, outcome_constraints=list(outcome_constraints)
        )
        settings = {"seed": 0, "n_startup_trials": 4, **settings}
        client.set_generation_strategy(heat_generation_strategy(**settings))
        return client

    return of


@pytest.fixture(scope="session")
def run() -> Callable[..., list[Params]]:
    """Run trials one after the other and return their parameters."""

    def trials(
        client: Client, objective: Callable[[Params], Any], n_trials: int, **arguments: Any
    ) -> list[Params]:
        asked = []
        for _ in range(n_trials):
            ((index, params),) = client.get_next_trials(1, **arguments).items()
            values = objective(params)
            client.complete_trial(
                index, raw_data=values if isinstance(values, dict) else {"y": values}
            )
            asked.append(params)
        return asked

    return trials
