"""Parts of the pipeline that can be chosen: acquisition, and learning of hyperparameters."""

from typing import Any

import numpy as np
import optuna
import pytest

from heat_plugins import (
    Additive,
    HeatSampler,
    NestedEmbedding,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.acquisition.component_bound import ComponentBound
from heat_plugins.acquisition.confidence_bound import exploration
from heat_plugins.gp.exact_gp import NegativeLogDensity
from heat_plugins.gp.fit import FitCache, select_model
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.domain import Domain
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.point_set import PointSet
from heat_plugins.spec.model import Model
from heat_plugins.suggest import History, Problem, Settings, canonical, outcome_of, suggest

TREE = RandomDecomposition()
CHOICES = [
    {"acquisition": "ucb"},
    {"hyperparameters": "maximum-likelihood"},
    {"hyperparameters": "slice-sampling"},
    {"acquisition": "ucb", "hyperparameters": "slice-sampling"},
    {"acquisition": "thompson"},
    {"acquisition": "thompson", "hyperparameters": "slice-sampling", "search": "interleaved"},
    {"trust_region": "casmopolitan"},
    {"trust_region": "bounce"},
    {"embedding": "nested"},
    {"embedding": NestedEmbedding(2, n_trials=20), "trust_region": "bounce"},
    {"search": "hill-climbing"},
    {"search": "interleaved"},
    {"search": "message-passing", "acquisition": "ucb", "structure": TREE},
    {"search": "bandit"},
    {"search": "pool"},
]
SPACE = Space((Categorical("a", "abc"), Categorical("b", "abcd"), Float("x", 0, 1)))


def objective(trial: optuna.Trial) -> float:
    """Depends on a condition, fails at times, and has its best value at 0."""
    kind = trial.suggest_categorical("kind", ["one", "two", "three"])
    value = {"one": 0.0, "two": 1.0, "three": 2.0}[kind]
    if kind != "three":
        value += trial.suggest_float("x", -1, 1) ** 2
    letters = [trial.suggest_categorical(f"letter{i}", list("abcd")) for i in range(4)]
    trial.set_user_attr("c", [letters.count("d") - 2])
    if letters[:2] == ["c", "c"]:
        raise RuntimeError("does not run")
    return value + 0.5 * sum(letter != "b" for letter in letters)


def run(n_trials: int = 25, **settings: Any) -> optuna.Study:
    sampler = HeatSampler(seed=0, n_startup_trials=6, **settings)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))
    return study


@pytest.mark.parametrize("settings", CHOICES, ids=str)
def test_studies_with_conditions_and_failures_find_the_best(settings: dict[str, Any]) -> None:
    study = run(**settings)
    # Bandits learn what a choice is worth on the average, which takes longer.
    assert study.best_value < (2.0 if settings.get("search") == "bandit" else 0.6)
    points = [tuple(sorted(trial.params.items())) for trial in study.trials]
    assert len(set(points)) == len(points)


@pytest.mark.parametrize("settings", CHOICES, ids=str)
def test_the_same_seed_gives_the_same_trials_after_a_resume(settings: dict[str, Any]) -> None:
    whole = run(14, **settings)
    resumed = run(9, **settings)
    resumed.sampler = HeatSampler(seed=0, n_startup_trials=6, **settings)
    resumed.optimize(objective, n_trials=5, catch=(RuntimeError,))
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]
    if settings != {"trust_region": "casmopolitan"}:  # in so few trials it shrinks as ours does
        assert [t.params for t in whole.trials] != [t.params for t in run(14).trials]


@pytest.mark.parametrize("name", ["ucb", "thompson"])
def test_two_objectives_have_one_acquisition(name: Any) -> None:
    study = optuna.create_study(
        directions=["minimize", "minimize"],
        sampler=HeatSampler(seed=0, n_startup_trials=3, acquisition=name),
    )

    def two(trial: optuna.Trial) -> tuple[float, float]:
        letter = trial.suggest_categorical("a", list("abcdef"))
        return float(ord(letter)), -float(ord(letter))

    # Not one trial after the other, where whoever optimises goes on after errors.
    with pytest.raises(ValueError, match="acquisition must be 'log-ei' for 2 objectives"):
        study.optimize(two, n_trials=6, catch=(Exception,))
    assert len(study.trials) == 1


def test_two_objectives_can_be_averaged_over_samples() -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"],
        sampler=HeatSampler(seed=0, n_startup_trials=4, hyperparameters="slice-sampling"),
    )

    def two(trial: optuna.Trial) -> tuple[float, float]:
        x = [trial.suggest_categorical(f"x{i}", [0, 1, 2]) for i in range(4)]
        return float(sum(x)), float(x[0] * x[1] - x[2])

    study.optimize(two, n_trials=12)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 12


@pytest.mark.parametrize(
    ("name", "value"), [("acquisition", "ei"), ("hyperparameters", "mle"), ("acquisition", None)]
)
def test_unknown_names_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*one of"):
        HeatSampler(**{name: value})


def data() -> OutcomeData:
    rng = np.random.default_rng(0)
    points = SPACE.sample(30, rng)
    values = points[:, 0] + np.sin(4.0 * points[:, 2]) + 0.1 * rng.standard_normal(30)
    return OutcomeData(points, values)


def test_without_priors_the_likelihood_is_higher() -> None:
    likelihoods = []
    for name in ("map", "maximum-likelihood"):
        builder = KernelBuilder(SPACE, Model(hyperparameters=name))
        found = select_model(builder, data().with_inferred_noise(SPACE), 300, FitCache())
        density = NegativeLogDensity(
            found.kernel, data().points, data().standardised.values, has_prior=False
        )
        likelihoods.append(-density.value(found.hyperparameters))
    assert likelihoods[1] > likelihoods[0] + 0.1


@pytest.mark.parametrize("noise", [None, 0.01])
def test_samples_differ_and_depend_on_the_observations_alone(noise: float | None) -> None:
    builder = KernelBuilder(SPACE, Model(hyperparameters="slice-sampling"))
    known = None if noise is None else np.full(30, noise)
    observed = OutcomeData(data().points, data().values, known)
    first, second = (
        fit_outcome(builder, observed, ModelBudget(), FitCache()).samples for _ in range(2)
    )
    assert len(first) == len(second) == 8
    points = SPACE.sample(5, np.random.default_rng(1))
    means = [[sample.mean(points).tolist() for sample in samples] for samples in (first, second)]
    assert means[0] == means[1]
    assert len({str(mean) for mean in means[0]}) == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": TREE}, "search 'message-passing' needs acquisition='ucb'"),
        (
            {"structure": TREE, "acquisition": "ucb", "hyperparameters": "slice-sampling"},
            "hyperparameters='slice-sampling'",
        ),
        ({"acquisition": "ucb"}, "needs structure=RandomDecomposition"),
        ({"acquisition": "ucb", "structure": Additive()}, "needs structure=RandomDecomposition"),
        (
            {"acquisition": "ucb", "structure": [TREE, PermutationInvariant(["a", "b"])]},
            "and no other",
        ),
    ],
)
def test_messages_need_a_sum_over_a_tree(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeatSampler(search="message-passing", **settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("search", each) for each in ("hill-climbing", "interleaved", "bandit", "pool")],
        *[("trust_region", each) for each in ("casmopolitan", "bounce")],
    ],
)
def test_two_objectives_can_be_searched_in_any_way(name: str, value: Any) -> None:
    study = optuna.create_study(
        directions=["minimize", "maximize"],
        sampler=HeatSampler(seed=0, n_startup_trials=4, **{name: value}),
    )

    def two(trial: optuna.Trial) -> tuple[float, float]:
        x = [trial.suggest_categorical(f"x{i}", [0, 1, 2]) for i in range(4)]
        return float(sum(x)), float(x[0] * x[1] - x[2])

    study.optimize(two, n_trials=14)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 14


@pytest.mark.parametrize("settings", CHOICES, ids=str)
def test_a_space_is_exhausted_without_repeating_a_point(settings: dict[str, Any]) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=3, deterministic_objective=True, **settings)
    )

    def letters(trial: optuna.Trial) -> float:
        return float(sum(ord(trial.suggest_categorical(name, list("abc"))) for name in "xy"))

    study.optimize(letters, n_trials=12)
    assert len(study.trials) == 9
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 9


def test_the_search_finds_the_maximum_of_the_bound_of_the_terms() -> None:
    """All points of a small space, with the model that the sampler has, in the same state."""
    space = Space(tuple(Categorical(f"c{i}", range(3)) for i in range(6)))
    rng = np.random.default_rng(0)
    points = space.sample(30, rng)
    history = History.of(space, points, np.sin(points @ np.arange(1.0, 7.0)))
    settings = Settings(
        model=Model(structure=TREE),
        acquisition="ucb",
        search_by="message-passing",
        search=SearchBudget(enumerate_up_to=0),
        trust_region=None,
        deterministic=True,
    )
    suggestion = suggest(Problem(space), history, settings, rng)
    builder = KernelBuilder(space, settings.model)
    outcome = outcome_of(builder, canonical(history, None), settings, FitCache())
    bound = ComponentBound(outcome.surrogate.terms(), exploration(30))
    everything = Domain(space).enumerate()
    new = everything[~PointSet(points).contains(everything)]
    assert suggestion.acquisition == pytest.approx(bound(new).max(), abs=1e-9)
