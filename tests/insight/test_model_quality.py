"""Left-out predictions tell a model that knows something from one that does not."""

import numpy as np
import pytest

from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_data import ModelBudget, OutcomeData
from heat_plugins.gp.outcomes import fit_outcome
from heat_plugins.insight.model_quality import LeftOut, left_out_predictions
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model

SPACE = Space((Categorical("a", "xyz"), Categorical("b", "xyz"), Float("u", 0.0, 1.0)))
LEVELS = np.linspace(0.1, 0.9, 9)


def quality_of(values_of, n=60, seed=0):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(n, rng)
    builder = KernelBuilder(SPACE, Model())
    data = OutcomeData(points, values_of(points, rng))
    return left_out_predictions(fit_outcome(builder, data, ModelBudget(), FitCache()))


def test_what_can_be_learnt_is_predicted():
    found = quality_of(lambda points, rng: (points[:, 0] == 1.0) + points[:, 2])
    assert found.explained > 0.98 and found.rank_correlation > 0.95
    assert sorted(found.rows) == list(range(60))


def test_noise_is_not_predicted_and_that_is_known():
    found = [quality_of(lambda p, rng: rng.normal(size=len(p)), seed=seed) for seed in range(4)]
    assert max(each.explained for each in found) < 0.25
    covered = np.mean([each.coverage(LEVELS) for each in found], axis=0)
    assert covered == pytest.approx(LEVELS, abs=0.15)


def test_coverage_is_the_share_within_central_intervals():
    rng = np.random.default_rng(0)
    n = 20_000
    means, deviations = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    values = means + deviations * rng.normal(size=n)
    found = LeftOut(np.arange(n), values, means, deviations)
    assert found.coverage(LEVELS) == pytest.approx(LEVELS, abs=0.015)
    too_sure = LeftOut(np.arange(n), values, means, 0.5 * deviations)
    assert np.all(too_sure.coverage(LEVELS) < LEVELS)


def test_too_few_values_are_not_left_out():
    assert quality_of(lambda points, rng: points[:, 2], n=3) is None
