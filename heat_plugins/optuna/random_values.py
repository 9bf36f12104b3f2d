"""Random values of parameters that no model chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.optuna.distributions import fixed_params, middle_of, random_line
from heat_plugins.optuna.feasible import IsFeasible, seems_feasible
from heat_plugins.optuna.reservation_record import reserved_params, reserved_region
from heat_plugins.optuna.study_reader import Asked
from heat_plugins.optuna.trial_attributes import write_reservation
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Space

__all__ = ["OtherTrials", "RandomValues", "native", "spare_values"]

MOST_DRAWS = 20  # tries for a value that does not make a trial the same as another


@dataclass(frozen=True)
class RandomValues:
    """Draws the values of one trial, one parameter after the other.

    Args:
        study: The study of the trial.
        trial: The trial, with the parameters that it has so far.
        search_space: Its parameters, as far as they are known, with those that are drawn.
        asked: Values that this process gave to running trials.
        is_feasible: The user's rule; None for none.
    """

    study: Study
    trial: FrozenTrial
    search_space: Mapping[str, BaseDistribution]
    asked: Asked
    is_feasible: IsFeasible | None

    def draw(self, name: str, rng: np.random.Generator, first: tuple[Any, ...] = ()) -> Any:
        """Return a random value, if possible one that does not make the trial a repetition.

        The numbers of the first trial are in the middle of their ranges. Values that come
        ``first`` are tried before.

        Neither of a trial that runs elsewhere: where another one may draw the same value now, it
        is reserved before it is asked again whether somebody has it.
        """
        others = self._others()
        draw = self._draws(name, rng)
        middle = middle_of(name, self.search_space[name]) if others.know_nothing else None
        fallback = None  # a repetition is better than what the user forbids
        ahead = first if middle is None else (*first, middle)
        for attempt in range(MOST_DRAWS):
            value = ahead[attempt] if attempt < len(ahead) else draw()
            params = {**self.trial.params, name: value}
            # The model may have chosen what the objective has yet to ask for.
            expected = {**self.asked.get(self.trial._trial_id, {}), **params}
            if self.is_feasible is not None and not seems_feasible(self.is_feasible, expected):
                continue
            fallback = (value,)
            if others.have(params) or others.have(expected):
                continue
            if not others.may_draw(params):
                return value
            self._reserve(expected)
            others = self._others()
            if not others.have(params) and not others.have(expected):
                return value
        return value if fallback is None else fallback[0]

    def _draws(self, name: str, rng: np.random.Generator) -> Callable[[], Any]:
        """Return a function that draws a value of a parameter."""
        distribution = self.search_space[name]
        sampler = RandomSampler(seed=int(rng.integers(2**32)))
        sample, line = usual_errors(sampler.sample_independent), random_line(name, distribution)
        if line is None:
            return lambda: native(sample(self.study, self.trial, name, distribution))
        return lambda: line.decode(float(line.from_uniform(rng.random(1))[0]))

    def _others(self) -> OtherTrials:
        trials = self.study.get_trials(deepcopy=False)
        return OtherTrials(trials, self.trial, self.asked, self.search_space)

    def _reserve(self, params: Mapping[str, Any]) -> None:
        """Reserve values, for the trust region that asked for the trial."""
        region = reserved_region(self.study._storage.get_trial(self.trial._trial_id))
        known = {name: value for name, value in params.items() if name in self.search_space}
        write_reservation(self.study, self.trial, region, self.search_space, known)


@dataclass(frozen=True)
class OtherTrials:
    """What trials other than one have, whose values are drawn one by one.

    Args:
        trials: All trials of the study.
        current: The one that is not among the others.
        asked: Values that this process gave to running trials.
        search_space: The parameters of the current trial, as far as they are known.
    """

    trials: Sequence[FrozenTrial]
    current: FrozenTrial
    asked: Asked
    search_space: Mapping[str, BaseDistribution]

    def have(self, params: Mapping[str, Any]) -> bool:
        """Whether one of them has exactly these parameters, or has reserved them."""
        if any(trial.params == params for trial in self.trials if trial.state.is_finished()):
            return True
        return any(known == params for _, known in self._unfinished())

    @property
    def know_nothing(self) -> bool:
        """Whether none of them began before, or has parameters."""
        return not any(
            trial.number < self.current.number or trial.params
            for trial in self.trials
            if trial._trial_id != self.current._trial_id
        )

    def may_draw(self, params: Mapping[str, Any]) -> bool:
        """Whether one of them may be drawing the last of these parameters at this moment.

        It runs, and has all others with the same values. One that has fewer will see them stored
        when it comes so far. Where there are more of them than points, some will be the same.
        """
        n_rivals = sum(
            sum(name in known for name in params) >= len(params) - 1
            and all(known.get(name, value) == value for name, value in params.items())
            for trial, known in self._unfinished()
            if trial.state == TrialState.RUNNING
        )
        distributions = [self.search_space.get(name) for name in params]
        n_points = math.prod(
            len(d.choices) if isinstance(d, CategoricalDistribution) else math.inf
            for d in distributions
        )
        return 0 < n_rivals < n_points

    def _unfinished(self) -> Iterator[tuple[FrozenTrial, dict[str, Any]]]:
        """Yield the trials that wait or run, with what is known of their values."""
        for trial in self.trials:
            if not trial.state.is_finished() and trial._trial_id != self.current._trial_id:
                reserved = fixed_params(trial) | reserved_params(trial, self.search_space)
                yield trial, reserved | dict(self.asked.get(trial._trial_id, {})) | trial.params


def spare_values(
    space: Space,
    point: Array,
    rng: np.random.Generator,
    is_feasible: IsFeasible | None,
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """Return random values of the parameters that do not exist at a point (d,).

    If possible such that the user's rule allows them together with the other ``params``.
    """
    for _ in range(MOST_DRAWS):
        anything = space.sample(1, rng)[0]
        spare = space.decode(np.where(np.isnan(point), anything, np.nan))
        if is_feasible is None or seems_feasible(is_feasible, {**params, **spare}):
            break
    return spare


def native(number: Any) -> Any:
    """Return a number as Python has it; Optuna's own samplers may draw NumPy's at a bound."""
    return number.item() if isinstance(number, np.generic) else number
