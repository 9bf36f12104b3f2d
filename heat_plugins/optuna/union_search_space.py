"""Union search space: all parameters that trials have had, each as it is now.

Define-by-run objectives ask for some parameters under some choices only, may ask for new ones
later, stop asking for old ones, and change their ranges. All of them have a place in the
search space; when each exists is learnt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from optuna.distributions import BaseDistribution, _get_single_value
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.optuna.distributions import is_modelled, is_same_kind
from heat_plugins.optuna.trial_log import TrialLog

__all__ = ["FINISHED", "UnionSearchSpace", "common_params"]

FINISHED = tuple(state for state in TrialState if state.is_finished())

# An objective that names parameters anew each time must not make the space grow for ever, nor
# must one trial of another programme: of many parameters, those are modelled that at least this
# share of the trials have, and of very many those that most trials have. Many that a single
# trial has are modelled while it is the latest one.
MANY_PARAMETERS = 200
LEAST_SHARE = 0.02
MOST_PARAMETERS = 2000


class UnionSearchSpace:
    """The parameters of the trials of one study that finished in some states, each looked at once.

    Attributes:
        ambiguous: Names of parameters that some trials had as numbers and others as choices, or
            with different choices. Optuna refuses that in a study's own trials, but not in
            those that are added to it.
        left_out: Names of parameters that too few trials have to be modelled.
    """

    def __init__(self, states: tuple[TrialState, ...]) -> None:
        self._states = states
        self._log = TrialLog()
        self._begin()

    def _begin(self) -> None:
        self._epoch = self._log.epoch
        self._n_seen = 0  # finished trials
        self._n_counted = 0  # of those, in the states that count
        self._counts: dict[str, int] = {}
        self._first: dict[str, BaseDistribution] = {}  # as any finished trial had it
        self._latest: dict[str, tuple[int, BaseDistribution]] = {}  # with the trial's number
        self._modelled: dict[str, BaseDistribution] = {}
        self.ambiguous: set[str] = set()
        self.left_out: list[str] = []

    def calculate(self, study: Study) -> dict[str, BaseDistribution]:
        """Return the search space, by name."""
        self._log.follow(study.get_trials(deepcopy=False))
        if self._epoch != self._log.epoch:
            self._begin()
        new = self._log.finished[self._n_seen :]
        self._n_seen += len(new)
        for trial in new:
            self._look_at(trial)
        if new:
            names = self._often_enough()
            self._modelled = {name: self._latest[name][1] for name in sorted(names)}
            self.left_out = sorted(self._counts.keys() - self._modelled.keys())
        return dict(self._modelled)

    def _often_enough(self) -> list[str]:
        """Return the names of the parameters that enough trials have."""
        names = sorted(self._counts, key=lambda name: (-self._counts[name], name))
        if len(names) > MANY_PARAMETERS:
            least = LEAST_SHARE * self._n_counted
            strange = self._only_once()
            names = [n for n in names if self._counts[n] >= least and n not in strange]
        return names[:MOST_PARAMETERS]

    def _only_once(self) -> set[str]:
        """Return names of the many parameters that a trial has which no other one has."""
        by_trial: dict[int, list[str]] = {}
        for name, count in self._counts.items():
            if count == 1:
                by_trial.setdefault(self._latest[name][0], []).append(name)
        newest = max(number for number, _ in self._latest.values())
        return {
            name
            for number, names in by_trial.items()
            if number != newest and len(names) > MANY_PARAMETERS
            for name in names
        }

    def _look_at(self, trial: FrozenTrial) -> None:
        """Count the parameters of a finished trial; note those of another kind than before."""
        first, latest, counts = self._first, self._latest, self._counts
        is_counted = trial.state in self._states
        self._n_counted += is_counted
        for name, distribution in dict(trial.distributions).items():
            if not is_same_kind(first.setdefault(name, distribution), distribution):
                self.ambiguous.add(name)
            if not is_counted or not is_modelled(distribution):
                continue
            counts[name] = counts.get(name, 0) + 1
            if name not in latest or latest[name][0] < trial.number:
                latest[name] = (trial.number, distribution)

    def fixed_values(self) -> dict[str, Any]:
        """Return the values of the parameters that have only one."""
        return {
            name: _get_single_value(distribution)
            for name, (_, distribution) in self._latest.items()
            if distribution.single()
        }


def common_params(
    trials: Iterable[FrozenTrial], current: FrozenTrial
) -> dict[str, BaseDistribution]:
    """Return the parameters that all trials have in common which have any yet."""
    found = [
        dict(trial.distributions)
        for trial in trials
        if trial.distributions and trial._trial_id != current._trial_id
    ]
    first, *rest = found or [{}]
    return {
        name: distribution
        for name, distribution in sorted(first.items())
        if is_modelled(distribution) and all(other.get(name) == distribution for other in rest)
    }
