"""The configurations of Kernel Tuner as points.

Tunable parameters are choices, and Kernel Tuner has found out which configurations keep the
restrictions before a strategy begins: these are the points of the search, and no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from kernel_tuner.searchspace import Searchspace

from heat_plugins.search.listed_points import ListedPoints
from heat_plugins.space import Array, Categorical, Space
from heat_plugins.spec.model import Model

__all__ = ["Configuration", "Configurations"]

Configuration = tuple[Any, ...]  # a value for each of tune_params, in their order


class Configurations:
    """The valid configurations of a search space.

    Tunable parameters with a single value are left to Kernel Tuner: they say nothing.

    Attributes:
        space: The parameters with several values.
        listed: The valid configurations as points.

    Args:
        searchspace: The search space of Kernel Tuner.
    """

    def __init__(self, searchspace: Searchspace) -> None:
        self._values: tuple[tuple[Any, ...], ...] = searchspace.params_values
        # Kernel Tuner keeps configurations in a dictionary, so values can be looked up in one.
        self._codes = [{v: code for code, v in enumerate(values)} for values in self._values]
        self._varying = [i for i, values in enumerate(self._values) if len(values) > 1]
        names = searchspace.param_names
        self.space = Space(
            tuple(
                Categorical(names[i], tuple(_plain(v) for v in self._values[i]))
                for i in self._varying
            )
        )
        most = max(map(len, self._values))
        codes = np.empty((searchspace.size, len(self._varying)), dtype=np.min_scalar_type(most))
        for column, i in enumerate(self._varying):
            code = self._codes[i]
            codes[:, column] = [code[configuration[i]] for configuration in searchspace.list]
        self.listed = ListedPoints(codes)

    def point(self, configuration: Configuration) -> Array:
        """Return the point (d,) of a configuration."""
        return np.array([self._codes[i][configuration[i]] for i in self._varying], dtype=float)

    def configuration(self, point: Array) -> Configuration:
        """Return the configuration at a point (d,), with the values as the user gave them."""
        values = [own[0] for own in self._values]
        for i, code in zip(self._varying, point.astype(int).tolist(), strict=True):
            values[i] = self._values[i][code]
        return tuple(values)

    def check_names(self, model: Model) -> None:
        """Refuse a model that names what cannot be tuned.

        Raises:
            ValueError: If a parameter is not in tune_params, or has one value only.
        """
        unknown = [name for name in model.named if name not in self.space.column]
        if unknown:
            raise ValueError(
                f"Settings of HeatStrategy name {unknown}, but the tunable parameters with more "
                f"than one value are {list(self.space.names)}"
            )


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as what it is in Python, so that a number looks like one."""
    return value.item() if isinstance(value, np.generic) else value
