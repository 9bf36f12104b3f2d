"""Optional packages, and what to do when one is missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["MissingExtra", "Needs", "hide_missing", "is_installed", "load_name", "require"]

# By the name of one of our modules: the package that it needs, and the extra that installs it.
Needs = Mapping[str, tuple[str, str]]


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


def load_name(package: str, name: str, homes: Mapping[str, str], needs: Needs) -> Any:
    """Return a public name of a package from its module: what ``__getattr__`` of the package does.

    Args:
        package: The package that is asked.
        name: What it is asked for.
        homes: By public name, the module that defines it.
        needs: What those modules need beyond a base installation.

    Raises:
        AttributeError: If there is no such name, or an optional package is missing.
        MissingExtra: If an optional package is missing and the name is being imported.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    home = homes[name]
    try:
        if home in needs:
            require(*needs[home])
        return getattr(import_module(home), name)
    except MissingExtra as error:
        # Python drops the message of an AttributeError from an import of the name, and an
        # ImportError is no answer to ``hasattr``; so each gets its own. Frame 1 is __getattr__.
        if sys._getframe(2).f_code.co_name == "_handle_fromlist":
            raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}: {error}") from error


def hide_missing(names: list[str], homes: Mapping[str, str], needs: Needs) -> None:
    """Take the names out of ``__all__`` that a missing package keeps from being loaded.

    So ``from package import *`` works on every installation.
    """
    missing = {home for home, (package, _) in needs.items() if not is_installed(package)}
    names[:] = [name for name in names if homes.get(name) not in missing]
