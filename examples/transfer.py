"""The same search again: on other data, and with a choice added.

Handwritten digits are read by a small pipeline: how the pixels are scaled, which model reads them,
and its parameters. First the 0 to 4 are told apart, in a study of 40 trials. Then the 5 to 9, by
a study that begins from nothing and by one that goes on from the first. Last, somebody adds a
model to the choices: the study with the longer list goes on from the one with the shorter.

    python examples/transfer.py [--trials 20] [--repeats 3] [--output transfer.png]
"""

from collections.abc import Callable

import numpy as np
import optuna
from comparison import COLOURS, compare, draw, parse_arguments, plt, print_table, save
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from heat_plugins import HeatSampler

EARLIER_TRIALS = 40
SCALING = {
    "none": "passthrough",
    "standard": StandardScaler(),
    "range": MinMaxScaler(),
    "length": Normalizer(),
}
MODELS = ["svm", "neighbours", "tree"]

pixels, digits = load_digits(return_X_y=True)
splits = StratifiedShuffleSplit(3, train_size=100, test_size=400, random_state=0)


def suggest_model(trial: optuna.Trial, models: list[str]) -> object:
    model = trial.suggest_categorical("model", models)
    if model == "svm":
        gamma = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
        return SVC(C=trial.suggest_float("C", 1e-2, 1e3, log=True), gamma=gamma)
    if model == "neighbours":
        n = trial.suggest_int("n_neighbors", 1, 20)
        weights = trial.suggest_categorical("weights", ["uniform", "distance"])
        return KNeighborsClassifier(n, weights=weights)
    leaf = trial.suggest_int("min_samples_leaf", 1, 20)
    if model == "forest":
        return ExtraTreesClassifier(50, min_samples_leaf=leaf, random_state=0)
    return DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)


def error_on(wanted: range, models: list[str] = MODELS) -> Callable[[optuna.Trial], float]:
    """Return the objective: the share of some digits that are taken for others."""
    some = np.isin(digits, wanted)

    def objective(trial: optuna.Trial) -> float:
        scaling = SCALING[trial.suggest_categorical("scaling", [*SCALING])]
        pipeline = make_pipeline(scaling, suggest_model(trial, models))
        return float(1.0 - cross_val_score(pipeline, pixels[some], digits[some], cv=splits).mean())

    return objective


def run(objective: Callable[[optuna.Trial], float], trials: int, name: str) -> optuna.Study:
    study = optuna.create_study(sampler=HeatSampler(seed=0), study_name=name)
    study.optimize(objective, n_trials=trials)
    return study


def main() -> None:
    arguments = parse_arguments(__doc__, trials=20, repeats=3, output="transfer.png")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    earlier = run(error_on(range(5)), EARLIER_TRIALS, "0 to 4")
    print(f"0 to 4: {earlier.best_value:.4f} after {EARLIER_TRIALS} trials, {earlier.best_params}")
    tasks = {
        "5 to 9": error_on(range(5, 10)),
        "a model added": error_on(range(5), [*MODELS, "forest"]),
    }
    figure, panels = plt.subplots(1, 1 + len(tasks), figsize=(12, 3.6), layout="constrained")
    values = [trial.value for trial in earlier.trials]
    panels[0].plot(range(1, len(values) + 1), values, ".", color="#94a3b8", label="trials")
    best = np.minimum.accumulate(values)
    panels[0].plot(range(1, len(values) + 1), best, color=COLOURS[0], label="best so far")
    panels[0].set(title="the earlier study: 0 to 4", xlabel="trials", ylabel="error")
    panels[0].spines[["top", "right"]].set_visible(False)
    panels[0].legend()
    for axes, (title, objective) in zip(panels[1:], tasks.items(), strict=True):
        samplers = {
            "previous=[earlier]": lambda seed: HeatSampler(seed=seed, previous=[earlier]),
            "from nothing": lambda seed: HeatSampler(seed=seed),
        }
        results = compare(objective, samplers, arguments.trials, arguments.repeats, f"{title}, ")
        print(f"\n{title}")
        print_table(results, at=(1, 5, 10))
        study = results["previous=[earlier]"].last_study
        print(f"how alike: {study.sampler.explain(study).similarities['0 to 4']:.2f}")
        draw(axes, results, None, title)
        axes.legend()
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
