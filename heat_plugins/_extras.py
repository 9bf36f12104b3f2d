"""Optional packages, and what to do when one is missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["MissingExtra", "is_installed", "require"]


class MissingExtra(ImportError):
    """An optional package is not installed."""


def require(module: str, extra: str) -> Any:
    """Import an optional module.

    Args:
        module: The name of the module.
        extra: The extra of this package that installs it.

    Raises:
        MissingExtra: With the command that installs what is missing.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # the module is there, but something that it needs itself is not
        raise MissingExtra(
            f"this needs the package {error.name!r}, which is not installed; "
            f"install it with: pip install 'heat-plugins[{extra}]'"
        ) from error


def is_installed(package: str) -> bool:
    """Whether a package can be imported, without doing so."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # somebody keeps it from being found
        return False
