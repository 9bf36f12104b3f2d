"""What cannot be done is said with Ax's own exceptions, which name what is wrong."""

from typing import Any

import pytest
from ax.api.client import Client
from ax.core.parameter import ChoiceParameter, ParameterType, RangeParameter
from ax.exceptions.core import UnsupportedError, UserInputError

from heat_plugins import Additive, Anchors, HeatSampler, PermutationInvariant
from heat_plugins.ax import heat_generation_strategy
from heat_plugins.ax.generator import HeatStartGenerator

FLOAT, TEXT = ParameterType.FLOAT, ParameterType.STRING


# --------------------------------------------------------------------------- the parameters


def test_task_parameters(client_of: Any) -> None:
    task = ChoiceParameter(
        "site", TEXT, ["a", "b"], is_ordered=False, is_task=True, target_value="a"
    )
    client = client_of([task, RangeParameter("x", FLOAT, 0.0, 1.0)])
    with pytest.raises(UnsupportedError, match="`site` is a task parameter"):
        client.get_next_trials(1)


def test_fidelity_parameters(client_of: Any) -> None:
    fidelity = RangeParameter("epochs", FLOAT, 1.0, 9.0, is_fidelity=True, target_value=9.0)
    client = client_of([fidelity, RangeParameter("x", FLOAT, 0.0, 1.0)])
    with pytest.raises(UnsupportedError, match="`epochs` is a fidelity parameter"):
        client.get_next_trials(1)


UNKNOWN: dict[str, dict[str, Any]] = {
    "graphs": {"graphs": {"wrong": "cycle"}},
    "order": {"order": {"wrong": ["a", "b"]}},
    "quantitative": {"quantitative": ["wrong"]},
    "interchangeable": {"structure": PermutationInvariant(["c", "wrong"])},
    "anchors": {"structure": Anchors(({"wrong": "a"},))},
}


@pytest.mark.parametrize("settings", UNKNOWN.values(), ids=UNKNOWN)
def test_settings_of_an_unknown_parameter(
    client_of: Any, choice: Any, settings: dict[str, Any]
) -> None:
    client = client_of([choice("c"), choice("d")], **settings)
    with pytest.raises(UserInputError, match="wrong"):
        client.get_next_trials(1)


def test_settings_of_a_fixed_parameter(client_of: Any, choice: Any) -> None:
    client = client_of([choice("c"), choice("one", ["a"])], graphs={"one": "path"})
    with pytest.raises(UserInputError, match="`one`.*can be tuned.*`c`"):
        client.get_next_trials(1)


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "order of other choices": ({"order": {"c": ["a", "b", "z"]}}, "'c'"),
    "graph of another size": ({"graphs": {"c": [[0, 1], [1, 0]]}}, "'c'"),
    "words are no quantities": ({"quantitative": ["c"]}, "'c'"),
    "graph of a number": ({"graphs": {"x": "path"}}, "'x'"),
    "different choices": ({"structure": PermutationInvariant(["c", "other"])}, "'other'"),
}


@pytest.mark.parametrize(("settings", "message"), UNFIT.values(), ids=UNFIT)
def test_settings_that_do_not_fit_the_parameters(
    client_of: Any, choice: Any, number: Any, settings: dict[str, Any], message: str
) -> None:
    client = client_of([choice("c"), choice("other", "xyz"), number("x")], **settings)
    with pytest.raises(UserInputError, match=message):
        client.get_next_trials(1)


def test_an_anchor_of_an_unknown_choice(client_of: Any, choice: Any, run: Any) -> None:
    """Anchors are looked at when there is something to anchor."""
    anchors = Anchors(({"c": "z"},))
    client = client_of([choice("c"), choice("d")], structure=anchors, n_startup_trials=2)
    with pytest.raises(UserInputError, match="'c'.*'z'"):
        run(client, lambda p: float(p["c"] != "a"), 4)


# ----------------------------------------------------------------------------- the settings


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "negative seed": ({"seed": -1}, "seed must be .*-1"),
    "fractional seed": ({"seed": 1.5}, "seed must be .*1.5"),
    "seed of words": ({"seed": "one"}, "seed must be .*'one'"),
    "true seed": ({"seed": True}, "seed must be .*True"),
    "negative start-up": ({"n_startup_trials": -1}, "n_startup_trials must be .*-1"),
    "fractional start-up": ({"n_startup_trials": 2.5}, "n_startup_trials must be .*2.5"),
    "no trials at a time": ({"max_parallelism": 0}, "max_parallelism must be .*0"),
    "half a trial at a time": ({"max_parallelism": 0.5}, "max_parallelism must be .*0.5"),
    "unknown kernel": ({"kernel": "cold"}, "kernel.*cold"),
    "unknown mixing": ({"mixing": "shaken"}, "mixing.*shaken"),
    "a flag in words": (
        {"deterministic_objective": "no"},
        "deterministic_objective must be .*'no'",
    ),
    "half a flag": ({"trust_region": 0.5}, "trust_region must be True or False, or one of"),
    "no flag": ({"trust_region": None}, "got None"),
    "unknown structure": ({"structure": "additive"}, "structure.*additive"),
    "unknown scale": ({"quantitative": {"c": "cubic"}}, "cubic"),
    "unknown graph": ({"graphs": {"c": "star"}}, "star"),
    "named twice": ({"graphs": {"c": "path"}, "order": {"c": "abc"}}, "'c'"),
    "no rates of its own": ({"kernel": "one-hot-rbf", "ard": True}, "ard"),
    "no structure": ({"kernel": "hed", "structure": Additive()}, "hed.*structure"),
}


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_wrong_settings_are_noticed_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserInputError, match=message):
        heat_generation_strategy(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": "x"}, "seed must be .*'x'"),
        ({"n_startup_trials": 2.5}, "n_startup_trials must be .*2.5"),
        ({"deterministic_objective": "no"}, "deterministic_objective must be .*'no'"),
        ({"consider_failed_trials": "no"}, "consider_failed_trials must be .*'no'"),
    ],
)
def test_generators_by_themselves_notice_wrong_settings_too(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserInputError, match=message):
        HeatStartGenerator(**settings)


def test_an_acquisition_for_one_objective_only(client_of: Any, choice: Any) -> None:
    client = client_of([choice("c"), choice("d")], acquisition="ucb", objective="-y, -w")
    with pytest.raises(UserInputError, match="acquisition must be 'log-ei' for 2 objectives"):
        client.get_next_trials(1)


def test_a_kernel_that_cannot_be_stored() -> None:
    with pytest.raises(UserInputError, match="register_kernel"):
        heat_generation_strategy(kernel=lambda r: 1.0 / (1.0 + r))


def test_a_graph_that_is_none() -> None:
    with pytest.raises(UserInputError, match="'c'"):
        heat_generation_strategy(graphs={"c": [[0, 1], [2, 0]]})


# ------------------------------------------------------------------------- what is asked for


@pytest.mark.parametrize(
    ("given", "message"),
    [({"c": "z"}, "`c`.*'z'"), ({"x": 7.0}, "`x`")],
    ids=["choice", "number"],
)
def test_given_values_outside_the_space(
    client_of: Any, choice: Any, number: Any, given: dict[str, Any], message: str
) -> None:
    client = client_of([choice("c"), choice("d"), number("x")])
    with pytest.raises(UserInputError, match=message):
        client.get_next_trials(1, fixed_parameters=given)


def test_the_sampler_for_optuna(client_of: Any, choice: Any) -> None:
    client = client_of([choice("c")])
    client.set_generation_strategy(HeatSampler(seed=0))
    with pytest.raises(TypeError, match=r"HeatSampler is a sampler for Optuna; .*strategy\(\)"):
        client.get_next_trials(1)


def test_a_range_that_has_no_length(client_of: Any, choice: Any, number: Any) -> None:
    client = client_of([choice("c"), number("x", -1.7e308, 1.7e308)])
    try:
        ((_, params),) = client.get_next_trials(1).items()
        assert abs(params["x"]) <= 1.7e308
    except UserInputError as error:
        assert "`x`" in str(error)


def test_no_objective(choice: Any) -> None:
    client = Client()
    client.configure_experiment(parameters=[choice("c"), choice("d")])
    client.set_generation_strategy(heat_generation_strategy(seed=0))
    with pytest.raises(UnsupportedError, match="OptimizationConfig"):
        client.get_next_trials(1)
