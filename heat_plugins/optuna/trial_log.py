"""The trials of a study, followed: what has finished never changes and is looked at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from optuna.trial import FrozenTrial, TrialState

__all__ = ["TrialLog", "is_overdue"]

# How long a running trial is believed to run, if nobody says: so many times as long as the
# longest of the finished ones, and never less than so many seconds.
PATIENCE = 10.0
LEAST_PATIENCE_SECONDS = 600.0


class TrialLog:
    """Sorts the trials of a study into finished and unfinished ones.

    Optuna hands out all trials of a study each time, in the order of their numbers. Those that
    had finished when they were last seen need not be looked at again, so a study of thousands
    of trials costs no more than its new ones.

    Attributes:
        finished: The finished trials, in the order in which they were seen to have finished.
        unfinished: The trials that wait or run.
        epoch: Grows whenever the trials are not those of before (another bracket of
            Hyperband, say), and ``finished`` begins anew.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._begin()

    def _begin(self) -> None:
        self.finished: list[FrozenTrial] = []
        self.unfinished: list[FrozenTrial] = []
        self._positions: list[int] = []  # of the unfinished trials in the list of all
        self._n_seen = 0
        self._last_id = -1
        self._longest = -math.inf  # seconds that a finished trial took

    def follow(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in the trials of the study as they are now."""
        if not self._continues(trials):
            self.epoch += 1
            self._begin()
        positions = [*self._positions, *range(self._n_seen, len(trials))]
        self._positions, self.unfinished = [], []
        for position in positions:
            trial = trials[position]
            if trial.state.is_finished():
                self.finished.append(trial)
                self._longest = max(self._longest, _duration(trial))
            else:
                self._positions.append(position)
                self.unfinished.append(trial)
        self._n_seen = len(trials)
        self._last_id = trials[-1]._trial_id if trials else -1

    def _continues(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether the trials are those of before and perhaps more."""
        if len(trials) < self._n_seen:
            return False
        return self._n_seen == 0 or trials[self._n_seen - 1]._trial_id == self._last_id

    @property
    def patience(self) -> float:
        """The age in seconds up to which a running trial is believed to run."""
        longest = math.inf if not self.finished else self._longest
        return max(PATIENCE * longest, LEAST_PATIENCE_SECONDS)


def _duration(trial: FrozenTrial) -> float:
    """Return how many seconds a finished trial took; added ones may not tell."""
    begin, end = trial.datetime_start, trial.datetime_complete
    # As numbers: times with and without a zone cannot be subtracted.
    return 0.0 if begin is None or end is None else end.timestamp() - begin.timestamp()


def is_overdue(trial: FrozenTrial, patience: float) -> bool:
    """Whether a trial has been running for so many seconds that its worker must be dead."""
    begin = trial.datetime_start
    if trial.state != TrialState.RUNNING or begin is None:
        return False
    return (datetime.now(begin.tzinfo) - begin).total_seconds() > patience
