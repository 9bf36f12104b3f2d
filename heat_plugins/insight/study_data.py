"""What is known of a study, whatever its host: the input of models and pictures for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from heat_plugins.history import NO_REGION, History
from heat_plugins.settings import Settings
from heat_plugins.space import Allowed, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["ObjectiveFacts", "StudyData", "TrialFacts", "TrialState"]

TrialState = Literal["complete", "pruned", "failed", "running"]


@dataclass(frozen=True)
class ObjectiveFacts:
    """An objective, as users know it.

    Args:
        name: What its axis is called.
        is_maximised: Whether large values are good.
    """

    name: str
    is_maximised: bool = False

    @property
    def sign(self) -> float:
        """What turns values that are minimised into those that users know, and back."""
        return -1.0 if self.is_maximised else 1.0


@dataclass(frozen=True)
class TrialFacts:
    """A trial, as users know it.

    Args:
        number: Its number.
        state: How it ended, if it has.
        values: (M) its values, not negated; None where it has none.
        start: When it began, in seconds; NaN where that is not known.
        end: When it ended, the same.
        is_feasible: Whether it keeps all constraints that are known of it.
        region: The trust region that asked for it, or ``NO_REGION``.
        scale: How far that region reached, as a share of the space; None where nobody wrote it.
        acquisition: Log of the improvement that was expected of it, or what else was maximised;
            None where nobody wrote it.
        worker: Who ran it; empty where nobody wrote it.
    """

    number: int
    state: TrialState
    values: tuple[float, ...] | None = None
    start: float = math.nan
    end: float = math.nan
    is_feasible: bool = True
    region: int = NO_REGION
    scale: float | None = None
    acquisition: float | None = None
    worker: str = ""


@dataclass(frozen=True, eq=False)
class StudyData:
    """A study, read from its host.

    Args:
        space: The parameters of trials with values.
        history: All trials in that space, minimised.
        numbers: (n) numbers of the trials with values, in the order of the history.
        objectives: (M) the objectives.
        constraints: (C) names of the constraints.
        trials: All trials by number, those without any parameter too.
        settings: Of the models.
        failure_space: The parameters of all ended trials: failed ones may have more of them.
        failure_history: All trials in that space.
        conditions: When each parameter of ``space`` exists, where that is declared; None learns
            it from the trials.
        allowed: Tells which points of ``space`` may be tried at all; None for all of them.
    """

    space: Space
    history: History
    numbers: tuple[int, ...]
    objectives: tuple[ObjectiveFacts, ...]
    constraints: tuple[str, ...]
    trials: tuple[TrialFacts, ...]
    settings: Settings
    failure_space: Space
    failure_history: History
    conditions: Conditions | None = None
    allowed: Allowed | None = None
