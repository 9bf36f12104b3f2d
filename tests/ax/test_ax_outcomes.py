"""What trials are measured by: noise, outcome constraints, several objectives, missing values."""

import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ax.adapter.cross_validation import cross_validate
from ax.api.client import Client
from ax.api.protocols.metric import IMetric
from ax.api.protocols.runner import IRunner
from ax.core.trial_status import TrialStatus
from ax.exceptions.core import DataRequiredError
from ax.utils.common.logger import get_logger

Params = dict[str, Any]
LETTERS = "abcd"


def value_of(params: Params) -> float:
    return LETTERS.index(params["c"]) + (params["x"] - 0.3) ** 2


@pytest.fixture(scope="module")
def space(choice: Any, number: Any) -> list[Any]:
    return [choice("c", LETTERS), number("x"), number("n", 1, 9)]


def attach(client: Client, params: Params, values: dict[str, Any]) -> int:
    index: int = client.attach_trial(params)
    client.complete_trial(index, raw_data=values)
    return index


def grid(client: Client, values_of: Any) -> None:
    """Attach eight trials all over the space."""
    for k in range(8):
        params = {"c": LETTERS[k % 4], "x": (k * 3 % 8) / 7, "n": 1 + k}
        attach(client, params, values_of(params))


# ----------------------------------------------------------------------------------- noise


def test_a_very_noisy_outlier_is_not_believed(client_of: Any, space: list[Any]) -> None:
    outlier = {"c": "d", "x": 0.9, "n": 5}
    predicted, proposed = {}, {}
    for sem in (0.01, 50.0):
        client = client_of(space)
        grid(client, lambda p: {"y": (value_of(p), 0.01)})
        attach(client, outlier, {"y": (-20.0, sem)})
        ((_, proposed[sem]),) = client.get_next_trials(1).items()
        predicted[sem] = client.predict([outlier])[0]["y"][0]
    assert predicted[0.01] == pytest.approx(-20.0, abs=2.0)
    assert predicted[50.0] > -5.0
    # The search goes to the outlier only where that is believed.
    assert proposed[0.01]["c"] == "d"
    assert proposed[50.0]["c"] != "d"


@pytest.fixture
def warned() -> Iterator[list[str]]:
    """Collect what our own loggers say; Ax's do not pass it on to those of pytest."""
    messages: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    ours = get_logger("heat_plugins.ax.generator")
    ours.addHandler(handler)
    yield messages
    ours.removeHandler(handler)


@pytest.mark.parametrize("sem", [0.0, 1e-3])
def test_standard_errors_that_are_too_small(
    client_of: Any, space: list[Any], run: Any, warned: list[str], sem: float
) -> None:
    client, rng = client_of(space), np.random.default_rng(0)
    run(client, lambda p: (value_of(p) + 0.2 * rng.standard_normal(), sem), 16)
    best = {"c": "a", "x": 0.3, "n": 5}
    for _ in range(4):
        attach(client, best, {"y": (value_of(best) + 0.2 * rng.standard_normal(), sem)})
    run(client, lambda p: (value_of(p) + 0.2 * rng.standard_normal(), sem), 6)
    (mean, error), (far, _) = (
        p["y"] for p in client.predict([best, {"c": "d", "x": 1.0, "n": 1}])
    )
    assert abs(mean - value_of(best)) < 0.4 and 0.01 < error < 0.5
    assert 0.0 < far < 6.0
    assert len(warned) == 1
    assert "standard errors of metric `y` are too small" in warned[0]


def test_one_arm_twice_with_values_far_apart(
    client_of: Any, space: list[Any], run: Any, warned: list[str]
) -> None:
    client = client_of(space)
    grid(client, lambda p: {"y": (value_of(p), 1e-4)})
    arm = {"c": "a", "x": 0.3, "n": 5}
    for value in (0.0, 100.0):
        attach(client, arm, {"y": (value, 1e-4)})
    asked = run(client, lambda p: (value_of(p), 1e-4), 4)
    assert len({tuple(p.values()) for p in asked}) == 4
    assert 0.0 < client.predict([arm])[0]["y"][0] < 100.0
    assert len(warned) == 1


def test_very_many_outcome_constraints_are_not_all_modelled(
    client_of: Any, space: list[Any], warned: list[str]
) -> None:
    limits = [f"m{i} <= 0.5" for i in range(12)]
    client = client_of(space, outcome_constraints=limits)

    def values(params: Params) -> dict[str, float]:
        measured = {f"m{i}": ((i * params["n"]) % 7) / 7 + params["x"] for i in range(12)}
        return {"y": value_of(params), **measured}

    grid(client, values)
    for _ in range(4):
        for index, params in client.get_next_trials(1).items():
            client.complete_trial(index, raw_data=values(params))
    assert len(warned) == 1
    assert "Not all outcome constraints that arms violate are modelled" in warned[0]


def test_standard_errors_that_are_large_enough(
    client_of: Any, space: list[Any], run: Any, warned: list[str]
) -> None:
    client, rng = client_of(space), np.random.default_rng(0)
    grid(client, lambda p: {"y": (value_of(p) + 0.1 * rng.standard_normal(), 0.1)})
    for _ in range(4):
        arm = {"c": "a", "x": 0.3, "n": 5}
        attach(client, arm, {"y": (value_of(arm) + 0.1 * rng.standard_normal(), 0.1)})
    run(client, lambda p: (value_of(p) + 0.1 * rng.standard_normal(), 0.1), 5)
    assert not warned


@pytest.mark.parametrize("sem", [math.inf, 1e200])
def test_a_value_with_an_infinite_error_says_nothing(
    client_of: Any, space: list[Any], run: Any, sem: float
) -> None:
    client = client_of(space)
    outlier = {"c": "d", "x": 0.9, "n": 5}
    attach(client, outlier, {"y": (-20.0, sem)})
    run(client, lambda p: (value_of(p), sem), 2)  # and nothing else is known yet
    grid(client, lambda p: {"y": (value_of(p), 0.01)})
    asked = run(client, lambda p: (value_of(p), 0.01), 3)
    assert client.predict([outlier])[0]["y"][0] > 1.0
    assert all(p["c"] != "d" for p in asked)


@pytest.mark.parametrize("told", [(-20.0, math.inf), math.inf])
def test_cross_validation_leaves_out_what_says_nothing(
    client_of: Any, space: list[Any], told: Any
) -> None:
    client = client_of(space)
    attach(client, {"c": "d", "x": 0.9, "n": 5}, {"y": told})
    grid(client, lambda p: {"y": (value_of(p), 0.01)})
    client.get_next_trials(1)
    results = cross_validate(client._generation_strategy.adapter)
    assert len(results) == 9
    assert all(np.isfinite(result.predicted.means_dict["y"]) for result in results)


@pytest.mark.parametrize("first", [1.0, math.inf])
def test_cross_validation_wants_finite_values(
    client_of: Any, space: list[Any], first: float
) -> None:
    client = client_of(space)
    attach(client, {"c": "a", "x": 0.1, "n": 5}, {"y": first})
    for x in (0.2, 0.3):
        attach(client, {"c": "a", "x": x, "n": 5}, {"y": math.inf})
    client.get_next_trials(1)
    with pytest.raises(DataRequiredError, match="finite values of every metric"):
        client.get_best_parameterization()


def test_known_noise_is_in_the_model_of_ax(client_of: Any, space: list[Any]) -> None:
    client = client_of(space)
    grid(client, lambda p: {"y": (value_of(p), 0.0)})
    client.get_next_trials(1)
    point = {"c": "b", "x": 3 / 7, "n": 2}  # the second of the grid
    mean, sem = client.predict([point])[0]["y"]
    assert mean == pytest.approx(value_of(point), abs=0.05)
    assert sem < 0.1


def test_an_arm_that_is_measured_twice(client_of: Any, space: list[Any]) -> None:
    client = client_of(space)
    grid(client, lambda p: {"y": value_of(p)})
    for y in (1.0, 2.0):
        attach(client, {"c": "b", "x": 0.3, "n": 4}, {"y": y})
    client.get_next_trials(1)
    assert 0.9 < client.predict([{"c": "b", "x": 0.3, "n": 4}])[0]["y"][0] < 2.1


# --------------------------------------------------------------------- outcome constraints


def test_an_outcome_constraint_is_learnt(client_of: Any, space: list[Any], run: Any) -> None:
    """The best values are at c = a, which is infeasible."""
    client = client_of(space, outcome_constraints=["w <= 0.5"])

    def outcomes(params: Params) -> dict[str, float]:
        return {"y": value_of(params), "w": float(params["c"] == "a") + params["x"] / 10}

    grid(client, outcomes)
    asked = run(client, outcomes, 6)
    assert sum(p["c"] == "a" for p in asked) <= 1
    assert sum(p["c"] == "b" for p in asked) >= 3
    for use_model_predictions in (True, False):
        params, values, *_ = client.get_best_parameterization(use_model_predictions)
        assert params["c"] == "b"
        assert all(math.isfinite(_mean(value)) for value in values.values())


def _mean(value: Any) -> float:
    return float(value[0] if isinstance(value, tuple) else value)


def test_feasibility_comes_first(client_of: Any, space: list[Any], run: Any) -> None:
    """As long as nothing is feasible, the search is for what is, not for good values."""
    client = client_of(space, outcome_constraints=["w >= 3.5"])

    def outcomes(params: Params) -> dict[str, float]:
        return {"y": value_of(params), "w": LETTERS.index(params["c"]) + params["x"]}

    for k in range(6):
        params = {"c": "abc"[k % 3], "x": k / 10, "n": 1 + k}
        attach(client, params, outcomes(params))
    asked = run(client, outcomes, 5)
    assert any(outcomes(p)["w"] >= 3.5 for p in asked)


def test_a_constraint_relative_to_the_baseline(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, outcome_constraints=["w <= 0.8 * baseline"])

    def outcomes(params: Params) -> dict[str, float]:
        return {"y": -params["x"] + (params["c"] != "a"), "w": 1.0 + params["x"]}

    baseline = {"c": "d", "x": 1.0, "n": 5}
    index = client.attach_baseline(baseline)
    client.complete_trial(index, raw_data=outcomes(baseline))
    asked = run(client, outcomes, 11)
    # So x <= 0.6, and the best values are there.
    assert sum(p["x"] <= 0.62 for p in asked[-5:]) >= 4
    best = client.get_best_parameterization()[0]
    assert 0.3 < best["x"] <= 0.6
    assert best["c"] == "a"


def test_start_up_need_not_wait_for_the_baseline(client_of: Any, space: list[Any]) -> None:
    client = client_of(space, outcome_constraints=["w <= 0.8 * baseline"])
    client.attach_baseline({"c": "d", "x": 1.0, "n": 5})
    assert len(client.get_next_trials(2)) == 2


@pytest.mark.parametrize("limit", ["y <= 1.1 * baseline", "w <= 0.5 * baseline"])
def test_several_objectives_relative_to_the_baseline(
    client_of: Any, space: list[Any], run: Any, limit: str
) -> None:
    client = client_of(space, objective="-y, -z", outcome_constraints=[limit])

    def outcomes(params: Params) -> dict[str, float]:
        x = params["x"]
        return {"y": x + (params["c"] != "a"), "z": 1.0 - x, "w": x}

    run(client, outcomes, 3)  # the baseline has no data yet
    baseline = {"c": "a", "x": 0.9, "n": 5}
    client.complete_trial(client.attach_baseline(baseline), raw_data=outcomes(baseline))
    asked = run(client, outcomes, 9)
    limits = {"y": 0.99, "w": 0.45}
    assert sum(outcomes(p)[limit[0]] <= limits[limit[0]] + 0.05 for p in asked[-6:]) >= 4


@pytest.mark.parametrize("objective", ["-y", "-y, -z"])
@pytest.mark.parametrize("told", [None, float("nan"), float("inf")])
def test_a_baseline_without_the_metric_of_its_constraint(
    client_of: Any, space: list[Any], run: Any, objective: str, told: float | None
) -> None:
    client = client_of(space, objective=objective, outcome_constraints=["w <= 0.8 * baseline"])
    values = {"y": 1.0, "z": 1.0} | ({} if told is None else {"w": told})
    baseline = client.attach_baseline({"c": "d", "x": 1.0, "n": 5})
    client.complete_trial(baseline, raw_data=values)
    asked = run(client, lambda p: {"y": p["x"], "z": -p["x"], "w": p["x"]}, 6)
    assert len({p["x"] for p in asked}) == 6


def test_a_constraint_on_a_sum_of_metrics(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, outcome_constraints=["v + 2*w <= 1.0"])

    def outcomes(params: Params) -> dict[str, float]:
        return {"y": -params["x"], "v": params["x"], "w": params["x"] / 2}  # x <= 0.5

    asked = run(client, outcomes, 11)
    assert all(p["x"] < 0.7 for p in asked[-3:])
    assert any(0.4 < p["x"] <= 0.5 for p in asked)


def test_a_constraint_with_a_factor(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, outcome_constraints=["2*v <= 1.0"])
    asked = run(client, lambda p: {"y": -p["x"], "v": p["x"]}, 11)
    assert all(p["x"] < 0.7 for p in asked[-3:])


# ------------------------------------------------------------------------------ objectives


def test_a_weighted_sum_of_metrics(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, objective="-2*a - b")

    def outcomes(params: Params) -> dict[str, Any]:
        return {"a": (params["x"], 0.0), "b": (3.0 * (1.0 - params["x"]), 0.0)}  # 3 - x

    asked = run(client, outcomes, 10)
    assert min(abs(p["x"] - 1.0) for p in asked[4:]) < 0.05
    params, values, *_ = client.get_best_parameterization()
    assert params["x"] > 0.9
    assert set(values) >= {"a", "b"}


def two(params: Params) -> dict[str, float]:
    return {"y": params["x"], "z": 1.0 - params["x"] + LETTERS.index(params["c"])}


def test_two_objectives(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, objective="-y, -z")
    asked = run(client, two, 14)
    on_front = sorted(p["x"] for p in asked[4:] if p["c"] == "a")
    assert len(on_front) >= 6
    assert max(np.diff([0.0, *on_front, 1.0])) < 0.5
    front = client.get_pareto_frontier(use_model_predictions=False)
    assert {params["c"] for params, *_ in front} == {"a"}
    predicted = client.get_pareto_frontier()
    assert all(math.isfinite(_mean(v)) for _, values, *_ in predicted for v in values.values())


def test_thresholds_say_what_is_of_interest(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, objective="-y, -z", outcome_constraints=["y <= 0.4", "z <= 0.9"])
    asked = run(client, two, 14)
    inside = [p for p in asked[6:] if p["c"] == "a" and 0.05 <= p["x"] <= 0.45]
    assert len(inside) >= 5
    front = client.get_pareto_frontier(use_model_predictions=False)
    assert front
    assert all(0.1 <= params["x"] <= 0.4 for params, *_ in front)


def test_two_objectives_in_opposite_directions(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, objective="y, -z")
    asked = run(client, lambda p: {"y": p["x"], "z": p["x"] ** 2 + LETTERS.index(p["c"]) / 2}, 10)
    assert sum(p["c"] == "a" for p in asked[5:]) >= 3


def test_three_objectives_and_a_constraint(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, objective="-y, -z, v", outcome_constraints=["w <= 0.5"])

    def outcomes(params: Params) -> dict[str, float]:
        w = float(params["c"] == "d")
        return {**two(params), "v": float(params["n"]), "w": w}

    asked = run(client, outcomes, 7)
    assert len({tuple(p.values()) for p in asked}) == 7
    assert client.get_pareto_frontier(use_model_predictions=False)


# -------------------------------------------------------------- other and missing metrics


def test_a_tracking_metric_changes_no_proposal(client_of: Any, space: list[Any], run: Any) -> None:
    plain = client_of(space)
    tracking = client_of(space)
    tracking.configure_tracking_metrics(["a_seconds"])
    expected = run(plain, value_of, 8)
    asked = run(tracking, lambda p: {"y": value_of(p), "a_seconds": 1.0 + p["n"]}, 8)
    assert asked == expected
    assert set(tracking.predict(asked[:1])[0]) == {"y", "a_seconds"}


def test_a_tracking_metric_of_some_trials_only(client_of: Any, space: list[Any], run: Any) -> None:
    plain, tracking = client_of(space), client_of(space)
    expected = run(plain, value_of, 8)

    def outcomes(params: Params) -> dict[str, float]:
        seconds = {"seconds": float(params["n"])} if params["n"] > 4 else {}
        return {"y": value_of(params), **seconds}

    assert run(tracking, outcomes, 8) == expected


def test_trials_without_the_objective_are_not_repeated(
    client_of: Any, choice: Any, run: Any
) -> None:
    client = client_of([choice("c"), choice("d")])
    client.configure_tracking_metrics(["other"])

    def outcomes(params: Params) -> dict[str, float]:
        lost = params["d"] == "b"
        return {"other": 1.0} if lost else {"y": float(params["c"] != "b") + (params["d"] == "c")}

    asked = run(client, outcomes, 9)
    assert len({tuple(p.values()) for p in asked}) == 9


def test_a_constraint_that_was_not_measured_everywhere(
    client_of: Any, space: list[Any], run: Any
) -> None:
    client = client_of(space, outcome_constraints=["w <= 0.5"])

    def outcomes(params: Params) -> dict[str, float]:
        measured = {"w": float(params["c"] == "a")} if params["n"] % 3 else {}
        return {"y": value_of(params), **measured}

    grid(client, outcomes)
    asked = run(client, outcomes, 6)
    assert sum(p["c"] == "a" for p in asked) <= 2
    params, values, *_ = client.get_best_parameterization()
    assert params["c"] != "a"
    assert math.isfinite(_mean(values["y"]))


def test_no_data_at_all_for_the_constraint(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space, outcome_constraints=["w <= 0.5"])
    asked = run(client, lambda p: {"y": value_of(p)}, 7)
    assert len({tuple(p.values()) for p in asked}) == 7


def test_constant_values(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space)
    asked = run(client, lambda p: 1.0, 7)
    assert len({tuple(p.values()) for p in asked}) == 7
    assert client.predict(asked[:1])[0]["y"][0] == pytest.approx(1.0, abs=1e-6)


def test_huge_values_do_not_stop_the_search(client_of: Any, space: list[Any], run: Any) -> None:
    client = client_of(space)
    asked = run(client, lambda p: 1e30 if p["c"] == "d" else value_of(p), 9)
    assert sum(p["c"] == "d" for p in asked[5:]) <= 1


# ------------------------------------------------------------------- values of other kinds


def test_values_over_time_count_with_their_last(client_of: Any, space: list[Any]) -> None:
    client = client_of(space, n_startup_trials=4)
    for _ in range(8):
        ((index, params),) = client.get_next_trials(1).items()
        # What was measured on the way says the opposite of the end.
        client.attach_data(index, raw_data={"y": 10.0 - value_of(params)}, progression=1)
        client.complete_trial(index, raw_data={"y": value_of(params)}, progression=2)
    (good,), (bad,) = (
        [found["y"][0] for found in client.predict([{"c": c, "x": 0.3, "n": 5}])] for c in "ad"
    )
    assert good < bad


def test_metrics_that_ax_fetches_by_itself(client_of: Any, space: list[Any]) -> None:
    class Value(IMetric):
        def fetch(self, trial_index: int, trial_metadata: Any) -> tuple[int, float]:
            return 0, value_of(client._experiment.trials[trial_index].arm.parameters)

    class Nothing(IRunner):
        def run_trial(self, trial_index: int, parameterization: Any) -> dict[str, Any]:
            return {}

        def poll_trial(self, trial_index: int, trial_metadata: Any) -> TrialStatus:
            return TrialStatus.COMPLETED

        def stop_trial(self, trial_index: int, trial_metadata: Any) -> dict[str, Any]:
            return {}

    client = client_of(space, n_startup_trials=4)
    client.configure_metrics([Value(name="y")])
    client.configure_runner(Nothing())
    client.run_trials(
        max_trials=8,
        parallelism=2,
        tolerated_trial_failure_rate=0.0,
        initial_seconds_between_polls=0,
    )
    trials = client._experiment.trials.values()
    assert len(trials) == 8
    assert all(trial.status.is_completed for trial in trials)
    assert {trial.generator_runs[0]._generator_key for trial in trials} == {"HeatStart", "Heat"}


@pytest.mark.parametrize("huge", [math.inf, 1e300])
def test_huge_values_are_bad_ones(client_of: Any, space: list[Any], run: Any, huge: float) -> None:
    client = client_of(space, n_startup_trials=4)
    asked = run(client, lambda p: huge if p["c"] == "d" else value_of(p), 14)
    assert sum(p["c"] == "d" for p in asked[-5:]) <= 1
    assert math.isfinite(client.predict([{"c": "a", "x": 0.3, "n": 5}])[0]["y"][0])


@pytest.mark.parametrize("huge", [math.inf, 1e300])
def test_the_first_values_may_all_be_huge(
    client_of: Any, space: list[Any], run: Any, huge: float
) -> None:
    client = client_of(space, n_startup_trials=3)
    run(client, lambda p: huge, 5)
    asked = run(client, value_of, 4)
    assert len(asked) == 4
    assert math.isfinite(client.predict([{"c": "a", "x": 0.3, "n": 5}])[0]["y"][0])
