"""Kernel Tuner with heat_plugins: one argument more, for a made-up GPU kernel.

A matrix product on a GPU is imitated: a cache file with the time of every configuration is
written first, and Kernel Tuner simulates from it, so that neither a GPU nor a compiler is needed.
Block and tile sizes are lists of numbers, the layout of a matrix is one of three names. Two
restrictions are known, and configurations that need too much shared memory do not compile.
Everything but ``strategy=HeatStrategy(...)`` is Kernel Tuner as usual.
``pip install "heat-plugins[kernel-tuner]"`` installs it.

    python examples/kernel_tuner_simulation.py [--configurations 60]
"""

import argparse
import itertools
import json
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

from kernel_tuner import tune_kernel

from heat_plugins import HeatStrategy

TUNE_PARAMS = {
    "block_size_x": [8, 16, 32, 64, 128],
    "block_size_y": [1, 2, 4, 8, 16],
    "tile_x": [1, 2, 4, 8],
    "tile_y": [1, 2, 4, 8],
    "layout": ["rows", "columns", "tiles"],
    "vector": [1, 2, 4],
    "prefetch": [False, True],
}
RESTRICTIONS = ["block_size_x * block_size_y <= 1024", "tile_x % vector == 0"]
SHARED_MEMORY = 48 * 1024


def result(params: dict[str, Any]) -> dict[str, Any]:
    """Return the time of a configuration in milliseconds, or that it does not compile."""
    width = params["block_size_x"] * params["tile_x"]
    height = params["block_size_y"] * params["tile_y"]
    if 4 * 32 * (width + height) * (1 + params["prefetch"]) > SHARED_MEMORY:
        return {"time": "CompilationFailedConfig", "__error__": "CompilationFailedConfig"}
    threads = params["block_size_x"] * params["block_size_y"]
    time = 2.0 + 0.6 * abs(math.log2(threads / 256)) + 24.0 / width + 24.0 / height
    time += {"rows": 1.5, "columns": 0.8, "tiles": 0.0}[params["layout"]]
    time += 0.4 * abs(math.log2(params["tile_x"] * params["tile_y"] / 16))
    time += 0.5 * abs(math.log2(params["vector"] / (4 if params["block_size_x"] > 16 else 2)))
    return {"time": time - 0.5 * params["prefetch"]}


def write_cache(path: Path) -> None:
    """Write the file that Kernel Tuner simulates from."""
    cache = {}
    for values in itertools.product(*TUNE_PARAMS.values()):
        params = dict(zip(TUNE_PARAMS, values, strict=True))
        cache[",".join(map(str, values))] = params | result(params)
    header = {
        "device_name": "made up",
        "kernel_name": "matrix_product",
        "problem_size": [1024, 1024],
        "tune_params_keys": [*TUNE_PARAMS],
        "tune_params": TUNE_PARAMS,
        "objective": "time",
        "cache": cache,
    }
    path.write_text(json.dumps(header), encoding="utf-8")


def tuned(cache: Path, strategy: Any, n: int) -> list[dict[str, Any]]:
    """Return what Kernel Tuner measures with a strategy, each configuration once."""
    results, _ = tune_kernel(
        "matrix_product",
        "",  # the source, of which a simulation has no need
        (1024, 1024),
        [],
        TUNE_PARAMS,
        restrictions=RESTRICTIONS,
        strategy=strategy,
        strategy_options={"max_fevals": n},
        cache=str(cache),
        simulation_mode=True,
        lang="C",
        quiet=True,
    )
    return [*{tuple(r[name] for name in TUNE_PARAMS): r for r in results}.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # of Kernel Tuner, about a kernel without source

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache.json"
        write_cache(cache)
        strategies = {
            "HeatStrategy": HeatStrategy(seed=arguments.seed),  # the one thing that is new
            "genetic_algorithm": "genetic_algorithm",
            "random_sample": "random_sample",
        }
        for name, strategy in strategies.items():
            results = tuned(cache, strategy, arguments.configurations)
            times = [r["time"] if "__error__" not in r else math.inf for r in results]
            n_failed = times.count(math.inf)
            print(f"{name:18s} {len(times)} configurations, {n_failed} do not compile, ", end="")
            print(f"the best takes {min(times):.3f} ms:")
            best = results[times.index(min(times))]
            print("   ", ", ".join(f"{key}={best[key]}" for key in TUNE_PARAMS))
        every = [
            result(dict(zip(TUNE_PARAMS, v, strict=True)))
            for v in itertools.product(*TUNE_PARAMS.values())
            if v[0] * v[1] <= 1024 and v[2] % v[5] == 0
        ]
        best_time = min(r["time"] for r in every if "__error__" not in r)
        print(f"\nof {len(every)} valid configurations the best takes {best_time:.3f} ms")


if __name__ == "__main__":
    main()
