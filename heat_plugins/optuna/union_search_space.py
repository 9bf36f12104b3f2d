"""All parameters that the trials of a study have had, each as it is now.

Define-by-run objectives ask for some parameters under some choices only, may ask for new ones
later, stop asking for old ones, and change their ranges. All of them have a place in the
search space; the core learns when each exists.
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
# share of the trials have, and of very many those that most trials have.
MANY_PARAMETERS = 200
LEAST_SHARE = 0.02
MOST_PARAMETERS = 2000


class UnionSearchSpace:
    """The parameters of the finished trials of one study; each trial is looked at once.

    Attributes:
        ambiguous: Names of parameters that some trials had as numbers and others as choices, or
            with different choices. Optuna refuses that in a study's own trials, but not in
            those that are added to it.
        left_out: Names of parameters that too few trials have to be modelled.
    """

    def __init__(self, states: tuple[TrialState, ...]) -> None:
        """Look at trials in these states."""
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
            self._compare(trial)
            if trial.state in self._states:
                self._n_counted += 1
                self._add(trial)
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
            names = [name for name in names if self._counts[name] >= least]
        return names[:MOST_PARAMETERS]

    def _compare(self, trial: FrozenTrial) -> None:
        """Note parameters of any finished trial that are of another kind than before."""
        for name, distribution in dict(trial.distributions).items():
            if not is_same_kind(self._first.setdefault(name, distribution), distribution):
                self.ambiguous.add(name)

    def _add(self, trial: FrozenTrial) -> None:
        distributions = dict(trial.distributions)
        for name, distribution in distributions.items():
            if not is_modelled(distribution):
                continue
            self._counts[name] = self._counts.get(name, 0) + 1
            if name not in self._latest or self._latest[name][0] < trial.number:
                self._latest[name] = (trial.number, distribution)

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
