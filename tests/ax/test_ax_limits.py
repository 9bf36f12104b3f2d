"""What proposals must keep to: parameter constraints and given values."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from ax.core.parameter import ChoiceParameter, ParameterType, RangeParameter
from ax.core.parameter_constraint import ParameterConstraint
from ax.exceptions.core import SearchSpaceExhausted

Params = dict[str, Any]
EQUAL = 1e-8  # what Ax tolerates
N_TRIALS = 8  # of which the first 4 are random


def towards_all(params: Params) -> float:
    """Large numbers are good, so that limits are where the best values are."""
    return -sum(float(x) for x in params.values() if isinstance(x, int | float))


def run_within(
    client: Any, run: Callable[..., list[Params]], holds: Callable[[Params], bool], **given: Any
) -> list[Params]:
    asked = run(client, towards_all, N_TRIALS, **given)
    assert all(holds(params) for params in asked)
    assert len({tuple(params.values()) for params in asked}) == len(asked)
    return asked


def test_a_sum_of_floats(client_of: Any, choice: Any, number: Any, run: Any) -> None:
    client = client_of([number("x1"), number("x2"), choice("c")], constraints=["x1 + x2 <= 1.0"])
    asked = run_within(client, run, lambda p: p["x1"] + p["x2"] <= 1.0 + EQUAL)
    # The model goes where the best values are, up to the limit.
    assert max(p["x1"] + p["x2"] for p in asked[4:]) > 0.95


def test_a_best_point_on_a_limit_is_not_repeated_in_other_last_bits(
    client_of: Any, number: Any, run: Any
) -> None:
    client = client_of([number("x1"), number("x2")], constraints=["x1 + x2 <= 1.0"])
    asked = run(client, lambda p: -2 * p["x1"] - p["x2"], 20)
    gaps = [max(abs(p[n] - q[n]) for n in p) for p, q in itertools.combinations(asked, 2)]
    assert min(gaps) > 0.99e-6
    assert max(p["x1"] for p in asked) == pytest.approx(1.0)


def test_an_order(client_of: Any, number: Any, run: Any) -> None:
    client = client_of([number("low"), number("high")], constraints=["low <= high"])
    run_within(client, run, lambda p: p["low"] <= p["high"] + EQUAL)


def test_several_limits_with_negative_numbers(client_of: Any, number: Any, run: Any) -> None:
    parameters = [number("a", -5.0, 5.0), number("b", -10.0, 2.0), number("c", -1.0, 1.0)]
    constraints = ["a + 2*b <= -3.0", "a >= c", "-1.0*b + c <= 6.0"]
    client = client_of(parameters, constraints=constraints)

    def holds(p: Params) -> bool:
        return bool(
            p["a"] + 2 * p["b"] <= -3.0 + EQUAL
            and p["a"] >= p["c"] - EQUAL
            and p["c"] - p["b"] <= 6.0 + EQUAL
        )

    run_within(client, run, holds)


def test_whole_numbers(client_of: Any, number: Any, run: Any) -> None:
    client = client_of([number("i", 0, 9), number("j", 0, 9)], constraints=["i + j <= 5"])
    asked = run_within(client, run, lambda p: p["i"] + p["j"] <= 5)
    assert max(p["i"] + p["j"] for p in asked) == 5


def test_whole_numbers_and_floats_together(client_of: Any, number: Any, run: Any) -> None:
    client = client_of([number("i", 1, 9), number("x")], constraints=["0.1*i + x <= 1.0"])
    run_within(client, run, lambda p: 0.1 * p["i"] + p["x"] <= 1.0 + EQUAL)


def test_ordered_choices_that_are_numbers(
    client_of: Any, choice: Any, number: Any, run: Any
) -> None:
    parameters = [choice("k", [1, 2, 5, 7], is_ordered=True), number("n", 0, 20)]
    client = client_of(parameters, constraints=["3*k + n <= 20"])
    asked = run_within(client, run, lambda p: 3 * p["k"] + p["n"] <= 20)
    assert len({p["k"] for p in asked}) > 1


def test_a_stepped_range(client_of: Any, number: Any, run: Any) -> None:
    parameters = [number("share", 0.0, 1.0, step_size=0.25), number("x")]
    client = client_of(parameters, constraints=["share + x <= 0.6"])
    run_within(client, run, lambda p: p["share"] + p["x"] <= 0.6 + EQUAL)


def unit(*names: str) -> list[RangeParameter]:
    return [RangeParameter(name, ParameterType.FLOAT, 0.0, 1.0) for name in names]


def whole(*names: str) -> list[RangeParameter]:
    return [RangeParameter(name, ParameterType.INT, 0, 20) for name in names]


def test_an_equality(client_of: Any, run: Any) -> None:
    kind = ChoiceParameter("kind", ParameterType.STRING, list("abc"), is_ordered=False)
    equality = ParameterConstraint(equality="a + b + c == 1.0")
    client = client_of([kind, *unit("a", "b", "c")], constraints=[equality])
    asked = run_within(client, run, lambda p: abs(p["a"] + p["b"] + p["c"] - 1.0) <= EQUAL)
    assert len({p["a"] for p in asked}) > 4


def test_an_equality_of_whole_numbers(client_of: Any, run: Any) -> None:
    equality = ParameterConstraint(equality="i + j == 20")
    client = client_of(whole("i", "j"), constraints=[equality])
    asked = run_within(client, run, lambda p: p["i"] + p["j"] == 20)
    assert len({p["i"] for p in asked}) == N_TRIALS


def test_a_probability_on_the_logit_scale(client_of: Any, run: Any) -> None:
    share = RangeParameter("share", ParameterType.FLOAT, 0.01, 0.99, logit_scale=True)
    limit = ParameterConstraint(inequality="share + x <= 0.6")
    client = client_of([share, *unit("x")], constraints=[limit])
    run_within(client, run, lambda p: p["share"] + p["x"] <= 0.6 + EQUAL)


def test_limits_on_a_parameter_that_need_not_exist(client_of: Any, run: Any) -> None:
    parameters = [
        ChoiceParameter(
            "c", ParameterType.STRING, list("ab"), is_ordered=False, dependents={"a": ["x"]}
        ),
        RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0),
        RangeParameter("y", ParameterType.FLOAT, 0.0, 1.0),
    ]
    limit = ParameterConstraint(inequality="x + y <= 0.7")
    client = client_of(parameters, constraints=[limit])
    # Where x does not exist, there is nothing to limit.
    asked = run_within(client, run, lambda p: p["c"] == "b" or p["x"] + p["y"] <= 0.7 + EQUAL)
    assert {p["c"] for p in asked} == {"a", "b"}


# ------------------------------------------------------------------------- given values


@pytest.mark.parametrize("n_startup_trials", [0, 20], ids=["model", "start-up"])
def test_given_values_are_kept(
    client_of: Any, choice: Any, number: Any, run: Any, n_startup_trials: int
) -> None:
    parameters = [choice("c", "abcd"), choice("k", [1, 2, 4]), number("x"), number("n", 1, 9)]
    client = client_of(parameters, n_startup_trials=n_startup_trials)
    run(client, towards_all, 3)
    given = {"c": "d", "k": 2, "n": 3}
    asked = run(client, towards_all, 3, fixed_parameters=given)
    assert all(p.items() >= given.items() for p in asked)
    assert len({p["x"] for p in asked}) == 3


def test_given_values_within_limits(client_of: Any, number: Any, run: Any) -> None:
    client = client_of(
        [number("x1"), number("x2"), number("n", 1, 9)], constraints=["x1 + x2 <= 1.0"]
    )
    asked = run_within(client, run, lambda p: p["x2"] <= 0.3 + EQUAL, fixed_parameters={"x1": 0.7})
    assert {p["x1"] for p in asked} == {0.7}


def test_given_values_of_several_trials_at_once(client_of: Any, choice: Any) -> None:
    client = client_of([choice("c", "abcd"), choice("d", "abcd")])
    asked = client.get_next_trials(4, fixed_parameters={"c": "b"}).values()
    assert [p["c"] for p in asked] == ["b"] * 4
    assert {p["d"] for p in asked} == set("abcd")


def test_given_a_choice_with_parameters_under_it(client_of: Any, run: Any) -> None:
    parameters = [
        ChoiceParameter(
            "c", ParameterType.STRING, list("ab"), is_ordered=False, dependents={"a": ["x"]}
        ),
        RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0),
        RangeParameter("y", ParameterType.FLOAT, 0.0, 1.0),
    ]
    client = client_of(parameters)
    run(client, lambda p: p["y"], 5)
    assert all(
        set(p) == {"c", "x", "y"}
        for p in run(client, lambda p: p["y"], 2, fixed_parameters={"c": "a"})
    )
    assert all(
        set(p) == {"c", "y"} for p in run(client, lambda p: p["y"], 2, fixed_parameters={"c": "b"})
    )


# --------------------------------------------------------------------- what cannot be kept


def test_limits_that_exclude_everything(client_of: Any, number: Any) -> None:
    client = client_of([number("x1"), number("x2")], constraints=["x1 + x2 >= 3.0"])
    with pytest.raises(SearchSpaceExhausted, match="parameter constraints"):
        client.get_next_trials(1)


def test_a_given_value_outside_the_limits(client_of: Any, number: Any) -> None:
    client = client_of([number("x1"), number("x2")], constraints=["x1 + x2 <= 0.5"])
    with pytest.raises(SearchSpaceExhausted, match="parameter constraints"):
        client.get_next_trials(1, fixed_parameters={"x1": 0.9})


def test_limits_that_leave_a_few_points(client_of: Any, number: Any, run: Any) -> None:
    parameters = [number("i", 0, 9), number("j", 0, 9)]
    client = client_of(parameters, constraints=["i + j <= 1"], deterministic_objective=True)
    asked = run(client, towards_all, 3)
    assert {(p["i"], p["j"]) for p in asked} == {(0, 0), (0, 1), (1, 0)}
    with pytest.raises(SearchSpaceExhausted):
        client.get_next_trials(1)


def test_what_was_tried_outside_the_limits_is_learnt_from(
    client_of: Any, number: Any, run: Any
) -> None:
    client = client_of([number("x"), number("z")], constraints=["x + z <= 1.0"])
    for x in (0.6, 0.7, 0.8, 0.9):
        index = client.attach_trial({"x": x, "z": 0.05})
        client.complete_trial(index, raw_data={"y": x})
    asked = run(client, lambda p: p["x"], 4)
    assert all(p["x"] + p["z"] <= 1.0 + EQUAL for p in asked)
    assert min(p["x"] for p in asked) < 0.2
    assert math.isfinite(client.predict([{"x": 0.5, "z": 0.5}])[0]["y"][0])
