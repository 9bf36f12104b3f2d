"""Modules and names of a release, by the names that they had before they moved."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

__all__ = ["GONE", "MOVED", "RENAMED"]

# Old name: new name. Only what a release had; modules that never were in one just move.
MOVED = {
    "heat_plugins.benchmarks.functions": "heat_plugins.benchmarks.problems.functions",
    "heat_plugins.benchmarks.kernel_speed": "heat_plugins.benchmarks.run.kernel_speed",
    "heat_plugins.benchmarks.speed": "heat_plugins.benchmarks.run.speed",
    "heat_plugins.benchmarks.studies": "heat_plugins.benchmarks.run.studies",
    "heat_plugins.choices": "heat_plugins.space.categorical",
    "heat_plugins.conditions": "heat_plugins.space.conditions",
    "heat_plugins.core.acquisition": "heat_plugins.acquisition.log_ei",
    "heat_plugins.core.domain": "heat_plugins.search.domain",
    "heat_plugins.core.features": "heat_plugins.kernels.features",
    "heat_plugins.core.seen": "heat_plugins.space.point_set",
    "heat_plugins.core.surrogate": "heat_plugins.gp.exact_gp",
    "heat_plugins.core.threads": "heat_plugins.runtime.threads",
    "heat_plugins.core.values": "heat_plugins.gp.outcome_transform",
    # Pickles of samplers name these three.
    "heat_plugins.core.genetic": "heat_plugins.search.genetic",
    "heat_plugins.core.suggest": "heat_plugins.suggest",
    "heat_plugins.core.trust_region": "heat_plugins.search.trust_region",
    "heat_plugins.graphs": "heat_plugins.space.graphs",
    "heat_plugins.kernels.decompositions": "heat_plugins.kernels.baselines.random_trees",
    "heat_plugins.kernels.dictionaries": "heat_plugins.kernels.baselines.dictionary",
    "heat_plugins.kernels.heat": "heat_plugins.torch.heat",
    "heat_plugins.kernels.permutation_groups": "heat_plugins.kernels.permutations",
    "heat_plugins.model": "heat_plugins.spec.model",
    "heat_plugins.numeric": "heat_plugins.space.numeric",
    "heat_plugins.optuna.history": "heat_plugins.optuna.study_reader",
    "heat_plugins.structures": "heat_plugins.spec.structures",
}

# Of modules that have moved, names that are not in the new ones: where they are.
RENAMED = {
    "heat_plugins.core.genetic": {
        "BatchFunction": "heat_plugins.batch_function.BatchFunction",
        "maximise": "heat_plugins.search.searches.maximise",
        "unseen_point": "heat_plugins.search.unseen.unseen_point",
    },
    "heat_plugins.core.suggest": {"FitMemo": "heat_plugins.suggest.FitCache"},
    "heat_plugins.optuna.history": {
        "REGION_KEY": "heat_plugins.optuna.reservation_record.RESERVATION_KEY",
        "common_params": "heat_plugins.optuna.union_search_space.common_params",
    },
}

# Modules that nothing has taken the place of: what to do instead.
GONE = {"heat_plugins.benchmarks.quality": "run python -m heat_plugins.benchmarks run"}


class _OldNames(Loader):
    """Finds modules under their old names, and gives those that exist: one under both names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "heat_plugins.core":  # a package that is gone, with modules that have moved
            return ModuleSpec(name, None, is_package=True)
        if name in GONE:
            raise ModuleNotFoundError(f"{name} is gone: {GONE[name]}", name=name)
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} has moved; write {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        if spec.name in RENAMED:
            vars(module).setdefault("__getattr__", partial(_look_elsewhere, spec.name))
        spec.loader_state = module.__spec__  # which the import system is about to replace
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _look_elsewhere(module: str, name: str) -> NoReturn:
    """Say where a name of an old module is: the ``__getattr__`` of the new one (PEP 562)."""
    if name in RENAMED[module]:
        # Python drops the message of an AttributeError from an import of the name.
        raise ImportError(f"{module}.{name} has moved; write {RENAMED[module][name]}")
    raise AttributeError(f"module {MOVED[module]!r} has no attribute {name!r}")


sys.meta_path.append(_OldNames())  # asked when nothing else has found a module
