"""What a test does where a server or a package that it needs cannot be had.

It is skipped and says why; HEAT_PLUGINS_REQUIRE_SERVERS=1 makes it fail instead, so that a run
which must be complete cannot pass without it.
"""

import importlib.util
import os
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail it in a run that must be complete."""
    if os.environ.get("HEAT_PLUGINS_REQUIRE_SERVERS", "0") not in ("", "0"):
        pytest.fail(f"{reason}, and HEAT_PLUGINS_REQUIRE_SERVERS is set", pytrace=False)
    pytest.skip(reason)


def need(*modules: str) -> None:
    """Skip or fail a test whose packages are missing, without importing them here."""
    missing = [name for name in modules if not _is_installed(name)]
    if missing:
        unavailable(f"not installed: {', '.join(missing)}")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False
