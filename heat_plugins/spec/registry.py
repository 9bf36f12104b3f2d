"""The kernels by name: each is one entry, and nothing else in the package knows their names.

An entry says how the kernel is made and what it can be combined with. Those that are built in
are listed in ``kernels/builtin.py``; a program adds its own by :func:`register_kernel`.
Stored settings hold names only, so that loading them never imports or calls what the data ask
for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np

__all__ = [
    "KernelEntry",
    "KernelFunction",
    "built_in_kernels",
    "check_kernel",
    "entry_of",
    "kernels_without_graph",
    "name_of",
    "register_kernel",
]

KernelFunction = Callable[[Any], Any]

_REGISTERED: dict[str, KernelEntry] = {}


@dataclass(frozen=True)
class KernelEntry:
    """A kernel on combinatorial spaces: its name, how it is made, what it goes together with.

    There are three kinds. A ``"product"`` has one factor for each parameter, so any structure
    can take it apart. A ``"profile"`` is a function of the weighted Hamming distance; groups of
    interchangeable parameters change the distance, but it cannot be taken apart. And what is
    made as a ``"whole"`` takes no structure, unless it compares labelled graphs and needs them.
    Numbers have a kernel of their own beside the last two.

    Args:
        name: What ``kernel=`` is.
        summary: What the documents say of it.
        kind: See above.
        factory: Makes it: a profile (``kernels/profiles.py``) from nothing; as a whole, a kernel
            (``kernels/base.py``) from the space and the columns (c,) it is for. None for
            products, which differ in the settings below alone.
        has_ard: Whether there is a version with a rate for every parameter.
        is_of_graph: Of a whole, whether it is made from the columns of each ``LabelledGraph``
            (``space/graph_columns.py``) instead.
        is_for_ordered: Of a whole, whether it also takes choices with an order or a graph.
        takes_graphs: Whether choices may have graphs and orders at all.
        has_remainder: Whether choices on a graph may differ in ways that the graph does not say.
        has_diffusion_time: Whether its isotropic version has one diffusion time for all
            parameters, rather than one rate.
        function: The function of the distance that a profile is, where it is one of the user's.
    """

    name: str
    summary: str
    kind: Literal["product", "profile", "whole"] = "whole"
    factory: Callable[..., Any] | None = None
    has_ard: bool = False
    is_of_graph: bool = False
    is_for_ordered: bool = True
    takes_graphs: bool = True
    has_remainder: bool = False
    has_diffusion_time: bool = False
    function: KernelFunction | None = None


@cache
def built_in_kernels() -> Mapping[str, KernelEntry]:
    """Return the entries of the kernels that are built in, by name."""
    # When they are first asked for: settings are made long before any kernel is.
    entries = import_module("heat_plugins.kernels.builtin").BUILT_IN
    return {entry.name: entry for entry in entries}


def kernels_without_graph() -> tuple[str, ...]:
    """Return the names of the built-in kernels that need no ``LabelledGraph``."""
    return tuple(name for name, entry in built_in_kernels().items() if not entry.is_of_graph)


def register_kernel(name: str | KernelEntry, function: KernelFunction | None = None) -> None:
    """Give a kernel a name, by which it is used and stored.

    Afterwards ``kernel=name`` works wherever a kernel is asked for. Settings are stored with the
    name alone, so a program that loads them registers the kernel first. To register a
    function again, as a notebook does whose cell runs twice, replaces the older version.

    Example:
        .. code-block:: python

            def laplace(r):
                return np.exp(-r)


            register_kernel("laplace", laplace)
            sampler = HeatSampler(kernel="laplace")

    Args:
        name: Its name, other than those of the kernels that are built in; or a whole
            :class:`KernelEntry`, for a kernel that is no function of the distance.
        function: A function of the distance sqrt(h), see :class:`~heat_plugins.spec.model.Model`.

    Raises:
        ValueError: If the name is taken, or if the function gives no correlations.
    """
    if isinstance(name, KernelEntry):
        entry = name
    else:
        if not callable(function):
            raise ValueError(f"kernel {name!r} must be a function of sqrt(h), got {function!r}")
        entry = _entry_of_function(function, name)
    if not isinstance(entry.name, str) or not entry.name:
        raise ValueError(
            f"name of a kernel must be a string that is not empty, got {entry.name!r}"
        )
    names = tuple(built_in_kernels())
    if entry.name in names:
        raise ValueError(
            f"name of a kernel must be none of the built-in {names}, got {entry.name!r}"
        )
    known = _REGISTERED.get(entry.name)
    if known is not None and _place(known) != _place(entry):
        raise ValueError(
            f"name of a kernel must be new, but {entry.name!r} is that of "
            f"{known.function or known.factory!r}"
        )
    if entry.function is not None:
        _check_function(entry.function)
    _REGISTERED[entry.name] = entry


def entry_of(kernel: Any) -> KernelEntry:
    """Return the entry of a kernel: its name, or a function of sqrt(h).

    Raises:
        ValueError: If there is no kernel of that name in this program.
    """
    if callable(kernel):
        return _entry_of_function(kernel, "")
    if isinstance(kernel, str):
        entry = built_in_kernels().get(kernel) or _REGISTERED.get(kernel)
        if entry is not None:
            return entry
    raise ValueError(
        f"kernel must be one of {tuple(built_in_kernels())}, a function of sqrt(h), or the name "
        "of one that this program has registered by heat_plugins.register_kernel(name, "
        f"function), got {kernel!r}"
    )


def check_kernel(kernel: Any) -> None:
    """Refuse what is neither a name of a kernel nor a function that gives correlations."""
    if callable(kernel):
        _check_function(kernel)
    entry_of(kernel)


def name_of(kernel: str | KernelFunction) -> str:
    """Return the name under which a kernel is stored.

    Raises:
        TypeError: If it is a function that has none.
    """
    if isinstance(kernel, str):
        return kernel
    for name, entry in _REGISTERED.items():
        if entry.function is kernel:
            return name
    raise TypeError(
        "a kernel that is a function is stored by its name, so it must be registered first by "
        f"heat_plugins.register_kernel(name, function), got {kernel!r}"
    )


def _entry_of_function(function: KernelFunction, name: str) -> KernelEntry:
    return KernelEntry(
        name, "a function of the Hamming distance", "profile", has_ard=True, function=function
    )


def _place(entry: KernelEntry) -> Any:
    """Return where a kernel was defined; something unique if it has no such place."""
    made_by = entry.function or entry.factory
    name = getattr(made_by, "__qualname__", None)
    return object() if made_by is None or name is None else (made_by.__module__, name)


def _check_function(function: KernelFunction) -> None:
    """Refuse a function that gives no correlations."""
    try:
        values = np.asarray(function(np.array([0.0, 0.5, 1.0, 2.0])), dtype=float)
    except Exception as error:
        raise ValueError(
            f"kernel, if a function, must take an array of distances, got {error!r}"
        ) from error
    is_finite = values.shape == (4,) and bool(np.all(np.isfinite(values)))
    if not is_finite or values[0] <= 0.0 or np.any(np.abs(values) > values[0] * (1.0 + 1e-9)):
        raise ValueError(
            "kernel, if a function, must turn an array of distances into as many finite "
            f"covariances, positive and largest at 0; got {values!r} at [0, 0.5, 1, 2]"
        )
