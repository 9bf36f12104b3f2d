"""Measured GPU kernels as cache files of Kernel Tuner, for its simulation mode.

A cache file has the time of every configuration that keeps the restrictions, or how it failed.
They are made from the tables of the Auto-Tuning Association in ``HEAT_PLUGINS_DATA``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heat_plugins.benchmarks.problems.problem import data_file
from heat_plugins.benchmarks.problems.tables import gpu_rows

__all__ = ["TUNING_PROBLEMS", "TuningProblem", "tuning_problem"]

_ERRORS = {"compile": "CompilationFailedConfig", "runtime": "RuntimeFailedConfig"}


@dataclass(frozen=True)
class TuningProblem:
    """A kernel whose configurations have all been measured.

    Args:
        name: As the command line knows it.
        kernel_name: As Kernel Tuner knows it.
        problem_size: Of the grid.
        tune_params: The choices of each tunable parameter.
        restrictions: What configurations must keep, as Kernel Tuner reads it.
        results: What was measured, by configuration.
        device: Where.
    """

    name: str
    kernel_name: str
    problem_size: tuple[int, ...]
    tune_params: Mapping[str, Sequence[Any]]
    restrictions: tuple[str, ...]
    results: Mapping[tuple[Any, ...], Mapping[str, Any]]
    device: str

    @property
    def best(self) -> float:
        """The shortest time, in milliseconds."""
        return float(min(r["time"] for r in self.results.values() if "__error__" not in r))

    @property
    def n_failed(self) -> int:
        """How many configurations fail."""
        return sum("__error__" in result for result in self.results.values())

    def write(self, path: Path) -> None:
        """Write the cache file that Kernel Tuner simulates from."""
        names = [*self.tune_params]
        cache = {
            ",".join(map(str, key)): {**dict(zip(names, key, strict=True)), **result}
            for key, result in self.results.items()
        }
        header = {
            "device_name": self.device,
            "kernel_name": self.kernel_name,
            "problem_size": list(self.problem_size),
            "tune_params_keys": names,
            "tune_params": {name: list(values) for name, values in self.tune_params.items()},
            "objective": "time",
            "cache": cache,
        }
        path.write_text(json.dumps(header), encoding="utf-8")


_GEMM = (
    "KWG % KWI == 0",
    "MWG % (MDIMC * VWM) == 0",
    "NWG % (NDIMC * VWN) == 0",
    "MWG % (MDIMA * VWM) == 0",
    "NWG % (NDIMB * VWN) == 0",
    "KWG % ((MDIMC * NDIMC) / MDIMA) == 0",
    "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
    "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
)
_CONVOLUTION = (
    "use_padding == 0 or block_size_x % 32 != 0",
    "block_size_x * block_size_y <= 1024",
    "use_padding == 0 or use_shmem != 0",
    "use_shmem == 0 or "
    "(block_size_x * tile_size_x + 14) * (block_size_y * tile_size_y + 14) < 12 * 1024",
)


def _is_too_large(entry: Mapping[str, Any]) -> bool:
    """Whether the last restriction, which came after the file, rules a configuration out."""
    large = entry["MWG"] == entry["NWG"] == 128
    return bool(large and entry["MDIMC"] == entry["NDIMC"] == 8)


def _gemm() -> TuningProblem:
    """The matrix product, from a cache file that Kernel Tuner has written itself."""
    path = data_file("gemm", "gpu_kernels", "gemm_RTX_3090_kt.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as text:
        stored = json.load(text)
    names = stored["tune_params_keys"]
    results = {
        tuple(entry[name] for name in names): {"time": entry["time"]}
        for entry in stored["cache"].values()
        if not _is_too_large(entry)
    }
    return TuningProblem(
        "gemm",
        stored["kernel_name"],
        tuple(stored["problem_size"]),
        stored["tune_params"],
        _GEMM,
        results,
        stored["device_name"],
    )


def _from_table(name: str, file: str, device: str, restrictions: tuple[str, ...]) -> TuningProblem:
    """Return a kernel whose measurements are in a table."""
    rows = gpu_rows(name, file)
    names = [column for column in rows[0] if column not in ("time_ms", "status")]
    results = {}
    for row in rows:
        error, key = _ERRORS.get(row["status"]), tuple(int(row[column]) for column in names)
        time = {"time": error, "__error__": error} if error else {"time": float(row["time_ms"])}
        results[key] = time
    tune_params = {column: sorted({int(row[column]) for row in rows}) for column in names}
    return TuningProblem(name, name, (4096, 4096), tune_params, restrictions, results, device)


TUNING_PROBLEMS = ("gemm", "convolution", "pnpoly")


def tuning_problem(name: str) -> TuningProblem:
    """Return a kernel by name.

    Raises:
        FileNotFoundError: If its table is not there.
    """
    if name == "gemm":
        return _gemm()
    if name == "convolution":
        return _from_table(name, "convolution_milo_A100", "NVIDIA A100", _CONVOLUTION)
    if name == "pnpoly":
        return _from_table(name, "pnpoly_RTX_2080_Ti", "NVIDIA GeForce RTX 2080 Ti", ())
    raise ValueError(f"name must be one of {TUNING_PROBLEMS}, got {name!r}")
