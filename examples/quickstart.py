"""Pest control with HeatSampler next to Optuna's default sampler.

A farmer has 25 stages and, at each, the choice of no pesticide or one of four: 5 ** 25 plans.
Spraying costs money and the pest gets used to it; not spraying costs harvest. Both samplers
see the same objective; the only line that differs is the one that names the sampler.

Run it with ``make demo``, or with ``python examples/quickstart.py [--trials 150]``.
"""

import numpy as np
import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import HeatSampler
from heat_plugins.benchmarks.problems import pest_control

farm = pest_control().relocated()


def objective(trial: optuna.Trial) -> float:
    plan = [trial.suggest_categorical(f"stage{i:02d}", [0, 1, 2, 3, 4]) for i in range(25)]
    return farm(np.array(plan))


def main() -> None:
    arguments = parse_arguments(__doc__, trials=150, repeats=3, output="quickstart.png")
    samplers = {
        "HeatSampler": lambda seed: HeatSampler(seed=seed),
        "TPESampler (default)": lambda seed: optuna.samplers.TPESampler(seed=seed),
    }
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print("\nPest control, cost of the best plan (smaller is better, best known 12.03),")
    print(f"mean and range of {arguments.repeats} repeats")
    print_table(results, at=(25, 50, 100))

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, 12.03, "Pest control: 25 stages, 5 choices each")
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
