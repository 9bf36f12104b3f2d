"""Every kind of parameter: what is proposed has the right type, is inside, and is found."""

import math
from typing import Any

import pytest
from ax.adapter.cross_validation import cross_validate
from ax.api.client import Client
from ax.api.configs import DerivedParameterConfig
from ax.core.parameter import (
    ChoiceParameter,
    DerivedParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.exceptions.core import SearchSpaceExhausted

Params = dict[str, Any]
FLOAT, INT, TEXT = ParameterType.FLOAT, ParameterType.INT, ParameterType.STRING


@pytest.mark.parametrize("is_ordered", [False, True], ids=["unordered", "ordered"])
@pytest.mark.parametrize(
    "values",
    [["low", "mid", "high", "top"], [8, 1, 64, 3], [0.5, 0.1, 2.0, 30.0], [True, False]],
    ids=["str", "int", "float", "bool"],
)
def test_choices_come_as_they_were_given(
    client_of: Any, choice: Any, run: Any, values: list[Any], is_ordered: bool
) -> None:
    parameters = [choice("c", values, is_ordered=is_ordered), choice("other", "abcd")]
    client = client_of(parameters)
    n_trials = 8 if len(values) == 2 else 6  # all of them, or enough to see some of the model
    asked = run(client, lambda p: values.index(p["c"]) + (p["other"] != "b"), n_trials)
    assert {type(p["c"]) for p in asked} == {type(values[0])}
    assert {p["c"] for p in asked} <= set(values)
    assert all(set(p) == {"c", "other"} for p in asked)
    assert {"c": values[0], "other": "b"} in asked or len(values) > 2


def test_ordered_numbers_are_quantities_and_ordered_strings_a_path(
    client_of: Any, choice: Any, run: Any
) -> None:
    batch = choice("batch", [8, 16, 32, 64], is_ordered=True)
    size = choice("size", ["s", "m", "l"], is_ordered=True)
    client = client_of([batch, size, choice("c")])
    run(client, lambda p: p["batch"] + (p["size"] != "m"), 5)
    adapter = client._generation_strategy.adapter
    assert adapter._model.scales == {"batch": "log"}  # which Ax itself sees in the values
    assert type(adapter._codes.space.parameters[1]).__name__ == "Ordinal"
    assert type(adapter._codes.space.parameters[2]).__name__ == "Categorical"


def test_ranges_are_kept_and_searched_on_their_scale(
    client_of: Any, number: Any, run: Any
) -> None:
    parameters = [
        number("f", -3.0, 5.0),
        number("rate", 1e-6, 1.0, scaling="log"),
        number("i", -3, 5),
        number("units", 1, 1024, scaling="log"),
        number("share", 0.0, 1.0, step_size=0.25),
        number("tens", 10, 50, step_size=10),
    ]
    client = client_of(parameters, n_startup_trials=8)
    asked = run(client, lambda p: p["f"] ** 2 + abs(math.log10(p["rate"]) + 3), 14)
    assert all(isinstance(p[k], float) for p in asked for k in ("f", "rate", "share"))
    assert all(type(p[k]) is int for p in asked for k in ("i", "units", "tens"))
    assert all(-3.0 <= p["f"] <= 5.0 and 1e-6 <= p["rate"] <= 1.0 for p in asked)
    assert all(-3 <= p["i"] <= 5 and 1 <= p["units"] <= 1024 for p in asked)
    assert {p["share"] for p in asked} <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert {p["tens"] for p in asked} <= {10, 20, 30, 40, 50}
    # Half of what is drawn on a logarithmic scale is below the root.
    assert sum(p["rate"] < 1e-3 for p in asked[:8]) >= 2
    assert sum(p["units"] < 32 for p in asked[:8]) >= 2


def test_digits_are_kept(client_of: Any, run: Any) -> None:
    parameters = [
        RangeParameter("round", FLOAT, 0.0, 1.0, digits=1),
        RangeParameter("rate", FLOAT, 0.001, 1.0, log_scale=True, digits=3),
        RangeParameter("odd", FLOAT, 0.05, 0.95, digits=1),
    ]
    client = client_of(parameters)
    asked = run(client, lambda p: p["round"] + p["rate"] + p["odd"], 8)
    assert all(p["round"] == round(p["round"], 1) for p in asked)
    assert all(p["rate"] == round(p["rate"], 3) and p["rate"] > 0.0 for p in asked)
    assert all(p["odd"] == round(p["odd"], 1) for p in asked)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (RangeParameter("x", FLOAT, 0.0, 0.5, digits=1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (RangeParameter("x", FLOAT, 0.05, 0.35, digits=1), [0.1, 0.2, 0.3]),
        (RangeParameter("x", FLOAT, -0.1, 0.14, digits=1), [-0.1, 0.0, 0.1]),
        (RangeParameter("x", FLOAT, 0.1, 0.4, digits=1, log_scale=True), [0.1, 0.2, 0.3, 0.4]),
    ],
    ids=["round bounds", "odd bounds", "below 0", "log"],
)
def test_a_rounded_range_is_exhausted_like_a_list_of_numbers(
    client_of: Any, run: Any, parameter: RangeParameter, values: list[float]
) -> None:
    client = client_of([parameter], deterministic_objective=True)
    asked = run(client, lambda p: p["x"], len(values))
    assert sorted(p["x"] for p in asked) == values
    with pytest.raises(SearchSpaceExhausted):
        client.get_next_trials(1)


def test_probabilities_are_searched_on_the_logit_scale(client_of: Any, run: Any) -> None:
    parameter = RangeParameter("p", FLOAT, 1e-4, 1.0 - 1e-4, logit_scale=True)
    client = client_of([parameter], n_startup_trials=12)
    asked = run(client, lambda p: abs(p["p"] - 0.99), 16)
    assert all(1e-4 <= p["p"] <= 1.0 - 1e-4 for p in asked)
    assert sum(not 0.05 < p["p"] < 0.95 for p in asked[:12]) >= 4  # one in ten on a linear one
    assert min(abs(p["p"] - 0.99) for p in asked[12:]) < 0.02


def test_fixed_and_derived_parameters_are_filled_in(
    client_of: Any, choice: Any, number: Any, run: Any
) -> None:
    derived = DerivedParameterConfig(
        name="d", expression_str="1.0 - 2.0 * x", parameter_type="float"
    )
    parameters = [choice("c"), choice("only", ["one"]), number("x"), derived]
    client = client_of(parameters)
    asked = run(client, lambda p: p["x"] + (p["c"] != "a"), 8)
    assert {p["only"] for p in asked} == {"one"}
    assert [p["d"] for p in asked] == pytest.approx([1.0 - 2.0 * p["x"] for p in asked])
    assert client.predict(asked[:1])[0]["y"][1] >= 0.0
    assert [p.name for p in client._generation_strategy.adapter._codes.space.parameters] == [
        "c",
        "x",
    ]


def test_core_parameters_that_are_fixed_or_derived(client_of: Any, run: Any) -> None:
    parameters = [
        ChoiceParameter("c", TEXT, list("abc"), is_ordered=False),
        FixedParameter("one", INT, 1),
        RangeParameter("n", INT, 1, 9),
        DerivedParameter("more", INT, expression_str="n + 10"),
    ]
    client = client_of(parameters)
    asked = run(client, lambda p: p["n"] + (p["c"] != "a"), 7)
    assert {p["one"] for p in asked} == {1}
    assert all(p["more"] == p["n"] + 10 and type(p["more"]) is int for p in asked)


def test_one_parameter_is_enough(client_of: Any, choice: Any, number: Any, run: Any) -> None:
    assert len({p["c"] for p in run(client_of([choice("c", "abcdef")]), lambda p: 0.0, 6)}) == 6
    assert len({p["x"] for p in run(client_of([number("x")]), lambda p: p["x"], 6)}) == 6


def test_many_choices(client_of: Any, choice: Any, run: Any) -> None:
    client = client_of([choice("c", [f"v{i}" for i in range(40)]), choice("d")])
    asked = run(client, lambda p: int(p["c"][1:]), 8)
    assert len({tuple(p.values()) for p in asked}) == 8


def tree() -> list[Parameter]:
    """Two models with parameters of their own, one of which has another under it."""
    return [
        ChoiceParameter(
            "model",
            TEXT,
            ["linear", "trees", "constant"],
            is_ordered=False,
            dependents={"linear": ["rate", "penalty"], "trees": ["rounds"]},
        ),
        RangeParameter("rate", FLOAT, 1e-3, 1.0, log_scale=True),
        ChoiceParameter(
            "penalty",
            TEXT,
            ["none", "l1", "l2"],
            is_ordered=False,
            dependents={"l2": ["weight"]},
        ),
        RangeParameter("weight", FLOAT, 0.0, 1.0),
        RangeParameter("rounds", INT, 10, 30),
        ChoiceParameter("scaler", TEXT, ["on", "off"]),
    ]


def active(params: Params) -> set[str]:
    """The parameters that belong to a choice of the others."""
    names = {"model", "scaler"}
    if params["model"] == "linear":
        names |= {"rate", "penalty"} | ({"weight"} if params["penalty"] == "l2" else set())
    return names | ({"rounds"} if params["model"] == "trees" else set())


def value_in_tree(params: Params) -> float:
    value = {"linear": 0.0, "trees": 0.5, "constant": 2.0}[params["model"]]
    value += 0.3 * (params["scaler"] == "off") + params.get("weight", 0.4)
    return value + abs(params.get("rounds", 20) - 20) / 10 + params.get("rate", 0.0)


@pytest.fixture(scope="module")
def in_tree(client_of: Any, run: Any) -> tuple[Client, list[Params]]:
    client = client_of(tree(), n_startup_trials=8)
    return client, run(client, value_in_tree, 16)


def test_inactive_parameters_are_absent(in_tree: tuple[Client, list[Params]]) -> None:
    assert all(set(params) == active(params) for params in in_tree[1])


def test_all_branches_are_tried_and_the_best_is_followed(
    in_tree: tuple[Client, list[Params]],
) -> None:
    asked = in_tree[1]
    assert {p["model"] for p in asked[:8]} == {"linear", "trees", "constant"}
    assert len({tuple(sorted(p.items())) for p in asked}) == 16
    by_model = sum(p["model"] == "linear" for p in asked[8:])
    assert by_model >= 4
    assert min(map(value_in_tree, asked[8:])) < min(map(value_in_tree, asked[:8]))


def test_an_inactive_parameter_changes_no_prediction(
    in_tree: tuple[Client, list[Params]],
) -> None:
    client = in_tree[0]
    trees = {"model": "trees", "rounds": 20, "scaler": "on"}
    constant = {"model": "constant", "scaler": "on"}
    (of_trees, of_constant) = client.predict([trees, constant])
    assert of_trees["y"][0] < of_constant["y"][0]
    conditions = client._generation_strategy.adapter._codes.conditions
    assert conditions is not None and conditions.trees


def test_cross_validation_of_conditional_parameters(
    in_tree: tuple[Client, list[Params]],
) -> None:
    results = cross_validate(in_tree[0]._generation_strategy.adapter)
    assert len(results) == 15  # what was known when the last trial was asked for
    assert all(math.isfinite(result.predicted.means[0]) for result in results)


def test_a_best_conditional_arm_is_reported_without_inactive_parameters(
    in_tree: tuple[Client, list[Params]],
) -> None:
    params = in_tree[0].get_best_parameterization()[0]
    assert set(params) == active(params)


def test_the_clients_own_words_for_dependent_parameters(
    client_of: Any, choice: Any, number: Any, run: Any
) -> None:
    under = {"a": ["x"], "b": ["k"]}
    parameters = [choice("c", dependent_parameters=under), number("x"), number("k", 1, 5)]
    asked = run(client_of(parameters), lambda p: p.get("x", 0.5), 8)
    expected = {"a": {"c", "x"}, "b": {"c", "k"}, "c": {"c"}}
    assert all(set(p) == expected[p["c"]] for p in asked)
