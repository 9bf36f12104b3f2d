"""Parts of a drone under two limits: one that is known, and one that has to be measured.

A frame, motors, propellers, a battery and a camera are chosen from a catalogue. The drone may
weigh 700 g, and the catalogue says what parts weigh: ``is_feasible`` tells the sampler, and
nothing heavier is tried. The motors must stay below 50 degrees, which only a flight shows:
``trial.set_constraint`` reports it, and the sampler learns where they do. With Optuna 4, which
does not have that method, ``constraints_func`` does the same.

    python examples/constrained.py [--trials 50]
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from comparison import draw, parse_arguments, plt, print_table, save
from studies import run_studies

from heat_plugins import HeatSampler

HEAVIEST, HOTTEST = 700.0, 50.0  # grams, degrees
Part = dict[str, float]
rng = np.random.default_rng(3)


def catalogue(n: int, part: Callable[[float, float], Part]) -> list[Part]:
    """Return n parts, each of a random size and make, both from 0 to 1."""
    return [part(*rng.uniform(size=2)) for _ in range(n)]


# What is heavier is better at its own task: that is why the limit hurts.
PARTS = {
    "frame": catalogue(10, lambda s, m: {"weight": 100 + 150 * s, "drag": 1.3 - 0.5 * s * m}),
    "motors": catalogue(
        12,
        lambda s, m: {
            "weight": 80 + 160 * s,
            "efficiency": 0.6 + 0.25 * m,
            "cooling": 1.5 + s - 1.2 * m,
        },
    ),
    "propellers": catalogue(
        12, lambda s, m: {"weight": 10 + 50 * s, "size": 0.8 + 0.4 * s + 0.2 * m}
    ),
    "battery": catalogue(12, lambda s, m: {"weight": 120 + 380 * s, "density": 0.15 + 0.05 * m}),
    "camera": catalogue(10, lambda s, m: {"weight": 40 + 260 * s, "quality": 1 + 2 * s + 0.5 * m}),
}


def weight_of(params: dict[str, Any]) -> float:
    """Return what a drone weighs in grams, as far as its parts have been chosen."""
    return sum(parts[params[name]]["weight"] for name, parts in PARTS.items() if name in params)


def is_light(params: dict[str, Any]) -> bool:
    """Whether a drone may be tried at all; the sampler asks this before it proposes one."""
    return weight_of(params) <= HEAVIEST


def fly(params: dict[str, Any]) -> tuple[float, float]:
    """Return what a drone is worth and how hot its motors become."""
    part = {name: parts[params[name]] for name, parts in PARTS.items()}
    motors, battery, speed = part["motors"], part["battery"], params["speed"]
    lift = (weight_of(params) / 1000.0) ** 1.5 / part["propellers"]["size"]
    watts = (130.0 * lift + 0.08 * part["frame"]["drag"] * speed**3) / motors["efficiency"]
    hours = battery["weight"] * battery["density"] / watts
    degrees = 25.0 + 0.8 * watts * (1.0 - motors["efficiency"]) / motors["cooling"]
    return 3.6 * hours * speed * part["camera"]["quality"], degrees


def objective(trial: optuna.Trial) -> float:
    """Return minus what a drone is worth: kilometres times the quality of its pictures."""
    params: dict[str, Any] = {
        name: trial.suggest_categorical(name, list(range(len(parts))))
        for name, parts in PARTS.items()
    }
    params["speed"] = trial.suggest_float("speed", 2.0, 12.0)
    worth, degrees = fly(params)
    excess = {"weight": weight_of(params) - HEAVIEST, "heat": degrees - HOTTEST}
    trial.set_user_attr("excess", excess)
    if hasattr(trial, "set_constraint"):
        for name, value in excess.items():
            trial.set_constraint(name, value)  # holds where it is at most 0
    return -worth


def constraints(trial: optuna.trial.FrozenTrial) -> list[float]:
    return [*trial.user_attrs["excess"].values()]


# Optuna 5 has been told already, and warns of the function.
TOLD_AFTER = {} if hasattr(optuna.Trial, "set_constraint") else {"constraints_func": constraints}


def is_within_limits(trial: optuna.trial.FrozenTrial) -> bool:
    return max(trial.user_attrs["excess"].values()) <= 0.0


def best_within_limits(study: optuna.Study) -> np.ndarray:
    """Return the best value so far; infinite before the first drone within both limits."""
    values = [trial.value if is_within_limits(trial) else np.inf for trial in study.trials]
    return np.minimum.accumulate(values)


def print_study(name: str, study: optuna.Study) -> None:
    n_broken = {
        limit: sum(trial.user_attrs["excess"][limit] > 0.0 for trial in study.trials)
        for limit in ("weight", "heat")
    }
    print(f"\n{name}, last study of {len(study.trials)} drones, ", end="")
    print(f"too heavy: {n_broken['weight']}, too hot: {n_broken['heat']}")
    within = [trial for trial in study.trials if is_within_limits(trial)]
    if within:
        best = min(within, key=lambda trial: trial.value).params
        print(f"  best: {weight_of(best):.0f} g, {fly(best)[1]:.1f} degrees, {best}")


def main() -> None:
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    arguments = parse_arguments(__doc__, trials=50, repeats=3, output="constrained.png")
    samplers = {
        "weight is known": lambda seed: HeatSampler(
            seed=seed, deterministic_objective=True, is_feasible=is_light, **TOLD_AFTER
        ),
        "weight is measured": lambda seed: HeatSampler(
            seed=seed, deterministic_objective=True, **TOLD_AFTER
        ),
        "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed, **TOLD_AFTER),
    }
    results = run_studies(
        objective, samplers, arguments.trials, arguments.repeats, best_within_limits
    )
    print("\nminus the worth of the best drone within both limits, smaller is better,")
    print(f"mean and range of {arguments.repeats} repeats")
    print_table(results, at=(15, 30))
    for name, result in results.items():
        print_study(name, result.last_study)

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, None, "Parts of a drone, at most 700 g and 50 degrees")
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
