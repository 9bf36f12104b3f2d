"""Objectives that behave well, oddly and badly, the same way at the same point every time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import optuna
from draw import Draw, share_of
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial
from optuna_space import Space, position_of

__all__ = ["Behaviour", "Trouble", "random_behaviour"]

CONSTRAINED_BY = ("set_constraint", "constraints_func")
if not hasattr(optuna.Trial, "set_constraint"):  # as it came with Optuna 5
    CONSTRAINED_BY = CONSTRAINED_BY[1:]
CONSTRAINT_ATTRIBUTE = "constraints of the case"


class Trouble(Exception):
    """What a bad objective raises; the study goes on."""


Values = float | tuple[Any, ...] | str | None


@dataclass(frozen=True)
class Behaviour:
    """What an objective does with a point.

    Attributes:
        seed: Decides where its good values are.
        directions: One for each value that it returns.
        shape: How the values look.
        action: What else it does, where it does anything.
        share: At which share of the points it does so.
        branch: Instead at every point with this choice: name and position.
        n_constraints: How many constraints it reports.
        how: By ``set_constraint``, by ``constraints_func``, or by neither.
    """

    seed: int
    directions: tuple[str, ...]
    shape: str
    action: str
    share: float
    branch: tuple[str, int] | None
    n_constraints: int
    how: str

    def is_bad(self, params: dict[str, Any], space: Space) -> bool:
        """Whether the action is taken at a point."""
        if self.branch is None:
            return share_of(self.seed, sorted(params.items(), key=str)) < self.share
        name, position = self.branch
        distribution = space.by_name(name).first
        assert isinstance(distribution, CategoricalDistribution)
        return name in params and position_of(distribution, params[name]) == position

    def __call__(
        self, trial: optuna.Trial, space: Space, note: Callable[[str, Any], None]
    ) -> Values:
        """Evaluate a trial; ``note`` hears of every value that it gets."""
        params: dict[str, Any] = {}
        for name, value in space.ask(trial):
            note(name, value)
            params[name] = value
            if self.branch is not None and self.action == "raise early":
                self._act_if_bad(trial, space, params)
        score = self._score(trial, space, params)
        self._constrain(trial, score)
        self._act_if_bad(trial, space, params)
        values = tuple(self._shaped(score, i, params) for i in range(len(self.directions)))
        if len(values) == 1:
            _report(trial, float(values[0]))
        if self.is_bad(params, space):
            odd = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "none": None, "text": "?"}
            values = (odd.get(self.action, values[0]), *values[1:])
        return values[0] if len(values) == 1 else values

    def _act_if_bad(self, trial: optuna.Trial, space: Space, params: dict[str, Any]) -> None:
        if not self.is_bad(params, space):
            return
        if self.action.startswith("raise"):
            raise Trouble(self.action)
        if self.action == "report and prune" and len(self.directions) == 1:
            for step in range(3):
                trial.report([1.0, math.nan, math.inf][trial.number % 3] / (step + 1), step)
        if self.action.endswith("prune"):
            raise optuna.TrialPruned

    def _score(self, trial: optuna.Trial, space: Space, params: dict[str, Any]) -> float:
        """Return a sum of effects of the parameters, most of them in [0, 1]."""
        return sum(
            _effect(self.seed, name, space.by_name(name).at(trial.number), value)
            for name, value in params.items()
        )

    def _shaped(self, score: float, index: int, params: dict[str, Any]) -> float:
        score = score if index == 0 else share_of(index, round(score, 9)) - 0.3 * score
        if self.shape == "constant":
            return 0.5
        if self.shape == "plateau":
            return round(score * 2) / 2
        if self.shape == "huge":
            return (score - 1.0) * 1e300
        if self.shape == "tiny":
            return score * 1e-300
        if self.shape == "offset":
            return 1e12 + score
        return score + (0.3 * share_of("rough", params) if self.shape == "rough" else 0.0)

    def _constrain(self, trial: optuna.Trial, score: float) -> None:
        if not self.n_constraints:
            return
        limits = [score - 2.0 * share_of(self.seed, "limit", i) for i in range(self.n_constraints)]
        if self.how == "constraints_func":
            trial.set_user_attr(CONSTRAINT_ATTRIBUTE, limits)
            return
        if trial.number % 7 == 3:
            limits = limits[1:]  # not always all of them
        if self.shape == "huge":
            limits = [1e300 * limit if limit < 0 else math.inf for limit in limits]
        for i, limit in enumerate(limits):
            trial.set_constraint(f"limit {i}", limit)


def _report(trial: optuna.Trial, value: float) -> None:
    """Report a value that gets better, and stop where the pruner of the study says so."""
    if isinstance(trial.study.pruner, optuna.pruners.NopPruner):
        return
    for step in range(1, 5):
        trial.report(value * (1 + 1 / step), step)
        if trial.should_prune():
            raise optuna.TrialPruned


def constraints_func(trial: FrozenTrial) -> list[float]:
    """Return what the objective noted."""
    return list(trial.user_attrs.get(CONSTRAINT_ATTRIBUTE, [1.0]))


def _effect(seed: int, name: str, distribution: BaseDistribution, value: Any) -> float:
    if isinstance(distribution, CategoricalDistribution):
        return share_of(seed, name, position_of(distribution, value))
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    if low == high:
        return 0.0
    if distribution.log:  # type: ignore[attr-defined]
        low, high, value = math.log(low), math.log(high), math.log(value)
    place = (value / 2 - low / 2) / (high / 2 - low / 2)
    best = share_of(seed, name)
    # Some have their best value on a bound, where a search is drawn to again and again.
    return abs(place - (best if best < 0.5 else round(best)))


def random_behaviour(draw: Draw, space: Space) -> Behaviour:
    """Return a behaviour for a space."""
    n_objectives = draw.choices([1, 2, 3], [8, 2, 1])[0]
    actions = ["nothing", "nothing", "nothing", "nan", "inf", "-inf", "none", "text", "raise"]
    actions += ["raise early", "prune", "report and prune"]
    action = draw.choice(actions)
    choosers = [p for p in space.parameters if isinstance(p.first, CategoricalDistribution)]
    branch = None
    if choosers and (draw.chance(0.4) or action == "raise early"):
        chooser = draw.choice(choosers)
        assert isinstance(chooser.first, CategoricalDistribution)
        branch = (chooser.name, draw.randrange(len(chooser.first.choices)))
    return Behaviour(
        seed=draw.randrange(10**6),
        directions=tuple(draw.one_of("minimize", "maximize") for _ in range(n_objectives)),
        shape=draw.one_of("smooth", "smooth", "rough", "constant", "plateau", "huge", "tiny")
        if draw.chance(0.8)
        else "offset",
        action=action,
        share=draw.one_of(0.05, 0.3, 0.9, 1.0),
        branch=branch,
        n_constraints=draw.one_of(0, 0, 0, 1, 2),
        how=draw.one_of(*CONSTRAINED_BY),
    )
