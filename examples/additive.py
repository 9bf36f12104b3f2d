"""Effects that add up: RNA of 30 letters, and what was learnt about it.

Every letter has an effect of its own at each place, and neighbouring letters have a smaller
one together, as in the landscapes of RNA and proteins. ``Additive`` models single effects with
a small remainder, ``"auto"`` finds out by itself, and ``sampler.explain`` tells what was found.

    python examples/additive.py [--trials 100]
"""

import numpy as np
import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import Additive, HeatSampler
from heat_plugins.benchmarks.problems.functions import sequence

LETTERS = "ACGU"
rna = sequence(length=30, n_letters=4, pairs=0.05, seed=1)


def objective(trial: optuna.Trial) -> float:
    letters = [trial.suggest_categorical(f"place{i:02d}", list(LETTERS)) for i in range(30)]
    return rna(np.array([LETTERS.index(letter) for letter in letters]))


def main() -> None:
    arguments = parse_arguments(__doc__, 100, 6, "additive.png")
    structures = {"Additive()": Additive(), '"auto"': "auto", "without": None}
    samplers = {
        name: lambda seed, structure=structure: HeatSampler(
            seed=seed, n_startup_trials=20, deterministic_objective=True, structure=structure
        )
        for name, structure in structures.items()
    }
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print(f"\nenergy of the best sequence, smaller is better, best {rna.best_known:.4g}")
    print_table(results, at=(50, 75))

    study = results["Additive()"].last_study
    lines = str(study.sampler.explain(study)).splitlines()
    print("\nwhat the additive model has learnt in the last study (the five strongest places):")
    print("\n".join(line[:110] for line in lines[:8]))

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, rna.best_known, "RNA of 30 letters")
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
