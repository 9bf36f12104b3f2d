"""One random experiment of Ax."""

from dataclasses import dataclass
from typing import Any

from ax.core.parameter import ChoiceParameter, FixedParameter, RangeParameter
from ax_space import AxSpace, Params, random_ax_space
from draw import Draw, share_of
from optuna_settings import random_parts

from heat_plugins import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)
from heat_plugins.spec.registry import entry_of, kernels_without_graph

__all__ = ["AxCase", "AxStep", "random_ax_case"]

METRICS = ("y", "z", "w", "c", "d")


@dataclass(frozen=True)
class AxStep:
    """Something that is done with an experiment.

    Attributes:
        kind: ``"next"`` trials from the client; ``"batch"``, one trial of many arms;
            ``"attach"`` an arm by hand; ``"save"`` and load; ``"ask"`` the model.
        count: How many.
        fixed: Values that are given.
        seed: Decides about the rest.
    """

    kind: str
    count: int = 1
    fixed: tuple[tuple[str, Any], ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class AxCase:
    """All that an experiment is made of.

    Attributes:
        seed: The seed of the case.
        space: Its parameters.
        objective: As the client reads it.
        outcome_constraints: The same.
        has_baseline: Whether an arm is the status quo.
        shape: How values look.
        sem: Which standard errors are reported.
        settings: Arguments of the generation strategy.
        groups: Names of parameters that can change places.
        steps: What is done.
    """

    seed: int
    space: AxSpace
    objective: str
    outcome_constraints: tuple[str, ...]
    has_baseline: bool
    shape: str
    sem: str
    settings: dict[str, Any]
    groups: tuple[tuple[str, ...], ...]
    steps: tuple[AxStep, ...]

    def __str__(self) -> str:
        lines = [
            f"objective={self.objective!r} outcome_constraints={self.outcome_constraints}",
            *(f"  {parameter}" for parameter in self.space.parameters),
            f"  {self.space.inequalities}",
            f"  baseline={self.has_baseline} shape={self.shape} sem={self.sem}",
            f"  settings {self.settings}",
            *(f"  {step}" for step in self.steps),
        ]
        return "\n".join(lines)

    def values(self, params: Params, number: int) -> dict[str, Any]:
        """Return what is measured of an arm, metric by metric."""
        names = [m for m in METRICS if m in self.objective or m in str(self.outcome_constraints)]
        if self.shape == "incomplete" and number % 4 == 1:
            names = names[1:] or names  # Ax takes no trial for complete without any value
        return {name: self._value(name, params, number) for name in names}

    def _value(self, name: str, params: Params, number: int) -> Any:
        value = sum(_effect(self.seed, name, p, params) for p in self.space.parameters)
        if self.shape == "constant":
            value = 0.5
        elif self.shape == "plateau":
            value = round(2 * value) / 2
        elif self.shape == "huge":
            value = (value - 1.0) * 1e200
        elif self.shape == "tiny":
            value *= 1e-200
        elif self.shape == "infinite" and number % 3 == 1:
            value = float("inf")
        elif self.shape == "nan" and number % 3 == 1:
            value = float("nan")
        noise = 0.1 * (share_of(self.seed, number, name) - 0.5)
        if self.sem == "none":
            return value
        if self.sem == "infinite" and number % 5 == 2:
            return (value, float("inf"))
        if self.sem == "some" and number % 2:
            return value
        sems = {"zero": 0.0, "too small": 1e-3, "right": 0.03, "large": 10.0}
        if self.shape in ("huge", "tiny"):
            noise = 0.0
        return (value + noise, sems.get(self.sem, 0.03))


def _effect(seed: int, metric: str, parameter: Any, params: Params) -> float:
    name = parameter.name
    if name not in params or isinstance(parameter, FixedParameter):
        return 0.0
    value = params[name]
    if isinstance(parameter, ChoiceParameter):
        return share_of(seed, metric, name, value)
    assert isinstance(parameter, RangeParameter)
    place = (value - parameter.lower) / (parameter.upper - parameter.lower)
    best = share_of(seed, metric, name)
    return float(abs(place - (best if best < 0.5 else round(best))))


def random_ax_case(seed: int) -> AxCase:
    """Return the case of a seed."""
    draw = Draw(seed, "ax")
    space = random_ax_space(Draw(seed, "ax space"))
    # Ax wants all parameters of a status quo, and an arm of a tree has not all of them.
    has_baseline = draw.chance(0.4) and not any(p.is_hierarchical for p in space.parameters)
    objective = draw.one_of(
        "-y", "-y", "y", "-y", "-y - 0.5*z", "2*y + z", "-y, -z", "y, -z", "-y, -z, w"
    )
    settings, groups = _settings(Draw(seed, "ax settings"), space)
    settings |= _parts(Draw(seed, "ax parts"), settings, has_one_objective="," not in objective)
    return AxCase(
        seed=seed,
        space=space,
        objective=objective,
        outcome_constraints=_outcome_constraints(draw, objective, has_baseline),
        has_baseline=has_baseline,
        shape=draw.one_of("smooth", "smooth", "smooth", "constant", "plateau", "huge", "tiny")
        if draw.chance(0.8)
        else draw.one_of("infinite", "nan", "incomplete"),
        sem=draw.one_of("none", "none", "right", "zero", "too small", "large", "some", "infinite"),
        settings=settings,
        groups=groups,
        steps=_steps(Draw(seed, "ax steps"), space),
    )


def _outcome_constraints(draw: Draw, objective: str, has_baseline: bool) -> tuple[str, ...]:
    constraints = []
    if draw.chance(0.3):
        constraints.append("c <= 0.8")
    if has_baseline and draw.chance(0.5):
        constraints.append(draw.one_of("d <= 1.1 * baseline", "d >= 0.5 * baseline"))
    if "," in objective and draw.chance(0.5):
        sign = ">=" if objective.startswith("y") else "<="
        relative = has_baseline and draw.chance(0.5)
        constraints.append(f"y {sign} {'1.2 * baseline' if relative else '0.9'}")
    return tuple(constraints)


def _steps(draw: Draw, space: AxSpace) -> tuple[AxStep, ...]:
    steps = []
    n_arms = draw.randint(10, 22)
    while n_arms > 0:
        kinds = ["next"] * 6 + ["batch", "attach", "save", "ask", "fixed"]
        kind = draw.choice(kinds)
        count = {"next": draw.randint(1, 4), "batch": draw.randint(2, 6), "fixed": 1}.get(kind, 0)
        n_arms -= count
        fixed: tuple[tuple[str, Any], ...] = ()
        if kind == "fixed":
            kind, fixed = "next", _fixed(draw, space)
        steps.append(AxStep(kind, count, fixed, draw.randrange(10**6)))
    return tuple(steps)


def _fixed(draw: Draw, space: AxSpace) -> tuple[tuple[str, Any], ...]:
    """Return values for some parameters that always exist and that no constraint is about."""
    always = space.active({})
    limited = " ".join(space.inequalities)
    free = [p for p in space.tunable if p.name in always and p.name not in limited]
    chosen = free if draw.chance(0.1) else draw.some(free, 0, 2)
    return tuple((p.name, random_ax_value(draw, p)) for p in chosen)


def random_ax_value(draw: Draw, parameter: Any) -> Any:
    """Return a value of a parameter."""
    if isinstance(parameter, FixedParameter):
        return parameter.value
    if isinstance(parameter, ChoiceParameter):
        return draw.choice(parameter.values)
    if parameter.parameter_type.name == "INT":
        return draw.randint(int(parameter.lower), int(parameter.upper))
    value = draw.uniform(parameter.lower, parameter.upper)
    return value if parameter.digits is None else float(parameter.cast(value))


def _parts(draw: Draw, settings: dict[str, Any], *, has_one_objective: bool) -> dict[str, Any]:
    """Return settings that are those of a sampler, mostly none."""
    parts: dict[str, Any] = {}
    for name, values in {
        "consider_failed_trials": (False,),
        "numeric_choices": ("unordered",),
        "trust_region": ("casmopolitan", "bounce"),
        "search": ("hill-climbing", "interleaved", "bandit", "pool"),
    }.items():
        if draw.chance(0.1):
            parts[name] = draw.choice(values)
    if parts.get("search") != "bandit" and draw.chance(0.1):
        parts["embedding"] = "nested"
    return parts | random_parts(draw, settings | parts, has_one_objective=has_one_objective)


def _settings(draw: Draw, space: AxSpace) -> tuple[dict[str, Any], tuple[tuple[str, ...], ...]]:
    settings: dict[str, Any] = {
        "seed": draw.randrange(2**31),
        "n_startup_trials": draw.one_of(0, 1, 3, 4, 6),
        "deterministic_objective": draw.chance(0.2),
        "trust_region": draw.chance(0.7),
    }
    if draw.chance(0.5):
        return settings, ()
    kernel = draw.one_of("heat", "heat", *kernels_without_graph())
    settings["kernel"] = kernel
    settings["mixing"] = draw.one_of("product", "product", "sum", "mixture")
    if entry_of(kernel).has_ard:
        settings["ard"] = draw.one_of(None, True, False)
    if entry_of(kernel).kind == "whole":
        return settings, ()
    always = space.active({})
    listed = [
        p
        for p in space.tunable
        if isinstance(p, ChoiceParameter) and p.name in always and len(p.values) > 1
    ]
    groups: tuple[tuple[str, ...], ...] = ()
    structures: list[Any] = []
    names = {p.name for p in space.tunable}
    if {"q0", "q1", "q2"} <= names and draw.chance(0.6) and "q" not in str(space.inequalities):
        groups = (("q0", "q1", "q2"),)
        structures.append(PermutationInvariant(groups[0], method="sort"))
    is_product = kernel in ("heat", "casmopolitan", "combo")
    if is_product and settings.get("ard") is not False:
        combinations = ["auto", Additive(), InteractionOrders(2), RandomDecomposition()]
        structures += draw.some(combinations, 0, 1)
    if listed and draw.chance(0.2):
        structures.append(Anchors(({p.name: draw.choice(p.values) for p in listed[:2]},)))
    settings["structure"] = structures or None
    if listed and draw.chance(0.4):
        chosen = draw.choice(listed)
        if draw.chance(0.5):
            settings["graphs"] = {chosen.name: draw.one_of("path", "cycle", "complete")}
        else:
            settings["order"] = {chosen.name: draw.sample(chosen.values, len(chosen.values))}
    return settings, groups
