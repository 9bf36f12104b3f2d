"""Experiments that Ax tests its own strategies with."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from ax.benchmark.benchmark import benchmark_replication
from ax.benchmark.benchmark_method import BenchmarkMethod
from ax.benchmark.problems.synthetic.discretized.mixed_integer import get_discrete_ackley
from ax.core.experiment import Experiment
from ax.runners.synthetic import SyntheticRunner
from ax.utils.testing import core_stubs
from ax.utils.testing.utils import run_trials_with_gs

from heat_plugins.ax import heat_generation_strategy

# Ax warns of what its own stubs leave out.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ax."),
    pytest.mark.filterwarnings("ignore::ax.exceptions.core.AxWarning"),
]


def runnable(experiment: Experiment) -> Experiment:
    """Return an experiment with a runner, and no constraints relative to what has no data."""
    experiment.runner = SyntheticRunner()
    config = experiment.optimization_config
    assert config is not None
    kept = [c for c in config.outcome_constraints if not c.relative]
    experiment.optimization_config = config.clone_with_args(outcome_constraints=kept)
    return experiment


EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "two floats": core_stubs.get_branin_experiment,
    "minimised": lambda: core_stubs.get_branin_experiment(minimize=True),
    "numeric choices": lambda: core_stubs.get_branin_experiment(with_choice_parameter=True),
    "word choices": lambda: core_stubs.get_branin_experiment(
        with_choice_parameter=True, with_str_choice_param=True
    ),
    "derived": lambda: core_stubs.get_branin_experiment(with_derived_parameter=True),
    "parameter constraint": lambda: core_stubs.get_branin_experiment(
        with_parameter_constraint=True
    ),
    "absolute constraint": lambda: core_stubs.get_branin_experiment(with_absolute_constraint=True),
    "completed batch": lambda: core_stubs.get_branin_experiment(
        with_completed_batch=True, num_arms_per_trial=5
    ),
    "status quo trials": core_stubs.get_branin_experiment_with_status_quo_trials,
    "two objectives": core_stubs.get_branin_experiment_with_multi_objective,
    "thresholds": lambda: core_stubs.get_branin_experiment_with_multi_objective(
        has_objective_thresholds=True
    ),
    "three objectives": lambda: core_stubs.get_branin_experiment_with_multi_objective(
        has_objective_thresholds=True, num_objectives=3, with_completed_trial=True, num_trial=3
    ),
    "fixed and choice": lambda: core_stubs.get_branin_experiment_with_multi_objective(
        with_choice_parameter=True, with_fixed_parameter=True
    ),
    "sum of metrics": lambda: runnable(
        core_stubs.get_experiment_with_scalarized_objective_and_outcome_constraint()
    ),
    "hierarchical": lambda: runnable(core_stubs.get_hierarchical_search_space_experiment()),
    "hierarchical with data": lambda: runnable(
        core_stubs.get_hierarchical_search_space_experiment(num_observations=4)
    ),
    "factorial": core_stubs.get_factorial_experiment,
}


@pytest.mark.parametrize("new_experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_experiments_of_ax(new_experiment: Callable[[], Experiment]) -> None:
    random.seed(0)  # of the values that the stub invents
    experiment = new_experiment()
    n_before = len(experiment.trials)
    strategy = heat_generation_strategy(seed=0, n_startup_trials=3)
    run_trials_with_gs(experiment, strategy, num_trials=5)
    added = [experiment.trials[index] for index in range(n_before, n_before + 5)]
    space = experiment.search_space
    assert all(space.check_membership(trial.arm.parameters) for trial in added)
    assert len({trial.arm.signature for trial in added}) == 5
    nodes = [trial.generator_run._generation_node_name for trial in added]
    assert nodes[-1] == "Heat"
    assert set(nodes) <= {"HeatStart", "Heat"}


@pytest.fixture(scope="module")
def offline() -> list[Experiment]:
    return core_stubs.get_offline_experiments_subset()


@pytest.mark.parametrize("number", range(4))
def test_experiments_with_trials_of_every_status(offline: list[Experiment], number: int) -> None:
    random.seed(0)
    experiment = offline[number]
    n_before = len(experiment.trials)
    strategy = heat_generation_strategy(seed=0, n_startup_trials=3)
    run_trials_with_gs(experiment, strategy, num_trials=1)
    before = {arm.signature for index in range(n_before) for arm in experiment.trials[index].arms}
    added = experiment.trials[n_before].arm
    assert added.signature not in before
    assert experiment.search_space.check_membership(added.parameters)


def test_a_benchmark_of_ax() -> None:
    strategy = heat_generation_strategy(seed=0, n_startup_trials=5)
    method: Any = BenchmarkMethod(generation_strategy=strategy)
    problem = get_discrete_ackley(num_trials=9)
    result = benchmark_replication(problem=problem, method=method, seed=0)
    trace = list(result.optimization_trace)
    assert len(trace) == 9
    assert all(math.isfinite(value) for value in trace)
    assert trace[-1] < trace[4]
