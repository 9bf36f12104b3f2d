"""What the examples have in common: run samplers on one objective, print and draw the result."""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no screen
import matplotlib.pyplot as plt
import numpy as np
import optuna
from tqdm import tqdm

COLOURS = ("#c2410c", "#475569", "#0f766e", "#7c3aed")

Objective = Callable[[optuna.Trial], float]
SamplerOf = Callable[[int], optuna.samplers.BaseSampler]  # of a seed


@dataclass(frozen=True)
class Result:
    """Best values so far (repeats, trials) of one sampler, and its seconds a study."""

    best_so_far: np.ndarray
    seconds: float
    last_study: optuna.Study


def parse_arguments(
    description: str, trials: int, repeats: int, output: str
) -> argparse.Namespace:
    """Read --trials, --repeats and --output."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--output", type=Path, default=Path(output))
    return parser.parse_args()


def compare(
    objective: Objective, samplers: dict[str, SamplerOf], trials: int, repeats: int, task: str = ""
) -> dict[str, Result]:
    """Run every sampler with the seeds 0, 1, ... and show how far it is."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    results = {}
    with tqdm(total=len(samplers) * repeats * trials, unit="trial") as progress:
        for name, make_sampler in samplers.items():
            histories = []
            start = time.perf_counter()
            for seed in range(repeats):
                progress.set_description(f"{task}{name}, repeat {seed + 1}")
                study = optuna.create_study(sampler=make_sampler(seed))
                study.optimize(
                    objective, n_trials=trials, callbacks=[lambda study, trial: progress.update()]
                )
                histories.append(np.minimum.accumulate([t.value for t in study.trials]))
            seconds = (time.perf_counter() - start) / repeats
            results[name] = Result(np.array(histories), seconds, study)
    return results


def print_table(results: dict[str, Result], at: tuple[int, ...]) -> None:
    """Print the mean and the range of the best values after some numbers of trials."""
    trials = next(iter(results.values())).best_so_far.shape[1]
    checkpoints = sorted({min(n, trials) for n in (*at, trials)})
    width = max(len(name) for name in results) + 2
    print(f"{'':{width}s}" + "".join(f"{f'{n} trials':>28s}" for n in checkpoints) + "  s/study")
    for name, result in results.items():
        cells = ""
        for n in checkpoints:
            best = np.round(result.best_so_far[:, n - 1], 10)  # 4e-16 is zero to people
            cells += f"{f'{best.mean():.4g} ({best.min():.4g} to {best.max():.4g})':>28s}"
        print(f"{name:{width}s}{cells}  {result.seconds:7.1f}")


def draw(axes: plt.Axes, results: dict[str, Result], optimum: float | None, title: str) -> None:
    """Draw the mean and the range of the best values over the trials."""
    for (name, result), colour in zip(results.items(), COLOURS, strict=False):
        histories = result.best_so_far
        trials = np.arange(1, histories.shape[1] + 1)
        axes.plot(trials, histories.mean(axis=0), color=colour, label=name)
        axes.fill_between(
            trials, histories.min(axis=0), histories.max(axis=0), color=colour, alpha=0.2
        )
    if optimum is not None:
        axes.axhline(optimum, color="black", linewidth=0.8, linestyle=":", label="best known")
    axes.set(title=title, xlabel="trials", ylabel="best value so far")
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: plt.Figure, path: Path) -> None:
    """Write the picture and say where it is."""
    figure.savefig(path, dpi=150)
    print(f"\npicture: {path.resolve()}")
