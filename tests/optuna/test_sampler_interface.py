"""Arguments, imports, what the sampler leaves alone and what it writes."""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
import pytest
import threadpoolctl
import torch

import heat_plugins
from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be None or a non-negative integer, got -1"),
        ({"seed": "a"}, "seed must be None or a non-negative integer, got 'a'"),
        ({"seed": 1.5}, "seed must be None or a non-negative integer, got 1.5"),
        (
            {"n_startup_trials": -1},
            "n_startup_trials must be None or a non-negative integer, got -1",
        ),
        (
            {"n_startup_trials": 2.5},
            "n_startup_trials must be None or a non-negative integer, got 2.5",
        ),
        *(
            ({"pending_timeout": bad}, f"pending_timeout must be None or seconds > 0, got {bad!r}")
            for bad in (0, -1.0, True, float("nan"), "10")
        ),
    ],
)
def test_a_bad_argument_is_named_with_what_was_expected(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as error:
        HeatSampler(**arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["constraints_func", "is_feasible"])
def test_what_should_be_a_function_must_be_callable(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be None or a function, got 1"):
        HeatSampler(**{name: 1})  # type: ignore[arg-type]


FLAGS = [
    "deterministic_objective",
    "record",
    "consider_pruned_trials",
    "consider_failed_trials",
    "warn_independent_sampling",
]


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", ["no", 0.5, 1, None])
def test_what_is_neither_true_nor_false_is_no_flag(name: str, value: Any) -> None:
    with pytest.raises(TypeError) as error:
        HeatSampler(**{name: value})
    assert str(error.value) == f"{name} must be True or False, got {value!r}"


@pytest.mark.parametrize("value", ["no", 0.5, 1, None])
def test_what_is_no_trust_region_is_refused(value: Any) -> None:
    with pytest.raises(ValueError if value == "no" else TypeError) as error:
        HeatSampler(trust_region=value)
    assert str(error.value) == (
        f"trust_region must be True or False, or one of ('casmopolitan', 'bounce'), got {value!r}"
    )


@pytest.mark.parametrize("name", [*FLAGS, "trust_region"])
def test_a_flag_may_come_from_numpy(name: str) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, **{name: np.bool_(True)}))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 2


@pytest.mark.parametrize("value", [optuna.samplers.RandomSampler, "random"])
def test_an_independent_sampler_must_be_one(value: Any) -> None:
    with pytest.raises(TypeError, match=r"independent_sampler must be None or a sampler of Opt"):
        HeatSampler(independent_sampler=value)


def test_arguments_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        HeatSampler(0)  # type: ignore[misc]


@pytest.mark.parametrize("seed", [0, np.int64(3), np.uint64(2**64 - 1), 10**30])
def test_any_non_negative_integer_is_a_seed(seed: Any) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed, n_startup_trials=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 2


def test_more_than_four_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize"] * 5, sampler=HeatSampler())
    with pytest.raises(ValueError, match="takes at most 4 objectives, the study has 5"):
        study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})


def test_more_than_four_objectives_end_a_study_whatever_is_caught() -> None:
    study = optuna.create_study(directions=["minimize"] * 5, sampler=HeatSampler())
    with pytest.raises(ValueError, match="takes at most 4 objectives, the study has 5"):
        study.optimize(
            lambda trial: [trial.suggest_float("x", 0.0, 1.0)] * 5, 5, catch=(Exception,)
        )
    assert [trial.state.name for trial in study.trials] == ["FAIL"]


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_after("import heat_plugins; heat_plugins.__version__; dir(heat_plugins)")
    heavy = {"torch", "optuna", "ax", "botorch", "gpytorch", "scipy", "numpy"}
    assert "heat_plugins" in loaded
    assert not loaded & heavy


def test_a_study_needs_no_torch() -> None:
    loaded = modules_after(
        "import optuna; from heat_plugins import HeatSampler\n"
        "study = optuna.create_study(sampler=HeatSampler(n_startup_trials=1))\n"
        "study.optimize(lambda trial: trial.suggest_float('x', 0, 1), n_trials=3)"
    )
    assert "heat_plugins.gp.exact_gp" in loaded
    assert not loaded & {"torch", "gpytorch", "botorch", "ax"}


def test_the_sampler_does_not_load_the_distributions_of_scipy() -> None:
    loaded = modules_after("from heat_plugins import HeatSampler; HeatSampler()")
    assert "scipy.optimize" in loaded
    assert "scipy.stats" not in loaded  # a third of the time of this import


def test_the_sampler_is_the_same_object_from_both_places() -> None:
    from heat_plugins.optuna import HeatSampler as from_its_package

    assert from_its_package is HeatSampler is heat_plugins.HeatSampler
    assert {"HeatSampler", "__version__"} <= set(dir(heat_plugins))


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = heat_plugins.no_such_name
    with pytest.raises(ImportError, match="no_such_name"):
        from heat_plugins import no_such_name  # noqa: F401


def global_state() -> dict[str, Any]:
    kind, keys, *rest = np.random.get_state()
    return {
        "blas": [
            (pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()
        ],
        "torch": (torch.get_num_threads(), torch.get_default_dtype()),
        "torch random": torch.get_rng_state().tolist(),
        "numpy errors": np.geterr(),
        "numpy random": (kind, np.asarray(keys).tolist(), rest),
        "random": random.getstate(),
    }


@contextmanager
def unusual_settings() -> Iterator[None]:
    """Settings that differ from what the sampler uses, so that a change would show."""
    dtype, errors = torch.get_default_dtype(), np.seterr(all="warn", under="print")
    torch.set_default_dtype(torch.float16)
    try:
        with threadpoolctl.threadpool_limits(2):
            yield
    finally:
        torch.set_default_dtype(dtype)
        np.seterr(**errors)


@pytest.mark.parametrize(("n_jobs", "fails"), [(1, False), (4, False), (4, True)])
def test_global_settings_and_random_states_are_left_alone(n_jobs: int, fails: bool) -> None:
    def objective(trial: optuna.Trial) -> float:
        seen.append([pool["num_threads"] for pool in threadpoolctl.threadpool_info()])
        x = trial.suggest_float("x", 0.0, 1.0)
        letter = trial.suggest_categorical("letter", ("a", "b", "c"))
        if fails and trial.number % 2:
            raise RuntimeError("this trial fails")
        return x + (letter == "b")

    # Optuna itself draws from the global generators of nobody; its first use loads modules.
    optuna.create_study(sampler=HeatSampler(n_startup_trials=0)).optimize(
        lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2
    )
    seen: list[list[int]] = []
    with unusual_settings():
        before = global_state()
        assert 2 in [n_threads for _, n_threads in before["blas"]]
        study = optuna.create_study(sampler=HeatSampler(n_startup_trials=2))
        study.optimize(objective, n_trials=8, n_jobs=n_jobs, catch=RuntimeError)
        assert global_state() == before
    assert len(study.trials) == 8
    if n_jobs == 1:  # between suggestions, while the objective runs
        assert {tuple(n_threads) for n_threads in seen} == {tuple(n for _, n in before["blas"])}


def test_a_suggestion_is_computed_with_one_blas_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    n_threads: list[int] = []

    def watched(*arguments: Any) -> Any:
        pools = threadpoolctl.threadpool_info()
        n_threads.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return suggest(*arguments)

    suggest = heat_plugins.optuna.sampler.suggest
    monkeypatch.setattr(heat_plugins.optuna.sampler, "suggest", watched)
    with threadpoolctl.threadpool_limits(2):
        study = optuna.create_study(sampler=HeatSampler(n_startup_trials=1))
        study.optimize(letters, n_trials=3)
    assert set(n_threads) == {1}


def test_parameters_with_a_single_value_are_left_to_optuna() -> None:
    study = optuna.create_study(sampler=HeatSampler(n_startup_trials=0))

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("only", 2.0, 2.0) + trial.suggest_int("x", 0, 9)

    study.optimize(objective, n_trials=3)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(space) == ["x"]
    assert {trial.params["only"] for trial in study.trials} == {2.0}


def letters(trial: optuna.Trial) -> float:
    return float(sum(trial.suggest_categorical(f"x{i}", (0, 1, 2)) for i in range(4)))


def written(study: optuna.Study) -> list[dict[str, Any]]:
    """Return the system attributes of each trial but those of ``enqueue_trial``."""
    return [
        {key: value for key, value in trial.system_attrs.items() if key != "fixed_params"}
        for trial in study.trials
    ]


def test_one_small_attribute_is_written_for_each_trial_that_the_sampler_chose() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    study.optimize(letters, n_trials=3)
    study.enqueue_trial({"x0": 1})
    study.optimize(letters, n_trials=5)
    # In the first trial nothing is known of the parameters. Neither start-up trials nor what
    # was enqueued says anything about the trust region.
    regions = [NO_REGION] * 3 + [0] * 4
    assert written(study) == [
        {},
        *(
            {"heat_plugins:asked": {"region": region, "point": trial.params}}
            for trial, region in zip(study.trials[1:], regions, strict=True)
        ),
    ]  # the choices are their own positions
    assert not any(trial.user_attrs for trial in study.trials)
    assert not study.user_attrs


def test_without_a_trust_region_none_is_written_and_the_optimum_is_found() -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=6, trust_region=False)
    )
    study.optimize(letters, n_trials=20)
    assert study.best_value == 0.0
    first, *others = written(study)
    assert first == {}
    assert {attribute["heat_plugins:asked"]["region"] for attribute in others} == {NO_REGION}
