"""What Ax shows of the model is what chose the arm."""

from typing import Any

import numpy as np
import pytest
from ax.api.client import Client

import heat_plugins.suggest
from heat_plugins.gp import fit
from heat_plugins.gp.outcomes import Outcomes

Params = dict[str, Any]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[Outcomes]:
    """All models that arms are chosen with, in the order of the arms."""
    found: list[Outcomes] = []
    make = heat_plugins.suggest._outcomes

    def kept(*arguments: Any) -> Outcomes:
        found.append(make(*arguments))
        return found[-1]

    monkeypatch.setattr(heat_plugins.suggest, "_outcomes", kept)
    return found


@pytest.fixture
def space(choice: Any, number: Any) -> list[Any]:
    """Two parameters with choices and a number."""
    return [choice("c", "abcd"), choice("d", "abc"), number("x")]


def outcomes_of(params: Params) -> dict[str, Any]:
    effect = "abcd".index(params["c"]) + 0.5 * "abc".index(params["d"])
    return {"y": effect + 3.0 * (params["x"] - 0.4) ** 2, "w": params["x"] - 0.1 * effect}


def with_errors(params: Params) -> dict[str, Any]:
    return {name: (value, 0.3) for name, value in outcomes_of(params).items()}


@pytest.mark.parametrize("objective", ["-y", "y"])
@pytest.mark.parametrize("measure", [outcomes_of, with_errors])
def test_predictions_are_those_that_chose_the_arm(
    client_of: Any,
    space: list[Any],
    run: Any,
    models: list[Outcomes],
    objective: str,
    measure: Any,
) -> None:
    """Up to the least noise that GPyTorch's algebra needs."""
    settings = {"objective": objective, "n_startup_trials": 12}
    client = client_of(space, outcome_constraints=["w <= 0.5"], **settings)
    asked = run(client, measure, 12)
    client.get_next_trials(1)
    (goal,), (limit,) = models[-1].objectives, models[-1].constraints
    predictions = client.predict([{**params, "x": 0.3} for params in asked])
    points = goal.points.copy()
    points[:, -1] = 0.3  # in order of completion, which is that of the arms
    for metric, model in (("y", goal), ("w", limit)):
        observed = np.array([outcomes_of(params)[metric] for params in asked])
        sign = -1.0 if objective == "y" and metric == "y" else 1.0
        mean, variance = model.surrogate.posterior(points)
        found = np.array([prediction[metric] for prediction in predictions])
        expected = observed.mean() + sign * observed.std() * mean
        np.testing.assert_allclose(found[:, 0], expected, atol=0.02 * observed.std())
        deviation = np.sqrt(variance) * observed.std()
        np.testing.assert_allclose(found[:, 1], deviation, rtol=0.1, atol=0.02 * observed.std())


@pytest.mark.parametrize("objective", ["-y", "y"])
def test_outliers_are_pulled_in_for_predictions_as_for_arms(
    client_of: Any, space: list[Any], run: Any, models: list[Outcomes], objective: str
) -> None:
    sign = 1.0 if objective == "-y" else -1.0

    def measure(params: Params) -> dict[str, Any]:
        found = outcomes_of(params)
        return found if params["x"] < 0.8 else {**found, "y": sign * 1e6}

    client = client_of(space, objective=objective, n_startup_trials=12)
    asked = run(client, measure, 12)
    assert any(params["x"] >= 0.8 for params in asked)
    client.get_next_trials(1)
    predictions = client.predict([{**params, "x": 0.3} for params in asked])
    found = np.array([prediction["y"][0] for prediction in predictions])
    points = models[-1].objectives[0].points.copy()
    points[:, -1] = 0.3
    mean = models[-1].objectives[0].surrogate.mean(points)
    assert np.corrcoef(sign * found, mean)[0, 1] > 0.9999
    assert np.abs(found).max() < 100.0


def test_a_metric_is_fitted_once(
    client_of: Any, space: list[Any], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: Client = client_of(space)
    run(client, outcomes_of, 8)
    calls = []
    make = fit._candidates

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(fit, "_candidates", counted)
    client.get_next_trials(1)
    assert len(calls) == 2  # y and w, which is not needed to choose an arm


@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_predicted_errors_have_the_unit_of_the_metric(
    client_of: Any, space: list[Any], run: Any, unit: float
) -> None:
    """However small that is: GPyTorch rounds small variances up, and warns."""

    def error_in(unit: float) -> float:
        client = client_of(space, n_startup_trials=8, deterministic_objective=True)
        arms = run(client, lambda params: unit * outcomes_of(params)["y"], 8)
        _, error = client.predict(arms[:1])[0]["y"]
        return float(error)

    assert error_in(1.0) > 0.0
    assert error_in(unit) / unit == pytest.approx(error_in(1.0), rel=1e-3)
