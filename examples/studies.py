"""Run whole studies for examples that look at more than the best value so far."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import optuna
from comparison import Result, SamplerOf
from tqdm import tqdm

Objective = Callable[[optuna.Trial], float | Sequence[float]]
Measure = Callable[[optuna.Study], Sequence[float]]  # one number after each trial


def run_studies(
    objective: Objective,
    samplers: dict[str, SamplerOf],
    trials: int,
    repeats: int,
    measure: Measure,
    directions: Sequence[str] = ("minimize",),
) -> dict[str, Result]:
    """Run every sampler with the seeds 0, 1, ... and return what is measured of its studies."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    results = {}
    with tqdm(total=len(samplers) * repeats * trials, unit="trial") as progress:
        for name, make_sampler in samplers.items():
            measured = []
            start = time.perf_counter()
            for seed in range(repeats):
                progress.set_description(f"{name}, repeat {seed + 1}")
                study = optuna.create_study(sampler=make_sampler(seed), directions=directions)
                study.optimize(
                    objective, n_trials=trials, callbacks=[lambda study, trial: progress.update()]
                )
                measured.append(measure(study))
            seconds = (time.perf_counter() - start) / repeats
            results[name] = Result(np.array(measured), seconds, study)
    return results
