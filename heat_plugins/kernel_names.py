"""Kernels by name: those that are built in, and functions that a program has registered.

Stored settings hold names only, so that loading them never imports or calls what the data ask
for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

__all__ = [
    "KERNELS",
    "KernelFunction",
    "check_kernel",
    "function_of",
    "name_of",
    "register_kernel",
]

KernelName = Literal[
    "heat",
    "casmopolitan",
    "combo",
    "one-hot-rbf",
    "matern",
    "rational-quadratic",
    "graph-matern",
    "inverse-polynomial",
    "hed",
    "ssk",
]
KERNELS: tuple[str, ...] = get_args(KernelName)
KernelFunction = Callable[[Any], Any]

_REGISTERED: dict[str, KernelFunction] = {}


def register_kernel(name: str, function: KernelFunction) -> None:
    """Give a kernel that is a function a name, by which it is used and stored.

    Afterwards ``kernel=name`` works wherever a kernel is asked for. Settings are stored with the
    name alone, so a program that loads them registers the function first. To register a
    function again, as a notebook does whose cell runs twice, replaces the older version.

    Example:
        .. code-block:: python

            def laplace(r):
                return np.exp(-r)


            register_kernel("laplace", laplace)
            sampler = HeatSampler(kernel="laplace")

    Args:
        name: Its name, other than those of the kernels that are built in.
        function: A function of the distance sqrt(h), see :class:`~heat_plugins.model.Model`.

    Raises:
        ValueError: If the name is taken, or if the function gives no correlations.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name of a kernel must be a string that is not empty, got {name!r}")
    if name in KERNELS:
        raise ValueError(f"name of a kernel must be none of the built-in {KERNELS}, got {name!r}")
    if not callable(function):
        raise ValueError(f"kernel {name!r} must be a function of sqrt(h), got {function!r}")
    known = _REGISTERED.get(name)
    if known is not None and known is not function and _place(known) != _place(function):
        raise ValueError(f"name of a kernel must be new, but {name!r} is that of {known!r}")
    _check_function(function)
    _REGISTERED[name] = function


def check_kernel(kernel: Any) -> None:
    """Refuse what is neither a name of a kernel nor a function that gives correlations."""
    if callable(kernel):
        _check_function(kernel)
    elif kernel not in KERNELS:
        function_of(kernel)


def function_of(kernel: Any) -> KernelFunction | None:
    """Return the function that a kernel is; None for one that is built in.

    Raises:
        ValueError: If there is no kernel of that name in this program.
    """
    if callable(kernel):
        function: KernelFunction = kernel
        return function
    if kernel in KERNELS:
        return None
    if isinstance(kernel, str) and kernel in _REGISTERED:
        return _REGISTERED[kernel]
    raise ValueError(
        f"kernel must be one of {KERNELS}, a function of sqrt(h), or the name of one that this "
        f"program has registered by heat_plugins.register_kernel(name, function), got {kernel!r}"
    )


def name_of(kernel: str | KernelFunction) -> str:
    """Return the name under which a kernel is stored.

    Raises:
        TypeError: If it is a function that has none.
    """
    if isinstance(kernel, str):
        return kernel
    for name, function in _REGISTERED.items():
        if function is kernel:
            return name
    raise TypeError(
        "a kernel that is a function is stored by its name, so it must be registered first by "
        f"heat_plugins.register_kernel(name, function), got {kernel!r}"
    )


def _place(function: KernelFunction) -> Any:
    """Return where a function was defined; something unique if it has no such place."""
    name = getattr(function, "__qualname__", None)
    return object() if name is None else (function.__module__, name)


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
