"""Studies that a study goes on from: read once, as points of the present search space.

Parameters are matched by name and choices by value. A trial whose choice the present search space
does not have is left out; a number outside the present range keeps its place beyond [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.history import EarlierStudy
from heat_plugins.optuna.constraints import constraints_in
from heat_plugins.optuna.distributions import is_modelled
from heat_plugins.optuna.feasible import IsFeasible, seems_feasible
from heat_plugins.optuna.notices import Notices
from heat_plugins.optuna.study_reader import ReadingRules, StudyReader
from heat_plugins.optuna.union_search_space import FINISHED
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.suggest import Settings, self_predictability

__all__ = ["EarlierStudies", "Previous"]

Previous = Sequence[Study | tuple[str, str | BaseStorage]]


class _Snapshot(NamedTuple):
    """An earlier study as it was read."""

    name: str
    directions: list[StudyDirection]
    trials: list[FrozenTrial]  # that had finished


class EarlierStudies:
    """The studies that a sampler was given, as of its first suggestion.

    Args:
        previous: Studies, or their names and storages.
        notices: What has been said.
    """

    def __init__(self, previous: Previous, notices: Notices) -> None:
        self._studies = list(_studies(previous))
        self._notices = notices
        self._snapshots: list[_Snapshot] | None = None
        self._order: list[str] | None = None  # of their names, once it has been asked for

    def __len__(self) -> int:
        """Return how many studies there are."""
        return len(self._studies)

    def __getstate__(self) -> dict[str, Any]:
        """Keep what has been read rather than where it came from."""
        return vars(self) | ({} if self._snapshots is None else {"_studies": []})

    def _read(self, study: Study) -> list[_Snapshot]:
        """Read all studies but the present one, the first time."""
        if self._snapshots is None:
            self._snapshots = []
            for other in self._studies:
                if (other._storage, other._study_id) == (study._storage, study._study_id):
                    self._notices.not_earlier(other.study_name)
                    continue
                trials = other.get_trials(deepcopy=False, states=FINISHED)
                name = _unlike(other.study_name, [known.name for known in self._snapshots])
                snapshot = _Snapshot(name, list(other.directions), list(trials))
                self._snapshots.append(snapshot)
        n_objectives = len(study.directions)
        fitting = [each for each in self._snapshots if len(each.directions) == n_objectives]
        for each in self._snapshots:
            if len(each.directions) != n_objectives:
                self._notices.other_objectives(each.name, len(each.directions), n_objectives)
        return fitting

    def names(self, study: Study) -> dict[str, int]:
        """Return the names of the studies, with how many trials were read."""
        return {each.name: len(each.trials) for each in self._read(study)}

    def of_reader(self, study: Study, reader: StudyReader, rules: ReadingRules) -> None:
        """Let a reader of the present study have the earlier ones."""
        if reader.has_earlier:
            return
        found = []
        for each in self._read(study):
            left_out = _of_another_kind(reader.search_space, each.trials)
            for name in sorted(left_out):
                self._notices.of_another_kind(name, each.name)
            own = StudyReader(reader.search_space, rules=rules, left_out=left_out)
            history = own.read(each.trials, each.directions, None, {})
            n_lost = len(each.trials) - len(history.points) - len(history.failed)
            if n_lost and not len(history.points):
                self._notices.nothing_in_common(each.name)
            earlier = EarlierStudy(
                each.name,
                history.points,
                history.objectives,
                history.failed,
                history.constraints,
                history.failed_after,
            )
            found.append((earlier, own.constraint_names))
        reader.go_on_from(found)

    @usual_errors
    def _by_skill(self, snapshots: list[_Snapshot], settings: Settings) -> list[_Snapshot]:
        """Return studies, the one whose trials foretell each other best first."""
        if len(snapshots) < 2:
            return snapshots
        if self._order is None:
            with one_blas_thread():
                skills = {each.name: _self_predictability(each, settings) for each in snapshots}
            self._order = sorted(skills, key=lambda name: -skills[name])
        order = self._order
        return sorted(snapshots, key=lambda each: order.index(each.name))

    def recommended(
        self,
        study: Study,
        name: str,
        distribution: BaseDistribution,
        is_feasible: IsFeasible | None,
        settings: Settings,
    ) -> tuple[Any, ...]:
        """Return the value of a parameter in the best trial of an earlier study.

        Of several, the study whose own trials foretell each other best, the first of equals.
        Nothing where that trial does not have the parameter, or with a value that cannot be had.
        """
        for each in self._by_skill(self._read(study), settings):
            for trial in _best_first(each):
                params = dict(trial.params)
                if is_feasible is None or seems_feasible(is_feasible, params):
                    return _value_in(distribution, params[name]) if name in params else ()
        return ()


def _unlike(name: str, known: Sequence[str]) -> str:
    """Return a name that tells a study from those of the same name in other storages."""
    found, number = name, 1
    while found in known:
        number += 1
        found = f"{name} ({number})"
    return found


def _self_predictability(snapshot: _Snapshot, settings: Settings) -> float:
    """Return from 0 to 1 how well the trials of a study foretell each other."""
    search_space: dict[str, BaseDistribution] = {}
    for trial in snapshot.trials:
        search_space |= trial.distributions
    known = {n: d for n, d in search_space.items() if is_modelled(d) and not d.single()}
    if not known:
        return 0.0
    reader = StudyReader(known)
    history = reader.read(snapshot.trials, snapshot.directions, None, {})
    found = EarlierStudy(snapshot.name, history.points, history.objectives, history.failed)
    try:
        return self_predictability(reader.space, found, settings)
    except ValueError:  # settings that fit the present parameters alone
        return 0.0


def _value_in(distribution: BaseDistribution, value: Any) -> tuple[Any, ...]:
    """Return a value as a distribution has it; nothing where it does not have it."""
    try:
        position = distribution.to_internal_repr(value)
        found = distribution.to_external_repr(position)
        return (found,) if distribution._contains(position) else ()
    except (TypeError, ValueError):
        return ()


def _studies(previous: Previous) -> Iterator[Study]:
    """Yield the studies, loaded where they are given by name."""
    if isinstance(previous, (Study, str)) or not isinstance(previous, Sequence):
        raise TypeError(
            "previous must be a list of studies, or of pairs of a name and a storage, got "
            f"{previous!r}"
        )
    for each in previous:
        if isinstance(each, Study):
            yield each
        elif isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str):
            try:
                yield optuna.load_study(study_name=each[0], storage=each[1])
            except KeyError as error:
                raise ValueError(
                    f"previous must name studies that exist, got {each[0]!r}, which is not in "
                    f"the storage {each[1]!r}"
                ) from error
        else:
            raise TypeError(
                "previous must list studies, or pairs of a name and a storage, got "
                f"{each!r} among them"
            )


def _of_another_kind(
    search_space: Mapping[str, BaseDistribution], trials: Sequence[FrozenTrial]
) -> set[str]:
    """Return the parameters that are choices here and numbers there, or the other way round."""
    found = set()
    for trial in trials:
        for name, distribution in dict(trial.distributions).items():
            own = search_space.get(name)
            if own is not None and _is_choice(own) != _is_choice(distribution):
                found.add(name)
    return found


def _is_choice(distribution: BaseDistribution) -> bool:
    return isinstance(distribution, CategoricalDistribution)


def _best_first(snapshot: _Snapshot) -> list[FrozenTrial]:
    """Return the complete trials that keep their constraints, the best first.

    Of several objectives by the sum of their ranks.
    """
    complete = [t for t in snapshot.trials if t.state == TrialState.COMPLETE]
    kept = [t for t in complete if all(c <= 0.0 for c in constraints_in(t).values())]
    if not kept:
        return []
    signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in snapshot.directions]
    values = np.array([t.values for t in kept], dtype=float) * signs
    ranks = np.array([np.unique(column, return_inverse=True)[1] for column in values.T])
    return [kept[i] for i in np.argsort(ranks.sum(axis=0), kind="stable")]
