"""Models of earlier studies."""

import numpy as np
import pytest

from heat_plugins.gp.earlier_models import FEWEST_POINTS, EarlierModels
from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget
from heat_plugins.history import EarlierStudy
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model

SPACE = Space((*[Categorical(f"c{i}", "abc") for i in range(5)], Float("x", 0, 1)))
BUDGET = ModelBudget(100, 120)


def study_of(n=60, seed=0, name="old"):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(n, rng)
    values = points @ np.array([1.0, -2.0, 1.0, 0.5, 0.0, 3.0])
    failed = points[points[:, 0] == 2.0]
    return EarlierStudy(name, points, values[:, None], failed)


def models_of(*studies, index=0):
    builder = KernelBuilder(SPACE, Model())
    return EarlierModels(builder, studies, False, BUDGET).of_outcome(index, FitCache())


def with_values(study, values):
    return EarlierStudy(study.name, study.points, values, study.failed)


def test_a_study_that_predicts_itself_is_expected_to_tell_more_than_one_that_does_not():
    real = study_of()
    values = np.random.default_rng(1).permutation(real.values)
    (good,), (permuted,) = models_of(real), models_of(with_values(real, values))
    assert good.weight == 1.0 and permuted.weight < 0.2
    builder = KernelBuilder(SPACE, Model())
    for study, least, most in ((real, 0.99, 1.0), (with_values(real, values), 0.0, 0.2)):
        models = EarlierModels(builder, (study,), False, BUDGET)
        assert least <= models.expected_share(FitCache()) <= most


@pytest.mark.parametrize("values", [np.nan, 2.0], ids=["unknown", "constant"])
def test_a_study_that_says_nothing_has_no_model(values):
    study = study_of()
    assert models_of(with_values(study, np.full((60, 1), values))) == ()
    assert models_of(study, index=1) == ()  # it has one objective and no constraint


def test_a_parameter_that_a_study_did_not_have_changes_nothing():
    study = study_of()
    points = study.points.copy()
    points[:, 5] = np.nan
    (model,) = models_of(EarlierStudy("old", points, study.values, points[:0]))
    others = SPACE.sample(4, np.random.default_rng(2))
    moved = others.copy()
    moved[:, 5] = 0.5
    assert model.lacking.tolist() == [False] * 5 + [True]
    np.testing.assert_array_equal(model.mean(others), model.mean(moved))


def test_trials_without_a_parameter_that_always_exists_are_left_out():
    study = study_of()
    points = study.points.copy()
    points[:20, 1] = np.nan
    (model,) = models_of(EarlierStudy("old", points, study.values, points[:0]))
    assert len(model.surrogate.points) == 40


@pytest.mark.parametrize("n", [1, 2, 6])
def test_several_studies_share_what_one_may_have(n):
    models = models_of(*[study_of(200, seed, f"study {seed}") for seed in range(n)])
    assert len(models) == n
    assert all(len(model.surrogate.points) <= max(FEWEST_POINTS, 120 // n) for model in models)


def test_failures_are_known_unless_they_look_like_chance():
    study = study_of()
    builder, rng = KernelBuilder(SPACE, Model()), np.random.default_rng(3)
    kept = study.points[study.points[:, 0] != 2.0]
    values = np.zeros((len(kept), 1))
    depends = EarlierStudy("old", kept, values, study.failed)
    (model,) = EarlierModels(builder, (depends,), False, BUDGET).of_failures(FitCache())
    fails, works = study.points[study.points[:, 0] == 2.0], kept
    expected = [model.surrogate.mean(points).mean() for points in (fails, works)]
    assert expected[0] > model.limit > expected[1]
    order = rng.permutation(len(study.points))
    chance = EarlierStudy(
        "old", study.points[order[20:]], np.zeros((40, 1)), study.points[order[:20]]
    )
    assert EarlierModels(builder, (chance,), False, BUDGET).of_failures(FitCache()) == ()


def test_models_are_fitted_once():
    builder, cache = KernelBuilder(SPACE, Model()), FitCache()
    studies = (study_of(),)
    first = EarlierModels(builder, studies, False, BUDGET).of_outcome(0, cache)
    again = EarlierModels(builder, studies, False, BUDGET).of_outcome(0, cache)
    assert again is first
    cache.begin_with((study_of(seed=5).fingerprint,))
    assert EarlierModels(builder, studies, False, BUDGET).of_outcome(0, cache) is not first
