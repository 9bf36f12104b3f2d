"""From whatever a user has of a study to its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from heat_plugins.insight.study_model import StudyModel
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.threads import one_blas_thread

__all__ = ["check_objective", "columns_of", "of_model", "read"]

P = ParamSpec("P")
R = TypeVar("R")


def read(study: Any, sampler: Any = None) -> StudyModel:
    """Return the models of a study, which all figures take in place of it.

    Example:
        .. code-block:: python

            model = read(study)  # fitted once
            plot_effects(model).show()
            plot_slices(model).show()

    Args:
        study: A study of Optuna, of any sampler; a ``Client`` or an ``Experiment`` of Ax; or what
            this function returned.
        sampler: A ``HeatSampler`` whose settings the models should have, such as its structure.
            None for that of the study, if it is one; a study that was loaded from a storage has
            none until it is given one. Settings of Ax come with the client.
    """
    if isinstance(study, StudyModel):
        return study
    hosts = {kind.__module__.partition(".")[0] for kind in type(study).__mro__}
    if "optuna" in hosts:
        from heat_plugins.optuna.sampler import HeatSampler
        from heat_plugins.optuna.study_facts import study_data

        if sampler is None:
            sampler = getattr(study, "sampler", None)
        elif not isinstance(sampler, HeatSampler):
            raise TypeError(f"sampler must be a HeatSampler or None, got {sampler!r}")
        with_settings = isinstance(sampler, HeatSampler)
        return StudyModel(sampler.study_data(study) if with_settings else study_data(study))
    if "ax" in hosts:
        from heat_plugins.ax.experiment_facts import experiment_data

        return StudyModel(experiment_data(study))
    raise TypeError(
        "study must be a study of Optuna, or a Client or an Experiment of Ax, "
        f"got {type(study).__name__}"
    )


def of_model(draw: Callable[Concatenate[StudyModel, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a function of models take studies, and compute with one thread."""

    @wraps(draw)
    def of_study(study: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with one_blas_thread():
            return usual_errors(draw)(read(study), *args, **kwargs)

    return of_study


def check_objective(model: StudyModel, objective: int) -> None:
    """Refuse an objective that a study does not have."""
    n = model.n_objectives
    if isinstance(objective, bool) or not isinstance(objective, int) or not 0 <= objective < n:
        raise ValueError(f"objective must be one of 0 .. {n - 1}, got {objective!r}")


def columns_of(names: Sequence[str], params: Sequence[str] | None) -> list[int] | None:
    """Return the columns of named parameters; None where nobody names any.

    Raises:
        ValueError: If there is no such parameter.
    """
    if params is None:
        return None
    if isinstance(params, str):
        raise TypeError(f"params must be a sequence of names, got {params!r}")
    unknown = [name for name in params if name not in names]
    if unknown:
        known = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(f"params must be of {known or 'none at all'}, got {unknown[0]!r}")
    return [names.index(name) for name in params]
