"""Every task of the catalogue, its conditions, and those with conditions or several objectives."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.benchmarks.problems import conditional, constrained, multi_objective
from heat_plugins.benchmarks.problems.abc_synthesis import ABC_SYNTHESIS
from heat_plugins.benchmarks.problems.catalogue import CODED, TARGETS, TASKS, task_named
from heat_plugins.benchmarks.problems.cells import CELLS
from heat_plugins.benchmarks.problems.ehrlich import EHRLICH
from heat_plugins.benchmarks.problems.functions import SFU, sequence
from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE
from heat_plugins.benchmarks.problems.synthesis import SYNTHESIS
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import (
    Choice,
    Number,
    Result,
    Task,
    active_parameters,
    best_feasible,
    choices_of,
    codes_of,
    first_points,
)

CHECKED = settings(deadline=None, max_examples=50)


def made(name: str) -> Task:
    """Return a task, or skip the test where its data or package is not there."""
    try:
        return task_named(name)
    except (FileNotFoundError, ImportError) as error:
        pytest.skip(str(error))


# ----------------------------------------------------------------------- the catalogue
WITHOUT_TARGET = ("cluster-file", *SYNTHESIS, *ABC_SYNTHESIS)  # not measured yet
SECONDS_EACH = (*SYNTHESIS, *ABC_SYNTHESIS)  # an evaluation takes seconds
# Compared by what is left to gain, not by a target.
REGRETS = {**TABLES, **NUMBERS, **EHRLICH, **CELLS}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_finite_results_that_repeat(name: str) -> None:
    task = made(name)
    n = 1 if name.removesuffix("-relocated") in SECONDS_EACH else 5
    points = first_points(task, n, 0)
    results = [task.evaluate(params) for params in points]
    again = made(name)
    assert [again.evaluate(params) for params in first_points(again, n, 0)] == results
    assert task.may_fail or not any(r.has_failed for r in results)
    results = [r for r in results if not r.has_failed]
    assert np.all(np.isfinite([number for r in results for number in (*r.values, *r.constraints)]))
    assert {len(r.values) for r in results} <= {task.n_objectives}
    assert task.name == name
    assert len({parameter.name for parameter in task.parameters}) == len(task.parameters)
    if task.best_known is not None:
        assert task.best_known < task.score(results)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in REGRETS])
def test_targets_are_between_random_points_and_the_best_known(name: str) -> None:
    task = made(name)
    if name.removesuffix("-relocated") in WITHOUT_TARGET:
        pytest.skip("what methods reach on it has not been measured")
    assert task.target is not None
    reached = task.score([task.evaluate(params) for params in first_points(task, 10, 0)])
    if task.larger_is_better:
        assert reached < task.target < 1.0
    else:
        assert task.target < reached
        assert task.best_known is None or task.best_known < task.target


def test_every_target_belongs_to_a_task() -> None:
    assert {*TARGETS} <= {*TASKS}
    assert {f"{name}-relocated" for name in CODED} | {f"{n}-relabelled" for n in SFU} <= {*TASKS}


def test_an_unknown_task_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="pest.*svm.*got 'nothing'"):
        task_named("nothing")


@pytest.mark.parametrize("name", ["maxsat", "cluster-file", "cluster-file-relocated"])
def test_a_task_without_its_data_says_what_it_needs(name: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"\.wcnf.*{DATA_VARIABLE}"):
        task_named(name)


@pytest.mark.parametrize("name", SFU)
def test_relabelled_tasks_do_not_mind_permutations(name: str) -> None:
    task = task_named(f"{name}-relabelled")
    (params,) = first_points(task, 1, 3)
    values = np.random.default_rng(0).permutation([*params.values()]).tolist()
    moved = task.evaluate(dict(zip(params, values, strict=True)))
    assert moved.values == pytest.approx(task.evaluate(params).values, rel=1e-12)
    assert task.evaluate(params) != task_named(name).evaluate(params)


# -------------------------------------------------------------- parameters and points
def exists(parameter: Choice | Number, params: dict[str, object]) -> bool:
    return all(name in params and params[name] in v for name, v in parameter.when.items())


CONDITIONAL = ["pipeline", "tree", "methods"]


@pytest.mark.parametrize("name", CONDITIONAL)
@given(seed=st.integers(0, 2**31))
@CHECKED
def test_points_have_those_parameters_whose_conditions_are_met(name: str, seed: int) -> None:
    task = task_named(name)
    for params in first_points(task, 3, seed):
        for parameter in task.parameters:
            assert (parameter.name in params) == exists(parameter, params)
            if parameter.name not in params:
                continue
            value = params[parameter.name]
            if isinstance(parameter, Choice):
                assert value in parameter.choices
            else:
                assert parameter.low <= value <= parameter.high
                assert isinstance(value, int if parameter.integer else float)


@st.composite
def trees_of_choices(draw) -> Task:
    """Choices of which each may depend on any of those before it."""
    parameters: list[Choice] = []
    for i in range(draw(st.integers(1, 6))):
        earlier = draw(st.sets(st.integers(0, i - 1), max_size=2)) if i else set()
        values = st.sets(st.sampled_from((0, 1, 2)), min_size=1).map(tuple)
        when = {f"p{j}": draw(values) for j in sorted(earlier)}
        parameters.append(Choice(f"p{i}", (0, 1, 2), when=when))
    return Task("any", "", tuple(parameters), lambda params: Result((0.0,)))


@given(task=trees_of_choices(), seed=st.integers(0, 1000))
@CHECKED
def test_conditions_of_any_tree_are_respected(task: Task, seed: int) -> None:
    for params in first_points(task, 5, seed):
        assert [*params] == [p.name for p in task.parameters if exists(p, params)]


def test_points_are_those_of_the_seed_and_the_task() -> None:
    task = task_named("methods")
    assert first_points(task, 4, 1) == first_points(task, 6, 1)[:4]
    assert first_points(task, 4, 1) != first_points(task, 4, 2)


def test_every_choice_and_every_whole_number_is_as_likely_as_the_others() -> None:
    parameters = (Choice("c", ("a", "b", "c")), Number("n", 1, 4, integer=True))
    points = first_points(Task("t", "", parameters, lambda params: Result((0.0,))), 3000, 0)
    for name, n in (("c", 3), ("n", 4)):
        counts = np.unique([p[name] for p in points], return_counts=True)[1]
        assert len(counts) == n
        assert np.all(np.abs(counts / 3000 - 1 / n) < 0.04)


def test_codes_come_back_in_order() -> None:
    codes = np.arange(12) % 3
    names = [parameter.name for parameter in choices_of((3,) * 12)]
    params = dict(zip(reversed(names), reversed(codes.tolist()), strict=True))
    np.testing.assert_array_equal(codes_of(params), codes)


def test_parameters_are_asked_for_after_those_they_depend_on() -> None:
    task = task_named("tree")
    asked: list[str] = []

    def value(parameter: Choice | Number) -> float:
        asked.append(parameter.name)
        return 1

    params = active_parameters(task, value)
    assert [*params] == asked == ["x1", "r9", "x3", "x7"]


def test_the_best_feasible_value_is_infinite_where_nothing_is_feasible() -> None:
    results = [Result((1.0,), (0.5,)), Result((2.0,), (0.0, -1.0)), Result((3.0,), (-1.0,))]
    assert best_feasible(results) == 2.0
    assert best_feasible(results[:1]) == math.inf


# -------------------------------------------------------------------------- conditions
def test_the_tree_is_as_published() -> None:
    task = task_named("tree")
    assert task.evaluate({"x1": 0, "r8": 0.0, "x2": 0, "x4": 0.0}).values == (0.1,)
    assert task.evaluate({"x1": 1, "r9": 0.5, "x3": 1, "x7": -1.0}).values == (1.9,)
    names = {frozenset(params) for params in first_points(task, 50, 0)}
    assert names == {
        frozenset({"x1", "r8", "x2", "x4"}),
        frozenset({"x1", "r8", "x2", "x5"}),
        frozenset({"x1", "r9", "x3", "x6"}),
        frozenset({"x1", "r9", "x3", "x7"}),
    }


def test_no_method_is_better_than_the_best_known() -> None:
    """Improve one parameter after the other: effects add up, so that this ends at the best."""
    task = task_named("methods")
    by_name = {parameter.name: parameter for parameter in task.parameters}
    ends = []
    for method in range(conditional.N_METHODS):
        params = next(p for p in first_points(task, 99, 0) if p["method"] == method)
        params |= {f"refined_{method}": True, f"rounds_{method}": 1}
        for name in sorted(params.keys() - {"method", f"refined_{method}"}):
            parameter = by_name[name]
            if isinstance(parameter, Choice):
                options = [*parameter.choices]
            elif parameter.integer:
                options = [*range(int(parameter.low), int(parameter.high) + 1)]
            else:
                options = np.linspace(parameter.low, parameter.high, 1001).tolist()
            values = [task.evaluate(params | {name: option}).values[0] for option in options]
            params[name] = options[int(np.argmin(values))]
        ends.append(task.evaluate(params).values[0])
    assert min(ends) == pytest.approx(task.best_known, abs=1e-5)


def test_every_part_of_the_pipeline_is_tried_and_used() -> None:
    task = task_named("pipeline")
    points = first_points(task, 60, 0)
    for parameter in task.parameters[:2] + task.parameters[4:5]:
        assert {params[parameter.name] for params in points} == {*parameter.choices}
    assert {name for params in points for name in params} == {p.name for p in task.parameters}
    # Each has an effect: the same parameters with another scaler or none have another loss.
    base = {"reduction": "none", "model": "neighbours", "neighbours_n": 5}
    base |= {"neighbours_weights": "uniform", "neighbours_p": 2}
    scalers = task.parameters[0].choices
    losses = [task.evaluate(base | {"scaler": scaler}).values[0] for scaler in scalers]
    assert len({round(loss, 6) for loss in losses}) == 4


def test_the_loss_of_the_pipeline_is_that_of_the_labels_left_out() -> None:
    """Neighbours, their votes and the logarithm of the share of the right label, one by one."""
    images, labels = conditional._digits()
    selection = pytest.importorskip("sklearn.model_selection")
    folds = selection.StratifiedKFold(3, shuffle=True, random_state=0).split(images, labels)
    losses = []
    for fitted, tested in folds:
        total = 0.0
        for i in tested:
            nearest = fitted[np.argsort(np.sum((images[fitted] - images[i]) ** 2, axis=1))[:50]]
            share = np.mean(labels[nearest] == labels[i])
            # A share of 0 counts as the smallest number that differs from 1, as in scikit-learn.
            total -= math.log(max(share, np.finfo(float).eps))
        losses.append(total / len(tested))
    params = {"scaler": "none", "reduction": "none", "model": "neighbours", "neighbours_n": 50}
    params |= {"neighbours_weights": "uniform", "neighbours_p": 2}
    assert task_named("pipeline").evaluate(params).values[0] == pytest.approx(
        np.mean(losses),
        rel=0.05,  # ties in distance may be broken in another way
    )


# -------------------------------------------------------------------------- objectives
def test_hypervolume_is_a_share_of_the_unit_box() -> None:
    corners = [Result((0.5, 0.0)), Result((0.0, 0.5)), Result((2.0, -1.0))]
    assert multi_objective.share_of_hypervolume(corners) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("name", "length", "n_letters"), [("letters-2", 25, 5), ("letters-3", 20, 4)]
)
def test_a_landscape_of_letters_is_0_at_its_best_and_1_at_the_mean(name, length, n_letters):
    task = task_named(name)
    landscapes = [sequence(length, n_letters, 0.5, 40 + i) for i in range(task.n_objectives)]
    for params in first_points(task, 5, 0):
        codes = [params[parameter.name] for parameter in task.parameters]
        expected = [1.0 - f(codes) / f.best_known for f in landscapes]
        assert task.evaluate(params).values == pytest.approx(expected, rel=1e-12)
    values = [task.evaluate(params).values for params in first_points(task, 400, 1)]
    np.testing.assert_allclose(np.mean(values, axis=0), 1.0, atol=0.3)


def test_the_error_of_features_is_that_of_the_best_linear_prediction() -> None:
    """Least squares on many drawn rows leave the same variance."""
    n, n_factors = 6, 3
    rng = np.random.default_rng([4, n])
    loadings = rng.standard_normal((n, n_factors)) * (rng.random((n, n_factors)) < 0.4)
    effects = rng.standard_normal(n_factors)
    noise = np.sqrt(rng.uniform(0.2, 2.0, n))
    factors = rng.standard_normal((100_000, n_factors))
    rows = factors @ loadings.T + noise * rng.standard_normal((100_000, n))
    target = factors @ effects
    used = [0, 2, 3]
    weights = np.linalg.lstsq(rows[:, used], target, rcond=None)[0]
    expected = np.mean((target - rows[:, used] @ weights) ** 2) / np.mean(target**2)
    params = {f"x{i}": int(i in used) for i in range(n)}
    task = multi_objective.features(n, n_factors, 4)
    error, share = task.evaluate(params).values
    assert error == pytest.approx(expected, rel=0.02)
    assert share == 0.5
    assert task.evaluate(dict.fromkeys(params, 0)).values == (1.0, 0.0)


# ------------------------------------------------------------------------- constraints
@given(
    weights=st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=4),
    spare=st.integers(0, 20),
    seed=st.integers(0, 100),
)
@CHECKED
def test_the_best_load_is_that_of_all_loads(weights, spare, seed) -> None:
    weights = np.array(weights)
    worth = np.random.default_rng(seed).integers(1, 9, weights.shape)
    limit = int(weights.min(axis=1).sum()) + spare
    places = np.arange(len(weights))
    loads = np.array([*itertools.product(range(3), repeat=len(weights))])
    light = weights[places, loads].sum(axis=1) <= limit
    best = worth[places, loads].sum(axis=1)[light].max()
    assert constrained._most_worth(weights, worth, limit) == best


@pytest.mark.parametrize("name", ["knapsack", "letters-constrained"])
def test_about_a_tenth_of_all_points_is_feasible(name: str) -> None:
    task = task_named(name)
    results = [task.evaluate(params) for params in first_points(task, 400, 0)]
    assert 0.05 < np.mean([all(c <= 0.0 for c in r.constraints) for r in results]) < 0.15


def test_a_load_weighs_and_is_worth_what_its_items_are() -> None:
    rng = np.random.default_rng([0, 25, 5])
    weights = rng.integers(1, 21, (25, 5))
    worth = weights + rng.integers(0, 11, (25, 5))
    task = task_named("knapsack")
    empty = dict.fromkeys((parameter.name for parameter in task.parameters), 0)
    for i, name in enumerate(empty):
        value, load = (task.evaluate(empty | {name: 3})[k][0] for k in (0, 1))
        base_value, base_load = (task.evaluate(empty)[k][0] for k in (0, 1))
        assert value - base_value == worth[i, 0] - worth[i, 3]
        assert load - base_load == weights[i, 3] - weights[i, 0]


def test_the_letters_of_constraints_are_three_landscapes() -> None:
    task = task_named("letters-constrained")
    landscapes = [sequence(25, 5, 0.5, 50 + i) for i in range(3)]
    first, second = first_points(task, 2, 0)
    results = [task.evaluate(first), task.evaluate(second)]
    values = [[f(np.array([*params.values()])) for f in landscapes] for params in (first, second)]
    assert [r.values[0] for r in results] == pytest.approx([v[0] for v in values], rel=1e-12)
    for k in (1, 2):  # the level is the same for all, so that differences are those of landscapes
        difference = results[0].constraints[k - 1] - results[1].constraints[k - 1]
        assert difference == pytest.approx(values[0][k] - values[1][k], rel=1e-9)
