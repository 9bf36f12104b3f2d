"""The life of trials: batches, pending, failed and abandoned ones, all arms of a small space."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from ax.api.client import Client
from ax.core.arm import Arm
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.parameter import ChoiceParameter, Parameter, ParameterType, RangeParameter
from ax.core.search_space import SearchSpace
from ax.exceptions.core import SearchSpaceExhausted
from ax.exceptions.generation_strategy import MaxParallelismReachedException
from ax.orchestration.orchestrator import Orchestrator
from ax.service.ax_client import AxClient, ObjectiveProperties
from ax.service.utils.orchestrator_options import OrchestratorOptions
from ax.utils.testing.core_stubs import get_branin_experiment
from pandas import DataFrame

from heat_plugins import PermutationInvariant
from heat_plugins.ax import heat_generation_strategy

Params = dict[str, Any]
LETTERS = "abcd"


def key(params: Params) -> tuple[Any, ...]:
    return tuple(params[name] for name in sorted(params))


def value_of(params: Params) -> float:
    return float(sum(LETTERS.index(params[name]) for name in ("c", "d")))


@pytest.fixture
def small(choice: Any) -> list[Any]:
    """Sixteen arms."""
    return [choice("c", LETTERS), choice("d", LETTERS)]


@pytest.fixture
def large(choice: Any, number: Any) -> list[Any]:
    return [choice("c", LETTERS), choice("d", LETTERS), number("x"), number("n", 1, 9)]


# --------------------------------------------------------------------------- several at once


@pytest.mark.parametrize("n_before", [0, 6], ids=["start-up", "model"])
def test_a_batch_of_trials_has_no_twins(
    client_of: Any, small: list[Any], run: Any, n_before: int
) -> None:
    client = client_of(small)
    before = run(client, value_of, n_before)
    batch = list(client.get_next_trials(max_trials=5).values())
    assert len({key(p) for p in [*before, *batch]}) == n_before + 5


def test_trials_asked_for_one_by_one_and_together_are_the_same(
    client_of: Any, large: list[Any], run: Any
) -> None:
    together, one_by_one = client_of(large), client_of(large)
    for client in (together, one_by_one):
        run(client, value_of, 6)
    batch = list(together.get_next_trials(max_trials=3).values())
    singles = [next(iter(one_by_one.get_next_trials(1).values())) for _ in range(3)]
    for first, second in zip(batch, singles, strict=True):
        assert key(first)[:2] == key(second)[:2]
        assert key(first)[2:] == pytest.approx(key(second)[2:], rel=1e-9)


def test_more_than_all_arms_at_once(client_of: Any, small: list[Any]) -> None:
    client = client_of(small)
    batch = client.get_next_trials(max_trials=16).values()
    assert {key(p) for p in batch} == set(product(LETTERS, LETTERS))


def test_results_in_any_order(client_of: Any, small: list[Any]) -> None:
    client = client_of(small)
    batch = client.get_next_trials(max_trials=6)
    for index in reversed(batch):
        client.complete_trial(index, raw_data={"y": value_of(batch[index])})
    (params,) = client.get_next_trials(1).values()
    assert key(params) not in {key(p) for p in batch.values()}


# -------------------------------------------------------------------------- batches of arms


def batch_experiment(*numbers: Parameter) -> Experiment:
    parameters = [
        ChoiceParameter(name, ParameterType.STRING, list(LETTERS), is_ordered=False)
        for name in ("c", "d")
    ]
    space = SearchSpace([*parameters, *numbers])
    client = Client()
    client.set_experiment(Experiment(search_space=space, name="batches"))
    client.configure_optimization(objective="-y")
    return client._experiment


def complete_batch(experiment: Experiment, trial: Any) -> None:
    rows = [
        {
            "arm_name": arm.name,
            "metric_name": "y",
            "metric_signature": "y",
            "mean": value_of(dict(arm.parameters)),
            "sem": 0.1,
            "trial_index": trial.index,
        }
        for arm in trial.arms
    ]
    trial.mark_running(no_runner_required=True)
    experiment.attach_data(Data(df=DataFrame.from_records(rows)))
    trial.mark_completed()


def test_batch_trials_with_a_status_quo() -> None:
    experiment = batch_experiment()
    experiment.status_quo = Arm({"c": "d", "d": "d"}, name="status_quo")
    strategy = heat_generation_strategy(seed=0, n_startup_trials=4)
    found = []
    for _ in range(4):
        ((run,),) = strategy.gen(experiment, n=3, num_trials=1)
        assert len(run.arms) == 3
        trial = experiment.new_batch_trial(generator_runs=[run], should_add_status_quo_arm=True)
        assert len(trial.arms) == 4
        complete_batch(experiment, trial)
        found += [key(dict(arm.parameters)) for arm in run.arms]
    assert len(set(found)) == 12
    assert ("d", "d") not in found
    assert ("a", "a") in found


def shown(params: Params) -> tuple[Any, ...]:
    """Return parameters as a user sees them, without the last digits of numbers."""
    values = (params[name] for name in sorted(params))
    return tuple(round(v, 9) if isinstance(v, float) else v for v in values)


@pytest.mark.parametrize("is_measured", [True, False])
def test_no_two_arms_of_batches_have_the_same_numbers(is_measured: bool) -> None:
    """Four batches of eight: each arm is random in its own way."""
    experiment = batch_experiment(
        RangeParameter("x", ParameterType.FLOAT, 0.0, 1.0),
        RangeParameter("z", ParameterType.FLOAT, 1e-3, 1.0, log_scale=True),
    )
    strategy = heat_generation_strategy(seed=0, n_startup_trials=40)
    found = []
    for _ in range(4):
        run = strategy.gen_single_trial(experiment, n=8)
        trial = experiment.new_batch_trial(generator_runs=[run])
        if is_measured:
            complete_batch(experiment, trial)
        found += [shown(dict(arm.parameters)) for arm in run.arms]
    assert len(set(found)) == 32
    assert len({numbers[2] for numbers in found}) == 32


def test_all_arms_of_a_batch_count_whatever_became_of_them() -> None:
    experiment = batch_experiment()
    strategy = heat_generation_strategy(seed=0, n_startup_trials=4, deterministic_objective=True)
    found = []
    for k in range(4):
        run = strategy.gen_single_trial(experiment, n=4)
        trial = experiment.new_batch_trial(generator_runs=[run])
        match k:
            case 0:
                trial.mark_running(no_runner_required=True)
                trial.mark_arm_abandoned(trial.arms[0].name)
                trial.mark_failed()
            case 1:
                trial.mark_running(no_runner_required=True)
                trial.mark_arm_abandoned(trial.arms[0].name)
                trial.mark_completed()
            case 2:
                trial.mark_abandoned()
            case _:
                complete_batch(experiment, trial)
        found += [key(dict(arm.parameters)) for arm in run.arms]
    assert set(found) == set(product(LETTERS, LETTERS))
    with pytest.raises(SearchSpaceExhausted):
        strategy.gen_single_trial(experiment)


def test_repeats_asked_for_together_are_not_all_the_same(client_of: Any, choice: Any) -> None:
    """Of a space of four arms; what was repeated counts as an arm of its own."""
    client = client_of([choice("c", "ab"), choice("d", "ab")])
    batch = client.get_next_trials(max_trials=12).values()
    assert len({key(p) for p in list(batch)[4:]}) > 1


def test_the_weights_of_a_batch_are_even() -> None:
    experiment = batch_experiment()
    ((run,),) = heat_generation_strategy(seed=0).gen(experiment, n=3, num_trials=1)
    assert run.weights == [1.0] * 3


# ------------------------------------------------------------- pending, failed, abandoned


def test_no_arm_is_tried_again_whatever_became_of_it(
    client_of: Any, small: list[Any], run: Any
) -> None:
    client = client_of(small)
    attached = client.attach_trial({"c": "b", "d": "c"})
    client.complete_trial(attached, raw_data={"y": 3.0})
    asked = {("b", "c")}
    for k in range(15):
        ((index, params),) = client.get_next_trials(1).items()
        assert key(params) not in asked
        asked.add(key(params))
        match k % 5:
            case 0:
                client.mark_trial_failed(index)
            case 1:
                client.mark_trial_abandoned(index)
            case 2:
                pass  # keeps running
            case _:
                client.complete_trial(index, raw_data={"y": value_of(params)})
    assert asked == set(product(LETTERS, LETTERS))


def test_a_trial_attached_by_hand_is_learnt_from(
    client_of: Any, large: list[Any], run: Any
) -> None:
    client = client_of(large, n_startup_trials=5)
    best = {"c": "a", "d": "b", "x": 0.5, "n": 5}
    for k in range(5):
        params = {"c": LETTERS[k % 4], "d": LETTERS[k // 2], "x": k / 4, "n": 1 + 2 * k}
        client.complete_trial(client.attach_trial(params), raw_data={"y": 5.0 + k / 10})
    client.complete_trial(client.attach_trial(best), raw_data={"y": -5.0})
    # Six have data, so that the model is used at once, around the best of them.
    ((_, params),) = client.get_next_trials(1).items()
    assert sum(params[name] == best[name] for name in ("c", "d")) >= 1
    assert params != best


def test_a_running_trial_attached_by_hand_is_not_proposed(client_of: Any, choice: Any) -> None:
    client = client_of([choice("c")])
    client.attach_trial({"c": "a"})
    assert {p["c"] for p in client.get_next_trials(2).values()} == {"b", "c"}


def test_all_failed_is_no_reason_to_stop(client_of: Any, large: list[Any]) -> None:
    client = client_of(large)
    asked = []
    for _ in range(6):
        ((index, params),) = client.get_next_trials(1).items()
        client.mark_trial_failed(index)
        asked.append(key(params))
    assert len(set(asked)) == 6


# ------------------------------------------------------------------------- a finite space


def test_a_deterministic_objective_ends_with_the_space(
    client_of: Any, small: list[Any], run: Any
) -> None:
    client = client_of(small, deterministic_objective=True)
    asked = run(client, value_of, 16)
    assert len({key(p) for p in asked}) == 16
    with pytest.raises(SearchSpaceExhausted, match="deterministic_objective=False"):
        client.get_next_trials(1)


def test_a_noisy_objective_repeats_good_arms(client_of: Any, choice: Any, run: Any) -> None:
    client = client_of([choice("c", "ab"), choice("d", "ab")])
    rng = np.random.default_rng(0)
    asked = run(client, lambda p: value_of(p) + 0.1 * rng.normal(), 9)
    assert len({key(p) for p in asked[:4]}) == 4
    assert {key(p) for p in asked[4:]} <= {key(p) for p in asked[:4]}


def test_interchangeable_parameters_make_the_space_smaller(
    client_of: Any, small: list[Any], run: Any
) -> None:
    client = client_of(
        small, structure=PermutationInvariant(["c", "d"]), deterministic_objective=True
    )
    asked = run(client, value_of, 10)
    assert len({tuple(sorted(key(p))) for p in asked}) == 10
    with pytest.raises(SearchSpaceExhausted):
        client.get_next_trials(1)


# ---------------------------------------------------------------------------- parallelism


def test_as_many_trials_as_may_run(client_of: Any, small: list[Any]) -> None:
    client = client_of(small, max_parallelism=2)
    batch = client.get_next_trials(max_trials=5)
    assert len(batch) == 2
    with pytest.raises(MaxParallelismReachedException):
        client.get_next_trials(1)
    client.complete_trial(next(iter(batch)), raw_data={"y": 1.0})
    assert len(client.get_next_trials(max_trials=5)) == 1


# ------------------------------------------------------------------------ the other ways in


@pytest.mark.filterwarnings("ignore:The `AxClient` class is deprecated:DeprecationWarning")
def test_the_old_client() -> None:
    client = AxClient(
        generation_strategy=heat_generation_strategy(seed=0, n_startup_trials=4),
        verbose_logging=False,
    )
    client.create_experiment(
        name="old",
        parameters=[
            {"name": "c", "type": "choice", "values": list(LETTERS), "is_ordered": False},
            {"name": "d", "type": "choice", "values": list(LETTERS), "is_ordered": False},
            {"name": "x", "type": "range", "bounds": [0.0, 1.0]},
            {"name": "one", "type": "fixed", "value": 1},
        ],
        parameter_constraints=["x <= 0.8"],
        objectives={"y": ObjectiveProperties(minimize=True)},
    )
    for _ in range(10):
        params, index = client.get_next_trial()
        assert params["x"] <= 0.8 + 1e-8
        assert params["one"] == 1
        client.complete_trial(index, raw_data={"y": (value_of(params) + params["x"], 0.0)})
    params, _ = client.get_best_parameters()
    assert value_of(params) <= 2.0


def test_the_orchestrator() -> None:
    experiment = get_branin_experiment(with_choice_parameter=True)
    orchestrator = Orchestrator(
        experiment=experiment,
        generation_strategy=heat_generation_strategy(seed=0, n_startup_trials=3),
        options=OrchestratorOptions(init_seconds_between_polls=0, max_pending_trials=2),
    )
    orchestrator.run_n_trials(max_trials=6)
    assert len(experiment.trials) == 6
    assert all(trial.status.is_completed for trial in experiment.trials.values())
    assert len({trial.arm.signature for trial in experiment.trials.values()}) == 6
