"""A made-up kernel with restrictions and configurations that fail, and its cache file."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_tuner import tune_kernel

from heat_plugins.kernel_tuner import HeatStrategy

Choices = Mapping[str, Sequence[Any]]
Result = dict[str, Any]

CHOICES: Choices = {
    "block_size_x": [16, 32, 64, 128, 256],
    "block_size_y": [1, 2, 4, 8, 16],
    "tile": [1, 2, 3, 4, 6, 8],
    "layout": ["row", "column", "tiled"],
    "shared": [True, False],
}
RESTRICTIONS = ["block_size_x * block_size_y <= 512", "tile <= block_size_x // 8"]


def made_up(params: Mapping[str, Any]) -> Result:
    """Return what the kernel takes, in milliseconds; too much shared memory does not compile."""
    threads = params["block_size_x"] * params["block_size_y"]
    if params["shared"] and threads * params["tile"] > 512:
        return {"time": "CompilationFailedConfig", "__error__": "CompilationFailedConfig"}
    time = 2.0 + abs(threads - 256) / 128 + 0.3 * abs(params["tile"] - 4)
    time += {"row": 0.0, "column": 1.0, "tiled": 0.4}[params["layout"]]
    return {"time": time - 0.5 * params["shared"]}


def write_cache(
    path: Path, choices: Choices, measure: Callable[[Mapping[str, Any]], Result]
) -> None:
    """Write the cache file that Kernel Tuner simulates from, restricted or not."""
    names = [*choices]
    cache = {}
    for key in itertools.product(*choices.values()):
        params = dict(zip(names, key, strict=True))
        times = {"compile_time": 100.0, "verification_time": 0.0, "benchmark_time": 50.0}
        cache[",".join(map(str, key))] = {**params, **times, **measure(params)}
    header = {
        "device_name": "made up",
        "kernel_name": "kernel",
        "problem_size": [1024],
        "tune_params_keys": names,
        "tune_params": choices,
        "objective": "time",
        "cache": cache,
    }
    path.write_text(json.dumps(header), encoding="utf-8")


def keys(
    results: Sequence[Mapping[str, Any]], choices: Choices = CHOICES
) -> list[tuple[Any, ...]]:
    """Return the configurations of results, in order."""
    return [tuple(result[name] for name in choices) for result in results]


class Tune:
    """Tunes the made-up kernel, or one like it, in simulation mode."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # With the functions themselves: what is forgotten may leave its place to another one.
        self._caches: dict[tuple[str, Callable[..., Result]], Path] = {}

    def __call__(
        self,
        strategy: Any = None,
        n: int | None = None,
        *,
        choices: Choices = CHOICES,
        measure: Callable[[Mapping[str, Any]], Result] = made_up,
        restrictions: Any = RESTRICTIONS,
        options: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> list[Result]:
        """Return the results of ``tune_kernel`` with a strategy and a budget."""
        key = str(choices), measure
        if key not in self._caches:
            self._caches[key] = self._folder / f"cache{len(self._caches)}.json"
            write_cache(self._caches[key], choices, measure)
        options = dict(options or {}) | ({} if n is None else {"max_fevals": n})
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed):
            results, _ = tune_kernel(
                "kernel",
                "",
                [1024],
                [],
                choices,
                restrictions=restrictions,
                strategy=HeatStrategy(seed=0) if strategy is None else strategy,
                strategy_options=options,
                cache=str(self._caches[key]),
                simulation_mode=True,
                lang="C",
                **arguments,
            )
        return list(results)
