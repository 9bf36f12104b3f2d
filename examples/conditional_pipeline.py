"""A pipeline whose parts have parameters of their own: conditional parameters.

Handwritten digits are to be read, with 200 of them to learn from. There is a choice of how to
scale the pixels, how to reduce them and which model reads them, and each choice brings its own
parameters: ``gamma`` exists for one kernel of one model, ``n_neighbors`` for another model. The
objective is plain define-by-run code. ``HeatSampler`` learns from the trials when each
parameter exists, and has one model for all of them; ``TPESampler`` with ``group=True`` divides
them into groups.

    python examples/conditional_pipeline.py [--trials 50]
"""

import warnings
from collections import Counter

import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save
from sklearn.cluster import FeatureAgglomeration
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from heat_plugins import HeatSampler

pixels, digits = load_digits(return_X_y=True)
splits = StratifiedShuffleSplit(4, train_size=200, test_size=600, random_state=0)


def suggest_scaling(trial: optuna.Trial) -> object:
    scaling = trial.suggest_categorical("scaling", ["none", "standard", "range"])
    return {"none": "passthrough", "standard": StandardScaler(), "range": MinMaxScaler()}[scaling]


def suggest_reduction(trial: optuna.Trial) -> object:
    reduction = trial.suggest_categorical("reduction", ["none", "components", "merged pixels"])
    if reduction == "components":
        return PCA(trial.suggest_int("n_components", 4, 48), random_state=0)
    if reduction == "merged pixels":
        return FeatureAgglomeration(trial.suggest_int("n_groups", 8, 56))
    return "passthrough"


def suggest_model(trial: optuna.Trial) -> object:
    model = trial.suggest_categorical("model", ["svm", "neighbours", "tree", "discriminant"])
    if model == "svm":
        kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
        shape = {}
        if kernel == "rbf":
            shape["gamma"] = trial.suggest_float("gamma", 1e-5, 1.0, log=True)
        elif kernel == "poly":
            shape["degree"] = trial.suggest_int("degree", 2, 5)
        return SVC(C=trial.suggest_float("C", 1e-2, 1e3, log=True), kernel=kernel, **shape)
    if model == "neighbours":
        return KNeighborsClassifier(
            trial.suggest_int("n_neighbors", 1, 20),
            weights=trial.suggest_categorical("weights", ["uniform", "distance"]),
            metric=trial.suggest_categorical("metric", ["euclidean", "manhattan", "cosine"]),
        )
    if model == "tree":
        return DecisionTreeClassifier(
            max_depth=trial.suggest_int("max_depth", 2, 20),
            min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 20),
            random_state=0,
        )
    shrinkage = trial.suggest_float("shrinkage", 0.0, 1.0)
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)


def objective(trial: optuna.Trial) -> float:
    """Return the share of digits, in percent, that a pipeline takes for another."""
    pipeline = make_pipeline(
        suggest_scaling(trial), suggest_reduction(trial), suggest_model(trial)
    )
    return 100.0 * (1.0 - cross_val_score(pipeline, pixels, digits, cv=splits).mean())


def main() -> None:
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    arguments = parse_arguments(__doc__, trials=50, repeats=3, output="conditional_pipeline.png")
    samplers = {
        "HeatSampler": lambda seed: HeatSampler(seed=seed, deterministic_objective=True),
        "TPESampler (group)": lambda seed: optuna.samplers.TPESampler(
            seed=seed, multivariate=True, group=True
        ),
    }
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print("\nerror of the best pipeline in percent, smaller is better,")
    print(f"mean and range of {arguments.repeats} repeats")
    print_table(results, at=(15, 30))

    for name, result in results.items():
        study = result.last_study
        tried = Counter(trial.params["model"] for trial in study.trials)
        print(f"\n{name}, last study: tried " + ", ".join(f"{m} {n}" for m, n in tried.items()))
        print(f"  best with {study.best_value:.2f} %: {study.best_params}")

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, None, "Reading digits: three choices, each with parameters of its own")
    axes.set(ylabel="best error so far, percent", ylim=(3.0, 10.0))
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
