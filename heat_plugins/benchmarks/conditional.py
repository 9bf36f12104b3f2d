"""Parameters that exist under some choices only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.samplers import GPSampler, RandomSampler, TPESampler
from optuna.trial import Trial

from heat_plugins._extras import require
from heat_plugins.benchmarks.comparisons import Comparison, Contender, Params, Result, Task
from heat_plugins.optuna import HeatSampler

__all__ = ["CONDITIONAL"]


# --------------------------------------------------------- a pipeline of scikit-learn
N_DIGITS = 300
N_FOLDS = 3


def _ask_for_pipeline(trial: Trial) -> Params:
    trial.suggest_categorical("scaler", ("none", "standard", "minmax", "quantile"))
    reduction = trial.suggest_categorical("reduction", ("none", "best", "pca"))
    if reduction == "best":
        trial.suggest_int("n_best", 4, 64, log=True)
    elif reduction == "pca":
        trial.suggest_int("n_components", 2, 40, log=True)
    model = trial.suggest_categorical(
        "model", ("logistic", "vectors", "forest", "neighbours", "network")
    )
    _MODELS[model][0](trial)
    return trial.params


def _ask_for_logistic(trial: Trial) -> None:
    trial.suggest_float("logistic_C", 1e-3, 1e3, log=True)
    trial.suggest_categorical("logistic_intercept", (True, False))


def _logistic(params: Params) -> Any:
    return require("sklearn.linear_model", "benchmarks").LogisticRegression(
        C=params["logistic_C"], fit_intercept=params["logistic_intercept"], max_iter=100
    )


def _ask_for_vectors(trial: Trial) -> None:
    trial.suggest_float("vectors_C", 1e-2, 1e3, log=True)
    kernel = trial.suggest_categorical("vectors_kernel", ("linear", "rbf", "poly"))
    if kernel != "linear":
        trial.suggest_float("vectors_gamma", 1e-4, 1e1, log=True)
    if kernel == "poly":
        trial.suggest_int("vectors_degree", 2, 4)


def _vectors(params: Params) -> Any:
    machine = require("sklearn.svm", "benchmarks").SVC(
        C=params["vectors_C"],
        kernel=params["vectors_kernel"],
        gamma=params.get("vectors_gamma", "scale"),
        degree=params.get("vectors_degree", 3),
        max_iter=2000,
    )
    # Its decisions become probabilities, which the log loss needs.
    calibration = require("sklearn.calibration", "benchmarks")
    return calibration.CalibratedClassifierCV(machine, ensemble=False, cv=2)


def _ask_for_forest(trial: Trial) -> None:
    trial.suggest_int("forest_depth", 2, 16)
    trial.suggest_float("forest_features", 0.05, 1.0, log=True)
    trial.suggest_categorical("forest_criterion", ("gini", "entropy"))


def _forest(params: Params) -> Any:
    return require("sklearn.ensemble", "benchmarks").RandomForestClassifier(
        20,
        max_depth=params["forest_depth"],
        max_features=params["forest_features"],
        criterion=params["forest_criterion"],
        random_state=0,
    )


def _ask_for_neighbours(trial: Trial) -> None:
    trial.suggest_int("neighbours_n", 1, 50, log=True)
    trial.suggest_categorical("neighbours_weights", ("uniform", "distance"))
    trial.suggest_categorical("neighbours_p", (1, 2))


def _neighbours(params: Params) -> Any:
    return require("sklearn.neighbors", "benchmarks").KNeighborsClassifier(
        params["neighbours_n"],
        weights=params["neighbours_weights"],
        p=params["neighbours_p"],
    )


def _ask_for_network(trial: Trial) -> None:
    for i in range(trial.suggest_int("network_layers", 1, 3)):
        trial.suggest_int(f"network_units_{i}", 4, 64, log=True)
    trial.suggest_float("network_alpha", 1e-6, 1e1, log=True)
    trial.suggest_float("network_rate", 1e-4, 1e-1, log=True)


def _network(params: Params) -> Any:
    units = [params[f"network_units_{i}"] for i in range(params["network_layers"])]
    return require("sklearn.neural_network", "benchmarks").MLPClassifier(
        units,
        alpha=params["network_alpha"],
        learning_rate_init=params["network_rate"],
        max_iter=30,
        random_state=0,
    )


# What asks for the parameters of a model, and what makes it of them.
_MODELS: dict[str, tuple[Callable[[Trial], None], Callable[[Params], Any]]] = {
    "logistic": (_ask_for_logistic, _logistic),
    "vectors": (_ask_for_vectors, _vectors),
    "forest": (_ask_for_forest, _forest),
    "neighbours": (_ask_for_neighbours, _neighbours),
    "network": (_ask_for_network, _network),
}


def _steps(params: Params) -> list[Any]:
    """Return what comes before the model."""
    preprocessing = require("sklearn.preprocessing", "benchmarks")
    scalers: dict[str, list[Any]] = {
        "none": [],
        "standard": [preprocessing.StandardScaler()],
        "minmax": [preprocessing.MinMaxScaler()],
        "quantile": [preprocessing.QuantileTransformer(n_quantiles=50)],
    }
    steps = scalers[params["scaler"]]
    if params["reduction"] == "best":
        selection = require("sklearn.feature_selection", "benchmarks")
        steps.append(selection.SelectKBest(k=params["n_best"]))
    elif params["reduction"] == "pca":
        decomposition = require("sklearn.decomposition", "benchmarks")
        steps.append(decomposition.PCA(params["n_components"], random_state=0))
    return steps


@cache
def _digits() -> tuple[Any, Any]:
    images, labels = require("sklearn.datasets", "benchmarks").load_digits(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(labels))[:N_DIGITS]
    return images[some], labels[some]


@cache
def _log_loss(items: tuple[tuple[str, Any], ...]) -> float:
    params = dict(items)
    selection = require("sklearn.model_selection", "benchmarks")
    model = _MODELS[params["model"]][1](params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that end before they converge
        scores = selection.cross_val_score(
            require("sklearn.pipeline", "benchmarks").make_pipeline(*_steps(params), model),
            *_digits(),
            scoring="neg_log_loss",
            cv=selection.StratifiedKFold(N_FOLDS, shuffle=True, random_state=0),
        )
    return -float(np.mean(scores))


def pipeline() -> Task:
    """Scaling, selection of features and one of five models, each with its own parameters."""
    return Task(
        f"scikit-learn pipelines on {N_DIGITS} digits: log loss of {N_FOLDS} folds",
        60,
        _ask_for_pipeline,
        lambda params: Result((_log_loss(tuple(sorted(params.items()))),)),
    )


# ----------------------------------------------------------------------------- trees
# The leaves by the two choices that lead to them, and how far above 0 each of them ends.
_LEAVES = {(0, 0): "x4", (0, 1): "x5", (1, 0): "x6", (1, 1): "x7"}
_SHIFTS = {"x4": 0.1, "x5": 0.2, "x6": 0.3, "x7": 0.4}


def _ask_for_leaf(trial: Trial) -> Params:
    first = trial.suggest_categorical("x1", (0, 1))
    trial.suggest_float(("r8", "r9")[first], 0.0, 1.0)
    second = trial.suggest_categorical(("x2", "x3")[first], (0, 1))
    trial.suggest_float(_LEAVES[first, second], -1.0, 1.0)
    return trial.params


def tree() -> Task:
    """Three choices lead to one of four numbers; another number is shared by two of them.

    The function of Jenatton, Archambeau, Gonzalez and Seeger, "Bayesian Optimization with
    Tree-structured Dependencies", ICML 2017.
    """

    def evaluate(params: Params) -> Result:
        leaf = next(name for name in _SHIFTS if name in params)
        shared = params["r8" if "r8" in params else "r9"]
        return Result((params[leaf] ** 2 + _SHIFTS[leaf] + shared,))

    return Task("a tree with four leaves", 60, _ask_for_leaf, evaluate, best_known=0.1)


N_METHODS = 5
N_SHARED = 6
N_OWN = 5
N_CHOICES = 4


def _ask_for_method(trial: Trial) -> Params:
    for i in range(N_SHARED):
        trial.suggest_categorical(f"shared_{i}", tuple(range(N_CHOICES)))
    method = trial.suggest_categorical("method", tuple(range(N_METHODS)))
    for i in range(N_OWN):
        trial.suggest_categorical(f"own_{method}_{i}", tuple(range(N_CHOICES)))
    trial.suggest_float(f"level_{method}", 0.0, 1.0)
    if trial.suggest_categorical(f"refined_{method}", (False, True)):
        trial.suggest_int(f"rounds_{method}", 1, 8)
    return trial.params


def methods(seed: int = 0) -> Task:
    """One of five methods, each with choices and numbers of its own; all effects add up.

    What is shared has an effect of its own and another one, half as large, with each method. A
    method can be refined, which is worth something with the right number of rounds.
    """
    rng = np.random.default_rng([seed, N_METHODS])
    offsets = rng.standard_normal(N_METHODS)
    shared = rng.standard_normal((1, N_SHARED, N_CHOICES))
    shared = shared + 0.5 * rng.standard_normal((N_METHODS, N_SHARED, N_CHOICES))
    own = rng.standard_normal((N_METHODS, N_OWN, N_CHOICES))
    levels = rng.random(N_METHODS)
    rounds = rng.integers(1, 9, N_METHODS)

    def evaluate(params: Params) -> Result:
        m = params["method"]
        value = offsets[m] + 8.0 * (params[f"level_{m}"] - levels[m]) ** 2
        value += sum(shared[m, i, params[f"shared_{i}"]] for i in range(N_SHARED))
        value += sum(own[m, i, params[f"own_{m}_{i}"]] for i in range(N_OWN))
        if params[f"refined_{m}"]:
            value += 0.2 * (params[f"rounds_{m}"] - rounds[m]) ** 2 - 1.0
        return Result((float(value),))

    best = offsets + shared.min(axis=2).sum(axis=1) + own.min(axis=2).sum(axis=1) - 1.0
    return Task(
        f"one of {N_METHODS} methods, each with its own choices and numbers",
        80,
        _ask_for_method,
        evaluate,
        best_known=float(best.min()),
    )


CONDITIONAL = Comparison(
    "conditional",
    "best value",
    {"pipeline": pipeline, "tree": tree, "methods": methods},
    {
        "HeatSampler": Contender(HeatSampler),
        "TPESampler": Contender(partial(TPESampler, multivariate=True, group=True)),
        "RandomSampler": Contender(RandomSampler),
        "GPSampler": Contender(GPSampler),
    },
)
