"""Random arguments of ``HeatSampler``, all of which suit the space."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from draw import Draw, share_of
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna_objective import Behaviour, constraints_func
from optuna_space import Parameter, Space

from heat_plugins import (
    Additive,
    Anchors,
    HeatSampler,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.spec.registry import entry_of, kernels_without_graph

__all__ = ["SamplerSettings", "random_parts", "random_settings"]


@dataclass(frozen=True)
class SamplerSettings:
    """How the sampler of a case is made.

    Attributes:
        arguments: Those that can be used again.
        independent: Makes an independent sampler, which has a state; None for none.
        groups: Names of parameters that can change places.
        rule: ``is_feasible``, if there is one.
    """

    arguments: dict[str, Any]
    independent: Callable[[], optuna.samplers.BaseSampler] | None
    groups: tuple[tuple[str, ...], ...]
    rule: Callable[[dict[str, Any]], bool] | None

    def make(self) -> HeatSampler:
        """Return a new sampler."""
        independent = None if self.independent is None else self.independent()
        return HeatSampler(
            **self.arguments, independent_sampler=independent, is_feasible=self.rule
        )


class Rule:
    """Forbids a share of the points, told by one or all parameters with listed choices."""

    def __init__(self, seed: int, names: tuple[str, ...], share: float) -> None:
        self._seed, self._names, self._share = seed, names, share

    def __call__(self, params: dict[str, Any]) -> bool:
        known = [repr(params[name]) for name in self._names]  # a KeyError is no objection
        return share_of(self._seed, known) >= self._share

    def __repr__(self) -> str:
        return f"Rule({self._seed}, {self._names}, {self._share})"


def random_settings(draw: Draw, space: Space, behaviour: Behaviour) -> SamplerSettings:
    """Return settings that are right for a space and an objective."""
    arguments: dict[str, Any] = {
        "seed": draw.randrange(2**32),
        "n_startup_trials": draw.one_of(0, 1, 2, 3, 4, 4, 6),
    }
    for name, values in {
        "deterministic_objective": (True, False),
        "warn_independent_sampling": (True, False),
        "consider_pruned_trials": (True, False),
        "consider_failed_trials": (True, False),
        "numeric_choices": ("auto", "unordered"),
        "record": (True, False),
        "trust_region": (True, False, "casmopolitan", "bounce"),
        "search": ("hill-climbing", "interleaved", "bandit", "pool"),
        "pending_timeout": (None, 1e9, math.inf),
        "mixing": ("product", "sum", "mixture"),
    }.items():
        if draw.chance(0.3):
            arguments[name] = draw.choice(values)
    if arguments.get("search") != "bandit" and draw.chance(0.2):
        arguments["embedding"] = "nested"
    if behaviour.n_constraints and behaviour.how == "constraints_func":
        arguments["constraints_func"] = constraints_func
    groups: tuple[tuple[str, ...], ...] = ()
    if draw.chance(0.5):
        more, groups = _model(draw, space)
        arguments |= more
    independent = None
    # Optuna's own samplers cannot draw from a range that no float can measure.
    if draw.chance(0.1) and not any(_is_boundless(p) for p in space.parameters):
        seed = draw.randrange(2**32)
        kind = draw.one_of(optuna.samplers.RandomSampler, optuna.samplers.TPESampler)
        independent = lambda: kind(seed=seed)  # noqa: E731
    arguments |= random_parts(
        Draw(arguments["seed"], "parts"),
        arguments,
        has_one_objective=len(behaviour.directions) == 1,
    )
    return SamplerSettings(arguments, independent, groups, _rule(draw, space))


def random_parts(
    draw: Draw, arguments: dict[str, Any], *, has_one_objective: bool
) -> dict[str, Any]:
    """Return other parts of the pipeline that go together with arguments, mostly none."""
    if not draw.chance(0.25):
        return {}
    parts: dict[str, Any] = {
        "hyperparameters": draw.one_of("map", "maximum-likelihood", "slice-sampling")
    }
    if has_one_objective:
        parts["acquisition"] = draw.one_of("log-ei", "ucb", "thompson")
        is_free = not {"kernel", "structure", "embedding"} & arguments.keys()
        if is_free and draw.chance(0.3):
            parts = {"acquisition": "ucb", "search": "message-passing"}
            parts["structure"] = RandomDecomposition()
    return parts


def _is_boundless(parameter: Parameter) -> bool:
    return any(
        isinstance(distribution, FloatDistribution)
        and math.isinf(distribution.high - distribution.low)
        for _, distribution in parameter.stages
    )


def _rule(draw: Draw, space: Space) -> Rule | None:
    names = [p.name for p in _listed(space)]
    if not names or not draw.chance(0.15):
        return None
    names = names if draw.chance(0.5) else names[:1]
    rule = Rule(draw.randrange(10**6), tuple(names), draw.one_of(0.1, 0.3, 0.6))
    choices = {p.name: p.first.choices for p in _listed(space)}  # type: ignore[attr-defined]
    points = itertools.islice(itertools.product(*(choices[name] for name in names)), 1000)
    allows_any = any(rule(dict(zip(names, point, strict=True))) for point in points)
    return rule if allows_any else None


def _listed(space: Space) -> list[Parameter]:
    """Return the parameters with several choices that are always there and stay the same."""
    return [
        p
        for p in space.parameters
        if isinstance(p.first, CategoricalDistribution)
        and p.is_static
        and not p.parent
        and 1 < len(p.first.choices) < 50
        # As choices of a storage, where tuples become lists, they could not be named.
        and not any(isinstance(choice, (tuple, list, dict)) for choice in p.first.choices)
        and len({repr(choice) for choice in p.first.choices}) == len(p.first.choices)
    ]


def _model(draw: Draw, space: Space) -> tuple[dict[str, Any], tuple[tuple[str, ...], ...]]:
    """Return arguments of the model, and the groups of parameters that can change places."""
    kernel: Any = draw.one_of("heat", "heat", *kernels_without_graph(), _exponential)
    arguments: dict[str, Any] = {"kernel": kernel}
    if draw.chance(0.5):
        arguments["ard"] = draw.one_of(None, True, False) if entry_of(kernel).has_ard else False
    listed = _listed(space)
    alike = _alike(space)
    groups = (alike,) if alike and entry_of(kernel).kind != "whole" and draw.chance(0.7) else ()
    if kernel not in ("hed", "ssk"):
        arguments |= _neighbours(draw, [p for p in listed if not groups or p.name not in alike])
    if entry_of(kernel).kind == "whole":
        return arguments, ()
    is_product = kernel in ("heat", "casmopolitan", "combo", "one-hot-rbf")
    structures: list[Any] = []
    if groups:
        methods = ["sort"]
        if isinstance(space.parameters[0].first, CategoricalDistribution):
            methods += ["padded-sort", "product", *(["sum"] if is_product else [])]
        structures.append(PermutationInvariant(groups[0], method=draw.choice(methods)))
    if is_product and entry_of(kernel).has_ard and arguments.get("ard") is not False:
        structures += draw.some(
            [
                "auto",
                Additive(remainder=draw.chance(0.5)),
                InteractionOrders(draw.one_of(1, 2, 3), remainder=draw.chance(0.5)),
                InteractionOrders(2, orthogonal=False, remainder=False),
                RandomDecomposition(),
            ],
            0,
            1,
        )
    if listed and draw.chance(0.2):
        structures.append(_anchors(draw, listed))
    arguments["structure"] = structures or None
    return arguments, groups


def _exponential(distance: Any) -> Any:
    return np.exp(-np.asarray(distance))


def _alike(space: Space) -> tuple[str, ...]:
    """Return parameters that can change places; none if there are not two."""
    first = space.parameters[0]
    names = [
        p.name
        for p in space.parameters[:3]
        if p.stages == first.stages and p.is_static and not p.parent and not p.first.single()
    ]
    return tuple(names) if len(names) > 1 else ()


def _neighbours(draw: Draw, listed: list[Parameter]) -> dict[str, Any]:
    arguments: dict[str, dict[str, Any]] = {"graphs": {}, "order": {}, "quantitative": {}}
    for parameter in listed:
        choices = list(parameter.first.choices)  # type: ignore[attr-defined]
        what = draw.one_of("nothing", "nothing", "graphs", "order", "quantitative")
        if what == "graphs":
            arguments[what][parameter.name] = draw.one_of(
                "complete", "path", "cycle", _star(len(choices))
            )
        elif what == "order":
            arguments[what][parameter.name] = draw.sample(choices, len(choices))
        elif what == "quantitative" and _are_numbers(choices):
            scales = ["linear", *(["log"] if min(choices) > 0 else [])]
            arguments[what][parameter.name] = draw.choice(scales)
    return {name: value for name, value in arguments.items() if value}


def _star(count: int) -> np.ndarray:
    matrix = np.zeros((count, count))
    matrix[0, 1:] = matrix[1:, 0] = 1.0
    return matrix


def _are_numbers(choices: list[Any]) -> bool:
    numbers = all(type(c) in (int, float) and math.isfinite(c) for c in choices)
    return numbers and len(set(choices)) == len(choices)


def _anchors(draw: Draw, listed: list[Parameter]) -> Anchors:
    return Anchors(
        tuple(
            {p.name: draw.choice(p.first.choices) for p in draw.some(listed, 1, 3)}  # type: ignore[attr-defined]
            for _ in range(draw.randint(1, 3))
        )
    )
