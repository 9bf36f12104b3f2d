"""What is read of an experiment of Ax for pictures."""

from collections.abc import Callable
from typing import Any

import pytest
from ax.api.client import Client

from heat_plugins.ax.experiment_facts import experiment_data
from heat_plugins.insight.study_model import StudyModel

Params = dict[str, Any]


def loss(params: Params) -> float:
    return float((params["op"] != "b") + (params["rate"] - 0.3) ** 2)


@pytest.fixture
def client(
    client_of: Callable[..., Client], choice: Callable[..., Any], number: Callable[..., Any]
) -> Callable[..., Client]:
    def of(objective: str = "-y", **arguments: Any) -> Client:
        return client_of([choice("op"), number("rate")], objective, **arguments)

    return of


def test_arms_are_trials_in_the_units_of_metrics(client: Callable[..., Client]) -> None:
    made = client(outcome_constraints=["cost <= 0.6"], deterministic_objective=True)
    known = {}
    for k in range(8):
        for index, params in made.get_next_trials(max_trials=1).items():
            if k == 2:
                made.mark_trial_failed(index)
                continue
            known[index] = loss(params)
            made.complete_trial(index, raw_data={"y": known[index], "cost": params["rate"]})
    data = experiment_data(made)
    assert data.settings.deterministic  # as the strategy of the client has it
    assert [o.name for o in data.objectives] == ["y"] and not data.objectives[0].is_maximised
    assert data.constraints == ("cost",)
    values = {facts.number: facts.values for facts in data.trials if facts.values}
    assert values == {index: (pytest.approx(value),) for index, value in known.items()}
    states = [facts.state for facts in data.trials]
    assert states.count("failed") == 1 and states.count("complete") == 7
    assert len(data.history.failed) == 1
    arms = {t.index: t.arms[0].parameters for t in made._experiment.trials.values()}
    for facts in data.trials:
        if facts.state == "complete":
            assert facts.is_feasible == (arms[facts.number]["rate"] <= 0.6)
    assert any(facts.acquisition is not None for facts in data.trials)
    assert all(facts.end >= facts.start for facts in data.trials)
    model = StudyModel(data)
    best = min((v, n) for n, v in known.items() if arms[n]["rate"] <= 0.6)
    assert data.numbers[model.best] == best[1]
    means, _ = model.objective(0).posterior(model.history.points[[model.best]])
    assert means[0] == pytest.approx(best[0], abs=0.02)


def test_an_experiment_without_a_client_and_any_objective_is_read(
    client: Callable[..., Client],
) -> None:
    made = client("2*y - z")
    assert experiment_data(made).trials == ()
    for index, params in made.get_next_trials(max_trials=3).items():
        made.complete_trial(index, raw_data={"y": loss(params), "z": params["rate"]})
    data = experiment_data(made._experiment)
    assert data.objectives[0].is_maximised
    for facts in data.trials:
        params = made._experiment.trials[facts.number].arms[0].parameters
        assert facts.values == (pytest.approx(2.0 * loss(params) - params["rate"]),)
    assert not data.settings.deterministic
