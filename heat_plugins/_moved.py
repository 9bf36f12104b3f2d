"""Modules by the names that they had before they moved."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED"]

# Old name: new name. Only what a release had; modules that never were in one just move.
MOVED = {
    "heat_plugins.benchmarks.functions": "heat_plugins.benchmarks.problems.functions",
    "heat_plugins.benchmarks.kernel_speed": "heat_plugins.benchmarks.run.kernel_speed",
    "heat_plugins.benchmarks.speed": "heat_plugins.benchmarks.run.speed",
    "heat_plugins.benchmarks.studies": "heat_plugins.benchmarks.run.studies",
    "heat_plugins.choices": "heat_plugins.space.categorical",
    "heat_plugins.conditions": "heat_plugins.space.conditions",
    # Pickles of samplers name these three.
    "heat_plugins.core.genetic": "heat_plugins.search.genetic",
    "heat_plugins.core.suggest": "heat_plugins.suggest",
    "heat_plugins.core.trust_region": "heat_plugins.search.trust_region",
    "heat_plugins.graphs": "heat_plugins.space.graphs",
    "heat_plugins.kernels.decompositions": "heat_plugins.kernels.baselines.random_trees",
    "heat_plugins.kernels.dictionaries": "heat_plugins.kernels.baselines.dictionary",
    "heat_plugins.kernels.permutation_groups": "heat_plugins.kernels.permutations",
    "heat_plugins.model": "heat_plugins.spec.model",
    "heat_plugins.numeric": "heat_plugins.space.numeric",
    "heat_plugins.optuna.history": "heat_plugins.optuna.study_reader",
    "heat_plugins.structures": "heat_plugins.spec.structures",
}


class _OldNames(Loader):
    """Finds modules under their old names, and gives those that exist: one under both names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "heat_plugins.core":  # a package that is gone, with modules that have moved
            return ModuleSpec(name, None, is_package=True)
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} has moved; write {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        spec.loader_state = module.__spec__  # which the import system is about to replace
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(_OldNames())  # asked when nothing else has found a module
