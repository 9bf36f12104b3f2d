"""Pairs of related problems: a search that is run again on other data, or another device.

=================  ==========================================================================
NAS-Bench-201      accuracy on CIFAR-10, then on CIFAR-100 and ImageNet16-120
svm                other patients with the same measurements
GPU                the same table with times scaled and perturbed by a seed, and then itself
=================  ==========================================================================
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from heat_plugins.benchmarks.problems.mixed import svm
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.problems.tasks import Params, Result, Task

__all__ = ["RELATED", "perturbed"]

DEVIATION = 0.1  # of the logarithm of a perturbed time

Pair = tuple[Task, Task]  # the earlier and the present one


def perturbed(task: Task, seed: int) -> Task:
    """Return a task whose values are scaled alike, and perturbed each by itself.

    y' = c (y + 1) exp(0.1 z), with z a standard normal number of the seed and the parameters, and
    log c one of the seed. What fails, fails.
    """
    scale = float(np.exp(np.random.default_rng([seed, 77]).standard_normal()))

    def evaluate(params: Params) -> Result:
        result = task.evaluate(params)
        if result.has_failed:
            return result
        place = zlib.crc32(repr(sorted(params.items())).encode())
        normal = np.random.default_rng([seed, place]).standard_normal()
        value = scale * (result.values[0] + 1.0) * np.exp(DEVIATION * normal)
        return Result((float(value),))

    return replace(task, name=f"{task.name}-perturbed", evaluate=evaluate)


def _tables(earlier: str, present: str, seed: int) -> Pair:
    return TABLES[earlier](), TABLES[present]()


def _variant(present: str, seed: int) -> Pair:
    task = TABLES[present]()
    return perturbed(task, seed), task


def _patients(seed: int) -> Pair:
    return svm(others=True), svm()


# What makes each pair, of a seed.
RELATED: Mapping[str, Callable[[int], Pair]] = {
    "cifar10-cifar100": partial(_tables, "nasbench201-cifar10", "nasbench201-cifar100"),
    "cifar10-imagenet": partial(_tables, "nasbench201-cifar10", "nasbench201-imagenet"),
    "gpu-convolution": partial(_variant, "gpu-convolution"),
    "gpu-pnpoly": partial(_variant, "gpu-pnpoly"),
    "svm": _patients,
}
