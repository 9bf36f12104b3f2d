"""What Optuna itself asks of evaluators of importance."""

from collections.abc import Callable

import pytest
from optuna.importance import BaseImportanceEvaluator

from heat_plugins.optuna.importance import HeatImportanceEvaluator

pytest.register_assert_rewrite("optuna.testing.pytest_importance")
kit = pytest.importorskip("optuna.testing.pytest_importance", reason="Optuna 5 has it")


# Optuna warns that it may still change what ``normalize=False`` does.
@pytest.mark.filterwarnings("ignore:Argument ``normalize`` is an experimental feature")
class TestKit(
    kit.BasicImportanceEvaluatorTestCase,  # type: ignore[misc, name-defined]
    kit.NonConditionalImportanceEvaluatorTestCase,  # type: ignore[misc, name-defined]
):
    @pytest.fixture
    def evaluator(self) -> Callable[..., BaseImportanceEvaluator]:
        return HeatImportanceEvaluator
