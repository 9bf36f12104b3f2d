"""Experiments that an experiment goes on from: kept with the settings, as plain data.

Ax stores the settings of a strategy as JSON and gives no way back to other experiments, so what
is needed of these is written down when the strategy is made: parameters, means and which arms
failed. Parameters are matched by name and choices by value, as in Optuna.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from ax.api.client import Client
from ax.core.experiment import Experiment
from ax.core.observation import ObservationFeatures
from ax.exceptions.core import UserInputError
from ax.utils.common.logger import get_logger

from heat_plugins.ax.codes import HeatCodes
from heat_plugins.ax.experiment_data import Aim
from heat_plugins.history import EarlierStudy
from heat_plugins.space import Array, Space
from heat_plugins.space.categorical import ListedValues

__all__ = ["EarlierExperiment", "Previous", "earlier_study", "read_previous", "write_previous"]

logger = get_logger(__name__)

Previous = Sequence[Experiment | Client]

MOST_ARMS = 500  # of an experiment that are kept, with values the latest; a model has no more


class EarlierExperiment(NamedTuple):
    """What is kept of an experiment."""

    name: str
    arms: list[dict[str, Any]]  # parameters
    means: list[dict[str, float]]  # by the signature of the metric; empty for arms that failed


def write_previous(previous: Previous) -> str | None:
    """Return experiments as text that Ax can store; None for none.

    Raises:
        UserInputError: If something among them is no experiment.
    """
    if isinstance(previous, (Experiment, Client)) or not isinstance(previous, Sequence):
        raise UserInputError(
            f"previous must be a list of experiments, or of clients, got {previous!r}"
        )
    kept = [_kept(each) for each in previous]
    if not kept:
        return None
    packed = zlib.compress(json.dumps(kept).encode(), 9)
    return base64.b85encode(packed).decode("ascii")


def read_previous(text: str | None) -> list[EarlierExperiment]:
    """Return the experiments of :func:`write_previous`.

    Raises:
        ValueError: If the text is not what that writes.
    """
    if text is None:
        return []
    try:
        kept = json.loads(zlib.decompress(base64.b85decode(text)))
        return [EarlierExperiment(str(name), list(a), list(m)) for name, a, m in kept]
    except (TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"previous cannot be read: {error}") from error


def _kept(given: Any) -> EarlierExperiment:
    """Return what is kept of an experiment, or of the experiment of a client."""
    if isinstance(given, Client):
        given = given._experiment
    if not isinstance(given, Experiment):
        raise UserInputError(
            f"previous must list experiments or clients, got {given!r} among them"
        )
    means = _means(given)
    told: list[tuple[dict[str, Any], dict[str, float]]] = []
    failed: list[tuple[dict[str, Any], dict[str, float]]] = []
    for trial in given.trials.values():
        for arm in trial.arms:
            of_arm = means.get((trial.index, arm.name), {})
            if of_arm:
                told.append((dict(arm.parameters), of_arm))
            elif trial.status.is_failed:
                failed.append((dict(arm.parameters), {}))
    rows = told[-MOST_ARMS:] + failed[-MOST_ARMS:]
    name = given.name if given._name is not None else "experiment"
    return EarlierExperiment(name, [row[0] for row in rows], [row[1] for row in rows])


def _means(experiment: Experiment) -> dict[tuple[int, str], dict[str, float]]:
    """Return the last mean of each metric, by the index of the trial and the name of the arm."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    rows = experiment.lookup_data().df
    columns = ("trial_index", "arm_name", "metric_signature", "mean")
    for index, arm, metric, mean in zip(*(rows[c].tolist() for c in columns), strict=True):
        if not math.isnan(mean):
            found.setdefault((int(index), arm), {})[metric] = float(mean)
    return found


def earlier_study(
    experiment: EarlierExperiment, codes: HeatCodes, aim: Aim, logit: Any = None
) -> EarlierStudy | None:
    """Return an earlier experiment as points of the present search space; None without any.

    Args:
        experiment: What was kept of it.
        codes: How parameters become columns.
        aim: What counts in the present experiment.
        logit: The transform that comes before that; None for none.
    """
    parameters = experiment.arms
    if logit is not None:
        features = [ObservationFeatures(parameters=dict(arm)) for arm in parameters]
        parameters = [f.parameters for f in logit.transform_observation_features(features)]
    names = [
        name for name in codes.space.names if not _is_another_kind(codes.space, name, parameters)
    ]
    for name in sorted({*codes.space.names} - {*names}):
        _warn_of_another_kind(name, experiment.name)
    points = [_point(codes, names, arm) for arm in parameters]
    kept = [i for i, point in enumerate(points) if point is not None]
    told = [i for i in kept if experiment.means[i]]
    failed = [i for i in kept if not experiment.means[i]]
    if not kept:
        return None
    means = np.array(
        [[experiment.means[i].get(metric, math.nan) for metric in aim.metrics] for i in told]
    ).reshape(len(told), len(aim.metrics))
    outcomes = [_weighted(means, weights) for weights in (aim.objectives, aim.constraints)]
    space = codes.space
    return EarlierStudy(
        experiment.name,
        space.stack([points[i] for i in told]),  # type: ignore[misc]
        outcomes[0],
        space.stack([points[i] for i in failed]),  # type: ignore[misc]
        outcomes[1] - aim.bounds if len(aim.bounds) else None,
    )


@cache
def _warn_of_another_kind(parameter: str, experiment: str) -> None:
    """Warn, once, of a parameter that has other values than before."""
    logger.warning(
        f"Parameter `{parameter}` of the earlier experiment {experiment!r} is left out: it has no "
        "value there that the present search space has."
    )


def _weighted(means: Array, weights: Array) -> Array:
    """Return weighted sums (n, k) of means (n, m); NaN matters where it has a weight."""
    columns = [means[:, row != 0.0] @ row[row != 0.0] for row in weights]
    return np.array(columns).reshape(len(weights), len(means)).T


def _is_another_kind(space: Space, name: str, arms: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a parameter has values in some arms, but none that it can have now."""
    parameter = space.parameters[space.column[name]]
    values = [arm[name] for arm in arms if arm.get(name) is not None]
    return bool(values) and not any(_fits(parameter, value) for value in values)


def _fits(parameter: Any, value: Any) -> bool:
    if isinstance(parameter, ListedValues):
        try:
            parameter.encode(value)
        except ValueError:
            return False
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _point(codes: HeatCodes, names: Sequence[str], arm: Mapping[str, Any]) -> Array | None:
    """Return the point (d,) of an arm; None where it has a choice that there is no more."""
    point = np.full(len(codes.space), math.nan)
    for name in names:
        if arm.get(name) is not None:
            try:
                point[codes.space.column[name]] = codes.encode(name, arm[name])
            except (UserInputError, TypeError):
                return None
    return None if np.isnan(point).all() else point
