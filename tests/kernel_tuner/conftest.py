"""What the tests of the integration with Kernel Tuner share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from made_up_kernel import Tune

# What Kernel Tuner is not there for cannot even be imported.
collect_ignore_glob = [] if find_spec("kernel_tuner") else ["test_*.py"]

# Of Kernel Tuner, about kernels that are nothing but a cache file.
WARNINGS = ["ignore:None of the tunable parameters specify thread block:UserWarning"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Do not fail over what is not about us."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def tune(tmp_path_factory: pytest.TempPathFactory) -> Tune:
    from made_up_kernel import Tune

    return Tune(tmp_path_factory.mktemp("caches"))
