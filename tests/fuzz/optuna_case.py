"""One random study: a space, an objective, settings, a storage, and what happens in between."""

from dataclasses import dataclass
from typing import Any

import optuna
from draw import Draw
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState
from optuna_objective import Behaviour, random_behaviour
from optuna_settings import SamplerSettings, random_settings
from optuna_space import Parameter, Space, random_space

__all__ = ["OptunaCase", "Step", "foreign_trial", "random_case"]


@dataclass(frozen=True)
class Step:
    """Something that is done with a study.

    Attributes:
        kind: ``"optimize"`` some trials; ``"ask"`` for some before the first is told;
            ``"enqueue"`` parameters; ``"add"`` a trial that was made elsewhere; ``"resume"``
            with a new sampler, as in a new process.
        count: How many trials.
        params: What is enqueued.
        seed: Decides about the rest.
    """

    kind: str
    count: int = 0
    params: tuple[tuple[str, Any], ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class OptunaCase:
    """All that a study is made of."""

    seed: int
    storage: str
    space: Space
    behaviour: Behaviour
    settings: SamplerSettings
    steps: tuple[Step, ...]
    n_jobs: int
    numpy_raises: bool
    pruner: str

    def make_pruner(self) -> optuna.pruners.BasePruner:
        """Return a new pruner."""
        if self.pruner == "hyperband":
            return optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
        if self.pruner == "median":
            return optuna.pruners.MedianPruner(n_startup_trials=3)
        return optuna.pruners.NopPruner()

    def __str__(self) -> str:
        lines = [
            f"storage={self.storage} n_jobs={self.n_jobs} numpy_raises={self.numpy_raises} "
            f"pruner={self.pruner}",
            *(f"  {_describe(parameter)}" for parameter in self.space.parameters),
            f"  {self.behaviour}",
            f"  settings {self.settings.arguments} rule={self.settings.rule} "
            f"independent={self.settings.independent is not None}",
            *(f"  {step}" for step in self.steps),
        ]
        return "\n".join(lines)


def _describe(parameter: Parameter) -> str:
    text = f"{parameter.name}: {parameter.stages if len(parameter.stages) > 1 else ''}"
    text += f"{parameter.first}"
    if parameter.parent:
        text += f" if {parameter.parent} in {set(parameter.positions) or 'its lower half'}"
    if parameter.begins:
        text += f" from {parameter.begins}"
    return text + (f" until {parameter.ends}" if parameter.ends < 10**9 else "")


def random_case(seed: int) -> OptunaCase:
    """Return the case of a seed."""
    draw = Draw(seed, "optuna")
    storage = draw.choices(["memory", "journal", "sqlite"], [6, 2, 1])[0]
    n_trials = draw.randint(12, 32)
    space = random_space(
        Draw(seed, "optuna space"), in_memory=storage == "memory", n_trials=n_trials
    )
    behaviour = random_behaviour(Draw(seed, "optuna objective"), space)
    return OptunaCase(
        seed=seed,
        storage=storage,
        space=space,
        behaviour=behaviour,
        settings=random_settings(Draw(seed, "optuna settings"), space, behaviour),
        steps=_steps(Draw(seed, "optuna steps"), space, n_trials),
        n_jobs=2 if draw.chance(0.1) else 1,
        numpy_raises=draw.chance(0.2),
        pruner=draw.choices(["none", "median", "hyperband"], [8, 1, 1])[0],
    )


def _steps(draw: Draw, space: Space, n_trials: int) -> tuple[Step, ...]:
    if draw.chance(0.4):
        return (Step("optimize", n_trials),)
    steps: list[Step] = []
    while n_trials > 0:
        kinds = ["optimize"] * 4 + ["ask"] * 3 + ["enqueue", "enqueue", "add", "add", "resume"]
        kind = draw.choice(kinds)
        count = min(draw.randint(1, 8), n_trials) if kind in ("optimize", "ask") else 0
        n_trials -= count
        params = _enqueued(draw, space) if kind == "enqueue" else ()
        steps.append(Step(kind, count, params, draw.randrange(10**6)))
    return tuple(steps)


def _enqueued(draw: Draw, space: Space) -> tuple[tuple[str, Any], ...]:
    """Return values for some parameters, a few of them impossible."""
    parameters = space.parameters
    if draw.chance(0.5):
        parameters = tuple(draw.some(parameters, 1, len(parameters)))
    params = {p.name: random_value(draw, p.first) for p in parameters}
    if draw.chance(0.2):
        numbers = [p for p in parameters if not isinstance(p.first, CategoricalDistribution)]
        for parameter in numbers[:1]:
            params[parameter.name] = draw.one_of(-12345, 98765, 0)
    if draw.chance(0.1):
        params["unknown"] = 1
    return tuple(params.items())


def random_value(draw: Draw, distribution: BaseDistribution) -> Any:
    """Return a value of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return draw.choice(distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution):
        return low + distribution.step * draw.randint(0, (high - low) // distribution.step)
    if step is not None:
        return min(low + step * draw.randint(0, round((high - low) / step)), high)
    share = draw.one_of(0.0, 1.0, draw.random())
    return min(max(low * (1 - share) + high * share, low), high)


FOREIGN = [
    FloatDistribution(0.0, 1.0),
    FloatDistribution(1e-5, 1e5, log=True),
    IntDistribution(0, 100),
    CategoricalDistribution(["other", "choices"]),
    CategoricalDistribution(["a", "b"]),
]


def foreign_trial(case: OptunaCase, seed: int) -> FrozenTrial | None:
    """Return a trial that was made elsewhere, by an objective that is more or less the same.

    None where Optuna does not take its values, such as integers that no float can hold.
    """
    draw = Draw(seed, "foreign trial")
    likeness = draw.one_of("same", "same", "fewer", "more", "other")
    parameters = [p for p in case.space.parameters if not p.parent]
    distributions = {p.name: p.first for p in parameters}
    if likeness == "fewer":
        distributions = dict(draw.some(list(distributions.items()), 0, len(distributions) - 1))
    if likeness == "more":
        distributions |= {f"extra {i}": draw.choice(FOREIGN) for i in range(draw.one_of(1, 3))}
    if likeness == "other":
        distributions[draw.choice(parameters).name] = draw.choice(FOREIGN)
    states = [TrialState.COMPLETE] * 4 + [TrialState.FAIL, TrialState.PRUNED]
    states += [TrialState.WAITING, TrialState.RUNNING]
    state = draw.choice(states)
    values = None
    if state == TrialState.COMPLETE:
        odd = (float("inf"), -float("inf"), 1e300, -1e-300)
        values = [
            draw.random() if draw.chance(0.7) else draw.choice(odd)
            for _ in case.behaviour.directions
        ]
    attributes: dict[str, Any] = {}
    if draw.chance(0.2):
        attributes["heat_plugins:asked"] = draw.one_of(None, [], {"region": "x"}, {"point": 1})
    try:
        return optuna.create_trial(
            state=state,
            params={name: random_value(draw, d) for name, d in distributions.items()},
            distributions=distributions,
            values=values,
            system_attrs=attributes,
            intermediate_values={0: 0.5, 3: float("nan")} if draw.chance(0.2) else {},
        )
    except ValueError:
        return None
