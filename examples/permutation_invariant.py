"""Interchangeable parameters: tell the sampler, and it needs a fraction of the trials.

Five test functions of 20 variables with 11 unordered levels each do not mind when variables
change places. There are 11 ** 20 points, but to such a function only 84 million of them
differ. ``PermutationInvariant`` says so; nothing else changes.

    python examples/permutation_invariant.py [--trials 60]
"""

import numpy as np
import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import HeatSampler, PermutationInvariant
from heat_plugins.benchmarks.problems.functions import SFU, relabelled

NAMES = [f"x{i:02d}" for i in range(20)]


def main() -> None:
    arguments = parse_arguments(__doc__, 60, 2, "permutation_invariant.png")
    samplers = {
        "with the structure": lambda seed: HeatSampler(
            seed=seed,
            deterministic_objective=True,
            structure=PermutationInvariant(NAMES),
        ),
        "without": lambda seed: HeatSampler(seed=seed, deterministic_objective=True),
    }
    figure, grid = plt.subplots(1, len(SFU), figsize=(16, 3.4), layout="constrained")
    for axes, (name, make) in zip(grid, SFU.items(), strict=True):
        function = relabelled(make(20, 11))

        def objective(trial: optuna.Trial, function=function) -> float:
            levels = [trial.suggest_categorical(name, list(range(11))) for name in NAMES]
            return function(np.array(levels))

        results = compare(objective, samplers, arguments.trials, arguments.repeats, f"{name}: ")
        print(f"\n{name}, smaller is better, best {function.best_known:.4g}")
        print_table(results, at=(20, 40))
        draw(axes, results, function.best_known, name)
    grid[0].legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
