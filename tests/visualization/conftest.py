"""What the tests of pictures share."""

from collections.abc import Callable, Iterator

import optuna
import pytest
from odd_studies import ODD_STUDIES

from heat_plugins.insight.study_model import StudyModel
from heat_plugins.visualization import read


@pytest.fixture(autouse=True, scope="session")
def _only_errors_are_logged() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(verbosity)


@pytest.fixture(scope="session")
def odd_model() -> Callable[[str], StudyModel]:
    """Return the models of an odd study, fitted once for all tests."""
    models: dict[str, StudyModel] = {}

    def of(name: str) -> StudyModel:
        if name not in models:
            models[name] = read(ODD_STUDIES[name]())
        return models[name]

    return of
