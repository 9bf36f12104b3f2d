"""Two objectives, a limit on a third metric and one on the parameters, with Ax.

A translation service is set up: which model in which precision on which runtime, how many
sentences at a time, how many processes and threads. Errors and delay both matter, and nobody
wants more than 16 % of the one or 400 ms of the other: objective thresholds. The memory, which
only a run shows, must stay below 12 GB: an outcome constraint. Processes and threads together
may be at most 9, which is known beforehand: a parameter constraint. The service is imitated.

    python examples/ax_constrained_objectives.py [--trials 40]
"""

import argparse
import logging
from pathlib import Path
from typing import Any

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_stderr_log_level
from comparison import COLOURS, plt, save
from tqdm import tqdm

from heat_plugins.ax import heat_generation_strategy

# By model: errors in percent, milliseconds a sentence, gigabytes.
MODELS = {
    "tiny": (15.0, 12.0, 0.4),
    "small": (11.5, 30.0, 0.9),
    "wide": (10.0, 55.0, 2.2),
    "deep": (8.0, 110.0, 2.8),
}
PRECISIONS = {"single": (0.0, 1.0, 1.0), "half": (0.2, 0.6, 0.5), "byte": (1.4, 0.35, 0.3)}
RUNTIMES = {"plain": (1.0, 0.2), "compiled": (0.7, 0.6), "graph": (0.6, 1.5)}
WORST_ERRORS, WORST_DELAY, MEMORY, CORES = 16, 400, 12, 9
PARAMETERS = [
    *[
        ChoiceParameterConfig(name=name, values=values, parameter_type="str", is_ordered=False)
        for name, values in (
            ("model", [*MODELS]),
            ("precision", [*PRECISIONS]),
            ("runtime", [*RUNTIMES]),
        )
    ],
    ChoiceParameterConfig(
        name="sentences", values=[1, 2, 4, 8, 16], parameter_type="int", is_ordered=True
    ),
    RangeParameterConfig(name="processes", bounds=(1, 8), parameter_type="int"),
    RangeParameterConfig(name="threads", bounds=(1, 8), parameter_type="int"),
]


def serve(params: dict[str, Any]) -> dict[str, float]:
    """Return the errors in percent, the delay in milliseconds and the memory in gigabytes."""
    errors, delay, memory = MODELS[params["model"]]
    loss, faster, smaller = PRECISIONS[params["precision"]]
    speed, extra = RUNTIMES[params["runtime"]]
    n, processes, threads = params["sentences"], params["processes"], params["threads"]
    work = delay * faster * speed * (0.4 + 0.6 * n) / threads**0.7
    waiting = 600.0 / (processes * n)
    # Half precision helps only what is compiled for it.
    work *= 1.5 if params["precision"] == "half" and params["runtime"] == "plain" else 1.0
    return {
        "errors": errors + loss,
        "delay": work + waiting,
        "memory": processes * (memory * smaller + extra + 0.02 * n),
    }


def is_within_limits(metrics: dict[str, float]) -> bool:
    return metrics["memory"] <= MEMORY


def draw(axes: plt.Axes, tried: list[dict[str, float]], front: list[dict[str, float]]) -> None:
    for holds, colour, label in (
        (True, COLOURS[1], "tried"),
        (False, "#cbd5e1", f"more than {MEMORY} GB"),
    ):
        points = [m for m in tried if is_within_limits(m) == holds]
        axes.plot(
            [m["delay"] for m in points],
            [m["errors"] for m in points],
            "o",
            color=colour,
            label=label,
        )
    front = sorted(front, key=lambda m: m["delay"])
    axes.step(
        [m["delay"] for m in front],
        [m["errors"] for m in front],
        "o-",
        where="post",
        color=COLOURS[0],
        label="Pareto frontier",
    )
    axes.axvline(WORST_DELAY, color="black", linewidth=0.8, linestyle=":", label="thresholds")
    axes.axhline(WORST_ERRORS, color="black", linewidth=0.8, linestyle=":")
    axes.set(title="A translation service", xlabel="delay, ms", ylabel="errors, percent")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("ax_constrained_objectives.png"))
    arguments = parser.parse_args()
    set_stderr_log_level(logging.ERROR)

    client = Client()
    client.configure_experiment(
        parameters=PARAMETERS, parameter_constraints=[f"processes + threads <= {CORES}"]
    )
    client.configure_optimization(
        objective="-errors, -delay",
        outcome_constraints=[
            f"errors <= {WORST_ERRORS}",  # of an objective: a threshold
            f"delay <= {WORST_DELAY}",
            f"memory <= {MEMORY}",
        ],
    )
    client.set_generation_strategy(
        heat_generation_strategy(seed=arguments.seed, deterministic_objective=True)
    )
    tried = []
    for _ in tqdm(range(arguments.trials), unit="trial"):
        for index, params in client.get_next_trials(max_trials=1).items():
            assert params["processes"] + params["threads"] <= CORES
            tried.append(serve(params))
            client.complete_trial(index, raw_data=tried[-1])

    n_within = sum(is_within_limits(metrics) for metrics in tried)
    print(f"\n{n_within} of {len(tried)} trials keep to {MEMORY} GB, all to {CORES} cores")
    front = client.get_pareto_frontier(use_model_predictions=False)
    print("\nPareto frontier, as measured:")
    found = {index: serve(params) for params, _, index, _ in front}
    for params, _, index, _ in sorted(front, key=lambda point: found[point[2]]["delay"]):
        metrics = found[index]
        print(f"  {metrics['errors']:5.2f} % errors, {metrics['delay']:4.0f} ms, ", end="")
        print(f"{metrics['memory']:4.1f} GB: {', '.join(map(str, params.values()))}")

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, tried, [*found.values()])
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
