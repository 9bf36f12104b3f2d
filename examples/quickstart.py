"""Pest control with HeatSampler next to Optuna's default sampler.

A farmer has 25 stages and, at each, the choice of no pesticide or one of four: 5 ** 25 plans.
Spraying costs money and the pest gets used to it; not spraying costs harvest. Both samplers
see the same objective; the only line that differs is the one that names the sampler.

Run it with ``make demo``, or with ``python examples/quickstart.py [--trials 150]``.
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no screen
import matplotlib.pyplot as plt
import numpy as np
import optuna
from tqdm import tqdm

from heat_plugins import HeatSampler
from heat_plugins.benchmarks.problems import pest_control

farm = pest_control().relocated()


def objective(trial: optuna.Trial) -> float:
    plan = [trial.suggest_categorical(f"stage{i:02d}", [0, 1, 2, 3, 4]) for i in range(25)]
    return farm(np.array(plan))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("quickstart.png"))
    arguments = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = {
        "HeatSampler": lambda seed: HeatSampler(seed=seed),
        "TPESampler (default)": lambda seed: optuna.samplers.TPESampler(seed=seed),
    }
    best_so_far, seconds = {}, {}
    total = len(samplers) * arguments.repeats * arguments.trials
    with tqdm(total=total, unit="trial") as progress:
        for name, make_sampler in samplers.items():
            histories = []
            start = time.perf_counter()
            for seed in range(arguments.repeats):
                progress.set_description(f"{name}, repeat {seed + 1}")
                study = optuna.create_study(sampler=make_sampler(seed))
                study.optimize(
                    objective,
                    n_trials=arguments.trials,
                    callbacks=[lambda study, trial: progress.update()],
                )
                values = [trial.value for trial in study.trials]
                histories.append(np.minimum.accumulate(values))
            best_so_far[name] = np.array(histories)
            seconds[name] = (time.perf_counter() - start) / arguments.repeats

    print("\nPest control, cost of the best plan (smaller is better, best known 12.03),")
    print(f"mean and range of {arguments.repeats} repeats")
    checkpoints = sorted({min(n, arguments.trials) for n in (25, 50, 100, arguments.trials)})
    print(f"{'':22s}" + "".join(f"{n:>8d} trials     " for n in checkpoints) + "  s per study")
    for name, histories in best_so_far.items():
        cells = [
            f"{h.mean():6.2f} ({h.min():.2f}-{h.max():.2f})"
            for h in (histories[:, n - 1] for n in checkpoints)
        ]
        print(f"{name:22s}" + "  ".join(cells) + f"   {seconds[name]:8.1f}")

    draw(best_so_far, arguments.output)
    print(f"\npicture: {arguments.output.resolve()}")


def draw(best_so_far: dict[str, np.ndarray], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, histories), colour in zip(best_so_far.items(), ("#c2410c", "#475569"), strict=True):
        trials = np.arange(1, histories.shape[1] + 1)
        axes.plot(trials, histories.mean(axis=0), color=colour, label=name)
        axes.fill_between(
            trials, histories.min(axis=0), histories.max(axis=0), color=colour, alpha=0.2
        )
    axes.axhline(12.03, color="black", linewidth=0.8, linestyle=":", label="best known")
    axes.set(
        title="Pest control: 25 stages, 5 choices each",
        xlabel="trials",
        ylabel="cost of the best plan so far",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
