"""A report of a study on one page: what was learnt, how good the model is, how the search went.

Concrete is mixed: which cement, which admixture, and how much of everything. Some mixtures do not
set at all, and one that costs more than 150 is out of the question. The page needs no network.

    python examples/report.py [--trials 60] [--output report.html]
"""

import argparse
from pathlib import Path

import optuna
from tqdm import tqdm

from heat_plugins import HeatSampler
from heat_plugins.visualization import read, report

CEMENTS = {"portland": 1.0, "slag": 0.8, "pozzolan": 0.7, "limestone": 0.6}
ADMIXTURES = {"none": 0.0, "plasticiser": 0.15, "retarder": -0.05, "accelerator": 0.1}


def objective(trial: optuna.Trial) -> float:
    """Return the made-up strength of a mixture in MPa."""
    cement = trial.suggest_categorical("cement", list(CEMENTS))
    admixture = trial.suggest_categorical("admixture", list(ADMIXTURES))
    amount = trial.suggest_int("cement_kg", 200, 500, step=10)
    ratio = trial.suggest_float("water_to_cement", 0.3, 0.8)
    days = trial.suggest_int("days", 7, 28, step=7)
    if hasattr(trial, "set_constraint"):  # from Optuna 5 on
        trial.set_constraint("cost", 0.3 * amount * CEMENTS[cement] - 110.0)
    if admixture == "retarder" and ratio > 0.4:
        raise RuntimeError("the mixture does not set")
    best_ratio = 0.38 if admixture == "plasticiser" else 0.45
    strength = 60.0 * CEMENTS[cement] * (1.0 + ADMIXTURES[admixture]) * (amount / 400.0) ** 0.5
    return strength * (1.0 - 3.0 * (ratio - best_ratio) ** 2) * (0.7 + 0.3 * days / 28.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("report.html"))
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = HeatSampler(seed=0, record=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    with tqdm(total=arguments.trials, unit="trial", disable=None) as progress:
        study.optimize(
            objective,
            n_trials=arguments.trials,
            catch=(RuntimeError,),
            callbacks=[lambda study, trial: progress.update()],
        )
    print(
        f"best of {arguments.trials} mixtures: {study.best_value:.1f} MPa, {study.best_params}\n"
    )
    print(sampler.explain(study))
    model = read(study)  # fitted once; any figure of heat_plugins.visualization takes it, too
    print(f"\nreport: {report(model, arguments.output).resolve()}")


if __name__ == "__main__":
    main()
