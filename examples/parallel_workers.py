"""Several processes on one study: no point twice, and every worker learns from all.

A supplier of food can take or leave a measure against contamination at each of 25 stages.
Every worker opens the same storage, has a sampler of its own and shares nothing else, as if
each were on another machine. The storage is a journal file that all of them can reach. With
``--storage postgresql://user@host/database`` it is a database; nothing else changes.

    python examples/parallel_workers.py [--trials 64] [--workers 4] [--storage study.log]
"""

import argparse
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
from comparison import COLOURS, plt, save
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from tqdm import tqdm

from heat_plugins import HeatSampler
from heat_plugins.benchmarks.problems import contamination

SECONDS = 0.2  # that an evaluation takes, besides the little that it costs
SAMPLERS: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
    "HeatSampler": HeatSampler,
    "TPESampler": optuna.samplers.TPESampler,
}
supply = contamination().relocated()


def objective(trial: optuna.Trial) -> float:
    measures = [trial.suggest_categorical(f"stage{i:02d}", [False, True]) for i in range(25)]
    time.sleep(SECONDS)
    return supply(np.array(measures, dtype=int))


def open_storage(name: str) -> BaseStorage:
    if "://" in name:
        return RDBStorage(name)
    return JournalStorage(JournalFileBackend(name))


def work(storage: str, study_name: str, sampler: str, worker: int, trials: int) -> None:
    """What each process does; on another machine it would be a script of its own."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name=study_name, storage=open_storage(storage), sampler=SAMPLERS[sampler]()
    )

    def signed(trial: optuna.Trial) -> float:
        trial.set_user_attr("worker", worker)
        return objective(trial)

    study.optimize(signed, n_trials=trials)


def run(storage: str, sampler: str, workers: int, trials: int) -> optuna.Study:
    """Start the workers and wait for them."""
    study = optuna.create_study(storage=open_storage(storage))
    spawn = multiprocessing.get_context("spawn")  # each begins with nothing, as elsewhere
    processes = [
        spawn.Process(target=work, args=(storage, study.study_name, sampler, i, trials // workers))
        for i in range(workers)
    ]
    with tqdm(total=trials // workers * workers, unit="trial", desc=sampler) as progress:
        for process in processes:
            process.start()
        while progress.n < progress.total and any(process.is_alive() for process in processes):
            time.sleep(SECONDS)
            finished = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
            progress.update(len(finished) - progress.n)
        for process in processes:
            process.join()
    if any(process.exitcode for process in processes):
        raise SystemExit("a worker has failed, and said why")
    return study


def report(name: str, study: optuna.Study) -> None:
    trials = study.trials
    distinct = len({tuple(sorted(trial.params.items())) for trial in trials})
    shares = Counter(trial.user_attrs["worker"] for trial in trials)
    best = study.best_trial
    print(f"\n{name}: {distinct} of {len(trials)} points are distinct")
    print("  trials by worker: " + ", ".join(f"{w}: {shares[w]}" for w in sorted(shares)))
    print(f"  worker {best.user_attrs['worker']} found the best, {best.value:.4f}, ", end="")
    print(f"in trial {best.number}")


def draw_timeline(axes: plt.Axes, study: optuna.Study, title: str) -> None:
    """Draw every trial as a bar, and those that were the best so far in another colour."""
    begin = min(trial.datetime_start for trial in study.trials)
    best = np.inf
    for trial in sorted(study.trials, key=lambda trial: trial.datetime_complete):
        is_better, best = trial.value < best, min(best, trial.value)
        start = (trial.datetime_start - begin).total_seconds()
        axes.barh(
            trial.user_attrs["worker"],
            trial.duration.total_seconds(),
            left=start,
            color=COLOURS[0] if is_better else COLOURS[1],
            edgecolor="white",
        )
    for colour, label in zip(COLOURS, ("better than all before", "other trials"), strict=False):
        axes.barh(0, 0, color=colour, label=label)
    axes.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, -0.4))
    axes.set(title=title, xlabel="seconds", ylabel="worker")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=64, help="of all workers together")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--storage", help="a journal file, or the URL of a database")
    parser.add_argument("--output", type=Path, default=Path("parallel_workers.png"))
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    with tempfile.TemporaryDirectory() as folder:
        storage = arguments.storage or f"{folder}/study.log"
        studies = {
            name: run(storage, name, arguments.workers, arguments.trials) for name in SAMPLERS
        }
        print(f"\ncontamination, 2 ** 25 points, smaller is better, best {supply.best_known}")
        for name, study in studies.items():
            report(name, study)
        figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
        draw_timeline(axes, studies["HeatSampler"], "HeatSampler: trials of each worker")
        save(figure, arguments.output)


if __name__ == "__main__":
    main()
