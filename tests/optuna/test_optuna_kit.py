"""Optuna's own contract for samplers, with the model in use from the first complete trial."""

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler

from heat_plugins import HeatSampler

pytest.register_assert_rewrite("optuna.testing.pytest_samplers")

from optuna.testing.pytest_samplers import (  # noqa: E402 - after the line above
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)


class TestKit(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: HeatSampler(n_startup_trials=0)


class TestKitOfDeterministicObjectiveWithoutTrustRegion(RelativeSamplerTestCase):
    # Not the basic cases: they want ten trials of three choices, where this study stops.
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: HeatSampler(
            n_startup_trials=0, deterministic_objective=True, trust_region=False
        )
