"""Where trials fail, or break constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from heat_plugins.insight.effect_intervals import pair_table
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.insight.success import SuccessProbability
from heat_plugins.visualization.pair_map import PairMap
from heat_plugins.visualization.reading import columns_of, of_model
from heat_plugins.visualization.style import FAILED, INFEASIBLE, nothing, ranked, titled

__all__ = ["plot_success"]


@of_model
def plot_success(study: StudyModel, params: Sequence[str] | None = None) -> go.Figure:
    """Plot the probability that a trial does not fail and keeps its constraints.

    Over two parameters, the mean over all others. Failures are modelled as how often trials fail,
    each constraint that some trial breaks by a model of its own.

    Args:
        study: A study, a client or an experiment of Ax, or what ``read`` returned.
        params: The names of two; None for those on which success depends most.
    """
    title = "Probability of success"
    data, success = study.data, SuccessProbability(study)
    chosen = columns_of(success.space.names, params)
    if chosen is not None and (len(chosen) != 2 or chosen[0] == chosen[1]):
        raise ValueError(f"params must be two different names, got {params!r}")
    if not success.is_known:
        failed = any(trial.state == "failed" for trial in data.trials)
        why = "Trials failed, but no model tells where" if failed else "No trial failed"
        return nothing(title, f"{why}, and none broke a constraint that is modelled.")
    if len(success.space) < 2:
        return nothing(title, "It takes two parameters that vary.")
    if chosen is None:
        first, second = ranked(success.shares().tolist(), 2)
    else:
        first, second = chosen
    history = data.failure_history if success.has_failures else data.history
    pair = PairMap.of(success.space, (first, second), history.in_order_of_ending()[0])
    table = pair_table(success.space, success, (first, second), pair.places, success.conditions)
    figure = pair.heat_map(table, "probability", dark_is_low=False, limits=(0.0, 1.0))
    is_feasible, numbers = study.is_feasible, np.array(data.numbers)
    texts = np.array([f"trial {n}" for n in numbers], dtype=object)
    # Trials with values come in the same order in both spaces.
    points = history.points
    pair.add_points(figure, points[is_feasible], "succeeded", texts[is_feasible].tolist())
    pair.add_points(
        figure,
        points[~is_feasible],
        "broke a constraint",
        texts[~is_feasible].tolist(),
        colour=INFEASIBLE,
        symbol="diamond",
    )
    told = ["a trial that failed"] * len(history.failed)
    pair.add_points(figure, history.failed, "failed", told, colour=FAILED, symbol="x")
    about = [
        "of not failing" * success.has_failures,
        "of keeping constraints" * success.has_constraints,
    ]
    model = study.failures
    is_chance = model is not None and model.is_explained_by_chance
    figure.update_layout(
        title=titled(
            title,
            f"{' and '.join(filter(None, about))}; all other parameters being anything",
            "failures look like chance: parameters do not predict them" if is_chance else "",
        )
    )
    return figure
