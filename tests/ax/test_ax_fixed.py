"""Parameters that are fixed: for some arms, or all of them, or by the search space."""

from typing import Any

import pytest
from ax.core.parameter import FixedParameter, ParameterType, RangeParameter
from ax.exceptions.core import SearchSpaceExhausted, UserInputError

Params = dict[str, Any]


def value_of(params: Params) -> float:
    return float(sum(v for v in params.values() if isinstance(v, float)))


@pytest.fixture
def space(choice: Any, number: Any) -> list[Any]:
    return [choice("c"), number("z", 1e-3, 1.0, scaling="log"), number("k", 1, 9)]


@pytest.fixture
def tree(choice: Any, number: Any) -> list[Any]:
    """Two branches, each with a number and a choice of its own."""
    under = {"a": ["x", "c"], "b": ["z", "d"]}
    return [
        choice("m", "ab", dependent_parameters=under),
        number("x"),
        choice("c"),
        number("z", 1e-3, 1.0, scaling="log"),
        choice("d", "pqr"),
    ]


# ------------------------------------------------------------------------ exactly as given


@pytest.mark.parametrize("value", [0.01, 0.007, 1.0 / 3.0, 1e-3, 1.0])
def test_a_fixed_number_comes_back_as_it_was_given(
    client_of: Any, space: list[Any], run: Any, value: float
) -> None:
    asked = run(client_of(space), value_of, 6, fixed_parameters={"z": value})
    assert {p["z"] for p in asked} == {value}
    assert len({(p["c"], p["k"]) for p in asked}) == 6


def test_whole_numbers_and_logits_are_exact(client_of: Any, run: Any) -> None:
    parameters = [
        RangeParameter("n", ParameterType.INT, 0, 2**60),
        RangeParameter("p", ParameterType.FLOAT, 1e-4, 1.0 - 1e-4, logit_scale=True),
        RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0),
    ]
    fixed = {"n": 2**60 - 1, "p": 0.07}
    asked = run(client_of(parameters), lambda p: p["x"], 6, fixed_parameters=fixed)
    assert {(p["n"], p["p"]) for p in asked} == {(2**60 - 1, 0.07)}
    assert all(type(p["n"]) is int for p in asked)
    assert len({p["x"] for p in asked}) == 6


def test_nothing_about_fixed_values_is_left_in_the_experiment(
    client_of: Any, space: list[Any], run: Any
) -> None:
    client = client_of(space)
    run(client, value_of, 1, fixed_parameters={"z": 0.01})
    (generator_run,) = client._experiment.trials[0].generator_runs
    (metadata,) = generator_run.candidate_metadata_by_arm_signature.values()
    assert [*metadata] == ["heat_plugins:region"]


# --------------------------------------------------------------------- dependent parameters


@pytest.mark.parametrize(
    ("fixed", "names"),
    [({"m": "a"}, {"m", "x", "c"}), ({"m": "b"}, {"m", "z", "d"}), ({"m": "b", "x": 0.5}, None)],
)
def test_what_depends_on_a_fixed_choice_is_searched(
    client_of: Any, tree: list[Any], run: Any, fixed: Params, names: set[str] | None
) -> None:
    asked = run(client_of(tree), value_of, 9, fixed_parameters=fixed)
    assert all(set(p) == (names or {"m", "z", "d"}) for p in asked)
    assert len({tuple(sorted(p.items())) for p in asked}) == 9
    assert len({p.get("c", p.get("d")) for p in asked}) == 3


def test_a_dependent_parameter_is_fixed_where_it_exists(
    client_of: Any, tree: list[Any], run: Any
) -> None:
    asked = run(client_of(tree, n_startup_trials=8), value_of, 10, fixed_parameters={"c": "b"})
    assert {p["m"] for p in asked} == {"a", "b"}
    assert {p["c"] for p in asked if p["m"] == "a"} == {"b"}


# ------------------------------------------------------------------------ nothing is left


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_all_parameters_fixed_for_an_arm(
    client_of: Any, space: list[Any], run: Any, is_deterministic: bool
) -> None:
    client = client_of(space, deterministic_objective=is_deterministic)
    fixed = {"c": "b", "z": 0.01, "k": 3}
    assert run(client, lambda p: 1.0, 1, fixed_parameters=fixed) == [fixed]
    if is_deterministic:
        with pytest.raises(SearchSpaceExhausted, match="with these fixed values"):
            client.get_next_trials(1, fixed_parameters=fixed)
    else:
        values = iter([2.0, 1.0, 3.0, 2.5, 1.5, 2.0])
        assert run(client, lambda p: next(values), 6, fixed_parameters=fixed) == [fixed] * 6
    assert len(run(client, value_of, 4)) == 4


@pytest.mark.parametrize("is_deterministic", [False, True])
@pytest.mark.parametrize("kind", ["fixed", "single"])
def test_a_search_space_without_anything_to_tune(
    client_of: Any, choice: Any, run: Any, kind: str, is_deterministic: bool
) -> None:
    one = FixedParameter("one", ParameterType.INT, 1)
    client = client_of(
        [one] if kind == "fixed" else [choice("one", [1])],
        deterministic_objective=is_deterministic,
    )
    assert run(client, lambda p: 3.0, 1) == [{"one": 1}]
    if is_deterministic:
        with pytest.raises(SearchSpaceExhausted, match="of the search space"):
            client.get_next_trials(1)
    else:
        values = iter([2.0, 1.0, 3.0, 2.5, 1.5, 2.0])
        assert run(client, lambda p: next(values), 6) == [{"one": 1}] * 6
    assert client.get_best_parameterization(use_model_predictions=False)[0] == {"one": 1}


# --------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"nothing": 1}, "`nothing` is fixed, but the parameters are `c`, `z`, `k`"),
        ({"c": "e"}, r"`c` must be one of \['a', 'b', 'c'\], got 'e'"),
        ({"z": 5.0}, r"`z` must be a number in \[0.001, 1.0\], got 5.0"),
        ({"z": float("nan")}, "`z` must be a number in .* got nan"),
        ({"z": None}, "`z` must be a number in .* got None"),
        ({"k": 3.5}, r"`k` must be a whole number in \[1, 9\], got 3.5"),
        ({"k": True}, "`k` must be a whole number in .* got True"),
    ],
)
def test_what_cannot_be_fixed(
    client_of: Any, space: list[Any], fixed: Params, message: str
) -> None:
    client = client_of(space)
    with pytest.raises(UserInputError, match=message):
        client.get_next_trials(1, fixed_parameters=fixed)
    assert len(client.get_next_trials(1)) == 1


def test_a_fixed_parameter_cannot_be_fixed_otherwise(client_of: Any) -> None:
    one = FixedParameter("one", ParameterType.INT, 1)
    client = client_of([one, RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0)])
    with pytest.raises(UserInputError, match="`one` must be 1, .* got 2"):
        client.get_next_trials(1, fixed_parameters={"one": 2})
    ((_, params),) = client.get_next_trials(1, fixed_parameters={"one": 1, "x": 0.25}).items()
    assert params == {"one": 1, "x": 0.25}
